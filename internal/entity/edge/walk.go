package edge

import "errors"

// ErrTooFar says that a walk has met more twins than it may look at.
var ErrTooFar = errors.New("too many twins to look at")

// Reaches reports whether goal is start or one of those above it, where above
// lists the direct parents of a twin. It looks at no more than limit twins and
// returns ErrTooFar when they do not answer the question. Circles that are
// there already do not hold it up.
func Reaches(start, goal int64, limit int, above func(nid int64) ([]int64, error)) (bool, error) {
	seen := map[int64]bool{start: true}
	next := []int64{start}
	for len(next) > 0 {
		at := next[0]
		next = next[1:]
		if at == goal {
			return true, nil
		}
		if len(seen) > limit {
			return false, ErrTooFar
		}
		parents, err := above(at)
		if err != nil {
			return false, err
		}
		for _, p := range parents {
			if !seen[p] {
				seen[p] = true
				next = append(next, p)
			}
		}
	}
	return false, nil
}
