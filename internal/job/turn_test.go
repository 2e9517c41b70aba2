package job_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
	"github.com/hearth-dmrv/hearth/internal/job"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// stage runs jobs that say when they begin and end when they are let go.
type stage struct {
	begun chan string // "workspace kind", as they begin
	leave chan struct{}
}

func newStage() stage { return stage{begun: make(chan string, 100), leave: make(chan struct{}, 100)} }

func (s stage) config(workers int, kinds ...string) job.RunnerConfig {
	cfg := job.RunnerConfig{Handlers: map[string]job.Handler{}, Workers: workers, Grace: time.Millisecond}
	for _, kind := range kinds {
		cfg.Handlers[kind] = func(ctx context.Context, _ *job.Run) error {
			s.begun <- web.CallerFrom(ctx).Workspace + " " + kind
			select {
			case <-s.leave:
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		}
	}
	return cfg
}

// next is the workspace and kind of the next job that begins.
func (s stage) next(t *testing.T) string {
	t.Helper()
	select {
	case job := <-s.begun:
		return job
	case <-time.After(10 * time.Second):
		t.Fatal("waited in vain for the next job")
		return ""
	}
}

// want has the next jobs begin, in this order.
func (s stage) want(t *testing.T, jobs ...string) {
	t.Helper()
	for i, want := range jobs {
		if got := s.next(t); got != want {
			t.Fatalf("%q began as number %d, want %v", got, i+1, jobs)
		}
	}
}

// wantAll has the next jobs begin, in any order.
func (s stage) wantAll(t *testing.T, jobs ...string) {
	t.Helper()
	var got []string
	for range jobs {
		got = append(got, s.next(t))
	}
	slices.Sort(got)
	if slices.Sort(jobs); !slices.Equal(got, jobs) {
		t.Fatalf("%q began, want %q", got, jobs)
	}
}

// queue makes jobs, each given as "workspace kind".
func (r *rig) queue(t *testing.T, n int, jobs ...string) {
	t.Helper()
	for range n {
		for _, j := range jobs {
			ws, kind, _ := strings.Cut(j, " ")
			r.enqueue(t, web.Caller{Workspace: ws, DID: "did:x:" + ws}, job.Draft{Kind: kind})
		}
	}
}

// TestQueueOfAnotherWorkspace has a workspace queue more of several kinds than
// there are workers: the job of another, and of the server itself, begins
// although none of them has ended, also when it is of the same kind.
func TestQueueOfAnotherWorkspace(t *testing.T) {
	t.Parallel()
	for _, other := range []string{"b test.export", "b test.import", " test.export", " test.sweep"} {
		t.Run(other, func(t *testing.T) {
			t.Parallel()
			dbtest.Each(t, func(t *testing.T, d *db.DB) {
				r, st := newRig(t, d, nil), newStage()
				r.queue(t, 40, "a test.export", "a test.import")
				r.start(t, st.config(4, "test.export", "test.import", "test.sweep"))
				for range 3 {
					if got := st.next(t); !strings.HasPrefix(got, "a ") {
						t.Fatalf("%q began, want those that wait", got)
					}
				}
				r.queue(t, 1, other)
				st.want(t, other)
			})
		})
	}
}

// TestExportsOfAnotherWorkspace has a hundred of one kind.
func TestExportsOfAnotherWorkspace(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		r, st := newRig(t, d, nil), newStage()
		r.queue(t, 100, "a test.export")
		r.start(t, st.config(4, "test.export"))
		st.want(t, "a test.export", "a test.export")
		r.queue(t, 1, "b test.export", "c test.export")
		st.wantAll(t, "b test.export", "c test.export") // two workers race to report
	})
}

// TestFewestAtWork gives the places that become free to who has the fewest.
func TestFewestAtWork(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		r, st := newRig(t, d, nil), newStage()
		leave := map[string]chan struct{}{"a": make(chan struct{}), "b": make(chan struct{})}
		cfg := st.config(4)
		cfg.Handlers["k"] = func(ctx context.Context, _ *job.Run) error {
			ws := web.CallerFrom(ctx).Workspace
			st.begun <- ws
			select {
			case <-leave[ws]:
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		cfg.Handlers["l"] = cfg.Handlers["k"]
		r.queue(t, 10, "a k", "a l")
		r.start(t, cfg)
		st.want(t, "a", "a", "a")
		r.queue(t, 4, "b k", "b l")
		st.want(t, "b")
		leave["a"] <- struct{}{} // two and one
		st.want(t, "b")
		leave["b"] <- struct{}{} // two and one
		st.want(t, "b")
		leave["a"] <- struct{}{} // one and two
		st.want(t, "a")
	})
}

// TestWorkspacesTakeTurns has one worker and a long queue before the others.
func TestWorkspacesTakeTurns(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		r, st := newRig(t, d, nil), newStage()
		r.queue(t, 4, "b k")
		r.queue(t, 2, "a k", " k")
		r.queue(t, 1, "c k", "c l")
		want := []string{"a k", "b k", "c k", " k", "a k", "b k", "c l", " k", "b k", "b k"}
		for range want {
			st.leave <- struct{}{}
		}
		r.start(t, st.config(1, "k", "l"))
		st.want(t, want...)
	})
}

// TestKindsOfAWorkspaceTakeTurns has another workspace begin one of a kind each
// time between: what that has had does not count.
func TestKindsOfAWorkspaceTakeTurns(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		r, st := newRig(t, d, nil), newStage()
		r.queue(t, 3, "a k")
		r.queue(t, 2, "a l")
		r.queue(t, 5, "b l")
		want := []string{"a k", "b l", "a l", "b l", "a k", "b l", "a l", "b l", "a k", "b l"}
		for range want {
			st.leave <- struct{}{}
		}
		r.start(t, st.config(1, "k", "l"))
		st.want(t, want...)
	})
}

// TestFewestOnAllInstances has what another instance has at work count, as long
// as its lease holds.
func TestFewestOnAllInstances(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		st := newStage()
		r := newRig(t, d, nil)
		r.queue(t, 4, "a k")
		r.start(t, st.config(1, "k"))
		st.want(t, "a k")
		r.queue(t, 1, "b k")
		newRig(t, d, nil).start(t, st.config(1, "k"))
		st.want(t, "b k")
		r.exec(t, `UPDATE jobs SET due_at = 1, attempts = 0 WHERE ws = 'b'`) // its instance has died
		third := newRig(t, d, nil)
		third.start(t, st.config(1, "k"))
		st.want(t, "b k")
	})
}

// TestInstancesClaimAtOnce has as many workspaces as instances, all waiting
// before the instances begin together: each has one at work.
func TestInstancesClaimAtOnce(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		st := newStage()
		spaces := []string{"a k", "b k", "c k", "d k", "e k", "f k"}
		newRig(t, d, nil).queue(t, 5, spaces...)
		for range spaces {
			newRig(t, d, nil).start(t, st.config(1, "k"))
		}
		st.wantAll(t, spaces...)
	})
}

// TestManyWorkspaces has more workspaces wait than one look reads, most of them
// for a time to come: the turn passes over those.
func TestManyWorkspaces(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		r, st := newRig(t, d, nil), newStage()
		later := time.Now().Add(time.Hour)
		for i := range 150 {
			c := web.Caller{Workspace: fmt.Sprintf("w%03d", i)}
			r.enqueue(t, c, job.Draft{Kind: "k", RunAt: later})
			r.enqueue(t, c, job.Draft{Kind: "l", RunAt: later})
			r.enqueue(t, c, job.Draft{Kind: "of-nobody-here"})
		}
		r.queue(t, 3, "w000 k", "w075 l", "w149 k")
		want := []string{"w000 k", "w075 l", "w149 k"}
		want = slices.Concat(want, want, want)
		for range want {
			st.leave <- struct{}{}
		}
		r.start(t, st.config(1, "k", "l"))
		st.want(t, want...)
	})
}

// TestOneKindLeavesAWorker has more long exports than workers: an import that
// comes later begins although none of them has ended.
func TestOneKindLeavesAWorker(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		r, st := newRig(t, d, nil), newStage()
		r.queue(t, 40, "w test.export")
		r.start(t, st.config(5, "test.export", "test.import"))
		st.want(t, "w test.export", "w test.export", "w test.export")
		r.queue(t, 1, "w test.import")
		st.want(t, "w test.import")
		// A place that is free goes to the kind with fewer jobs at work.
		r.queue(t, 1, "w test.import")
		st.leave <- struct{}{}
		st.want(t, "w test.import")
	})
}

// TestKindsTakeTurns has one worker and a queue of one kind before the others.
func TestKindsTakeTurns(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		r, st := newRig(t, d, nil), newStage()
		for _, kind := range []string{"a", "a", "a", "b", "b", "c", "of-nobody-here"} {
			r.queue(t, 1, "w "+kind)
		}
		want := []string{"w a", "w b", "w c", "w a", "w b", "w a"}
		for range want {
			st.leave <- struct{}{}
		}
		r.start(t, st.config(1, "a", "b", "c"))
		st.want(t, want...)
	})
}

// TestKindInOtherHands has a job that cannot be claimed for a while, as when the
// transaction of a run elsewhere outlives its lease: the other kinds go on.
func TestKindInOtherHands(t *testing.T) {
	t.Parallel()
	d := dbtest.Postgres(t)
	r, st := newRig(t, d, nil), newStage()
	r.queue(t, 1, "w a")
	r.queue(t, 3, "w b")
	held, free, ended := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	go func() {
		ended <- d.InTx(t.Context(), func(tx *db.Tx) error {
			err := tx.QueryRow(t.Context(), `SELECT nid FROM jobs WHERE kind = 'a' FOR UPDATE`).Scan(new(int64))
			close(held)
			<-free
			return err
		})
	}()
	<-held
	r.start(t, st.config(5, "a", "b"))
	st.want(t, "w b", "w b", "w b")
	close(free)
	if err := <-ended; err != nil {
		t.Error(err)
	}
	st.want(t, "w a")
}
