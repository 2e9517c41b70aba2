package erase_test

import (
	"context"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
	"github.com/hearth-dmrv/hearth/internal/entity/erase"
)

// settle has the bytes of everything that was erased go.
func (r *rig) settle(t testing.TB) {
	t.Helper()
	if left, err := r.erase.Settle(t.Context()); left || err != nil {
		t.Fatalf("Settle() = %v, %v", left, err)
	}
}

func (r *rig) certificate(ctx context.Context, t testing.TB, id string) erase.Certificate {
	t.Helper()
	body, err := r.erase.Get(ctx, id)
	if err != nil {
		t.Fatal(err)
	}
	var c erase.Certificate
	if err := json.Unmarshal(body, &c); err != nil {
		t.Fatal(err)
	}
	return c
}

// TestBytesArePendingUntilTheyAreGone: the certificate says so at once, in every
// read, and a process after a crash completes it.
func TestBytesArePendingUntilTheyAreGone(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		r := newRig(t, d)
		ctx := r.owner(t)
		first, _, _ := r.run(ctx, t, r.create(ctx, t, household(1)))
		if first.Bytes.State != erase.Pending || !first.Bytes.At.IsZero() {
			t.Errorf("bytes = %+v, want pending", first.Bytes)
		}
		again := newRig(t, d) // nothing but the store is left of the first
		second, _, _ := again.run(ctx, t, again.create(ctx, t, household(2)))
		want := map[db.Dialect]string{db.SQLite: erase.Gone, db.Postgres: erase.Released}[d.Dialect()]
		again.settle(t)
		list, _, err := again.erase.List(ctx, 0, 10)
		if err != nil || len(list) != 2 {
			t.Fatalf("List() = %v, %v", list, err)
		}
		for i, c := range []erase.Certificate{again.certificate(ctx, t, first.ID), again.certificate(ctx, t, second.ID)} {
			if c.Bytes.State != want || c.Bytes.At.Before(c.ErasedAt) || list[i].Bytes != c.Bytes {
				t.Errorf("bytes = %+v and %+v in the list, want %s after %v", c.Bytes, list[i].Bytes, want, c.ErasedAt)
			}
		}
		if body, fresh, err := again.erase.Erase(ctx, erase.Draft{Subject: first.Subject, Reason: "again"}); err != nil || fresh || !strings.Contains(string(body), want) {
			t.Errorf("again = %s, %v, %v; want the same certificate as it is now", body, fresh, err)
		}
	})
}

// TestCopiesInUse: a certificate is not complete while somebody is being sent a
// copy, and those of others are.
func TestCopiesInUse(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		r := newRig(t, d)
		ctx := r.owner(t)
		c, _, _ := r.run(ctx, t, r.create(ctx, t, household(1)))
		var named []string
		r.busy = func(names []string) bool { named = names; return true }
		if left, err := r.erase.Settle(ctx); !left || err != nil {
			t.Errorf("Settle() = %v, %v, want left", left, err)
		}
		if got := r.certificate(ctx, t, c.ID).Bytes; got.State != erase.Pending {
			t.Errorf("bytes = %+v, want pending", got)
		}
		if len(named) != 1 || named[0] != c.Subject {
			t.Errorf("names = %q, want %s", named, c.Subject)
		}
		r.busy = nil
		r.settle(t)
		if got := r.certificate(ctx, t, c.ID).Bytes; got.State == erase.Pending {
			t.Errorf("bytes = %+v", got)
		}
	})
}

// TestRunSettles: what was erased is settled beside the requests.
func TestRunSettles(t *testing.T) {
	t.Parallel()
	r := newRig(t, dbtest.SQLite(t))
	ctx := r.owner(t)
	running, stop := context.WithCancel(t.Context())
	over := make(chan error, 1)
	go func() { over <- r.erase.Run(running) }()
	c, _, _ := r.run(ctx, t, r.create(ctx, t, household(1)))
	for r.certificate(ctx, t, c.ID).Bytes.State == erase.Pending {
		if t.Context().Err() != nil {
			t.Fatal("the test ended first")
		}
	}
	stop()
	if err := <-over; err != nil {
		t.Errorf("Run() = %v", err)
	}
}
