package search

import (
	"context"
	"slices"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/entity"
)

// source chooses where candidates come from, and how many may be looked at.
func (p *plan) source(ctx context.Context, q db.Querier) (feed, int, error) {
	if p.order.by == byProperty {
		return p.sortedFeed(), p.budget.candidates, nil
	}
	if p.order.by == byUpdated {
		return p.tableFeed(), p.budget.rows, nil
	}
	best, counts, err := p.best(ctx, q)
	if err != nil {
		return nil, 0, err
	}
	if len(p.projects) > 0 && (best < 0 || counts[best] >= p.budget.candidates) {
		// A way that cannot be walked to its end in one page would show a
		// restricted key how many twins there are that it may not see.
		return p.narrowed(p.allowed(), p.choices), p.budget.candidates, nil
	}
	if best < 0 {
		return p.tableFeed(), p.budget.rows, nil
	}
	others, err := held(ctx, q, slices.Delete(slices.Clone(p.choices), best, best+1))
	if err != nil {
		return nil, 0, err
	}
	return p.narrowed(p.merge(p.choices[best].spans), others), p.budget.candidates, nil
}

// held removes empty spans from choices: of the protocols that declare a
// property, often only one has been used. Without the others an index can
// exclude twins.
func held(ctx context.Context, q db.Querier, all []choice) ([]choice, error) {
	for i, c := range all {
		if c.probed() || len(c.spans) > maxRuns {
			continue
		}
		var left []span
		for _, s := range c.spans {
			n, err := s.count(ctx, q, 1)
			if err != nil {
				return nil, err
			}
			if n > 0 {
				left = append(left, s)
			}
		}
		all[i].spans = left
	}
	return all, nil
}

// probed reports whether the index of properties can be asked whether a twin is in
// the choice.
func (c choice) probed() bool {
	return len(c.spans) <= maxProbes && !slices.ContainsFunc(c.spans, func(s span) bool { return s.in != propIndex })
}

// best is the choice with the fewest twins, the first of several, -1 when there
// is none. It counts no further than the page could look, and not at all when
// there is only one.
func (p *plan) best(ctx context.Context, q db.Querier) (int, []int, error) {
	if len(p.choices) == 0 || len(p.choices) == 1 && len(p.projects) == 0 {
		return len(p.choices) - 1, []int{0}, nil
	}
	counts := make([]int, len(p.choices))
	at := 0
	for i, c := range p.choices {
		for _, s := range c.spans {
			n, err := s.count(ctx, q, p.budget.candidates-counts[i])
			if err != nil {
				return 0, nil, err
			}
			if counts[i] += n; counts[i] >= p.budget.candidates {
				break
			}
		}
		if counts[i] < counts[at] {
			at = i
		}
		if counts[at] == 0 {
			break
		}
	}
	return at, counts, nil
}

// allowed gives all twins of a restricted key.
func (p *plan) allowed() *merge {
	var spans []span
	for _, id := range p.projects {
		spans = append(spans, span{in: projectIndex, key: entity.Key(p.ws, "project", id)})
	}
	return p.merge(spans)
}

// ordered is a span that is being read.
type ordered struct {
	span span
	buf  []int64
	last int64
	done bool
}

// merge reads several spans as one, each twin once.
type merge struct {
	runs []*ordered
	down bool
	from int64
}

func (p *plan) merge(spans []span) *merge {
	m := &merge{down: p.order.down, from: p.start().NID}
	for _, s := range spans {
		m.runs = append(m.runs, &ordered{span: s, last: m.from})
	}
	return m
}

// take gives the next n nids, fewer at the end.
func (m *merge) take(ctx context.Context, q db.Querier, n int) ([]int64, error) {
	out := make([]int64, 0, n)
	if len(m.runs) == 0 {
		return out, nil
	}
	ahead := n
	if len(m.runs) > 1 {
		ahead = n/len(m.runs) + 16
	}
	for len(out) < n {
		var first *ordered
		for _, r := range m.runs {
			if err := r.read(ctx, q, m.down, ahead); err != nil {
				return nil, err
			}
			if len(r.buf) > 0 && (first == nil || (r.buf[0] > first.buf[0]) == m.down && r.buf[0] != first.buf[0]) {
				first = r
			}
		}
		if first == nil {
			return out, nil
		}
		nid := first.buf[0]
		for _, r := range m.runs {
			if len(r.buf) > 0 && r.buf[0] == nid {
				r.buf = r.buf[1:]
			}
		}
		out = append(out, nid)
	}
	return out, nil
}

// read fills the buffer of a span when it is empty.
func (r *ordered) read(ctx context.Context, q db.Querier, down bool, n int) error {
	if len(r.buf) > 0 || r.done {
		return nil
	}
	some, err := r.span.list(ctx, q, down, r.last, n)
	if err != nil {
		return err
	}
	r.buf, r.done = some, len(some) < n
	if len(some) > 0 {
		r.last = some[len(some)-1]
	}
	return nil
}

// maxProbes is how many spans of a further choice are asked for each
// candidate.
const maxProbes = 2

// narrowed returns the twins of m. Those that the index of another property
// already excludes stay candidates: they count, but are not fetched.
func (p *plan) narrowed(m *merge, others []choice) feed {
	others = slices.DeleteFunc(slices.Clone(others), func(c choice) bool { return !c.probed() })
	return func(ctx context.Context, q db.Querier, n int) ([]candidate, error) {
		nids, err := m.take(ctx, q, n)
		if err != nil {
			return nil, err
		}
		out := make([]candidate, len(nids))
		for i, nid := range nids {
			out[i].at.NID = nid
		}
		for _, c := range others {
			if nids, err = c.keep(ctx, q, nids); err != nil {
				return nil, err
			}
		}
		left := make(map[int64]bool, len(nids))
		for _, nid := range nids {
			left[nid] = true
		}
		for i := range out {
			out[i].out = !left[out[i].at.NID]
		}
		return out, nil
	}
}

// keep gives those of nids that are in one of the spans.
func (c choice) keep(ctx context.Context, q db.Querier, nids []int64) ([]int64, error) {
	has := map[int64]bool{}
	for some := range slices.Chunk(nids, db.Chunk) {
		for _, s := range c.spans {
			if err := s.having(ctx, q, some, has); err != nil {
				return nil, err
			}
		}
	}
	return slices.DeleteFunc(slices.Clone(nids), func(nid int64) bool { return !has[nid] }), nil
}

// sortedFeed gives twins in the order of a property.
func (p *plan) sortedFeed() feed {
	from := p.start()
	return func(ctx context.Context, q db.Querier, n int) ([]candidate, error) {
		some, err := p.order.sorted(ctx, q, from, n)
		if err != nil {
			return nil, err
		}
		out := make([]candidate, len(some))
		for i, at := range some {
			out[i].at, from = at, at
		}
		return out, nil
	}
}

// tableFeed gives all twins of the workspace.
func (p *plan) tableFeed() feed {
	from := p.start()
	return func(ctx context.Context, q db.Querier, n int) ([]candidate, error) {
		some, err := p.table(ctx, q, from, n)
		if err != nil {
			return nil, err
		}
		for i := range some {
			some[i].at, _ = p.placeOf(some[i])
			from = some[i].at
		}
		return some, nil
	}
}

// fill reads the records of candidates that have none yet.
func (p *plan) fill(ctx context.Context, q db.Querier, some []candidate) error {
	var nids []int64
	at := map[int64]int{}
	for i, c := range some {
		if c.body == "" && !c.out {
			nids = append(nids, c.at.NID)
			at[c.at.NID] = i
		}
	}
	for part := range slices.Chunk(nids, db.Chunk) {
		found, err := fetch(ctx, q, p.ws, part)
		if err != nil {
			return err
		}
		for _, c := range found {
			i := at[c.at.NID]
			some[i].body, some[i].updated = c.body, c.updated
		}
	}
	return nil
}
