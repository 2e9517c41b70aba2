package intake_test

import (
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
)

// TestAgainByTemplate: an item that names the template is the response that was
// stored by it, whatever the surveys of the template do since.
func TestAgainByTemplate(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		v := newEnv(t, d)
		v.start(t)
		one := item("a", "2", `"size":5`)
		one.Value.Value = jsontext.Value(strings.Replace(string(one.Value.Value), `"surveyId":"s"`, `"surveyId":"home"`, 1))
		if got := words(v.take(t, "ann", one)); got != "created" {
			t.Fatalf("first = %s", got)
		}
		for _, step := range []string{"surveys", "surveys/s2/activate", "surveys/s/pause", "surveys/s2/pause", "surveys/s/close", "surveys/s/archive"} {
			body := `{}`
			if step == "surveys" {
				body = strings.Replace(homeSurvey, `"s"`, `"s2"`, 1)
			}
			v.must(t, "owner", "POST /v1/"+step, body)
			if got := words(v.take(t, "ann", one)); got != "replayed" {
				t.Errorf("after %s = %s, want replayed", step, got)
			}
		}
		if n := v.count(t, "responses") + v.count(t, "response_conflicts"); n != 1 {
			t.Errorf("%d contents, want 1", n)
		}
	})
}
