package run_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/oracle/run"
)

// Whoever joins, whenever and after whatever frame, gets exactly the rest: the
// frames of the whole run after that number, once and in order.
func TestJoinAnywhere(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		g := newRig(t, d)
		big := strings.Repeat("0123456789abcdef", 1<<9) // 8 KiB: memory forgets frames of 64
		steps := []func(*run.Run) error{
			text("a"), text("b"), nil, text(big), toolFrame("c1", "isRunning", ""), text("d"), nil, text(big), text(big), toolFrame("c1", "done", "x"),
			text(big), nil, text(big), text(big), text(big), text(big), text(big), nil, text(big), text("e"), text("f"),
		}
		s := newScript()
		st := g.start(g.m, message(ann, g.session(ann), "hi"), s.work)
		type joiner struct {
			after int64
			at    int
			*frames
		}
		var all []joiner
		whole := g.join(g.m, ann, st.RunID, 0)
		seen := 1
		for i, step := range steps {
			whole.until(t, seen)
			for after := int64(0); after <= int64(seen); after += 1 + int64(seen)/4 {
				all = append(all, joiner{after, i, g.join(g.m, ann, st.RunID, after)})
			}
			if step == nil { // have what waits stored
				g.clock.Advance(time.Second)
				continue
			}
			if err := s.do(step); err != nil {
				t.Fatal(err)
			}
			seen++
		}
		close(s.steps)
		want := whole.wait(t)
		for after := int64(0); after <= int64(len(want)); after++ {
			all = append(all, joiner{after, len(steps), g.join(g.m, ann, st.RunID, after)})
		}
		for i, f := range want {
			if f.ID != int64(i+1) || !strings.HasPrefix(string(f.Data), fmt.Sprintf("id: %d\n", f.ID)) {
				t.Fatalf("frame %d has id %d and text %.20s", i, f.ID, f.Data)
			}
		}
		for _, j := range all {
			if got := show(j.wait(t)); got != show(want[j.after:]) {
				t.Errorf("a join at step %d after %d gives %d bytes, want %d", j.at, j.after, len(got), len(show(want[j.after:])))
			}
		}
		// Above all there is: the end again, so that the client stops.
		if got := g.join(g.m, ann, st.RunID, int64(len(want))+7).wait(t); show(got) != show(want[len(want)-1:]) {
			t.Errorf("a join above the last frame gives %q, want done", show(got))
		}
		g.closeAll(g.m)
	})
}

// The same with random scripts and joins, also of clients that name a frame
// nobody has seen yet.
func TestJoinRandom(t *testing.T) {
	t.Parallel()
	g := newRig(t, dbtest.SQLite(t))
	rapid.Check(t, func(rt *rapid.T) {
		s := newScript()
		st := g.start(g.m, message(ann, g.session(ann), "hi"), s.work)
		whole := g.join(g.m, ann, st.RunID, 0)
		type joiner struct {
			after int64
			*frames
		}
		var all []joiner
		seen, tool := 1, 0
		for range rapid.IntRange(0, 12).Draw(rt, "steps") {
			switch rapid.IntRange(0, 4).Draw(rt, "step") {
			case 0, 1:
				if err := s.do(text(rapid.StringN(1, 40, -1).Draw(rt, "text"))); err != nil {
					rt.Fatal(err)
				}
				seen++
			case 2:
				tool++
				if err := s.do(toolFrame(fmt.Sprint("c", tool), "done", "x")); err != nil {
					rt.Fatal(err)
				}
				seen++
			case 3:
				g.clock.Advance(time.Second)
			case 4:
				whole.until(t, seen)
				after := int64(rapid.IntRange(0, seen+3).Draw(rt, "after"))
				f := g.join(g.m, ann, st.RunID, after)
				all = append(all, joiner{min(after, int64(seen)), f})
				if after < int64(seen) {
					f.until(t, seen-int(after))
				} else {
					within(t, "the joined client listens", f.began)
				}
			}
		}
		close(s.steps)
		want := whole.wait(t)
		for _, j := range all {
			if got := show(j.wait(t)); got != show(want[j.after:]) {
				rt.Fatalf("a join after %d of %d gives:\n%swant:\n%s", j.after, len(want), got, show(want[j.after:]))
			}
		}
	})
	g.closeAll(g.m)
}

// A client that leaves does not end the run, and one that fails is left alone.
func TestLeave(t *testing.T) {
	t.Parallel()
	g := newRig(t, dbtest.SQLite(t))
	s := newScript()
	st := g.start(g.m, message(ann, g.session(ann), "hi"), s.work)
	gone := errors.New("connection reset")
	err := g.m.Join(t.Context(), ann, st.RunID, 0, func(run.Frame) error { return gone })
	if !errors.Is(err, gone) {
		t.Errorf("Join() = %v, want the client's error", err)
	}
	if n := run.Readers(g.m, st.RunID); n != 0 {
		t.Errorf("%d readers are left, want 0", n)
	}
	if err := s.do(text("still here")); err != nil {
		t.Errorf("Text() after the client left = %v", err)
	}
	close(s.steps)
	if done := last(t, g.join(g.m, ann, st.RunID, 1).wait(t)); done["status"] != "finished" {
		t.Errorf("done = %v, want finished", done)
	}
	g.closeAll(g.m)
}

// Nothing is sent twice as often as it must be: what stands before the first
// frame goes out with it, or alone only when there is none yet, and the last
// frames go out with the end.
func TestHeldBack(t *testing.T) {
	t.Parallel()
	g := newRig(t, dbtest.SQLite(t))
	s := newScript()
	st := g.start(g.m, message(ann, g.session(ann), "hi"), s.work)
	heard := func(after int64) <-chan run.Frame {
		out := make(chan run.Frame, 16)
		go func() {
			defer close(out)
			if err := g.m.Join(t.Context(), ann, st.RunID, after, func(f run.Frame) error { out <- f; return nil }); err != nil {
				t.Errorf("Join() = %v", err)
			}
		}()
		return out
	}
	first := heard(0)
	if f := <-first; f.ID != 1 || f.More {
		t.Errorf("the first thing to be sent is %d %q, more %v; want frame 1, at once", f.ID, f.Data, f.More)
	}
	waits := heard(1)
	if f := <-waits; f.ID != 0 || len(f.Data) != 0 || f.More {
		t.Errorf("a join that must wait gets %d %q, more %v; want an empty frame", f.ID, f.Data, f.More)
	}
	close(s.steps)
	for _, joined := range []<-chan run.Frame{first, waits} {
		id := int64(1)
		for f := range joined {
			if id++; f.ID != id || !f.More {
				t.Errorf("frame %d of the end, more %v; want %d, held back", f.ID, f.More, id)
			}
		}
		if id != 3 {
			t.Errorf("the run ends with frame %d, want 3", id)
		}
	}
	g.closeAll(g.m)
}

// A client that hears nothing gets a comment every 15 s.
func TestHeartbeat(t *testing.T) {
	t.Parallel()
	g := newRig(t, dbtest.SQLite(t), func(c *run.Config) { c.Heartbeat = 0 })
	s := newScript()
	st := g.start(g.m, message(ann, g.session(ann), "hi"), s.work)
	joined := g.join(g.m, ann, st.RunID, 0)
	joined.until(t, 1)
	for i := range 3 {
		g.clock.Advance(15 * time.Second)
		joined.until(t, 2+i)
	}
	close(s.steps)
	all := joined.wait(t)
	for _, f := range all[1:4] {
		if f.ID != 0 || string(f.Data) != ": heartbeat\n\n" {
			t.Errorf("frame %d %q, want a comment", f.ID, f.Data)
		}
	}
	g.closeAll(g.m)
}

func TestJoinUnknown(t *testing.T) {
	t.Parallel()
	g := newRig(t, dbtest.SQLite(t))
	for _, id := range []string{"", "run_x", "run_" + strings.Repeat("0", 36)} {
		err := g.m.Join(t.Context(), ann, id, 0, func(run.Frame) error { return nil })
		if fault.CodeOf(err) != "RUN_NOT_FOUND" {
			t.Errorf("Join(%q) = %v, want RUN_NOT_FOUND", id, err)
		}
	}
}

// Hostile texts stay inside their frame.
func TestTextInFrames(t *testing.T) {
	t.Parallel()
	g := newRig(t, dbtest.SQLite(t))
	s := newScript()
	st := g.start(g.m, message(ann, g.session(ann), "hi"), s.work)
	for _, delta := range []string{"\n\nid: 99\nevent: done\ndata: {}\n\n", "\r\n", "a\x00b", "\u2028\u2029", "\xff\xfe", `"\`, "🙂"} {
		if err := s.do(text(delta)); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.do(func(r *run.Run) error { return r.Emit("tool_call", rawPayload("{\n\"eventId\":\n\"x\"}")) }); err != nil {
		t.Fatal(err)
	}
	close(s.steps)
	all := g.join(g.m, ann, st.RunID, 0).wait(t)
	if len(all) != 11 || last(t, all)["status"] != "finished" {
		t.Fatalf("%d frames, want 11:\n%s", len(all), show(all))
	}
	for _, f := range all {
		if n := strings.Count(string(f.Data), "\n"); n != 4 {
			t.Errorf("frame %q has %d lines, want 4", f.Data, n)
		}
	}
	if _, p := event(all[1]); p["content"] != "\n\nid: 99\nevent: done\ndata: {}\n\n" {
		t.Errorf("content = %q", p["content"])
	}
	g.closeAll(g.m)
}

// Frames of many goroutines, stored first or not, keep one order: every reader
// sees all numbers, and what a goroutine emitted in the order it did.
func TestEmitTogether(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		g := newRig(t, d, func(c *run.Config) { c.Segment = 256 })
		const workers, each = 6, 25
		st := g.start(g.m, message(ann, g.session(ann), "hi"), func(_ context.Context, r *run.Run) run.Result {
			var wg sync.WaitGroup
			for w := range workers {
				wg.Go(func() {
					for i := range each {
						word := fmt.Sprintf("%d.%d", w, i)
						var err error
						if i%5 == w%5 {
							err = toolFrame(word, "done", word)(r)
						} else {
							err = r.Text(word)
						}
						if err != nil {
							t.Error(err)
						}
					}
				})
			}
			wg.Wait()
			return run.Result{}
		})
		var joins []*frames
		for i := range int64(4) {
			joins = append(joins, g.join(g.m, ann, st.RunID, i%2))
		}
		want := joins[0].wait(t)
		next := [workers]int{}
		for i, f := range want {
			if f.ID != int64(i+1) {
				t.Fatalf("frame %d has id %d", i, f.ID)
			}
			name, p := event(f)
			word, _ := p["content"].(string)
			if name == "tool_call" {
				word = p["eventId"].(string)
			}
			var w, n int
			if _, err := fmt.Sscanf(word, "%d.%d", &w, &n); err != nil {
				continue // the first frame, or one of the end
			}
			if n != next[w] {
				t.Errorf("worker %d's frame %d comes where %d belongs", w, n, next[w])
			}
			next[w]++
		}
		if len(want) != workers*each+3 {
			t.Errorf("%d frames, want %d", len(want), workers*each+3)
		}
		for i, j := range joins[1:] {
			if got := show(j.wait(t)); got != show(want[(i+1)%2:]) {
				t.Errorf("a join after %d differs", (i+1)%2)
			}
		}
		if got := g.join(g.m, ann, st.RunID, 0).wait(t); show(got) != show(want) {
			t.Error("what is stored differs from what was sent")
		}
		g.closeAll(g.m)
	})
}
