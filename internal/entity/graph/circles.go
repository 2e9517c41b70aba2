package graph

import (
	"context"
	"slices"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/entity"
	"github.com/hearth-dmrv/hearth/internal/entity/relationship"
)

// maxParents is how many edges one look for parents reads.
const maxParents = 5_000

// circles is what is known about who is above whom.
type circles struct {
	parents map[int64][]int64         // by contains and generates
	words   map[int64]map[string]bool // by which twins are joined to parents they may rely on
	claims  map[int64][]int64         // that have become a credential
	loaded  map[int64]bool
	cut     map[int64]bool // not all parents are known
}

// above makes the ancestors of twins known, up to maxAncestors in all.
func (a *audit) above(ctx context.Context, q db.Querier, nids []int64) (*circles, error) {
	c := &circles{
		parents: map[int64][]int64{}, words: map[int64]map[string]bool{}, claims: map[int64][]int64{}, loaded: map[int64]bool{}, cut: map[int64]bool{},
	}
	next := slices.Clone(nids)
	for len(next) > 0 && len(c.loaded) < maxAncestors {
		some := make([]int64, 0, chunk)
		for len(next) > 0 && len(some) < chunk {
			if nid := next[0]; !c.loaded[nid] {
				c.loaded[nid] = true
				some = append(some, nid)
			}
			next = next[1:]
		}
		if len(some) == 0 {
			break
		}
		rows, err := q.Query(ctx, parentsOf, places(some, a.caller.Workspace, maxParents, a.now)...)
		more, err := c.load(rows, err, some)
		if err != nil {
			return nil, err
		}
		next = append(next, more...)
	}
	return c, nil
}

// load reads edges of up to chunk twins. It returns their parents.
func (c *circles) load(rows db.Rows, err error, nids []int64) (found []int64, _ error) {
	var child, parent int64
	var role string
	var status entity.Status
	var holds int
	n := 0
	err = eachRow(rows, err, func() error {
		n++
		if c.words[child] == nil {
			c.words[child] = map[string]bool{}
		}
		if relies(role, status, holds != 0) {
			c.words[child][role] = true
			if role == relationship.Becomes {
				c.claims[child] = append(c.claims[child], parent)
			}
		}
		if relationship.Orders(role) {
			c.parents[child] = append(c.parents[child], parent)
			found = append(found, parent)
		}
		return nil
	}, &child, &parent, &role, &status, &holds)
	for _, nid := range nids {
		c.cut[nid] = c.cut[nid] || n == maxParents
	}
	return found, err
}

// relies reports whether a twin may rely on a parent with a status. A group
// remains with its organisation and a claim with its producer when those have
// ended, and a verified claim stays verified.
func relies(role string, status entity.Status, holds bool) bool {
	switch role {
	case relationship.Verifies:
		return true
	case relationship.Contains, relationship.PartOf, relationship.Produces:
		return holds
	}
	return holds && status != entity.StatusDeactivated
}

// beyond reports whether an ancestor of a twin is not known.
func (c *circles) beyond(nid int64) bool {
	seen := map[int64]bool{nid: true}
	for next := []int64{nid}; len(next) > 0; next = next[1:] {
		if !c.loaded[next[0]] || c.cut[next[0]] {
			return true
		}
		for _, p := range c.parents[next[0]] {
			if !seen[p] {
				seen[p] = true
				next = append(next, p)
			}
		}
	}
	return false
}

// round finds the twins that are above themselves: the strongly connected ones,
// by Tarjan's algorithm.
func (c *circles) round() map[int64]bool {
	s := &search{circles: c, index: map[int64]int{}, low: map[int64]int{}, open: map[int64]bool{}, round: map[int64]bool{}}
	for nid := range c.parents {
		if s.index[nid] == 0 {
			s.visit(nid)
		}
	}
	return s.round
}

type search struct {
	*circles
	index, low map[int64]int
	open       map[int64]bool
	stack      []int64
	round      map[int64]bool
}

func (s *search) visit(nid int64) {
	s.index[nid] = len(s.index) + 1
	s.low[nid] = s.index[nid]
	s.stack, s.open[nid] = append(s.stack, nid), true
	for _, p := range s.parents[nid] {
		if p == nid {
			s.round[nid] = true
		}
		if s.index[p] == 0 {
			s.visit(p)
			s.low[nid] = min(s.low[nid], s.low[p])
		} else if s.open[p] {
			s.low[nid] = min(s.low[nid], s.index[p])
		}
	}
	if s.low[nid] != s.index[nid] {
		return
	}
	for first := true; ; first = false {
		top := s.stack[len(s.stack)-1]
		s.stack, s.open[top] = s.stack[:len(s.stack)-1], false
		if top == nid {
			if !first {
				s.round[nid] = true
			}
			return
		}
		s.round[top] = true
	}
}
