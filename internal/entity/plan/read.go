package plan

import (
	"cmp"
	"context"
	"slices"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/entity/edge"
	"github.com/hearth-dmrv/hearth/internal/entity/link"
	"github.com/hearth-dmrv/hearth/internal/entity/twin"
)

// First reads the edges a record shows, oldest first, and whether there are
// more.
func First(ctx context.Context, q db.Querier, nid int64) ([]twin.Relationship, bool, error) {
	out, err := link.Out.List(ctx, q, nid, 0, twin.MaxRelations+1)
	if err != nil {
		return nil, false, err
	}
	in, err := link.Mirrored.List(ctx, q, nid, 0, twin.MaxRelations+1)
	if err != nil {
		return nil, false, err
	}
	all := append(out, in...)
	slices.SortFunc(all, func(a, b link.Link) int { return cmp.Compare(a.NID, b.NID) })
	more := len(all) > twin.MaxRelations
	all = all[:min(len(all), twin.MaxRelations)]
	list := make([]twin.Relationship, len(all))
	for i := range all {
		list[i] = Shown(&all[i], all[i].Src != nid)
	}
	return list, more, nil
}

// CountAll counts the edges of a twin that hold at a moment, in ms, under words
// it needs, each up to what is enough.
func CountAll(ctx context.Context, q db.Querier, nid int64, words map[string]int, now int64) (map[string]int, error) {
	out := map[string]int{}
	for word, least := range words {
		c := link.Count{Role: word, Most: least, Now: now}
		n, err := c.Out(ctx, q, nid)
		if err != nil {
			return nil, err
		}
		if rule, inverse, ok := edge.Of(word); ok && inverse && n < least {
			c.Role = rule.Role
			in, err := c.In(ctx, q, nid)
			if err != nil {
				return nil, err
			}
			n += in
		}
		out[word] = n
	}
	return out, nil
}
