package survey

import (
	"math"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// TestMedianOfBuckets: whatever lengths there are, the median of their buckets is
// within a bucket of theirs.
func TestMedianOfBuckets(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		all := rapid.SliceOfN(rapid.Float64Range(1, 1e6), LeastOfSurvey, 200).Draw(t, "lengths")
		var h histogram
		for _, seconds := range all {
			b := bucketOf(seconds)
			if whole := math.Floor(seconds); bucketBounds[b] > whole || b+1 < buckets && bucketBounds[b+1] <= whole {
				t.Fatalf("%g s are in bucket %d, which begins at %g", seconds, b, bucketBounds[b])
			}
			h[b]++
		}
		slices.Sort(all)
		low, high := all[(len(all)-1)/2], all[len(all)/2]
		if got := h.median(LeastOfSurvey); got < math.Floor(low)/bucketStep-1e-9 || got > (high+1)*bucketStep {
			t.Fatalf("median = %g, want about %g to %g", got, low, high)
		}
		if got := h.median(int64(len(all)) + 1); got != 0 {
			t.Fatalf("median of too few = %g, want 0", got)
		}
	})
	for seconds, want := range map[float64]int{0: -1, 0.9: -1, 1: 0, 1.05: 0, 2: 7, math.MaxFloat64: buckets - 1} {
		if got := bucketOf(seconds); got != want {
			t.Errorf("bucketOf(%g) = %d, want %d", seconds, got, want)
		}
	}
}

func TestPacesAreKeptForAMoment(t *testing.T) {
	t.Parallel()
	var kept paces
	now := time.Unix(1_800_000_000, 0)
	kept.put(1, "ann", Pace{Median: 900}, now.Add(paceKept))
	for _, c := range []struct {
		name      string
		survey    int64
		collector string
		at        time.Time
		want      bool
	}{
		{"at once", 1, "ann", now, true},
		{"when it is over", 1, "ann", now.Add(paceKept), false},
		{"another survey", 2, "ann", now, false},
		{"another collector", 1, "ben", now, false},
	} {
		if p, ok := kept.get(c.survey, c.collector, c.at); ok != c.want || ok && p.Median != 900 {
			t.Errorf("%s: %v, %t", c.name, p, ok)
		}
	}
	for n := range int64(2 * mostPaces) {
		kept.put(n, "", Pace{}, now)
	}
	if len(kept.kept) > mostPaces {
		t.Errorf("%d paces are kept, at most %d", len(kept.kept), mostPaces)
	}
}
