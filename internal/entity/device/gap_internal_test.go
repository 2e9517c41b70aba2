package device

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

const five = 5 * time.Minute

func TestGapBetween(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name    string
		apart   time.Duration
		ok      bool
		missing int64
	}{
		{"on time", five, false, 0},
		{"late", 7*time.Minute + 30*time.Second, false, 0},
		{"too late", 7*time.Minute + 30*time.Second + time.Millisecond, true, 1},
		{"one missing", 2 * five, true, 1},
		{"an hour", time.Hour, true, 11},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			g, ok := gapBetween(five, origin, origin+tt.apart.Milliseconds())
			if ok != tt.ok || g.Missing != tt.missing || ok && g.Seconds != tt.apart.Seconds() {
				t.Errorf("gapBetween() = %+v, %v, want %v with %d missing", g, ok, tt.ok, tt.missing)
			}
		})
	}
}

func gapsOf(times []int64) []Gap {
	var out []Gap
	for i := 1; i < len(times); i++ {
		if g, ok := gapBetween(five, times[i-1], times[i]); ok {
			out = append(out, g)
		}
	}
	return out
}

// What newGaps tells, batch by batch, are the gaps a device gets outside what
// it had; those it shows in the end were all told once, as they were or whole.
func TestNewGaps(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var all []int64
		for range rapid.IntRange(1, 6).Draw(t, "batches") {
			var batch []int64
			for range rapid.IntRange(1, 8).Draw(t, "n") {
				batch = append(batch, origin+rapid.Int64Range(0, 40).Draw(t, "at")*150_000)
			}
			slices.Sort(batch)
			batch = slices.Compact(batch)
			var oldest, newest int64
			if len(all) > 0 {
				oldest, newest = all[0], all[len(all)-1]
			}
			got := newGaps(five, batch, oldest, newest)
			all = append(all, batch...)
			slices.Sort(all)
			all = slices.Compact(all)
			var want []Gap
			for _, g := range gapsOf(all) {
				if oldest == 0 || g.From.UnixMilli() < oldest || g.To.UnixMilli() > newest {
					want = append(want, g)
				}
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Fatalf("gaps (-want +got):\n%s", diff)
			}
		}
	})
}

func TestCompleteness(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		n    int
		span time.Duration
		want float64
	}{
		{288, 24 * time.Hour, 1}, {144, 24 * time.Hour, 0.5}, {300, 24 * time.Hour, 1}, {0, 24 * time.Hour, 0}, {1, 0, 1}, {0, 0, 0}, {1, time.Second, 1},
	} {
		if got := completeness(five, tt.n, origin, origin+tt.span.Milliseconds()); got != tt.want {
			t.Errorf("completeness(%d in %s) = %v, want %v", tt.n, tt.span, got, tt.want)
		}
	}
}
