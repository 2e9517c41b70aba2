package run_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/oracle/chat"
	"github.com/hearth-dmrv/hearth/internal/oracle/llm"
	"github.com/hearth-dmrv/hearth/internal/oracle/run"
)

// A manager that is dropped at any point of a run, without a word: another one
// ends the run with everything that was stored, once, and what the first does
// later changes nothing.
func TestCrashAnywhere(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		for cut := range len(turn()) + 1 {
			crash(t, d, cut)
		}
	})
}

// crash drops a manager after so many steps.
func crash(t *testing.T, d *db.DB, cut int) {
	t.Helper()
	g := newRig(t, d)
	session := g.session(ann)
	s := newScript()
	s.end = func() run.Result {
		return run.Result{Messages: []llm.Message{{Role: llm.Assistant, Content: "from the dead"}}}
	}
	st := g.start(g.m, message(ann, session, "hi"), s.work)
	joined := g.join(g.m, ann, st.RunID, 0)
	seen, stored := 1, int64(0)
	for i, step := range turn()[:cut] {
		if step == nil {
			g.clock.Advance(240 * time.Millisecond)
			g.stored(st.RunID, int64(seen))
			stored = int64(seen)
			continue
		}
		if err := s.do(step); err != nil {
			t.Fatal(err)
		}
		seen++
		if isTool(i) {
			stored = int64(seen)
		}
	}
	joined.until(t, seen)

	next := g.manager()
	if n, err := next.Recover(t.Context()); n != 1 || err != nil {
		t.Fatalf("cut %d: Recover() = %d, %v; want 1", cut, n, err)
	}
	checkRecovered(t, g, next, recovered{cut: cut, id: st.RunID, session: session, stored: stored, sent: joined, seen: seen})

	// The first one was not dead after all.
	err := s.do(toolFrame("c9", "isRunning", ""))
	if !errors.Is(err, run.ErrLost) {
		t.Errorf("cut %d: a frame of the lost run = %v, want ErrLost", cut, err)
	}
	<-s.stopped
	g.closeAll(g.m)
	if done := last(t, joined.wait(t)); done["status"] != "interrupted" {
		t.Errorf("cut %d: who stayed with the first got %v, want interrupted", cut, done)
	}
	for _, m := range g.history(ann, session) {
		if m.Content == "from the dead" {
			t.Errorf("cut %d: the lost run has stored its answer", cut)
		}
	}
	if n, err := next.Recover(t.Context()); n != 0 || err != nil {
		t.Errorf("cut %d: a second Recover() = %d, %v; want 0", cut, n, err)
	}
	g.closeAll(next)
}

// isTool reports whether a step of turn is a frame of a tool.
func isTool(i int) bool { return i >= 4 && i <= 6 || i == 8 }

// recovered is a run that another manager has ended.
type recovered struct {
	cut         int
	id, session string
	stored      int64 // the last frame that was
	sent        *frames
	seen        int
}

func checkRecovered(t *testing.T, g *rig, m *run.Manager, c recovered) {
	t.Helper()
	c.sent.mu.Lock()
	sent := append([]run.Frame(nil), c.sent.all[:c.seen]...)
	c.sent.mu.Unlock()
	all := g.join(m, ann, c.id, 0).wait(t)
	if got := show(all[:c.stored]); got != show(sent[:c.stored]) {
		t.Errorf("cut %d: stored frames:\n%swant:\n%s", c.cut, got, show(sent[:c.stored]))
	}
	end := all[c.stored:]
	if end[0].ID != c.stored+1_000_000 {
		t.Errorf("cut %d: the end begins at %d, want %d", c.cut, end[0].ID, c.stored+1_000_000)
	}
	partial := textOf(sent[:c.stored])
	want := map[string]any{"status": "interrupted", "interrupted": true, "partialText": partial}
	if diff := cmp.Diff(want, last(t, all)); diff != "" {
		t.Errorf("cut %d: done (-want +got):\n%s", c.cut, diff)
	}
	if n := unended(all); n > 0 {
		t.Errorf("cut %d: %d tools never end", c.cut, n)
	}
	// Whatever a client has heard, also frames the store never saw, it gets
	// the end.
	for after := range int64(c.seen) + 1 {
		rest := all[min(after, c.stored):]
		if got := g.join(m, ann, c.id, after).wait(t); show(got) != show(rest) {
			t.Errorf("cut %d: a join after %d gives:\n%swant:\n%s", c.cut, after, show(got), show(rest))
		}
	}
	history := g.history(ann, c.session)
	said := ""
	for i, msg := range history {
		if (i == 0) != (msg.Type == chat.Human) {
			t.Errorf("cut %d: message %d is %s", c.cut, i, msg.Type)
		}
		if i > 0 {
			said += msg.Content
		}
		for _, call := range msg.ToolCalls {
			if call.Status != "done" || string(call.Args) != `{"q":"x"}` {
				t.Errorf("cut %d: call %+v, want it ended and its own arguments", c.cut, call)
			}
		}
	}
	if said != partial {
		t.Errorf("cut %d: history says %q, want %q", c.cut, said, partial)
	}
	if n := len(history); n < 2 || !history[n-1].Interrupted {
		t.Errorf("cut %d: %d messages, want the last to be an answer marked interrupted", c.cut, n)
	}
	model, err := g.chat.History(t.Context(), ann, c.session, 1<<40, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	checkCalls(t, model)
}

// checkCalls wants every call of a conversation followed by its result.
func checkCalls(t *testing.T, said []llm.Message) {
	t.Helper()
	var open []string
	for _, m := range said {
		if m.Role == llm.Tool {
			if len(open) == 0 || open[0] != m.ToolCallID {
				t.Errorf("result of %s, want one of %v", m.ToolCallID, open)
				return
			}
			open = open[1:]
			continue
		}
		if len(open) > 0 {
			t.Errorf("calls %v have no result", open)
		}
		open = nil
		for _, c := range m.ToolCalls {
			open = append(open, c.ID)
		}
	}
	if len(open) > 0 {
		t.Errorf("calls %v have no result", open)
	}
}

// Text is stored within 250 ms of being sent, and sooner when it is much.
func TestStoredInTime(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		g := newRig(t, d)
		s := newScript()
		st := g.start(g.m, message(ann, g.session(ann), "hi"), s.work)
		if err := s.do(text("a")); err != nil {
			t.Fatal(err)
		}
		if got := run.Stored(g.m, st.RunID); got != 0 {
			t.Errorf("frame %d is stored at once, want none", got)
		}
		g.clock.Advance(240 * time.Millisecond)
		g.stored(st.RunID, 2)
		if err := s.do(text(strings.Repeat("b", 4<<10))); err != nil {
			t.Fatal(err)
		}
		g.stored(st.RunID, 3) // 4 KiB do not wait
		for range 20 {
			if err := s.do(text("c")); err != nil {
				t.Fatal(err)
			}
		}
		g.clock.Advance(240 * time.Millisecond)
		g.stored(st.RunID, 23)
		if n := g.count("oracle_frames"); n != 3 {
			t.Errorf("%d rows, want 3", n)
		}
		close(s.steps)
		g.closeAll(g.m)
	})
}

// never is a lifetime that the clock of a rig does not reach: while a store is
// slow, those who wait for it let the clock run.
const never = 10_000 * time.Hour

// Two managers on one store: each joins and aborts what the other runs, with
// and without a bus, and ends what the other leaves when it dies.
func TestTwoInstances(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		var one, two *run.Manager
		g := newRig(t, d, alone(false), func(c *run.Config) { c.Instance = "zero" })
		one = g.manager(alone(false), func(c *run.Config) {
			c.Instance, c.Lease, c.Lifetime = "one", time.Hour, never
			c.Publish = toOther(&two)
		})
		two = g.manager(alone(false), func(c *run.Config) {
			c.Instance, c.Lease, c.Lifetime = "two", time.Hour, never
			c.Publish = toOther(&one)
		})
		for _, how := range []string{"bus", "missed", "beat"} {
			aborts(t, g, one, two, how)
		}
		// A newer message on the other instance.
		session := g.session(ann)
		s := newScript()
		a := g.start(one, message(ann, session, "one"), s.work)
		<-s.began
		b := g.start(two, message(ann, session, "two"), newScript().finish)
		if cause := <-s.stopped; !errors.Is(cause, run.ErrReplaced) {
			t.Errorf("stopped by %v, want ErrReplaced", cause)
		}
		for i, id := range []string{a.RunID, b.RunID} {
			all := g.follow(two, id)
			if want := []string{"aborted", "finished"}[i]; last(t, all)["status"] != want {
				t.Errorf("run %d ended as %v, want %s", i, last(t, all), want)
			}
		}
		// Three runs are three runs, wherever they are.
		var scripts []*script
		for i := range 3 {
			s := newScript()
			scripts = append(scripts, s)
			g.start([]*run.Manager{one, two}[i%2], message(ann, g.session(ann), "hi"), s.work)
		}
		if _, err := two.Start(t.Context(), message(ann, g.session(ann), "hi"), nil); err == nil {
			t.Error("a fourth run on another instance is taken")
		}
		for _, s := range scripts {
			close(s.steps)
		}
		g.closeAll(one)
		g.closeAll(two)
		g.closeAll(g.m)
	})
}

// toOther delivers what a manager publishes.
func toOther(to **run.Manager) publish {
	return func(ctx ctxt, payload string) { (*to).Receive(ctx, payload, false) }
}

// aborts lets one instance abort and join what another runs.
func aborts(t *testing.T, g *rig, one, two *run.Manager, how string) {
	t.Helper()
	session := g.session(ann)
	s := newScript()
	s.end = func() run.Result {
		return run.Result{Messages: []llm.Message{{Role: llm.Assistant, Content: "half"}}}
	}
	runs, other := one, two
	if how != "bus" {
		runs, other = two, g.m // g.m has no bus
	}
	st := g.start(runs, message(ann, session, "hi"), s.work)
	near, far := g.join(runs, ann, st.RunID, 0), g.join(other, ann, st.RunID, 0)
	if err := s.do(text("half")); err != nil {
		t.Fatal(err)
	}
	if err := s.do(toolFrame("c1", "isRunning", "")); err != nil {
		t.Fatal(err)
	}
	g.clock.until(t, "the far client has the stored frames", time.Second, far.reached(3))
	if ok, err := other.Abort(t.Context(), bob, session); ok || err != nil {
		t.Errorf("%s: foreign Abort() = %v, %v; want false", how, ok, err)
	}
	for _, m := range []*run.Manager{runs, other} {
		if ok, err := m.AbortRun(t.Context(), bob, st.RunID); ok || err != nil && fault.CodeOf(err) != "RUN_NOT_FOUND" {
			t.Errorf("%s: foreign AbortRun() = %v, %v; want false", how, ok, err)
		}
	}
	abort := func() (bool, error) { return other.Abort(t.Context(), ann, session) }
	if how == "missed" {
		abort = func() (bool, error) { return other.AbortRun(t.Context(), ann, st.RunID) }
	}
	if ok, err := abort(); !ok || err != nil {
		t.Errorf("%s: Abort() from the other instance = %v, %v; want true", how, ok, err)
	}
	switch how {
	case "missed":
		runs.Receive(t.Context(), "", true)
	case "beat":
		if err := runs.Tend(t.Context()); err != nil {
			t.Error(err)
		}
	}
	if cause := <-s.stopped; !errors.Is(cause, run.ErrAborted) {
		t.Errorf("%s: stopped by %v, want ErrAborted", how, cause)
	}
	want := near.wait(t)
	g.clock.until(t, "the far client has all", time.Second, far.ended)
	if got := show(far.wait(t)); got != show(want) {
		t.Errorf("%s: the far client got:\n%swant:\n%s", how, got, show(want))
	}
	if last(t, want)["status"] != "aborted" {
		t.Errorf("%s: done = %v, want aborted", how, last(t, want))
	}
}

// An instance that stops to beat is dead after its lease, and not before.
func TestLease(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		g := newRig(t, d, alone(false), func(c *run.Config) { c.Instance = "one" })
		two := g.manager(alone(false), func(c *run.Config) { c.Instance = "two" })
		session := g.session(ann)
		var scripts []*script
		for i := range 20 { // more than a page, of as many users
			s := newScript()
			scripts = append(scripts, s)
			user := fmt.Sprint("did:key:", i)
			g.start(g.m, message(user, g.session(user), "hi"), s.work)
		}
		s := newScript()
		st := g.start(two, message(ann, session, "hi"), s.work)
		far := g.join(two, ann, st.RunID, 0)
		recover := func(after time.Duration, beat bool, want int) {
			t.Helper()
			g.clock.Advance(after)
			if beat {
				if err := g.m.Tend(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			if n, err := two.Recover(t.Context()); n != want || err != nil {
				t.Errorf("Recover() = %d, %v; want %d", n, err, want)
			}
		}
		recover(0, false, 0)
		recover(19*time.Second, true, 0)
		recover(19*time.Second, false, 0)
		recover(2*time.Second, false, 20)
		recover(0, false, 0)
		for _, s := range scripts {
			close(s.steps)
		}
		close(s.steps)
		if done := last(t, far.wait(t)); done["status"] != "finished" {
			t.Errorf("the run of the living one ended as %v, want finished", done)
		}
		g.closeAll(g.m)
		g.closeAll(two)
	})
}

// A row of frames that cannot be read costs what is in it, and no other run.
func TestRecoverDamaged(t *testing.T) {
	t.Parallel()
	g := newRig(t, dbtest.SQLite(t))
	var ids []string
	var scripts []*script
	for i := range 2 {
		user := fmt.Sprint("did:key:", i)
		s := newScript()
		scripts = append(scripts, s)
		ids = append(ids, g.start(g.m, message(user, g.session(user), "hi"), s.work).RunID)
		for _, step := range []func(*run.Run) error{text("a"), toolFrame("c1", "done", "x"), text("b"), toolFrame("c2", "done", "y")} {
			if err := s.do(step); err != nil {
				t.Fatal(err)
			}
		}
	}
	_, err := g.db.Exec(t.Context(), `UPDATE oracle_frames SET data = 'torn' WHERE seq > 1 AND run = (SELECT nid FROM oracle_runs WHERE id = $1)`, ids[0])
	if err != nil {
		t.Fatal(err)
	}
	var released []string
	next := g.manager(func(c *run.Config) {
		c.Release = func(_ context.Context, user, id string) error {
			released = append(released, user+" "+id)
			return errors.New("the ledger is away")
		}
	})
	if n, err := next.Recover(t.Context()); n != 2 || err != nil {
		t.Errorf("Recover() = %d, %v; want 2", n, err)
	}
	if want := []string{"did:key:0 " + ids[0], "did:key:1 " + ids[1]}; !slices.Equal(released, want) {
		t.Errorf("released were %v, want %v", released, want)
	}
	for i, want := range []string{"a", "ab"} {
		o, err := next.Wait(t.Context(), fmt.Sprint("did:key:", i), ids[i])
		if err != nil || o.Status != run.Interrupted {
			t.Errorf("Wait() = %+v, %v; want interrupted", o, err)
		}
		info, err := next.Find(t.Context(), fmt.Sprint("did:key:", i), ids[i])
		if err != nil || info.Status != run.Interrupted {
			t.Fatalf("run %d = %+v, %v; want interrupted", i, info, err)
		}
		said := ""
		for _, m := range g.history(fmt.Sprint("did:key:", i), info.Session)[1:] {
			said += m.Content
		}
		if said != want {
			t.Errorf("run %d said %q, want %q", i, said, want)
		}
	}
	for _, s := range scripts {
		close(s.steps)
	}
	g.closeAll(g.m)
	g.closeAll(next)
}
