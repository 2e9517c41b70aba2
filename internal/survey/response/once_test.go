package response_test

import (
	"strings"
	"testing"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
	"github.com/hearth-dmrv/hearth/internal/survey/response"
)

// A correction keeps what was calculated once, also of a personal answer that
// whoever corrects may not read; the rest follows the answers.
func TestCorrectionKeepsOnce(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		v := newEnv(t, d)
		const tpl = `{"templateId":"kept","validations":{"completionThreshold":0.05},"sections":[
			{"id":"consent","questions":[{"id":"ok","type":"consent","required":true}]},
			{"id":"home","questions":[
				{"id":"size","type":"integer"},{"id":"phone","type":"text","pii":"direct"},
				{"id":"first","type":"calculate","once":true,"calculate":"home.size * 2.0"},
				{"id":"called","type":"calculate","once":true,"pii":"direct","calculate":"home.phone"},
				{"id":"key","type":"calculate","calculate":"uuid(text(response.id))"},
				{"id":"day","type":"calculate","calculate":"formatDate(today, \"%Y-%m-%d\")"},
				{"id":"double","type":"calculate","calculate":"home.size * 2.0"}]}]}`
		for _, one := range [][2]string{{"POST /v1/templates", tpl}, {"POST /v1/templates/kept/publish", `{}`}} {
			if w := v.send(t, "owner", one[0], one[1]); w.Code >= 300 {
				t.Fatalf("%s = %d %s", one[0], w.Code, w.Body)
			}
		}
		v.start(t, strings.Replace(homeSurvey, `"home"`, `"kept"`, 1))
		v.submit(t, "ann", draft("r1", 1, "home.size=3", `home.phone="0700"`, "home.fuel="))
		before := string(v.get(t, "mia", "r1").Responses.Value)
		for _, part := range []string{`"first":6`, `"double":6`, `"called":"0700"`} {
			if !strings.Contains(before, part) {
				t.Fatalf("stored %s, want %s", before, part)
			}
		}
		if _, err := v.s.Correct(as(t, "ann"), "r1", response.Correction{IfMatch: `"1"`, Reason: "misheard", Patch: []byte(`{"responses":{"home":{"size":5}}}`)}); err != nil {
			t.Fatalf("%v %s", err, codes(err))
		}
		if got, want := string(v.get(t, "mia", "r1").Responses.Value), strings.NewReplacer(`"double":6`, `"double":10`, `"size":3`, `"size":5`).Replace(before); got != want {
			t.Errorf("corrected = %s, want %s", got, want)
		}
		if _, err := v.s.Correct(as(t, "mia"), "r1", response.Correction{IfMatch: `"2"`, Reason: "misheard", Patch: []byte(`{"responses":{"home":{"phone":"0711"}}}`)}); err != nil {
			t.Fatalf("%v %s", err, codes(err))
		}
		if got := string(v.get(t, "mia", "r1").Responses.Value); !strings.Contains(got, `"called":"0700"`) || !strings.Contains(got, `"phone":"0711"`) {
			t.Errorf("corrected = %s, want the number that was first given kept", got)
		}
	})
}
