package event

import (
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// TestHerald: the first event is told at once, a crowd together, the last for sure.
func TestHerald(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex // timers tell too
		var told []string
		h := newHerald(func(ws string) {
			mu.Lock()
			defer mu.Unlock()
			told = append(told, ws)
		})
		want := func(when string, list ...string) {
			t.Helper()
			synctest.Wait()
			mu.Lock()
			defer mu.Unlock()
			if !slices.Equal(told, list) {
				t.Errorf("%s told %q, want %q", when, told, list)
			}
		}
		h.tell("a")
		want("at once", "a")
		for range 100 {
			h.tell("a")
		}
		h.tell("b")
		want("of a crowd", "a", "b")
		time.Sleep(tellEvery)
		want("later", "a", "b", "a")
		time.Sleep(3 * tellEvery)
		want("of nothing new", "a", "b", "a")
		h.tell("a")
		h.tell("a")
		h.stop()
		want("at the end", "a", "b", "a", "a", "a")
		h.tell("a")
		want("after the end", "a", "b", "a", "a", "a", "a")
		time.Sleep(3 * tellEvery)
		want("long after", "a", "b", "a", "a", "a", "a")
	})
}
