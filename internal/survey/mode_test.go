package survey_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
	"github.com/hearth-dmrv/hearth/internal/survey"
)

// TestModesThatCanAsk: a survey plans only modes in which somebody asks, and is
// told which these are and what is missing.
func TestModesThatCanAsk(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		v := newEnv(t, d, func(c *survey.Config) { c.Channels = nil })
		withModes := func(list string) string {
			return strings.Replace(open, `"collectors"`, `"modes":[`+list+`],"collectors"`, 1)
		}
		_, err := v.s.Create(as(t, "ws", "owner"), draft(t, withModes(`"visit","web","chat"`)))
		if got := codes(err); got != "/modes/1 mode_not_served, /modes/2 mode_not_served" {
			t.Errorf("create = %s", got)
		}
		for _, want := range []string{"visit, phone, browser, collect, import", "HEARTH_SURVEY_CHANNELS"} {
			if !strings.Contains(details(err), want) {
				t.Errorf("details = %s, want %s", details(err), want)
			}
		}
		id := v.create(t, "ws", withModes(`"visit","phone","import"`))
		_, err = v.s.Update(as(t, "ws", "owner"), id, "*", "", []byte(`{"modes":["ussd"]}`))
		if got := codes(err); got != "/modes/0 mode_not_served" {
			t.Errorf("update = %s", got)
		}

		asks := newEnv(t, d, func(c *survey.Config) { c.Channels = []string{"web"} })
		id = asks.create(t, "ws", withModes(`"web"`))
		if _, err := asks.s.Create(as(t, "ws", "owner"), draft(t, withModes(`"chat"`))); !strings.Contains(details(err), "visit, phone, browser, collect, web, import") {
			t.Errorf("details = %s, want web among what can be served", details(err))
		}
		// What was stored before can be changed, and not begin.
		if _, err := v.s.Update(as(t, "ws", "owner"), id, "*", "", []byte(`{"name":"n"}`)); err != nil {
			t.Errorf("update of a survey that has the mode: %v %s", err, codes(err))
		}
		_, err = v.s.Move(as(t, "ws", "owner"), id, "activate", "", survey.Move{Reason: "test"})
		if got := codes(err); got != "/modes/0 mode_not_served" {
			t.Errorf("activate = %s", got)
		}
		asks.move(t, "ws", id, "activate")

		// This server asks the households of one workspace by itself.
		own := newEnv(t, d, func(c *survey.Config) {
			c.Channels, c.Asks = nil, func(ws string) []string { return map[string][]string{"ws": {"ussd"}}[ws] }
		})
		own.move(t, "ws", own.create(t, "ws", withModes(`"ussd","collect"`)), "activate")
		if _, err := own.s.Create(as(t, "other", "owner"), draft(t, withModes(`"ussd"`))); codes(err) != "/modes/0 mode_not_served" {
			t.Errorf("in another workspace: %s", codes(err))
		}
	})
}

// TestQuestionsBeyondAMode: what a telephone cannot ask is named, and a survey that
// needs an answer to it does not begin.
func TestQuestionsBeyondAMode(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		v := newEnv(t, d, func(c *survey.Config) { c.Asks = func(string) []string { return []string{"ussd", "chat"} } })
		for id, required := range map[string]string{"lenient": "false", "strict": "true"} {
			v.must(t, "owner", "POST /v1/templates", `{"templateId":"`+id+`","sections":[{"id":"s","questions":[{"id":"ok","type":"consent"},{"id":"stove","type":"photo","required":`+required+`},{"id":"twin","type":"entity_ref"}]}]}`)
			v.must(t, "owner", "POST /v1/templates/"+id+"/publish", `{}`)
		}
		with := func(id string) string {
			return `{"type":"BaselineSurvey","projectId":"did:ixo:project/one","templateId":"` + id + `","modes":["visit","ussd","chat"],"sampling":{"method":"census"}}`
		}
		r, err := v.s.Create(as(t, "ws", "owner"), draft(t, with("lenient")))
		if err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprint(r.Value.Unasked); got != "map[chat:[s/stove] ussd:[s/stove s/twin]]" {
			t.Errorf("unasked = %s", got)
		}
		v.move(t, "ws", r.Value.SurveyID, "activate")
		strict := v.create(t, "ws", with("strict"))
		_, err = v.s.Move(as(t, "ws", "owner"), strict, "activate", "", survey.Move{Reason: "test"})
		if got := codes(err); got != "/modes/1 not_askable, /modes/2 not_askable" || !strings.Contains(details(err), "s/stove") {
			t.Errorf("activate = %s: %s", got, details(err))
		}
	})
}
