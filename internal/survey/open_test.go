package survey_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/go-json-experiment/json"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
	"github.com/hearth-dmrv/hearth/internal/survey"
)

// What responses see is what was stored last, in this process and, once they
// are told, in others.
func TestOpenAfterChanges(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		here, there := newEnv(t, d), newEnv(t, d)
		var told atomic.Int64
		d.OnChange(func(context.Context, *db.Tx, []db.Change) error {
			told.Add(1)
			return nil
		})
		ctx := as(t, "ws", "owner")
		id := here.create(t, "ws", open)
		status := func(v *env, wanted survey.Status) *survey.Open {
			t.Helper()
			o, err := v.s.Open(ctx, id)
			if err != nil || o.Status != wanted {
				t.Fatalf("open = %+v, %v, want %s", o, err, wanted)
			}
			return o
		}
		if o := status(here, "draft"); o.Listed || !o.OnePerHousehold || !o.OpenEnrolment || o.Policy.Mode != "manual" || o.Policy.MinReviewers != 1 || !o.Collectors["did:ixo:agent/1"] || o.Round != 1 {
			t.Errorf("open = %+v", o)
		}
		status(there, "draft")
		here.move(t, "ws", id, "activate")
		status(here, "active")
		there.s.Forget("ws")
		status(there, "active")
		if _, err := here.s.Update(ctx, id, "*", "", []byte(`{"collectors":["did:ixo:agent/2"],"strictCollectors":true}`)); err != nil {
			t.Fatal(err)
		}
		if o := status(here, "active"); o.Collectors["did:ixo:agent/1"] || !o.Collectors["did:ixo:agent/2"] || !o.StrictCollectors {
			t.Errorf("open = %+v", o)
		}
		here.upload(t, "ws", id, home(1, "a", "adopter"))
		o := status(here, "active")
		h, err := here.s.Household(ctx, d, o, home(1, "", "").HouseholdID)
		if err != nil || h == nil || h.Group != "adopter" || h.Outcome != "listed" {
			t.Errorf("household = %+v, %v", h, err)
		}
		if h, err := here.s.Household(ctx, d, o, "did:ixo:household/none"); err != nil || h != nil {
			t.Errorf("no household = %+v, %v", h, err)
		}
		there.s.Flush()
		if o := status(there, "active"); !o.Listed || !o.StrictCollectors {
			t.Errorf("open elsewhere = %+v", o)
		}
		if d.Dialect() == db.Postgres && told.Load() < 3 {
			t.Errorf("others were told %d times", told.Load())
		}
	})
}

// A reader never sees an older state after a newer one, and whoever has
// changed something sees it.
func TestOpenInACrowd(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		v := newEnv(t, d)
		ctx := as(t, "ws", "owner")
		id := v.start(t, "ws", open)
		stop := make(chan struct{})
		var readers sync.WaitGroup
		for range 4 {
			readers.Go(func() {
				last := int64(0)
				for {
					select {
					case <-stop:
						return
					default:
					}
					o, err := v.s.Open(ctx, id)
					if err != nil || o.Revision < last {
						t.Errorf("open = %v after revision %d, %v", o, last, err)
						return
					}
					last = o.Revision
				}
			})
		}
		for n := int64(2); n < 30; n++ {
			if _, err := v.s.Update(ctx, id, fmt.Sprintf(`"%d"`, n), "", fmt.Appendf(nil, `{"name":"%d"}`, n)); err != nil {
				t.Error(err)
				break
			}
			if o, err := v.s.Open(ctx, id); err != nil || o.Revision != n+1 {
				t.Errorf("open after revision %d = %+v, %v", n+1, o, err)
			}
		}
		close(stop)
		readers.Wait()
	})
}

func TestByTemplate(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		v := newEnv(t, d)
		ctx := as(t, "ws", "owner")
		ids := func(role, household string) string {
			t.Helper()
			all, err := v.s.ByTemplate(as(t, "ws", role), "baseline-v1", household)
			if err != nil {
				t.Fatal(err)
			}
			out := ""
			for _, o := range all {
				out += o.SurveyID + " "
			}
			return out
		}
		if got := ids("owner", ""); got != "" {
			t.Errorf("none = %s", got)
		}
		v.create(t, "ws", open) // a draft
		v.start(t, "other", open)
		first, second := v.start(t, "ws", open), v.start(t, "ws", with(t, "projectId", `"`+heldProject+`"`, "sampling", `{"method":"census"}`, "modes", `["web"]`))
		if got := ids("owner", ""); got != first+" "+second+" " {
			t.Errorf("two = %s", got)
		}
		if got := ids("project", ""); got != first+" " {
			t.Errorf("of a limited key = %s", got)
		}
		v.upload(t, "ws", second, home(1, "", ""))
		if got := ids("owner", home(1, "", "").HouseholdID); got != second+" " {
			t.Errorf("of a listed household = %s", got)
		}
		if got := ids("owner", home(2, "", "").HouseholdID); got != first+" "+second+" " {
			t.Errorf("of another household = %s", got)
		}
		for range 22 {
			v.start(t, "ws", open)
		}
		if all, err := v.s.ByTemplate(ctx, "baseline-v1", ""); err != nil || len(all) != 21 {
			t.Errorf("many = %d, %v, want 21", len(all), err)
		}
	})
}

// A cached campaign costs next to nothing.
func BenchmarkOpen(b *testing.B) {
	v := newEnv(b, dbtest.SQLite(b))
	id := v.start(b, "ws", open)
	ctx := as(b, "ws", "owner")
	b.ReportAllocs()
	for b.Loop() {
		if _, err := v.s.Open(ctx, id); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkCount(b *testing.B) {
	d := dbtest.SQLite(b)
	v := newEnv(b, d)
	id := v.start(b, "ws", open)
	ctx := as(b, "ws", "owner")
	o, err := v.s.Open(ctx, id)
	if err != nil {
		b.Fatal(err)
	}
	const each = 200
	for b.Loop() {
		err := d.InTx(ctx, func(tx *db.Tx) error {
			for range each {
				if err := v.s.Count(ctx, tx, o, survey.Delta{Round: 1, Completed: 1}); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/each, "ns/count")
}

func BenchmarkUpload(b *testing.B) {
	v := newEnv(b, dbtest.SQLite(b))
	id := v.create(b, "ws", open)
	n := 0
	for b.Loop() {
		items := make([]survey.HouseholdDraft, 1000)
		for i := range items {
			items[i] = home(n, "a", "adopter")
			n++
		}
		v.upload(b, "ws", id, items...)
	}
}

// TestLanguagesOfTheTemplate: a survey promises no language that its template
// does not have, neither as a draft nor while it runs.
func TestLanguagesOfTheTemplate(t *testing.T) {
	t.Parallel()
	v := newEnv(t, dbtest.SQLite(t))
	with := func(tags string) string {
		return strings.Replace(open, `"sampling"`, `"languages":`+tags+`,"sampling"`, 1)
	}
	var d survey.Draft
	if err := json.Unmarshal([]byte(with(`["en","tlh","en-GB","xx"]`)), &d); err != nil {
		t.Fatal(err)
	}
	_, err := v.s.Create(as(t, "ws", "owner"), d)
	want(t, "create", err, "SURVEY_CONFIGURATION_INVALID")
	if got := codes(err); got != "/languages/1 not_in_template, /languages/3 not_in_template" {
		t.Errorf("create = %s", got)
	}
	id := v.create(t, "ws", with(`["en"]`))
	v.move(t, "ws", id, "activate")
	_, err = v.s.Update(as(t, "ws", "owner"), id, "*", "", []byte(`{"languages":["en","tlh"]}`))
	if got := codes(err); got != "/languages/1 not_in_template" {
		t.Errorf("update = %v %s", err, got)
	}
	if _, err = v.s.Update(as(t, "ws", "owner"), id, "*", "", []byte(`{"name":"same"}`)); err != nil {
		t.Errorf("update of something else = %v", err)
	}
}
