package run_test

import (
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
	"github.com/hearth-dmrv/hearth/internal/oracle/run"
)

// A store that fails for a while is one line in the log of each run, not one for
// each attempt.
func TestStoreFailsQuietly(t *testing.T) {
	t.Parallel()
	d := dbtest.SQLite(t)
	var log lines
	g := newRig(t, d, func(c *run.Config) { c.Log = slog.New(slog.NewTextHandler(&log, nil)) })
	s := newScript()
	st := g.start(g.m, message(ann, g.session(ann), "hi"), s.work)
	if err := s.do(text("a")); err != nil {
		t.Fatal(err)
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	for range 5 {
		attempt := run.Attempt(g.m, st.RunID)
		g.clock.Advance(time.Second)
		if err := <-attempt; err == nil {
			t.Fatal("a closed store has stored something")
		}
	}
	close(s.steps)
	g.clock.until(t, "the run is given up", 20*time.Second, g.join(g.m, ann, st.RunID, 0).ended)
	if n := strings.Count(log.String(), "frames of a run cannot be stored yet"); n != 1 {
		t.Errorf("the log has %d lines about it, want 1:\n%s", n, log.String())
	}
	g.closeAll(g.m)
}

// lines is a log.
type lines struct {
	mu sync.Mutex
	b  strings.Builder
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// A store that fails makes frames of tools fail and keeps the rest; what
// cannot be ended is ended later.
func TestStoreFails(t *testing.T) {
	t.Parallel()
	d := dbtest.SQLite(t)
	g := newRig(t, d)
	session := g.session(ann)
	s := newScript()
	st := g.start(g.m, message(ann, session, "hi"), s.work)
	joined := g.join(g.m, ann, st.RunID, 0)
	if err := s.do(text("a")); err != nil {
		t.Fatal(err)
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	if err := s.do(toolFrame("c1", "isRunning", "")); err == nil {
		t.Error("a frame of a tool that cannot be stored = nil, want an error")
	}
	if err := s.do(text("b")); err != nil {
		t.Errorf("Text() = %v, want it to wait in memory", err)
	}
	close(s.steps)
	g.clock.until(t, "the run is given up", 20*time.Second, joined.ended)
	if joined.err == nil {
		t.Error("Join() of a run that is given up = nil, want an error")
	}
	for _, f := range joined.all {
		if name, _ := event(f); name == "tool_call" || name == "done" {
			t.Errorf("a %s frame was sent and never stored", name)
		}
	}
	g.closeAll(g.m)
}

// A run that grows without end is stopped.
func TestMaxBytes(t *testing.T) {
	t.Parallel()
	g := newRig(t, dbtest.SQLite(t), func(c *run.Config) { c.MaxBytes = 10_000 })
	s := newScript()
	st := g.start(g.m, message(ann, g.session(ann), "hi"), s.work)
	var err error
	n := 0
	for ; err == nil && n < 100; n++ {
		err = s.do(text(strings.Repeat("x", 1000)))
	}
	if err == nil || n > 12 {
		t.Errorf("Text() fails after %d KiB with %v, want after about 10", n, err)
	}
	close(s.steps)
	if got := last(t, g.join(g.m, ann, st.RunID, 0).wait(t)); got["status"] != "finished" {
		t.Errorf("done = %v", got)
	}
	g.closeAll(g.m)
}
