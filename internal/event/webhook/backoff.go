package webhook

import "time"

const (
	firstDelay = 8 * time.Second
	longest    = 24 * time.Hour
	giveUp     = 72 * time.Hour // after the event was queued
)

// delay is how long to wait after a number of failed attempts: 8 s, then three
// times as long each time, at most a day; twelve attempts take just under
// three days. Up to a fifth is taken off by chance, in 0 to 1, so that
// receivers that failed together are not all tried together.
func delay(attempts int, chance float64) time.Duration {
	d := firstDelay
	for i := 1; i < attempts && d < longest; i++ {
		d *= 3
	}
	d = min(d, longest)
	return d - time.Duration(chance*0.2*float64(d))
}

// next returns when to try again after a failure, and false when it is time to
// give up. asked is the receiver's Retry-After.
func next(j job, now time.Time, limit int, asked time.Duration, chance float64) (time.Time, bool) {
	if j.attempts >= limit {
		return time.Time{}, false
	}
	at := now.Add(max(delay(j.attempts, chance), min(asked, longest)))
	if at.After(j.createdAt.Add(giveUp)) {
		return time.Time{}, false
	}
	return at, true
}
