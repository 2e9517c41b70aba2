package search

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/did"
	"github.com/hearth-dmrv/hearth/internal/entity"
	"github.com/hearth-dmrv/hearth/internal/entity/mask"
	"github.com/hearth-dmrv/hearth/internal/entity/protocol/schema"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/rql"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// plan is a query made ready: what must hold, and the indexes that could lead
// to it.
type plan struct {
	ws       string
	projects []string // when not empty, only these exist for the caller
	limit    int
	after    *entity.Place
	order    order
	budget   budget
	sight    *mask.Sight // of the caller

	// Every candidate is held against these, whatever led to it: keys are
	// hashes and may collide, indexed values are cut, and rows change between
	// two statements.
	exprs    []*rql.Expr
	external string // a value of externalIds
	since    int64  // ms
	want     tree   // members of the record exprs look at
	hints    []hint // what stands in every record that fits

	points  []points // ways to a few twins, best first
	choices []choice // ways along an index, best first
}

// order is how a list is sorted.
type order struct {
	by   sortKey
	down bool
	// of a property: its number, its type name, and between which values it
	// is looked for, the first included
	pid      int64
	name     string
	kind     rql.Kind
	from, to string
}

type sortKey int

const (
	byCreated sortKey = iota
	byUpdated
	byProperty
)

// index is one that gives nids in order.
type index int

const (
	typeIndex index = iota
	protocolIndex
	projectIndex
	statusIndex
	propIndex
)

// span is the part of an index that holds one value.
type span struct {
	in  index
	key int64
	val string // of a property
}

// choice is one way along an index: the twins of all its spans together.
type choice struct {
	spans []span
	loose bool // there are others among them
}

// points identifies twins by unique values.
type points struct {
	dids     []string
	schemes  []string // of externals; empty when any will do
	external string
}

// prepare checks a query and plans it.
func (s *Service) prepare(ctx context.Context, q db.Querier, query entity.Query) (*plan, error) {
	c := web.CallerFrom(ctx)
	p := &plan{ws: c.Workspace, projects: c.Projects, limit: query.Limit, after: query.After, external: query.ExternalID, budget: s.budget, sight: s.mask.See(ctx)}
	if p.limit == 0 {
		p.limit = 50
	}
	if !query.UpdatedSince.IsZero() {
		p.since = max(1, query.UpdatedSince.UnixMilli())
	}
	if err := checkQuery(query); err != nil {
		return nil, err
	}
	if err := s.conditions(ctx, p, query); err != nil {
		return nil, err
	}
	protocols, err := s.protocols(ctx, p)
	if err != nil {
		return nil, err
	}
	if err := s.sortBy(ctx, p, query); err != nil {
		return nil, err
	}
	if err := p.mayAsk(ctx, q, protocols, query); err != nil {
		return nil, err
	}
	return p, s.ways(ctx, p, protocols)
}

// mayAsk refuses a query that would reveal what the caller may not see.
func (p *plan) mayAsk(ctx context.Context, q db.Querier, protocols []string, query entity.Query) error {
	if p.order.by == byProperty {
		if err := p.sight.MayAsk(ctx, q, "query/sort", protocols, []string{"properties", p.order.name}); err != nil {
			return err
		}
	}
	if query.Near != "" {
		for _, path := range places() {
			if err := p.sight.MayAsk(ctx, q, "query/near", protocols, path); err != nil {
				return err
			}
		}
	}
	for _, e := range p.exprs {
		for _, path := range e.Paths() {
			if err := p.sight.MayAsk(ctx, q, "query/filter", protocols, path); err != nil {
				return err
			}
		}
	}
	return nil
}

// checkQuery names every parameter that is wrong in itself.
func checkQuery(q entity.Query) error {
	var c fault.Checks
	if q.Limit < 0 || q.Limit > maxItems {
		c.Add("query/limit", "out_of_range", fmt.Sprintf("The value must be 1 to %d.", maxItems))
	}
	for _, one := range []struct{ name, value string }{{"did", q.DID}, {"protocol", q.Protocol}, {"project", q.Project}} {
		if one.value != "" && !did.Valid(one.value) {
			c.Add("query/"+one.name, "invalid", "The value must be a DID.")
		}
	}
	for _, one := range []struct{ name, value string }{{"status", q.Status}, {"class", q.Class}} {
		if known := words()[one.name]; one.value != "" && !slices.Contains(known, one.value) {
			c.Add("query/"+one.name, "invalid", "The value must be "+oneOf(known)+".")
		}
	}
	if q.Near != "" {
		if _, err := near(q.Near); err != nil {
			c.Add("query/near", "invalid", "The value must be a latitude, a longitude and metres, with commas between them: -1.28,36.8,5000.")
		}
	}
	return c.Err("INVALID_PARAMETER", "A parameter is not valid.")
}

// places are where twins say where they are.
func places() []rql.Path {
	return []rql.Path{
		{"properties", "location"}, {"metadata", "location"}, {"properties", "location", "coordinates"}, {"metadata", "location", "coordinates"},
	}
}

func near(text string) (*rql.Expr, error) {
	return rql.Parse("near("+text+")", rql.Schema{Places: places()})
}

// conditions collects all that must hold.
func (s *Service) conditions(ctx context.Context, p *plan, q entity.Query) error {
	for _, one := range []struct{ field, value string }{
		{"did", q.DID}, {"type", q.Type}, {"class", q.Class}, {"protocol", q.Protocol}, {"status", q.Status}, {"project", q.Project},
	} {
		if one.value != "" {
			p.exprs = append(p.exprs, &rql.Expr{Op: rql.Eq, Field: rql.Path{one.field}, Kind: rql.Text, Values: []rql.Value{{V: one.value}}})
		}
	}
	if q.Near != "" {
		e, err := near(q.Near)
		if err != nil {
			return err
		}
		p.exprs = append(p.exprs, e)
	}
	if q.Filter != "" {
		e, err := rql.Parse(q.Filter, rql.Schema{Field: s.fields(ctx, p.ws, true), Places: places()})
		if err != nil {
			return filterFault(err)
		}
		if err := checkWords(e); err != nil {
			return err
		}
		p.exprs = append(p.exprs, e.Conjuncts()...)
	}
	p.want, p.hints = tree{}, hints(p.exprs)
	for _, e := range p.exprs {
		for _, path := range e.Paths() {
			p.want.add(path)
		}
	}
	return nil
}

// values returns the values that a part of a filter allows one field to have: eq,
// in, or an or of these. ok is false for anything else, for null, and for too many.
func values(e *rql.Expr) (field rql.Path, out []rql.Value, ok bool) {
	switch e.Op {
	case rql.Eq, rql.In:
		field, out = e.Field, e.Values
	case rql.Or:
		for _, a := range e.Args {
			f, v, ok := values(a)
			if !ok || field != nil && !slices.Equal(f, field) {
				return nil, nil, false
			}
			field, out = f, append(slices.Clone(out), v...)
		}
	default:
		return nil, nil, false
	}
	none := slices.ContainsFunc(out, func(v rql.Value) bool { return v.V == nil })
	return field, out, !none && len(out) <= maxRuns
}

// texts are values that are all texts.
func texts(values []rql.Value) ([]string, bool) {
	var out []string
	for _, v := range values {
		s, ok := v.V.(string)
		if !ok {
			return nil, false
		}
		if !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	return out, true
}

// protocols returns the protocols that the query allows for the twins; nil if it
// does not restrict them.
func (s *Service) protocols(ctx context.Context, p *plan) ([]string, error) {
	var known []string
	narrow := func(to []string) {
		if known == nil {
			known = append([]string{}, to...)
			return
		}
		known = slices.DeleteFunc(known, func(id string) bool { return !slices.Contains(to, id) })
	}
	for _, e := range p.exprs {
		field, vals, ok := values(e)
		if !ok || len(field) != 1 {
			continue
		}
		names, ok := texts(vals)
		switch {
		case !ok:
		case field[0] == "protocol":
			narrow(names)
		case field[0] == "class":
			var all []string
			for _, class := range names {
				some, err := s.cat.OfClass(ctx, p.ws, class)
				if err != nil {
					return nil, err
				}
				all = append(all, some...)
			}
			narrow(all)
		}
	}
	return known, nil
}

// sortBy reads sort=. Recently changed twins are by default in the order of
// their changes, so that a client that follows misses none.
func (s *Service) sortBy(ctx context.Context, p *plan, q entity.Query) error {
	name, down := strings.CutPrefix(q.Sort, "-")
	p.order.down = down
	switch {
	case name == "" && q.Sort == "":
		p.order.down = p.since == 0
		if p.since > 0 {
			p.order.by = byUpdated
		}
		return nil
	case name == "created":
		return nil
	case name == "updated":
		p.order.by = byUpdated
		return nil
	}
	path, ok := rql.ParsePath(name)
	if !ok || len(path) != 2 || path[0] != "properties" {
		return unknownField("query/sort", "Sort by created, updated, or an indexed property such as properties.serial; - in front turns the order round.")
	}
	declared, _, err := s.cat.Declaring(ctx, p.ws, path[1])
	if err != nil {
		return err
	}
	if len(declared) == 0 {
		return unknownField("query/sort", fmt.Sprintf("There is no field %q.", fault.Echo(name)))
	}
	of := p.protocol()
	if of == "" {
		return badSort("protocol_required", "To sort by a property, give protocol as well.")
	}
	for _, d := range declared {
		if d.Protocol == of && d.Indexed && d.Kind != "mixed" {
			p.order = order{by: byProperty, down: down, pid: entity.PropID(p.ws, d.Protocol, path[1]), name: path[1], kind: schema.Compares(d.Kind), from: "", to: "z"}
			p.bounds()
			return nil
		}
	}
	return badSort("not_indexed", "The protocol does not index this property.")
}

// protocol is the one protocol the query names, "" without one.
func (p *plan) protocol() string {
	for _, e := range p.exprs {
		field, vals, ok := values(e)
		if !ok || len(field) != 1 || field[0] != "protocol" {
			continue
		}
		if names, ok := texts(vals); ok && len(names) == 1 {
			return names[0]
		}
	}
	return ""
}

func badSort(code, detail string) error {
	return fault.New(fault.Invalid, "INVALID_PARAMETER", "A parameter is not valid.").
		With(fault.Field{Pointer: "query/sort", Code: code, Detail: detail})
}

// bounds narrows a list that is sorted by a property to what the filter says
// about that property.
func (p *plan) bounds() {
	o := &p.order
	narrow := func(from, to string) {
		o.from = max(o.from, from)
		o.to = min(o.to, to)
	}
	for _, e := range p.exprs {
		if !slices.Equal(e.Field, rql.Path{"properties", o.name}) {
			continue
		}
		// Times are in the index as moments. A filter that compares them as
		// texts has another order.
		if o.kind == rql.Time && e.Kind != rql.Time {
			continue
		}
		if e.Op == rql.Like {
			if text, _ := e.Prefix(); text != "" && o.kind == rql.Text {
				narrow(around(text))
			}
			continue
		}
		if len(e.Values) != 1 {
			continue
		}
		from, to, ok := edge(o.kind, e.Values[0])
		switch {
		case !ok:
		case e.Op == rql.Eq:
			narrow(from, to)
		case e.Op == rql.Lt, e.Op == rql.Le:
			narrow(to[:1], to) // the first letter is that of the kind
		case e.Op == rql.Gt, e.Op == rql.Ge:
			narrow(from, "z")
		}
	}
}

// safe is how many bytes of a text are certain to be in the index, whatever
// characters they end in.
const safe = 100

// edge returns the least indexed value that v may have, and one above the
// greatest. ok is false for a value that is not indexed.
func edge(kind rql.Kind, v rql.Value) (from, to string, ok bool) {
	if s, isText := v.V.(string); isText && len(s) > safe {
		from, to = around(s)
		return from, to, true
	}
	val, ok := entity.IndexText(kind, scalar(v))
	return val, val + " ", ok
}

// around is the part of the index with the texts that begin with prefix.
func around(prefix string) (from, to string) {
	if len(prefix) > safe {
		prefix = strings.ToValidUTF8(prefix[:safe], "")
	}
	return "s" + prefix, after("s" + prefix)
}

// after is the least text above all that begin with prefix.
func after(prefix string) string {
	runes := []rune(prefix)
	for i := len(runes) - 1; i >= 0; i-- {
		switch next := runes[i] + 1; {
		case next == 0xd800:
			return string(runes[:i]) + "\ue000" // surrogates are no characters
		case next <= 0x10ffff:
			return string(append(runes[:i:i], next))
		}
	}
	return "z"
}

// scalar is a value of a filter as it would stand in a record.
func scalar(v rql.Value) any {
	if t, ok := v.V.(time.Time); ok {
		return t.Format(time.RFC3339Nano)
	}
	return v.V
}

// start is where a list begins.
func (p *plan) start() entity.Place {
	if p.after != nil {
		return *p.after
	}
	switch {
	case p.order.by == byProperty && p.order.down:
		return entity.Place{Val: p.order.to}
	case p.order.by == byProperty:
		return entity.Place{Val: p.order.from}
	case p.order.by == byUpdated && !p.order.down:
		return entity.Place{At: p.since}
	case p.order.down:
		return entity.Place{At: math.MaxInt64, NID: math.MaxInt64}
	}
	return entity.Place{}
}
