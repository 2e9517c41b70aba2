package index

import (
	"maps"
	"slices"
)

// Difference is what is in now and was not, and what was and is not any more.
func Difference[T comparable](now, was []T) (added, dropped []T) {
	for _, v := range now {
		if !slices.Contains(was, v) {
			added = append(added, v)
		}
	}
	for _, v := range was {
		if !slices.Contains(now, v) {
			dropped = append(dropped, v)
		}
	}
	return added, dropped
}

// NamesOf lists external ids in one order, so that writers lock them in it.
func NamesOf(ids map[string]string) []Name {
	var out []Name
	for _, scheme := range slices.Sorted(maps.Keys(ids)) {
		out = append(out, Name{Scheme: scheme, Value: ids[scheme]})
	}
	return out
}
