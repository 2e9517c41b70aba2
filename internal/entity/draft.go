package entity

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/hearth-dmrv/hearth/internal/entity/check"
	"github.com/hearth-dmrv/hearth/internal/fault"
)

// Limits of a twin.
const (
	maxType        = 200       // characters, one line
	maxControllers = 20        //
	maxProperties  = 256 << 10 // bytes of JSON
	maxMetadata    = 64 << 10  // bytes of JSON
	maxRecord      = 768 << 10 // bytes of a record without its edges; a PUT of it must fit a body
	maxServices    = 100       //
	maxRelations   = 100       // in a draft, and shown in a record
	maxParts       = 100       // linked resources, linked entities, rights
	maxAccounts    = 20        //
	maxAliases     = 20        // members of alsoKnownAs
	maxExternals   = 20        //
	maxExternal    = 200       // characters of an external id
	maxScheme      = 64        // characters of the name of its system
	maxGroups      = 20        // an organisation is created with
	maxReason      = 500       // characters
	maxEvidence    = 2000      // characters
	maxText        = 2048      // characters of any other text
	reservedPrefix = "did:ixo:protocol/"
)

// Draft is what a twin is made from, and what a PUT replaces it with. Only
// members that a client decides are in it.
type Draft struct {
	DID             string            `json:"did,omitzero" doc:"DID of the twin; made when absent."`
	Type            string            `json:"type" doc:"What it is, in your words: one line of at most 200 characters." example:"Device"`
	Protocol        string            `json:"protocol" doc:"DID of the protocol it is made from; with @version for another than the newest." example:"did:ixo:protocol/template"`
	ProtocolVersion string            `json:"protocolVersion,omitzero" doc:"The newest published one when absent."`
	Controller      string            `json:"controller,omitzero" doc:"DID of who may change it; you when absent."`
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

// RelationDraft is what an edge is made from.
type RelationDraft struct {
	Role   string    `json:"role" doc:"A role of the protocol, a word of the domain model (implements or implementedBy, generates, produces, verifies, becomes, contains), or a word of your own." example:"operator"`
	Target string    `json:"target" doc:"DID of the other twin." example:"did:ixo:org/stoves"`
	Since  time.Time `json:"since,omitzero"`
	Until  time.Time `json:"until,omitzero"`
}

// GroupDraft is a membership group an organisation is created with.
type GroupDraft struct {
	Name   string   `json:"name" example:"members"`
	Scopes []string `json:"scopes,omitzero" doc:"What members may do. You must have these scopes yourself."`
}

// check names everything that is wrong with the parts of a draft that are no
// part of a record.
func (d *Draft) check(c *fault.Checks) {
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
	if len(d.Relationships) > maxRelations {
		c.Add("/relationships", "too_many", "At most 100 relationships are accepted here.")
	} else {
		for i, r := range d.Relationships {
			r.check(c, fmt.Sprintf("/relationships/%d", i))
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
		if check.Line(c, at+"/name", g.Name, maxType); slices.ContainsFunc(d.Groups[:i], func(o GroupDraft) bool { return o.Name == g.Name }) {
			c.Add(at+"/name", "duplicate", "Another group has this name.")
		}
		checkScopes(c, at+"/scopes", g.Scopes)
	}
}

// check names what is wrong with an edge, whatever its ends are. at is the
// pointer of the draft.
func (d *RelationDraft) check(c *fault.Checks, at string) {
	if d.Role == "" {
		c.Require(false, at+"/role")
	} else if len(d.Role) > maxScheme {
		c.Add(at+"/role", "too_long", "At most 64 characters are accepted.")
	}
	if d.Target == "" {
		c.Require(false, at+"/target")
	} else {
		check.DID(c, at+"/target", d.Target)
	}
	check.Span(c, at+"/until", d.Since, d.Until)
}

// entity is the record of a draft, as far as the draft says.
func (d *Draft) entity() *Entity {
	e := &Entity{DID: d.DID, Protocol: d.Protocol}
	d.into(e)
	e.SetControllers(append([]string{d.Controller}, d.Controllers...)...)
	return e
}

// into replaces what a client decides in a record, except who controls it.
func (d *Draft) into(e *Entity) {
	e.Type, e.Properties, e.Services, e.LinkedResources, e.LinkedEntities = d.Type, d.Properties, d.Services, d.LinkedResources, d.LinkedEntities
	e.AccordedRights, e.Accounts, e.AlsoKnownAs, e.ExternalIDs = d.AccordedRights, d.Accounts, d.AlsoKnownAs, d.ExternalIDs
	e.StartDate, e.EndDate, e.Metadata = d.StartDate, d.EndDate, d.Metadata
}

// SetControllers names who may change the twin: the first is the controller.
// Nobody is named twice.
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

// check names everything that is wrong with what a client decides in a record.
// What the protocol says about properties comes on top.
func (e *Entity) check(c *fault.Checks) {
	check.Line(c, "/type", e.Type, maxType)
	c.Require(len(e.Controllers) > 0, "/controller")
	if len(e.Controllers) > maxControllers {
		c.Add("/controllers", "too_many", "At most 20 controllers are accepted.")
	}
	for _, d := range e.Controllers {
		check.DID(c, "/controllers", d)
	}
	check.Object(c, "/properties", e.Properties.Value, maxProperties)
	check.Object(c, "/metadata", e.Metadata.Value, maxMetadata)
	check.Span(c, "/endDate", e.StartDate, e.EndDate)
	e.checkServices(c)
	e.checkParts(c)
	e.checkExternals(c)
}

// normal gives every member the form it is sent in.
func (e *Entity) normal() {
	if e.Properties.IsZero() {
		e.Properties = Object{jsontext.Value("{}")}
	}
	if e.Metadata.IsZero() {
		e.Metadata = Object{jsontext.Value("{}")}
	}
	e.StartDate, e.EndDate = e.StartDate.UTC().Truncate(time.Millisecond), e.EndDate.UTC().Truncate(time.Millisecond)
	e.StatusCode = e.Status.Code()
}
