package job_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
	"github.com/hearth-dmrv/hearth/internal/job"
)

// stage runs jobs that say when they begin and end when they are let go.
type stage struct {
	begun chan string // the kinds, as they begin
	leave chan struct{}
}

func newStage() stage { return stage{begun: make(chan string, 100), leave: make(chan struct{}, 100)} }

func (s stage) config(workers int, kinds ...string) job.RunnerConfig {
	cfg := job.RunnerConfig{Handlers: map[string]job.Handler{}, Workers: workers, Grace: time.Millisecond}
	for _, kind := range kinds {
		cfg.Handlers[kind] = func(ctx context.Context, _ *job.Run) error {
			s.begun <- kind
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

// next is the kind of the next job that begins.
func (s stage) next(t *testing.T) string {
	t.Helper()
	select {
	case kind := <-s.begun:
		return kind
	case <-time.After(10 * time.Second):
		t.Fatal("waited in vain for the next job")
		return ""
	}
}

// TestOneKindLeavesAWorker has more long exports than workers: an import that
// comes later begins although none of them has ended.
func TestOneKindLeavesAWorker(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		r, st := newRig(t, d, nil), newStage()
		for range 40 {
			r.enqueue(t, ann, job.Draft{Kind: "test.export"})
		}
		r.start(t, st.config(4, "test.export", "test.import"))
		for range 3 {
			if kind := st.next(t); kind != "test.export" {
				t.Fatalf("%s began, want the exports that wait", kind)
			}
		}
		r.enqueue(t, ann, job.Draft{Kind: "test.import"})
		if kind := st.next(t); kind != "test.import" {
			t.Errorf("%s began on the last worker, want the import", kind)
		}
		// A place that is free goes to the kind with fewer jobs at work.
		r.enqueue(t, ann, job.Draft{Kind: "test.import"})
		st.leave <- struct{}{}
		if kind := st.next(t); kind != "test.import" {
			t.Errorf("%s began in the place that was free, want the second import", kind)
		}
	})
}

// TestKindsTakeTurns has one worker and a queue of one kind before the others.
func TestKindsTakeTurns(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		r, st := newRig(t, d, nil), newStage()
		for _, kind := range []string{"a", "a", "a", "b", "b", "c"} {
			r.enqueue(t, ann, job.Draft{Kind: kind})
		}
		r.enqueue(t, ann, job.Draft{Kind: "of-nobody-here"})
		r.start(t, st.config(1, "a", "b", "c"))
		var order []string
		for range 6 {
			order = append(order, st.next(t))
			st.leave <- struct{}{}
		}
		if want := []string{"a", "b", "c", "a", "b", "a"}; !slices.Equal(order, want) {
			t.Errorf("began %v, want %v", order, want)
		}
	})
}

// TestKindInOtherHands has a job that cannot be claimed for a while, as when the
// transaction of a run elsewhere outlives its lease: the other kinds go on.
func TestKindInOtherHands(t *testing.T) {
	t.Parallel()
	d := dbtest.Postgres(t)
	r, st := newRig(t, d, nil), newStage()
	r.enqueue(t, ann, job.Draft{Kind: "a"})
	for range 3 {
		r.enqueue(t, ann, job.Draft{Kind: "b"})
	}
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
	r.start(t, st.config(4, "a", "b"))
	for range 3 {
		if kind := st.next(t); kind != "b" {
			t.Errorf("%s began while its row was locked", kind)
		}
	}
	close(free)
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if kind := st.next(t); kind != "a" {
		t.Errorf("%s began last, want a", kind)
	}
}
