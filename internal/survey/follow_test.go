package survey_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
)

// A survey that asks all of its template asks all of the version it is moved to;
// sections that somebody chose stay.
func TestSectionsFollowTheVersion(t *testing.T) {
	t.Parallel()
	v := newEnv(t, dbtest.SQLite(t))
	const sections = `{"id":"consent","questions":[{"id":"ok","type":"consent"}]},{"id":"more","questions":[{"id":"n","type":"number"}]}`
	const added = `,{"id":"added","questions":[{"id":"x","type":"number"}]}`
	v.must(t, "ws owner", "POST /v1/templates", `{"templateId":"mine","sections":[`+sections+`]}`)
	v.must(t, "ws owner", "POST /v1/templates/mine/publish", `{}`)
	of := func(sections string) string {
		return with(t, "template", "", "templateId", `"mine"`, "sections", sections, "sampling", `{"method":"census"}`, "modes", `["web"]`)
	}
	all, chosen := v.create(t, "ws", of("")), v.create(t, "ws", of(`["consent"]`))
	v.must(t, "ws owner", "PUT /v1/templates/mine", `{"templateId":"mine","languages":["en","sw"],"sections":[`+sections+added+`]}`, "If-Match", "*")
	v.must(t, "ws owner", "POST /v1/templates/mine/publish", `{}`)
	for _, tt := range []struct{ id, patch, want string }{
		{all, `{"name":"x"}`, "1 consent more [en]"},
		{all, `{"templateVersion":2}`, "2 consent more added [en sw]"},
		{all, `{"templateVersion":1,"sections":["consent"]}`, "1 consent [en]"},
		{chosen, `{"templateVersion":2}`, "2 consent [en sw]"},
		{chosen, `{"sections":null}`, "2 consent more added [en sw]"},
		{chosen, `{"templateVersion":1}`, "1 consent more [en]"},
	} {
		v.must(t, "ws owner", "PATCH /v1/surveys/"+tt.id, tt.patch, "If-Match", "*")
		s := v.get(t, "ws", tt.id)
		if got := fmt.Sprint(s.TemplateVersion, " ", strings.Join(s.Sections, " "), " ", s.Languages); got != tt.want {
			t.Errorf("%s gives %s, want %s", tt.patch, got, tt.want)
		}
	}
}
