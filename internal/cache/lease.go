package cache

import (
	"sync/atomic"
	"time"
)

// LeaseTime is how long cached values may be used without news. A change to a
// row that a silent process may have cached waits as long.
const LeaseTime = 3 * time.Second

// Lease says whether the caches of a process may be used: as long as it has
// heard of others' changes. Where there are no other processes, it is nil and
// always holds. A Lease that was never renewed does not hold.
type Lease struct {
	began atomic.Pointer[time.Time] // when the newest news was asked for
}

// Held reports whether cached values may be used now.
func (l *Lease) Held() bool { return l == nil || l.heldAt(time.Now()) }

// heldAt looks at both clocks: the one that only runs forward stands still while
// a machine sleeps, and the one of the wall can be set.
func (l *Lease) heldAt(now time.Time) bool {
	began := l.began.Load()
	if began == nil {
		return false
	}
	wall := now.Round(0).Sub(began.Round(0)).Abs()
	return now.Sub(*began) < LeaseTime && wall < LeaseTime
}

// Renew lets the lease hold from the moment at which news were requested. If it
// does not hold, drop the caches before.
func (l *Lease) Renew(began time.Time) { l.began.Store(&began) }
