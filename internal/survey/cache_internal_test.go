package survey

import (
	"fmt"
	"testing"
)

func TestCache(t *testing.T) {
	t.Parallel()
	c := newCache()
	add := func(ws, id string, weight int) *Open {
		o := &Open{Workspace: ws, SurveyID: id, weight: weight}
		c.put(o, c.begin(ws))
		return o
	}
	one := add("a", "1", 10)
	add("a", "2", 10)
	add("b", "1", 10)
	if c.get("a", "1") != one || c.get("b", "2") != nil || c.size != 30 {
		t.Errorf("size %d, want 30", c.size)
	}
	if add("a", "1", 30); c.size != 50 {
		t.Errorf("size %d after a change, want 50", c.size)
	}
	gen := c.begin("a")
	if c.drop("a"); c.get("a", "1") != nil || c.get("b", "1") == nil || c.size != 10 {
		t.Errorf("size %d after a drop, want 10", c.size)
	}
	if c.put(one, gen); c.get("a", "1") != nil {
		t.Error("what was read before a change came in after it")
	}
	for i := range 100 { // never more than there is room for
		if add("c", fmt.Sprint(i), maxCached/10); c.size > maxCached {
			t.Fatalf("size %d, want at most %d", c.size, maxCached)
		}
	}
	if c.get("c", "99") == nil {
		t.Error("the newest is gone")
	}
	gen = c.begin("c")
	if c.flush(); c.size != 0 || c.get("c", "99") != nil {
		t.Errorf("size %d after a flush", c.size)
	}
	if c.put(&Open{Workspace: "c", SurveyID: "x"}, gen); c.get("c", "x") != nil {
		t.Error("what was read before a flush came in after it")
	}
}
