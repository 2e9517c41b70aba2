package job

import (
	"math/rand/v2"
	"time"
)

// The pause before another attempt: about a second, doubling each time, at
// most ten minutes.
const (
	firstPause   = time.Second
	longestPause = 10 * time.Minute
)

// backoff is the pause after the given attempt, counted from 1. Half of it is
// chance, so that jobs that failed together do not come back together.
func backoff(attempt int) time.Duration {
	d := longestPause
	if attempt < 11 { // 2^10 s is past the longest
		d = min(firstPause<<max(attempt-1, 0), longestPause)
	}
	return d/2 + rand.N(d/2+1)
}
