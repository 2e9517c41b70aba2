package db

import (
	"cmp"
	"crypto/sha256"
	"slices"
	"strings"
)

// crew are the instances that share work, as of a beat: those that live and go on, in the
// order of their ids. One that stops leaves its share to the others.
type crew struct {
	ids   []string
	turns int64 // grows with each change
}

// set takes what a beat has told of the others.
func (c *crew) set(self Instance, others string) {
	ids := strings.Fields(others)
	if !self.Draining || len(ids) == 0 {
		ids = append(ids, self.ID)
	}
	slices.Sort(ids)
	if !slices.Equal(ids, c.ids) {
		c.ids, c.turns = ids, c.turns+1
	}
}

// Cares reports whether this instance is the one that cares for something named, of those
// that share work, each for about as many; when one comes or goes only what was its own
// changes hands. While nobody knows yet that one has come or gone there may be none, or two. On SQLite
// and before Join it is this one.
func Cares(d *DB, name string) bool {
	m := d.member.Load()
	if m == nil || d.dialect == SQLite {
		return true
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if d.silent(m) >= LiveFor {
		return false
	}
	return slices.MaxFunc(m.crew.ids, func(a, b string) int { return cmp.Compare(weight(a, name), weight(b, name)) }) == m.self.ID
}

// weight is how much an instance is for something: the heaviest cares for it.
func weight(id, name string) string {
	sum := sha256.Sum256([]byte(id + " " + name))
	return string(sum[:])
}

// CrewTurns is how often those who share work have changed: whoever sees another number
// looks at what it cares for now.
func CrewTurns(d *DB) int64 {
	m := d.member.Load()
	if m == nil {
		return 0
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.crew.turns
}
