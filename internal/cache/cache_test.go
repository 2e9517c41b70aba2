package cache_test

import (
	"fmt"
	"sync"
	"testing"

	"github.com/hearth-dmrv/hearth/internal/cache"
)

const limit = 1000

// value is what is kept here.
type value struct{ weight, revision int }

func newCache() *cache.Cache[string, *value] {
	return cache.New[string](cache.Config[*value]{
		Limit: limit, Weigh: func(v *value) int { return v.weight }, Older: func(next, kept *value) bool { return next.revision < kept.revision },
	})
}

func TestCache(t *testing.T) {
	t.Parallel()
	c := newCache()
	add := func(ws, name string, weight int) *value {
		v := &value{weight: weight}
		c.Put(ws, name, v, c.Begin(ws))
		return v
	}
	one := add("a", "1", 10)
	add("a", "2", 10)
	add("b", "1", 10)
	if c.Get("a", "1") != one || c.Get("b", "2") != nil || c.Get("x", "1") != nil || c.Weight() != 30 {
		t.Errorf("weight %d, want 30", c.Weight())
	}
	if add("a", "1", 30); c.Weight() != 50 {
		t.Errorf("weight %d after a change, want 50", c.Weight())
	}
	gen := c.Begin("a")
	if c.Drop("a"); c.Get("a", "1") != nil || c.Get("b", "1") == nil || c.Weight() != 10 {
		t.Errorf("weight %d after a drop, want 10", c.Weight())
	}
	if c.Put("a", "1", one, gen) || c.Get("a", "1") != nil {
		t.Error("what was read before a change came in after it")
	}
	gen = c.Begin("b")
	if c.Flush(); c.Weight() != 0 || c.Get("b", "1") != nil {
		t.Errorf("weight %d after a flush, want 0", c.Weight())
	}
	if c.Put("b", "1", one, gen) || c.Get("b", "1") != nil {
		t.Error("what was read before a flush came in after it")
	}
}

// There is never more than there is room for, and the newest is there.
func TestLimit(t *testing.T) {
	t.Parallel()
	c := newCache()
	for i := range 100 {
		ws, name := fmt.Sprint(i%7), fmt.Sprint(i)
		for range 2 { // again changes nothing
			c.Put(ws, name, &value{weight: limit / 10}, c.Begin(ws))
			if c.Get(ws, name) == nil || c.Weight() > limit {
				t.Fatalf("%d: weight %d, want at most %d and the newest", i, c.Weight(), limit)
			}
		}
	}
}

// What was read before a commit that somebody else has seen does not take its
// place.
func TestOlder(t *testing.T) {
	t.Parallel()
	c := newCache()
	for _, tt := range []struct{ revision, want int }{{2, 2}, {1, 2}, {2, 2}, {3, 3}} {
		c.Put("a", "1", &value{revision: tt.revision}, c.Begin("a"))
		if got := c.Get("a", "1").revision; got != tt.want {
			t.Errorf("after revision %d there is %d, want %d", tt.revision, got, tt.want)
		}
	}
}

func TestCrowd(t *testing.T) {
	t.Parallel()
	c := newCache()
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for n := range 200 {
				ws := fmt.Sprint((i + n) % 3)
				gen := c.Begin(ws)
				if v := c.Get(ws, "x"); v == nil {
					c.Put(ws, "x", &value{weight: n}, gen)
				}
				if n%10 == 0 {
					c.Drop(ws)
				}
			}
		})
	}
	wg.Wait()
	for i := range 3 {
		c.Drop(fmt.Sprint(i))
	}
	if c.Weight() != 0 {
		t.Errorf("weight %d of nothing", c.Weight())
	}
}
