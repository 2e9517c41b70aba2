package job_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
	"github.com/hearth-dmrv/hearth/internal/job"
)

// TestWrongClocksTakeNoJobs: an instance whose clock is ahead neither takes a job from
// another one that has its lease, nor begins one before it is due.
func TestWrongClocksTakeNoJobs(t *testing.T) {
	t.Parallel()
	url := dbtest.Migrated(t)
	right := newRig(t, dbtest.Skewed(t, url, 0), nil)
	var begun atomic.Int64
	end := make(chan struct{})
	cfg := one(func(ctx context.Context, _ *job.Run) error {
		begun.Add(1)
		select {
		case <-end:
		case <-ctx.Done():
		}
		return ctx.Err()
	})
	cfg.Lease = 10 * time.Minute
	held := right.enqueue(t, ann, work)
	right.start(t, cfg)
	await(t, "the job has begun", func() bool { return begun.Load() == 1 })
	wrong := newRig(t, dbtest.Skewed(t, url, time.Hour), nil)
	later := right.enqueue(t, ann, job.Draft{Kind: "test.work", RunAt: time.Now().Add(30 * time.Minute)})
	marker := make(chan struct{})
	theirs := cfg
	theirs.Handlers = map[string]job.Handler{"test.work": cfg.Handlers["test.work"], "test.mark": func(context.Context, *job.Run) error {
		close(marker)
		return nil
	}}
	wrong.start(t, theirs)
	// It looks for work, takes what is for it alone, and looks once more.
	wrong.enqueue(t, ann, job.Draft{Kind: "test.mark"})
	wrong.Wake()
	select {
	case <-marker:
	case <-time.After(time.Minute):
		t.Fatal("the instance with the wrong clock does no work at all")
	}
	if n := begun.Load(); n != 1 {
		t.Errorf("%d runs of the jobs have begun, want the one that has the lease", n)
	}
	close(end)
	right.awaitStatus(t, held, job.Succeeded)
	if j := right.awaitStatus(t, later, job.Queued); j.ID != later {
		t.Errorf("the job of later is %+v", j)
	}
}
