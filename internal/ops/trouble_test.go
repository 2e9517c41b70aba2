package ops_test

import (
	"testing"
	"time"

	"github.com/hearth-dmrv/hearth/api"
	"github.com/hearth-dmrv/hearth/internal/ops"
)

func TestTrouble(t *testing.T) {
	t.Parallel()
	var x ops.Trouble
	begin := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for i := range 250 {
		x.Note(api.Mishap{At: begin, Status: 500, DurationMS: int64(i)})
	}
	x.Note(api.Mishap{At: begin.Add(time.Minute), Status: 404})
	x.Note(api.Mishap{At: begin.Add(time.Minute), Status: 200})
	if got, want := x.Hour(begin.Add(2*time.Minute)), (api.HourCounts{Requests: 252, Refused: 1, Failed: 250}); got != want {
		t.Errorf("Hour() = %+v, want %+v", got, want)
	}
	if got, want := x.Hour(begin.Add(60*time.Minute+30*time.Second)), (api.HourCounts{Requests: 2, Refused: 1}); got != want {
		t.Errorf("Hour() an hour later = %+v, want %+v", got, want)
	}
	var seen []int64
	for below, pages := int64(0), 0; pages == 0 || below > 0; pages++ {
		items, next := x.List(below, 60)
		for _, m := range items {
			seen = append(seen, m.DurationMS)
		}
		below = next
	}
	if len(seen) != 200 || seen[0] != 249 || seen[199] != 50 {
		t.Errorf("%d mishaps, from %d to %d, want the last 200", len(seen), seen[0], seen[len(seen)-1])
	}
	if items, next := new(ops.Trouble).List(0, 10); len(items) != 0 || next != 0 {
		t.Errorf("List() of nothing = %v, %d", items, next)
	}
}

func TestDisk(t *testing.T) {
	t.Parallel()
	d := ops.DiskOf(t.TempDir())
	if d != nil && (d.FreeBytes <= 0 || d.TotalBytes < d.FreeBytes) {
		t.Errorf("DiskOf() = %+v", d)
	}
	if ops.DiskOf("/there/is/no/such/folder") != nil {
		t.Error("a folder that is not there has a disk")
	}
}
