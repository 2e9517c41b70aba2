package account

import (
	"math"
	"time"
)

// The rule of lockouts: three wrong tries lock for 15 minutes, three more for
// 30, and after nine only an operator unlocks.
const (
	triesPerLock = 3
	triesInAll   = 9
	firstLock    = 15 * time.Minute
)

// numberMemory is how long wrong tries of a number on ids that are not
// registered with it count when no more come. Families and agents share
// numbers, and nobody's right PIN may clear what was tried on other accounts.
// The tries on an account count until its owner logs in.
const numberMemory = 24 * time.Hour

// unknownMemory is how long tries on a customer id nobody has are kept. It is
// long, so that such an id behaves like an existing one.
const unknownMemory = 90 * 24 * time.Hour

// forever is the end of a lock that only an operator opens.
const forever = math.MaxInt64

// lock counts the wrong tries on a customer id, or from a number. Times are in
// milliseconds.
type lock struct {
	wrong int64
	until int64 // closed before this time; forever when blocked
	last  int64 // the last wrong try
}

func (l lock) blocked() bool { return l.until == forever }

func (l lock) closed(now time.Time) bool { return l.until > now.UnixMilli() }

// fail is l after one more wrong try.
func (l lock) fail(now time.Time) lock {
	l.wrong, l.last = l.wrong+1, now.UnixMilli()
	switch {
	case l.wrong >= triesInAll:
		l.until = forever
	case l.wrong%triesPerLock == 0:
		l.until = now.Add(firstLock << (l.wrong/triesPerLock - 1)).UnixMilli()
	}
	return l
}

// left is how many wrong tries there are until the next lock.
func (l lock) left() int64 { return triesPerLock - l.wrong%triesPerLock }

// minutes is how long l stays closed, rounded up.
func (l lock) minutes(now time.Time) int64 {
	return (l.until - now.UnixMilli() + 59_999) / 60_000
}

// faded is l as it counts now for a number.
func (l lock) faded(now time.Time) lock {
	if !l.closed(now) && now.Sub(time.UnixMilli(l.last)) > numberMemory {
		return lock{}
	}
	return l
}

// without is the lock of a number after the right PIN of an account: the wrong
// tries on that account were slips of its owner and no longer count.
func (l lock) without(slips lock) lock {
	l.wrong = max(0, l.wrong-slips.wrong)
	if l.wrong < triesPerLock && !l.blocked() {
		l.until = 0
	}
	return l
}
