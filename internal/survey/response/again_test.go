package response_test

import (
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
)

// byTemplate is a response that names the template of its survey.
const byTemplate = `{"responseId":"r1","surveyId":"home","householdId":"did:ixo:household/1","timestamp":"2026-02-20T10:00:00Z",
	"responses":{"consent":{"ok":true},"home":{"size":4}}}`

// TestAgainByTemplate: a response that was stored by the id of its template is
// found again whatever the surveys of the template do since. Only who may know
// it is told.
func TestAgainByTemplate(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		v := newEnv(t, d)
		v.start(t, homeSurvey)
		post := func(role, body string) *httptest.ResponseRecorder { return v.send(t, role, "POST /v1/responses", body) }
		first := post("ann", byTemplate)
		if first.Code != 201 {
			t.Fatalf("first = %d %s", first.Code, first.Body)
		}
		other := strings.Replace(byTemplate, `"size":4`, `"size":5`, 1)
		check := func(when, stranger string, changed ...string) {
			t.Helper()
			if w := post("ann", byTemplate); w.Code != 200 || w.Body.String() != first.Body.String() {
				t.Errorf("%s: again = %d %s, want 200 and the record", when, w.Code, w.Body)
			}
			w := post("ann", other)
			for _, word := range changed {
				if w.Code != 409 || !strings.Contains(w.Body.String(), word) {
					t.Errorf("%s: other content = %d %s, want 409 %s", when, w.Code, w.Body, word)
				}
			}
			if w := post("bob", byTemplate); !strings.Contains(w.Body.String(), stranger) {
				t.Errorf("%s: of somebody else = %d %s, want %s", when, w.Code, w.Body, stranger)
			}
		}
		check("one survey", "RESPONSE_CONFLICT", "RESPONSE_CONFLICT", "/responses/home/size")
		v.start(t, strings.Replace(homeSurvey, `"s"`, `"s2"`, 1))
		check("two surveys", "AMBIGUOUS_SURVEY", "RESPONSE_CONFLICT", "/responses/home/size")
		v.move(t, "s", "pause")
		check("the other survey", "taken", "SURVEY_NOT_ACTIVE")
		v.move(t, "s2", "pause")
		check("both paused", "SURVEY_NOT_FOUND", "SURVEY_NOT_ACTIVE")
		v.move(t, "s", "close")
		check("closed", "SURVEY_NOT_FOUND", "SURVEY_NOT_ACTIVE")
		v.move(t, "s", "archive")
		check("archived", "SURVEY_NOT_FOUND", "SURVEY_NOT_ACTIVE")
		v.start(t, strings.Replace(homeSurvey, `"s"`, `"home"`, 1))
		check("a survey with the name of its template", "taken", "SURVEY_NOT_ACTIVE")
		if n := v.count(t, "responses"); n != 1 {
			t.Errorf("%d responses, want 1", n)
		}
	})
}

// TestAgainLater: what is calculated from the day or by chance is that of the
// response, and so the same when it is sent again on another day.
func TestAgainLater(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		v := newEnv(t, d)
		const chance = `{"templateId":"chance","sections":[{"id":"consent","questions":[{"id":"ok","type":"consent"}]},{"id":"c","questions":[{"id":"a","type":"text"},
			{"id":"day","type":"calculate","calculate":"formatDate(today, \"%Y-%m-%d\")"},
			{"id":"key","type":"calculate","calculate":"uuid(text(response.id) + \"/key\")"}]}]}`
		for _, one := range [][2]string{{"POST /v1/templates", chance}, {"POST /v1/templates/chance/publish", `{}`}} {
			if w := v.send(t, "owner", one[0], one[1]); w.Code >= 300 {
				t.Fatalf("%s = %d %s", one[0], w.Code, w.Body)
			}
		}
		v.start(t, strings.Replace(homeSurvey, `"templateId":"home"`, `"templateId":"chance"`, 1))
		const body = `{"responseId":"r1","surveyId":"s","householdId":"did:ixo:household/1","timestamp":"2026-02-20T10:00:00Z",
			"responses":{"consent":{"ok":true},"c":{"a":"x"}}}`
		v.clock.Set(time.Date(2026, 2, 20, 11, 0, 0, 0, time.UTC))
		first := v.send(t, "ann", "POST /v1/responses", body)
		if first.Code != 201 || !strings.Contains(first.Body.String(), `"day":"2026-02-20"`) || !strings.Contains(first.Body.String(), `"key":"`) {
			t.Fatalf("first = %d %s", first.Code, first.Body)
		}
		v.clock.Set(time.Date(2026, 3, 5, 11, 0, 0, 0, time.UTC))
		if again := v.send(t, "ann", "POST /v1/responses", body); again.Code != 200 || again.Body.String() != first.Body.String() {
			t.Errorf("again = %d %s, want 200 and %s", again.Code, again.Body, first.Body)
		}
	})
}
