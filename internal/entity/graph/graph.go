// Package graph reads the edges between twins: neighbours, sub-domains, the
// subgraph around a twin, the shortest path between two, and exports of them as
// JSON-LD and GraphML. It also proves, page by page, that the rules of the
// domain model hold over all that a workspace has stored.
//
// It promises that every answer is bounded in nodes and in edges looked at and
// says when it reached a bound, that the same question has the same answer on
// both databases, and that no walk enters a workspace or a project the caller
// may not see: to that caller nothing lies behind such a twin. It writes
// nothing.
package graph

import (
	"slices"
	"strconv"
	"time"

	"github.com/hearth-dmrv/hearth/api"
	"github.com/hearth-dmrv/hearth/internal/entity"
)

// Bounds of one request.
const (
	maxDepth      = 6      // steps from the first twin of a subgraph
	defaultDepth  = 2      //
	maxNodes      = 10_000 // twins of a subgraph
	defaultNodes  = 1_000  //
	maxSteps      = 10     // edges of a path
	defaultSteps  = 6      //
	maxVisited    = 20_000 // twins a path search may meet
	maxLooked     = 50_000 // edges one request looks at
	maxCandidates = 2_000  // edges one page of neighbours or sub-domains looks at
	maxRoles      = 20     // roles in a filter
)

// Direction says which edges a walk follows from a twin.
type Direction string

// The directions.
const (
	Out  Direction = "out"  // from source to target
	In   Direction = "in"   // from target to source
	Both Direction = "both" //
)

// ways are the directions a walk reads, in this order.
func (d Direction) ways() []Direction {
	if d == Both {
		return []Direction{Out, In}
	}
	return []Direction{d}
}

// back is the direction that leads to where d came from.
func (d Direction) back() Direction {
	switch d {
	case Out:
		return In
	case In:
		return Out
	}
	return Both
}

// Filter says which edges count. The zero value means all current ones.
type Filter struct {
	Roles []string  // any when empty
	On    time.Time // only edges in force at this moment; any when zero
}

func (f Filter) takes(s *step) bool {
	if len(f.Roles) > 0 && !slices.Contains(f.Roles, s.role) {
		return false
	}
	if f.On.IsZero() {
		return true
	}
	on := f.On.UnixMilli()
	return (s.since == never || s.since <= on) && (s.until == never || on < s.until)
}

// Twin is a short description of a twin.
type Twin struct {
	DID        string        `json:"did" example:"did:ixo:entity:175d7824ba25002e4ec206365e206236"`
	Type       string        `json:"type,omitzero" example:"Device"`
	Class      string        `json:"class,omitzero" enum:"physical,cognitive,system,oracle"`
	DomainType string        `json:"domainType,omitzero" example:"device"`
	Status     entity.Status `json:"status,omitzero" enum:"draft,active,suspended,completed,deactivated"`
	Name       string        `json:"name,omitzero" doc:"The beginning of its name; where that is personal, only with the scope entities:pii."`
	External   bool          `json:"external,omitzero" doc:"The twin is not held here; only its DID is known."`
}

// Node is a twin in a graph.
type Node struct {
	Twin
	Depth int `json:"depth" doc:"Steps from the first twin."`
}

// Edge is the type of package api.
type Edge = api.GraphEdge

// Graph is the result of a walk. Nodes are in the order they were found: the
// first twin, then those one step away, and so on.
type Graph struct {
	Root      string `json:"root" doc:"DID of the first twin."`
	Nodes     []Node `json:"nodes"`
	Edges     []Edge `json:"edges" doc:"The edges the walk took between these twins."`
	Truncated bool   `json:"truncated" doc:"A bound stopped the walk: there is more."`
}

// Path is the shortest way between two twins.
type Path struct {
	Found     bool   `json:"found"`
	Length    int    `json:"length" doc:"Number of edges; 0 when nothing was found or both are the same twin."`
	Nodes     []Node `json:"nodes" doc:"The twins along the way, both ends included."`
	Edges     []Edge `json:"edges"`
	Truncated bool   `json:"truncated" doc:"A bound stopped the search: there may be a path."`
}

// never is a time that is not set, as the statements give it.
const never = -62135596800000 // ms; the zero time

// step is an edge as a walk takes it.
type step struct {
	nid          int64
	way          Direction
	near, far    int64 // twins; far is 0 when it is not held here
	role         string
	since, until int64  // ms; never when open
	words        string // of the far twin
}

// edge is a step as readers see it; near and far are the DIDs of its twins.
func (s *step) edge(near, far string) Edge {
	if s.way == In {
		near, far = far, near
	}
	return Edge{
		ID: "rel_" + strconv.FormatInt(s.nid, 10), From: near, To: far, Role: s.role,
		Since: moment(s.since), Until: moment(s.until), External: s.far == 0,
	}
}

func moment(ms int64) time.Time {
	if ms == never {
		return time.Time{}
	}
	return time.UnixMilli(ms).UTC()
}

// vertex is the part of a twin that is read.
type vertex struct {
	Twin
	nid      int64
	project  string
	protocol string
}
