package app_test

import (
	"context"
	"errors"
	"iter"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/hearth-dmrv/hearth/client"
	"github.com/hearth-dmrv/hearth/internal/app"
	"github.com/hearth-dmrv/hearth/internal/config"
	"github.com/hearth-dmrv/hearth/internal/db"
)

// show is a server with a client of its owner.
type show struct {
	*app.Built
	api *client.Client
}

// transport calls a handler.
type transport struct{ handler http.Handler }

func (tr transport) RoundTrip(r *http.Request) (*http.Response, error) {
	in, w := r.Clone(r.Context()), httptest.NewRecorder()
	in.RequestURI, in.RemoteAddr = r.URL.RequestURI(), "127.0.0.1:1"
	if in.Body == nil {
		in.Body = http.NoBody
	}
	tr.handler.ServeHTTP(w, in)
	return w.Result(), nil
}

// newShow builds a server whose demo is so many times smaller.
func newShow(t *testing.T, scale int, change func(*config.Config)) *show {
	t.Helper()
	app.Small(t, scale)
	b := app.Build(t, owner, change)
	return &show{b, clientOf(t, b)}
}

func clientOf(t *testing.T, b *app.Built) *client.Client {
	t.Helper()
	return (&show{Built: b}).as(t, owner)
}

// as is a client of whoever has a key.
func (s *show) as(t *testing.T, key string) *client.Client {
	t.Helper()
	c, err := client.New(client.Config{BaseURL: "http://localhost", Key: key, HTTP: &http.Client{Transport: transport{s.Handler}}})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// runs runs the jobs of the server while f does something.
func (s *show) runs(t *testing.T, f func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.RunJobs(ctx)
	}()
	f()
	cancel()
	<-done
}

// wait waits for a job that must succeed.
func (s *show) wait(t *testing.T, j *client.Job, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	if j, err = s.api.Jobs.Wait(ctx, j.ID); err != nil || j.Status != "succeeded" {
		t.Fatalf("job = %+v, %v, want succeeded", j, err)
	}
}

func (s *show) load(t *testing.T) client.Demo {
	t.Helper()
	j, err := s.api.Demo.Load(t.Context(), client.DemoDraft{})
	s.wait(t, j, err)
	d, err := s.api.Demo.Get(t.Context())
	if err != nil || d.Status != "ready" {
		t.Fatalf("demo = %+v, %v, want ready", d, err)
	}
	return *d
}

func (s *show) remove(t *testing.T) {
	t.Helper()
	j, err := s.api.Demo.Remove(t.Context())
	s.wait(t, j, err)
	if d, err := s.api.Demo.Get(t.Context()); err != nil || d.Status != "none" {
		t.Fatalf("demo = %+v, %v, want none", d, err)
	}
}

// TestDemo loads a small demo, removes it, and wants the store as it was but for
// the numbers of events.
func TestDemo(t *testing.T) {
	t.Parallel()
	onAny(t, func(t *testing.T, dsn string) {
		t.Helper()
		s := newShow(t, 10, func(c *config.Config) { c.Data.DatabaseURL = config.Secret(dsn) })
		before := s.rows(t)
		s.runs(t, func() {
			d := s.load(t)
			t.Logf("loaded %+v", d)
			if n := s.rows(t)["device_days"] - before["device_days"]; n == 0 {
				t.Error("no figures of days are there when the demo is: charts are empty")
			}
			s.remove(t)
		})
		s.checkGone(t, before)
	})
}

// rows counts the rows of every table.
func (s *show) rows(t *testing.T) map[string]int64 {
	t.Helper()
	out := map[string]int64{}
	for _, table := range s.tables(t) {
		var n int64
		text := `SELECT count(*) FROM ` + table
		if table == "counts" { // a counter that is 0 stays
			text = `SELECT coalesce(sum(n), 0) FROM counts WHERE kind <> 'job'`
		}
		if err := s.DB.QueryRow(t.Context(), text).Scan(&n); err != nil {
			t.Fatal(err)
		}
		out[table] = n
	}
	return out
}

func (s *show) tables(t *testing.T) []string {
	t.Helper()
	text := `SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'`
	if s.DB.Dialect() == db.Postgres {
		text = `SELECT relname FROM pg_class WHERE relkind IN ('r', 'p') AND NOT relispartition AND relnamespace = current_schema()::regnamespace`
	}
	list, err := s.DB.Query(t.Context(), text)
	if err != nil {
		t.Fatal(err)
	}
	defer list.Close()
	var out []string
	for list.Next() {
		var name string
		if err := list.Scan(&name); err != nil {
			t.Fatal(err)
		}
		out = append(out, name)
	}
	if err := list.Err(); err != nil {
		t.Fatal(err)
	}
	return out
}

// mayGrow are the tables that a demo leaves something in.
var mayGrow = map[string]string{
	"events":         "their numbers have no gap",
	"event_counters": "the last of these numbers, in PostgreSQL",

	"jobs": "the removal, and what the server does by time",
	"idem": "answers without what was in them, for a day",

	"cache_versions": "what changes are known by, between servers",

	"webhooks":  "the row of one that was deleted, until its worker comes by",
	"job_slots": "what the server does by time",

	"claim_kinds": "a number for each kind that was ever claimed, which keeps claims of it in a row",
}

// checkGone wants nothing of a demo to be left.
func (s *show) checkGone(t *testing.T, before map[string]int64) {
	t.Helper()
	for table, n := range s.rows(t) {
		if _, ok := mayGrow[table]; !ok && n != before[table] {
			t.Errorf("%s has %d rows, want %d as before the demo", table, n, before[table])
		}
	}
	s.checkLists(t)
	report, err := s.DB.Check(t.Context())
	if err != nil || !report.OK() {
		t.Errorf("db check = %+v, %v", report, err)
	}
	var last int64
	removed := 0
	for e, err := range s.api.Events.List(t.Context(), client.ChangesQuery{}) {
		if err != nil {
			t.Fatal(err)
		}
		if e.Seq != last+1 {
			t.Errorf("event %d follows %d", e.Seq, last)
		}
		last = e.Seq
		switch e.Type {
		case "demo.removed":
			removed++
		case "demo.forgotten":
			if e.Subject != "demo" || e.Actor != "system" || e.RequestID != "" {
				t.Errorf("a forgotten event says %+v", e)
			}
		case "workspace.created", "key.created", "entity.created", "job.finished":
			if e.Seq > 3 && strings.HasPrefix(e.Subject, "did:") {
				t.Errorf("an event is left: %+v", e)
			}
		default:
			t.Errorf("an event is left: %+v", e)
		}
	}
	if removed != 1 {
		t.Errorf("%d events demo.removed, want 1", removed)
	}
}

// checkLists wants lists, searches and reports to show nothing of a demo.
func (s *show) checkLists(t *testing.T) {
	t.Helper()
	ctx := t.Context()
	empty(t, "twins", s.api.Entities.List(ctx, client.EntityQuery{}), func(e client.Entity) bool { return e.DomainType == "oracle" })
	empty(t, "twins near Kitui", s.api.Entities.List(ctx, client.EntityQuery{Near: "-1.367,38.0106,50000"}), nil)
	empty(t, "twins by external id", s.api.Entities.List(ctx, client.EntityQuery{ExternalID: "demo-household-0001"}), nil)
	empty(t, "households", s.api.Households.List(ctx, client.PageQuery{}), nil)
	empty(t, "devices", s.api.Devices.List(ctx, client.DeviceQuery{}), nil)
	empty(t, "surveys", s.api.Surveys.List(ctx, client.SurveyQuery{}), nil)
	empty(t, "webhooks", s.api.Webhooks.List(ctx, client.PageQuery{}), nil)
	empty(t, "keys", s.api.Keys.List(ctx, client.PageQuery{}), func(k client.Key) bool { return k.Name == "owner" })
	empty(t, "jobs", s.api.Jobs.List(ctx, client.JobQuery{}), func(j client.Job) bool { return j.Kind == "demo.remove" })
	s.checkRules(t)
}

// empty wants a list to have only what may be in it.
func empty[T any](t *testing.T, name string, list iter.Seq2[T, error], may func(T) bool) {
	t.Helper()
	for item, err := range list {
		if err != nil {
			t.Errorf("%s: %v", name, err)
		} else if may == nil || !may(item) {
			t.Errorf("%s show %+v", name, item)
		}
	}
}

// checkRules wants the rules of the domain model to hold.
func (s *show) checkRules(t *testing.T) {
	t.Helper()
	if all, err := s.api.Graph.Invariants(t.Context()); err != nil || !all.OK {
		t.Errorf("invariants = %+v, %v", all, err)
	}
}

func errorsAs(err error, e **client.Error) bool { return errors.As(err, e) }

// newOccupied is a server that holds a stove of somebody.
func newOccupied(t *testing.T) *show {
	t.Helper()
	s := newShow(t, 10, nil)
	_, err := s.api.Entities.Create(t.Context(), client.EntityDraft{
		Type: "CleanCookingDevice", Protocol: "did:ixo:protocol/clean-cooking", ExternalIDs: map[string]string{"erp": "mine"}, Properties: client.Object{"serial": "MINE"},
	})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// mine is the stove of newOccupied.
func (s *show) mine(t *testing.T) client.Entity {
	t.Helper()
	page, err := s.api.Entities.Page(t.Context(), client.EntityQuery{ExternalID: "mine"})
	if err != nil || len(page.Items) != 1 {
		t.Fatalf("mine = %+v, %v", page, err)
	}
	return page.Items[0]
}

// tie relates the stove to the project of the demo.
func (s *show) tie(t *testing.T) {
	t.Helper()
	page, err := s.api.Entities.Page(t.Context(), client.EntityQuery{ExternalID: "demo-project"})
	if err != nil || len(page.Items) != 1 {
		t.Fatalf("project = %+v, %v", page, err)
	}
	if _, err := s.api.Entities.Relate(t.Context(), s.mine(t).DID, client.RelationshipDraft{Role: "project", Target: page.Items[0].DID}); err != nil {
		t.Fatal(err)
	}
}

// checkOthers wants what others have to be there, without a tie to the demo.
func (s *show) checkOthers(t *testing.T) {
	t.Helper()
	if e := s.mine(t); len(e.Relationships) != 0 || e.Project != "" || e.Properties["serial"] != "MINE" {
		t.Errorf("the stove of somebody else is %+v", e)
	}
	s.checkRules(t)
}
