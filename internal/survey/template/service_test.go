package template_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
	"github.com/hearth-dmrv/hearth/internal/event/eventtest"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/once"
	"github.com/hearth-dmrv/hearth/internal/survey/surveytest"
	"github.com/hearth-dmrv/hearth/internal/survey/template"
	"github.com/hearth-dmrv/hearth/internal/web"
)

func TestRoutes(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		e := newEnv(t, d)
		eventtest.Cases(t, "templates.json", d, e.l, e.h)
	})
}

func TestOnePublisherWins(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		e := newEnv(t, d)
		for i := range 5 {
			id := e.create(t, "ws", seed(fmt.Sprint("t", i)))
			got := surveytest.Crowd(6, func(int) error {
				_, err := e.s.Move(owner(t, "ws"), id, template.Publish, "", template.Change{})
				return err
			})
			if got["ok"] != 1 || got["TEMPLATE_PUBLISHED"] != 5 {
				t.Fatalf("publishers = %v, want one ok and five TEMPLATE_PUBLISHED", got)
			}
		}
		if r, err := e.l.Range(t.Context(), "ws"); err != nil || r.Newest != 10 {
			t.Errorf("%d events, %v, want 5 created and 5 published", r.Newest, err)
		}
	})
}

// A draft that is published while somebody changes it is published as it was
// or as it is now, and never changes after.
func TestPublishAgainstChange(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		e := newEnv(t, d)
		for i := range 8 {
			id := e.create(t, "ws", seed(fmt.Sprint("t", i)))
			changed := draft(t, strings.Replace(seed(id), `"max":20`, `"max":30`, 1))
			got := surveytest.Crowd(2, func(i int) error {
				if i == 0 {
					_, err := e.s.Move(owner(t, "ws"), id, template.Publish, "", template.Change{})
					return err
				}
				_, err := e.s.Update(owner(t, "ws"), id, `"1"`, changed)
				return err
			})
			refused := got["TEMPLATE_PUBLISHED"] + got["TEMPLATE_CHANGED"] + got["STALE_REVISION"]
			if got["ok"]+refused != 2 || got["ok"] == 0 {
				t.Fatalf("publish and change = %v", got)
			}
			f, v, err := e.s.Pinned(t.Context(), d, "ws", template.Ref{ID: id, Version: 1})
			if fault.CodeOf(err) == "TEMPLATE_NOT_PUBLISHED" {
				continue // the publisher lost
			}
			if err != nil {
				t.Fatal(err)
			}
			most := *f.Template().Sections[1].Questions[0].Validation.Max
			if got["ok"] == 1 && most != 20 {
				t.Error("a change that was refused is in the published version")
			}
			if r, err := e.s.Get(owner(t, "ws"), id, 1); err != nil || !strings.Contains(string(r.Raw), v.ContentHash) {
				t.Errorf("stored %.100s, cached hash %s, %v", r.Raw, v.ContentHash, err)
			}
		}
	})
}

// Of many who open the next version one does.
func TestNextVersionInACrowd(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		e := newEnv(t, d)
		id := e.create(t, "ws", seed("t"))
		e.release(t, "ws", id)
		got := surveytest.Crowd(8, func(int) error {
			_, err := e.s.Update(owner(t, "ws"), id, `"2"`, draft(t, seed("t")))
			return err
		})
		if got["ok"] != 1 || got["STALE_REVISION"] != 7 {
			t.Errorf("eight drafts = %v, want one and seven STALE_REVISION", got)
		}
		if all, err := e.s.Versions(owner(t, "ws"), id); err != nil || len(all) != 2 {
			t.Errorf("versions = %v, %v, want 2", all, err)
		}
	})
}

// A draft that two delete, and one changes, is gone once or stays.
func TestDeleteInACrowd(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		e := newEnv(t, d)
		for i := range 5 {
			id := e.create(t, "ws", seed(fmt.Sprint("t", i)))
			got := surveytest.Crowd(3, func(i int) error {
				if i == 0 {
					_, err := e.s.Update(owner(t, "ws"), id, `"1"`, draft(t, seed(id)))
					return err
				}
				_, err := e.s.Delete(owner(t, "ws"), id, `"1"`)
				return err
			})
			if got["ok"] != 1 || got["TEMPLATE_NOT_FOUND"]+got["STALE_REVISION"] != 2 {
				t.Errorf("two who delete and one who changes = %v, want one", got)
			}
		}
	})
}

func TestLimits(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		e := newEnv(t, d)
		id := e.create(t, "ws", seed("t"))
		for i := range 11 { // 90 rows each, which count
			err := d.InTx(t.Context(), func(tx *db.Tx) error {
				for j := range 90 {
					if _, err := tx.Exec(t.Context(), `INSERT INTO templates (ws, template_id, nid, version, latest, revision, updated_at, summary)
						VALUES ($1, $2, $3, 1, 1, 1, 0, '{}')`, "ws", fmt.Sprintf("x%d.%d", i, j), d.NewNID()); err != nil {
						return err
					}
				}
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		got := surveytest.Crowd(15, func(i int) error {
			_, err := e.s.Create(owner(t, "ws"), draft(t, seed(fmt.Sprint("more", i))))
			return err
		})
		if got["ok"] != 9 || got["TOO_MANY_TEMPLATES"] != 6 {
			t.Errorf("the last 15 of 1006 = %v, want 9 made", got)
		}
		e.create(t, "other", seed("t"))
		e.release(t, "ws", id)
		err := d.InTx(t.Context(), func(tx *db.Tx) error { // as if there had been 99 before
			_, err := tx.Exec(t.Context(), `UPDATE templates SET version = 100, latest = 100 WHERE ws = $1 AND template_id = $2`, "ws", id)
			if err == nil {
				_, err = tx.Exec(t.Context(), `UPDATE template_versions SET version = 100, body = replace(body, '"version":1,', '"version":100,') WHERE ws = $1 AND template_id = $2`, "ws", id)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := e.s.Update(owner(t, "ws"), id, "*", draft(t, seed("t"))); fault.CodeOf(err) != "TOO_MANY_VERSIONS" {
			t.Errorf("version 101 = %v, want TOO_MANY_VERSIONS", err)
		}
		big := draft(t, seed("big"))
		big.Sections[0].Questions[0].Options = nil
		for i := range 1000 {
			big.Sections[0].Questions[0].Options = append(big.Sections[0].Questions[0].Options, draftOption(fmt.Sprintf("%s%d", strings.Repeat("x", 190), i), strings.Repeat("y", 600)))
		}
		if _, err := e.s.Create(owner(t, "elsewhere"), big); fault.CodeOf(err) != "TEMPLATE_INVALID" || fields(err)[0].Code != "too_large" {
			t.Errorf("a template of 800 kB = %v %v, want TEMPLATE_INVALID too_large", err, fields(err))
		}
	})
}

// The life of a template, and what Form and Pinned say at each step.
func TestLife(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		e := newEnv(t, d)
		ctx := owner(t, "ws")
		id := e.create(t, "ws", seed("t"))
		want := func(version int, code, pinned string, got int) {
			t.Helper()
			_, v, err := e.s.Form(t.Context(), d, "ws", template.Ref{ID: id, Version: version})
			if fault.CodeOf(err) != code || err == nil && v.Version != got {
				t.Errorf("Form(%d) = %v, %v; want %d %s", version, v, err, got, code)
			}
			if _, _, err := e.s.Pinned(t.Context(), d, "ws", template.Ref{ID: id, Version: version}); fault.CodeOf(err) != pinned {
				t.Errorf("Pinned(%d) = %v; want %q", version, err, pinned)
			}
			if _, _, err := e.s.Form(t.Context(), d, "other", template.Ref{ID: id, Version: version}); fault.CodeOf(err) != "TEMPLATE_NOT_FOUND" {
				t.Errorf("Form(%d) in another workspace = %v", version, err)
			}
		}
		do := func(verb string, version int) {
			t.Helper()
			if _, err := e.s.Move(ctx, id, verb, "", template.Change{Version: version, Reason: "why"}); err != nil {
				t.Fatalf("%v %v", err, fields(err))
			}
		}
		want(0, "TEMPLATE_NOT_PUBLISHED", "TEMPLATE_NOT_PUBLISHED", 0)
		want(9, "TEMPLATE_VERSION_NOT_FOUND", "TEMPLATE_VERSION_NOT_FOUND", 0)
		do(template.Publish, 0)
		want(0, "", "", 1)
		e.next(t, "ws", seed("t"))
		want(0, "", "", 1)
		want(2, "TEMPLATE_NOT_PUBLISHED", "TEMPLATE_NOT_PUBLISHED", 0)
		do(template.Publish, 2)
		want(0, "", "", 2)
		want(1, "", "", 1)
		do(template.Deprecate, 2)
		want(0, "", "", 1)
		want(2, "", "", 2)
		do(template.Retire, 1)
		want(0, "", "", 2) // deprecated, but there is no other
		want(1, "TEMPLATE_RETIRED", "", 0)
		do(template.Retire, 0)
		want(0, "TEMPLATE_RETIRED", "", 0)
		for _, verb := range []string{template.Publish, template.Deprecate, template.Retire} {
			if _, err := e.s.Move(ctx, id, verb, "", template.Change{}); fault.CodeOf(err) != "STATE_TRANSITION_INVALID" {
				t.Errorf("a move of what is retired = %v, want STATE_TRANSITION_INVALID", err)
			}
		}
	})
}

// A form is compiled once, and again after a change; a selection too.
func TestFormIsKept(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		e := newEnv(t, d)
		id := e.create(t, "ws", seed("t"))
		e.release(t, "ws", id)
		for _, sections := range [][]string{nil, {"eligibility"}} {
			a, _, err := e.s.Form(t.Context(), d, "ws", template.Ref{ID: id, Sections: sections})
			if err != nil {
				t.Fatal(err)
			}
			if b, _, _ := e.s.Form(t.Context(), d, "ws", template.Ref{ID: id, Version: 1, Sections: sections}); a != b {
				t.Errorf("sections %v: compiled twice", sections)
			}
			e.s.Forget("other")
			if b, _, _ := e.s.Form(t.Context(), d, "ws", template.Ref{ID: id, Sections: sections}); a != b {
				t.Errorf("sections %v: another workspace drops it", sections)
			}
			e.s.Forget("ws")
			if b, _, _ := e.s.Form(t.Context(), d, "ws", template.Ref{ID: id, Sections: sections}); a == b {
				t.Errorf("sections %v: not dropped", sections)
			}
		}
		if f, _, err := e.s.Form(t.Context(), d, "ws", template.Ref{ID: id, Sections: []string{"eligibility"}}); err != nil || !slices.Equal(f.Sections(), []string{"eligibility"}) {
			t.Errorf("selected %v, %v", f, err)
		}
		if _, _, err := e.s.Form(t.Context(), d, "ws", template.Ref{ID: id, Sections: []string{"nope"}}); fault.CodeOf(err) != "TEMPLATE_INVALID" {
			t.Errorf("a section that is not there = %v", err)
		}
		err := d.InTx(t.Context(), func(tx *db.Tx) error {
			_, _, err := e.s.Form(t.Context(), tx, "ws", template.Ref{ID: id, Version: 1})
			return err
		})
		if err != nil {
			t.Errorf("in a transaction: %v", err)
		}
	})
}

// Another instance sees a change once it is told.
func TestOtherInstance(t *testing.T) {
	t.Parallel()
	d := dbtest.Postgres(t)
	e, other := newEnv(t, d), newEnv(t, d)
	var told []string
	d.OnChange(func(_ context.Context, tx *db.Tx, changes []db.Change) error {
		tx.AfterCommit(func() {
			for _, c := range changes {
				told = append(told, c.Topic+" "+c.Workspace)
				other.s.Forget(c.Workspace)
			}
		})
		return nil
	})
	id := e.create(t, "ws", seed("t"))
	for i, act := range []func() error{
		func() error { return nil },
		func() error {
			_, err := e.s.Move(owner(t, "ws"), id, template.Publish, "", template.Change{})
			return err
		},
		func() error {
			_, err := e.s.Move(owner(t, "ws"), id, template.Retire, "", template.Change{})
			return err
		},
	} {
		if err := act(); err != nil {
			t.Fatal(err)
		}
		_, _, err := other.s.Form(t.Context(), d, "ws", template.Ref{ID: id})
		if want := []string{"TEMPLATE_NOT_PUBLISHED", "", "TEMPLATE_RETIRED"}[i]; fault.CodeOf(err) != want {
			t.Errorf("step %d: the other instance says %v, want %q", i, err, want)
		}
	}
	if !slices.Equal(told, []string{"templates ws", "templates ws", "templates ws"}) {
		t.Errorf("told %v", told)
	}
	other.s.Flush()
	if _, _, err := other.s.Pinned(t.Context(), d, "ws", template.Ref{ID: id, Version: 1}); err != nil {
		t.Errorf("after a flush: %v", err)
	}
}

// What is sent twice under one Idempotency-Key is done once and answered twice.
func TestOnce(t *testing.T) {
	t.Parallel()
	key := surveytest.Key(t)
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		e := newEnv(t, d, func(c *template.Config) { c.Idem = once.New(once.Config{DB: d, Key: key}) })
		steps := []struct {
			path, body string
			status     int
		}{
			{"", seed("t"), 201},
			{"/t/publish", `{}`, 200},
			{"/t/reviews", `{"findings":"f","decision":"keep"}`, 201},
			{"/t/clone", `{}`, 201},
			{"/t/deprecate", `{"reason":"old"}`, 200},
			{"/t/retire", `{"version":1}`, 200},
			{":import", seed("in"), 201},
			{":import?mode=update", seed("in"), 201},
		}
		for i, c := range steps {
			head := []string{"Idempotency-Key", fmt.Sprint("key", i), "If-Match", "*"}
			if strings.HasSuffix(c.path, "update") {
				head[3] = `"1"`
			}
			first := e.call(t, "ws", "POST /v1/templates"+c.path, c.body, head...)
			again := e.call(t, "ws", "POST /v1/templates"+c.path, c.body, head...)
			if first.Code != c.status || again.Code != c.status || first.Body.String() != again.Body.String() || again.Header().Get("Idempotent-Replayed") != "true" {
				t.Fatalf("%s = %d %s, then %d %s", c.path, first.Code, first.Body, again.Code, again.Body)
			}
		}
		if r, err := e.l.Range(t.Context(), "ws"); err != nil || r.Newest != int64(len(steps)) {
			t.Errorf("%d events, %v, want %d", r.Newest, err, len(steps))
		}
		if w := e.call(t, "ws", "POST /v1/templates:import", seed("another"), "Idempotency-Key", "key6"); w.Code != 422 || !strings.Contains(w.Body.String(), "IDEMPOTENCY_KEY_REUSED") {
			t.Errorf("another file under a key = %d %s", w.Code, w.Body)
		}
		if w := e.call(t, "ws", "POST /v1/templates/t/publish", `{"version":9}`, "Idempotency-Key", "new"); w.Code != 404 {
			t.Errorf("a refusal under a key = %d", w.Code)
		}
	})
}

// A list shows all, page by page, each once, also when it is filtered.
func TestListPages(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		e := newEnv(t, d)
		made := surveytest.Crowd(230, func(i int) error {
			title := "Other"
			if i%23 == 0 {
				title = "Rare survey"
			}
			_, err := e.s.Create(owner(t, "ws"), draft(t, strings.Replace(seed(fmt.Sprintf("x%03d", i)), "{", `{"title":"`+title+`",`, 1)))
			return err
		})
		if made["ok"] != 230 {
			t.Fatalf("made %v", made)
		}
		for query, want := range map[string]int{"limit=7": 233, "limit=1000": 233, "q=rare+SURVEY&limit=50": 10, "status=published&limit=2": 3, "stage=monitoring": 1, "q=nothing": 0, "status=draft&limit=100": 230} {
			seen := map[string]bool{}
			for cursor, more := "", true; more; {
				w := e.call(t, "ws", "GET /v1/templates?"+query+cursor, "")
				var page web.Page[template.Summary]
				if err := json.Unmarshal(w.Body.Bytes(), &page); err != nil || w.Code != 200 {
					t.Fatalf("%s = %d %.200s", query, w.Code, w.Body)
				}
				for _, s := range page.Items {
					if seen[s.TemplateID] {
						t.Errorf("%s shows %s twice", query, s.TemplateID)
					}
					seen[s.TemplateID] = true
				}
				cursor, more = "&cursor="+page.Page.NextCursor, page.Page.HasMore
			}
			if len(seen) != want {
				t.Errorf("%s shows %d, want %d", query, len(seen), want)
			}
		}
	})
}

// Reviews are listed latest first, page by page, each once.
func TestReviewPages(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		e := newEnv(t, d)
		at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
		for i := range 7 { // three of one moment
			at = at.AddDate(0, 0, i/3)
			if _, err := e.s.AddReview(owner(t, "ws"), "baseline-v1", template.ReviewDraft{Findings: fmt.Sprint(i), Decision: "keep", ReviewedAt: at}); err != nil {
				t.Fatal(err)
			}
		}
		var got []string
		for cursor, more := "", true; more; {
			w := e.call(t, "ws", "GET /v1/templates/baseline-v1/reviews?limit=2"+cursor, "")
			var page template.ReviewPage
			if err := json.Unmarshal(w.Body.Bytes(), &page); err != nil || w.Code != 200 {
				t.Fatalf("%d %s", w.Code, w.Body)
			}
			for _, r := range page.Items {
				got = append(got, r.Findings)
			}
			cursor, more = "&cursor="+page.Page.NextCursor, page.Page.HasMore
		}
		if strings.Join(got, "") != "6543210" {
			t.Errorf("reviews = %v, want the latest first", got)
		}
	})
}
