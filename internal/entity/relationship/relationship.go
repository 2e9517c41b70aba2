// Package relationship holds what joins twins: the rules of the domain model
// (organisations implement projects, projects generate assets, assets produce
// claims, oracles verify claims, claims become credentials, and some twins
// contain others; each rule has a word for either end), which relationship a
// draft asks for, as far as its two ends and their protocols show, which
// relationships a twin needs before it can be active, and the rows that store
// them: one for each, in the direction of the domain model.
//
// Packages above decide who may make a relationship, and hold the rules about
// more than its two ends.
package relationship

import (
	"context"
	"fmt"
	"strings"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/did"
	"github.com/hearth-dmrv/hearth/internal/entity/protocol"
	"github.com/hearth-dmrv/hearth/internal/entity/twin"
	"github.com/hearth-dmrv/hearth/internal/fault"
)

// Sources of a relationship.
const (
	Declared     = "declared"
	fromProtocol = "protocol"
	derived      = "derived"
)

// Relationship is a relationship that obeys the rules between its two ends.
type Relationship struct {
	Self, Other *End // Other is nil when the target is not held here
	Row         Row  // without numbers and times
	Word        string
	Back        bool // Self is the target of the relationship
	Role        protocol.Role
	Misfit      error // why a relationship that waited for its target cannot be joined to it

	Became    *twin.Credential // the new credential Self, as shown by the claim that becomes it
	Certified bool             // the other end shows it
}

// Ends returns the source and the target of a relationship; the target is nil
// when it is not held here.
func (p *Relationship) Ends() (from, to *End) {
	if p.Back {
		return p.Other, p.Self
	}
	return p.Self, p.Other
}

// Ordered reports whether the relationship could close a cycle: only twins of
// one kind contain each other.
func (p *Relationship) Ordered() bool {
	from, to := p.Ends()
	return p.Row.Mirror && Orders(p.Row.Role) && from.DomainType == to.DomainType
}

// ToGroup reports whether the relationship puts a group into an organisation or
// another group.
func (p *Relationship) ToGroup() bool {
	_, to := p.Ends()
	return p.Row.Mirror && p.Row.Role == Contains && to.DomainType == "group"
}

// Leans reports whether the relationship may be the one by which an asset names
// the project it needs. The project does not show it.
func (p *Relationship) Leans() bool {
	return p.Row.Role == Project && p.Other != nil && p.Self.DomainType == "asset"
}

// Same reports whether two plans describe the same relationship.
func (p *Relationship) Same(o *Relationship) bool {
	return p.Row.Role == o.Row.Role && p.Row.Src == o.Row.Src && p.Row.DstDID == o.Row.DstDID
}

// FarDID is the DID of the other end.
func (p *Relationship) FarDID() string {
	if p.Back {
		return p.Row.SrcDID
	}
	return p.Row.DstDID
}

// OtherDomain is the domain type of the other end, "" when it is not held here.
func (p *Relationship) OtherDomain() string {
	if p.Other == nil {
		return ""
	}
	return p.Other.DomainType
}

// Shown renders a relationship for the record of one of its ends.
func (l *Row) Shown(atTarget bool) twin.Relationship {
	r := twin.Relationship{
		ID: ID(l.NID), Role: l.Role, Target: l.DstDID, External: l.Dst == 0, Unconfirmed: l.Unconfirmed,
		Since: Moment(l.Since), Until: Moment(l.Until), Source: l.Source,
	}
	if atTarget {
		r.Role, r.Target, r.Source = Inverse(l.Role), l.SrcDID, derived
	}
	return r
}

// Drawer turns drafts into relationships.
type Drawer struct {
	Strict    bool // refuse targets that are not held here
	Confirms  bool // the caller may confirm such targets
	Protocols *protocol.Service
}

// Draw decides which relationship a draft asks for: a word of the domain model
// first, then a role of the protocol, then a word of the user's own. at is the
// pointer of the draft. Faults: ENTITY_INVALID, REFERENCE_NOT_FOUND,
// ENTITY_DEACTIVATED, RELATIONSHIP_TARGET_NOT_FOUND, RELATIONSHIP_CLASS_MISMATCH.
func (w Drawer) Draw(self, other *End, p *protocol.Protocol, d twin.RelationDraft, at string) (*Relationship, error) {
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
	pl := &Relationship{Self: self, Other: other, Word: d.Role}
	pl.Row = Row{Src: self.NID, SrcDID: self.DID, DstDID: d.Target, Role: d.Role, Source: Declared, Since: Millis(d.Since), Until: Millis(d.Until)}
	if other != nil {
		pl.Row.Dst = other.NID
	}
	pl.Row.Unconfirmed = other == nil && (d.Unconfirmed || !w.Confirms)
	role, declared := p.Role(d.Role)
	if declared {
		pl.Role, pl.Row.Source = role, fromProtocol
	}
	rule, inverse, known := Of(d.Role)
	switch {
	case known:
		return pl, pl.model(rule, inverse, at)
	case d.Role == Project && other != nil && other.DomainType != "project":
		return nil, mismatch(at, "The role project needs a project.")
	case !declared && !IsWord(d.Role):
		return nil, Invalid(at+"/role", "invalid", "A role is a word of at most 64 letters and digits that begins with a small letter.")
	}
	return pl, nil
}

// model makes a relationship of the domain model.
func (p *Relationship) model(rule Rule, inverse bool, at string) error {
	self, other := p.Self, p.Other
	if other == nil {
		if inverse && Outside(rule.Inverse, self.DomainType) {
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
	if rule.Role == Becomes {
		from.Crowded = false // counting its credentials needs an exclusive lock
	}
	p.Back = inverse
	p.Row.Mirror, p.Row.Role = true, rule.Role
	p.Row.Src, p.Row.SrcDID, p.Row.Dst, p.Row.DstDID = from.NID, from.DID, to.NID, to.DID
	if inverse {
		p.Row.Source = Declared // a role of the target's protocol is none of the source's
	}
	return nil
}

// wanted says which twins a word of the domain model can join this one to.
func (p *Relationship) wanted(rule Rule, inverse bool) string {
	partners := rule.Partners(p.Self.DomainType, inverse)
	if len(partners) == 0 {
		return "A twin of the domain type " + p.Self.DomainType + " cannot have the relationship " + p.Word + "."
	}
	return "The relationship " + p.Word + " of this twin needs " + strings.Join(partners, " or ") + ", and the target is " + p.Other.DomainType + "."
}

// CheckClass checks the target of a declared role against the class the
// protocol requires.
func (w Drawer) CheckClass(ctx context.Context, ws string, p *Relationship, at string) error {
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

// TargetGone is the fault of a relationship to a deactivated twin.
func TargetGone(at string) error {
	return fault.New(fault.Conflict, "ENTITY_DEACTIVATED", "The target of the relationship is deactivated.").
		With(fault.Field{Pointer: at + "/target", Code: "deactivated", Detail: "This entity is deactivated."})
}

// Lacking is the fault when required roles are not filled.
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

// Exists is the fault of a relationship that exists already.
func Exists(at string) error {
	return fault.New(fault.Conflict, "RELATIONSHIP_EXISTS", "The relationship exists already.").
		With(fault.Field{Pointer: at, Code: "exists", Detail: "There is such a relationship already."})
}

// TooMany is the fault of a relationship of a role whose maximum is reached.
func TooMany(at string, r protocol.Role) error {
	return fault.New(fault.Conflict, "RELATIONSHIP_LIMIT", "The role has all the relationships it may have.").
		With(fault.Field{Pointer: at + "/role", Code: "too_many", Detail: fmt.Sprintf("The protocol allows %d of the role %s at a time. Remove one, which keeps the time it held, or let this one begin when another ends.", r.Max, r.Name)})
}

func mismatch(at, detail string) error {
	return fault.New(fault.Unprocessable, "RELATIONSHIP_CLASS_MISMATCH", "The target of the relationship is of the wrong class.").
		With(fault.Field{Pointer: at + "/target", Code: "class_mismatch", Detail: detail})
}

// Invalid is the fault of one field of a draft.
func Invalid(pointer, code, detail string) error {
	return fault.New(fault.Invalid, "ENTITY_INVALID", "The entity is not valid.").With(fault.Field{Pointer: pointer, Code: code, Detail: detail})
}

// Once refuses a second credential of a claim while the first is not
// deactivated: what a claim says counts once. The claim is locked. sees reports
// whether the caller may know the twins of a project. Fault:
// CLAIM_ALREADY_CREDENTIAL.
func Once(ctx context.Context, q db.Querier, l *Row, pointer string, sees func(project string) bool) error {
	other, err := otherCredential(ctx, q, l.Src, l.Dst)
	if err != nil || other == nil {
		return err
	}
	who := "Another credential"
	if sees(other.Project) {
		who = other.DID
	}
	return fault.New(fault.Conflict, "CLAIM_ALREADY_CREDENTIAL", "The claim has become a credential already. Revoke that credential first.").
		With(fault.Field{Pointer: pointer, Code: "exists", Detail: who + " rests on this claim and is not deactivated."})
}
