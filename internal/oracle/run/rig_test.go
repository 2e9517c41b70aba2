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
	armed chan struct{} // cap 1: a timer was set

	mu     sync.Mutex
	now    time.Time
	timers map[*timer]struct{}
}

type timer struct {
	at time.Time
	f  func()
}

func newClock() *clock {
	return &clock{armed: make(chan struct{}, 1), now: time.UnixMilli(1_800_000_000_000), timers: map[*timer]struct{}{}}
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
	select {
	case c.armed <- struct{}{}:
	default:
	}
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

// next moves the clock to the first timer that comes due within a time. It tells
// whether there is one.
func (c *clock) next(within time.Duration) bool {
	c.mu.Lock()
	first := within + 1
	for t := range c.timers {
		first = min(first, max(t.at.Sub(c.now), 0))
	}
	c.mu.Unlock()
	if first > within {
		return false
	}
	c.Advance(first)
	return true
}

// patience is how long tests wait for what must happen.
const patience = 30 * time.Second

// until has timers come due one after the other, those that are set for no later
// than within, until something has happened.
func (c *clock) until(t *testing.T, what string, within time.Duration, happened <-chan struct{}) {
	t.Helper()
	deadline := time.After(patience)
	for {
		select {
		case <-happened:
			return
		default:
		}
		if c.next(within) {
			continue
		}
		select {
		case <-happened:
			return
		case <-c.armed:
		case <-deadline:
			t.Fatalf("never: %s", what)
		}
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
	began chan struct{} // closed when the join gives out something, or waits
	ended chan struct{} // closed when it has returned

	mu    sync.Mutex
	all   []run.Frame
	marks map[int]chan struct{} // closed when so many frames are there
	err   error
}

// join joins a run in the background.
func (g *rig) join(m *run.Manager, user, id string, after int64) *frames {
	f := &frames{began: make(chan struct{}), ended: make(chan struct{}), marks: map[int]chan struct{}{}}
	begin := sync.OnceFunc(func() { close(f.began) })
	go func() {
		defer close(f.ended)
		f.err = m.Join(g.t.Context(), user, id, after, run.Whole(func(fr run.Frame) error {
			begin()
			if len(fr.Data) > 0 {
				f.add(fr)
			}
			return nil
		}))
	}()
	return f
}

func (f *frames) add(fr run.Frame) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.all = append(f.all, fr)
	if ch := f.marks[len(f.all)]; ch != nil {
		close(ch)
	}
}

// reached gives a channel that is closed once there are so many frames.
func (f *frames) reached(n int) <-chan struct{} {
	f.mu.Lock()
	defer f.mu.Unlock()
	ch := f.marks[n]
	if ch == nil {
		ch = make(chan struct{})
		f.marks[n] = ch
		if len(f.all) >= n {
			close(ch)
		}
	}
	return ch
}

// wait waits for the end of a join and returns its frames.
func (f *frames) wait(t *testing.T) []run.Frame {
	t.Helper()
	within(t, "the join returns", f.ended)
	if f.err != nil {
		t.Fatalf("Join() = %v, want nil", f.err)
	}
	return f.all
}

// until waits until a join has given out so many frames.
func (f *frames) until(t *testing.T, n int) {
	t.Helper()
	within(t, fmt.Sprintf("the join gives %d frames", n), f.reached(n))
}

// within waits for something that must happen.
func within(t *testing.T, what string, happened <-chan struct{}) {
	t.Helper()
	select {
	case <-happened:
	case <-time.After(patience):
		t.Fatalf("never: %s", what)
	}
}

// stored waits until frames of a run are stored up to a number, and no further.
func (g *rig) stored(id string, upto int64) {
	g.t.Helper()
	within(g.t, fmt.Sprintf("frame %d is stored", upto), run.StoredUpTo(g.m, id, upto))
	if got := run.Stored(g.m, id); got != upto {
		g.t.Fatalf("frames are stored up to %d, want %d", got, upto)
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

func rawPayload(text string) jsontext.Value { return jsontext.Value(text) }

type ctxt = context.Context

type publish = func(ctxt, string)

// finish is work that ends at once.
func (s *script) finish(context.Context, *run.Run) run.Result { return s.end() }

// follow joins a run that another instance may have, and waits for its end:
// joins of other instances look at the rows by the clock. Lifetimes are longer.
func (g *rig) follow(m *run.Manager, id string) []run.Frame {
	g.t.Helper()
	f := g.join(m, ann, id, 0)
	g.clock.until(g.t, "the run has ended", time.Second, f.ended)
	return f.wait(g.t)
}
