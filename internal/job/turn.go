package job

import "cmp"

// turns chooses the kind whose job begins next, so that a long queue of one
// kind holds up no other.
type turns struct {
	most   int // jobs of one kind at once: a worker is left for the others
	busy   int
	starts int
	kinds  map[string]*standing // of the handlers
}

// standing is what a kind has had.
type standing struct {
	running int
	last    int // the number of its last start; 0 before the first
}

func newTurns(cfg RunnerConfig) turns {
	t := turns{most: max(1, cfg.Workers-1), kinds: map[string]*standing{}}
	for kind := range cfg.Handlers {
		t.kinds[kind] = &standing{}
	}
	return t
}

// next chooses from the kinds that have room and open jobs. Of those that are
// due it is the one with the fewest jobs at work, and of these the one that
// began one longest ago: a kind with none at work is next after as many starts
// as there are kinds. When none is due it is the one that will be first.
func (t *turns) next(due map[string]int64, now int64) (kind string, at int64, any bool) {
	for k, d := range due {
		s := t.kinds[k]
		if s == nil || s.running >= t.most {
			continue
		}
		if !any || t.before(k, max(d, now), kind, max(at, now)) < 0 {
			kind, at, any = k, d, true
		}
	}
	return kind, at, any
}

// before compares two kinds by when they may begin, and then by their turn.
func (t *turns) before(a string, atA int64, b string, atB int64) int {
	x, y := t.kinds[a], t.kinds[b]
	return cmp.Or(cmp.Compare(atA, atB), cmp.Compare(x.running, y.running), cmp.Compare(x.last, y.last), cmp.Compare(a, b))
}

// begin notes that a job of a kind has begun.
func (t *turns) begin(kind string) {
	t.busy++
	t.kinds[kind].running++
	t.starts++
	t.kinds[kind].last = t.starts
}

// end notes that a job of a kind has ended.
func (t *turns) end(kind string) {
	t.busy--
	t.kinds[kind].running--
}
