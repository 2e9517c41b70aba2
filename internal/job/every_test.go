package job_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/job"
	"github.com/hearth-dmrv/hearth/internal/web"
)

func TestPeriodicOncePerSlot(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		c := &clock{at: time.UnixMilli(1_700_000_000_000)}
		a, b := newRig(t, d, c.Now), newRig(t, d, c.Now)
		var runs atomic.Int64
		cfg := one(func(ctx context.Context, run *job.Run) error {
			runs.Add(1)
			if who := web.CallerFrom(ctx); who.Workspace != "" || who.DID != "system" {
				t.Errorf("caller = %+v, want the system", who)
			}
			return nil
		})
		cfg.Every = []job.Every{{Kind: "test.work", Interval: time.Hour}}
		cfg.Lease = 1000 * time.Hour
		a.start(t, cfg)
		b.start(t, cfg)
		finished := func() (n int64) {
			if err := d.QueryRow(t.Context(), `SELECT count(*) FROM jobs WHERE status = 'succeeded'`).Scan(&n); err != nil {
				t.Fatal(err)
			}
			return n
		}
		// The third step passes three slots at once: they are made up for by one.
		for i, step := range []time.Duration{0, time.Hour, 3 * time.Hour, 30 * time.Minute, 30 * time.Minute} {
			c.set(c.Now().Add(step))
			a.Wake()
			b.Wake()
			want := int64(i + 1)
			if i == 3 {
				continue // the same slot
			} else if i == 4 {
				want = 4
			}
			await(t, "the slot is done", func() bool { return finished() == want })
		}
		if n := runs.Load(); n != 4 || a.count(t) != 4 {
			t.Errorf("%d runs of %d jobs, want 4", n, a.count(t))
		}
	})
}

func TestPeriodicDoesNotPileUp(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		c := &clock{at: time.UnixMilli(1_700_000_000_000)}
		r := newRig(t, d, c.Now)
		begun, leave := make(chan struct{}, 9), make(chan struct{})
		cfg := one(func(ctx context.Context, _ *job.Run) error {
			begun <- struct{}{}
			<-leave
			return ctx.Err()
		})
		cfg.Handlers["test.other"] = func(context.Context, *job.Run) error { return nil }
		cfg.Every = []job.Every{{Kind: "test.work", Interval: time.Hour}}
		cfg.Lease = 1000 * time.Hour
		r.start(t, cfg)
		<-begun
		for range 3 {
			c.set(c.Now().Add(time.Hour))
			// Another job that runs shows that the loop has looked at the slot.
			r.awaitStatus(t, r.enqueue(t, ann, job.Draft{Kind: "test.other"}), job.Succeeded)
		}
		if n := r.count(t); n != 4 {
			t.Errorf("%d jobs while the first still runs, want it and 3 others", n)
		}
		close(leave)
		<-begun // one makes up for all
		await(t, "all is done", func() bool {
			var n int
			if err := d.QueryRow(t.Context(), `SELECT count(*) FROM jobs WHERE status = 'succeeded'`).Scan(&n); err != nil {
				t.Fatal(err)
			}
			return n == 5
		})
	})
}

func TestSystemJobsAreNobodys(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		r := newRig(t, d, nil)
		id := r.enqueue(t, web.Caller{}, work)
		for _, c := range []web.Caller{ann, {}, {DID: "did:x:ann"}} {
			ctx := web.WithCaller(t.Context(), c)
			if _, err := r.Get(ctx, id); fault.CodeOf(err) != "JOB_NOT_FOUND" {
				t.Errorf("Get() as %+v = %v, want JOB_NOT_FOUND", c, err)
			}
			if jobs, next, err := r.List(ctx, job.Filter{}, 0, 10); err != nil || len(jobs) != 0 || next != 0 {
				t.Errorf("List() as %+v = %v, %d, %v, want nothing", c, jobs, next, err)
			}
		}
	})
}

func TestExpire(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		c := &clock{at: time.UnixMilli(1_700_000_000_000)}
		r := newRig(t, d, c.Now)
		ctx := web.WithCaller(t.Context(), ann)
		for range 130 {
			if _, err := r.Cancel(ctx, r.enqueue(t, ann, work)); err != nil {
				t.Fatal(err)
			}
		}
		cut := c.Now().Add(time.Hour)
		waiting := r.enqueue(t, ann, work)
		c.set(cut)
		fresh := r.enqueue(t, ann, work)
		if _, err := r.Cancel(ctx, fresh); err != nil {
			t.Fatal(err)
		}
		for _, tt := range []struct{ limit, want int }{{110, 110}, {1000, 20}, {1000, 0}} {
			if n, err := r.Expire(t.Context(), cut, tt.limit); n != tt.want || err != nil {
				t.Errorf("Expire(%d) = %d, %v, want %d", tt.limit, n, err, tt.want)
			}
		}
		if r.get(t, waiting).Status != job.Queued || r.get(t, fresh).Status != job.Cancelled || r.count(t) != 2 {
			t.Errorf("%d jobs are left, want the queued and the fresh one", r.count(t))
		}
	})
}
