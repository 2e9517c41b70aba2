package order

// Lowest keeps those that come first of all it is given, at most N.
type Lowest[T interface{ Compare(T) int }] struct {
	N    int
	kept []T // a heap with the last on top
}

// Kept are those that were kept, in no order. The slice stays with l.
func (l *Lowest[T]) Kept() []T { return l.kept }

// Last is the last of those that were kept, nil while there is room for more.
func (l *Lowest[T]) Last() *T {
	if len(l.kept) < l.N || l.N == 0 {
		return nil
	}
	return &l.kept[0]
}

// Add gives it one.
func (l *Lowest[T]) Add(v T) {
	i := len(l.kept)
	if i < l.N {
		l.kept = append(l.kept, v)
		for up := (i - 1) / 2; i > 0 && v.Compare(l.kept[up]) > 0; i, up = up, (up-1)/2 {
			l.kept[i] = l.kept[up]
		}
		l.kept[i] = v
		return
	}
	if last := l.Last(); last == nil || v.Compare(*last) >= 0 {
		return
	}
	for i = 0; ; {
		down := 2*i + 1
		if down+1 < len(l.kept) && l.kept[down+1].Compare(l.kept[down]) > 0 {
			down++
		}
		if down >= len(l.kept) || v.Compare(l.kept[down]) >= 0 {
			break
		}
		l.kept[i], i = l.kept[down], down
	}
	l.kept[i] = v
}
