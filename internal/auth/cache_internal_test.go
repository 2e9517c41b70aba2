package auth

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

func TestRecentIsBounded(t *testing.T) {
	t.Parallel()
	r := recent[int, int]{size: 10}
	for i := range 1000 {
		r.put(i, i)
		if v, ok := r.get(0); i < 5 && (!ok || v != 0) {
			t.Fatalf("get(0) = %d, %v after %d", v, ok, i)
		}
		if n := r.len(); n > 10 {
			t.Fatalf("%d entries after %d, want 10 at most", n, i)
		}
	}
	if _, ok := r.get(0); !ok {
		t.Error("the entry that was used all the time is gone")
	}
	if _, ok := r.get(1); ok {
		t.Error("an entry nobody used is still there")
	}
	r.put(999, 7)
	if v, _ := r.get(999); v != 7 {
		t.Errorf("get(999) = %d, want 7", v)
	}
	r.drop(999)
	if _, ok := r.get(999); ok {
		t.Error("a dropped entry is still there")
	}
}

// TestFlushDuringLookUp: a key that was read before a change and put after it
// must not be trusted.
func TestFlushDuringLookUp(t *testing.T) {
	t.Parallel()
	c := newCache(10, time.Minute, nil)
	now := time.Unix(1000, 0)
	era := c.begin()
	c.flush()
	c.put(&grant{hash: Digest{1}, loaded: now, era: era})
	if g, fresh := c.get(Digest{1}, now); g == nil || fresh {
		t.Errorf("get() = %v, fresh %v, want a known and stale grant", g, fresh)
	}
	c.put(&grant{hash: Digest{1}, loaded: now, era: c.begin()})
	if _, fresh := c.get(Digest{1}, now.Add(time.Minute-1)); !fresh {
		t.Error("a grant of less than a minute is stale")
	}
	if _, fresh := c.get(Digest{1}, now.Add(time.Minute)); fresh {
		t.Error("a grant of a minute is fresh")
	}
}

func TestStamp(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "stamp")
	here, there := stamp{path: path}, stamp{path: path}
	news := func() int {
		n := 0
		here.check(func() { n++ })
		return n
	}
	for _, step := range []struct {
		name string
		do   func() error
		want int
	}{
		{"no file yet", func() error { return nil }, 0},
		{"first change", there.touch, 1},
		{"nothing new", func() error { return nil }, 0},
		{"own change", here.touch, 1},
		{"nothing new again", func() error { return nil }, 0},
		{"file removed", func() error { return os.Remove(path) }, 1},
		{"made again", there.touch, 1},
		{"nothing new since", func() error { return nil }, 0},
		{"file replaced", func() error { return replace(path, "....") }, 1},
		{"grown since", there.touch, 1},
		{"removed again", func() error { return os.Remove(path) }, 1},
		{"unreadable", func() error { here.path = "bad\x00name"; return nil }, 1},
		{"still unreadable", func() error { return nil }, 1},
		{"no stamp", func() error { here.path = ""; return nil }, 0},
	} {
		if err := step.do(); err != nil {
			t.Fatalf("%s: %v", step.name, err)
		}
		if got := news(); got != step.want {
			t.Errorf("%s: %d changes seen, want %d", step.name, got, step.want)
		}
	}
	bad := stamp{path: filepath.Join(t.TempDir(), "no", "folder")}
	if bad.touch() == nil {
		t.Error("touch() in a missing folder = nil")
	}
}

// replace puts another file in the place of one, as a restore would.
func replace(path, content string) error {
	if err := os.WriteFile(path+".new", []byte(content), 0o600); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}

// BenchmarkStamp is what every request pays to see a key revoked elsewhere.
func BenchmarkStamp(b *testing.B) {
	s := stamp{path: filepath.Join(b.TempDir(), "stamp")}
	if err := s.touch(); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		s.check(func() {})
	}
}
