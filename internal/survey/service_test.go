package survey_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
	"github.com/hearth-dmrv/hearth/internal/event/eventtest"
	"github.com/hearth-dmrv/hearth/internal/survey"
)

func TestRoutes(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		v := newEnv(t, d)
		eventtest.Cases(t, "surveys.json", d, v.l, v.h)
	})
}

func TestHouseholdRoutes(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		v := newEnv(t, d)
		eventtest.Cases(t, "households.json", d, v.l, v.h)
	})
}

// The documented request makes the record of the reference, whole.
func TestDocumentedRecord(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		v := newEnv(t, d)
		v.clock.Set(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC))
		w := v.send(t, "ws owner", "POST /v1/surveys", documented)
		if w.Code != 201 || w.Header().Get("ETag") != `"1"` {
			t.Fatalf("create = %d %s %s", w.Code, w.Header().Get("ETag"), w.Body)
		}
		id := record(t, w.Body.Bytes()).SurveyID
		wanted := strings.NewReplacer("ID", id, "\n", "", "\t", "").Replace(`{"surveyId":"ID","type":"BaselineSurvey","stage":"baseline","projectId":"did:ixo:entity:123","external":true,
			"template":{"eligibilityCriteria":true,"socioEconomicData":true,"cookingPatterns":true,"stovePerceptions":true},
			"templateId":"baseline-v1","templateVersion":2,"sections":["consent","eligibility","socio_economic","cooking_patterns","stove_perceptions"],
			"sampling":{"method":"stratified","size":100,"confidence":0.95,"parameterType":"proportion","strata":[],"designId":null,"impliedMarginOfError":0.098,"warnings":["strata required before activation"]},
			"modes":["visit"],"languages":["en","sw"],"onePerHousehold":true,
			"round":1,"rounds":[{"round":1,"opened":"2026-03-01T12:00:00.000Z","openedBy":"did:key:owner"}],"status":"draft","revision":1,
			"created":"2026-03-01T12:00:00.000Z","createdBy":"did:key:owner","updated":"2026-03-01T12:00:00.000Z","updatedBy":"did:key:owner",
			"links":{"self":"/v1/surveys/ID","responses":"/v1/surveys/ID/responses","template":"/v1/templates/baseline-v1","sampling":"/v1/surveys/ID/households","activate":"/v1/surveys/ID/activate",
			"households":"/v1/surveys/ID/households","collectors":"/v1/surveys/ID/collectors","progress":"/v1/surveys/ID/progress","quality":"/v1/surveys/ID/quality","flags":"/v1/surveys/ID/flags",
			"backChecks":"/v1/surveys/ID/back-checks","exports":"/v1/surveys/ID/exports","history":"/v1/surveys/ID/history"},
			"progress":{"target":100,"drawn":0,"contacted":0,"completed":0,"partial":0,"verified":0,"rejected":0,"flagged":0,"refused":0,"unreachable":0,"ineligible":0,"byStratum":{},"byGroup":{}}}`)
		if got := w.Body.String(); got != wanted {
			t.Errorf("record = %s\nwant     %s", got, wanted)
		}
		if got := v.send(t, "ws reader", "GET /v1/surveys/"+id, ""); got.Body.String() != wanted {
			t.Errorf("read = %s", got.Body)
		}
	})
}

// What stands in the way of a start is named at once.
func TestPreconditions(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		v := newEnv(t, d)
		start := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
		v.clock.Set(start)
		ctx := as(t, "ws", "owner")
		id := v.create(t, "ws", with(t, "window", `{"end":"2026-02-01T00:00:00Z"}`, "training", `{"required":true}`))
		for _, name := range []string{"ready", "activate"} {
			_, err := v.s.Move(ctx, id, name, "", survey.Move{})
			want(t, name, err, "STATE_TRANSITION_INVALID")
			if got := codes(err); got != "/window/end window_over, /collectors collectors_missing, /sampling households_missing, /sampling/strata strata_missing" {
				t.Errorf("%s: %s", name, got)
			}
		}
		patch := func(etag, text string) {
			t.Helper()
			if _, err := v.s.Update(ctx, id, etag, "", []byte(text)); err != nil {
				t.Fatalf("patch: %v %s", err, codes(err))
			}
		}
		patch(`"1"`, `{"window":{"end":"2026-04-01T00:00:00Z"},"collectors":["did:ixo:agent/1",{"did":"did:ixo:agent/2","training":{"completedAt":"2026-01-01T00:00:00Z"}}]}`)
		v.upload(t, "ws", id, home(1, "", "adopter"), home(2, "rural", "adopter"))
		_, err := v.s.Move(ctx, id, "activate", "", survey.Move{})
		if got := codes(err); got != "/collectors/0/training training_missing, /sampling/strata strata_missing" {
			t.Errorf("activate: %s", got)
		}
		v.upload(t, "ws", id, home(1, "urban", "adopter"))
		patch(`"2"`, `{"training":{"required":false}}`)
		v.move(t, "ws", id, "ready")
		v.move(t, "ws", id, "activate")
		if s := v.get(t, "ws", id); s.Status != survey.StatusActive || s.Revision != 5 || !s.Activated.Equal(start) || s.Progress.Drawn != 2 {
			t.Errorf("survey = %+v %+v", s, s.Progress)
		}
	})
}

// A way in which households answer themselves needs no collector, and a census
// or open enrolment no list.
func TestOtherWaysToStart(t *testing.T) {
	t.Parallel()
	v := newEnv(t, dbtest.SQLite(t))
	for name, text := range map[string]string{
		"census by phone line": with(t, "modes", `["ussd"]`, "sampling", `{"method":"census"}`),
		"open on the web":      with(t, "modes", `["visit","web"]`, "sampling", `{"method":"convenience","size":10,"enrolment":"open"}`),
		"strata and chat":      with(t, "modes", `["chat"]`, "sampling.strata", `[{"name":"a"}]`, "sampling.enrolment", `"open"`),
	} {
		id := v.create(t, "ws", text)
		if _, err := v.s.Move(as(t, "ws", "owner"), id, "activate", "", survey.Move{}); err != nil {
			t.Errorf("%s: %v %s", name, err, codes(err))
		}
	}
}

func TestLifecycle(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		v := newEnv(t, d)
		id := v.create(t, "ws", open)
		names := []string{"ready", "activate", "pause", "resume", "close", "reopen", "archive"}
		allowed := map[survey.Status]string{
			"draft": "ready activate", "ready": "activate", "active": "pause close", "paused": "resume close", "closed": "reopen archive", "archived": "",
		}
		step := func(name string) {
			t.Helper()
			status := v.get(t, "ws", id).Status
			for _, other := range names {
				if strings.Contains(allowed[status], other) {
					continue
				}
				_, err := v.s.Move(as(t, "ws", "owner"), id, other, "", survey.Move{Reason: "x"})
				want(t, fmt.Sprintf("%s while %s", other, status), err, "STATE_TRANSITION_INVALID")
			}
			if name != "" {
				v.move(t, "ws", id, name)
			}
		}
		for _, name := range []string{"ready", "activate", "pause", "resume", "pause", "close", "reopen", "close", "archive", ""} {
			step(name)
		}
		wanted := "survey.created survey.ready survey.activated survey.paused survey.resumed survey.paused survey.closed survey.reopened survey.closed survey.archived"
		if got := v.events(t, "ws"); got != wanted {
			t.Errorf("events = %s, want %s", got, wanted)
		}
		items, next, err := v.s.History(as(t, "ws", "owner"), id, 0, 100)
		if err != nil || next != 0 || len(items) != 10 || items[0].Action != "archived" || items[9].Action != "created" || items[0].Actor != "did:key:owner" || items[0].Reason != "test" {
			t.Errorf("history = %+v, %d, %v", items, next, err)
		}
		r, err := v.s.At(as(t, "ws", "owner"), id, 3)
		if err != nil || record(t, r.Raw).Status != survey.StatusActive {
			t.Errorf("revision 3 = %s, %v", r.Raw, err)
		}
	})
}

func TestOneMoveWins(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		v := newEnv(t, d)
		for range 4 {
			id := v.create(t, "ws", open)
			got := crowd(6, func(i int) error {
				etag := ""
				if i%2 == 0 {
					etag = `"1"`
				}
				_, err := v.s.Move(as(t, "ws", "owner"), id, "activate", etag, survey.Move{})
				return err
			})
			if got["ok"] != 1 || got["STATE_TRANSITION_INVALID"]+got["STALE_REVISION"] != 5 {
				t.Fatalf("activate = %v, want one ok", got)
			}
		}
	})
}

// Changes and steps at once: none is lost, each is a revision.
func TestChangesAgainstMoves(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		v := newEnv(t, d)
		id := v.start(t, "ws", open)
		got := crowd(12, func(i int) error {
			ctx := as(t, "ws", "owner")
			switch i % 3 {
			case 0:
				_, err := v.s.Update(ctx, id, "*", "", fmt.Appendf(nil, `{"metadata":{"m%d":1}}`, i))
				return err
			case 1:
				_, err := v.s.OpenRound(ctx, id, "", survey.NextRound{})
				return err
			}
			_, err := v.s.Update(ctx, id, `"2"`, "", fmt.Appendf(nil, `{"name":"n%d"}`, i))
			return err
		})
		if got["ok"]+got["STALE_REVISION"]+got["STORE_BUSY"] != 12 || got["STALE_REVISION"] < 3 {
			t.Fatalf("changes = %v", got)
		}
		s := v.get(t, "ws", id)
		if int(s.Revision) != 2+got["ok"] {
			t.Errorf("revision %d after %d changes", s.Revision, got["ok"])
		}
		if len(s.Rounds) != s.Round || s.Rounds[len(s.Rounds)-1].Round != s.Round {
			t.Errorf("rounds = %+v at round %d", s.Rounds, s.Round)
		}
		var n int
		if err := d.QueryRow(t.Context(), `SELECT count(*) FROM survey_history`).Scan(&n); err != nil || n != int(s.Revision)-1 {
			t.Errorf("%d earlier revisions, %v, want %d", n, err, s.Revision-1)
		}
	})
}

func TestLockedMembers(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		v := newEnv(t, d)
		ctx := as(t, "ws", "owner")
		id := v.create(t, "ws", open)
		steps := []struct{ move, patch, want string }{
			{"", `{"sampling":{"size":50},"type":"MonitoringSurvey","templateId":null,"templateVersion":null}`, ""},
			{"", `{"type":"BaselineSurvey","templateId":null,"templateVersion":null,"eligibility":{"expression":"true"}}`, ""},
			{"", `{"surveyId":"other"}`, "/surveyId locked"},
			{"ready", `{"sampling":{"size":60}}`, ""},
			{
				"activate", `{"sampling":{"size":70},"template":{"socioEconomicData":true},"onePerHousehold":false,"eligibility":null,"modes":["web"],"name":"ok"}`,
				"/eligibility locked, /modes locked, /onePerHousehold locked, /sampling locked, /template locked",
			},
			{"", `{"projectId":"did:ixo:project/two","type":"FollowUpSurvey"}`, "/projectId locked, /type locked"},
			{"", `{"window":{"start":"2026-01-01T00:00:00Z"}}`, "/window/start locked"},
			{"", `{"window":{"end":"2099-01-01T00:00:00Z"},"collectors":["did:ixo:agent/9"],"instructions":{"en":"x"},"name":"n","languages":["en"],"training":{"summary":"s"},"assignments":[{"collector":"did:ixo:agent/9"}]}`, ""},
			{"pause", `{"window":{"end":"2098-01-01T00:00:00Z"}}`, ""},
			{"close", `{"window":{"end":"2097-01-01T00:00:00Z"},"name":"c"}`, ""},
			{"", `{"collectors":[]}`, "/collectors locked"},
			{"archive", `{"name":"a"}`, "/name locked"},
		}
		for _, st := range steps {
			if st.move != "" {
				v.move(t, "ws", id, st.move)
			}
			_, err := v.s.Update(ctx, id, "*", "", []byte(st.patch))
			if got := codes(err); got != st.want {
				t.Errorf("%s %s = %v %s, want %s", st.move, st.patch, err, got, st.want)
			}
			if st.want != "" {
				want(t, st.patch, err, "SURVEY_LOCKED")
			}
		}
	})
}

// A template that is retired stays with the campaigns that have it.
func TestRetiredTemplate(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		v := newEnv(t, d)
		for _, r := range []struct{ request, body string }{
			{"POST /v1/templates", `{"templateId":"mine","sections":[{"id":"consent","questions":[{"id":"ok","type":"consent"}]},{"id":"more","questions":[{"id":"n","type":"number"}]}]}`},
			{"POST /v1/templates/mine/publish", `{}`},
		} {
			if w := v.send(t, "ws owner", r.request, r.body); w.Code >= 300 {
				t.Fatalf("%s = %d %s", r.request, w.Code, w.Body)
			}
		}
		text := with(t, "template", "", "templateId", `"mine"`, "sections", `["more","consent"]`, "sampling", `{"method":"census"}`, "modes", `["web"]`)
		running, waiting := v.start(t, "ws", text), v.create(t, "ws", text)
		if s := v.get(t, "ws", running); strings.Join(s.Sections, " ") != "consent more" || s.TemplateVersion != 1 || s.Template != nil || s.Languages[0] != "en" {
			t.Errorf("survey = %+v", s)
		}
		if w := v.send(t, "ws owner", "POST /v1/templates/mine/retire", `{"version":1,"reason":"x"}`); w.Code != 200 {
			t.Fatalf("retire = %d %s", w.Code, w.Body)
		}
		v.s.Flush()
		if o, err := v.s.Open(as(t, "ws", "owner"), running); err != nil || !o.Active() || !o.Form.HasConsent() {
			t.Errorf("open = %+v, %v", o, err)
		}
		if _, err := v.s.Update(as(t, "ws", "owner"), running, "*", "", []byte(`{"name":"still here"}`)); err != nil {
			t.Errorf("update = %v", err)
		}
		_, err := v.s.Move(as(t, "ws", "owner"), waiting, "activate", "", survey.Move{})
		if got := codes(err); got != "/templateVersion retired" {
			t.Errorf("activate = %v %s", err, got)
		}
		_, err = v.s.Create(as(t, "ws", "owner"), draft(t, text))
		if got := codes(err); got != "/templateVersion retired" {
			t.Errorf("create = %v %s", err, got)
		}
	})
}

// A template whose review is overdue needs a reason.
func TestOverdueReview(t *testing.T) {
	t.Parallel()
	v := newEnv(t, dbtest.SQLite(t))
	begin := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	v.clock.Set(begin)
	for _, r := range []struct{ request, body string }{
		{"POST /v1/templates", `{"templateId":"mine","reviewIntervalDays":30,"sections":[{"id":"consent","questions":[{"id":"ok","type":"consent"}]}]}`},
		{"POST /v1/templates/mine/publish", `{}`},
	} {
		if w := v.send(t, "ws owner", r.request, r.body); w.Code >= 300 {
			t.Fatalf("%s = %d %s", r.request, w.Code, w.Body)
		}
	}
	id := v.create(t, "ws", with(t, "template", "", "templateId", `"mine"`, "sampling", `{"method":"census"}`, "modes", `["web"]`))
	v.clock.Set(begin.AddDate(0, 0, 31))
	_, err := v.s.Move(as(t, "ws", "owner"), id, "activate", "", survey.Move{})
	if got := codes(err); got != "/templateId review_overdue" {
		t.Errorf("activate = %v %s", err, got)
	}
	if _, err := v.s.Move(as(t, "ws", "owner"), id, "activate", "", survey.Move{Reason: "the review is next week"}); err != nil {
		t.Errorf("activate with a reason = %v", err)
	}
}

func TestProjects(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		v, strict := newEnv(t, d), newEnv(t, d, func(c *survey.Config) { c.StrictRefs = true })
		for _, tt := range []struct {
			role, project string
			external      bool
			want, strict  string
		}{
			{"owner", heldProject, false, "", ""},
			{"owner", heldTwin, false, "/projectId not_a_project", "/projectId not_a_project"},
			{"owner", "did:ixo:entity:123", true, "", "/projectId not_found"},
			{"project", oneProject, true, "", "/projectId not_found"},
			{"project", heldProject, false, "/projectId not_found", "/projectId not_found"},
			{"two", heldProject, false, "", ""},
		} {
			text := with(t, "projectId", `"`+tt.project+`"`)
			r, err := v.s.Create(as(t, "ws", tt.role), draft(t, text))
			if got := codes(err); got != tt.want {
				t.Errorf("%s %s = %s, want %s", tt.role, tt.project, got, tt.want)
			}
			if err == nil && r.Value.External != tt.external {
				t.Errorf("%s is external: %v", tt.project, r.Value.External)
			}
			_, err = strict.s.Create(as(t, "ws", tt.role), draft(t, text))
			if got := codes(err); got != tt.strict {
				t.Errorf("strict %s %s = %s, want %s", tt.role, tt.project, got, tt.strict)
			}
		}
		broken := errors.New("broken")
		v = newEnv(t, d, func(c *survey.Config) { c.Project = brokenProject(broken) })
		if _, err := v.s.Create(as(t, "ws", "owner"), draft(t, documented)); !errors.Is(err, broken) {
			t.Errorf("create = %v, want the trouble of area A", err)
		}
	})
}

func TestDelete(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		v := newEnv(t, d)
		ctx := as(t, "ws", "owner")
		id := v.create(t, "ws", open)
		items := make([]survey.HouseholdDraft, 1000)
		for i := range items {
			items[i] = home(i, "a", "adopter")
		}
		v.upload(t, "ws", id, items...)
		v.upload(t, "ws", id, home(5000, "a", ""))
		_, err := v.s.Delete(ctx, id, "")
		want(t, "delete without If-Match", err, "PRECONDITION_REQUIRED")
		_, err = v.s.Delete(ctx, id, `"2"`)
		want(t, "delete of another revision", err, "STALE_REVISION")
		if _, err := v.s.Delete(ctx, id, `"1"`); err != nil {
			t.Fatal(err)
		}
		for _, table := range []string{"surveys", "survey_history", "survey_households", "survey_counts"} {
			var n int
			if err := d.QueryRow(ctx, `SELECT count(*) FROM `+table).Scan(&n); err != nil || n != 0 {
				t.Errorf("%d rows in %s, %v", n, table, err)
			}
		}
		_, err = v.s.Open(ctx, id)
		want(t, "open after delete", err, "SURVEY_NOT_FOUND")
		id = v.start(t, "ws", open)
		_, err = v.s.Delete(ctx, id, "*")
		want(t, "delete of an active one", err, "STATE_TRANSITION_INVALID")
	})
}

// The window of a round goes before that of the campaign, until that is changed.
func TestRoundWindow(t *testing.T) {
	t.Parallel()
	v := newEnv(t, dbtest.SQLite(t))
	v.clock.Set(time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC))
	ctx := as(t, "ws", "owner")
	id := v.start(t, "ws", open)
	ends := func() string {
		t.Helper()
		o, err := v.s.Open(ctx, id)
		if err != nil {
			t.Fatal(err)
		}
		return o.Window.End.Format(time.DateOnly)
	}
	if _, err := v.s.OpenRound(ctx, id, "", survey.NextRound{Window: &survey.Window{End: time.Date(2026, 5, 1, 0, 0, 0, 0, time.UTC)}}); err != nil {
		t.Fatal(err)
	}
	if got := ends(); got != "2026-05-01" {
		t.Errorf("the round ends %s", got)
	}
	o, err := v.s.Open(ctx, id)
	if err != nil || !o.Within(v.clock.Now()) || o.Within(v.clock.Now().AddDate(1, 0, 0)) {
		t.Errorf("window = %+v, %v", o.Window, err)
	}
	if _, err := v.s.Update(ctx, id, "*", "", []byte(`{"name":"x"}`)); err != nil || ends() != "2026-05-01" {
		t.Errorf("another change moves the end to %s, %v", ends(), err)
	}
	if _, err := v.s.Update(ctx, id, "*", "", []byte(`{"window":{"end":"2026-06-01T00:00:00Z"}}`)); err != nil || ends() != "2026-06-01" {
		t.Errorf("the round ends %s, %v", ends(), err)
	}
}

// Strata that are renamed after households were uploaded do not fit any more.
func TestRenamedStrata(t *testing.T) {
	t.Parallel()
	v := newEnv(t, dbtest.SQLite(t))
	ctx := as(t, "ws", "owner")
	id := v.create(t, "ws", with(t, "sampling.strata", `[{"name":"a"}]`, "modes", `["web"]`))
	v.upload(t, "ws", id, home(1, "a", ""))
	if _, err := v.s.Update(ctx, id, "*", "", []byte(`{"sampling":{"strata":[{"name":"b"}]}}`)); err != nil {
		t.Fatal(err)
	}
	_, err := v.s.Move(ctx, id, "activate", "", survey.Move{})
	if got := codes(err); got != "/sampling/strata strata_unknown" {
		t.Errorf("activate = %v %s", err, got)
	}
	v.upload(t, "ws", id, home(1, "b", ""))
	v.move(t, "ws", id, "activate")
}
