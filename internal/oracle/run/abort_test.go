package run_test

import (
	"context"
	"errors"
	"fmt"
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

// turn is what the tests of aborts and crashes play: text, two tools at once,
// text again. A nil step has what waits stored.
func turn() []func(*run.Run) error {
	return []func(*run.Run) error{
		func(r *run.Run) error { return r.Ack("Thinking...") },
		text("one "), nil, text("two "), toolFrame("c1", "isRunning", ""), toolFrame("c2", "isRunning", ""), toolFrame("c1", "done", "x"),
		text("three "), toolFrame("c2", "done", "y"), text("four "), nil, text("five"),
	}
}

// textOf is the text that frames carry.
func textOf(all []run.Frame) string {
	out := ""
	for _, f := range all {
		if name, p := event(f); name == "message" {
			out += p["content"].(string)
		}
	}
	return out
}

// unended counts tools that started in frames and never ended.
func unended(all []run.Frame) int {
	open := map[any]bool{}
	for _, f := range all {
		if name, p := event(f); name == "tool_call" {
			open[p["eventId"]] = p["status"] == "isRunning"
		}
	}
	n := 0
	for _, o := range open {
		if o {
			n++
		}
	}
	return n
}

// Whenever the abort comes, it reaches the work, every tool is ended, and the
// run ends with a marker and done, which carries all text that was sent.
func TestAbortAnywhere(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		g := newRig(t, d)
		for cut := range len(turn()) + 1 {
			session := g.session(ann)
			s := newScript()
			s.end = func() run.Result {
				return run.Result{Messages: []llm.Message{{Role: llm.Assistant, Content: "half"}, {Role: llm.Assistant}}}
			}
			st := g.start(g.m, message(ann, session, "hi"), s.work)
			joined := g.join(g.m, ann, st.RunID, 0)
			for _, step := range turn()[:cut] {
				if step == nil {
					g.clock.Advance(time.Second)
				} else if err := s.do(step); err != nil {
					t.Fatal(err)
				}
			}
			<-s.began
			ok, err := g.m.Abort(t.Context(), ann, session)
			if !ok || err != nil {
				t.Fatalf("cut %d: Abort() = %v, %v; want true", cut, ok, err)
			}
			if cause := <-s.stopped; !errors.Is(cause, run.ErrAborted) {
				t.Errorf("cut %d: stopped by %v, want ErrAborted", cut, cause)
			}
			all := joined.wait(t)
			want := map[string]any{"status": "aborted", "aborted": true, "partialText": textOf(all)}
			if diff := cmp.Diff(want, last(t, all)); diff != "" {
				t.Errorf("cut %d: done (-want +got):\n%s", cut, diff)
			}
			if name, p := event(all[len(all)-2]); name != "reasoning" || p["isComplete"] != true {
				t.Errorf("cut %d: frame before done = %s %v, want the marker", cut, name, p)
			}
			if n := unended(all); n > 0 {
				t.Errorf("cut %d: %d tools never end", cut, n)
			}
			if got := g.history(ann, session); len(got) != 2 || !got[1].Aborted {
				t.Errorf("cut %d: history = %+v, want the answer, aborted", cut, got)
			}
			if ok, err := g.m.AbortRun(t.Context(), ann, st.RunID); ok || err != nil {
				t.Errorf("cut %d: AbortRun() after the end = %v, %v; want false", cut, ok, err)
			}
			if ok, err := g.m.Abort(t.Context(), ann, session); ok || err != nil {
				t.Errorf("cut %d: Abort() after the end = %v, %v; want false", cut, ok, err)
			}
		}
		g.closeAll(g.m)
	})
}

// Close lets runs end, and interrupts those that do not.
func TestClose(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		g := newRig(t, d)
		session := g.session(ann)
		s := newScript()
		s.end = func() run.Result {
			return run.Result{Messages: []llm.Message{{Role: llm.Assistant, Content: "half"}}}
		}
		st := g.start(g.m, message(ann, session, "hi"), s.work)
		joined := g.join(g.m, ann, st.RunID, 0)
		if err := s.do(text("half")); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := g.m.Close(ctx); err != nil {
			t.Errorf("Close() = %v", err)
		}
		want := map[string]any{"status": "interrupted", "interrupted": true, "partialText": "half"}
		if diff := cmp.Diff(want, last(t, joined.wait(t))); diff != "" {
			t.Errorf("done (-want +got):\n%s", diff)
		}
		if got := g.history(ann, session); len(got) != 2 || !got[1].Interrupted || got[1].Content != "half" {
			t.Errorf("history = %+v, want the answer, interrupted", got)
		}
	})
}

// A run that waits for a person does not hold a server up that stops.
func TestCloseInterruptsWhatRests(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		for _, before := range []bool{true, false} {
			g := newRig(t, d)
			session := g.session(ann)
			resting, closed := make(chan struct{}), make(chan struct{})
			g.start(g.m, message(ann, session, "hi"), func(ctx context.Context, r *run.Run) run.Result {
				if !before {
					close(resting)
					<-closed
				}
				defer r.Rest()()
				if before {
					close(resting)
				}
				<-ctx.Done()
				if !errors.Is(context.Cause(ctx), run.ErrClosing) {
					t.Errorf("the run was stopped by %v", context.Cause(ctx))
				}
				return run.Result{}
			})
			<-resting
			ended := make(chan error, 1)
			go func() { ended <- g.m.Close(context.WithoutCancel(t.Context())) }() // nobody hurries it
			close(closed)                                                          // it may rest before the end begins or after
			if err := <-ended; err != nil {
				t.Errorf("Close() = %v", err)
			}
		}
	})
}

// A run that is stopped before its first word has an answer in the history too:
// whoever reads it sees that none will come. One that its user has stopped has
// none: they know.
func TestStoppedBeforeTheFirstWord(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		for _, closing := range []bool{true, false} {
			g := newRig(t, d)
			session, s := g.session(ann), newScript()
			s.end = func() run.Result { return run.Result{Messages: []llm.Message{{Role: llm.Assistant}}} }
			st := g.start(g.m, message(ann, session, "hi"), s.work)
			joined := g.join(g.m, ann, st.RunID, 0)
			if !closing {
				if ok, err := g.m.Abort(t.Context(), ann, session); !ok || err != nil {
					t.Fatalf("Abort() = %v, %v", ok, err)
				}
			}
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			if err := g.m.Close(ctx); err != nil {
				t.Errorf("Close() = %v", err)
			}
			joined.wait(t)
			got := g.history(ann, session)
			switch {
			case !closing:
				if len(got) != 1 {
					t.Errorf("history after an abort = %+v, want what was said", got)
				}
			case len(got) != 2 || got[1].Type != chat.AI || got[1].Content != "" || !got[1].Interrupted || got[1].ID == "" || got[1].CreatedAt == "":
				t.Errorf("history after a stop = %+v, want an empty answer, interrupted", got)
			}
		}
	})
}

// A deleted session takes its runs with it, also one at work.
func TestDeleteSession(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		for _, instances := range []string{"one", "two"} {
			g := newRig(t, d, alone(instances == "one"))
			session, other := g.session(ann), g.session(ann)
			for i := range 3 {
				st := g.start(g.m, message(ann, session, fmt.Sprint(i)), func(_ context.Context, r *run.Run) run.Result {
					_ = toolFrame("c1", "done", "x")(r)
					return run.Result{Messages: []llm.Message{{Role: llm.Assistant, Content: "yes"}}}
				})
				g.join(g.m, ann, st.RunID, 0).wait(t)
			}
			s := newScript()
			st := g.start(g.m, message(ann, session, "hi"), s.work)
			joined := g.join(g.m, ann, st.RunID, 0)
			if err := s.do(toolFrame("c1", "isRunning", "")); err != nil {
				t.Fatal(err)
			}
			if err := g.chat.DeleteSession(t.Context(), ann, session); err != nil {
				t.Fatal(err)
			}
			if cause := <-s.stopped; !errors.Is(cause, run.ErrDeleted) {
				t.Errorf("%s: stopped by %v, want ErrDeleted", instances, cause)
			}
			if done := last(t, joined.wait(t)); done["status"] != "aborted" {
				t.Errorf("%s: done = %v, want aborted", instances, done)
			}
			err := g.m.Join(t.Context(), ann, st.RunID, 0, func(run.Frame) error { return nil })
			if fault.CodeOf(err) != "RUN_NOT_FOUND" {
				t.Errorf("%s: Join() of a deleted session's run = %v, want RUN_NOT_FOUND", instances, err)
			}
			g.closeAll(g.m)
			sweepAll(t, g)
			for _, table := range []string{"oracle_runs", "oracle_frames", "chat_messages", "chat_trash"} {
				if n := g.count(table); n != 0 {
					t.Errorf("%s: %d rows are left in %s", instances, n, table)
				}
			}
			if _, err := g.chat.Session(t.Context(), ann, other); err != nil {
				t.Errorf("%s: another session = %v, want nil", instances, err)
			}
		}
	})
}

// A deleted session is forgotten by other instances too, at once when they hear
// of it and when they may have missed it: one that is made anew in its place has
// nothing of it.
func TestDeletedIsForgottenElsewhere(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		for _, missed := range []bool{false, true} {
			two := newRig(t, d, alone(false))
			one := newRig(t, d, alone(false), func(c *run.Config) {
				c.Publish = func(ctx ctxt, payload string) { two.m.Receive(ctx, payload, missed) }
			})
			session := one.session(ann)
			number := one.converse(session, "old")
			if got := two.told(session); got != "old" {
				t.Fatalf("the other instance knows %q, want what was said", got)
			}
			if err := one.chat.DeleteSession(t.Context(), ann, session); err != nil {
				t.Fatal(err)
			}
			_, err := d.Exec(t.Context(), `INSERT INTO chat_sessions(nid, user_did, id, title, turns, run, before, created_at, updated_at)
				VALUES ($1, $2, $3, '', 0, '', '', 0, 0)`, number, ann, session)
			if err != nil {
				t.Fatal(err)
			}
			one.converse(session, "new")
			if got := two.told(session); got != "new" {
				t.Errorf("missed %v: the other instance knows %q of a deleted session", missed, got)
			}
			one.closeAll(one.m)
			two.closeAll(two.m)
		}
	})
}

// converse stores one turn with its answer, and tells the number of the session.
func (g *rig) converse(session, answer string) int64 {
	g.t.Helper()
	st := g.start(g.m, message(ann, session, "hi"), func(context.Context, *run.Run) run.Result {
		return run.Result{Messages: []llm.Message{{Role: llm.Assistant, Content: answer}}}
	})
	g.join(g.m, ann, st.RunID, 0).wait(g.t)
	var n int64
	if err := g.db.QueryRow(g.t.Context(), `SELECT nid FROM chat_sessions WHERE id = $1`, session).Scan(&n); err != nil {
		g.t.Fatal(err)
	}
	return n
}

// told is the last a model would be told of a session.
func (g *rig) told(session string) string {
	g.t.Helper()
	got, err := g.chat.History(g.t.Context(), ann, session, 1<<40, 1<<20)
	if err != nil || len(got) == 0 {
		g.t.Fatalf("History() = %d messages, %v", len(got), err)
	}
	return got[len(got)-1].Content
}

func sweepAll(t *testing.T, g *rig) {
	t.Helper()
	for {
		n, err := g.chat.Sweep(t.Context(), 3)
		if err != nil {
			t.Fatal(err)
		} else if n == 0 {
			return
		}
	}
}

// Frames go an hour after the end, but for how it ended; the run goes later.
func TestExpire(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		g := newRig(t, d)
		session := g.session(ann)
		var ids []string
		for i := range 3 {
			msg := message(ann, session, fmt.Sprint(i))
			msg.Key, msg.Hash = fmt.Sprint("k", i), []byte("h")
			st := g.start(g.m, msg, func(_ context.Context, r *run.Run) run.Result {
				for j := range 5 {
					_ = toolFrame(fmt.Sprint(j), "done", "x")(r)
				}
				return run.Result{Messages: []llm.Message{{Role: llm.Assistant, Content: "yes"}}}
			})
			g.join(g.m, ann, st.RunID, 0).wait(t)
			ids = append(ids, st.RunID)
			g.clock.Advance(time.Hour)
		}
		expire := func(f func(context.Context, time.Time, int) (int, error), before time.Time) {
			t.Helper()
			for {
				n, err := f(t.Context(), before, 2)
				if err != nil {
					t.Fatal(err)
				} else if n == 0 {
					return
				} else if n > 3 {
					t.Errorf("one call removed %d rows, want at most about 2", n)
				}
			}
		}
		expire(g.m.Expire, g.clock.Now().Add(-90*time.Minute))
		for i, id := range ids {
			want := "run tool_call tool_call tool_call tool_call tool_call reasoning done"
			if i < 2 {
				want = "reasoning done"
			}
			if got := names(g.join(g.m, ann, id, 0).wait(t)); got != want {
				t.Errorf("run %d has frames %q, want %q", i, got, want)
			}
		}
		again := message(ann, session, "0")
		again.Key, again.Hash = "k0", []byte("h")
		if st, err := g.m.Start(t.Context(), again, nil); err != nil || !st.Joined || st.RunID != ids[0] {
			t.Errorf("Start() with a used key = %+v, %v; want the old run", st, err)
		}
		expire(g.m.ExpireRuns, g.clock.Now())
		if runs, frames := g.count("oracle_runs"), g.count("oracle_frames"); runs != 1 || frames != 6 {
			t.Errorf("%d runs and %d rows of frames are left, want those of the newest run", runs, frames)
		}
		if got := len(g.history(ann, session)); got != 6 {
			t.Errorf("history has %d messages, want 6", got)
		}
		g.closeAll(g.m)
	})
}
