package webhook

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
	"github.com/hearth-dmrv/hearth/internal/event"
)

func storedHook(t *testing.T, d *db.DB) *hook {
	t.Helper()
	now := time.UnixMilli(1_700_000_000_000)
	h := &hook{nid: d.NewNID(), ws: "ws", secret: []byte{1}, Webhook: Webhook{ID: db.NewID(), Events: event.Filter{"*"}, Active: true, Revision: 1, CreatedAt: now, UpdatedAt: now}}
	if err := insert(t.Context(), d, h); err != nil {
		t.Fatal(err)
	}
	return h
}

func items(n int) []event.Item {
	out := make([]event.Item, n)
	for i := range out {
		out[i] = event.Item{Seq: int64(i + 1), Type: "job.finished"}
	}
	return out
}

// Two dispatchers that did the same step: one stores it, and a delivery that
// was made meanwhile is not made again.
func TestMoveOnce(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		h := storedHook(t, d)
		now := time.UnixMilli(1_700_000_001_000)
		st := step{h: h, from: 0, to: 3, items: items(3), at: now}
		if moved, err := move(t.Context(), d, st); err != nil || !moved {
			t.Fatalf("first move = %v, %v, want true", moved, err)
		}
		if err := setDelivered(t.Context(), d, job{hook: h.ID, seq: 1, at: now.UnixMilli()}, attempt{status: 200, at: now}); err != nil {
			t.Fatal(err)
		}
		if moved, err := move(t.Context(), d, st); err != nil || moved {
			t.Errorf("the same move again = %v, %v, want false", moved, err)
		}
		// Even one that got past the position leaves rows alone.
		st.from = 3
		if moved, err := move(t.Context(), d, st); err != nil || !moved {
			t.Fatalf("move from the new place = %v, %v, want true", moved, err)
		}
		got, err := listDeliveries(t.Context(), d, deliveryQuery{hook: h.ID, status: delivered, before: 100, limit: 10})
		if err != nil || len(got) != 1 || got[0].Seq != 1 {
			t.Errorf("delivered = %+v, %v, want event 1", got, err)
		}
		earlier := *h
		earlier.Revision = 0
		if moved, err := move(t.Context(), d, step{h: &earlier, from: 3, to: 4, items: items(4)[3:], at: now}); err != nil || moved {
			t.Errorf("move by what was read before a change = %v, %v, want false", moved, err)
		}
		h.Active, h.UpdatedAt = false, now
		if err := update(t.Context(), d, h, false); err != nil {
			t.Fatal(err)
		}
		if moved, err := move(t.Context(), d, step{h: h, from: 3, to: 4, at: now}); err != nil || moved {
			t.Errorf("move of one that is off = %v, %v, want false", moved, err)
		}
	})
}

// Many claim at once: nobody gets what another one has, until the lease is
// over.
func TestClaimOnce(t *testing.T) {
	t.Parallel()
	const n = 60
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		h := storedHook(t, d)
		now := time.UnixMilli(1_700_000_001_000)
		if _, err := move(t.Context(), d, step{h: h, to: n, items: items(n), at: now}); err != nil {
			t.Fatal(err)
		}
		take := func(at time.Time) []int64 {
			var mu sync.Mutex
			var got []int64
			var wg sync.WaitGroup
			for range 6 {
				wg.Go(func() {
					for {
						jobs, err := claim(t.Context(), d, lease{hook: h.ID, owner: db.NewID(), now: at, until: at.Add(time.Minute), limit: 4})
						if err != nil {
							t.Errorf("claim: %v", err)
						}
						if len(jobs) == 0 {
							return
						}
						mu.Lock()
						for _, j := range jobs {
							got = append(got, j.seq)
						}
						mu.Unlock()
					}
				})
			}
			wg.Wait()
			slices.Sort(got)
			return got
		}
		got := take(now)
		if len(got) != len(slices.Compact(slices.Clone(got))) {
			t.Errorf("claimed %v: some twice", got)
		}
		// A claim may come back empty because another one was faster; what it
		// left is due for the next.
		got = append(got, take(now)...)
		if slices.Sort(got); len(got) != n || len(slices.Compact(got)) != n {
			t.Errorf("claimed %v, want each of %d once", got, n)
		}
		if again := take(now.Add(30 * time.Second)); len(again) != 0 {
			t.Errorf("claimed %v under somebody's lease", again)
		}
		if again := take(now.Add(time.Hour)); len(again) == 0 {
			t.Error("nothing could be claimed after the leases")
		}
		// The loser of a lease cannot undo what the winner does.
		if err := setDead(t.Context(), d, job{hook: h.ID, seq: 1, owner: "somebody else"}, attempt{at: now}); err != nil {
			t.Fatal(err)
		}
		if dead, err := listDeliveries(t.Context(), d, deliveryQuery{hook: h.ID, status: dead, before: 100, limit: 10}); err != nil || len(dead) != 0 {
			t.Errorf("dead = %+v, %v, want none by a stranger", dead, err)
		}
	})
}

// TestDeliveriesGoByWeeks turns the table of deliveries into weeks while there are some: an
// event is still sent once and again by a replay alone, and weeks go whole, but for what is
// under way or was sent again since.
func TestDeliveriesGoByWeeks(t *testing.T) {
	t.Parallel()
	d := dbtest.Postgres(t)
	h := storedHook(t, d)
	now := time.UnixMilli(1_700_000_001_000)
	p := Parts(d)
	p.Now = func() time.Time { return now }
	queue := func(st step) {
		t.Helper()
		st.h, st.at = h, now
		if moved, err := move(t.Context(), d, st); err != nil || !moved {
			t.Fatalf("move() = %v, %v", moved, err)
		}
	}
	end := func(some int) {
		t.Helper()
		jobs, err := claim(t.Context(), d, lease{hook: h.ID, owner: "me", now: now, until: now.Add(time.Minute), limit: some})
		if err != nil || len(jobs) != some {
			t.Fatalf("claim() = %+v, %v, want %d", jobs, err, some)
		}
		for _, j := range jobs {
			if err := setDelivered(t.Context(), d, j, attempt{status: 200, at: now}); err != nil {
				t.Fatal(err)
			}
		}
	}
	want := func(when, want string) {
		t.Helper()
		var got []string
		all, err := listDeliveries(t.Context(), d, deliveryQuery{hook: h.ID, before: 1000, limit: 100})
		for _, x := range all {
			got = append(got, fmt.Sprint(x.Seq, " ", x.Status))
		}
		if err != nil || strings.Join(got, ", ") != want {
			t.Errorf("%s: %v, %v, want %s", when, got, err, want)
		}
	}
	queue(step{from: 0, to: 2, items: items(2)})
	end(2)
	if err := p.Make(t.Context()); err != nil {
		t.Fatal(err)
	}
	queue(step{from: 2, to: 4, items: items(4)[2:]})
	end(1)
	want("in parts", "4 pending, 3 delivered, 2 delivered, 1 delivered")
	weeks := func(n int) {
		t.Helper()
		for range n {
			now = now.Add(7 * 24 * time.Hour)
			if err := p.Make(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		for {
			if n, err := removeExpired(t.Context(), d, now.Add(-30*24*time.Hour), 100); err != nil || n == 0 {
				if err != nil {
					t.Fatal(err)
				}
				return
			}
		}
	}
	weeks(3)
	queue(step{from: 4, to: 6, items: items(6)[4:]})
	end(3) // 4 is among them
	if ok, err := startReplay(t.Context(), d, h, 1, 1); err != nil || !ok {
		t.Fatalf("startReplay() = %v, %v", ok, err)
	}
	queue(step{replay: true, from: 1, items: items(1)})
	want("three weeks later", "6 delivered, 5 delivered, 4 delivered, 3 delivered, 2 delivered, 1 pending")
	weeks(3)
	want("six weeks later", "6 delivered, 5 delivered, 4 delivered, 1 pending")
	weeks(3)
	want("nine weeks later", "1 pending")
	end(1)
	weeks(7)
	want("sixteen weeks later", "")
}
