package survey_test

import (
	"strings"
	"testing"

	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
	"github.com/hearth-dmrv/hearth/internal/survey"
	"github.com/hearth-dmrv/hearth/internal/survey/surveytest"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// The reference can be made, and names what callers need.
func TestDocument(t *testing.T) {
	t.Parallel()
	v := newEnv(t, dbtest.SQLite(t))
	a := surveytest.Gate(callerOf).API(v.s.Routes)
	text, err := web.DocumentJSON(web.Document("x", "1", a))
	if err != nil {
		t.Fatal(err)
	}
	for _, word := range []string{"impliedMarginOfError", "strictCollectors", "/v1/surveys/{surveyId}/households/{did}/outcome", "byStratum", "SURVEY_CONFIGURATION_INVALID"} {
		if !strings.Contains(string(text), word) {
			t.Errorf("the reference does not have %s", word)
		}
	}
	for _, r := range a.Routes() {
		if r.Doc.Scope == web.Public {
			t.Errorf("%s %s is public", r.Method, r.Path)
		}
	}
}

// A thousand households with all they may have fit into one call.
func TestLargeUpload(t *testing.T) {
	t.Parallel()
	v := newEnv(t, dbtest.SQLite(t))
	id := v.create(t, "ws", open)
	item := func(i int) string {
		return `{"householdId":"` + home(i, "", "").HouseholdID + `","stratum":"` + strings.Repeat("s", 100) + `","attributes":{"a":"` + strings.Repeat("x", 2000) + `"}}`
	}
	all := make([]string, 1000)
	for i := range all {
		all[i] = item(i)
	}
	w := v.send(t, "ws owner", "POST /v1/surveys/"+id+"/households", `{"items":[`+strings.Join(all, ",")+`]}`)
	if w.Code != 200 || !strings.Contains(w.Body.String(), `"added":1000`) {
		t.Errorf("upload = %d %.300s", w.Code, w.Body)
	}
	if w := v.send(t, "ws owner", "POST /v1/surveys", `{"name":"`+strings.Repeat("x", 1<<20)+`"}`); w.Code != 413 {
		t.Errorf("a large survey = %d, want 413", w.Code)
	}
}

// A campaign too large to store is refused by name, and so are long reasons.
func TestLargeRecord(t *testing.T) {
	t.Parallel()
	v := newEnv(t, dbtest.SQLite(t))
	d := draft(t, open)
	d.Collectors = nil
	for i := range 500 {
		c := survey.Collector{DID: home(i, "", "").HouseholdID, Name: strings.Repeat("ü", 200)}
		c.Training = &survey.Schooling{Note: strings.Repeat("ü", 1000)}
		d.Collectors = append(d.Collectors, c)
	}
	_, err := v.s.Create(as(t, "ws", "owner"), d)
	want(t, "create", err, "SURVEY_CONFIGURATION_INVALID")
	if got := codes(err); got != " too_large" {
		t.Errorf("create = %s", got)
	}
	_, err = v.s.Update(as(t, "ws", "owner"), v.create(t, "ws", open), "*", strings.Repeat("x", 1001), []byte(`{}`))
	want(t, "update with a long reason", err, "INVALID_PARAMETER")
	_, err = v.s.Move(as(t, "ws", "owner"), "x", "activate", "", survey.Move{Reason: strings.Repeat("x", 1001)})
	want(t, "activate with a long reason", err, "INVALID_PARAMETER")
}
