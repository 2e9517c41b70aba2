package ucan

import (
	"encoding/binary"
	"strings"
	"testing"
)

func idOf(n int) (id cacheID) {
	binary.BigEndian.PutUint32(id[1:], uint32(n))
	return id
}

func TestCacheForgets(t *testing.T) {
	t.Parallel()
	c := newCache(10*2*cacheShards, 1<<30) // ten in a generation of a shard
	g := &Grant{}
	c.put(idOf(0), g, 100, 0)
	for n := 1; n < 1000; n++ {
		c.put(idOf(n), &Grant{}, 100, 0)
		if c.get(idOf(0), 50) != g {
			t.Fatalf("a token in use was forgotten after %d others", n)
		}
	}
	s := &c.shards[0]
	if got := len(s.young) + len(s.old); got > 20 {
		t.Errorf("%d entries, want at most 20", got)
	}
	if c.get(idOf(1), 50) != nil {
		t.Error("an entry of long ago is still there")
	}
	if c.get(idOf(999), 50) == nil {
		t.Error("the newest entry is not there")
	}
}

func TestCacheEnds(t *testing.T) {
	t.Parallel()
	c := newCache(100, 1<<30)
	c.put(idOf(1), &Grant{}, 100, 0)
	if c.get(idOf(1), 99) == nil || c.get(idOf(1), 100) != nil {
		t.Error("an entry must end at its second, not before and not after")
	}
}

func TestCacheWeighs(t *testing.T) {
	t.Parallel()
	const size = 10 << 10
	c := newCache(1<<20, 2*cacheShards*10*(entryWeight+3*size)) // ten of this size
	for n := range 1000 {
		c.put(idOf(n), &Grant{}, 100, size)
	}
	s := &c.shards[0]
	if got := len(s.young) + len(s.old); got > 20 {
		t.Errorf("%d heavy entries, want at most 20", got)
	}
}

func TestCacheKey(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 5000)
	seen := map[cacheID]bool{}
	for _, text := range []string{"", "a", long, long + "y"} {
		for _, purpose := range []byte{'a', 'd'} {
			seen[cacheKey(purpose, text)] = true
		}
	}
	if len(seen) != 8 {
		t.Errorf("%d keys for 8 pairs", len(seen))
	}
}

// TestCacheKeyAllocates nothing; it counts for the whole process and so does
// not run beside others.
func TestCacheKeyAllocates(t *testing.T) {
	text := strings.Repeat("x", 600)
	if allocs := testing.AllocsPerRun(100, func() { cacheKey('a', text) }); allocs != 0 {
		t.Errorf("a key costs %v allocations, want none", allocs)
	}
}
