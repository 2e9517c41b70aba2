package survey_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
	"github.com/hearth-dmrv/hearth/internal/survey"
)

// Foreign surveys look like missing ones, on every route.
func TestForeign(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		v := newEnv(t, d)
		id := v.create(t, "ws", with(t, "projectId", `"`+heldProject+`"`, "surveyId", `"theirs"`))
		v.upload(t, "ws", id, home(1, "a", "adopter"))
		h := "/households/did:ixo:household%2F000001"
		for _, r := range []struct{ request, body string }{
			{"GET ", ""},
			{"PATCH ", `{"name":"x"}`},
			{"DELETE ", ""},
			{"POST /clone", `{}`},
			{"POST /ready", ""},
			{"POST /activate", ""},
			{"POST /pause", ""},
			{"POST /resume", ""},
			{"POST /close", ""},
			{"POST /reopen", `{"reason":"x"}`},
			{"POST /archive", ""},
			{"GET /collectors", ""},
			{"PUT /collectors", `{"items":[]}`},
			{"GET /assignments", ""},
			{"PUT /assignments", `{"items":[]}`},
			{"GET /rounds", ""},
			{"POST /rounds", `{}`},
			{"GET /progress", ""},
			{"GET /history", ""},
			{"GET /history/1", ""},
			{"POST /households", `{"items":[{"householdId":"did:x:y"}]}`},
			{"GET /households", ""},
			{"GET " + h, ""},
			{"PATCH " + h, `{"area":"x"}`},
			{"DELETE " + h, ""},
			{"POST " + h + "/outcome", `{"outcome":"contacted"}`},
		} {
			method, rest, _ := strings.Cut(r.request, " ")
			bodies := map[string]bool{}
			for _, who := range []string{"other owner", "ws project"} {
				w := v.send(t, who, method+" /v1/surveys/theirs"+rest, r.body, "If-Match", "*")
				missing := v.send(t, who, method+" /v1/surveys/mine"+rest, r.body, "If-Match", "*")
				text := strings.ReplaceAll(w.Body.String(), "theirs", "mine")
				if bodies[text] = true; w.Code != 404 || missing.Code != 404 || text != missing.Body.String() || len(bodies) != 1 {
					t.Errorf("%s by %s = %d %s, a missing one %d %s", r.request, who, w.Code, w.Body, missing.Code, missing.Body)
				}
			}
		}
		if w := v.send(t, "ws project", "GET /v1/surveys", ""); w.Code != 200 || strings.Contains(w.Body.String(), "theirs") {
			t.Errorf("list of a limited key = %d %s", w.Code, w.Body)
		}
		if w := v.send(t, "ws two", "GET /v1/surveys", ""); !strings.Contains(w.Body.String(), "theirs") {
			t.Errorf("list = %s", w.Body)
		}
		// Nor does an id that is taken say that a survey has it: one of a template is refused alike.
		var said []string
		for _, id := range []string{"theirs", "baseline-v1"} {
			w := v.send(t, "ws project", "POST /v1/surveys", with(t, "surveyId", `"`+id+`"`, "projectId", `"`+oneProject+`"`))
			said = append(said, fmt.Sprint(w.Code, w.Body))
		}
		if said[0] != said[1] || !strings.Contains(said[0], `"reserved"`) {
			t.Errorf("a taken id = %s, one of a template = %s", said[0], said[1])
		}
		// It cannot be taken out of a project into one the key is not for, nor the other way.
		mine := v.create(t, "ws", open)
		_, err := v.s.Update(as(t, "ws", "project"), mine, "*", "", []byte(`{"projectId":"`+heldProject+`"}`))
		want(t, "move to another project", err, "SURVEY_CONFIGURATION_INVALID")
		_, err = v.s.Clone(as(t, "ws", "project"), mine, survey.Clone{ProjectID: heldProject})
		want(t, "clone to another project", err, "SURVEY_CONFIGURATION_INVALID")
	})
}

// The same request twice makes one survey and gives one answer.
func TestIdempotency(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		v := newEnv(t, d)
		id := v.create(t, "ws", open)
		for i, r := range []struct{ request, body string }{
			{"POST /v1/surveys", documented},
			{"POST /v1/surveys", with(t, "surveyId", `"named"`)},
			{"POST /v1/surveys/" + id + "/clone", `{}`},
			{"POST /v1/surveys/" + id + "/households", `{"items":[{"householdId":"did:ixo:household/1"}]}`},
			{"POST /v1/surveys/" + id + "/activate", `{}`},
			{"POST /v1/surveys/" + id + "/households/did:ixo:household%2F1/outcome", `{"outcome":"contacted"}`},
			{"POST /v1/surveys/" + id + "/rounds", `{}`},
			{"POST /v1/surveys/" + id + "/close", `{}`},
		} {
			var mu sync.Mutex
			answers, fresh := map[string]int{}, 0
			var wg sync.WaitGroup
			for range 4 {
				wg.Go(func() {
					w := v.send(t, "ws owner", r.request, r.body, "Idempotency-Key", fmt.Sprintf("the-key-of-request-%d", i))
					mu.Lock()
					defer mu.Unlock()
					answers[fmt.Sprint(w.Code, w.Header().Get("ETag"), w.Header().Get("Location"), w.Body)]++
					if w.Header().Get("Idempotent-Replayed") == "" {
						fresh++
					}
				})
			}
			wg.Wait()
			if len(answers) != 1 || fresh != 1 {
				t.Errorf("%s: %d answers, %d of them fresh: %v", r.request, len(answers), fresh, answers)
			}
		}
	})
}

func TestEligibility(t *testing.T) {
	t.Parallel()
	v := newEnv(t, dbtest.SQLite(t))
	deep := strings.Repeat("(", 900) + "true" + strings.Repeat(")", 900)
	for _, tt := range []struct{ name, text, want string }{
		{"household", "household.group != 'comparison'", ""},
		{"answers", "eligibility.current_cooking != null && socio_economic.household_size > 2", ""},
		{"unknown name", "nothing.at_all", "/eligibility/expression invalid_expression"},
		{"no boolean", "1 + 1", "/eligibility/expression invalid_expression"},
		{"broken", "true &&", "/eligibility/expression invalid_expression"},
		{"deep", deep, "/eligibility/expression invalid_expression"},
		{"loops in loops", "[1,2,3].all(a,[1,2].all(b,[1].all(c,[1].all(d,true))))", "/eligibility/expression invalid_expression"},
	} {
		text, err := quote(tt.text)
		if err != nil {
			t.Fatal(err)
		}
		r, err := v.s.Create(as(t, "ws", "owner"), draft(t, with(t, "eligibility", `{"expression":`+text+`}`)))
		if got := codes(err); got != tt.want {
			t.Errorf("%s = %s %s, want %q", tt.name, got, details(err), tt.want)
		}
		if err != nil {
			continue
		}
		if o, err := v.s.Open(as(t, "ws", "owner"), r.Value.SurveyID); err != nil || o.Eligibility == nil || o.Eligibility.Source() != tt.text {
			t.Errorf("%s: open = %+v, %v", tt.name, o, err)
		}
	}
}
