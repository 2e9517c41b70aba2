package db

import (
	"sync"
	"time"
)

// clock is the clock of the database as this process knows it: a moment that the
// database named, and the time since by our own monotonic clock. Wrong wall
// clocks and their steps do not touch it.
type clock struct {
	local func() time.Time

	mu   sync.Mutex
	base time.Time // what the database said; zero when it has no clock of its own
	at   time.Time // local, when it said so
}

// now is the time of the database, to our best knowledge.
func (c *clock) now() time.Time {
	local := c.local()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.base.IsZero() {
		return local
	}
	return c.base.Add(local.Sub(c.at))
}

// heard records the database's time between two local times. The error is at
// most half the round trip, so our estimate stays when it fits.
func (c *clock) heard(said, asked, answered time.Time) {
	trip := answered.Sub(asked)
	at := asked.Add(trip / 2)
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.base.IsZero() {
		if off := c.base.Add(at.Sub(c.at)).Sub(said); off.Abs() <= trip/2+time.Millisecond {
			return
		}
	}
	c.base, c.at = said.UTC(), at
}

// skew is how far the wall clock of this process is ahead of the database's.
func (c *clock) skew() time.Duration {
	now := c.now()
	return c.local().Round(0).Sub(now.Round(0))
}

// Now is the time by the clock of the database, which all instances share. Leases,
// heartbeats and due times use it, so a server with a wrong clock does no harm to
// others. On SQLite, and without a store, it is our own clock.
func (d *DB) Now() time.Time {
	if d == nil || d.dialect == SQLite {
		return time.Now()
	}
	return d.clock.now()
}

// Clock returns now, or the clock of the database if that is nil: the default of
// services.
func Clock(d *DB, now func() time.Time) func() time.Time {
	if now == nil {
		return d.Now
	}
	return now
}

// Skew is how far the clock of this process is ahead of the database's, 0 on
// SQLite.
func (d *DB) Skew() time.Duration {
	if d.dialect == SQLite {
		return 0
	}
	return d.clock.skew()
}
