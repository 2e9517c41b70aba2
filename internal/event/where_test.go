package event_test

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
	"github.com/hearth-dmrv/hearth/internal/event"
	"github.com/hearth-dmrv/hearth/internal/event/eventtest"
	"github.com/hearth-dmrv/hearth/internal/fault"
)

// A filter that fits little reads on page by page; none looks at more than the
// budget, and in the end nothing is left out.
func TestFilterIsBounded(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		l := newLog(d, func(c *event.Config) { c.ScanBudget = 10 })
		h := eventtest.Serve(t, l.Routes)
		for i := range 35 {
			eventtest.Append(t, d, l, "ws", fmt.Sprintf(`survey.paused s%d {"round":%d}`, i+1, i/33))
		}
		got, pages := walkChanges(t, h, "filter=or(eq(subject,s4),eq(data.round,1))")
		if fmt.Sprint(got) != "[4 34 35]" || pages != 4 {
			t.Errorf("changes = %v in %d pages, want [4 34 35] in 4", got, pages)
		}
	})
}

// A stream over a long stretch without a match tells its position on the way:
// a client that is cut off there does not begin anew.
func TestFilteredStreamMovesOn(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		l := newLog(d, func(c *event.Config) { c.ScanBudget, c.Heartbeat = 200, time.Hour })
		url := serve(t, l)
		ctx := eventtest.Context(t.Context(), "ws")
		err := d.InTx(ctx, func(tx *db.Tx) error {
			for range 450 {
				if err := l.Append(ctx, tx, event.Event{Type: "entity.updated", Subject: "other"}); err != nil {
					return err
				}
			}
			return l.Append(ctx, tx, event.Event{Type: "entity.updated", Subject: "mine"})
		})
		if err != nil {
			t.Fatal(err)
		}
		s := eventtest.Open(t, url+"?after=0&filter=eq(subject,mine)", "ws", "owner", nil)
		for _, want := range []eventtest.Frame{{ID: "0", Retry: "2000"}, {ID: "200"}, {ID: "400"}} {
			if f := <-s.Frames; f != want {
				t.Errorf("frame = %+v, want %+v", f, want)
			}
		}
		wantEvent(t, s, "451", "entity.updated")
		eventtest.Append(t, d, l, "ws", "entity.updated other", "entity.updated mine")
		wantEvent(t, s, "453", "entity.updated")
	})
}

// A HEAD request learns that there is a stream, and leaves no stream behind.
func TestHeadOfAStream(t *testing.T) {
	t.Parallel()
	l := newLog(dbtest.SQLite(t))
	url := serve(t, l)
	for range 2 { // the second needs the connection of the first
		r, err := http.NewRequestWithContext(t.Context(), http.MethodHead, url, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer ws owner")
		resp, err := (&http.Client{Timeout: 10 * time.Second}).Do(r)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		if got := resp.Header.Get("Content-Type"); resp.StatusCode != http.StatusOK || got != "text/event-stream" {
			t.Errorf("HEAD = %d %s, want 200 text/event-stream", resp.StatusCode, got)
		}
	}
	eventtest.Eventually(t, "no stream is open", func() bool { return l.Streams() == 0 })
}

func FuzzParseWhere(f *testing.F) {
	for _, s := range []string{"", "eq(type,a.b)", "gt(data.gaps.0.missing,1)", "within(data.gaps,1,2,3,4)", "eq(/data/from,null)", "exists(/)", "near(data.to,1,1,1)"} {
		f.Add(s)
	}
	it := event.Item{Seq: 1, Type: "a.b", Data: event.Object{Value: []byte(`{"gaps":[{"missing":1}],"from":1}`)}}
	f.Fuzz(func(t *testing.T, s string) {
		w, err := event.ParseWhere(s, "query/filter")
		if code := fault.CodeOf(err); err != nil && code != "INVALID_FILTER" && code != "UNKNOWN_FIELD" {
			t.Fatalf("ParseWhere(%q) = %v, want INVALID_FILTER or UNKNOWN_FIELD", s, err)
		}
		if err == nil {
			w.Match(&it)
			w.Match(&event.Item{})
		}
	})
}
