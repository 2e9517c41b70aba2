// Package cache keeps records of twins in memory. Reading one from SQLite costs
// as much as the rest of a request, and most reads are of few twins. It is for
// the one process that writes an SQLite store: on PostgreSQL others write too,
// and there is none.
package cache

import (
	"hash/maphash"
	"sync"

	"github.com/hearth-dmrv/hearth/internal/db"
)

const (
	cacheShards = 16
	shardBytes  = 2 << 20   // of records in one shard
	maxCached   = 256 << 10 // bytes of one record
)

// Record is what a reader by DID needs of a twin.
type Record struct {
	Project  string
	Protocol string
	Revision int64
	Body     []byte // never changed
}

// Name is where a record is found.
type Name struct{ Workspace, DID string }

// Records is the cache. The nil value caches nothing.
type Records struct {
	seed   maphash.Seed
	shards [cacheShards]shard
}

type shard struct {
	mu    sync.Mutex
	held  map[Name]Record
	bytes int
	// evicted counts what had to go. A reader that looked at the store before
	// must not put what it found there: a newer one may be among them.
	evicted uint64
}

// New makes the cache of a store; nil when it must have none.
func New(d *db.DB) *Records {
	if d == nil || d.Dialect() != db.SQLite {
		return nil
	}
	r := &Records{seed: maphash.MakeSeed()}
	for i := range r.shards {
		r.shards[i].held = map[Name]Record{}
	}
	return r
}

func (r *Records) shard(n Name) *shard {
	return &r.shards[maphash.Comparable(r.seed, n)%cacheShards]
}

// Get finds a record. evicted is for the Put that follows a miss.
func (r *Records) Get(n Name) (found Record, evicted uint64, ok bool) {
	if r == nil {
		return Record{}, 0, false
	}
	s := r.shard(n)
	s.mu.Lock()
	defer s.mu.Unlock()
	found, ok = s.held[n]
	return found, s.evicted, ok
}

// Put keeps a record that was read after Get, unless it may be an old one.
func (r *Records) Put(n Name, found Record, evicted uint64) {
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

// Set keeps a record that has just been stored. Call it after the commit and
// before the change is answered.
func (r *Records) Set(n Name, stored Record) {
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
func (s *shard) keep(n Name, found Record) {
	old, ok := s.held[n]
	if ok && old.Revision >= found.Revision {
		return
	}
	if ok {
		s.forget(n, old)
	}
	if len(found.Body) > maxCached {
		s.evicted++
		return
	}
	for other, old := range s.held { // some other, in no order
		if s.bytes+len(found.Body) <= shardBytes {
			break
		}
		s.forget(other, old)
		s.evicted++
	}
	s.held[n] = found
	s.bytes += len(found.Body)
}

func (s *shard) forget(n Name, old Record) {
	delete(s.held, n)
	s.bytes -= len(old.Body)
}
