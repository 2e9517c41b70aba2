package survey

import (
	"math"
	"slices"
	"testing"

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
