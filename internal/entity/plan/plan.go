// Package plan decides what edge a draft asks for, as far as its two ends and
// their protocols tell, which edges a twin needs before it can be active, and
// whether a record fits its protocol.
// Who may make an edge, and rules about more than its two ends, are decided
// above. It stores nothing.
package plan

import (
	"context"
	"fmt"
	"strings"

	"github.com/hearth-dmrv/hearth/internal/did"
	"github.com/hearth-dmrv/hearth/internal/entity/edge"
	"github.com/hearth-dmrv/hearth/internal/entity/link"
	"github.com/hearth-dmrv/hearth/internal/entity/protocol"
	"github.com/hearth-dmrv/hearth/internal/entity/twin"
	"github.com/hearth-dmrv/hearth/internal/fault"
)

// Sources of a relationship.
const (
	Declared     = "declared"
	FromProtocol = "protocol"
	Derived      = "derived"
)

// Plan is an edge that obeys the rules as far as its two ends tell.
type Plan struct {
	Self, Other *link.End // Other is nil when the target is not held here
	Link        link.Link // without numbers and times
	Word        string
	Back        bool // Self is the target of the edge
	Role        protocol.Role
	Misfit      error // why an edge that waited for its target cannot have it
}

// Ends are the source and the target of an edge; the target is nil when it is
// not held here.
func (p *Plan) Ends() (from, to *link.End) {
	if p.Back {
		return p.Other, p.Self
	}
	return p.Self, p.Other
}

// Ordered reports whether the edge could close a circle: only twins of one kind
// contain each other.
func (p *Plan) Ordered() bool {
	from, to := p.Ends()
	return p.Link.Mirror && edge.Orders(p.Link.Role) && from.DomainType == to.DomainType
}

// ToGroup reports whether the edge puts a group into an organisation or another
// group.
func (p *Plan) ToGroup() bool {
	_, to := p.Ends()
	return p.Link.Mirror && p.Link.Role == edge.Contains && to.DomainType == "group"
}

// Leans reports whether the edge may be the one by which an asset names the
// project it needs. The project does not show it.
func (p *Plan) Leans() bool {
	return p.Link.Role == edge.Project && p.Other != nil && p.Self.DomainType == "asset"
}

// Same reports whether two plans are of one edge.
func (p *Plan) Same(o *Plan) bool {
	return p.Link.Role == o.Link.Role && p.Link.Src == o.Link.Src && p.Link.DstDID == o.Link.DstDID
}

// FarDID is the DID of the other end.
func (p *Plan) FarDID() string {
	if p.Back {
		return p.Link.SrcDID
	}
	return p.Link.DstDID
}

// OtherDomain is the domain type of the other end, "" when it is not held here.
func (p *Plan) OtherDomain() string {
	if p.Other == nil {
		return ""
	}
	return p.Other.DomainType
}

// Shown is an edge as one of its ends shows it.
func Shown(l *link.Link, atTarget bool) twin.Relationship {
	r := twin.Relationship{
		ID: link.ID(l.NID), Role: l.Role, Target: l.DstDID, External: l.Dst == 0, Unconfirmed: l.Unconfirmed,
		Since: link.Moment(l.Since), Until: link.Moment(l.Until), Source: l.Source,
	}
	if atTarget {
		r.Role, r.Target, r.Source = edge.Inverse(l.Role), l.SrcDID, Derived
	}
	return r
}

// Drawer draws edges.
type Drawer struct {
	Strict    bool // refuse targets that are not held here
	Confirms  bool // whoever draws may say that such targets are what they should be
	Protocols *protocol.Service
}

// Draw decides what edge a draft asks for: a word of the domain model first,
// then a role of the protocol, then a word of the user's own. at is the pointer
// of the draft. Faults: ENTITY_INVALID, REFERENCE_NOT_FOUND,
// ENTITY_DEACTIVATED, RELATIONSHIP_TARGET_NOT_FOUND,
// RELATIONSHIP_CLASS_MISMATCH.
func (w Drawer) Draw(self, other *link.End, p *protocol.Protocol, d twin.RelationDraft, at string) (*Plan, error) {
	if d.Target == self.DID {
		return nil, Invalid(at+"/target", "invalid", "A twin cannot be related to itself.")
	}
	if other == nil && w.Strict {
		return nil, fault.New(fault.Invalid, "REFERENCE_NOT_FOUND", "The target of a relationship is not held here.").
			With(fault.Field{Pointer: at + "/target", Code: "not_found", Detail: "No entity has this DID."})
	}
	if other != nil && twin.Status(other.Status) == twin.StatusDeactivated {
		return nil, TargetGone(at)
	}
	pl := &Plan{Self: self, Other: other, Word: d.Role}
	pl.Link = link.Link{Src: self.NID, SrcDID: self.DID, DstDID: d.Target, Role: d.Role, Source: Declared, Since: link.Millis(d.Since), Until: link.Millis(d.Until)}
	if other != nil {
		pl.Link.Dst = other.NID
	}
	pl.Link.Unconfirmed = other == nil && (d.Unconfirmed || !w.Confirms)
	role, declared := p.Role(d.Role)
	if declared {
		pl.Role, pl.Link.Source = role, FromProtocol
	}
	rule, inverse, known := edge.Of(d.Role)
	switch {
	case known:
		return pl, pl.model(rule, inverse, at)
	case d.Role == edge.Project && other != nil && other.DomainType != "project":
		return nil, mismatch(at, "The role project needs a project.")
	case !declared && !edge.IsWord(d.Role):
		return nil, Invalid(at+"/role", "invalid", "A role is a word of at most 64 letters and digits that begins with a small letter.")
	}
	return pl, nil
}

// model makes an edge of the domain model.
func (p *Plan) model(rule edge.Rule, inverse bool, at string) error {
	self, other := p.Self, p.Other
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
	if rule.Role == edge.Becomes {
		from.Crowded = false // whoever counts its credentials must be alone
	}
	p.Back = inverse
	p.Link.Mirror, p.Link.Role = true, rule.Role
	p.Link.Src, p.Link.SrcDID, p.Link.Dst, p.Link.DstDID = from.NID, from.DID, to.NID, to.DID
	if inverse {
		p.Link.Source = Declared // a role of the target's protocol is none of the source's
	}
	return nil
}

// wanted says what a word of the domain model would join the twin with.
func (p *Plan) wanted(rule edge.Rule, inverse bool) string {
	partners := rule.Partners(p.Self.DomainType, inverse)
	if len(partners) == 0 {
		return "A twin of the domain type " + p.Self.DomainType + " cannot have the relationship " + p.Word + "."
	}
	return "The relationship " + p.Word + " of this twin needs " + strings.Join(partners, " or ") + ", and the target is " + p.Other.DomainType + "."
}

// CheckClass holds the target of a declared role against the class the
// protocol asks for.
func (w Drawer) CheckClass(ctx context.Context, ws string, p *Plan, at string) error {
	if p.Role.Name == "" || p.Other == nil || protocol.FitsClass(p.Role.Class, p.Other.DomainType, p.Other.Class) {
		return nil
	}
	if id, err := did.Parse(p.Role.Class); err == nil {
		made, err := w.Protocols.FindAny(ctx, ws, p.Other.Protocol, p.Other.ProtocolVersion)
		if err != nil {
			return err
		}
		if made.Extends(id.String()) {
			return nil
		}
	}
	return mismatch(at, fmt.Sprintf("The role %s needs %s, and the target is %s.", p.Role.Name, p.Role.Class, p.Other.DomainType))
}

// TargetGone is the fault of an edge to a twin that is deactivated.
func TargetGone(at string) error {
	return fault.New(fault.Conflict, "ENTITY_DEACTIVATED", "The target of the relationship is deactivated.").
		With(fault.Field{Pointer: at + "/target", Code: "deactivated", Detail: "This entity is deactivated."})
}

// Lacking is the fault of roles that must be filled.
func Lacking(roles []string, message string) error {
	f := fault.New(fault.Conflict, "MISSING_RELATIONSHIPS", message)
	for _, r := range roles {
		f = f.With(lacks(r))
	}
	return f
}

func lacks(role string) fault.Field {
	return fault.Field{Pointer: "/relationships", Code: "missing", Detail: "The role " + role + " must be filled."}
}

// Exists is the fault of an edge that is there already.
func Exists(at string) error {
	return fault.New(fault.Conflict, "RELATIONSHIP_EXISTS", "The relationship exists already.").
		With(fault.Field{Pointer: at, Code: "exists", Detail: "There is such a relationship already."})
}

// TooMany is the fault of an edge of a role that has all it may have.
func TooMany(at string, r protocol.Role) error {
	return fault.New(fault.Conflict, "RELATIONSHIP_LIMIT", "The role has all the relationships it may have.").
		With(fault.Field{Pointer: at + "/role", Code: "too_many", Detail: fmt.Sprintf("The protocol allows %d of the role %s.", r.Max, r.Name)})
}

func mismatch(at, detail string) error {
	return fault.New(fault.Unprocessable, "RELATIONSHIP_CLASS_MISMATCH", "The target of the relationship is of the wrong class.").
		With(fault.Field{Pointer: at + "/target", Code: "class_mismatch", Detail: detail})
}

// Invalid is the fault of one field of a draft.
func Invalid(pointer, code, detail string) error {
	return fault.New(fault.Invalid, "ENTITY_INVALID", "The entity is not valid.").With(fault.Field{Pointer: pointer, Code: code, Detail: detail})
}
