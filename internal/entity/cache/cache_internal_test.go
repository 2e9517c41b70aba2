package cache

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
)

func TestCacheKeepsTheNewest(t *testing.T) {
	t.Parallel()
	r := New(dbtest.SQLite(t))
	n := Name{"ws", "did:ixo:x:1"}
	_, evicted, ok := r.Get(n)
	if ok {
		t.Fatal("an empty cache has a record")
	}
	r.Set(n, Record{Revision: 5, Body: []byte("five")})
	r.Put(n, Record{Revision: 4, Body: []byte("four")}, evicted) // was read before the commit of 5
	if got, _, _ := r.Get(n); got.Revision != 5 {
		t.Errorf("revision %d, want 5", got.Revision)
	}
	r.Set(n, Record{Revision: 3, Body: []byte("three")}) // its commit was before that of 5
	r.Put(n, Record{Revision: 6, Body: []byte("six")}, evicted)
	if got, _, _ := r.Get(n); got.Revision != 6 || string(got.Body) != "six" {
		t.Errorf("revision %d, want 6", got.Revision)
	}
	if _, _, ok := r.Get(Name{"other", n.DID}); ok {
		t.Error("another workspace has the record")
	}
	var none *Records
	none.Set(n, Record{})
	none.Put(n, Record{}, 0)
	if _, _, ok := none.Get(n); ok {
		t.Error("no cache has a record")
	}
}

// A record that had to go is not followed by an older one from a slow reader.
func TestCacheAfterEviction(t *testing.T) {
	t.Parallel()
	r := New(dbtest.SQLite(t))
	n := Name{"ws", "did:ixo:x:1"}
	_, evicted, _ := r.Get(n) // a reader has seen revision 1 and is slow
	r.Set(n, Record{Revision: 2, Body: make([]byte, 1000)})
	for i := 0; ; i++ {
		other := Name{"ws", fmt.Sprint("did:ixo:y:", i)}
		r.Set(other, Record{Revision: 1, Body: make([]byte, maxCached)})
		if _, _, ok := r.Get(n); !ok {
			break
		}
		if i == 100_000 {
			t.Fatal("nothing was evicted")
		}
	}
	r.Put(n, Record{Revision: 1, Body: []byte("old")}, evicted)
	if got, _, ok := r.Get(n); ok {
		t.Errorf("revision %d is back", got.Revision)
	}
	// A record that is too large goes without coming.
	_, evicted, _ = r.Get(n)
	r.Set(n, Record{Revision: 3, Body: make([]byte, maxCached+1)})
	r.Put(n, Record{Revision: 1, Body: []byte("old")}, evicted)
	if _, _, ok := r.Get(n); ok {
		t.Error("an old revision took the place of a large one")
	}
}

// The cache stays in its bounds.
func TestCacheBounds(t *testing.T) {
	t.Parallel()
	r := New(dbtest.SQLite(t))
	var wg sync.WaitGroup
	for w := range 8 {
		wg.Go(func() {
			for i := range 2000 {
				n := Name{"ws", strings.Repeat("x", w) + fmt.Sprint(i)}
				_, evicted, _ := r.Get(n)
				r.Put(n, Record{Revision: 1, Body: make([]byte, 1+i*50)}, evicted)
			}
		})
	}
	wg.Wait()
	for i := range r.shards {
		s, sum := &r.shards[i], 0
		for _, rec := range s.held {
			sum += len(rec.Body)
		}
		if sum != s.bytes || sum > shardBytes {
			t.Errorf("shard %d holds %d bytes and says %d, want at most %d", i, sum, s.bytes, shardBytes)
		}
	}
}
