package job_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/job"
	"github.com/hearth-dmrv/hearth/internal/web"
)

func TestOneOfManyRunners(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		const jobs, runners = 60, 4
		var mu sync.Mutex
		runs := map[string]int{}
		var rigs []*rig
		for range runners {
			r := newRig(t, d, nil)
			rigs = append(rigs, r)
		}
		var ids []string
		for range jobs {
			ids = append(ids, rigs[0].enqueue(t, ann, work))
		}
		for _, r := range rigs {
			r.start(t, one(func(_ context.Context, run *job.Run) error {
				mu.Lock()
				defer mu.Unlock()
				runs[run.ID]++
				return nil
			}))
		}
		for _, id := range ids {
			rigs[0].awaitStatus(t, id, job.Succeeded)
		}
		mu.Lock()
		defer mu.Unlock()
		for _, id := range ids {
			if runs[id] != 1 {
				t.Errorf("job %s ran %d times, want once", id, runs[id])
			}
		}
	})
}

func TestWorkersAreBounded(t *testing.T) {
	t.Parallel()
	r := newRig(t, dbtest.SQLite(t), nil)
	var mu sync.Mutex
	now, most := 0, 0
	cfg := one(func(ctx context.Context, run *job.Run) error {
		mu.Lock()
		now++
		most = max(most, now)
		mu.Unlock()
		defer func() {
			mu.Lock()
			defer mu.Unlock()
			now--
		}()
		return r.db.InTx(ctx, func(tx *db.Tx) error { return run.Hold(ctx, tx) })
	})
	cfg.Workers = 2
	r.start(t, cfg)
	var ids []string
	for range 30 {
		ids = append(ids, r.enqueue(t, ann, work))
	}
	for _, id := range ids {
		r.awaitStatus(t, id, job.Succeeded)
	}
	mu.Lock()
	defer mu.Unlock()
	if most > 2 {
		t.Errorf("%d ran at once, want at most 2", most)
	}
}

// TestTakeOver has an instance go silent while it holds a job, as after a
// crash, and come back when another has done the work.
func TestTakeOver(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		silent, other := newRig(t, d, nil), newRig(t, d, nil)
		begun, back := make(chan struct{}), make(chan struct{})
		fenced := make(chan error, 1)
		cfg := one(func(ctx context.Context, run *job.Run) error {
			close(begun)
			<-back
			fenced <- d.InTx(context.WithoutCancel(ctx), func(tx *db.Tx) error { return run.Hold(context.WithoutCancel(ctx), tx) })
			run.SetResult("late")
			return nil
		})
		cfg.Lease, cfg.Beat, cfg.Workers = 500*time.Millisecond, time.Hour, 1
		stop := silent.start(t, cfg)
		id := silent.enqueue(t, ann, work)
		<-begun
		cfg = one(func(_ context.Context, run *job.Run) error {
			run.SetResult("taken over")
			return nil
		})
		stopOther := other.start(t, cfg)
		j := other.awaitStatus(t, id, job.Succeeded)
		if j.Attempts != 2 {
			t.Errorf("attempts = %d, want 2", j.Attempts)
		}
		close(back)
		if err := <-fenced; err == nil {
			t.Error("a transaction of the lost run was stored")
		}
		stop()
		stopOther() // what is recorded comes after the commit that others see
		if again := other.get(t, id); again.Revision != j.Revision || len(other.recorded()) != 1 || len(silent.recorded()) != 0 {
			t.Errorf("the late run changed the job: %+v, events %v %v", again, other.recorded(), silent.recorded())
		}
	})
}

// TestAlone takes up what a process that died has left, however long its lease.
func TestAlone(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		dead, next := newRig(t, d, nil), newRig(t, d, nil)
		begun, end := make(chan struct{}), make(chan struct{})
		cfg := one(func(context.Context, *job.Run) error {
			close(begun)
			<-end
			return nil
		})
		cfg.Lease, cfg.Beat, cfg.Workers = 1000*time.Hour, time.Hour, 1
		stop := dead.start(t, cfg)
		id := dead.enqueue(t, ann, work)
		<-begun
		cfg = one(func(context.Context, *job.Run) error { return nil })
		cfg.Alone = true
		next.start(t, cfg)
		if j := next.awaitStatus(t, id, job.Succeeded); j.Attempts != 2 {
			t.Errorf("attempts = %d, want 2", j.Attempts)
		}
		close(end)
		stop()
	})
}

func TestLostLeaseEndsTheRun(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		r := newRig(t, d, nil)
		begun, ended := make(chan struct{}), make(chan error, 1)
		cfg := one(func(ctx context.Context, _ *job.Run) error {
			close(begun)
			<-ctx.Done()
			ended <- context.Cause(ctx)
			return ctx.Err()
		})
		cfg.Beat = 20 * time.Millisecond
		r.start(t, cfg)
		id := r.enqueue(t, ann, work)
		<-begun
		r.exec(t, `UPDATE jobs SET owner = 'somebody else' WHERE id = $1`, id)
		if err := <-ended; err == nil || errors.Is(err, context.Canceled) {
			t.Errorf("cause = %v, want the lost lease", err)
		}
		if j := r.get(t, id); j.Status != job.Running || j.Attempts != 1 {
			t.Errorf("job = %+v, want it as the other one has it", j)
		}
	})
}

func TestHeartbeatKeepsTheJob(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		a, b := newRig(t, d, nil), newRig(t, d, nil)
		begun, leave := make(chan string, 2), make(chan struct{})
		cfg := one(func(ctx context.Context, run *job.Run) error {
			begun <- run.ID
			<-leave
			return ctx.Err()
		})
		cfg.Lease, cfg.Beat = 20*time.Second, 50*time.Millisecond
		a.start(t, cfg)
		id := a.enqueue(t, ann, work)
		<-begun
		due := func() (at int64) {
			if err := d.QueryRow(t.Context(), `SELECT due_at FROM jobs WHERE id = $1`, id).Scan(&at); err != nil {
				t.Fatal(err)
			}
			return at
		}
		first := due()
		b.start(t, cfg)
		await(t, "the lease was renewed", func() bool { return due() > first+500 })
		close(leave)
		if j := a.awaitStatus(t, id, job.Succeeded); j.Attempts != 1 {
			t.Errorf("attempts = %d, want 1", j.Attempts)
		}
	})
}

// TestCrashLoop has a job whose every attempt died with its process.
func TestCrashLoop(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		r := newRig(t, d, nil)
		id := r.enqueue(t, ann, job.Draft{Kind: "test.work", MaxAttempts: 3})
		r.exec(t, `UPDATE jobs SET status = 'running', attempts = 3, owner = 'dead', due_at = 1 WHERE id = $1`, id)
		r.start(t, one(func(context.Context, *job.Run) error {
			t.Error("it was tried once more")
			return nil
		}))
		j := r.awaitStatus(t, id, job.Failed)
		if len(j.Errors) != 1 || j.Errors[0].Code != "JOB_ABANDONED" || j.Attempts != 3 {
			t.Errorf("job = %+v, want JOB_ABANDONED after 3", j)
		}
	})
}

func TestRetriesFollowTheClock(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		start := time.UnixMilli(1_700_000_000_000).UTC()
		c := &clock{at: start}
		r := newRig(t, d, c.Now)
		var mu sync.Mutex
		var at []time.Duration
		cfg := one(func(_ context.Context, run *job.Run) error {
			mu.Lock()
			defer mu.Unlock()
			at = append(at, c.Now().Sub(start))
			if run.Attempt < 3 {
				return errors.New("not yet")
			}
			return nil
		})
		cfg.Backoff = func(attempt int) time.Duration { return time.Duration(attempt) * time.Hour }
		cfg.Lease = 24 * time.Hour
		r.start(t, cfg)
		id := r.enqueue(t, ann, job.Draft{Kind: "test.work", RunAt: start.Add(time.Minute)})
		for _, next := range []time.Duration{time.Minute, time.Minute + time.Hour, time.Minute + 3*time.Hour} {
			want := start.Add(next)
			await(t, "the next attempt is planned", func() bool {
				j := r.get(t, id)
				return j.Status == job.Queued && j.RunAt.Equal(want)
			})
			c.set(want.Add(-time.Millisecond)) // too early
			r.Wake()
			c.set(want)
			r.Wake()
		}
		j := r.awaitStatus(t, id, job.Succeeded)
		mu.Lock()
		defer mu.Unlock()
		want := []time.Duration{time.Minute, time.Minute + time.Hour, time.Minute + 3*time.Hour}
		if !slices.Equal(at, want) || j.Attempts != 3 || len(j.Errors) != 0 {
			t.Errorf("ran at %v, attempts %d, errors %v, want %v", at, j.Attempts, j.Errors, want)
		}
	})
}

func TestOtherKindsAreLeftAlone(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		r := newRig(t, d, nil)
		// A kind that is part of a known one, and one that has one in it.
		left := []string{r.enqueue(t, ann, job.Draft{Kind: "test"}), r.enqueue(t, ann, job.Draft{Kind: "test.work.more"})}
		r.start(t, one(func(context.Context, *job.Run) error { return nil }))
		r.awaitStatus(t, r.enqueue(t, ann, work), job.Succeeded)
		for _, id := range left {
			if j := r.get(t, id); j.Status != job.Queued || j.Attempts != 0 {
				t.Errorf("%s is %s after %d attempts, want it queued", j.Kind, j.Status, j.Attempts)
			}
		}
	})
}

func TestProgress(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		r := newRig(t, d, nil)
		leave := make(chan struct{})
		r.start(t, one(func(_ context.Context, run *job.Run) error {
			for i := range int64(500) {
				run.Progress(i+1, 1000, "half\x00 \xffway")
			}
			<-leave
			run.Progress(1000, 1000, "")
			return nil
		}))
		id := r.enqueue(t, ann, work)
		var j job.Job
		await(t, "progress is visible", func() bool {
			j = r.get(t, id)
			return j.Progress.Done == 500
		})
		// 1 enqueued, 2 claimed, then at most a few for 500 calls.
		if j.Status != job.Running || j.Progress.Total != 1000 || j.Progress.Note != "half way" || j.Revision > 5 {
			t.Errorf("job = %+v, want half way after few revisions", j)
		}
		close(leave)
		if j := r.awaitStatus(t, id, job.Succeeded); j.Progress.Done != 1000 || j.Progress.Note != "" {
			t.Errorf("progress = %+v, want the last one", j.Progress)
		}
	})
}

// A job that refused parts of its work is no success, and its readers, the list
// and the events have a word for it.
func TestTally(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		r := newRig(t, d, nil)
		type tally struct{ Done, Refused int64 }
		r.start(t, one(func(_ context.Context, run *job.Run) error {
			var p tally
			if err := run.Decode(&p); err != nil {
				return err
			}
			run.SetResult(map[string]int64{"refused": p.Refused})
			run.Tally(p.Done, p.Refused)
			return nil
		}))
		for _, tt := range []struct {
			in    tally
			want  job.Status
			event string
			code  string
		}{
			{tally{0, 0}, job.Succeeded, "job.finished", ""},
			{tally{3, 0}, job.Succeeded, "job.finished", ""},
			{tally{299, 1}, job.CompletedWithErrors, "job.completed_with_errors", ""},
			{tally{0, 300}, job.Failed, "job.failed", "ALL_ROWS_REFUSED"},
		} {
			before := len(r.recorded())
			draft := work
			draft.Payload = tt.in
			id := r.enqueue(t, ann, draft)
			j := r.awaitStatus(t, id, tt.want)
			code := ""
			if len(j.Errors) > 0 {
				code = j.Errors[0].Code
			}
			if code != tt.code || j.Attempts != 1 || j.Result == nil || j.Links.Cancel != "" {
				t.Errorf("%+v: %+v, want code %q, one attempt and the result", tt.in, j, tt.code)
			}
			await(t, "the end is recorded", func() bool { return len(r.recorded()) > before })
			if got, want := r.recorded()[before], tt.event+" "+id+" of w"; got != want {
				t.Errorf("%+v: event %q, want %q", tt.in, got, want)
			}
			if _, err := r.Cancel(web.WithCaller(t.Context(), ann), id); fault.CodeOf(err) != "JOB_FINISHED" {
				t.Errorf("%+v: cancel = %v, want JOB_FINISHED", tt.in, err)
			}
		}
		w := send(r.handler(t), "ann", "GET /v1/jobs?status=completedWithErrors", nil)
		if n := strings.Count(w.Body.String(), `"kind":"test.work"`); w.Code != 200 || n != 1 {
			t.Errorf("list = %d with %d jobs, want the one that refused a part: %s", w.Code, n, w.Body)
		}
	})
}
