package graph

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hearth-dmrv/hearth/internal/entity/protocol"
	"github.com/hearth-dmrv/hearth/internal/entity/relationship"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/web"
)

const (
	aboutFilter = " A role may be given by either of its words: implementedBy is implements as well. " +
		"All current relationships count, whatever their since and until; with on only those in force at that moment."
	aboutBounds = "Twins of other workspaces, and of projects outside your key's, are left out, and so is everything behind them. " +
		"Deactivated twins are included: their relationships are part of the record. status distinguishes them."
)

// Routes adds the graph API to a.
func (s *Service) Routes(a *web.API) {
	web.Get(a, "/v1/entities/{did}/neighbours", s.serveNeighbours, web.Doc{
		Summary: "List the twins next to a twin", Tag: "graph", Scope: "entities:read", Codes: []string{"ENTITY_NOT_FOUND"},
		Description: "One item for each relationship: outgoing before incoming, oldest first. Follow hasMore: a call looks at 2,000 relationships at most, " +
			"so with a filter a page may be short." + aboutFilter + " " + aboutBounds,
	})
	web.Get(a, "/v1/entities/{did}/subdomains", s.serveSubdomains, web.Doc{
		Summary: "List the twins inside a twin", Tag: "graph", Scope: "entities:read", Codes: []string{"ENTITY_NOT_FOUND"},
		Description: "Its sub-domains: the targets of its contains relationships, oldest first, one step down: the membership groups of an organisation, the groups of a group, the households and devices of a project, the parts of a system. " +
			"Not what it implements or generates; see neighbours for those. domainType=group lists groups alone. Follow hasMore: a call looks at 2,000 relationships at most. " + aboutBounds,
	})
	web.Get(a, "/v1/entities/{did}/graph", s.serveGraph, web.Doc{
		Summary: "Read the graph around a twin", Tag: "graph", Scope: "entities:read", Codes: []string{"ENTITY_NOT_FOUND"},
		Produces: "application/json, application/ld+json, application/graphml+xml",
		Description: "Breadth first from the twin: nodes are listed in the order they were found, edges are those the walk took between them " +
			"(edges between two twins at the greatest depth are not looked for). At most 50,000 relationships are looked at; truncated says that this bound or the limit stopped the walk. " +
			"Twins that are not held here are nodes with external: true, and the walk ends there. " +
			"As JSON-LD (its context is in the document, names are below urn:hearth:) and as GraphML too." + aboutFilter + " " + aboutBounds,
	})
	web.Get(a, "/v1/graph/paths", s.servePath, web.Doc{
		Summary: "Find the shortest path between two twins", Tag: "graph", Scope: "entities:read", Codes: []string{"ENTITY_NOT_FOUND"},
		Description: "The answer is 200 with found: false when there is none within maxDepth. truncated says that a bound (20,000 twins, 50,000 relationships) stopped the search, so that there may be one. " +
			"A path does not lead through twins that are not held here." + aboutFilter + " " + aboutBounds,
	})
	web.Get(a, "/v1/invariants", s.serveInvariants, web.Doc{
		Summary: "Check that the rules hold", Tag: "graph", Scope: "entities:read",
		Description: "Looks at the twins of the workspace in the order they were made, up to 2,000 in a call (fewer when they have many relationships, revisions or large records), and names every rule that is broken. " +
			"Follow nextCursor until complete is true: with every page ok, the rules hold over the whole store. The rules: " +
			"organisation_without_group, project_without_organisation, asset_without_project, group_without_parent, claim_without_producer, claim_without_oracle, " +
			"claim_verified_by_claimant, claim_without_quorum, credential_without_claim, credential_of_unverified_claim, claim_of_many_credentials, credential_status_stale, active_misses_relationships, active_role_unfilled (the domain model and the protocols; a relationship that has ended or not begun, that is unconfirmed or whose target is deactivated fills no role); " +
			"edge_class_mismatch, edge_end_missing, edge_end_mismatch, edge_workspace, cycle (relationships); " +
			"record_mismatch, hash_mismatch, history_incomplete, index_incomplete, protocol_missing (the store). " +
			"A key for some projects proves the rules for the twins of these.",
	})
}

// filterIn is what the graph routes share.
type filterIn struct {
	On string `query:"on" doc:"A date or time: only relationships in force then." example:"2026-07-01"`
}

// words converts roles to their stored words.
func words(c *fault.Checks, pointer, text string) []string {
	if text == "" {
		return nil
	}
	given := strings.Split(text, ",")
	if len(given) > maxRoles {
		c.Add(pointer, "too_many", "At most "+strconv.Itoa(maxRoles)+" roles can be given.")
		return nil
	}
	var roles []string
	for _, w := range given {
		if !relationship.IsWord(w) {
			c.Add(pointer, "invalid", "A role is a lower-case letter, then letters and digits, at most 64 in all.")
			return nil
		}
		roles = append(roles, w)
		if r, inverse, ok := relationship.Of(w); ok && inverse {
			roles = append(roles, r.Role)
		}
	}
	return roles
}

func (in filterIn) moment(c *fault.Checks) time.Time {
	if in.On == "" {
		return time.Time{}
	}
	for _, layout := range []string{time.RFC3339Nano, time.DateOnly} {
		if t, err := time.Parse(layout, in.On); err == nil {
			return t.UTC()
		}
	}
	c.Add("query/on", "invalid", "The value must be a date (2026-07-01) or a time (2026-07-01T12:00:00Z).")
	return time.Time{}
}

// oneOf notes a value that is not among those allowed; the first means none.
func oneOf[T ~string](c *fault.Checks, pointer string, v T, allowed ...T) T {
	if v == "" {
		return allowed[0]
	}
	if !slices.Contains(allowed, v) {
		list := make([]string, len(allowed))
		for i, a := range allowed {
			list[i] = string(a)
		}
		c.Add(pointer, "unknown", "The value must be one of "+strings.Join(list, ", ")+".")
	}
	return v
}

func refused(c *fault.Checks) error { return c.Err("INVALID_PARAMETER", "A parameter is not valid.") }

type neighboursIn struct {
	DID       string    `path:"did" doc:"DID of the twin."`
	Direction Direction `query:"direction" enum:"both,out,in" doc:"Which relationships: both by default."`
	Role      string    `query:"role" doc:"Only relationships of this role, or of several with commas between them." example:"operator"`
	filterIn
	web.Paging
}

func (s *Service) serveNeighbours(ctx context.Context, in *neighboursIn) (web.Reply[web.Page[Neighbour]], error) {
	var c fault.Checks
	in.Size(&c)
	ask := Ask{
		DID: in.DID, Direction: oneOf(&c, "query/direction", in.Direction, Both, Out, In),
		Filter: Filter{Roles: words(&c, "query/role", in.Role), On: in.moment(&c)},
	}
	if err := refused(&c); err != nil {
		return web.Reply[web.Page[Neighbour]]{}, err
	}
	return s.list(ctx, ask, in.Paging)
}

type subdomainsIn struct {
	DID        string `path:"did" doc:"DID of the twin."`
	DomainType string `query:"domainType" doc:"Only twins of this domain type." example:"group"`
	filterIn
	web.Paging
}

func (s *Service) serveSubdomains(ctx context.Context, in *subdomainsIn) (web.Reply[web.Page[Neighbour]], error) {
	var c fault.Checks
	in.Size(&c)
	ask := Ask{
		DID: in.DID, Direction: Out, DomainType: in.DomainType,
		Filter: Filter{Roles: []string{relationship.Contains}, On: in.moment(&c)},
	}
	if in.DomainType != "" && !slices.Contains(protocol.DomainTypes(), in.DomainType) {
		c.Add("query/domainType", "invalid", "The value must be one of "+strings.Join(protocol.DomainTypes(), ", ")+".")
	}
	if err := refused(&c); err != nil {
		return web.Reply[web.Page[Neighbour]]{}, err
	}
	return s.list(ctx, ask, in.Paging)
}

func (s *Service) list(ctx context.Context, ask Ask, p web.Paging) (web.Reply[web.Page[Neighbour]], error) {
	var none web.Reply[web.Page[Neighbour]]
	var from Position
	var err error
	if ask.Limit, err = p.Begin(ctx, s.cfg.Cursors, &from); err != nil {
		return none, err
	}
	items, next, err := s.Neighbours(ctx, ask, from)
	if err != nil {
		return none, err
	}
	var place any
	if next != nil {
		place = *next
	}
	return web.PageOf(ctx, s.cfg.Cursors, ask.Limit, items, place)
}

type pathIn struct {
	From      string     `query:"from" doc:"DID of the first twin." example:"did:ixo:org/1"`
	To        string     `query:"to" doc:"DID of the last twin." example:"did:ixo:device/1"`
	MaxDepth  web.Number `query:"maxDepth" doc:"Relationships along the path at most: 1 to 10, 6 by default." example:"6"`
	Direction Direction  `query:"direction" enum:"both,out" doc:"out follows relationships from source to target only; both by default."`
	Roles     string     `query:"roles" doc:"Comma-separated roles to follow, at most 20; all without it."`
	filterIn
}

func (s *Service) servePath(ctx context.Context, in *pathIn) (*Path, error) {
	var c fault.Checks
	if in.From == "" {
		c.Add("query/from", "required", "Name the first twin.")
	}
	if in.To == "" {
		c.Add("query/to", "required", "Name the last twin.")
	}
	k := Way{
		From: in.From, To: in.To, MaxDepth: int(in.MaxDepth.In(&c, "query/maxDepth", 1, maxSteps, defaultSteps)),
		Direction: oneOf(&c, "query/direction", in.Direction, Both, Out),
		Filter:    Filter{Roles: words(&c, "query/roles", in.Roles), On: in.moment(&c)},
	}
	if err := refused(&c); err != nil {
		return nil, err
	}
	return s.Path(ctx, k)
}

type graphIn struct {
	DID       string     `path:"did" doc:"DID of the twin."`
	Depth     web.Number `query:"depth" doc:"Steps from the twin: 1 to 6, 2 by default." example:"2"`
	Direction Direction  `query:"direction" enum:"both,out,in" doc:"Which relationships to follow: both by default."`
	Roles     string     `query:"roles" doc:"Comma-separated roles to follow, at most 20; all without it."`
	Limit     web.Number `query:"limit" doc:"How many twins at most: 1 to 10000, 1000 by default." example:"1000"`
	Format    string     `query:"format" enum:"json,jsonld,graphml" doc:"Without it the Accept header decides, and json is the usual one."`
	Accept    string     `header:"Accept" doc:"application/ld+json or application/graphml+xml for one of these."`
	filterIn
}

func (s *Service) serveGraph(ctx context.Context, in *graphIn) (web.Reply[*Graph], error) {
	var none web.Reply[*Graph]
	var c fault.Checks
	k := Walk{
		Root: in.DID, Depth: int(in.Depth.In(&c, "query/depth", 1, maxDepth, defaultDepth)),
		Direction: oneOf(&c, "query/direction", in.Direction, Both, Out, In),
		Filter:    Filter{Roles: words(&c, "query/roles", in.Roles), On: in.moment(&c)},
		Limit:     int(in.Limit.In(&c, "query/limit", 1, maxNodes, defaultNodes)),
	}
	format := web.Preferred(in.Accept, "json", media())
	if in.Format != "" {
		format = oneOf(&c, "query/format", in.Format, "json", "jsonld", "graphml")
	}
	if err := refused(&c); err != nil {
		return none, err
	}
	g, err := s.Subgraph(ctx, k)
	if err != nil {
		return none, err
	}
	body, media, err := g.render(format)
	return web.Reply[*Graph]{Raw: body, Media: media}, err
}

// media are the formats of a graph by their media type.
func media() map[string]string {
	return map[string]string{"json": "application/json", "jsonld": "application/ld+json", "graphml": "application/graphml+xml"}
}

func (g *Graph) render(format string) (body []byte, kind string, err error) {
	kind = media()[format]
	switch format {
	case "jsonld":
		body, err = g.JSONLD()
	case "graphml":
		body, err = g.GraphML()
	default:
		body, err = g.JSON()
	}
	return body, kind, err
}

type invariantsIn struct {
	Limit  web.Number `query:"limit" doc:"How many twins to look at, at most: 1 to 2000, 500 by default." example:"500"`
	Cursor string     `query:"cursor" doc:"Where to go on: nextCursor of the page before."`
}

func (s *Service) serveInvariants(ctx context.Context, in *invariantsIn) (web.Reply[Report], error) {
	var none web.Reply[Report]
	var c fault.Checks
	limit := int(in.Limit.In(&c, "query/limit", 1, maxAudited, 500))
	if err := refused(&c); err != nil {
		return none, err
	}
	var at auditPlace
	if _, err := (web.Paging{Cursor: in.Cursor}).Begin(ctx, s.cfg.Cursors, &at); err != nil {
		return none, err
	}
	report, at, err := s.invariants(ctx, at, limit)
	if err != nil {
		return none, err
	}
	var next any
	if !report.Complete {
		next = at
	}
	p, err := web.PageOf(ctx, s.cfg.Cursors, limit, []struct{}{}, next)
	if err != nil {
		return none, err
	}
	report.Page = p.Value.Page
	return web.Reply[Report]{Value: report, Link: p.Link}, nil
}
