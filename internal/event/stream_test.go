package event_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
	"github.com/hearth-dmrv/hearth/internal/event"
	"github.com/hearth-dmrv/hearth/internal/event/eventtest"
	"github.com/hearth-dmrv/hearth/internal/fault"
)

// serve runs the routes of a log on a real listener.
func serve(t testing.TB, l *event.Log) string {
	t.Helper()
	s := httptest.NewServer(eventtest.Serve(t, l.Routes))
	t.Cleanup(s.Close)
	t.Cleanup(l.Close) // streams end before the server waits for them
	return s.URL + "/v1/events"
}

func wantEvent(t *testing.T, s *eventtest.Stream, id, typ string) eventtest.Frame {
	t.Helper()
	f, ok := s.Next(t)
	if !ok || f.ID != id || f.Event != typ {
		t.Fatalf("frame = %+v, %v, want %s %s", f, ok, id, typ)
	}
	return f
}

func TestStreamReplaysThenFollows(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		l := newLog(d)
		url := serve(t, l)
		eventtest.Append(t, d, l, "ws", "entity.created a", "job.failed b", "entity.updated a")
		all := eventtest.Open(t, url+"?after=0", "ws", "owner", nil)
		if got := all.Header.Get("Content-Type"); all.Status != 200 || got != "text/event-stream" {
			t.Fatalf("answer = %d %s, want 200 text/event-stream", all.Status, got)
		}
		if f := <-all.Frames; f.Retry == "" {
			t.Errorf("first frame = %+v, want a retry hint", f)
		}
		f := wantEvent(t, all, "1", "entity.created")
		if !strings.HasPrefix(f.Data, `{"seq":1,"type":"entity.created","subject":"a","revision":1,"actor":"did:key:owner"`) {
			t.Errorf("data = %s, want the item", f.Data)
		}
		wantEvent(t, all, "2", "job.failed")
		wantEvent(t, all, "3", "entity.updated")

		live := eventtest.Open(t, url, "ws", "owner", nil)
		<-live.Frames // it has its position now
		picked := eventtest.Open(t, url+"?after=0&types=job.*", "ws", "owner", nil)
		header := eventtest.Open(t, url+"?after=0", "ws", "owner", map[string]string{"Last-Event-ID": "2"})
		foreign := eventtest.Open(t, url+"?after=0", "other", "owner", nil)
		eventtest.Append(t, d, l, "ws", "job.done c")
		wantEvent(t, all, "4", "job.done")
		wantEvent(t, live, "4", "job.done")
		wantEvent(t, picked, "2", "job.failed")
		wantEvent(t, picked, "4", "job.done")
		wantEvent(t, header, "3", "entity.updated")
		wantEvent(t, header, "4", "job.done")
		eventtest.Append(t, d, l, "other", "own.happened")
		wantEvent(t, foreign, "1", "own.happened")
	})
}

// A client that is cut off again and again, and goes on with Last-Event-ID,
// gets every event exactly once while others write.
func TestStreamResumes(t *testing.T) {
	t.Parallel()
	const total = 400
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		l := newLog(d)
		url := serve(t, l)
		done := make(chan struct{})
		go func() {
			defer close(done)
			ctx := eventtest.Context(t.Context(), "ws")
			for range total {
				err := d.InTx(ctx, func(tx *db.Tx) error { return l.Append(ctx, tx, event.Event{Type: "entity.updated"}) })
				if err != nil {
					t.Errorf("append: %v", err)
					return
				}
			}
		}()
		last, streams := 0, 0
		for last < total {
			s := eventtest.Open(t, url, "ws", "owner", map[string]string{"Last-Event-ID": strconv.Itoa(last)})
			for range 1 + streams%37 {
				f, ok := s.Next(t)
				if !ok {
					t.Fatal("the server ended the stream")
				}
				if f.ID != strconv.Itoa(last+1) {
					t.Fatalf("got event %s after %d", f.ID, last)
				}
				if last++; last == total {
					break
				}
			}
			s.Cut()
			streams++
			// What was on its way when the line was cut comes again.
		}
		<-done
		if streams < 5 {
			t.Errorf("%d streams, want a client that was cut off often", streams)
		}
		eventtest.Eventually(t, "all streams are closed", func() bool { return l.Streams() == 0 })
	})
}

func TestStreamRefuses(t *testing.T) {
	t.Parallel()
	l := newLog(dbtest.SQLite(t))
	url := serve(t, l)
	for _, tt := range []struct {
		query, id, role string
		status          int
		want            string
	}{
		{"?after=x", "", "owner", 400, "query/after"},
		{"?after=", "", "owner", 400, "query/after"},
		{"?after=-1", "", "owner", 400, "query/after"},
		{"?after=1&after=2", "", "owner", 400, "repeated"},
		{"?since=1", "", "owner", 400, "query/since"},
		{"?types=X", "", "owner", 400, "INVALID_TYPE_FILTER"},
		{"?types=entitty.*", "", "owner", 400, "The nearest is entity.*."},
		{"?filter=eq(kind,x)", "", "owner", 400, "UNKNOWN_FIELD"},
		{"?filter=eq(type", "", "owner", 400, "INVALID_FILTER"},
		{"?filter=", "", "owner", 400, "query/filter"},
		{"?a=%zz", "", "owner", 400, "INVALID_QUERY"},
		{"?types=a.%00", "", "owner", 400, "not_text"},
		{"", "abc", "owner", 400, "header/Last-Event-ID"},
		{"", "-1", "owner", 400, "header/Last-Event-ID"},
		{"", "", "hooker", 403, "SCOPE_MISSING"},
		{"", "", "project", 403, "KEY_RESTRICTED"},
	} {
		s := eventtest.Open(t, url+tt.query, "ws", tt.role, map[string]string{"Last-Event-ID": tt.id})
		if s.Status != tt.status || !strings.Contains(s.Body, tt.want) {
			t.Errorf("%s %q as %s = %d %s, want %d about %s", tt.query, tt.id, tt.role, s.Status, s.Body, tt.status, tt.want)
		}
	}
	if n := l.Streams(); n != 0 {
		t.Errorf("%d streams are open after refusals, want 0", n)
	}
}

// Many streams that begin far back all get there.
func TestStreamsFromFarBack(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		l := newLog(d, func(c *event.Config) { c.ScanBudget = 200 })
		url := serve(t, l)
		ctx := eventtest.Context(t.Context(), "ws")
		err := d.InTx(ctx, func(tx *db.Tx) error {
			for range 1000 {
				if err := l.Append(ctx, tx, event.Event{Type: "entity.updated"}); err != nil {
					return err
				}
			}
			return l.Append(ctx, tx, event.Event{Type: "job.failed"})
		})
		if err != nil {
			t.Fatal(err)
		}
		streams := make([]*eventtest.Stream, 15)
		for i := range streams {
			streams[i] = eventtest.Open(t, url+"?after=0&types=job.*", "ws", "owner", nil)
		}
		for _, s := range streams {
			wantEvent(t, s, "1001", "job.failed")
		}
	})
}

func TestStreamTellsGaps(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		l := newLog(d)
		url := serve(t, l)
		eventtest.Append(t, d, l, "ws", "a.one", "a.two", "a.three", "a.four")
		readAll(t, l, "ws")
		if _, err := l.Expire(t.Context(), time.Now().Add(time.Hour), 2); err != nil {
			t.Fatal(err)
		}
		old := eventtest.Open(t, url+"?after=1", "ws", "owner", nil)
		if f := wantEvent(t, old, "2", "gap"); f.Data != `{"reason":"expired","after":1,"oldest":3,"newest":4}` {
			t.Errorf("gap = %s", f.Data)
		}
		wantEvent(t, old, "3", "a.three")
		ahead := eventtest.Open(t, url+"?after=99", "ws", "owner", nil)
		if f := wantEvent(t, ahead, "4", "gap"); f.Data != `{"reason":"ahead","after":99,"oldest":3,"newest":4}` {
			t.Errorf("gap = %s", f.Data)
		}
		eventtest.Append(t, d, l, "ws", "a.five")
		wantEvent(t, ahead, "5", "a.five")
		start := eventtest.Open(t, url+"?after=0", "ws", "owner", nil)
		wantEvent(t, start, "3", "a.three")
	})
}

func TestStreamCaps(t *testing.T) {
	t.Parallel()
	l := newLog(dbtest.SQLite(t), func(c *event.Config) { c.KeyStreams, c.WorkspaceStreams, c.Streams = 2, 3, 3 })
	url := serve(t, l)
	first := eventtest.Open(t, url, "ws", "owner", nil)
	eventtest.Open(t, url, "ws", "owner", nil)
	third := eventtest.Open(t, url, "ws", "owner", nil)
	if third.Status != 429 || third.Header.Get("Retry-After") == "" || !strings.Contains(third.Body, "TOO_MANY_STREAMS") {
		t.Errorf("third stream of a key = %d %s, want 429 TOO_MANY_STREAMS", third.Status, third.Body)
	}
	if s := eventtest.Open(t, url, "ws", "reader", nil); s.Status != 200 {
		t.Errorf("first stream of another key = %d, want 200", s.Status)
	}
	if s := eventtest.Open(t, url, "ws2", "owner", nil); s.Status != 429 {
		t.Errorf("fourth stream in all = %d, want 429", s.Status)
	}
	first.Cut()
	eventtest.Eventually(t, "the place is free", func() bool { return l.Streams() == 2 })
	if s := eventtest.Open(t, url, "ws", "owner", nil); s.Status != 200 {
		t.Errorf("stream in the freed place = %d, want 200", s.Status)
	}
}

// Many keys of one workspace leave room for the others.
func TestStreamCapOfAWorkspace(t *testing.T) {
	t.Parallel()
	l := newLog(dbtest.SQLite(t), func(c *event.Config) { c.KeyStreams, c.Streams = 1, 8 })
	url := serve(t, l)
	first := eventtest.Open(t, url, "ws", "owner", nil)
	eventtest.Open(t, url, "ws", "reader", nil)
	full := eventtest.Open(t, url, "ws", "reader2", nil)
	if full.Status != 429 || full.Header.Get("Retry-After") == "" || !strings.Contains(full.Body, "workspace has too many") {
		t.Errorf("third stream of a workspace = %d %s, want 429, a quarter of 8 is 2", full.Status, full.Body)
	}
	if s := eventtest.Open(t, url, "other", "owner", nil); s.Status != 200 {
		t.Errorf("stream of another workspace = %d %s, want 200", s.Status, s.Body)
	}
	first.Cut()
	eventtest.Eventually(t, "the place is free", func() bool { return l.Streams() == 2 })
	if s := eventtest.Open(t, url, "ws", "owner", nil); s.Status != 200 {
		t.Errorf("stream in the freed place = %d %s, want 200", s.Status, s.Body)
	}
}

func TestStreamEndsAtShutdown(t *testing.T) {
	t.Parallel()
	l := newLog(dbtest.SQLite(t))
	url := serve(t, l)
	s := eventtest.Open(t, url, "ws", "owner", nil)
	l.Close()
	f, ok := s.Next(t)
	if !ok || f.Event != "close" || f.Data != `{"reason":"shutdown"}` {
		t.Errorf("last frame = %+v, want close for shutdown", f)
	}
	if f, ok := s.Next(t); ok {
		t.Errorf("frame after close: %+v", f)
	}
	if s := eventtest.Open(t, url, "ws", "owner", nil); s.Status != 503 || !strings.Contains(s.Body, "SHUTTING_DOWN") {
		t.Errorf("new stream = %d %s, want 503 SHUTTING_DOWN", s.Status, s.Body)
	}
}

func TestStreamEndsWithTheKey(t *testing.T) {
	t.Parallel()
	var revoked atomic.Bool
	l := newLog(dbtest.SQLite(t), func(c *event.Config) {
		c.Heartbeat = 5 * time.Millisecond
		c.StillAllowed = func(context.Context, bool) error {
			if revoked.Load() {
				return fault.New(fault.Unauthenticated, "KEY_REVOKED", "The key was revoked.")
			}
			return nil
		}
	})
	s := eventtest.Open(t, serve(t, l), "ws", "owner", nil)
	for f := range s.Frames {
		if f.Comment == "heartbeat" {
			if f.ID != "0" {
				t.Errorf("heartbeat = %+v, want the position 0 as id", f)
			}
			break
		}
	}
	revoked.Store(true)
	if f, ok := s.Next(t); !ok || f.Event != "close" || f.Data != `{"reason":"revoked"}` {
		t.Errorf("last frame = %+v, %v, want close for revoked", f, ok)
	}
}

// TestStreamEndsWithItsCaller: a stream on which nothing happens ends soon after
// what its caller came with, long before a heartbeat.
func TestStreamEndsWithItsCaller(t *testing.T) {
	t.Parallel()
	asked := make(chan struct{}, 1)
	var revoked atomic.Bool
	l := newLog(dbtest.SQLite(t), func(c *event.Config) {
		c.Heartbeat, c.Recheck = time.Hour, time.Millisecond
		c.StillAllowed = func(context.Context, bool) error {
			select {
			case asked <- struct{}{}:
			default:
			}
			if revoked.Load() {
				return fault.New(fault.Forbidden, "SCOPE_MISSING", "Taken out of the group.")
			}
			return nil
		}
	})
	s := eventtest.Open(t, serve(t, l), "ws", "owner", nil)
	for range 5 {
		<-asked
	}
	revoked.Store(true)
	if f, ok := s.Next(t); !ok || f.Event != "close" || f.Data != `{"reason":"rights_changed"}` {
		t.Errorf("last frame = %+v, %v, want close for rights_changed", f, ok)
	}
}

// TestStreamSaysWhyItEnds: what the caller came with has expired, was taken
// back, or is worth less.
func TestStreamSaysWhyItEnds(t *testing.T) {
	t.Parallel()
	for want, err := range map[string]error{
		"expired":        fault.New(fault.Unauthenticated, "KEY_EXPIRED", "This API key has expired."),
		"revoked":        fault.New(fault.Unauthenticated, "UCAN_INVALID", "The token no longer counts."),
		"rights_changed": fault.New(fault.Forbidden, "SCOPE_MISSING", "Taken out of the group."),
		"error":          fault.New(fault.Unavailable, "STORE_UNAVAILABLE", "Try again later."),
	} {
		var over atomic.Bool
		l := newLog(dbtest.SQLite(t), func(c *event.Config) {
			c.Heartbeat, c.Recheck = time.Hour, time.Millisecond
			c.StillAllowed = func(context.Context, bool) error {
				if over.Load() {
					return err
				}
				return nil
			}
		})
		s := eventtest.Open(t, serve(t, l), "ws", "owner", nil)
		over.Store(true)
		if f, ok := s.Next(t); !ok || f.Event != "close" || f.Data != `{"reason":"`+want+`"}` {
			t.Errorf("after %v the last frame = %+v, %v, want close for %s", err, f, ok, want)
		}
	}
}

// A key that was revoked before an event is not told of it, even when the
// stream's filter leaves out the event that says so and all else is unchanged.
func TestStreamAsksBeforeItSends(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		var revoked atomic.Bool
		asked := make(chan bool, 8)
		l := newLog(d, func(c *event.Config) {
			c.Rights = event.Filter{"key.*"}
			c.StillAllowed = func(_ context.Context, anew bool) error {
				asked <- anew
				if anew && revoked.Load() {
					return fault.New(fault.Unauthenticated, "KEY_INVALID", "The key was revoked.")
				}
				return nil
			}
		})
		s := eventtest.Open(t, serve(t, l)+"?types=job.*", "ws", "owner", nil)
		if anew := <-asked; !anew {
			t.Error("the stream began without a look at the key")
		}
		eventtest.Append(t, d, l, "ws", "job.finished")
		wantEvent(t, s, "1", "job.finished")
		if anew := <-asked; anew {
			t.Error("an ordinary event had the key looked up")
		}
		revoked.Store(true)
		ctx := eventtest.Context(t.Context(), "ws")
		err := d.InTx(ctx, func(tx *db.Tx) error {
			return errors.Join(l.Append(ctx, tx, event.Event{Type: "key.revoked"}), l.Append(ctx, tx, event.Event{Type: "job.finished"}))
		})
		if err != nil {
			t.Fatal(err)
		}
		if f, ok := s.Next(t); !ok || f.Event != "close" || f.Data != `{"reason":"revoked"}` {
			t.Errorf("next frame = %+v, %v, want close for revoked", f, ok)
		}
	})
}

// Events of another process arrive without a wake-up: the heartbeat looks.
func TestStreamFindsUnannounced(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		l := newLog(d, func(c *event.Config) { c.Heartbeat = 10 * time.Millisecond })
		s := eventtest.Open(t, serve(t, l), "ws", "owner", nil)
		<-s.Frames // it has its position now
		eventtest.Append(t, d, newLog(d), "ws", "far.happened")
		wantEvent(t, s, "1", "far.happened")
	})
}

// smallBuffers makes a slow reader felt soon.
type smallBuffers struct{ net.Listener }

func (l smallBuffers) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if tcp, ok := c.(*net.TCPConn); ok {
		_ = tcp.SetWriteBuffer(4 << 10)
	}
	return c, err
}

func TestSlowReaderIsDropped(t *testing.T) {
	t.Parallel()
	d := dbtest.SQLite(t)
	l := newLog(d, func(c *event.Config) { c.WriteTimeout = 200 * time.Millisecond })
	s := httptest.NewUnstartedServer(eventtest.Serve(t, l.Routes))
	s.Listener = smallBuffers{s.Listener}
	s.Start()
	t.Cleanup(s.Close)
	t.Cleanup(l.Close)
	var dial net.Dialer
	slow, err := dial.DialContext(t.Context(), "tcp", s.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer slow.Close()
	_ = slow.(*net.TCPConn).SetReadBuffer(4 << 10)
	if _, err := fmt.Fprint(slow, "GET /v1/events HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ws owner\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	good := eventtest.Open(t, s.URL+"/v1/events", "ws", "reader", nil)
	eventtest.Eventually(t, "both streams are open", func() bool { return l.Streams() == 2 })
	<-good.Frames // it has its position now
	ctx := eventtest.Context(t.Context(), "ws")
	const n = 300
	read := make(chan int)
	go func() {
		got := 0
		for f := range good.Frames {
			if f.ID != strconv.Itoa(got+1) {
				break
			}
			if got++; got == n {
				break
			}
		}
		read <- got
	}()
	for range n {
		err := d.InTx(ctx, func(tx *db.Tx) error {
			return l.Append(ctx, tx, event.Event{Type: "job.finished", Data: map[string]string{"x": strings.Repeat("y", 4000)}})
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if got := <-read; got != n {
		t.Errorf("the good reader got %d events, want %d", got, n)
	}
	eventtest.Eventually(t, "the slow reader is dropped", func() bool { return l.Streams() == 1 })
}
