package db

import (
	"math/rand/v2"
	"sync"
	"time"

	"github.com/google/uuid"
)

// NewID makes a UUIDv7: unique everywhere and ordered by time.
func NewID() string {
	return uuid.Must(uuid.NewV7()).String()
}

// A nid is 41 bits of milliseconds since 2024, 10 bits of instance and 12 bits
// of count: positive, enough until 2093.
const (
	nidEpoch     = 1704067200000 // 2024-01-01 UTC
	instanceBits = 10
	countBits    = 12
	maxInstance  = 1<<instanceBits - 1
	countMask    = 1<<countBits - 1
)

// nids makes nids, each larger than the one before.
type nids struct {
	mu       sync.Mutex
	now      func() time.Time
	tick     int64 // milliseconds since nidEpoch, times 4096, plus count
	instance int64
}

// newNIDs starts a sequence for an instance, a random one for 0.
func newNIDs(instance int) *nids {
	if instance <= 0 || instance > maxInstance {
		instance = rand.IntN(maxInstance) + 1
	}
	return &nids{now: time.Now, instance: int64(instance)}
}

// NewNID makes a time-ordered 63-bit number for keysets. Within a process each
// is larger than the one before, even when the clock steps back; processes on
// the same store have different instance bits.
func (d *DB) NewNID() int64 { return d.nids.next() }

// NIDAt is less than every nid of a moment or a later one, and not less than
// earlier ones.
func NIDAt(t time.Time) int64 {
	return min(max(t.UnixMilli()-nidEpoch, 0), 1<<41-1) << (instanceBits + countBits)
}

// NIDTime is the moment of a nid.
func NIDTime(nid int64) time.Time {
	return time.UnixMilli(nid>>(instanceBits+countBits) + nidEpoch)
}

func (n *nids) next() int64 {
	n.mu.Lock()
	defer n.mu.Unlock()
	// When one millisecond runs out of counts, the tick borrows from the next.
	n.tick = max(n.tick+1, (n.now().UnixMilli()-nidEpoch)<<countBits)
	return n.tick>>countBits<<(instanceBits+countBits) | n.instance<<countBits | n.tick&countMask
}

// setInstance changes the instance bits. Order is kept: the next number starts
// a new millisecond.
func (n *nids) setInstance(i int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.instance != int64(i) {
		n.tick |= countMask
		n.instance = int64(i)
	}
}
