package run_test

import (
	"bytes"
	"context"
	"strings"
	"testing"
	"time"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
	"github.com/hearth-dmrv/hearth/internal/oracle/run"
)

// The bounds of what one reader may hold, and one row.
const (
	aheadBound = 16 << 10
	rowBound   = 4 << 10
)

// gush says as many words as it is told, faster than they can be stored.
func gush(words int) run.Work {
	return func(_ context.Context, r *run.Run) run.Result { return run.Result{Failed: gushed(words)(r) != nil} }
}

// gushed is a step that says so many words.
func gushed(words int) func(*run.Run) error {
	return func(r *run.Run) error {
		for range words {
			if err := r.Text("w "); err != nil {
				return err
			}
		}
		return nil
	}
}

// longest is the size of the largest row of frames.
func (g *rig) longest() int {
	g.t.Helper()
	n := 0
	if err := g.db.QueryRow(g.t.Context(), `SELECT max(length(data)) FROM oracle_frames`).Scan(&n); err != nil {
		g.t.Fatal(err)
	}
	return n
}

// stalled is a reader that takes one frame, and no other until it is let go.
type stalled struct {
	took, goOn chan struct{}
	rest       bytes.Buffer
	err        chan error
}

func (g *rig) stall(id string, after int64) *stalled {
	s := &stalled{took: make(chan struct{}), goOn: make(chan struct{}), err: make(chan error, 1)}
	first := true
	go func() {
		s.err <- g.m.Join(g.t.Context(), ann, id, after, func(f run.Frame) error {
			if first {
				first = false
				close(s.took)
				<-s.goOn
				return nil
			}
			s.rest.Write(f.Data)
			return nil
		})
	}()
	return s
}

// However fast a model is, a row of frames is small, and nothing is lost where
// they are cut.
func TestRowsAreSmall(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		g := newRig(t, d)
		st := g.start(g.m, message(ann, g.session(ann), "hi"), gush(6000))
		live := g.join(g.m, ann, st.RunID, 0).wait(t)
		stored := g.join(g.m, ann, st.RunID, 0).wait(t)
		if len(live) != 6003 || show(live) != show(stored) {
			t.Errorf("%d frames live and %d stored, want 6003 and the same", len(live), len(stored))
		}
		if n := g.longest(); n > rowBound {
			t.Errorf("the largest row has %d bytes, want at most %d", n, rowBound)
		}
		if n, least := g.count("oracle_frames"), len(show(live))/rowBound; n < least || n > 2*least {
			t.Errorf("%d rows for %d bytes, want about %d", n, len(show(live)), least)
		}
		g.closeAll(g.m)
	})
}

// What is stored of a run is small rows, or one frame: a reader need not look
// for the ends of frames in what it reads in pieces. Large frames there are: a
// model may call a tool with 1 MiB of arguments, a tool may give 64 KiB, each
// byte of which JSON makes six of, and the end of a run that was stopped repeats
// all text.
func TestLargeRowsHoldOneFrame(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		for _, segment := range []int{0, 1 << 30} {
			g := newRig(t, d, func(c *run.Config) { c.Segment = segment })
			s := newScript()
			session := g.session(ann)
			st := g.start(g.m, message(ann, session, "hi"), s.work)
			long := strings.Repeat("\x01", 64<<10)
			for _, step := range []func(*run.Run) error{
				text(long), text("w"), func(r *run.Run) error { return r.Reasoning(long) }, gushed(200),
				func(r *run.Run) error {
					return r.Emit("tool_call", map[string]any{"eventId": "c1", "status": "isRunning", "toolName": "x", "args": map[string]any{"q": long}})
				},
				text("w"), toolFrame("c2", "done", long), text("w"), gushed(200),
				func(r *run.Run) error { return r.Emit("router.update", map[string]any{"step": long}) },
			} {
				if err := s.do(step); err != nil {
					t.Fatal(err)
				}
			}
			if ok, err := g.m.Abort(t.Context(), ann, session); !ok || err != nil {
				t.Fatalf("Abort() = %v, %v", ok, err)
			}
			live := g.join(g.m, ann, st.RunID, 0).wait(t)
			if large, mixed := g.largeRows(st.RunID); large < 20 || mixed > 0 {
				t.Errorf("segments of %d: %d rows above %d bytes and %d of them with several frames, want 20 and 0", segment, large, rowBound, mixed)
			}
			if stored := g.join(g.m, ann, st.RunID, 0).wait(t); show(live) != show(stored) || len(live) != len(stored) {
				t.Errorf("segments of %d: %d frames live and %d stored, want the same", segment, len(live), len(stored))
			}
			g.closeAll(g.m)
		}
	})
}

// largeRows counts the rows of a run above the bound, and those of them that
// hold several frames.
func (g *rig) largeRows(id string) (large, mixed int) {
	g.t.Helper()
	const text = `SELECT count(*), coalesce(sum(CASE WHEN upto > seq THEN 1 ELSE 0 END), 0) FROM oracle_frames
		WHERE run = (SELECT nid FROM oracle_runs WHERE id = $1) AND octet_length(data) > $2`
	if err := g.db.QueryRow(g.t.Context(), text, id, rowBound).Scan(&large, &mixed); err != nil {
		g.t.Fatal(err)
	}
	return large, mixed
}

// A reader that takes nothing has read no more than a little ahead, of many
// frames or of a large one: what is changed in the store after that little is
// what it gives out.
func TestStalledReaderReadsLittle(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		for _, step := range []func(*run.Run) error{gushed(6000), toolFrame("c1", "done", strings.Repeat("w ", 200_000))} {
			g := newRig(t, d)
			s := newScript()
			st := g.start(g.m, message(ann, g.session(ann), "hi"), s.work)
			if err := s.do(step); err != nil {
				t.Fatal(err)
			}
			close(s.steps)
			size := len(show(g.join(g.m, ann, st.RunID, 0).wait(t)))
			r := g.stall(st.RunID, 0)
			<-r.took
			_, err := d.Exec(t.Context(), `UPDATE oracle_frames SET data = replace(data, 'w ', 'W ')
				WHERE run = (SELECT nid FROM oracle_runs WHERE id = $1)`, st.RunID)
			if err != nil {
				t.Fatal(err)
			}
			close(r.goOn)
			if err := <-r.err; err != nil {
				t.Fatalf("Join() = %v", err)
			}
			ahead := bytes.Index(r.rest.Bytes(), []byte(`W `))
			if ahead < 0 || ahead > aheadBound+rowBound {
				t.Errorf("the reader has read %d bytes ahead of %d, want at most %d", ahead, size, aheadBound+rowBound)
			}
			g.closeAll(g.m)
		}
	})
}

// A reader of a run at work holds no more of its memory than of its rows.
func TestStalledReaderHoldsLittle(t *testing.T) {
	t.Parallel()
	g := newRig(t, dbtest.SQLite(t))
	s := newScript()
	st := g.start(g.m, message(ann, g.session(ann), "hi"), s.work)
	err := s.do(func(r *run.Run) error {
		if err := gushed(3000)(r); err != nil {
			return err
		}
		taken, held := run.Taken(g.m, st.RunID, r.Last()-1000)
		if taken == 0 || taken > aheadBound || held > aheadBound+2*rowBound {
			t.Errorf("a reader takes %d bytes and keeps %d, want at most %d and %d", taken, held, aheadBound, aheadBound+2*rowBound)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	close(s.steps)
	g.join(g.m, ann, st.RunID, 0).wait(t)
	g.closeAll(g.m)
}

// A run that has ended is kept by readers that stall, but not its answer once
// more beside the frames.
func TestEndedRunHoldsNoText(t *testing.T) {
	t.Parallel()
	g := newRig(t, dbtest.SQLite(t))
	var kept *run.Run
	st := g.start(g.m, message(ann, g.session(ann), "hi"), func(_ context.Context, r *run.Run) run.Result {
		kept = r
		return run.Result{Failed: gushed(100)(r) != nil || r.TextHeld() == 0}
	})
	if done := last(t, g.join(g.m, ann, st.RunID, 0).wait(t)); done["status"] != "finished" {
		t.Errorf("done = %v, want text while the run is at work", done)
	}
	if n := kept.TextHeld(); n != 0 {
		t.Errorf("a run that has ended holds %d bytes of text", n)
	}
	g.closeAll(g.m)
}

// A long piece of text becomes several frames, cut between characters.
func TestLongText(t *testing.T) {
	t.Parallel()
	g := newRig(t, dbtest.SQLite(t))
	s := newScript()
	st := g.start(g.m, message(ann, g.session(ann), "hi"), s.work)
	for _, long := range []string{strings.Repeat("x", 100_000), "a" + strings.Repeat("🙂", 20_000), strings.Repeat("\xbf", 20_000)} {
		if err := s.do(text(long)); err != nil {
			t.Fatal(err)
		}
		if err := s.do(func(r *run.Run) error { return r.Reasoning(long) }); err != nil {
			t.Fatal(err)
		}
	}
	close(s.steps)
	all := g.join(g.m, ann, st.RunID, 0).wait(t)
	want := strings.Repeat("x", 100_000) + "a" + strings.Repeat("🙂", 20_000)
	if got := textOf(all); !strings.HasPrefix(got, want) || strings.Contains(got[:len(want)], "\ufffd") {
		t.Errorf("the text has %d bytes, want %d as they were", len(got), len(want))
	}
	for _, f := range all {
		if len(f.Data) > aheadBound+rowBound {
			t.Errorf("frame %d has %d bytes, want at most %d", f.ID, len(f.Data), aheadBound)
		}
	}
	g.closeAll(g.m)
}

// A frame that cannot be cut is a row, and all frames of a large end stay when
// the others go.
func TestLargeEnd(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		g := newRig(t, d)
		s := newScript()
		st := g.start(g.m, message(ann, g.session(ann), "hi"), s.work)
		large := strings.Repeat("é\n", 40_000)
		for _, id := range []string{"c1", "c2"} {
			err := s.do(func(r *run.Run) error {
				return r.Emit("tool_call", map[string]any{"eventId": id, "status": "isRunning", "toolName": "x", "args": map[string]any{"q": large}})
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		close(s.steps)
		want := g.join(g.m, ann, st.RunID, 0).wait(t)
		if got := names(want); got != "run tool_call tool_call tool_call tool_call reasoning done" {
			t.Fatalf("frames %q", got)
		}
		stored := &stream{}
		if err := g.m.Join(t.Context(), ann, st.RunID, 0, stored.take); err != nil || stored.String() != show(want) {
			t.Errorf("a join of the rows gives %d bytes, %v; want %d", stored.Len(), err, len(show(want)))
		}
		for {
			n, err := g.m.Expire(t.Context(), g.clock.Now().Add(time.Hour), 100)
			if err != nil {
				t.Fatal(err)
			} else if n == 0 {
				break
			}
		}
		stored = &stream{}
		if err := g.m.Join(t.Context(), ann, st.RunID, 0, stored.take); err != nil || stored.String() != show(want[3:]) {
			t.Errorf("the end has %d bytes, %v; want %d", stored.Len(), err, len(show(want[3:])))
		}
		g.closeAll(g.m)
	})
}

// A large row that is torn costs the frame it is torn in, and one that is
// removed while it is read ends the stream.
func TestLargeRowDamaged(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		g := newRig(t, d)
		s := newScript()
		st := g.start(g.m, message(ann, g.session(ann), "hi"), s.work)
		err := s.do(func(r *run.Run) error {
			return r.Emit("tool_call", map[string]any{"eventId": "c1", "status": "done", "output": strings.Repeat("x", 100_000)})
		})
		if err != nil {
			t.Fatal(err)
		}
		close(s.steps)
		want := g.join(g.m, ann, st.RunID, 0).wait(t)
		_, err = d.Exec(t.Context(), `UPDATE oracle_frames SET data = substr(data, 1, 50000) WHERE seq = 2 AND run = (SELECT nid FROM oracle_runs WHERE id = $1)`, st.RunID)
		if err != nil {
			t.Fatal(err)
		}
		got := g.join(g.m, ann, st.RunID, 0).wait(t)
		if len(got) != len(want) || show(got[2:]) != show(want[2:]) {
			t.Fatalf("a torn row gives frames %d and %q, want %d", len(got), show(got[2:]), len(want))
		}
		if torn, ended := bytes.CutSuffix(got[1].Data, []byte("\n\n")); !ended || !bytes.HasPrefix(want[1].Data, torn) {
			t.Errorf("the torn frame has %d bytes and ends with %q", len(torn), got[1].Data[len(torn)-5:])
		}
		reader := g.stall(st.RunID, 1)
		<-reader.took
		if _, err := d.Exec(t.Context(), `DELETE FROM oracle_frames WHERE run = (SELECT nid FROM oracle_runs WHERE id = $1)`, st.RunID); err != nil {
			t.Fatal(err)
		}
		close(reader.goOn)
		if err := <-reader.err; err == nil || reader.rest.Len() > 0 {
			t.Errorf("Join() = %v after %d bytes, want an error at once", err, reader.rest.Len())
		}
		g.closeAll(g.m)
	})
}

// A recovered run goes on far behind a large frame.
func TestLargeFrameRecovered(t *testing.T) {
	t.Parallel()
	g := newRig(t, dbtest.SQLite(t))
	s := newScript()
	session := g.session(ann)
	st := g.start(g.m, message(ann, session, "hi"), s.work)
	large := strings.Repeat("x", 100_000)
	if err := s.do(toolFrame("c1", "done", large)); err != nil {
		t.Fatal(err)
	}
	next := g.manager()
	if n, err := next.Recover(t.Context()); n != 1 || err != nil {
		t.Fatalf("Recover() = %d, %v; want 1", n, err)
	}
	for _, after := range []int64{0, 2} {
		all := g.join(next, ann, st.RunID, after).wait(t)
		if last(t, all)["status"] != "interrupted" || all[len(all)-2].ID < 1_000_000 {
			t.Errorf("after %d: frames %s end with %d", after, names(all), all[len(all)-1].ID)
		}
	}
	close(s.steps)
	g.closeAll(g.m)
	g.closeAll(next)
}

// stream is what a client gets.
type stream struct{ bytes.Buffer }

func (s *stream) take(f run.Frame) error {
	s.Write(f.Data)
	return nil
}
