package webhook

import (
	"context"
	"slices"
	"sync"
)

// slots are the attempts that may be under way at once, in all and by
// workspace. Who has to wait is served by workspace: the one with the fewest
// under way comes first, so that nobody's silent receivers hold up others.
type slots struct {
	mu        sync.Mutex
	all, each int // limits
	used      int
	spaces    map[string]*space // of those who have or want one
	line      []*space          // those with somebody waiting, the longest first
}

// space is one workspace at the slots.
type space struct {
	used  int
	queue []chan struct{} // closed when a slot is theirs
}

func newSlots(all, each int) *slots {
	return &slots{all: all, each: each, spaces: map[string]*space{}}
}

// take gives up to want slots, as many as are free; when none is it waits for
// one. Give them back with give.
func (s *slots) take(ctx context.Context, ws string, want int) (n int, waited bool, err error) {
	if err := ctx.Err(); err != nil {
		return 0, false, err
	}
	s.mu.Lock()
	sp := s.spaces[ws]
	if sp == nil {
		sp = &space{}
		s.spaces[ws] = sp
	}
	// While somebody waits whom a slot would suit there is none free.
	if n := min(s.all-s.used, s.each-sp.used, want); n > 0 {
		s.used += n
		sp.used += n
		s.mu.Unlock()
		return n, false, nil
	}
	mine := make(chan struct{})
	if sp.queue = append(sp.queue, mine); len(sp.queue) == 1 {
		s.line = append(s.line, sp)
	}
	s.mu.Unlock()
	select {
	case <-mine:
		return 1, true, nil
	case <-ctx.Done():
		s.leave(ws, mine)
		return 0, true, ctx.Err()
	}
}

// leave takes one who waits out of the line, or gives back what it just got.
func (s *slots) leave(ws string, mine chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	sp := s.spaces[ws]
	if i := slices.Index(sp.queue, mine); i < 0 {
		s.free(ws, 1)
		return
	} else if sp.queue = slices.Delete(sp.queue, i, i+1); len(sp.queue) == 0 {
		s.line = slices.DeleteFunc(s.line, func(o *space) bool { return o == sp })
	}
	s.forget(ws)
}

// give takes n slots of a workspace back.
func (s *slots) give(ws string, n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.free(ws, n)
}

func (s *slots) free(ws string, n int) {
	s.used -= n
	s.spaces[ws].used -= n
	for s.used < s.all {
		i := s.next()
		if i < 0 {
			break
		}
		sp := s.line[i]
		s.line = slices.Delete(s.line, i, i+1)
		close(sp.queue[0])
		if sp.queue = sp.queue[1:]; len(sp.queue) > 0 {
			s.line = append(s.line, sp)
		}
		s.used++
		sp.used++
	}
	s.forget(ws)
}

// next is the place in line of whose turn it is, -1 when all are at their
// limit.
func (s *slots) next() int {
	best := -1
	for i, sp := range s.line {
		if sp.used < s.each && (best < 0 || sp.used < s.line[best].used) {
			best = i
		}
	}
	return best
}

func (s *slots) forget(ws string) {
	if sp := s.spaces[ws]; sp.used == 0 && len(sp.queue) == 0 {
		delete(s.spaces, ws)
	}
}
