package entity

import (
	"context"
	"crypto/sha256"
	"fmt"
	"slices"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/hearth-dmrv/hearth/internal/auth"
	"github.com/hearth-dmrv/hearth/internal/check"
	"github.com/hearth-dmrv/hearth/internal/entity/protocol"
	"github.com/hearth-dmrv/hearth/internal/entity/relationship"
	"github.com/hearth-dmrv/hearth/internal/entity/twin"
	"github.com/hearth-dmrv/hearth/internal/entity/verdict"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/web"
)

const (
	groupProtocol = "did:ixo:protocol/group"
	groupType     = "MembershipGroup"
	defaultGroup  = "members"
)

// Prepared is a new twin that is ready to be stored. It does not change, so it
// can be stored again when a transaction is repeated.
type Prepared struct {
	entity    *Entity
	row       Row  // rendered; rendered again when relationships change it
	chosen    bool // the draft names the DID
	protocol  *protocol.Protocol
	props     []prop
	externals []ExternalID
	relations []RelationDraft
	groups    []*Prepared        // of an organisation
	links     []relationship.Row // to the groups
	ready     *ready             // its statements, unless they depend on its relationships; see readyFor
}

// DID is the DID of the twin.
func (p *Prepared) DID() string { return p.row.DID }

// Body is the record as it would be stored, without the relationships the
// draft asks for: those are checked when it is stored.
func (p *Prepared) Body() []byte { return slices.Clone(p.row.Body) }

// Prepare does everything for a new twin that needs no transaction: it finds
// the protocol, checks the draft against it, names the twin and renders its
// record. Faults: ENTITY_INVALID and PROPERTY_SCHEMA_VIOLATION with all wrong
// fields, PROTOCOL_NOT_FOUND, PROTOCOL_NOT_PUBLISHED, PROTOCOL_VERSION_RETIRED,
// SCOPE_MISSING, KEY_RESTRICTED.
func (cr *creator) Prepare(ctx context.Context, d Draft) (*Prepared, error) {
	caller := web.CallerFrom(ctx)
	d.SplitVersion()
	oneType(&d)
	e := d.Entity()
	if len(e.Controllers) == 0 {
		e.SetControllers(caller.DID)
	}
	var c fault.Checks
	d.Check(&c)
	e.Check(&c)
	if err := c.Err("ENTITY_INVALID", "The entity is not valid."); err != nil {
		return nil, cr.withRest(ctx, d, err)
	}
	p, err := cr.protocols.Find(ctx, caller.Workspace, d.Protocol, d.ProtocolVersion)
	if err != nil {
		return nil, protocol.At(err, "/protocol", d.Protocol, d.ProtocolVersion)
	}
	if err := cr.mayIssue(ctx, p.DomainType() == verdict.Credential); err != nil {
		return nil, err
	}
	values, err := relationship.Fit(p, e)
	if len(d.Groups) > 0 && p.DomainType() != "organisation" {
		err = check.Together(err, relationship.Invalid("/groups", "not_allowed", "Only an organisation is created with groups."))
	}
	if err != nil {
		return nil, cr.withRest(ctx, d, err)
	}
	if err := cr.warm(ctx, d.Targets()...); err != nil {
		return nil, err
	}
	cr.begin(ctx, e, p)
	out := &Prepared{entity: e, chosen: d.DID != "", protocol: p, relations: d.Relationships, externals: namesOf(e.ExternalIDs)}
	out.props = entriesOf(caller.Workspace, p, e, values)
	if err := checkGrant(ctx, e, nil); err != nil {
		return nil, err
	}
	if err := mayName(caller, d.DID, p.DomainType()); err != nil {
		return nil, err
	}
	if err := cr.checkFree(ctx, d.DID); err != nil {
		return nil, err
	}
	if p.DomainType() == "organisation" {
		if err := cr.prepareGroups(ctx, out, d.Groups); err != nil {
			return nil, err
		}
	}
	if err := cr.seal(ctx, out); err != nil {
		return nil, err
	}
	return out, checkSize(out.row.Body)
}

// mayName lets only callers who may take over any twin choose the DID of an
// organisation or a group: its members control every twin that names that DID
// as its controller, and a twin may have named it long before.
func mayName(c web.Caller, id, domain string) error {
	if id == "" || domain != "organisation" && domain != "group" || auth.May(c, "entities:transfer") {
		return nil
	}
	return fault.New(fault.Forbidden, "SCOPE_MISSING", "Choosing the DID of an organisation or a group needs the scope entities:transfer.").
		With(fault.Field{Pointer: "/did", Code: "scope_missing", Detail: "Leave it out: a new one is made."})
}

// begin fills in what the server decides about a new record.
func (cr *creator) begin(ctx context.Context, e *Entity, p *protocol.Protocol) {
	caller, now := web.CallerFrom(ctx), cr.now().UTC().Truncate(time.Millisecond)
	if e.DID == "" {
		e.DID = cr.newDID().String()
	}
	e.Class, e.DomainType, e.ProtocolVersion, e.Owner = p.Class(), p.DomainType(), p.Version, caller.DID
	if e.DomainType == "project" {
		e.Project = e.DID
	}
	e.Verification, e.RelayerNode, e.Revision = Verification{Status: "unverified"}, cr.relayer, 1
	e.Created, e.Updated, e.CreatedBy, e.UpdatedBy = now, now, caller.DID, caller.DID
	e.Links = twin.LinksOf(e.DID)
}

// checkGrant stops callers from giving a group scopes they lack themselves.
// before are the properties it had.
func checkGrant(ctx context.Context, e *Entity, before *Object) error {
	if e.DomainType != "group" {
		return nil
	}
	scopes, ok := twin.ScopesOf(e.Properties)
	if !ok {
		return fault.New(fault.Invalid, "PROPERTY_SCHEMA_VIOLATION", "The properties do not fit the protocol.").
			With(fault.Field{Pointer: "/properties/scopes", Code: "wrong_type", Detail: "The value must be an array of texts."})
	}
	if before != nil {
		if old, ok := twin.ScopesOf(*before); ok && slices.Equal(old, scopes) {
			return nil
		}
	}
	if len(scopes) == 0 {
		return nil
	}
	var c fault.Checks
	twin.CheckScopes(&c, "/properties/scopes", scopes)
	if err := c.Err("ENTITY_INVALID", "The entity is not valid."); err != nil {
		return err
	}
	caller := web.CallerFrom(ctx)
	if len(caller.Projects) > 0 { // members would not be limited to these projects
		return restricted("This key is limited to projects; a group gives scopes in the whole workspace.")
	}
	return auth.CheckGrant(caller, "/properties/scopes", scopes)
}

func restricted(message string) error {
	return fault.New(fault.Forbidden, "KEY_RESTRICTED", message)
}

// prepareGroups makes the groups an organisation is created with, and the
// relationships to them.
func (cr *creator) prepareGroups(ctx context.Context, org *Prepared, drafts []GroupDraft) error {
	if len(drafts) == 0 {
		drafts = []GroupDraft{{Name: defaultGroup}}
	}
	for i, d := range drafts {
		props, err := web.Encode(struct {
			Name   string   `json:"name"`
			Scopes []string `json:"scopes"`
		}{d.Name, d.Scopes})
		if err != nil {
			return err
		}
		g, err := cr.Prepare(ctx, Draft{
			Type: groupType, Protocol: groupProtocol, Properties: Object{Value: jsontext.Value(props)},
			Controllers: org.entity.Controllers,
		})
		if err != nil {
			return check.Moved(err, "/properties", fmt.Sprintf("/groups/%d", i))
		}
		l := relationship.Row{
			NID: cr.db.NewNID(), DstDID: g.row.DID, Dst: g.row.NID, SrcDID: org.entity.DID, Role: relationship.Contains, Mirror: true,
			Source: relationship.Declared, AddedAt: org.entity.Created.UnixMilli(), AddedBy: org.entity.CreatedBy,
		}
		org.links, org.groups = append(org.links, l), append(org.groups, g)
		org.entity.Relationships = append(org.entity.Relationships, l.Shown(false))
		g.entity.Relationships = append(g.entity.Relationships, l.Shown(true))
		if err := cr.seal(ctx, g); err != nil {
			return err
		}
	}
	return nil
}

// seal decides the status of a new record, renders it and makes its row.
func (cr *creator) seal(ctx context.Context, p *Prepared) error {
	if p.row.NID == 0 {
		p.row.NID = cr.db.NewNID()
		for i := range p.links {
			p.links[i].Src = p.row.NID
		}
	}
	return cr.sealRow(ctx, p.entity, p.protocol, &p.row)
}

func (cr *creator) sealRow(ctx context.Context, e *Entity, p *protocol.Protocol, row *Row) error {
	e.MissingRelationships = relationship.Missing(p, e.DomainType, relationship.Counter(e, cr.now()))
	e.Status = StatusActive
	if len(e.MissingRelationships) > 0 {
		e.Status = StatusDraft
	}
	nid := row.NID
	*row = Row{NID: nid, Workspace: web.CallerFrom(ctx).Workspace, CreatedAt: e.Created.UnixMilli(), Protocol: e.Protocol}
	return row.render(ctx, e, Action{Name: "create"}, nil)
}

// render writes the record of a revision into its row. before is the hash of
// the revision before.
func (r *Row) render(ctx context.Context, e *Entity, act Action, before []byte) error {
	e.Normal()
	body, err := e.Encode()
	if err != nil {
		return err
	}
	h := sha256.New()
	h.Write(before)
	h.Write(body)
	r.DID, r.Type, r.Class, r.DomainType, r.ProtocolVersion = e.DID, e.Type, e.Class, e.DomainType, e.ProtocolVersion
	r.Project, r.Status, r.Revision, r.Name = e.Project, e.Status, e.Revision, cut(e.Name(), maxName)
	// A verifier sees every relationship that such a twin's statement rests on,
	// even those the record has no room for.
	r.crowded = e.MoreRelationships && len(e.MissingRelationships) == 0 && !verdict.Speaks(e.DomainType)
	r.UpdatedAt, r.Action, r.Actor, r.Reason = e.Updated.UnixMilli(), act.Name, e.UpdatedBy, act.Reason
	r.RequestID, r.Hash, r.Body = web.RequestID(ctx), h.Sum(nil), body
	return nil
}

// maxName limits the bytes of a name in the row.
const maxName = 200

// entriesOf lists a twin's entries for the property index.
func entriesOf(ws string, p *protocol.Protocol, e *Entity, values map[string]any) []prop {
	return append(propsOf(ws, p, values), wordsOf(ws, cut(e.Name(), maxName), values)...)
}

// propsOf lists the values of a twin that its protocol has indexed.
func propsOf(ws string, p *protocol.Protocol, values map[string]any) []prop {
	var out []prop
	for _, x := range p.Indexed() {
		if text, ok := IndexText(x.Kind, values[x.Name]); ok {
			out = append(out, prop{PID: PropID(ws, p.DID, x.Name), Val: text})
		}
	}
	return out
}

// PrepareWithGroups is Prepare for an organisation whose relationships name
// existing groups: none is made for it. The caller who stores it must ensure
// that one of them is active. Faults: those of Prepare.
func (cr *creator) PrepareWithGroups(ctx context.Context, d Draft) (*Prepared, error) {
	p, err := cr.Prepare(ctx, d)
	if err != nil {
		return nil, err
	}
	p.groups, p.links, p.entity.Relationships = nil, nil, nil
	return p, cr.seal(ctx, p)
}
