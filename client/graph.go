package client

import (
	"context"
	"iter"
	"net/url"
	"strings"
	"time"

	"github.com/hearth-dmrv/hearth/api"
)

// Graph is the edges between twins.
type Graph struct{ c *Client }

// GraphNode is a twin in a graph.
type GraphNode struct {
	TwinBrief
	Depth int `json:"depth"` // steps from the first twin
}

// GraphEdge is that of package api.
type GraphEdge = api.GraphEdge

// Subgraph is the part of the graph around a twin, in the order it was found.
type Subgraph struct {
	Root      string      `json:"root"`
	Nodes     []GraphNode `json:"nodes"`
	Edges     []GraphEdge `json:"edges"`
	Truncated bool        `json:"truncated"` // a bound stopped the walk: there is more
}

// GraphQuery says how far to walk and along what.
type GraphQuery struct {
	Depth     int       // 1 to 6; 2 by default
	Direction string    // out, in or both (default)
	Roles     []string  // all by default
	On        time.Time // only relationships in force then
	Limit     int       // twins, 1 to 10000; 1000 by default
}

func (q GraphQuery) values() url.Values {
	v := url.Values{}
	setInt(v, "depth", int64(q.Depth))
	setInt(v, "limit", int64(q.Limit))
	set(v, "direction", q.Direction)
	set(v, "roles", strings.Join(q.Roles, ","))
	setTime(v, "on", q.On)
	return v
}

// Around reads the graph around a twin.
func (g Graph) Around(ctx context.Context, did string, q GraphQuery, opts ...Option) (*Subgraph, error) {
	return do[Subgraph](ctx, g.c, get(entityPath(did)+"/graph", q.values()), opts)
}

// Export reads the graph around a twin as jsonld or graphml.
func (g Graph) Export(ctx context.Context, did, format string, q GraphQuery, opts ...Option) ([]byte, error) {
	v := q.values()
	v.Set("format", format)
	return g.c.send(ctx, get(entityPath(did)+"/graph", v), opts)
}

// Neighbour is an edge of a twin and the twin at its other end.
type Neighbour struct {
	GraphEdge
	Direction string    `json:"direction"` // out or in
	Node      TwinBrief `json:"node"`
}

// NeighbourQuery selects neighbours.
type NeighbourQuery struct {
	Direction string // out, in or both (default)
	Roles     []string
	On        time.Time // only relationships in force then
	Limit     int       // items in one page, 1 to 1000; 50 by default
	Cursor    string    // NextCursor of the page before
}

func (q NeighbourQuery) values() url.Values {
	v := PageQuery{q.Limit, q.Cursor}.values()
	set(v, "direction", q.Direction)
	set(v, "role", strings.Join(q.Roles, ","))
	setTime(v, "on", q.On)
	return v
}

// NeighbourPage reads one page of the twins next to a twin.
func (g Graph) NeighbourPage(ctx context.Context, did string, q NeighbourQuery, opts ...Option) (*Page[Neighbour], error) {
	return page[Neighbour](ctx, g.c, entityPath(did)+"/neighbours", q.values(), opts)
}

// Neighbours walks over the twins next to a twin. An error ends it.
func (g Graph) Neighbours(ctx context.Context, did string, q NeighbourQuery, opts ...Option) iter.Seq2[Neighbour, error] {
	return pages[Neighbour](ctx, g.c, entityPath(did)+"/neighbours", q.values(), opts)
}

// SubdomainQuery selects what a twin contains.
type SubdomainQuery struct {
	DomainType string    // such as group; all by default
	On         time.Time // only what it contained at this time
	Limit      int       // items in one page, 1 to 1000; 50 by default
	Cursor     string    // NextCursor of the page before
}

func (q SubdomainQuery) values() url.Values {
	v := PageQuery{q.Limit, q.Cursor}.values()
	set(v, "domainType", q.DomainType)
	setTime(v, "on", q.On)
	return v
}

// SubdomainPage reads one page of what a twin contains.
func (g Graph) SubdomainPage(ctx context.Context, did string, q SubdomainQuery, opts ...Option) (*Page[Neighbour], error) {
	return page[Neighbour](ctx, g.c, entityPath(did)+"/subdomains", q.values(), opts)
}

// Subdomains walks over what a twin contains. An error ends it.
func (g Graph) Subdomains(ctx context.Context, did string, q SubdomainQuery, opts ...Option) iter.Seq2[Neighbour, error] {
	return pages[Neighbour](ctx, g.c, entityPath(did)+"/subdomains", q.values(), opts)
}

// PathQuery says how to look for a path.
type PathQuery struct {
	MaxDepth  int       // edges, 1 to 10; 6 by default
	Direction string    // out or both (default)
	Roles     []string  // all by default
	On        time.Time // only relationships in force then
}

// GraphPath is the shortest way between two twins.
type GraphPath struct {
	Found     bool        `json:"found"`
	Length    int         `json:"length"` // edges
	Nodes     []GraphNode `json:"nodes"`
	Edges     []GraphEdge `json:"edges"`
	Truncated bool        `json:"truncated"` // a bound stopped the search: there may be a path
}

// Path finds the shortest path between two twins. If there is none, that is an
// answer, not an error.
func (g Graph) Path(ctx context.Context, from, to string, q PathQuery, opts ...Option) (*GraphPath, error) {
	v := url.Values{"from": {from}, "to": {to}}
	setInt(v, "maxDepth", int64(q.MaxDepth))
	set(v, "direction", q.Direction)
	set(v, "roles", strings.Join(q.Roles, ","))
	setTime(v, "on", q.On)
	return do[GraphPath](ctx, g.c, get("/v1/graph/paths", v), opts)
}

// Violation is a place where a rule is broken.
type Violation struct {
	Rule    string `json:"rule"`
	Subject string `json:"subject"` // DID
	Detail  string `json:"detail"`
}

// Invariants is what a check of the rules found.
type Invariants struct {
	OK         bool        `json:"ok"`
	Checked    int         `json:"checked"` // twins
	Violations []Violation `json:"violations"`
	Unproven   []Violation `json:"unproven,omitzero"` // a bound kept them from being proved
	Complete   bool        `json:"complete"`          // the last twin was reached
	Page       PageInfo    `json:"page"`
}

// InvariantPage checks the rules over a part of the twins, up to 2000.
func (g Graph) InvariantPage(ctx context.Context, q PageQuery, opts ...Option) (*Invariants, error) {
	return do[Invariants](ctx, g.c, get("/v1/invariants", q.values()), opts)
}

// Invariants checks that the rules hold over all twins of the workspace, and
// gathers the violations.
func (g Graph) Invariants(ctx context.Context, opts ...Option) (*Invariants, error) {
	all := &Invariants{OK: true}
	for q := (PageQuery{Limit: 2000}); ; q.Cursor = all.Page.NextCursor {
		p, err := g.InvariantPage(ctx, q, opts...)
		if err != nil {
			return nil, err
		}
		all.OK, all.Complete, all.Page = all.OK && p.OK, p.Complete, p.Page
		all.Checked += p.Checked
		all.Violations, all.Unproven = append(all.Violations, p.Violations...), append(all.Unproven, p.Unproven...)
		if p.Complete || p.Page.NextCursor == "" || p.Page.NextCursor == q.Cursor {
			return all, nil
		}
	}
}
