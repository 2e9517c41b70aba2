package run_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
	"github.com/hearth-dmrv/hearth/internal/oracle/chat"
	"github.com/hearth-dmrv/hearth/internal/oracle/llm"
	"github.com/hearth-dmrv/hearth/internal/oracle/run"
	"github.com/hearth-dmrv/hearth/internal/secret"
)

const (
	ann = "did:key:ann"
	bob = "did:key:bob"
)

// clock is a clock that only tests move.
type clock struct {
	mu     sync.Mutex
	now    time.Time
	timers map[*timer]struct{}
}

type timer struct {
	at time.Time
	f  func()
}

func newClock() *clock {
	return &clock{now: time.UnixMilli(1_800_000_000_000), timers: map[*timer]struct{}{}}
}

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) AfterFunc(d time.Duration, f func()) func() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	t := &timer{c.now.Add(d), f}
	c.timers[t] = struct{}{}
	return func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		_, ok := c.timers[t]
		delete(c.timers, t)
		return ok
	}
}

// Advance moves the clock and calls what has come due.
func (c *clock) Advance(d time.Duration) {
	c.mu.Lock()
	c.now = c.now.Add(d)
	var due []*timer
	for t := range c.timers {
		if !t.at.After(c.now) {
			due = append(due, t)
			delete(c.timers, t)
		}
	}
	c.mu.Unlock()
	slices.SortFunc(due, func(a, b *timer) int { return a.at.Compare(b.at) })
	for _, t := range due {
		t.f()
	}
}

// rig is a store of conversations and one manager.
type rig struct {
	t     *testing.T
	db    *db.DB
	clock *clock
	chat  *chat.Store
	m     *run.Manager
}

func newRig(t *testing.T, d *db.DB, change ...func(*run.Config)) *rig {
	t.Helper()
	key, err := secret.Parse(strings.Repeat("k", 32))
	if err != nil {
		t.Fatal(err)
	}
	g := &rig{t: t, db: d, clock: newClock()}
	g.chat = chat.New(chat.Config{DB: d, Key: key, Now: g.clock.Now, OracleName: "Hearth", OracleDID: "did:key:oracle"})
	g.m = g.manager(change...)
	return g
}

// manager makes a manager on the rig's store and clock.
func (g *rig) manager(change ...func(*run.Config)) *run.Manager {
	g.t.Helper()
	c := run.Config{DB: g.db, Chat: g.chat, Log: dbtest.Log(g.t), Now: g.clock.Now, AfterFunc: g.clock.AfterFunc, Alone: true, Heartbeat: 24 * time.Hour}
	for _, f := range change {
		f(&c)
	}
	m, err := run.New(g.t.Context(), c)
	if err != nil {
		g.t.Fatal(err)
	}
	return m
}

// alone says whether a manager has the store to itself.
func alone(yes bool) func(*run.Config) { return func(c *run.Config) { c.Alone = yes } }

func (g *rig) session(user string) string {
	g.t.Helper()
	s, err := g.chat.CreateSession(g.t.Context(), user)
	if err != nil {
		g.t.Fatal(err)
	}
	return s.ID
}

func message(user, session, text string) run.Start {
	return run.Start{User: user, Session: session, RequestID: "req-" + text, Message: llm.Message{Role: llm.User, Content: text}}
}

func (g *rig) start(m *run.Manager, s run.Start, w run.Work) run.Started {
	g.t.Helper()
	st, err := m.Start(g.t.Context(), s, w)
	if err != nil {
		g.t.Fatal(err)
	}
	return st
}

// script is work that tests take step by step.
type script struct {
	steps   chan func(r *run.Run) error
	done    chan error
	began   chan struct{}
	stopped chan error // the cause of its context, once it ended
	end     func() run.Result
}

func newScript() *script {
	return &script{
		steps: make(chan func(*run.Run) error), done: make(chan error), began: make(chan struct{}), stopped: make(chan error, 1),
		end: func() run.Result { return run.Result{} },
	}
}

// work is the work; it ends when steps is closed or its context has ended.
func (s *script) work(ctx context.Context, r *run.Run) run.Result {
	close(s.began)
	for {
		select {
		case f, ok := <-s.steps:
			if !ok {
				return s.end()
			}
			s.done <- f(r)
		case <-ctx.Done():
			s.stopped <- context.Cause(ctx)
			return s.end()
		}
	}
}

// do takes one step and returns its error.
func (s *script) do(f func(r *run.Run) error) error {
	s.steps <- f
	return <-s.done
}

func text(delta string) func(*run.Run) error { return func(r *run.Run) error { return r.Text(delta) } }

// tool is a step that emits a frame of a tool.
func toolFrame(id, status, output string) func(*run.Run) error {
	return func(r *run.Run) error {
		p := map[string]any{
			"requestId": r.RequestID(), "sessionId": r.Session(), "toolName": "find", "args": map[string]any{"q": "x", "toolName": "find"},
			"status": status, "eventId": id,
		}
		if output != "" {
			p["output"] = output
		}
		return r.Emit("tool_call", p)
	}
}

// frames collects what a join gives out.
type frames struct {
	mu   sync.Mutex
	all  []run.Frame
	more chan struct{}
	err  chan error
}

// join joins a run in the background.
func (g *rig) join(m *run.Manager, user, id string, after int64) *frames {
	f := &frames{more: make(chan struct{}, 1), err: make(chan error, 1)}
	go func() {
		f.err <- m.Join(g.t.Context(), user, id, after, run.Whole(func(fr run.Frame) error {
			f.mu.Lock()
			defer f.mu.Unlock()
			if len(fr.Data) > 0 {
				f.all = append(f.all, fr)
			}
			select {
			case f.more <- struct{}{}:
			default:
			}
			return nil
		}))
	}()
	return f
}

// wait waits for the end of a join and returns its frames.
func (f *frames) wait(t *testing.T) []run.Frame {
	t.Helper()
	select {
	case err := <-f.err:
		if err != nil {
			t.Fatalf("Join() = %v, want nil", err)
		}
	case <-time.After(30 * time.Second):
		f.mu.Lock()
		defer f.mu.Unlock()
		t.Fatalf("Join() does not return; it gave %d frames: %s", len(f.all), show(f.all))
	}
	return f.all
}

// until waits until a join has given out so many frames.
func (f *frames) until(t *testing.T, n int) {
	t.Helper()
	deadline := time.After(30 * time.Second)
	for {
		f.mu.Lock()
		got := len(f.all)
		f.mu.Unlock()
		if got >= n {
			return
		}
		select {
		case <-f.more:
		case <-deadline:
			t.Fatalf("join gave %d frames, want %d", got, n)
		}
	}
}

func show(all []run.Frame) string {
	var b strings.Builder
	for _, f := range all {
		b.Write(f.Data)
	}
	return b.String()
}

// event gives the name and payload of a frame.
func event(f run.Frame) (string, map[string]any) {
	var name string
	var payload map[string]any
	for line := range strings.Lines(string(f.Data)) {
		line = strings.TrimRight(line, "\n")
		if rest, ok := strings.CutPrefix(line, "event: "); ok {
			name = rest
		} else if rest, ok := strings.CutPrefix(line, "data: "); ok {
			if err := json.Unmarshal([]byte(rest), &payload); err != nil {
				panic(fmt.Sprintf("%v in %s", err, f.Data))
			}
		}
	}
	return name, payload
}

// last gives the payload of the last frame, which is done.
func last(t *testing.T, all []run.Frame) map[string]any {
	t.Helper()
	if len(all) == 0 {
		t.Fatal("no frames, want done")
	}
	name, payload := event(all[len(all)-1])
	if name != "done" {
		t.Fatalf("last frame is %s, want done:\n%s", name, show(all))
	}
	return payload
}

// names lists the names of frames.
func names(all []run.Frame) string {
	var out []string
	for _, f := range all {
		name, _ := event(f)
		out = append(out, name)
	}
	return strings.Join(out, " ")
}

// history reads a session.
func (g *rig) history(user, session string) []chat.Message {
	g.t.Helper()
	bodies, err := g.chat.Messages(g.t.Context(), user, session)
	if err != nil {
		g.t.Fatal(err)
	}
	return decode(g.t, bodies)
}

func decode(t *testing.T, bodies []jsontext.Value) []chat.Message {
	t.Helper()
	out := make([]chat.Message, len(bodies))
	for i, b := range bodies {
		if err := json.Unmarshal(b, &out[i], json.RejectUnknownMembers(true)); err != nil {
			t.Fatal(err)
		}
	}
	return out
}

func (g *rig) count(table string) int {
	g.t.Helper()
	n := 0
	err := g.db.QueryRow(g.t.Context(), "SELECT count(*) FROM "+table).Scan(&n)
	if err != nil {
		g.t.Fatal(err)
	}
	return n
}

// closeAll ends a manager whose scripts have ended.
func (g *rig) closeAll(m *run.Manager) {
	g.t.Helper()
	if err := m.Close(g.t.Context()); err != nil {
		g.t.Errorf("Close() = %v", err)
	}
}

// eventually looks until something is true or a deadline passes.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); !ok(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("never: %s", what)
		}
	}
}

func rawPayload(text string) jsontext.Value { return jsontext.Value(text) }

type ctxt = context.Context

type publish = func(ctxt, string)

// finish is work that ends at once.
func (s *script) finish(context.Context, *run.Run) run.Result { return s.end() }

func (f *frames) len() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.all)
}

// advanceUntil moves the clock until something is true: joins of other
// instances look at the rows by it. Lifetimes are longer.
func (g *rig) advanceUntil(what string, ok func() bool) {
	g.t.Helper()
	eventually(g.t, what, func() bool {
		g.clock.Advance(10 * time.Millisecond)
		return ok()
	})
}

// follow joins a run that another instance may have, and waits for its end.
func (g *rig) follow(m *run.Manager, id string) []run.Frame {
	g.t.Helper()
	f := g.join(m, ann, id, 0)
	g.advanceUntil("the run has ended", func() bool {
		f.mu.Lock()
		defer f.mu.Unlock()
		if len(f.all) == 0 {
			return false
		}
		name, _ := event(f.all[len(f.all)-1])
		return name == "done"
	})
	return f.wait(g.t)
}
