package entity

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
)

func TestRecordsKeepsTheNewest(t *testing.T) {
	t.Parallel()
	r := newRecords(dbtest.SQLite(t))
	n := recordName{"ws", "did:ixo:x:1"}
	_, evicted, ok := r.get(n)
	if ok {
		t.Fatal("an empty cache has a record")
	}
	r.set(n, cached{revision: 5, body: []byte("five")})
	r.put(n, cached{revision: 4, body: []byte("four")}, evicted) // was read before the commit of 5
	if got, _, _ := r.get(n); got.revision != 5 {
		t.Errorf("revision %d, want 5", got.revision)
	}
	r.set(n, cached{revision: 3, body: []byte("three")}) // its commit was before that of 5
	r.put(n, cached{revision: 6, body: []byte("six")}, evicted)
	if got, _, _ := r.get(n); got.revision != 6 || string(got.body) != "six" {
		t.Errorf("revision %d, want 6", got.revision)
	}
	if _, _, ok := r.get(recordName{"other", n.did}); ok {
		t.Error("another workspace has the record")
	}
	var none *records
	none.set(n, cached{})
	none.put(n, cached{}, 0)
	if _, _, ok := none.get(n); ok {
		t.Error("no cache has a record")
	}
}

// A record that had to go is not followed by an older one from a slow reader.
func TestRecordsAfterEviction(t *testing.T) {
	t.Parallel()
	r := newRecords(dbtest.SQLite(t))
	n := recordName{"ws", "did:ixo:x:1"}
	_, evicted, _ := r.get(n) // a reader has seen revision 1 and is slow
	r.set(n, cached{revision: 2, body: make([]byte, 1000)})
	for i := 0; ; i++ {
		other := recordName{"ws", fmt.Sprint("did:ixo:y:", i)}
		r.set(other, cached{revision: 1, body: make([]byte, maxCached)})
		if _, _, ok := r.get(n); !ok {
			break
		}
		if i == 100_000 {
			t.Fatal("nothing was evicted")
		}
	}
	r.put(n, cached{revision: 1, body: []byte("old")}, evicted)
	if got, _, ok := r.get(n); ok {
		t.Errorf("revision %d is back", got.revision)
	}
	// A record that is too large goes without coming.
	_, evicted, _ = r.get(n)
	r.set(n, cached{revision: 3, body: make([]byte, maxCached+1)})
	r.put(n, cached{revision: 1, body: []byte("old")}, evicted)
	if _, _, ok := r.get(n); ok {
		t.Error("an old revision took the place of a large one")
	}
}

// The cache stays in its bounds.
func TestRecordsBounds(t *testing.T) {
	t.Parallel()
	r := newRecords(dbtest.SQLite(t))
	var wg sync.WaitGroup
	for w := range 8 {
		wg.Go(func() {
			for i := range 2000 {
				n := recordName{"ws", strings.Repeat("x", w) + fmt.Sprint(i)}
				_, evicted, _ := r.get(n)
				r.put(n, cached{revision: 1, body: make([]byte, 1+i*50)}, evicted)
			}
		})
	}
	wg.Wait()
	for i := range r.shards {
		s, sum := &r.shards[i], 0
		for _, rec := range s.held {
			sum += len(rec.body)
		}
		if sum != s.bytes || sum > shardBytes {
			t.Errorf("shard %d holds %d bytes and says %d, want at most %d", i, sum, s.bytes, shardBytes)
		}
	}
}
