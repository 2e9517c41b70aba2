package web

import (
	"cmp"
	"context"
	"slices"

	"github.com/hearth-dmrv/hearth/api"
	"github.com/hearth-dmrv/hearth/internal/order"
)

// Mark is a position on a time line: below a moment in ms and, at the moment
// itself, below a key of two parts.
type Mark struct {
	At  int64 `json:"t"`
	Key int64 `json:"k"`
	Sub int64 `json:"u,omitzero"`
}

// Look is a query to an area: what happened to a twin before a mark.
type Look struct {
	DID   string
	NID   int64 // number of the twin
	Below Mark
	Limit int
}

// Happening is an item of a time line. Its mark distinguishes it from all others of
// the same source; its time is that of the item. A hidden one keeps its position but
// is not shown: the caller may not see it, or another item represents it.
type Happening struct {
	api.TimelineItem
	Mark   Mark
	Hidden bool
}

// Happenings returns what happened to a twin, newest first: at most as many as
// requested, and fewer only at the end.
type Happenings func(ctx context.Context, l Look) ([]Happening, error)

// Compare orders marks, the newest first.
func (m Mark) Compare(other Mark) int {
	return cmp.Or(cmp.Compare(other.At, m.At), cmp.Compare(other.Key, m.Key), cmp.Compare(other.Sub, m.Sub))
}

// Below answers a look from a short, unordered list.
func Below(all []Happening, l Look) []Happening {
	all = slices.DeleteFunc(all, func(h Happening) bool { return h.Mark.Compare(l.Below) <= 0 })
	order.Sort(all, func(a, b Happening) int { return a.Mark.Compare(b.Mark) })
	return all[:min(l.Limit, len(all))]
}
