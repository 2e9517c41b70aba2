package intake_test

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
	"github.com/hearth-dmrv/hearth/internal/event/eventtest"
	"github.com/hearth-dmrv/hearth/internal/survey/intake"
	"github.com/hearth-dmrv/hearth/internal/survey/surveytest"
	"github.com/hearth-dmrv/hearth/internal/web"
)

func TestRoutes(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		v := newEnv(t, d)
		eventtest.Cases(t, "offline.json", d, v.l, v.h)
	})
}

func TestDocument(t *testing.T) {
	t.Parallel()
	v := newEnv(t, dbtest.SQLite(t))
	a := surveytest.Gate(collector).API(v.s.Routes)
	text, err := web.DocumentJSON(web.Document("x", "1", a))
	if err != nil || !strings.Contains(string(text), "mergeable") || !strings.Contains(string(text), "missingAttachments") {
		t.Errorf("reference = %.200s, %v", text, err)
	}
}

// A batch of 500 from several devices at once, each sent twice: every response
// is stored once and counted once.
func TestBatchInACrowd(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		v := newEnv(t, d)
		v.start(t)
		const n = 120
		items := make([]intake.BatchItem, n)
		for i := range items {
			home := `"size":4`
			if i%10 == 0 {
				home = `"fuel":["wood"]`
			}
			items[i] = item(fmt.Sprint("r", i), fmt.Sprint(i), home)
		}
		var wg sync.WaitGroup
		var mu sync.Mutex
		var created, partial, replayed int
		for i := range 4 {
			mine := slices.Clone(items)
			if i%2 == 1 { // in another order: locks meet
				slices.Reverse(mine)
			}
			wg.Go(func() {
				out, err := v.s.Take(as(t, "ann"), intake.Batch{Items: mine})
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				defer mu.Unlock()
				created, partial, replayed = created+out.Created, partial+out.Partial, replayed+out.Replayed
			})
		}
		wg.Wait()
		if created != n*9/10 || partial != n/10 || replayed != 3*n {
			t.Errorf("created %d, partial %d, replayed %d", created, partial, replayed)
		}
		if got := v.tally(t); got.Completed != n*9/10 || got.Partial != n/10 || v.count(t, "responses") != n {
			t.Errorf("counters = %+v, %d records", got, v.count(t, "responses"))
		}
		if w := v.send(t, "owner", "POST /v1/surveys/s/close", `{}`); w.Code != 200 {
			t.Fatalf("close = %d", w.Code)
		}
		if out := v.take(t, "ann", append(items, item("new", "9999", `"size":4`))...); out.Replayed != n || out.Held != 1 || out.Results[n].Code != "SURVEY_CLOSED" {
			t.Errorf("after the survey was closed: %+v", out.Results[n])
		}
	})
}

// What replaces another in a batch is stored in its turn, and when it cannot be
// nothing of it is.
func TestBatchSupersedes(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		v := newEnv(t, d)
		v.start(t)
		out := v.take(t, "ann",
			item("a", "1", `"size":1`), item("b", "1", `"size":2`, `"supersedes":"a"`), item("c", "1", `"size":3`, `"supersedes":"a"`),
			item("d", "2", `"size":4`, `"supersedes":"a"`), item("a", "1", `"size":1`), item("b", "1", `"size":9`, `"supersedes":"a"`), item("e", "3", `"size":1`))
		if got := words(out); got != "created, created, invalid SUPERSEDES_INVALID, invalid SUPERSEDES_INVALID, replayed, conflict RESPONSE_CONFLICT, created" {
			t.Errorf("results = %s", got)
		}
		if got := v.tally(t); got.Completed != 2 || v.record(t, "a").SupersededBy != "b" {
			t.Errorf("counters = %+v", got)
		}
	})
}

func TestBatchLimits(t *testing.T) {
	t.Parallel()
	v := newEnv(t, dbtest.SQLite(t))
	v.start(t)
	items := make([]intake.BatchItem, 501)
	for i := range items {
		items[i] = item("x", "1", `"size":1`)
	}
	if _, err := v.s.Take(as(t, "ann"), intake.Batch{Items: items}); codes(err) != "BATCH_INVALID, /items out_of_range" {
		t.Errorf("501 items = %v", err)
	}
	out := v.take(t, "ann", items[:500]...)
	if out.Created != 1 || out.Replayed != 499 {
		t.Errorf("500 times the same = %+v", out)
	}
	// No more than 20 contents of one sender are set aside for one response.
	for i := range 30 {
		items[i] = item("x", "1", fmt.Sprintf(`"size":1,"cost":%d`, i))
	}
	out = v.take(t, "bob", items[:30]...)
	if last := out.Results[20]; out.Conflict != 30 || out.Results[19].ConflictID == "" || last.ConflictID != "" || len(last.Warnings) != 1 || last.Warnings[0].Code != "not_kept" {
		t.Errorf("30 conflicts: %d, the last is %+v", out.Conflict, last)
	}
	if out = v.take(t, "ann", items[25]); out.Results[0].ConflictID == "" || len(out.Results[0].Warnings) != 0 || v.count(t, "response_conflicts") != 21 {
		t.Errorf("one of somebody else = %+v, %d rows", out.Results[0], v.count(t, "response_conflicts"))
	}
	if w := v.send(t, "ann", "POST /v1/responses:batch", `{"items":["`+strings.Repeat("x", intake.MaxBytes)+`"]}`); w.Code != 413 {
		t.Errorf("a large batch = %d", w.Code)
	}
	photo := strings.Repeat("ab", 32)
	if out := v.take(t, "ann", item("p", "2", `"size":1,"photo":"sha256:`+photo+`"`)); !slices.Equal(out.Results[0].MissingAttachments, []string{photo}) {
		t.Errorf("result = %+v", out.Results[0])
	}
}

func TestResolve(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		for _, tt := range []struct {
			name, stored, sent string // answers
			sentID             string
			res                intake.Resolution
			want               string // answers of the response that holds then
			code               string
			again              string // the same batch after that
		}{
			{"stored", `"size":1`, `"size":2`, "r", intake.Resolution{Keep: "stored"}, `"size":1`, "", "replayed, replayed"},
			{"sent", `"size":1,"phone":"a"`, `"size":2,"phone":"b"`, "r", intake.Resolution{Keep: "sent"}, `"phone":"b","size":2`, "", "replayed, replayed"},
			{"reason too long", `"size":1`, `"size":2`, "r", intake.Resolution{Keep: "sent", Reason: strings.Repeat("é", 1001)}, `"size":1`, "RESOLUTION_INVALID, /reason too_long", "replayed, conflict RESPONSE_CONFLICT"},
			{"reason as long as may be", `"size":1`, `"size":2`, "r", intake.Resolution{Keep: "sent", Reason: strings.Repeat("é", 1000)}, `"size":2`, "", "replayed, replayed"},
			{"merged, disjoint", `"size":1,"cost":2`, `"size":1,"fuel":["gas"],"phone":"b"`, "r", intake.Resolution{Keep: "merged"}, `"cost":2,"fuel":["gas"],"phone":"b","size":1,"yearly":24`, "", "replayed, replayed"},
			{"merged, undecided", `"size":1,"cost":2`, `"size":2,"cost":3`, "r", intake.Resolution{Keep: "merged", Take: map[string]string{"/responses/home/size": "sent"}}, `"cost":2,"size":1,"yearly":24`, "RESOLUTION_INVALID, /take required", "replayed, conflict RESPONSE_CONFLICT"},
			{"merged, decided", `"size":1,"cost":2`, `"size":2,"cost":3`, "r", intake.Resolution{Keep: "merged", Take: map[string]string{"/responses/home/size": "sent", "/responses/home/cost": "stored"}}, `"cost":2,"size":2,"yearly":24`, "", "replayed, replayed"},
			{"second response, stored", `"size":1`, `"size":2`, "q", intake.Resolution{Keep: "stored"}, `"size":1`, "", "replayed, replayed"},
			{"second response, sent", `"size":1,"phone":"a"`, `"size":2,"phone":"b"`, "q", intake.Resolution{Keep: "sent"}, `"phone":"b","size":2`, "", "replayed, replayed"},
			{"second response, merged", `"size":1`, `"size":1,"phone":"b"`, "q", intake.Resolution{Keep: "merged"}, `"phone":"b","size":1`, "", "replayed, replayed"},
		} {
			t.Run(tt.name, func(t *testing.T) {
				v := newEnv(t, d)
				if v.count(t, "surveys") == 0 {
					v.start(t)
				}
				prefix := strings.NewReplacer(" ", "", ",", "").Replace(tt.name)
				household := prefix
				batch := []intake.BatchItem{item(prefix+"r", household, tt.stored), item(prefix+tt.sentID, household, tt.sent)}
				out := v.take(t, "ann", batch...)
				if out.Created != 1 || out.Conflict != 1 {
					t.Fatalf("batch = %s", words(out))
				}
				id := out.Results[1].ConflictID
				if again := v.take(t, "ann", batch...); again.Results[1].ConflictID != id || words(again) != "replayed, conflict "+out.Results[1].Code {
					t.Errorf("again = %s %s", words(again), again.Results[1].ConflictID)
				}
				if _, err := v.s.Resolve(as(t, "bob"), "s", id, "", tt.res); codes(err) != "NOT_COLLECTOR" && tt.code == "" {
					t.Errorf("bob = %v", err)
				}
				if _, err := v.s.Resolve(as(t, "mia"), "s", id, `"9"`, tt.res); !strings.HasPrefix(codes(err), "STALE_REVISION") && tt.code == "" {
					t.Errorf("stale = %v", err)
				}
				got, err := v.s.Resolve(as(t, "mia"), "s", id, `"1"`, tt.res)
				if codes(err) != tt.code {
					t.Fatalf("resolve = %v %s, want %s", err, codes(err), tt.code)
				}
				if err == nil && (got.Value == nil || got.Value.Resolution != tt.res.Keep || got.Value.ResolvedBy != "did:key:mia") {
					t.Errorf("conflict = %+v", got.Value)
				}
				holds := prefix + "r"
				if tt.sentID == "q" && tt.res.Keep == "sent" {
					if old := v.record(t, holds); old.Verification.Status != "superseded" {
						t.Errorf("the first is %s", old.Verification.Status)
					}
					if holds = prefix + "q"; v.record(t, holds).SubmittedBy != "did:key:ann" {
						t.Errorf("sent by %s", v.record(t, holds).SubmittedBy)
					}
				}
				if r := v.record(t, holds); string(r.Responses.Value) != `{"consent":{"ok":true},"home":{`+tt.want+`}}` {
					t.Errorf("answers = %s, want %s", r.Responses.Value, tt.want)
				}
				if again := words(v.take(t, "ann", batch...)); again != tt.again {
					t.Errorf("the batch again = %s, want %s", again, tt.again)
				}
				if err == nil {
					if _, err := v.s.Resolve(as(t, "mia"), "s", id, "", tt.res); codes(err) != "CONFLICT_RESOLVED" {
						t.Errorf("resolve again = %v", err)
					}
				}
			})
		}
		v := newEnv(t, d)
		if got := v.tally(t); got.Completed != 10 {
			t.Errorf("counters = %+v, want 10", got)
		}
	})
}

// Of many who decide one does.
func TestResolveInACrowd(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		v := newEnv(t, d)
		v.start(t)
		id := v.take(t, "ann", item("r", "1", `"size":1`), item("r", "1", `"size":2`)).Results[1].ConflictID
		var wg sync.WaitGroup
		var mu sync.Mutex
		got := map[string]int{}
		for i := range 12 {
			wg.Go(func() {
				_, err := v.s.Resolve(as(t, "mia"), "s", id, "", intake.Resolution{Keep: []string{"stored", "sent"}[i%2]})
				mu.Lock()
				defer mu.Unlock()
				got[codes(err)]++
			})
		}
		wg.Wait()
		if got[""] != 1 || got["CONFLICT_RESOLVED"] != 11 {
			t.Errorf("answers = %v", got)
		}
		open, _, err := v.s.List(as(t, "mia"), "s", false, intake.ClashPlace{}, 10)
		done, _, err2 := v.s.List(as(t, "mia"), "s", true, intake.ClashPlace{}, 10)
		if err != nil || err2 != nil || len(open) != 0 || len(done) != 1 {
			t.Errorf("%d open, %d resolved, %v, %v", len(open), len(done), err, err2)
		}
	})
}

// What is set aside is sealed, and unreadable once its household is erased.
func TestErasedConflict(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		v := newEnv(t, d)
		v.start(t)
		out := v.take(t, "ann", item("r", "1", `"size":1`), item("r", "1", `"size":2,"phone":"canary"`))
		id := out.Results[1].ConflictID
		var sealed []byte
		if err := d.QueryRow(t.Context(), `SELECT sealed FROM response_conflicts`).Scan(&sealed); err != nil || bytes.Contains(sealed, []byte("canary")) || len(sealed) == 0 {
			t.Errorf("sealed = %q, %v", sealed, err)
		}
		err := d.InTx(t.Context(), func(tx *db.Tx) error {
			_, err := v.responses.Erase(t.Context(), tx, "ws", "did:ixo:household/1")
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		c, err := v.s.Get(as(t, "mia"), "s", id)
		if err != nil || !c.Erased || len(c.Differences) != 0 {
			t.Errorf("conflict = %+v, %v", c, err)
		}
		if _, err := v.s.Resolve(as(t, "mia"), "s", id, "", intake.Resolution{Keep: "sent"}); codes(err) != "CONTENT_ERASED" {
			t.Errorf("keep what was sent = %v", err)
		}
		if _, err := v.s.Resolve(as(t, "mia"), "s", id, "", intake.Resolution{Keep: "stored"}); err != nil {
			t.Errorf("keep what is stored = %v", err)
		}
		// A redaction takes what clashed away too.
		v.take(t, "ann", item("q", "2", `"size":1`), item("q", "2", `"size":2`))
		if _, err := v.responses.Redact(as(t, "ann"), "q", "*", "asked for"); err != nil {
			t.Fatal(err)
		}
		if open, _, err := v.s.List(as(t, "mia"), "s", false, intake.ClashPlace{}, 10); err != nil || len(open) != 0 {
			t.Errorf("open = %+v, %v", open, err)
		}
	})
}
