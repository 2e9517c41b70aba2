package twin

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/hearth-dmrv/hearth/api"
	"github.com/hearth-dmrv/hearth/internal/check"
	"github.com/hearth-dmrv/hearth/internal/fault"
)

// Limits of a twin.
const (
	MaxType        = 200       // characters, one line
	maxControllers = 20        //
	maxProperties  = 256 << 10 // bytes of JSON
	maxMetadata    = 64 << 10  // bytes of JSON
	MaxRecord      = 768 << 10 // bytes of a record without its relationships; a PUT of it must fit a body
	maxServices    = 100       //
	MaxRelations   = 100       // in a draft, and shown in a record
	MaxCredentials = 100       // shown in a record
	maxParts       = 100       // linked resources, linked entities, rights
	maxAccounts    = 20        //
	maxAliases     = 20        // members of alsoKnownAs
	MaxExternals   = 20        //
	maxExternal    = 200       // characters of an external id
	maxScheme      = 64        // characters of the name of its system
	maxGroups      = 20        // an organisation is created with
	MaxEvidence    = 2000      // characters
	MaxText        = 2048      // characters of any other text
	reservedPrefix = "did:ixo:protocol/"
)

// Draft is what a twin is made from, and what a PUT replaces it with. It
// contains only members that a client decides.
type Draft struct {
	DID             string            `json:"did,omitzero" doc:"DID of the twin; made when absent."`
	Type            string            `json:"type" doc:"What it is, in your words: one line of at most 200 characters." example:"Device"`
	Protocol        string            `json:"protocol" doc:"DID of the protocol it is made from; with @version for another than the newest." example:"did:ixo:protocol/template"`
	ProtocolVersion string            `json:"protocolVersion,omitzero" doc:"The newest published one when absent."`
	Controller      string            `json:"controller,omitzero" doc:"DID of its controller, who may change it; you when absent."`
	Controllers     []string          `json:"controllers,omitzero" doc:"All who may change it, at most 20."`
	Properties      Object            `json:"properties,omitzero" doc:"What the protocol declares; at most 256 KiB."`
	Services        []Endpoint        `json:"services,omitzero" doc:"At most 100."`
	Relationships   []RelationDraft   `json:"relationships,omitzero" doc:"At most 100."`
	LinkedResources []LinkedResource  `json:"linkedResources,omitzero"`
	LinkedEntities  []LinkedEntity    `json:"linkedEntities,omitzero"`
	AccordedRights  []AccordedRight   `json:"accordedRights,omitzero"`
	Accounts        []Account         `json:"accounts,omitzero"`
	AlsoKnownAs     []string          `json:"alsoKnownAs,omitzero"`
	ExternalIDs     map[string]string `json:"externalIds,omitzero" doc:"Names other systems have for it, by system: at most 20 of 200 characters. Each pair is unique in the workspace."`
	StartDate       time.Time         `json:"startDate,omitzero"`
	EndDate         time.Time         `json:"endDate,omitzero"`
	Metadata        Object            `json:"metadata,omitzero" doc:"Anything else: name, description, tags, location; at most 64 KiB."`
	Groups          []GroupDraft      `json:"groups,omitzero" doc:"Membership groups of an organisation, at most 20; one named members when absent."`
}

// Patch lists what a PATCH can change.
type Patch struct {
	Type            string            `json:"type,omitzero"`
	Controller      string            `json:"controller,omitzero"`
	Controllers     []string          `json:"controllers,omitzero"`
	Properties      Object            `json:"properties,omitzero" doc:"Null removes a member."`
	Services        []Endpoint        `json:"services,omitzero" doc:"An array replaces the whole list; this holds for all arrays."`
	LinkedResources []LinkedResource  `json:"linkedResources,omitzero"`
	LinkedEntities  []LinkedEntity    `json:"linkedEntities,omitzero"`
	AccordedRights  []AccordedRight   `json:"accordedRights,omitzero"`
	Accounts        []Account         `json:"accounts,omitzero"`
	AlsoKnownAs     []string          `json:"alsoKnownAs,omitzero"`
	ExternalIDs     map[string]string `json:"externalIds,omitzero"`
	StartDate       time.Time         `json:"startDate,omitzero"`
	EndDate         time.Time         `json:"endDate,omitzero"`
	Metadata        Object            `json:"metadata,omitzero"`
}

// RelationDraft describes a relationship to make.
type RelationDraft api.RelationshipDraft

// GroupDraft is a membership group an organisation is created with.
type GroupDraft struct {
	Name   string   `json:"name" example:"members"`
	Scopes []string `json:"scopes,omitzero" doc:"What members may do. You must have these scopes yourself."`
}

// Check names everything that is wrong with the parts of a draft that are not
// part of a record.
func (d *Draft) Check(c *fault.Checks) {
	if d.DID != "" {
		check.DID(c, "/did", d.DID)
		if strings.HasPrefix(d.DID, reservedPrefix) {
			c.Add("/did", "reserved", "DIDs of this form are for protocols.")
		}
	}
	if d.Protocol == "" {
		c.Require(false, "/protocol")
	} else {
		check.DID(c, "/protocol", d.Protocol)
	}
	CheckControllers(c, d.Controller, d.Controllers)
	if len(d.Relationships) > MaxRelations {
		c.Add("/relationships", "too_many", "At most 100 relationships are accepted here.")
	} else {
		for i, r := range d.Relationships {
			r.Check(c, fmt.Sprintf("/relationships/%d", i))
		}
	}
	d.checkGroups(c)
}

func (d *Draft) checkGroups(c *fault.Checks) {
	if len(d.Groups) > maxGroups {
		c.Add("/groups", "too_many", "At most 20 groups are accepted here.")
		return
	}
	for i, g := range d.Groups {
		at := fmt.Sprintf("/groups/%d", i)
		if check.Line(c, at+"/name", g.Name, MaxType); slices.ContainsFunc(d.Groups[:i], func(o GroupDraft) bool { return o.Name == g.Name }) {
			c.Add(at+"/name", "duplicate", "Another group has this name.")
		}
		CheckScopes(c, at+"/scopes", g.Scopes)
	}
}

// Check names what is wrong with a relationship, independent of its ends. at is
// the pointer of the draft.
func (d *RelationDraft) Check(c *fault.Checks, at string) {
	if d.Role == "" {
		c.Require(false, at+"/role")
	} else if len(d.Role) > maxScheme {
		c.Add(at+"/role", "too_long", "At most 64 characters are accepted.")
	} else if !check.IsRole(d.Role) {
		c.Add(at+"/role", "invalid", "A role is a word of letters, digits, - and _ that begins with a small letter.")
	}
	if d.Target == "" {
		c.Require(false, at+"/target")
	} else {
		check.DID(c, at+"/target", d.Target)
	}
	check.Span(c, at+"/until", d.Since, d.Until)
}

// Entity is the record of a draft, as far as the draft determines it.
func (d *Draft) Entity() *Entity {
	e := &Entity{DID: d.DID, Protocol: d.Protocol}
	d.Into(e)
	if d.Controller != "" || len(d.Controllers) > 0 {
		e.SetControllers(append([]string{d.Controller}, d.Controllers...)...)
	}
	return e
}

// Into replaces what a client decides in a record, except the controllers.
func (d *Draft) Into(e *Entity) {
	e.Type, e.Properties, e.Services, e.LinkedResources, e.LinkedEntities = d.Type, d.Properties, d.Services, d.LinkedResources, d.LinkedEntities
	e.AccordedRights, e.Accounts, e.AlsoKnownAs, e.ExternalIDs = d.AccordedRights, d.Accounts, d.AlsoKnownAs, d.ExternalIDs
	e.StartDate, e.EndDate, e.Metadata = d.StartDate, d.EndDate, d.Metadata
}

// SetControllers sets who may change the twin: the first is the controller.
// Duplicates are removed.
func (e *Entity) SetControllers(all ...string) {
	list := make([]string, 0, len(all))
	for _, d := range all {
		if d != "" && !slices.Contains(list, d) {
			list = append(list, d)
		}
	}
	e.Controllers, e.Controller = list, ""
	if len(list) > 0 {
		e.Controller = list[0]
	}
}

// CheckControllers requires DIDs. They are named as the client has sent them,
// because the record only has the joined list.
func CheckControllers(c *fault.Checks, first string, all []string) {
	if first != "" {
		check.DID(c, "/controller", first)
	}
	for i, d := range all {
		if d != "" && d != first {
			check.DID(c, fmt.Sprintf("/controllers/%d", i), d)
		}
	}
}

// Check names everything that is wrong with what a client decides in a record,
// except whether its controllers are DIDs; see CheckControllers. The protocol's
// checks of properties come in addition.
func (e *Entity) Check(c *fault.Checks) {
	check.Line(c, "/type", e.Type, MaxType)
	c.Require(len(e.Controllers) > 0, "/controller")
	if len(e.Controllers) > maxControllers {
		c.Add("/controllers", "too_many", "At most 20 controllers are accepted.")
	}
	check.Object(c, "/properties", e.Properties.Value, maxProperties)
	check.Object(c, "/metadata", e.Metadata.Value, maxMetadata)
	check.Span(c, "/endDate", e.StartDate, e.EndDate)
	e.checkServices(c)
	e.checkParts(c)
	e.checkExternals(c)
}

// Normal gives every member the form in which it is sent.
func (e *Entity) Normal() {
	if e.Properties.IsZero() {
		e.Properties = Object{jsontext.Value("{}")}
	}
	if e.Metadata.IsZero() {
		e.Metadata = Object{jsontext.Value("{}")}
	}
	e.StartDate, e.EndDate = e.StartDate.UTC().Truncate(time.Millisecond), e.EndDate.UTC().Truncate(time.Millisecond)
	e.StatusCode = e.Status.Code()
}

// Validate names everything that is wrong with a draft and can be seen without
// its protocol, in a fault ENTITY_INVALID.
func (d Draft) Validate() error {
	d.SplitVersion()
	e := d.Entity()
	if len(e.Controllers) == 0 {
		e.Controllers = []string{"did:key:caller"} // the caller
	}
	var c fault.Checks
	d.Check(&c)
	e.Check(&c)
	return c.Err("ENTITY_INVALID", "The entity is not valid.")
}

// Targets lists the other ends of the relationships.
func (d *Draft) Targets() []string {
	var out []string
	for _, r := range d.Relationships {
		out = append(out, r.Target)
	}
	return out
}

// SplitVersion splits the version from "did:ixo:protocol/x@1.2.0", "" when
// there is none.
func SplitVersion(protocol string) (id, version string) {
	id, version, _ = strings.Cut(protocol, "@")
	return id, version
}

// SplitVersion is the function for a draft, which may have the version in
// another member.
func (d *Draft) SplitVersion() {
	if id, version := SplitVersion(d.Protocol); version != "" && d.ProtocolVersion == "" {
		d.Protocol, d.ProtocolVersion = id, version
	}
}

// From copies what clients decide in a record, except the controllers.
func (d *Draft) From(e *Entity) {
	d.Type, d.Properties, d.Services, d.LinkedResources, d.LinkedEntities = e.Type, e.Properties, e.Services, e.LinkedResources, e.LinkedEntities
	d.AccordedRights, d.Accounts, d.AlsoKnownAs, d.ExternalIDs = e.AccordedRights, e.Accounts, e.AlsoKnownAs, e.ExternalIDs
	d.StartDate, d.EndDate, d.Metadata = e.StartDate, e.EndDate, e.Metadata
}

// Into copies what clients decide, except the controllers.
func (e *Entity) Into(to *Entity) {
	to.Type, to.Properties, to.Services, to.LinkedResources, to.LinkedEntities = e.Type, e.Properties, e.Services, e.LinkedResources, e.LinkedEntities
	to.AccordedRights, to.Accounts, to.AlsoKnownAs, to.ExternalIDs = e.AccordedRights, e.Accounts, e.AlsoKnownAs, e.ExternalIDs
	to.StartDate, to.EndDate, to.Metadata = e.StartDate, e.EndDate, e.Metadata
}
