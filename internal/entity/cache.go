package entity

import (
	"hash/maphash"
	"sync"

	"github.com/hearth-dmrv/hearth/internal/db"
)

// The cache of records. Reading one from SQLite costs as much as the rest of a
// request, and most reads are of few twins. It is for the one process that
// writes an SQLite store: on PostgreSQL others write too, and there is none.
const (
	cacheShards = 16
	shardBytes  = 2 << 20   // of records in one shard
	maxCached   = 256 << 10 // bytes of one record
)

// record is what a reader by DID needs of a twin.
type record struct {
	project  string
	revision int64
	body     []byte // never changed
}

type recordName struct{ ws, did string }

// records is the cache. The nil value caches nothing.
type records struct {
	seed   maphash.Seed
	shards [cacheShards]shard
}

type shard struct {
	mu    sync.Mutex
	held  map[recordName]record
	bytes int
	// evicted counts what had to go. A reader that looked at the store before
	// must not put what it found there: a newer one may be among them.
	evicted uint64
}

func newRecords(d *db.DB) *records {
	if d == nil || d.Dialect() != db.SQLite {
		return nil
	}
	r := &records{seed: maphash.MakeSeed()}
	for i := range r.shards {
		r.shards[i].held = map[recordName]record{}
	}
	return r
}

func (r *records) shard(n recordName) *shard {
	return &r.shards[maphash.Comparable(r.seed, n)%cacheShards]
}

// get finds a record. evicted is for the put that follows a miss.
func (r *records) get(n recordName) (found record, evicted uint64, ok bool) {
	if r == nil {
		return record{}, 0, false
	}
	s := r.shard(n)
	s.mu.Lock()
	defer s.mu.Unlock()
	found, ok = s.held[n]
	return found, s.evicted, ok
}

// put keeps a record that was read after get, unless it may be an old one.
func (r *records) put(n recordName, found record, evicted uint64) {
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
func (r *records) set(n recordName, stored record) {
	if r == nil {
		return
	}
	s := r.shard(n)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.keep(n, stored)
}

// keep takes a record in place of an older one, and of others when there is no
// room. The caller holds the lock.
func (s *shard) keep(n recordName, found record) {
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
	for other, old := range s.held { // some other, in no order
		if s.bytes+len(found.body) <= shardBytes {
			break
		}
		s.forget(other, old)
		s.evicted++
	}
	s.held[n] = found
	s.bytes += len(found.body)
}

func (s *shard) forget(n recordName, old record) {
	delete(s.held, n)
	s.bytes -= len(old.body)
}
