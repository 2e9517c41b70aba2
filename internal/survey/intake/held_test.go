package intake_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
	"github.com/hearth-dmrv/hearth/internal/survey/intake"
)

func (v *env) must(t testing.TB, role, request, body string) string {
	t.Helper()
	w := v.send(t, role, request, body)
	if w.Code >= 300 {
		t.Fatalf("%s as %s = %d %s", request, role, w.Code, w.Body)
	}
	return w.Body.String()
}

// TestHeld: what comes after the end of a survey is kept, once, and a manager
// takes or refuses it.
func TestHeld(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		v := newEnv(t, d)
		v.start(t)
		v.take(t, "ann", item("old", "1", `"size":4`))
		v.must(t, "owner", "POST /v1/surveys/s/pause", `{}`)
		late := []intake.BatchItem{
			item("a", "2", `"size":5,"phone":"tel.0700"`), item("b", "3", `"fuel":["wood"]`), item("old", "1", `"size":4`), item("c", "1", `"size":7`), item("d", "4", `"size":99`),
		}
		first := v.take(t, "ann", late...)
		const want = "held SURVEY_PAUSED, held SURVEY_PAUSED, replayed, held SURVEY_PAUSED, invalid RESPONSE_INVALID"
		if got := words(first); got != want || first.Held != 3 {
			t.Fatalf("results = %s, want %s", got, want)
		}
		v.must(t, "owner", "POST /v1/surveys/s/close", `{}`)
		again := v.take(t, "ann", late...)
		if words(again) != want || again.Results[0].ConflictID != first.Results[0].ConflictID || v.count(t, "response_conflicts") != 3 || v.count(t, "responses") != 1 {
			t.Errorf("again = %s, %d kept", words(again), v.count(t, "response_conflicts"))
		}
		v.decideHeld(t, first)
		if got := v.take(t, "ann", late[:2]...); words(got) != "replayed, replayed" {
			t.Errorf("after it was taken = %s", words(got))
		}
		r := v.record(t, "a")
		if r.SubmittedBy != "did:key:ann" || r.Collector != "did:key:ann" || r.ReceivedAt.After(r.Updated) || !strings.Contains(string(r.Responses.Value), "tel.0700") {
			t.Errorf("record = %+v, want that of ann, when it came", r)
		}
		if got := v.tally(t); got.Completed != 2 {
			t.Errorf("counters = %+v", got)
		}
		if c := v.record(t, "c"); c.Supersedes != "old" {
			t.Errorf("record = %+v, want it in place of the first", c)
		}
	})
}

// decideHeld takes a and c, and refuses b.
func (v *env) decideHeld(t *testing.T, held *intake.Results) {
	t.Helper()
	path := func(i int) string { return "/v1/surveys/s/conflicts/" + held.Results[i].ConflictID }
	if text := v.must(t, "mia", "GET "+path(0), ""); !strings.Contains(text, `"phone":"tel.0700"`) || strings.Contains(text, `"responseId":"",`) {
		t.Errorf("held = %s, want what was sent", text)
	}
	text := v.must(t, "reader", "GET /v1/surveys/s/conflicts", "")
	if strings.Contains(text, "tel.0700") || strings.Contains(text, "did:ixo:household") || strings.Contains(text, "did:key:ann") || strings.Count(text, "SURVEY_PAUSED") != 3 {
		t.Errorf("held for a reader = %s, want names", text)
	}
	for _, tt := range []struct {
		role, body string
		i, status  int
		code       string
	}{
		{"ann", `{"keep":"sent"}`, 0, 403, "SCOPE_MISSING"},
		{"mia", `{"keep":"merged"}`, 0, 400, "RESOLUTION_INVALID"},
		{"mia", `{"keep":"stored"}`, 1, 400, "RESOLUTION_INVALID"},
		{"mia", `{"keep":"sent"}`, 3, 409, "DUPLICATE_HOUSEHOLD_RESPONSE"},
		{"mia", `{"keep":"sent","supersedes":"old"}`, 3, 200, `"sent"`},
		{"mia", `{"keep":"sent","reason":"The tablet was lost."}`, 0, 200, `"sent"`},
		{"mia", `{"keep":"stored","reason":"Nobody lives there."}`, 1, 200, `"stored"`},
		{"mia", `{"keep":"sent"}`, 1, 409, "CONFLICT_RESOLVED"},
	} {
		if w := v.send(t, tt.role, "POST "+path(tt.i)+"/resolve", tt.body); w.Code != tt.status || !strings.Contains(w.Body.String(), tt.code) {
			t.Errorf("%s by %s = %d %s, want %d %s", tt.body, tt.role, w.Code, w.Body, tt.status, tt.code)
		}
	}
}

// TestHeldByTemplate: an item that names the template is for its one survey,
// also after the end.
func TestHeldByTemplate(t *testing.T) {
	t.Parallel()
	v := newEnv(t, dbtest.SQLite(t))
	v.start(t)
	one := item("a", "2", `"size":5`)
	one.Value.Value = []byte(strings.Replace(string(one.Value.Value), `"surveyId":"s"`, `"surveyId":"home"`, 1))
	v.must(t, "owner", "POST /v1/surveys/s/close", `{}`)
	got := v.take(t, "ann", one)
	if words(got) != "held SURVEY_CLOSED" {
		t.Errorf("results = %s", words(got))
	}
}

// TestWaitingIsNotArchived: a survey does not end for good while interviews wait
// that could not be taken after it.
func TestWaitingIsNotArchived(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		v := newEnv(t, d)
		v.start(t)
		conflict := v.take(t, "ann", item("a", "1", `"size":4`), item("a", "1", `"size":5`)).Results[1]
		v.must(t, "owner", "POST /v1/surveys/s/close", `{}`)
		held := v.take(t, "ann", item("b", "2", `"size":6`)).Results[0]
		refused := func(n string) {
			t.Helper()
			w := v.send(t, "owner", "POST /v1/surveys/s/archive", `{}`)
			for _, word := range []string{"STATE_TRANSITION_INVALID", `"conflicts_waiting"`, ": " + n + ".", "/v1/surveys/s/conflicts?resolved=false"} {
				if w.Code != 409 || !strings.Contains(w.Body.String(), word) {
					t.Errorf("archive = %d %s, want 409 with %s", w.Code, w.Body, word)
				}
			}
		}
		refused("2")
		v.must(t, "mia", "POST /v1/surveys/s/conflicts/"+conflict.ConflictID+"/resolve", `{"keep":"stored"}`)
		refused("1")
		v.must(t, "mia", "POST /v1/surveys/s/conflicts/"+held.ConflictID+"/resolve", `{"keep":"sent"}`)
		v.must(t, "owner", "POST /v1/surveys/s/archive", `{}`)
	})
}

// TestHeldInACrowd: the same batch many times at once is kept once.
func TestHeldInACrowd(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		v := newEnv(t, d)
		v.start(t)
		v.must(t, "owner", "POST /v1/surveys/s/close", `{}`)
		ids := make([]string, 8)
		var wg sync.WaitGroup
		for i := range ids {
			wg.Go(func() {
				out, err := v.s.Take(as(t, "ann"), intake.Batch{Items: []intake.BatchItem{item("a", "2", `"size":5`)}})
				if err != nil {
					t.Error(err)
					return
				}
				ids[i] = out.Results[0].ConflictID
			})
		}
		wg.Wait()
		for _, id := range ids {
			if id != ids[0] || v.count(t, "response_conflicts") != 1 {
				t.Errorf("kept as %v, %d of them", ids, v.count(t, "response_conflicts"))
			}
		}
	})
}

// TestVerifiedNeedsAReason: nobody takes a verification back without a word.
func TestVerifiedNeedsAReason(t *testing.T) {
	t.Parallel()
	v := newEnv(t, dbtest.SQLite(t))
	v.start(t)
	v.take(t, "owner", item("r", "1", `"size":4`, `"verification":{"status":"verified","verifier":"did:key:vera","timestamp":"2026-02-21T10:00:00Z"}`))
	id := v.take(t, "ann", item("r", "1", `"size":5`)).Results[0].ConflictID
	w := v.send(t, "mia", "POST /v1/surveys/s/conflicts/"+id+"/resolve", `{"keep":"sent"}`)
	if w.Code != 400 || !strings.Contains(w.Body.String(), `"/reason"`) {
		t.Errorf("without a reason = %d %s, want 400", w.Code, w.Body)
	}
	v.must(t, "mia", "POST /v1/surveys/s/conflicts/"+id+"/resolve", `{"keep":"sent","reason":"Misheard."}`)
	if got := v.record(t, "r").Verification.Status; got != "pending" {
		t.Errorf("verification = %s", got)
	}
	again := v.take(t, "owner", item("r", "1", `"size":5`, `"verification":{"status":"verified","verifier":"did:key:zoe","timestamp":"2026-02-21T10:00:00Z"}`))
	if one := again.Results[0]; one.Status != "replayed" || len(one.Warnings) != 1 || one.Warnings[0].Code != "verification_ignored" {
		t.Errorf("a decision with what is stored = %+v, want a warning", one)
	}
}

// TestHeldAmongOtherProjects: surveys of the template that the caller does not
// see keep nobody from finding the one it does.
func TestHeldAmongOtherProjects(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		v := newEnv(t, d)
		v.start(t)
		v.must(t, "owner", "POST /v1/surveys/s/close", `{}`)
		for i := range 22 {
			id := fmt.Sprintf("other-%d", i)
			v.must(t, "owner", "POST /v1/surveys", strings.NewReplacer(`"surveyId":"s"`, `"surveyId":"`+id+`"`, "project/one", "project/two").Replace(homeSurvey))
			v.must(t, "owner", "POST /v1/surveys/"+id+"/activate", `{}`)
			v.must(t, "owner", "POST /v1/surveys/"+id+"/close", `{}`)
		}
		one := item("r1", "1", `"size":4`)
		one.Value.Value = jsontext.Value(strings.Replace(string(one.Value.Value), `"surveyId":"s"`, `"surveyId":"home"`, 1))
		if got := words(v.take(t, "project", one)); got != "held SURVEY_CLOSED" {
			t.Errorf("sent by the template = %s, want it held", got)
		}
		out := v.take(t, "owner", one)
		if got := words(out); got != "invalid AMBIGUOUS_SURVEY" || len(out.Results[0].Candidates) < 2 || out.Results[0].Candidates[0].Href != "/v1/surveys/"+out.Results[0].Candidates[0].SurveyID {
			t.Errorf("sent by whoever sees all = %s, %+v, want AMBIGUOUS_SURVEY with its candidates", got, out.Results[0].Candidates)
		}
	})
}

// TestHeldAndSentAgain: what its sender sends again once the survey goes on is
// not left to be decided about.
func TestHeldAndSentAgain(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		v := newEnv(t, d)
		v.start(t)
		v.take(t, "ann", item("old", "1", `"size":4`))
		v.must(t, "owner", "POST /v1/surveys/s/pause", `{}`)
		late := []intake.BatchItem{item("a", "2", `"size":5`), item("b", "3", `"fuel":["wood"]`), item("c", "1", `"size":7`), item("d", "1", `"size":8`, `"supersedes":"old"`), item("e", "5", `"size":6`)}
		one := item("f", "6", `"size":7`)
		held := v.take(t, "ann", append(late, one)...)
		if held.Held != 6 {
			t.Fatalf("results = %s", words(held))
		}
		v.must(t, "owner", "POST /v1/surveys/s/resume", `{}`)
		again := v.take(t, "ann", late[:4]...)
		if got := words(again); got != "created, partial, conflict DUPLICATE_HOUSEHOLD_RESPONSE, created" {
			t.Fatalf("again = %s", got)
		}
		for i, why := range []string{"is stored", "is stored", "see " + again.Results[2].ConflictID, "is stored"} {
			if c := v.conflict(t, "mia", held.Results[i].ConflictID); c.Kept != "sent" || c.By != "did:key:ann" || !strings.Contains(c.Reason, why) {
				t.Errorf("held %d = %s, want it ended: %s", i, c.text, why)
			}
		}
		// One that came by itself leaves nothing to decide either, but with other content it does.
		id := held.Results[4].ConflictID
		if w := v.send(t, "ann", "POST /v1/responses", strings.Replace(string(late[4].Value.Value), `"size":6`, `"size":9`, 1)); w.Code != 201 {
			t.Fatalf("other content = %d %s", w.Code, w.Body)
		}
		if c := v.conflict(t, "mia", id); c.Kept != "" {
			t.Errorf("held = %s, want it open: it says something else", c.text)
		}
		v.must(t, "ann", "POST /v1/responses", string(one.Value.Value))
		if c := v.conflict(t, "mia", held.Results[5].ConflictID); c.Kept != "sent" || c.By != "did:key:ann" || !strings.Contains(c.Reason, "is stored") {
			t.Errorf("held = %s, want it ended", c.text)
		}
		v.must(t, "lead", "POST /v1/surveys/s/conflicts/"+id+"/resolve", `{"keep":"stored","reason":"Too late."}`)
		open, _, err := v.s.List(as(t, "mia"), "s", false, intake.ClashPlace{}, 10)
		if err != nil || len(open) != 1 || v.count(t, "responses") != 6 {
			t.Errorf("%d are open, %v, of %d responses", len(open), err, v.count(t, "responses"))
		}
	})
}

// TestHeldAndSentByAnother: the same content of somebody else ends no wait; that
// would tell what waits.
func TestHeldAndSentByAnother(t *testing.T) {
	t.Parallel()
	v := newEnv(t, dbtest.SQLite(t))
	v.start(t)
	v.must(t, "owner", "POST /v1/surveys/s/pause", `{}`)
	first, second := v.take(t, "ann", item("a", "2", `"size":5`)), v.take(t, "bob", item("a", "2", `"size":5`))
	if first.Results[0].ConflictID == second.Results[0].ConflictID {
		t.Errorf("bob gets the conflict of ann: %+v", second.Results[0])
	}
	v.must(t, "owner", "POST /v1/surveys/s/resume", `{}`)
	if got := words(v.take(t, "bob", item("a", "2", `"size":5`))); got != "created" {
		t.Errorf("again = %s", got)
	}
	if a, b := v.conflict(t, "mia", first.Results[0].ConflictID), v.conflict(t, "mia", second.Results[0].ConflictID); a.Kept != "" || b.Kept != "sent" {
		t.Errorf("that of ann %s, of bob %s", a.text, b.text)
	}
}

// TestHeldAndSentInACrowd: whoever is first, the sender who sends it again or the
// manager who takes it, it is stored once and nothing is left to decide.
func TestHeldAndSentInACrowd(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		v := newEnv(t, d)
		v.start(t)
		v.must(t, "owner", "POST /v1/surveys/s/pause", `{}`)
		late := []intake.BatchItem{item("a", "2", `"size":5`), item("b", "3", `"size":5`)}
		held := v.take(t, "ann", late...)
		v.must(t, "owner", "POST /v1/surveys/s/resume", `{}`)
		var wg sync.WaitGroup
		for i := range 8 {
			wg.Go(func() {
				if i%2 == 0 {
					if _, err := v.s.Take(as(t, "ann"), intake.Batch{Items: late}); err != nil {
						t.Error(err)
					}
					return
				}
				for _, one := range held.Results {
					if _, err := v.s.Resolve(as(t, "mia"), "s", one.ConflictID, "", intake.Resolution{Keep: "sent"}); codes(err) != "" && codes(err) != "CONFLICT_RESOLVED" {
						t.Error(err)
					}
				}
			})
		}
		wg.Wait()
		open, _, err := v.s.List(as(t, "mia"), "s", false, intake.ClashPlace{}, 10)
		if err != nil || len(open) != 0 || v.count(t, "responses") != 2 || v.tally(t).Completed != 2 {
			t.Errorf("%d are open, %v, of %d responses, %+v", len(open), err, v.count(t, "responses"), v.tally(t))
		}
	})
}
