package event_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
	"github.com/hearth-dmrv/hearth/internal/event"
	"github.com/hearth-dmrv/hearth/internal/event/eventtest"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/web"
)

func revokedKey() error {
	return fault.New(fault.Unauthenticated, "KEY_INVALID", "The key was revoked.")
}

// A reader that takes its time over a long catch-up gets nothing that was
// stored after its key was revoked, even from a process that has not heard of
// it: only a look at the store says so.
func TestSlowCatchUpEndsAtTheRevocation(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		var revoked atomic.Bool
		var asked atomic.Int64
		l := newLog(d, func(c *event.Config) {
			c.Rights = event.Filter{"key.*"}
			c.StillAllowed = func(_ context.Context, anew bool) error {
				asked.Add(1)
				if anew && revoked.Load() {
					return revokedKey()
				}
				return nil
			}
		})
		s := httptest.NewUnstartedServer(eventtest.Serve(t, l.Routes))
		s.Listener = smallBuffers{s.Listener}
		s.Start()
		t.Cleanup(s.Close)
		t.Cleanup(l.Close)
		ctx := eventtest.Context(t.Context(), "ws")
		fill := func(n int, typ string) {
			const chunk = 50 // as bulk work does: the writer is everybody's
			for ; n > 0; n -= chunk {
				err := d.InTx(ctx, func(tx *db.Tx) error {
					var err error
					for range min(n, chunk) {
						err = errors.Join(err, l.Append(ctx, tx, event.Event{Type: typ, Data: map[string]string{"x": strings.Repeat("y", 2000)}}))
					}
					return err
				})
				if err != nil {
					t.Fatal(err)
				}
			}
		}
		fill(450, "job.failed")
		var dial net.Dialer
		conn, err := dial.DialContext(t.Context(), "tcp", s.Listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		_ = conn.(*net.TCPConn).SetReadBuffer(4 << 10)
		if _, err := fmt.Fprint(conn, "GET /v1/events?after=0&types=job.* HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ws owner\r\nConnection: close\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
		old, fresh, end := 0, 0, ""
		for lines := bufio.NewScanner(conn); lines.Scan(); {
			switch text := lines.Text(); {
			case strings.HasPrefix(text, "event: job.failed"):
				if old++; old == 1 { // most of the catch-up is still ahead
					fill(1, "key.revoked")
					revoked.Store(true)
					fill(1, "job.finished")
					_ = conn.(*net.TCPConn).SetReadBuffer(1 << 20)
				}
			case strings.HasPrefix(text, "event: job.finished"):
				fresh++
			case strings.HasPrefix(text, `data: {"reason"`):
				end = text
			}
		}
		if fresh != 0 || old == 0 || old > 450 || end != `data: {"reason":"revoked"}` {
			t.Errorf("%d old and %d new events, then %q, want none stored after the revocation and close for it", old, fresh, end)
		}
		if n := asked.Load(); n < 3 {
			t.Errorf("asked %d times, want before every batch", n)
		}
	})
}

// A stream that begins behind the revocation never meets the event that tells
// of it: the first look is made anew.
func TestStreamLooksAnewWhenItBegins(t *testing.T) {
	t.Parallel()
	l := newLog(dbtest.SQLite(t), func(c *event.Config) {
		c.StillAllowed = func(_ context.Context, anew bool) error {
			if anew {
				return revokedKey()
			}
			return nil // what this process remembers
		}
	})
	if s := eventtest.Open(t, serve(t, l), "ws", "owner", nil); s.Status != 401 || !strings.Contains(s.Body, "KEY_INVALID") {
		t.Errorf("stream of a revoked key = %d %s, want 401 KEY_INVALID", s.Status, s.Body)
	}
	if n := l.Streams(); n != 0 {
		t.Errorf("%d streams are open, want 0", n)
	}
}

func TestStreamIsDocumented(t *testing.T) {
	t.Parallel()
	a := web.NewAPI(web.APIConfig{Name: "test"})
	newLog(dbtest.SQLite(t)).Routes(a)
	for _, r := range a.Routes() {
		if r.Path != "/v1/events" {
			continue
		}
		params := map[string]web.Param{}
		for _, p := range r.Doc.Query {
			params[p.Name] = p
		}
		if p := params["Last-Event-ID"]; !p.Header || p.Example != "" {
			t.Errorf("Last-Event-ID = %+v, want a header that is not filled in", p)
		}
		if p := params["types"]; p.Name == "" || p.Example != "" {
			t.Errorf("types = %+v, want it not filled in: an example hides all else", p)
		}
		if !strings.Contains(r.Doc.Description, "curl -N") {
			t.Error("the description does not say how to follow with curl")
		}
	}
}
