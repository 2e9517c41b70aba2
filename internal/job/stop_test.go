package job_test

import (
	"context"
	"testing"
	"time"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/job"
	"github.com/hearth-dmrv/hearth/internal/web"
)

func TestCancelQueued(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		r := newRig(t, d, nil)
		ctx := web.WithCaller(t.Context(), ann)
		id := r.enqueue(t, ann, work)
		for range 2 { // the second time changes nothing
			j, err := r.Cancel(ctx, id)
			if err != nil || j.Status != job.Cancelled || j.Revision != 2 || j.FinishedAt.IsZero() {
				t.Fatalf("Cancel() = %+v, %v, want it cancelled", j, err)
			}
		}
		if got := r.recorded(); len(got) != 1 || got[0] != "job.cancelled "+id+" of w" {
			t.Errorf("events = %v, want one", got)
		}
		r.start(t, one(func(_ context.Context, run *job.Run) error {
			if run.ID == id {
				t.Error("a cancelled job ran")
			}
			return nil
		}))
		done := r.enqueue(t, ann, work)
		r.awaitStatus(t, done, job.Succeeded)
		if _, err := r.Cancel(ctx, done); fault.CodeOf(err) != "JOB_FINISHED" {
			t.Errorf("Cancel() of a finished job = %v, want JOB_FINISHED", err)
		}
	})
}

func TestCancelRunning(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name      string
		elsewhere bool
		beat      time.Duration
	}{
		{"in this process", false, time.Hour},
		{"in another, seen at the heartbeat", true, 20 * time.Millisecond},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			dbtest.Each(t, func(t *testing.T, d *db.DB) {
				r := newRig(t, d, nil)
				asked := r
				if tt.elsewhere {
					asked = newRig(t, d, nil)
				}
				begun := make(chan struct{})
				cfg := one(func(ctx context.Context, _ *job.Run) error {
					close(begun)
					<-ctx.Done()
					return ctx.Err()
				})
				cfg.Beat = tt.beat
				r.start(t, cfg)
				id := r.enqueue(t, ann, work)
				<-begun
				j, err := asked.Cancel(web.WithCaller(t.Context(), ann), id)
				if err != nil || j.Status != job.Running || !j.CancelRequested {
					t.Fatalf("Cancel() = %+v, %v, want it running and asked to stop", j, err)
				}
				j = r.awaitStatus(t, id, job.Cancelled)
				if j.Attempts != 1 || len(j.Errors) != 0 {
					t.Errorf("job = %+v, want cancelled without errors", j)
				}
				await(t, "the event is there", func() bool { return len(r.recorded()) == 1 })
			})
		})
	}
}

// TestPublish has one instance enqueue and cancel, and another run.
func TestPublish(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		runs, asks := newRig(t, d, nil), newRig(t, d, nil)
		asks.peer = runs
		begun, ended := make(chan struct{}), make(chan struct{})
		cfg := one(func(ctx context.Context, run *job.Run) error {
			if run.Attempt > 1 {
				return nil
			}
			close(begun)
			<-ctx.Done()
			close(ended)
			return ctx.Err()
		})
		cfg.Handlers["test.first"] = func(context.Context, *job.Run) error { return nil }
		cfg.Beat, cfg.Lease = time.Hour, time.Hour
		runs.start(t, cfg)
		// The loop has looked once and found nothing more when this is done.
		runs.awaitStatus(t, runs.enqueue(t, ann, job.Draft{Kind: "test.first"}), job.Succeeded)
		id := asks.enqueue(t, ann, work)
		<-begun
		if _, err := asks.Cancel(web.WithCaller(t.Context(), ann), id); err != nil {
			t.Fatal(err)
		}
		<-ended
		runs.awaitStatus(t, id, job.Cancelled)
	})
}

// TestCancelWins has a job cancelled in the moment its attempt fails, and one
// whose instance died after the wish was noted.
func TestCancelWins(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		r := newRig(t, d, nil)
		begun, leave := make(chan struct{}), make(chan struct{})
		cfg := one(func(context.Context, *job.Run) error {
			close(begun)
			<-leave
			return fault.New(fault.Unavailable, "LATER", "Later.")
		})
		cfg.Beat = time.Hour
		r.start(t, cfg)
		id := r.enqueue(t, ann, work)
		<-begun
		r.exec(t, `UPDATE jobs SET cancel = TRUE WHERE id = $1`, id)
		close(leave)
		r.awaitStatus(t, id, job.Cancelled)

		dead := r.enqueue(t, ann, job.Draft{Kind: "test.work", RunAt: time.Now().Add(time.Hour)})
		r.exec(t, `UPDATE jobs SET status = 'running', attempts = 1, owner = 'dead', cancel = TRUE, due_at = 1 WHERE id = $1`, dead)
		r.Wake()
		r.awaitStatus(t, dead, job.Cancelled)
	})
}

func TestStopPutsBack(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		r := newRig(t, d, nil)
		type state struct{ Row int }
		begun := make(chan struct{})
		cfg := one(func(ctx context.Context, run *job.Run) error {
			err := d.InTx(ctx, func(tx *db.Tx) error { return run.Save(ctx, tx, state{Row: 40}) })
			if err != nil {
				return err
			}
			run.Progress(40, 100, "")
			close(begun)
			<-ctx.Done()
			return ctx.Err()
		})
		cfg.Grace = time.Millisecond
		stop := r.start(t, cfg)
		id := r.enqueue(t, ann, work)
		<-begun
		stop()
		j := r.get(t, id)
		if j.Status != job.Queued || j.Attempts != 0 || len(j.Errors) != 0 || j.Progress.Done != 40 {
			t.Errorf("after the stop: %+v, want it queued as if not started, with its progress", j)
		}

		again := newRig(t, d, nil)
		again.start(t, one(func(_ context.Context, run *job.Run) error {
			var s state
			if ok, err := run.State(&s); !ok || err != nil {
				t.Errorf("State() = %v, %v", ok, err)
			}
			run.SetResult(s)
			return nil
		}))
		j = again.awaitStatus(t, id, job.Succeeded)
		if text, ok := j.Result.(interface{ String() string }); !ok || text.String() != `{"Row":40}` || j.Attempts != 1 {
			t.Errorf("after the restart: %+v, want it to go on at row 40", j)
		}
	})
}

func TestStopWaitsForTheGrace(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		r := newRig(t, d, nil)
		begun, leave := make(chan struct{}), make(chan struct{})
		stop := r.start(t, one(func(ctx context.Context, _ *job.Run) error {
			close(begun)
			<-leave
			return ctx.Err() // none: the grace is not over
		}))
		id := r.enqueue(t, ann, work)
		<-begun
		done := make(chan struct{})
		go func() {
			defer close(done)
			stop()
		}()
		late := r.enqueue(t, ann, job.Draft{Kind: "test.work", RunAt: time.Now().Add(time.Hour)})
		close(leave)
		<-done
		if j := r.get(t, id); j.Status != job.Succeeded {
			t.Errorf("job is %s, want it succeeded within the grace", j.Status)
		}
		if j := r.get(t, late); j.Status != job.Queued {
			t.Errorf("later job is %s, want it queued", j.Status)
		}
	})
}

// TestStopLeavesTheStuckBehind has a handler that does not heed its context:
// its job stays leased, so nobody else runs it at the same time.
func TestStopLeavesTheStuckBehind(t *testing.T) {
	t.Parallel()
	r := newRig(t, dbtest.SQLite(t), nil)
	begun, leave, gone := make(chan struct{}), make(chan struct{}), make(chan struct{})
	cfg := one(func(context.Context, *job.Run) error {
		defer close(gone)
		close(begun)
		<-leave
		return nil
	})
	cfg.Grace = time.Millisecond
	stop := r.start(t, cfg)
	id := r.enqueue(t, ann, work)
	<-begun
	stop()
	if j := r.get(t, id); j.Status != job.Running {
		t.Errorf("job is %s, want it running until its lease ends", j.Status)
	}
	close(leave)
	<-gone
}
