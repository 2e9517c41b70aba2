package response_test

import (
	"strings"
	"testing"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
	"github.com/hearth-dmrv/hearth/internal/survey/response"
)

// An interview whose consent is missing is kept, and dropped once it is refused.
func TestPartialKeepsWhatIsOpen(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		v := newEnv(t, d)
		for _, one := range [][2]string{
			{"POST /v1/templates", `{"templateId":"kept","sections":[{"id":"c","questions":[{"id":"consent","type":"consent","required":true}]},
				{"id":"s","relevant":"c.consent == true","questions":[{"id":"size","type":"integer","required":true},{"id":"fuel","type":"text"}]}]}`},
			{"POST /v1/templates/kept/publish", `{}`},
		} {
			if w := v.send(t, "owner", one[0], one[1]); w.Code >= 300 {
				t.Fatalf("%s = %d %s", one[0], w.Code, w.Body)
			}
		}
		v.start(t, strings.Replace(homeSurvey, `"templateId":"home"`, `"templateId":"kept"`, 1))
		one := &response.Draft{ResponseID: "r1", HouseholdID: "did:ixo:household/1", Timestamp: draft("r1", 1).Timestamp, Partial: true}
		one.Responses.Value = []byte(`{"s":{"size":4,"fuel":"wood"}}`)
		v.submit(t, "ann", one)
		is := func(status response.Status, answers, missing, dropped string) {
			t.Helper()
			r := v.get(t, "owner", "r1")
			if r.Status != status || string(r.Responses.Value) != answers || strings.Join(r.Missing, " ") != missing || strings.Join(r.Dropped, " ") != dropped {
				t.Errorf("record = %s %s, missing %v, dropped %v", r.Status, r.Responses.Value, r.Missing, r.Dropped)
			}
		}
		is("partial", `{"s":{"fuel":"wood","size":4}}`, "/responses/c/consent", "")
		if _, err := v.s.Correct(as(t, "ann"), "r1", patch("*", `{"responses":{"c":{"consent":true}}}`)); err != nil {
			t.Fatal(err)
		}
		is("complete", `{"c":{"consent":true},"s":{"fuel":"wood","size":4}}`, "", "")
		if _, err := v.s.Correct(as(t, "ann"), "r1", patch("*", `{"responses":{"c":{"consent":false}}}`)); err != nil {
			t.Fatal(err)
		}
		is("refused", `{"c":{"consent":false}}`, "", "/responses/s/size /responses/s/fuel")
	})
}
