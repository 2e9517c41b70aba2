package run_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/oracle/chat"
	"github.com/hearth-dmrv/hearth/internal/oracle/llm"
	"github.com/hearth-dmrv/hearth/internal/oracle/run"
	"github.com/hearth-dmrv/hearth/internal/oracle/tool"
)

// A whole turn: what goes on the wire, and what is in the history after it.
func TestTurn(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		g := newRig(t, d)
		session := g.session(ann)
		s := newScript()
		s.end = func() run.Result {
			return run.Result{Account: &run.Account{Usage: llm.Usage{Input: 3}}, Messages: []llm.Message{
				{Role: llm.Assistant, Content: "Hel", Reasoning: "hm", ToolCalls: []tool.Call{{ID: "c1", Name: "find", Args: []byte(`{"q":"x"}`)}}},
				{Role: llm.Tool, ToolCallID: "c1", ToolName: "find", Content: "nothing"},
				{Role: llm.Assistant, Content: "lo \"you\"\n"},
			}}
		}
		st := g.start(g.m, message(ann, session, "hi"), s.work)
		joined := g.join(g.m, ann, st.RunID, 0)
		for _, step := range []func(*run.Run) error{
			func(r *run.Run) error { return r.Ack("Thinking...") },
			func(r *run.Run) error { return r.Reasoning("hm") },
			text("Hel"), toolFrame("c1", "isRunning", ""), toolFrame("c1", "done", "nothing"), text("lo \"you\"\n"),
		} {
			if err := s.do(step); err != nil {
				t.Fatal(err)
			}
		}
		if now, err := g.m.Current(t.Context(), ann, session); err != nil || now == nil || now.RunID != st.RunID || now.Status != run.Running {
			t.Errorf("Current() = %+v, %v; want the run", now, err)
		}
		close(s.steps)
		all := joined.wait(t)
		want := strings.NewReplacer("SESSION", session, "RUN", st.RunID).Replace(`id: 1
event: run
data: {"runId":"RUN","requestId":"req-hi"}

id: 2
event: reasoning
data: {"sessionId":"SESSION","requestId":"req-hi","reasoning":"Thinking...","reasoningDetails":[{"type":"thinking","text":"Thinking..."}],"isComplete":false,"timestamp":"2027-01-15T08:00:00.000Z"}

id: 3
event: reasoning
data: {"sessionId":"SESSION","requestId":"req-hi","reasoning":"hm","isComplete":false,"timestamp":"2027-01-15T08:00:00.000Z"}

id: 4
event: message
data: {"content":"Hel","timestamp":"2027-01-15T08:00:00.000Z"}

id: 5
event: tool_call
data: {"args":{"q":"x","toolName":"find"},"eventId":"c1","requestId":"req-hi","sessionId":"SESSION","status":"isRunning","toolName":"find"}

id: 6
event: tool_call
data: {"args":{"q":"x","toolName":"find"},"eventId":"c1","output":"nothing","requestId":"req-hi","sessionId":"SESSION","status":"done","toolName":"find"}

id: 7
event: message
data: {"content":"lo \"you\"\n","timestamp":"2027-01-15T08:00:00.000Z"}

id: 8
event: reasoning
data: {"sessionId":"SESSION","requestId":"req-hi","reasoning":"","isComplete":true,"timestamp":"2027-01-15T08:00:00.000Z"}

id: 9
event: done
data: {"status":"finished"}

`)
		if diff := cmp.Diff(want, show(all)); diff != "" {
			t.Errorf("frames (-want +got):\n%s", diff)
		}
		got := g.history(ann, session)
		for i := range got {
			got[i].ID, got[i].CreatedAt = "", ""
		}
		wantHistory := []chat.Message{
			{Type: "human", Content: "hi", IsComplete: true},
			{Type: "ai", Content: "Hel", Reasoning: "hm", IsComplete: true, ToolCalls: []chat.ToolCall{{Name: "find", ID: "c1", Args: []byte(`{"q":"x"}`), Status: "done", Output: `"nothing"`}}},
			{Type: "ai", Content: "lo \"you\"\n", IsComplete: true},
		}
		if diff := cmp.Diff(wantHistory, got); diff != "" {
			t.Errorf("history (-want +got):\n%s", diff)
		}
		o, err := g.m.Wait(t.Context(), ann, st.RunID)
		if err != nil || o.Status != run.Finished || !strings.Contains(string(o.Answer), `"lo \"you\"\n"`) || o.Error != nil {
			t.Errorf("Wait() = %+v, %v; want the last answer", o, err)
		}
		if now, err := g.m.Current(t.Context(), ann, session); err != nil || now != nil {
			t.Errorf("Current() after the end = %+v, %v; want none", now, err)
		}
		g.closeAll(g.m)
	})
}

// Nobody but its user learns anything of a run.
func TestForeign(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		g := newRig(t, d)
		session := g.session(ann)
		s := newScript()
		st := g.start(g.m, message(ann, session, "hi"), s.work)
		<-s.began
		look := func(when string) {
			t.Helper()
			err := g.m.Join(t.Context(), bob, st.RunID, 0, func(run.Frame) error { t.Errorf("%s: foreign join got a frame", when); return nil })
			if fault.CodeOf(err) != "RUN_NOT_FOUND" {
				t.Errorf("%s: foreign Join() = %v, want RUN_NOT_FOUND", when, err)
			}
			if _, err := g.m.Find(t.Context(), bob, st.RunID); fault.CodeOf(err) != "RUN_NOT_FOUND" {
				t.Errorf("%s: foreign Find() = %v, want RUN_NOT_FOUND", when, err)
			}
			if _, err := g.m.Wait(t.Context(), bob, st.RunID); fault.CodeOf(err) != "RUN_NOT_FOUND" {
				t.Errorf("%s: foreign Wait() = %v, want RUN_NOT_FOUND", when, err)
			}
			if now, err := g.m.Current(t.Context(), bob, session); now != nil || err != nil {
				t.Errorf("%s: foreign Current() = %v, %v; want nothing", when, now, err)
			}
			if ok, err := g.m.Abort(t.Context(), bob, session); ok || err != nil {
				t.Errorf("%s: foreign Abort() = %v, %v; want false", when, ok, err)
			}
			if _, err := g.m.Start(t.Context(), message(bob, session, "mine"), s.work); fault.CodeOf(err) != "SESSION_NOT_FOUND" {
				t.Errorf("%s: foreign Start() = %v, want SESSION_NOT_FOUND", when, err)
			}
		}
		look("running")
		close(s.steps)
		g.join(g.m, ann, st.RunID, 0).wait(t)
		look("ended")
		if got := len(g.history(ann, session)); got != 1 {
			t.Errorf("history has %d messages, want 1", got)
		}
		if n := g.m.Live(); n != 0 {
			t.Errorf("Live() = %d after the end, want 0", n)
		}
		g.closeAll(g.m)
	})
}

// 64 senders of one key: one run, one turn.
func TestSameKey(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		g := newRig(t, d)
		session := g.session(ann)
		var mu sync.Mutex
		begun, fresh := 0, 0
		ids := map[string]bool{}
		work := func(_ context.Context, r *run.Run) run.Result {
			mu.Lock()
			defer mu.Unlock()
			begun++
			return run.Result{Messages: []llm.Message{{Role: llm.Assistant, Content: "yes"}}}
		}
		msg := message(ann, session, "hi")
		msg.Key, msg.Hash = "k1", []byte("h1")
		var wg sync.WaitGroup
		for range 64 {
			wg.Go(func() {
				st, err := g.m.Start(t.Context(), msg, work)
				if err != nil {
					t.Error(err)
					return
				}
				o, err := g.m.Wait(t.Context(), ann, st.RunID)
				if err != nil || o.Status != run.Finished {
					t.Errorf("Wait() = %+v, %v", o, err)
				}
				mu.Lock()
				defer mu.Unlock()
				ids[st.RunID] = true
				if !st.Joined {
					fresh++
				}
			})
		}
		wg.Wait()
		if begun != 1 || fresh != 1 || len(ids) != 1 {
			t.Errorf("%d works, %d new runs, %d ids; want one of each", begun, fresh, len(ids))
		}
		if got := len(g.history(ann, session)); got != 2 {
			t.Errorf("history has %d messages, want 2", got)
		}
		msg.Hash = []byte("h2")
		if _, err := g.m.Start(t.Context(), msg, work); fault.CodeOf(err) != "IDEMPOTENCY_KEY_REUSED" {
			t.Errorf("Start() with another body = %v, want IDEMPOTENCY_KEY_REUSED", err)
		}
		other := message(ann, g.session(ann), "hi")
		other.Key, other.Hash = "k1", []byte("h2")
		if st, err := g.m.Start(t.Context(), other, work); err != nil || st.Joined {
			t.Errorf("Start() in another session = %+v, %v; want a new run", st, err)
		}
		g.closeAll(g.m)
	})
}

func TestLimits(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		g := newRig(t, d, func(c *run.Config) { c.Total = 5 })
		var scripts []*script
		var ids []string
		begin := func(user, session string) error {
			s := newScript()
			st, err := g.m.Start(t.Context(), message(user, session, "hi"), s.work)
			if err == nil {
				scripts, ids = append(scripts, s), append(ids, st.RunID)
			}
			return err
		}
		sessions := make([]string, 4)
		for i := range sessions {
			sessions[i] = g.session(ann)
			err := begin(ann, sessions[i])
			if i < 3 && err != nil || i == 3 && fault.CodeOf(err) != "TOO_MANY_RUNS" {
				t.Errorf("run %d of a user: %v", i+1, err)
			}
		}
		if got := g.history(ann, sessions[3]); len(got) != 0 {
			t.Errorf("a refused message left %d messages", len(got))
		}
		// One in a session that has a run takes its place.
		if err := begin(ann, sessions[0]); err != nil {
			t.Errorf("a second message in a session = %v, want nil", err)
		}
		if err := <-scripts[0].stopped; !errors.Is(err, run.ErrReplaced) {
			t.Errorf("the first run was stopped by %v, want ErrReplaced", err)
		}
		g.join(g.m, ann, ids[0], 0).wait(t)
		if n := g.m.Live(); n != 3 {
			t.Errorf("%d runs are at work once clients know of the end of one, want 3", n)
		}
		for range 2 {
			if err := begin(bob, g.session(bob)); err != nil {
				t.Errorf("a run of another user = %v, want nil", err)
			}
		}
		if err := begin(bob, g.session(bob)); fault.CodeOf(err) != "ORACLE_BUSY" {
			t.Errorf("a run above all limits = %v, want ORACLE_BUSY", err)
		}
		for _, s := range scripts[1:] {
			close(s.steps)
		}
		g.closeAll(g.m)
		if err := begin(ann, sessions[0]); fault.CodeOf(err) != "ORACLE_BUSY" {
			t.Errorf("a run after Close = %v, want ORACLE_BUSY", err)
		}
	})
}

// Messages at the same time do not get past the limit together.
func TestLimitRace(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		g := newRig(t, d)
		var mu sync.Mutex
		var scripts []*script
		var wg sync.WaitGroup
		for range 12 {
			session := g.session(ann)
			wg.Go(func() {
				s := newScript()
				_, err := g.m.Start(t.Context(), message(ann, session, "hi"), s.work)
				mu.Lock()
				defer mu.Unlock()
				if err == nil {
					scripts = append(scripts, s)
				} else if fault.CodeOf(err) != "TOO_MANY_RUNS" {
					t.Errorf("Start() = %v, want TOO_MANY_RUNS", err)
				}
			})
		}
		wg.Wait()
		if len(scripts) != 3 || g.m.Live() != 3 {
			t.Errorf("%d of 12 messages were taken, %d runs; want 3", len(scripts), g.m.Live())
		}
		for _, s := range scripts {
			close(s.steps)
		}
		g.closeAll(g.m)
	})
}

// A newer message aborts the run before, and its work finds what that said.
func TestReplace(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		g := newRig(t, d)
		session := g.session(ann)
		first := newScript()
		first.end = func() run.Result {
			return run.Result{Messages: []llm.Message{{Role: llm.Assistant, Content: "half"}}}
		}
		a := g.start(g.m, message(ann, session, "one"), first.work)
		joined := g.join(g.m, ann, a.RunID, 0)
		if err := first.do(text("half")); err != nil {
			t.Fatal(err)
		}
		var before []llm.Message
		b := g.start(g.m, message(ann, session, "two"), func(ctx context.Context, r *run.Run) (res run.Result) {
			var err error
			if before, err = g.chat.History(ctx, ann, session, r.Turn(), 1<<20); err != nil {
				t.Error(err)
			}
			return run.Result{Messages: []llm.Message{{Role: llm.Assistant, Content: "whole"}}}
		})
		got := last(t, joined.wait(t))
		if diff := cmp.Diff(map[string]any{"status": "aborted", "aborted": true, "partialText": "half"}, got); diff != "" {
			t.Errorf("done (-want +got):\n%s", diff)
		}
		g.join(g.m, ann, b.RunID, 0).wait(t)
		want := []llm.Message{{Role: llm.User, Content: "one"}, {Role: llm.Assistant, Content: "half"}}
		if diff := cmp.Diff(want, before); diff != "" {
			t.Errorf("history of the second run (-want +got):\n%s", diff)
		}
		var said []string
		for _, m := range g.history(ann, session) {
			said = append(said, m.Content)
		}
		if diff := cmp.Diff([]string{"one", "half", "two", "whole"}, said); diff != "" {
			t.Errorf("history (-want +got):\n%s", diff)
		}
		g.closeAll(g.m)
	})
}

// A run that takes too long ends as failed, and says why.
func TestLifetime(t *testing.T) {
	t.Parallel()
	g := newRig(t, dbtest.SQLite(t))
	session := g.session(ann)
	s := newScript()
	st := g.start(g.m, message(ann, session, "hi"), s.work)
	joined := g.join(g.m, ann, st.RunID, 0)
	<-s.began
	g.clock.Advance(10 * time.Minute)
	if err := <-s.stopped; !errors.Is(err, run.ErrTimeout) {
		t.Errorf("stopped by %v, want ErrTimeout", err)
	}
	all := joined.wait(t)
	if done := last(t, all); done["status"] != "failed" || done["failed"] != true {
		t.Errorf("done = %v, want failed", done)
	}
	if name, p := event(all[len(all)-2]); name != "error" || p["kind"] != "timeout" || p["retryable"] != true {
		t.Errorf("frame before done = %s %v, want a timeout", name, p)
	}
	g.closeAll(g.m)
}

// Work that panics, or fails, ends its run and nothing else.
func TestFailure(t *testing.T) {
	t.Parallel()
	g := newRig(t, dbtest.SQLite(t))
	for _, tt := range []struct {
		name string
		work run.Work
		kind string
	}{
		{"panic", func(context.Context, *run.Run) run.Result { panic("secret") }, "unknown"},
		{"error", func(_ context.Context, r *run.Run) run.Result {
			return run.Result{Failed: true, Error: map[string]any{"error": "Busy.", "kind": "rate_limit"}}
		}, "rate_limit"},
		{"payload that is no JSON", func(_ context.Context, r *run.Run) run.Result {
			return run.Result{Failed: true, Error: map[string]any{"error": func() {}}}
		}, "unknown"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			st := g.start(g.m, message(ann, g.session(ann), "hi"), tt.work)
			all := g.join(g.m, ann, st.RunID, 0).wait(t)
			if got := names(all); got != "run reasoning error done" {
				t.Errorf("frames %q, want run, marker, error, done", got)
			}
			if _, p := event(all[2]); p["kind"] != tt.kind || strings.Contains(show(all), "secret") {
				t.Errorf("error frame %v, want kind %s and no internals", p, tt.kind)
			}
			if done := last(t, all); done["status"] != "failed" {
				t.Errorf("done = %v, want failed", done)
			}
			o, err := g.m.Wait(t.Context(), ann, st.RunID)
			if err != nil || o.Status != run.Failed || !strings.Contains(string(o.Error), tt.kind) || o.Answer != nil {
				t.Errorf("Wait() = %+v, %v", o, err)
			}
		})
	}
	g.closeAll(g.m)
}

// Work that ignores the end of its context is left behind: the run ends with
// what it has sent.
func TestStubbornWork(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		g := newRig(t, d)
		session := g.session(ann)
		var late error
		ready, release := make(chan struct{}), make(chan struct{})
		st := g.start(g.m, message(ann, session, "hi"), func(ctx context.Context, r *run.Run) run.Result {
			_ = r.Text("so ")
			_ = toolFrame("c1", "isRunning", "")(r)
			_ = r.Text("far")
			close(ready)
			<-release
			late = r.Text("late")
			return run.Result{Messages: []llm.Message{{Role: llm.Assistant, Content: "never stored"}}}
		})
		joined := g.join(g.m, ann, st.RunID, 0)
		<-ready
		if ok, err := g.m.Abort(t.Context(), ann, session); !ok || err != nil {
			t.Fatalf("Abort() = %v, %v; want true", ok, err)
		}
		g.clock.until(t, "the run ends", 5*time.Second, joined.ended)
		all := joined.wait(t)
		if done := last(t, all); done["status"] != "aborted" || done["partialText"] != "so far" {
			t.Errorf("done = %v, want aborted with all text", done)
		}
		if got := names(all); got != "run message tool_call message tool_call reasoning done" {
			t.Errorf("frames %q, want the tool ended", got)
		}
		got := g.history(ann, session)
		if len(got) != 3 || got[1].Content != "so " || len(got[1].ToolCalls) != 1 || got[2].Content != "far" || !got[2].Aborted {
			t.Errorf("history = %+v, want what was sent", got)
		}
		close(release)
		g.closeAll(g.m)
		if !errors.Is(late, run.ErrEnded) {
			t.Errorf("Text() after the end = %v, want ErrEnded", late)
		}
	})
}

// What a user has at work is counted before each answer, by an index that has nothing
// else: not by one of all the answers they ever had.
func TestCountOfLiveRunsDoesNotGrow(t *testing.T) {
	t.Parallel()
	d := dbtest.SQLite(t)
	var plan string
	if err := d.QueryRow(t.Context(), `EXPLAIN QUERY PLAN `+run.CountLive, ann, "$1").Scan(new(int), new(int), new(int), &plan); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(plan, "oracle_runs_live") {
		t.Errorf("the plan is %q", plan)
	}
}
