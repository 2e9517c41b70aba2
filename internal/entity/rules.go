package entity

import (
	"context"
	"slices"
	"strings"

	"github.com/hearth-dmrv/hearth/internal/entity/edge"
	"github.com/hearth-dmrv/hearth/internal/entity/link"
	"github.com/hearth-dmrv/hearth/internal/entity/protocol"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// Sources of a relationship.
const (
	sourceDeclared = "declared"
	sourceProtocol = "protocol"
	sourceDerived  = "derived"
)

// withProperties adds to the fault of a draft what its protocol, if there is
// one, says about its properties: all that is wrong is named at once.
func (s *Service) withProperties(ctx context.Context, d Draft, e *Entity, err error) error {
	f := fault.As(err)
	if slices.ContainsFunc(f.Fields, func(f fault.Field) bool { return f.Pointer == "/properties" || f.Pointer == "/protocol" }) {
		return err
	}
	p, missing := s.cfg.Protocols.Find(ctx, web.CallerFrom(ctx).Workspace, d.Protocol, d.ProtocolVersion)
	if missing != nil {
		return err
	}
	if _, broken := checkAgainst(p, e); fault.CodeOf(broken) == "PROPERTY_SCHEMA_VIOLATION" {
		return f.With(fault.As(broken).Fields...)
	}
	return err
}

// checkFree refuses a DID that is a protocol's. Protocols do the same with the
// DIDs of twins.
func (s *Service) checkFree(ctx context.Context, id string) error {
	if id == "" {
		return nil
	}
	taken, err := s.cfg.Protocols.Holds(ctx, web.CallerFrom(ctx).Workspace, id)
	if err != nil || !taken {
		return err
	}
	return fault.New(fault.Conflict, "ENTITY_EXISTS", "A protocol has this DID.").
		With(fault.Field{Pointer: "/did", Code: "exists", Detail: "This DID is taken."})
}

func deactivated() error {
	return fault.New(fault.Conflict, "ENTITY_DEACTIVATED", "The entity is deactivated and cannot be changed.")
}

// missing lists the roles that must be filled before a twin can be active:
// those its protocol asks for and the one the domain model does. count tells
// how many current edges it shows under a word.
func missing(p *protocol.Protocol, domain string, count func(word string) int) []string {
	out := []string{}
	for _, r := range p.Roles() {
		if r.RequiredFor == "active" && count(r.Name) < r.Min {
			out = append(out, r.Name)
		}
	}
	word := edge.Required(domain)
	filled := word == "" || count(word) > 0 || word == edge.GeneratedBy && count(edge.Project) > 0
	if !filled && !slices.Contains(out, word) {
		out = append(out, word)
	}
	return out
}

// counter counts the edges a record shows.
func counter(e *Entity) func(word string) int {
	return func(word string) int {
		n := 0
		for _, r := range e.Relationships {
			if r.Role == word {
				n++
			}
		}
		return n
	}
}

// wordsOf lists the words that count among what is missing, and how many edges
// of each are enough.
func wordsOf(p *protocol.Protocol, domain string) map[string]int {
	out := map[string]int{}
	for _, r := range p.Roles() {
		if r.RequiredFor == "active" && r.Min > 0 {
			out[r.Name] = r.Min
		}
	}
	word := edge.Required(domain)
	if word != "" {
		out[word] = max(out[word], 1)
	}
	if word == edge.GeneratedBy {
		out[edge.Project] = max(out[edge.Project], 1)
	}
	return out
}

// missingFault names the roles an active twin needs.
func missingFault(roles []string, message string) error {
	f := fault.New(fault.Conflict, "MISSING_RELATIONSHIPS", message)
	for _, r := range roles {
		f = f.With(fault.Field{Pointer: "/relationships", Code: "missing", Detail: "The role " + r + " must be filled."})
	}
	return f
}

// belongs tells whether an edge makes the twin that shows it under a word part
// of the project at the other end. other is the domain type of that end, ""
// when it is not held here.
func belongs(word, other string) bool {
	switch word {
	case edge.Project, edge.GeneratedBy, edge.PartOf:
		return other == "project" || other == ""
	}
	return false
}

// plan is an edge that obeys the rules as far as its two ends tell.
type plan struct {
	self, other *link.End // other is nil when the target is not held here
	link        link.Link // without numbers and times
	word        string
	back        bool // self is the target of the edge
	role        protocol.Role
}

// Shown is an edge as one of its ends shows it.
func Shown(l *link.Link, atTarget bool) Relationship {
	r := Relationship{
		ID: link.ID(l.NID), Role: l.Role, Target: l.DstDID, External: l.Dst == 0,
		Since: link.Moment(l.Since), Until: link.Moment(l.Until), Source: l.Source,
	}
	if atTarget {
		r.Role, r.Target, r.Source = edge.Inverse(l.Role), l.SrcDID, sourceDerived
	}
	return r
}

// draw decides what edge a draft asks for: a word of the domain model first,
// then a role of the protocol, then a word of the user's own. at is the pointer
// of the draft.
func (s *Service) draw(self, other *link.End, p *protocol.Protocol, d RelationDraft, at string) (*plan, error) {
	if d.Target == self.DID {
		return nil, invalidRelation(at+"/target", "invalid", "A twin cannot be related to itself.")
	}
	if other == nil && s.cfg.StrictRefs {
		return nil, fault.New(fault.Invalid, "REFERENCE_NOT_FOUND", "The target of a relationship is not held here.").
			With(fault.Field{Pointer: at + "/target", Code: "not_found", Detail: "No entity has this DID."})
	}
	if other != nil && Status(other.Status) == StatusDeactivated {
		return nil, targetGone(at)
	}
	pl := &plan{self: self, other: other, word: d.Role}
	pl.link = link.Link{Src: self.NID, SrcDID: self.DID, DstDID: d.Target, Role: d.Role, Source: sourceDeclared, Since: link.Millis(d.Since), Until: link.Millis(d.Until)}
	if other != nil {
		pl.link.Dst = other.NID
	}
	role, declared := p.Role(d.Role)
	if declared {
		pl.role, pl.link.Source = role, sourceProtocol
	}
	rule, inverse, known := edge.Of(d.Role)
	switch {
	case known:
		return pl, pl.model(rule, inverse, at)
	case d.Role == edge.Project && other != nil && other.DomainType != "project":
		return nil, mismatch(at, "The role project needs a project.")
	case !declared && !edge.IsWord(d.Role):
		return nil, invalidRelation(at+"/role", "invalid", "A role is a word of at most 64 letters and digits that begins with a small letter.")
	}
	return pl, nil
}

// model makes an edge of the domain model.
func (p *plan) model(rule edge.Rule, inverse bool, at string) error {
	self, other := p.self, p.other
	if other == nil {
		if inverse && edge.Outside(rule.Inverse, self.DomainType) {
			return nil // kept at the child, under the child's word
		}
		return fault.New(fault.Unprocessable, "RELATIONSHIP_TARGET_NOT_FOUND", "Both ends of this relationship must be held here.").
			With(fault.Field{Pointer: at + "/target", Code: "not_found", Detail: "No entity has this DID."})
	}
	from, to := self, other
	if inverse {
		from, to = other, self
	}
	if !rule.Joins(from.DomainType, to.DomainType) {
		return mismatch(at, p.wanted(rule, inverse))
	}
	p.back = inverse
	p.link.Mirror, p.link.Role = true, rule.Role
	p.link.Src, p.link.SrcDID, p.link.Dst, p.link.DstDID = from.NID, from.DID, to.NID, to.DID
	if inverse {
		p.link.Source = sourceDeclared // a role of the target's protocol is none of the source's
	}
	return nil
}

// wanted says what a word of the domain model would join the twin with.
func (p *plan) wanted(rule edge.Rule, inverse bool) string {
	partners := rule.Partners(p.self.DomainType, inverse)
	if len(partners) == 0 {
		return "A twin of the domain type " + p.self.DomainType + " cannot have the relationship " + p.word + "."
	}
	return "The relationship " + p.word + " of this twin needs " + strings.Join(partners, " or ") + ", and the target is " + p.other.DomainType + "."
}

func targetGone(at string) error {
	return fault.New(fault.Conflict, "ENTITY_DEACTIVATED", "The target of the relationship is deactivated.").
		With(fault.Field{Pointer: at + "/target", Code: "deactivated", Detail: "This entity is deactivated."})
}

func mismatch(at, detail string) error {
	return fault.New(fault.Unprocessable, "RELATIONSHIP_CLASS_MISMATCH", "The target of the relationship is of the wrong class.").
		With(fault.Field{Pointer: at + "/target", Code: "class_mismatch", Detail: detail})
}

func invalidRelation(pointer, code, detail string) error {
	return fault.New(fault.Invalid, "ENTITY_INVALID", "The entity is not valid.").With(fault.Field{Pointer: pointer, Code: code, Detail: detail})
}
