package device

import (
	"math"
	"time"
)

// gapLimit is the longest time between two readings that is not a gap: one and
// a half intervals, since clocks and networks are not exact.
func gapLimit(interval time.Duration) int64 { return interval.Milliseconds() * 3 / 2 }

// gapBetween returns the gap between two consecutive readings; false when there
// is none.
func gapBetween(interval time.Duration, before, after int64) (Gap, bool) {
	if after-before <= gapLimit(interval) {
		return Gap{}, false
	}
	missing := math.Round(float64(after-before)/float64(interval.Milliseconds())) - 1
	return Gap{
		From: moment(before), To: moment(after), Seconds: float64(after-before) / 1000, Missing: max(1, int64(missing)),
	}, true
}

// newGaps returns the gaps that a batch of new times makes for a device that
// had readings from oldest to newest (both 0: none). Times between those fill
// or split existing gaps; only times outside make new ones. times are sorted.
func newGaps(interval time.Duration, times []int64, oldest, newest int64) []Gap {
	var gaps []Gap
	note := func(before, after int64) {
		if g, ok := gapBetween(interval, before, after); ok {
			gaps = append(gaps, g)
		}
	}
	for i, at := range times {
		switch {
		case oldest == 0 && i > 0:
			note(times[i-1], at)
		case oldest == 0, at >= oldest && at <= newest:
		case at < oldest:
			next := oldest
			if i+1 < len(times) {
				next = min(next, times[i+1])
			}
			note(at, next)
		default:
			before := newest
			if i > 0 {
				before = max(before, times[i-1])
			}
			note(before, at)
		}
	}
	return gaps
}

// completeness is the share of the expected readings between two moments that
// exist, 0 to 1.
func completeness(interval time.Duration, n int, from, to int64) float64 {
	expected := float64(to-from) / float64(interval.Milliseconds())
	if expected <= 1 {
		return round(min(1, float64(n)), 1000)
	}
	return round(min(1, float64(n)/math.Floor(expected)), 1000)
}
