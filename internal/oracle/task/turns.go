package task

import (
	"strings"
	"sync"
)

const (
	// atOnce limits how many answers of tasks a process makes at once: users who are
	// present come first.
	atOnce = 16
	// ofKind limits those of owners with a key, and those of owners who sign: DIDs
	// cost nothing, so callers who sign must not keep all others waiting.
	ofKind = 12
	// ofOwner is how many are of one owner.
	ofOwner = 2
	// choice is how many tasks that are due are chosen from.
	choice = 256
	// remembered is how many owners are remembered to have had a turn.
	remembered = 10_000
)

// turns shares the places among owners: the owner whose last turn is longest ago is
// next.
type turns struct {
	mu    sync.Mutex
	held  map[string]int   // answers in the making, by owner
	kinds [2]int           // and by kind
	last  map[string]int64 // the turn an owner had last
	count int64
}

// kind is 1 of an owner who signs, 0 of one with a key.
func kind(user string) int {
	if strings.Contains(user, " ") {
		return 0
	}
	return 1
}

// open lists the kinds of owners that have room, the one with less in the making first,
// and the owners that have all they may have.
func (u *turns) open() (kinds []int, full []string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.kinds[0]+u.kinds[1] >= atOnce {
		return nil, nil
	}
	first := 0
	if u.kinds[1] < u.kinds[0] {
		first = 1
	}
	for _, k := range []int{first, 1 - first} {
		if u.kinds[k] < ofKind {
			kinds = append(kinds, k)
		}
	}
	for user, n := range u.held {
		if n >= ofOwner {
			full = append(full, user)
		}
	}
	return kinds, full
}

// pick is the task whose owner had a turn longest ago, of several the one due first.
func (u *turns) pick(due []dueTask) dueTask {
	u.mu.Lock()
	defer u.mu.Unlock()
	best := due[0]
	for _, d := range due[1:] {
		if u.last[d.user] < u.last[best.user] {
			best = d
		}
	}
	return best
}

// take gives an owner a turn; call the returned function when it is over.
func (u *turns) take(user string) (over func()) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if len(u.last) >= remembered {
		clear(u.last)
	}
	u.count++
	u.last[user] = u.count
	u.held[user]++
	u.kinds[kind(user)]++
	return func() {
		u.mu.Lock()
		defer u.mu.Unlock()
		u.kinds[kind(user)]--
		if u.held[user]--; u.held[user] == 0 {
			delete(u.held, user)
		}
	}
}
