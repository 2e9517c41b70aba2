package search

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/entity"
	"github.com/hearth-dmrv/hearth/internal/entity/twin"
)

// candidate is a twin that may be one of those asked for. Its body is "" while
// only its number is known, and when it has gone.
type candidate struct {
	at      entity.Place
	updated int64 // ms
	body    string
	out     bool // an index has ruled it out
}

// feed gives the next n candidates in the order of the list, fewer at its end.
type feed func(ctx context.Context, q db.Querier, n int) ([]candidate, error)

// run looks for the page.
func (p *plan) run(ctx context.Context, q db.Querier) (entity.Found, error) {
	if all, ok, err := p.few(ctx, q); ok || err != nil {
		return p.cut(all), err
	}
	next, budget, err := p.source(ctx, q)
	if err != nil {
		return entity.Found{}, err
	}
	return p.collect(ctx, q, next, budget)
}

// collect takes candidates until the page is full, the list has ended, or
// enough have been looked at.
func (p *plan) collect(ctx context.Context, q db.Querier, next feed, budget int) (entity.Found, error) {
	var f filling
	var last entity.Place
	var seen tally
	for budget = max(budget, p.limit+1); budget > 0 && seen.bytes < maxScanned; {
		n := min(budget, p.step(len(f.Rows), seen))
		some, err := next(ctx, q, n)
		if err != nil {
			return entity.Found{}, err
		}
		if err := p.fill(ctx, q, some); err != nil {
			return entity.Found{}, err
		}
		for _, c := range some {
			seen.add(c)
			if p.fits(c) && !f.add(p, c) {
				f.Next = &last // the list continues after the previous one
				return f.Found, nil
			}
			last = c.at
		}
		if len(some) < n {
			return f.Found, nil
		}
		budget -= n
	}
	f.Next = &last
	return f.Found, nil
}

// tally counts what has been looked at.
type tally struct{ rows, bytes int }

func (t *tally) add(c candidate) {
	if c.body != "" {
		t.rows++
		t.bytes += len(c.body)
	}
}

// What is in memory at once, more or less.
const (
	firstStep = 64
	mostStep  = 512
	stepBytes = 4 << 20
)

// step is how many candidates to take next. It grows while records are small,
// because their size is unknown until some have been seen.
func (p *plan) step(found int, seen tally) int {
	n := firstStep
	if seen.rows > 0 {
		n = min(mostStep, max(1, stepBytes/(seen.bytes/seen.rows+1)))
	}
	if p.exact() {
		return min(n, p.limit+1-found)
	}
	return n
}

// exact reports whether what leads to the candidates is all that must hold, so that
// nearly all of them will fit.
func (p *plan) exact() bool {
	covered := len(p.choices) == 1 && !p.choices[0].loose || p.order.by == byProperty
	return p.external == "" && (p.since == 0 || p.order.by == byUpdated) && (len(p.exprs) == 0 || len(p.exprs) == 1 && covered)
}

// filling is a page that is being filled.
type filling struct {
	entity.Found
	bytes int
}

// add puts a twin on the page and reports whether there was room.
func (f *filling) add(p *plan, c candidate) bool {
	if len(f.Rows) == p.limit || len(f.Rows) > 0 && f.bytes+len(c.body) > maxPage {
		return false
	}
	f.Rows = append(f.Rows, p.row(c))
	f.bytes += len(c.body)
	return true
}

// row makes a row of a candidate: its columns are in its record too.
func (p *plan) row(c candidate) *entity.Row {
	r := &entity.Row{NID: c.at.NID, Workspace: p.ws, UpdatedAt: c.updated, Body: twin.Body(c.body)}
	members(c.body, func(name string, from, to int) bool {
		v := c.body[from:to]
		switch name {
		case "did":
			r.DID = unquote(v)
		case "type":
			r.Type = unquote(v)
		case "class":
			r.Class = unquote(v)
		case "domainType":
			r.DomainType = unquote(v)
		case "protocol":
			r.Protocol = unquote(v)
		case "protocolVersion":
			r.ProtocolVersion = unquote(v)
		case "project":
			r.Project = unquote(v)
		case "status":
			r.Status = entity.Status(unquote(v))
		case "revision":
			if n, ok := decode(v); ok {
				f, _ := n.(float64)
				r.Revision = int64(f)
			}
		case "created":
			if t, err := time.Parse(time.RFC3339, unquote(v)); err == nil {
				r.CreatedAt = t.UnixMilli()
			}
			return false // the rest is of no use here
		}
		return true
	})
	return r
}

// unquote reads a text.
func unquote(v string) string {
	out, _ := decode(v)
	s, _ := out.(string)
	return s
}

// fits holds a candidate against all that must hold.
func (p *plan) fits(c candidate) bool {
	if c.out || c.body == "" || c.updated < p.since {
		return false
	}
	if len(p.projects) > 0 && !visible(text(c.body, "project"), p.projects) {
		return false
	}
	if p.external != "" && !hasExternal(c.body, p.external) {
		return false
	}
	for _, h := range p.hints {
		if !h.in(c.body) {
			return false
		}
	}
	if len(p.exprs) == 0 {
		return true
	}
	doc := p.want.decode(c.body)
	for _, e := range p.exprs {
		if !e.Match(doc) {
			return false
		}
	}
	return true
}

// visible reports whether a key restricted to projects may see a twin. A project
// belongs to itself.
func visible(project string, projects []string) bool {
	return len(projects) == 0 || project != "" && slices.Contains(projects, project)
}

func hasExternal(body, value string) bool {
	ids := member(body, "externalIds")
	found := false
	members(ids, func(_ string, from, to int) bool {
		found = unquote(ids[from:to]) == value
		return !found
	})
	return found
}

// few answers queries that name single twins. They are few enough to be
// fetched, checked against all other conditions and sorted here. ok is false
// when the query has no such condition.
func (p *plan) few(ctx context.Context, q db.Querier) (all []candidate, ok bool, err error) {
	for _, pt := range p.points {
		if len(pt.dids) > 0 {
			all, err = byDIDs(ctx, q, p.ws, pt.dids)
			return all, true, err
		}
		nids, err := pt.find(ctx, q, p.ws, maxPoints+1)
		if err != nil {
			return nil, false, err
		}
		if len(nids) > maxPoints {
			continue // a value that everybody has identifies nobody
		}
		slices.Sort(nids)
		for some := range slices.Chunk(slices.Compact(nids), db.Chunk) {
			more, err := fetch(ctx, q, p.ws, some)
			if err != nil {
				return nil, false, err
			}
			all = append(all, more...)
		}
		return all, true, nil
	}
	return nil, false, nil
}

// cut makes a page of twins that are all known.
func (p *plan) cut(some []candidate) entity.Found {
	var all []candidate
	for _, c := range some {
		at, ok := p.placeOf(c)
		if c.at = at; ok && p.fits(c) && (p.after == nil || p.compare(at, *p.after) > 0) {
			all = append(all, c)
		}
	}
	slices.SortFunc(all, func(a, b candidate) int { return p.compare(a.at, b.at) })
	var f filling
	for i, c := range all {
		if !f.add(p, c) {
			f.Next = &all[i-1].at
			break
		}
	}
	return f.Found
}

// placeOf is the place of a twin in the list; ok is false when it has none.
func (p *plan) placeOf(c candidate) (entity.Place, bool) {
	switch p.order.by {
	case byUpdated:
		return entity.Place{NID: c.at.NID, At: c.updated}, true
	case byProperty:
		v := member(member(c.body, "properties"), p.order.name)
		if v == "" {
			return entity.Place{}, false
		}
		value, _ := decode(v)
		val, ok := entity.IndexText(p.order.kind, value)
		return entity.Place{NID: c.at.NID, Val: val}, ok
	}
	return entity.Place{NID: c.at.NID}, true
}

// compare orders places as the list does.
func (p *plan) compare(a, b entity.Place) int {
	c := cmp.Or(cmp.Compare(a.At, b.At), strings.Compare(a.Val, b.Val), cmp.Compare(a.NID, b.NID))
	if p.order.down {
		return -c
	}
	return c
}
