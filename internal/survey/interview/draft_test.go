package interview_test

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
	"github.com/hearth-dmrv/hearth/internal/event"
	"github.com/hearth-dmrv/hearth/internal/event/eventtest"
	"github.com/hearth-dmrv/hearth/internal/once"
	"github.com/hearth-dmrv/hearth/internal/privacy/vault"
	"github.com/hearth-dmrv/hearth/internal/survey"
	"github.com/hearth-dmrv/hearth/internal/survey/interview"
	"github.com/hearth-dmrv/hearth/internal/survey/response"
	"github.com/hearth-dmrv/hearth/internal/survey/surveytest"
	"github.com/hearth-dmrv/hearth/internal/survey/template"
	"github.com/hearth-dmrv/hearth/internal/web"
)

const (
	homeTemplate = `{"templateId":"home","sections":[
		{"id":"consent","questions":[{"id":"ok","type":"consent","required":true}]},
		{"id":"home","questions":[{"id":"size","type":"integer"},{"id":"phone","type":"text","pii":"direct"}]}]}`
	homeSurvey = `{"surveyId":"%s","type":"BaselineSurvey","projectId":"did:ixo:project/%s","templateId":"home","sampling":{"method":"census"},
		"collectors":["did:key:ann","did:key:bob"],"strictCollectors":%t}`
	answers = `{"householdId":"did:ixo:household/1","language":"en","section":"home","responses":{"home":{"size":4,"phone":"0700 123"}}}`
)

// callerOf makes a caller: ann and bob collect, mia does all there is, reader only
// reads, "far" collects in another project.
func callerOf(ws, role string) web.Caller {
	c := web.Caller{Workspace: ws, DID: "did:key:" + role, Key: "key-" + role + "-" + ws, Scopes: []string{"*"}}
	switch role {
	case "ann", "bob":
		c.Scopes = []string{"surveys:read", "responses:read", "responses:write"}
	case "reader":
		c.Scopes = []string{"surveys:read", "responses:read"}
	case "far":
		c.Projects = []string{"did:ixo:project/two"}
	}
	return c
}

type draftEnv struct {
	d     *db.DB
	s     *interview.Drafts
	h     surveytest.Server
	clock surveytest.Clock
}

func newDraftEnv(t testing.TB, d *db.DB) *draftEnv {
	t.Helper()
	key, v := surveytest.Key(t), &draftEnv{d: d}
	l := event.New(event.Config{DB: d, Cursors: eventtest.Cursors()})
	keys, idem := vault.New(vault.Config{Key: key}), once.New(once.Config{DB: d, Key: key})
	templates := template.New(template.Config{DB: d, Events: l, Cursors: eventtest.Cursors()})
	surveys := survey.New(survey.Config{DB: d, Templates: templates, Events: l, Idem: idem, Cursors: eventtest.Cursors()})
	v.s = interview.NewDrafts(interview.DraftsConfig{DB: d, Surveys: surveys, Vault: keys, Cursors: eventtest.Cursors(), Now: v.clock.Now})
	responses := response.New(response.Config{
		DB: d, Surveys: surveys, Vault: keys, Events: l, Idem: idem, Cursors: eventtest.Cursors(), Key: key,
		Stored: func(ctx context.Context, tx *db.Tx, p *response.Prepared, _ bool) error {
			return v.s.Sent(ctx, tx, p.Open(), p.Draft().ResponseID)
		},
	})
	v.h = surveytest.Gate(callerOf).Serve(t, v.s.Routes, responses.Routes, surveys.Routes, templates.Routes, surveytest.Erasures(d, surveys.Erase, responses.Erase, v.s.Erase))
	v.must(t, "owner", "POST /v1/templates", homeTemplate)
	v.must(t, "owner", "POST /v1/templates/home/publish", `{}`)
	v.survey(t, "s", "one", false)
	return v
}

// survey makes an active survey in a project.
func (v *draftEnv) survey(t testing.TB, id, project string, strict bool) {
	t.Helper()
	v.must(t, "owner", "POST /v1/surveys", fmt.Sprintf(homeSurvey, id, project, strict))
	v.must(t, "owner", "POST /v1/surveys/"+id+"/activate", `{}`)
}

// must sends a request that succeeds, and gives its answer.
func (v *draftEnv) must(t testing.TB, role, request, body string, headers ...string) string {
	t.Helper()
	w := v.h.Send(t, "ws "+role, request, body, headers...)
	if w.Code >= 300 {
		t.Fatalf("%s as %s = %d %s", request, role, w.Code, w.Body)
	}
	return w.Body.String()
}

// ask is a request to the server as a role.
type ask struct{ role, request, body string }

// refused sends a request that is refused with a code, which the answer names.
func (v *draftEnv) refused(t testing.TB, a ask, want string, headers ...string) {
	t.Helper()
	w := v.h.Send(t, "ws "+a.role, a.request, a.body, headers...)
	if w.Code < 400 || !strings.Contains(w.Body.String(), want) {
		t.Errorf("%s as %s = %d %s, want %s", a.request, a.role, w.Code, w.Body, want)
	}
}

func TestSaveReadAndSend(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		v := newDraftEnv(t, d)
		w := v.h.Send(t, "ws ann", "PUT /v1/surveys/s/drafts/r1", answers)
		if w.Code != http.StatusCreated || w.Header().Get("ETag") != `"1"` {
			t.Fatalf("save = %d %s %s", w.Code, w.Header().Get("ETag"), w.Body)
		}
		if w := v.h.Send(t, "ws ann", "PUT /v1/surveys/s/drafts/r1", answers, "If-Match", `"1"`); w.Code != http.StatusOK {
			t.Errorf("save again = %d %s", w.Code, w.Body)
		}
		v.refused(t, ask{"ann", "PUT /v1/surveys/s/drafts/r1", answers}, "STALE_REVISION", "If-Match", `"1"`)
		if got := v.must(t, "ann", "GET /v1/surveys/s/drafts/r1", ""); !strings.Contains(got, "0700 123") || !strings.Contains(got, `"section":"home"`) || !strings.Contains(got, `"revision":2`) {
			t.Errorf("draft = %s", got)
		}
		// The id is the collector's own: bob begins another with it.
		for _, role := range []string{"bob", "owner"} {
			v.refused(t, ask{role, "GET /v1/surveys/s/drafts/r1", ""}, "DRAFT_NOT_FOUND")
			v.refused(t, ask{role, "DELETE /v1/surveys/s/drafts/r1", ""}, "DRAFT_NOT_FOUND")
			if got := v.must(t, role, "GET /v1/drafts", ""); !strings.Contains(got, `"items":[]`) {
				t.Errorf("drafts of %s = %s", role, got)
			}
		}
		v.must(t, "bob", "PUT /v1/surveys/s/drafts/r1", strings.Replace(answers, "0700", "0799", 1))
		if got := v.must(t, "ann", "GET /v1/surveys/s/drafts/r1", ""); strings.Contains(got, "0799") {
			t.Errorf("bob has changed the draft of ann: %s", got)
		}
		if got := v.must(t, "ann", "GET /v1/drafts", ""); !strings.Contains(got, `"responseId":"r1"`) || strings.Contains(got, "0700") {
			t.Errorf("drafts = %s", got)
		}

		// Sent, it goes; that of bob stays.
		send := `{"responseId":"r1","householdId":"did:ixo:household/1","timestamp":"2026-02-20T10:00:00Z","responses":{"consent":{"ok":true},"home":{"size":4}}}`
		for range 2 {
			v.must(t, "ann", "POST /v1/surveys/s/responses", send)
		}
		v.refused(t, ask{"ann", "GET /v1/surveys/s/drafts/r1", ""}, "DRAFT_NOT_FOUND")
		v.refused(t, ask{"ann", "PUT /v1/surveys/s/drafts/r1", answers}, "DRAFT_SENT")
		v.must(t, "bob", "DELETE /v1/surveys/s/drafts/r1", "")
		v.refused(t, ask{"bob", "GET /v1/surveys/s/drafts/r1", ""}, "DRAFT_NOT_FOUND")
	})
}

func TestWhatIsRefused(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		v := newDraftEnv(t, d)
		v.survey(t, "strict", "one", true)
		for _, tt := range []struct{ role, path, body, want string }{
			{"ann", "s/drafts/r1", `{"responses":{}}`, "/householdId"},
			{"ann", "s/drafts/r1", `{"householdId":"me","responses":{}}`, "not_a_did"},
			{"ann", "s/drafts/r1", `{"householdId":"did:ixo:household/1"}`, "/responses"},
			{"ann", "s/drafts/r1", `{"householdId":"did:ixo:household/1","responses":[]}`, "wrong_type"},
			{"ann", "s/drafts/-r", answers, "path/responseId"},
			{"ann", "s/drafts/r1", `{"householdId":"did:ixo:household/1","responses":{"a":"` + strings.Repeat("x", 256<<10) + `"}}`, "too_large"},
			{"ann", "s/drafts/r1", `{"householdId":"did:ixo:household/1","location":{"lat":91,"lon":0},"responses":{}}`, "/location"},
			{"ann", "none/drafts/r1", answers, "SURVEY_NOT_FOUND"},
			{"far", "s/drafts/r1", answers, "SURVEY_NOT_FOUND"},
			{"reader", "s/drafts/r1", answers, "SCOPE_MISSING"},
			{"mia", "strict/drafts/r1", answers, "COLLECTOR_UNKNOWN"},
		} {
			v.refused(t, ask{tt.role, "PUT /v1/surveys/" + tt.path, tt.body}, tt.want)
		}
		if w := v.h.Send(t, "elsewhere ann", "PUT /v1/surveys/s/drafts/r1", answers); w.Code != http.StatusNotFound {
			t.Errorf("from another workspace = %d %s", w.Code, w.Body)
		}
		v.must(t, "ann", "PUT /v1/surveys/s/drafts/kept", answers)
		v.refused(t, ask{"ann", "PUT /v1/surveys/s/drafts/kept", strings.Replace(answers, "household/1", "household/2", 1)}, "DRAFT_OF_ANOTHER")
		v.must(t, "owner", "POST /v1/surveys/s/close", `{}`)
		v.refused(t, ask{"ann", "PUT /v1/surveys/s/drafts/r1", answers}, "SURVEY_NOT_ACTIVE")
		v.must(t, "ann", "GET /v1/surveys/s/drafts/kept", "")
	})
}

func TestTooManyAndPages(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		v := newDraftEnv(t, d)
		v.survey(t, "two", "two", false)
		v.must(t, "far", "PUT /v1/surveys/two/drafts/r0", answers)
		for i := range 100 {
			v.must(t, "ann", fmt.Sprintf("PUT /v1/surveys/s/drafts/r%d", i), answers)
		}
		v.refused(t, ask{"ann", "PUT /v1/surveys/s/drafts/more", answers}, "TOO_MANY_DRAFTS")
		v.must(t, "ann", "PUT /v1/surveys/s/drafts/r7", answers)
		v.must(t, "bob", "PUT /v1/surveys/s/drafts/more", answers)
		first, next, err := v.s.Own(web.WithCaller(t.Context(), callerOf("ws", "ann")), 1<<62, 60)
		if err != nil || len(first) != 60 || next == 0 {
			t.Fatalf("first page = %d drafts, next %d, %v", len(first), next, err)
		}
		rest, next, err := v.s.Own(web.WithCaller(t.Context(), callerOf("ws", "ann")), next, 60)
		if err != nil || len(rest) != 40 || next != 0 || rest[39].ResponseID != "r0" {
			t.Errorf("second page = %d drafts, next %d, %v", len(rest), next, err)
		}
	})
}

// A draft of a household that is erased cannot be read any more, and no trace of
// it is in the store; nor of one that is too old.
func TestErasedAndExpired(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		v := newDraftEnv(t, d)
		v.must(t, "ann", "PUT /v1/surveys/s/drafts/r1", answers)
		v.must(t, "ann", "PUT /v1/surveys/s/drafts/r2", strings.Replace(answers, "household/1", "household/2", 1))
		if got := v.stored(t); len(got) != 2 || bytes.Contains(got[0], []byte("0700")) {
			t.Fatalf("stored = %q, want two that are sealed", got)
		}
		v.must(t, "owner", "POST /v1/erasures", `{"subject":"did:ixo:household/1"}`)
		v.refused(t, ask{"ann", "GET /v1/surveys/s/drafts/r1", ""}, "DRAFT_NOT_FOUND")
		v.refused(t, ask{"ann", "PUT /v1/surveys/s/drafts/r1", answers}, "HOUSEHOLD_ERASED")
		if got := v.stored(t); len(got) != 1 {
			t.Errorf("%d drafts are stored, want 1", len(got))
		}
		v.clock.Set(time.Now().Add(interview.DraftLife + time.Minute))
		v.refused(t, ask{"ann", "GET /v1/surveys/s/drafts/r2", ""}, "DRAFT_NOT_FOUND")
		if n, err := v.s.Expire(t.Context(), v.clock.Now().Add(-interview.DraftLife), 10); n != 1 || err != nil || len(v.stored(t)) != 0 {
			t.Errorf("expired %d, %v; %d left", n, err, len(v.stored(t)))
		}
	})
}

// A collector who is erased leaves no draft behind.
func TestErasedCollector(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		v := newDraftEnv(t, d)
		v.must(t, "ann", "PUT /v1/surveys/s/drafts/r1", answers)
		v.must(t, "bob", "PUT /v1/surveys/s/drafts/r2", answers)
		v.must(t, "owner", "POST /v1/erasures", `{"subject":"did:key:ann"}`)
		if got := v.stored(t); len(got) != 1 {
			t.Errorf("%d drafts are stored, want that of the other collector", len(got))
		}
	})
}

// stored are the sealed drafts there are.
func (v *draftEnv) stored(t testing.TB) [][]byte {
	t.Helper()
	rows, err := v.d.Query(t.Context(), `SELECT sealed FROM response_drafts ORDER BY nid`)
	out, err := db.Collect(rows, err, "read drafts", db.Column[[]byte])
	if err != nil {
		t.Fatal(err)
	}
	return out
}
