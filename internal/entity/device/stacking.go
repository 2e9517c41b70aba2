package device

import (
	"cmp"
	"slices"

	"github.com/hearth-dmrv/hearth/internal/order"
)

// use is a time in which a stove was hot, as one of its monitors saw it. Times
// are in ms.
type use struct {
	device, stove string
	start, end    int64
}

// edge is the beginning or the end of a use.
type edge struct {
	at    int64
	begin bool
	u     *use
}

// edges lists beginnings and ends of uses, in order of time. At one moment
// beginnings come first, so that times which touch join.
func edges(uses []use) []edge {
	var out []edge
	for i := range uses {
		if u := &uses[i]; u.end > u.start {
			out = append(out, edge{u.start, true, u}, edge{u.end, false, u})
		}
	}
	order.Stable(out, func(a, b edge) int {
		if a.at == b.at && a.begin != b.begin {
			if a.begin {
				return -1
			}
			return 1
		}
		return cmp.Compare(a.at, b.at)
	})
	return out
}

// sweep walks over the edges of all uses and tracks which stoves are hot.
type sweep struct {
	hot    map[*use]bool
	stoves map[string]int // stove → monitors that see it hot
	begin  int64          // since when two are
	seen   []*use         // stoves that were hot since
	emit   func(Overlap)
}

// overlaps finds the times in which at least two different stoves were in use.
// Two monitors on one stove are one stove. Times that touch are one overlap.
func overlaps(uses []use) []Overlap {
	var out []Overlap
	s := sweep{hot: map[*use]bool{}, stoves: map[string]int{}, emit: func(o Overlap) { out = append(out, o) }}
	for _, e := range edges(uses) {
		if e.begin {
			s.start(e)
		} else {
			s.stop(e)
		}
	}
	return out
}

func (s *sweep) start(e edge) {
	s.hot[e.u] = true
	s.stoves[e.u.stove]++
	switch {
	case len(s.stoves) == 2 && s.stoves[e.u.stove] == 1:
		s.begin, s.seen = e.at, s.seen[:0]
		for u := range s.hot {
			s.seen = append(s.seen, u)
		}
	case len(s.stoves) >= 2:
		s.seen = append(s.seen, e.u)
	}
}

func (s *sweep) stop(e edge) {
	delete(s.hot, e.u)
	if s.stoves[e.u.stove]--; s.stoves[e.u.stove] > 0 {
		return
	}
	delete(s.stoves, e.u.stove)
	if len(s.stoves) != 1 || e.at == s.begin {
		return
	}
	o := Overlap{Start: moment(s.begin), End: moment(e.at), Minutes: round(float64(e.at-s.begin)/60_000, 100)}
	for _, u := range s.seen {
		if u.start < e.at && u.end > s.begin { // not those that only touch it
			o.Devices, o.Stoves = append(o.Devices, u.device), append(o.Stoves, u.stove)
		}
	}
	o.Devices, o.Stoves = set(o.Devices), set(o.Stoves)
	s.emit(o)
}

func set(texts []string) []string {
	slices.Sort(texts)
	return slices.Compact(texts)
}

const dayMS = 24 * 60 * 60 * 1000

// day is the number of the UTC day of a time.
func day(ms int64) int64 {
	d := ms / dayMS
	if ms%dayMS < 0 {
		d--
	}
	return d
}

// daysOf adds the UTC days of [start, end) to a set.
func daysOf(days map[int64]bool, start, end int64) {
	for d := day(start); d <= day(end-1); d++ {
		days[d] = true
	}
}

// daysOfSeveral counts the UTC days on which at least two stoves were in use,
// at once or not.
func daysOfSeveral(uses []use) int {
	seen := map[int64]string{}
	several := map[int64]bool{}
	for _, u := range uses {
		days := map[int64]bool{}
		daysOf(days, u.start, u.end)
		for d := range days {
			if first, ok := seen[d]; !ok {
				seen[d] = u.stove
			} else if first != u.stove {
				several[d] = true
			}
		}
	}
	return len(several)
}
