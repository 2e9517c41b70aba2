package db_test

import (
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
)

func TestNewID(t *testing.T) {
	t.Parallel()
	last := ""
	for range 1000 {
		id := db.NewID()
		u, err := uuid.Parse(id)
		if err != nil || u.Version() != 7 {
			t.Fatalf("NewID = %q, version %d, %v; want a UUIDv7", id, u.Version(), err)
		}
		if id <= last {
			t.Errorf("%s came after %s", id, last)
		}
		last = id
	}
}

func TestNIDsGrow(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 15, 0, 0, 0, 0, time.UTC)
	now := at
	next := db.NIDs(5, func() time.Time { return now })
	last := int64(0)
	check := func(what string, n int) {
		t.Helper()
		for range n {
			id := next()
			if id <= last {
				t.Fatalf("%s: %d came after %d", what, id, last)
			}
			if id>>12&1023 != 5 {
				t.Fatalf("%s: instance %d, want 5", what, id>>12&1023)
			}
			last = id
		}
	}
	check("same millisecond", 10_000) // more than its 4096 counts
	now = at.Add(time.Second)
	check("a second later", 10)
	if ms := last>>22 + 1704067200000; ms != now.UnixMilli() {
		t.Errorf("time in the number = %d, want %d", ms, now.UnixMilli())
	}
	now = at.Add(-time.Hour)
	check("clock stepped back", 10)
	now = time.Date(2093, 1, 1, 0, 0, 0, 0, time.UTC)
	check("in 2093", 1) // still positive
}

func TestNIDsOfManyGoroutinesDiffer(t *testing.T) {
	t.Parallel()
	d := dbtest.SQLite(t)
	var mu sync.Mutex
	seen := map[int64]bool{}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			var mine []int64
			for range 1000 {
				mine = append(mine, d.NewNID())
			}
			mu.Lock()
			defer mu.Unlock()
			for _, n := range mine {
				seen[n] = true
			}
		})
	}
	wg.Wait()
	if len(seen) != 8000 {
		t.Errorf("%d different numbers, want 8000", len(seen))
	}
}
