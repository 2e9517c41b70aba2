package once

import (
	"encoding/binary"
	"sync/atomic"

	"github.com/hearth-dmrv/hearth/internal/db"
)

// seenKeys is how many keys are remembered, 8 bytes each.
const seenKeys = 1 << 13

// seen remembers recently used keys. Most keys are new, and looking for the
// answer of a new one costs a read; but an answer that is requested again and
// again must not occupy the one writer. So the store is read first only for
// keys in seen; the insert finds out about the others. A key that was dropped,
// or never seen by this process, costs a transaction that changes nothing.
//
// On PostgreSQL, where many processes write and the second waits for the first,
// it is nil: every key may exist.
type seen struct{ tags [seenKeys]atomic.Uint64 }

func newSeen(d *db.DB) *seen {
	if d.Dialect() != db.SQLite {
		return nil
	}
	return &seen{}
}

// maybe reports whether the answer for n may be stored.
func (s *seen) maybe(n name) bool {
	if s == nil {
		return true
	}
	slot, tag := s.place(n)
	return slot.Load() == tag
}

// note remembers n.
func (s *seen) note(n name) {
	if s == nil {
		return
	}
	slot, tag := s.place(n)
	slot.Store(tag)
}

// place is where n is remembered, and as what. The hash of a key is as good as
// random, and callers cannot aim at each other: it covers who they are.
func (s *seen) place(n name) (*atomic.Uint64, uint64) {
	return &s.tags[binary.LittleEndian.Uint16(n.key[8:])%seenKeys], binary.LittleEndian.Uint64(n.key[:]) | 1
}
