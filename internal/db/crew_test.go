package db_test

import (
	"strconv"
	"testing"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
)

// TestCares: of those that share work one cares for each thing, none for nearly all of
// them, and when one stops or leaves the others care for its share and keep theirs.
func TestCares(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		if !db.Cares(d, "a thing") {
			t.Error("nobody cares before Join")
		}
		joined(t, d, "one")
		if !db.Cares(d, "a thing") {
			t.Error("the only one does not care")
		}
	})
	url := dbtest.Migrated(t)
	all := make([]*db.DB, 3)
	for i := range all {
		all[i] = reopen(t, db.Config{URL: url}, nil)
		joined(t, all[i], strconv.Itoa(i))
	}
	const things = 300
	// shares is who cares for each thing, false while that is not one of those given.
	shares := func(of ...int) (who []int, ok bool) {
		count := map[int]int{}
		for n := range things {
			cares := -1
			for i, d := range all {
				if db.Cares(d, strconv.Itoa(n)) {
					if cares >= 0 {
						return nil, false
					}
					cares = i
				}
			}
			who = append(who, cares)
			count[cares]++
		}
		for _, i := range of {
			if count[i] < things/len(of)/2 {
				return nil, false
			}
		}
		return who, len(count) == len(of)
	}
	var first, then []int
	eventually(t, "three share", func() (ok bool) { first, ok = shares(0, 1, 2); return ok })
	before := db.CrewTurns(all[0])
	all[1].Drain()
	eventually(t, "two share", func() (ok bool) { then, ok = shares(0, 2); return ok })
	for n := range things {
		if first[n] != 1 && then[n] != first[n] {
			t.Fatalf("thing %d went from %d to %d, which was there all the time", n, first[n], then[n])
		}
	}
	if db.CrewTurns(all[0]) == before {
		t.Error("nothing says that those who share have changed")
	}
	all[2].Leave(t.Context())
	eventually(t, "one cares for all", func() bool {
		for n := range things {
			if !db.Cares(all[0], strconv.Itoa(n)) {
				return false
			}
		}
		return true
	})
}
