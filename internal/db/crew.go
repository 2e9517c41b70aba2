package db

import (
	"cmp"
	"crypto/sha256"
	"slices"
	"strings"
)

// crew is the instances that share work, as of a heartbeat: those that are live and not
// stopping, in the order of their ids. One that stops leaves its share to the others.
type crew struct {
	ids   []string
	turns int64 // grows with each change
}

// set takes the other instances from a heartbeat.
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

// Cares reports whether this instance is responsible for something named. The instances
// that share work are each responsible for about as many names; when one comes or goes
// only its own names move. Until all know of the change a name may have none, or two. On
// SQLite and before Join it is this one.
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

// CrewTurns counts how often the instances that share work have changed: when the
// number differs, look again at what this one is responsible for.
func CrewTurns(d *DB) int64 {
	m := d.member.Load()
	if m == nil {
		return 0
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.crew.turns
}
