package entity

import (
	"hash/maphash"
	"sync"

	"github.com/hearth-dmrv/hearth/internal/db"
)

const (
	recordShards = 16
	shardBytes   = 2 << 20   // of records in one shard
	maxCached    = 256 << 10 // bytes of one record
)

// cached is the part of a twin that a reader by DID needs.
type cached struct {
	project  string
	protocol string
	revision int64
	body     []byte // never changed
}

// recordName identifies a record.
type recordName struct{ workspace, did string }

// records keeps records of twins in memory. Reading one from SQLite costs as
// much as the rest of a request, and most reads are of few twins. It serves the
// single process that writes an SQLite store. On PostgreSQL other processes
// write too, so there is no such cache. The nil value keeps nothing.
//
// It is not a cache.Cache: a commit puts its record in, and the revision says
// which of two is newer, so no change has to drop anything.
type records struct {
	seed   maphash.Seed
	shards [recordShards]shard
}

type shard struct {
	mu    sync.Mutex
	held  map[recordName]cached
	bytes int
	// evicted counts removed records. A reader that read the store before a
	// removal must not put its record in: a newer one may have been removed.
	evicted uint64
}

// newRecords makes the cache of a store; nil when it must have none.
func newRecords(d *db.DB) *records {
	if d == nil || d.Dialect() != db.SQLite {
		return nil
	}
	r := &records{seed: maphash.MakeSeed()}
	for i := range r.shards {
		r.shards[i].held = map[recordName]cached{}
	}
	return r
}

func (r *records) shard(n recordName) *shard {
	return &r.shards[maphash.Comparable(r.seed, n)%recordShards]
}

// get finds a record. evicted is for the put that follows a miss.
func (r *records) get(n recordName) (found cached, evicted uint64, ok bool) {
	if r == nil {
		return cached{}, 0, false
	}
	s := r.shard(n)
	s.mu.Lock()
	defer s.mu.Unlock()
	found, ok = s.held[n]
	return found, s.evicted, ok
}

// put keeps a record that was read after get, unless it may be outdated.
func (r *records) put(n recordName, found cached, evicted uint64) {
	if r == nil {
		return
	}
	s := r.shard(n)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.evicted == evicted {
		s.keep(n, found)
	}
}

// set keeps a record that has just been stored. Call it after the commit and
// before the change is answered.
func (r *records) set(n recordName, stored cached) {
	if r == nil {
		return
	}
	s := r.shard(n)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.keep(n, stored)
}

// drop forgets a record whose twin is gone. Call it after the commit.
func (r *records) drop(n recordName) {
	if r == nil {
		return
	}
	s := r.shard(n)
	s.mu.Lock()
	defer s.mu.Unlock()
	if old, ok := s.held[n]; ok {
		s.forget(n, old)
	}
	s.evicted++ // a reader that saw it before must not put it back
}

// keep stores a record in place of an older one, and evicts others when there
// is no room. The caller holds the lock.
func (s *shard) keep(n recordName, found cached) {
	old, ok := s.held[n]
	if ok && old.revision >= found.revision {
		return
	}
	if ok {
		s.forget(n, old)
	}
	if len(found.body) > maxCached {
		s.evicted++
		return
	}
	for other, old := range s.held { // any other, in no order
		if s.bytes+len(found.body) <= shardBytes {
			break
		}
		s.forget(other, old)
		s.evicted++
	}
	s.held[n] = found
	s.bytes += len(found.body)
}

func (s *shard) forget(n recordName, old cached) {
	delete(s.held, n)
	s.bytes -= len(old.body)
}
