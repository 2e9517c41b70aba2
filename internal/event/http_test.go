package event_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
	"github.com/hearth-dmrv/hearth/internal/event"
	"github.com/hearth-dmrv/hearth/internal/event/eventtest"
	"github.com/hearth-dmrv/hearth/internal/fault"
)

func TestRoutes(t *testing.T) {
	t.Parallel()
	for _, file := range []string{"changes.json", "audit.json"} {
		t.Run(file, func(t *testing.T) {
			t.Parallel()
			dbtest.Each(t, func(t *testing.T, d *db.DB) {
				l := newLog(d, veiled)
				eventtest.Cases(t, file, d, l, eventtest.Serve(t, l.Routes))
			})
		})
	}
}

// get asks as the owner of ws and decodes the answer.
func get(t *testing.T, h http.Handler, ws, path string, v any) {
	t.Helper()
	getAs(t, h, ws+" owner", path, v)
}

// getAs is get for a role of a workspace: "ws role".
func getAs(t *testing.T, h http.Handler, who, path string, v any) {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), "GET", path, nil)
	r.Header.Set("Authorization", "Bearer "+who)
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	if w.Code != http.StatusOK {
		t.Fatalf("GET %s = %d %s", path, w.Code, w.Body)
	}
	if err := json.Unmarshal(w.Body.Bytes(), v); err != nil {
		t.Fatalf("GET %s: %v", path, err)
	}
}

type auditPage struct {
	Items []event.Item `json:"items"`
	Page  struct {
		Limit      int    `json:"limit"`
		NextCursor string `json:"nextCursor"`
		HasMore    bool   `json:"hasMore"`
	} `json:"page"`
}

// A filter that matches little reads on page by page; none looks at more than
// the budget, and in the end nothing is left out.
func TestScanBudget(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		l := newLog(d, func(c *event.Config) { c.ScanBudget = 10 })
		h := eventtest.Serve(t, l.Routes)
		for i := range 35 {
			typ := "entity.updated"
			if i == 3 || i == 33 {
				typ = "job.failed"
			}
			eventtest.Append(t, d, l, "ws", typ)
		}
		got, pages := walkChanges(t, h, "types=job.*")
		if fmt.Sprint(got) != "[4 34]" || pages != 4 {
			t.Errorf("changes = %v in %d pages, want [4 34] in 4", got, pages)
		}
		got, pages = nil, 0
		for cursor, more := "", true; more; pages++ {
			var b auditPage
			get(t, h, "ws", "/v1/audit?type=job.*&limit=5&cursor="+cursor, &b)
			for _, it := range b.Items {
				got = append(got, it.Seq)
			}
			cursor, more = b.Page.NextCursor, b.Page.HasMore
		}
		if fmt.Sprint(got) != "[34 4]" || pages != 4 {
			t.Errorf("audit = %v in %d pages, want [34 4] in 4", got, pages)
		}
	})
}

// Numbers follow time only roughly; a search by time must not lose events
// whose clock was off.
func TestAuditByTime(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
		l := newLog(d, func(c *event.Config) { c.ScanBudget = 40 })
		h := eventtest.Serve(t, l.Routes)
		ctx := eventtest.Context(t.Context(), "ws")
		at := func(i int) time.Time {
			off := time.Duration(i%7-3) * 3 * time.Hour // clocks up to nine hours apart
			return start.Add(time.Duration(i)*6*time.Hour + off)
		}
		for i := range 200 { // fifty days
			err := d.InTx(ctx, func(tx *db.Tx) error {
				return l.Append(ctx, tx, event.Event{Type: "entity.updated", Subject: fmt.Sprint(i % 3), At: at(i)})
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		since, until := start.Add(10*24*time.Hour), start.Add(12*24*time.Hour)
		want := map[int64]bool{}
		for i := range 200 {
			if !at(i).Before(since) && at(i).Before(until) {
				want[int64(i+1)] = true
			}
		}
		var first auditPage
		base := "/v1/audit?since=" + since.Format(time.RFC3339) + "&until=" + until.Format(time.RFC3339)
		get(t, h, "ws", base, &first)
		got := map[int64]bool{}
		for p := first; ; {
			for _, it := range p.Items {
				got[it.Seq] = true
			}
			if !p.Page.HasMore {
				break
			}
			cursor := p.Page.NextCursor
			p = auditPage{}
			get(t, h, "ws", base+"&cursor="+cursor, &p)
		}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("found %v, want %v", got, want)
		}
		if len(first.Items) == 0 {
			t.Error("the first page of an old time is empty: the search did not jump there")
		}
	})
}

func TestExpire(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
		l := newLog(d)
		add := func(ws string, n int, at time.Time) {
			ctx := eventtest.Context(t.Context(), ws)
			for range n {
				if err := d.InTx(ctx, func(tx *db.Tx) error { return l.Append(ctx, tx, event.Event{Type: "a.done", At: at}) }); err != nil {
					t.Fatal(err)
				}
			}
		}
		add("young", 3, now)
		add("mixed", 250, now.Add(-48*time.Hour))
		add("mixed", 2, now)
		add("quiet", 4, now.Add(-48*time.Hour))
		for _, ws := range []string{"young", "mixed", "quiet"} {
			readAll(t, l, ws)
		}
		for round, want := range [][]int{{120, 120, 10, 3, 0}, {0}} { // a workspace at a time, by name
			for _, n := range want {
				if got, err := l.Expire(t.Context(), now.Add(-24*time.Hour), 120); got != n || err != nil {
					t.Errorf("round %d: Expire() = %d, %v, want %d", round, got, err, n)
				}
			}
		}
		for ws, want := range map[string]event.Range{"young": {Oldest: 1, Newest: 3}, "mixed": {Oldest: 251, Newest: 252}, "quiet": {Oldest: 4, Newest: 4}} {
			got, err := l.Range(t.Context(), ws)
			if err != nil || got != want {
				t.Errorf("%s holds %v, %v, want %v", ws, got, err, want)
			}
		}
		// Numbers go on, never again.
		add("quiet", 1, now)
		if r, err := l.Range(t.Context(), "quiet"); err != nil || r.Newest != 5 {
			t.Errorf("the next number = %v, %v, want 5", r.Newest, err)
		}
		_, err := l.Read(t.Context(), event.Query{Workspace: "mixed", After: 100, Limit: 10})
		if f := fault.As(err); f == nil || f.Code != "EVENTS_EXPIRED" || !strings.Contains(f.Fields[0].Detail, "251") {
			t.Errorf("reading removed events = %v, want EVENTS_EXPIRED naming 251", err)
		}
		for _, after := range []int64{0, 250} {
			b, err := l.Read(t.Context(), event.Query{Workspace: "mixed", After: after, Limit: 10})
			if err != nil || len(b.Items) != 2 || b.Items[0].Seq != 251 {
				t.Errorf("after %d: %v, %v, want 251 and 252", after, b.Items, err)
			}
		}
	})
}

// A look at workspaces with nothing old leaves the writer alone: here it is
// busy, and nobody waits for it.
func TestExpireLooksFirst(t *testing.T) {
	t.Parallel()
	d := dbtest.SQLite(t)
	l := newLog(d)
	for _, ws := range []string{"one", "two", "three"} {
		eventtest.Append(t, d, l, ws, "a.done", "a.done")
	}
	busy, done := make(chan struct{}), make(chan struct{})
	held := make(chan error, 1)
	go func() {
		held <- d.InTx(t.Context(), func(*db.Tx) error {
			close(busy)
			<-done
			return nil
		})
	}()
	<-busy
	if n, err := l.Expire(t.Context(), time.Now().Add(-time.Hour), 100); n != 0 || err != nil {
		t.Errorf("Expire() = %d, %v, want 0", n, err)
	}
	close(done)
	if err := <-held; err != nil {
		t.Errorf("the writer had to wait for Expire: %v", err)
	}
}

// walkChanges follows the pages of a log that looks at 10 events for each, and
// gives the numbers it found.
func walkChanges(t *testing.T, h http.Handler, query string) (got []int64, pages int) {
	t.Helper()
	for after, more := int64(0), true; more; pages++ {
		var b struct {
			Items   []event.Item `json:"items"`
			Next    int64        `json:"next"`
			HasMore bool         `json:"hasMore"`
		}
		get(t, h, "ws", fmt.Sprintf("/v1/changes?%s&limit=5&after=%d", query, after), &b)
		if b.HasMore && b.Next != after+10 {
			t.Errorf("page after %d ends at %d, want the budget of 10", after, b.Next)
		}
		for _, it := range b.Items {
			got = append(got, it.Seq)
		}
		after, more = b.Next, b.HasMore
	}
	return got, pages
}
