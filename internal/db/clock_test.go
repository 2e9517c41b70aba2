package db_test

import (
	"slices"
	"testing"
	"time"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
)

// TestClockOfTheDatabase: processes with wrong clocks agree on the time, and know how
// wrong theirs is.
func TestClockOfTheDatabase(t *testing.T) {
	t.Parallel()
	const near = 10 * time.Second // on a busy machine
	url := dbtest.Migrated(t)
	for _, ahead := range []time.Duration{0, time.Minute, -time.Hour} {
		d := dbtest.Skewed(t, url, ahead)
		joined(t, d, "node")
		if off := time.Since(d.Now()); off.Abs() > near {
			t.Errorf("a process %s ahead is %s behind", ahead, off)
		}
		if skew := d.Skew(); (skew - ahead).Abs() > near {
			t.Errorf("a process %s ahead says %s", ahead, skew)
		}
		// Numbers that order rows are by the same clock.
		if at := time.UnixMilli(d.NewNID()>>22 + 1704067200000); time.Since(at).Abs() > near {
			t.Errorf("a process %s ahead numbers rows as of %s", ahead, at)
		}
	}
	all, err := dbtest.Skewed(t, url, 0).Instances(t.Context())
	if err != nil || len(all) != 3 {
		t.Fatalf("Instances = %+v, %v; want three", all, err)
	}
	for _, ahead := range []time.Duration{0, time.Minute, -time.Hour} {
		if !slices.ContainsFunc(all, func(i db.Instance) bool { return (i.Skew - ahead).Abs() < near }) {
			t.Errorf("no row says that its process is %s ahead: %+v", ahead, all)
		}
	}
}
