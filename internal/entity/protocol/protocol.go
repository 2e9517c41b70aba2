// Package protocol holds the templates twins are made from: which properties a
// twin may have, which relationships it needs, and what class of thing it is. A
// protocol has versions. Of a published version only the status ever changes,
// so the rules that a twin was checked against can always be read.
//
// It promises that only one caller publishes a version, and once; that every
// wrong property of a twin is named at once; that no protocol, however it is
// written, makes a check slow (patterns are linear, references do not repeat,
// size and depth are bounded); and that a protocol of another workspace does
// not exist. Some protocols are bundled: they are the same everywhere and can
// be extended but not changed.
//
// It does not know twins: they are the package above.
package protocol

import (
	"maps"
	"slices"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/hearth-dmrv/hearth/api"
	"github.com/hearth-dmrv/hearth/internal/entity/protocol/schema"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/rql"
)

// Status is the stage of a version's life.
type Status string

// The statuses. Twins are made from published and deprecated versions only.
const (
	StatusDraft      Status = "draft"
	StatusPublished  Status = "published"
	StatusDeprecated Status = "deprecated" // still usable, but there is something better
	StatusRetired    Status = "retired"    // final; twins made from it do not change
)

// Object is a JSON object in its original form.
type Object struct{ jsontext.Value }

// IsZero reports whether there is no object.
func (o Object) IsZero() bool { return len(o.Value) == 0 }

// Schema describes an object in the API reference.
func (Object) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{Type: huma.TypeObject, AdditionalProperties: true}
}

// Array is a JSON array in its original form.
type Array struct{ jsontext.Value }

// IsZero reports whether there is no array.
func (a Array) IsZero() bool { return len(a.Value) == 0 }

// Schema describes an array in the API reference.
func (Array) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{Type: huma.TypeArray, Items: &huma.Schema{}}
}

// Value is any JSON value in its original form.
type Value struct{ jsontext.Value }

// IsZero reports whether there is no value.
func (v Value) IsZero() bool { return len(v.Value) == 0 }

// Schema describes a value in the API reference.
func (Value) Schema(huma.Registry) *huma.Schema { return &huma.Schema{} }

// Record is a version of a protocol as it is stored and sent.
type Record struct {
	DID         string `json:"did" doc:"Identifier of the protocol; all its versions share it." example:"did:ixo:protocol/template"`
	Type        string `json:"type" enum:"Protocol"`
	Name        string `json:"name,omitzero" example:"Device"`
	Version     string `json:"version" doc:"Semantic version." example:"1.0.0"`
	Status      Status `json:"status" enum:"draft,published,deprecated,retired"`
	Description string `json:"description,omitzero"`
	Content
	ContentHash  string    `json:"contentHash" doc:"sha256: and the hexadecimal SHA-256 of the content members in canonical form (RFC 8785)."`
	Shipped      bool      `json:"shipped,omitzero" doc:"Part of the product: it cannot be changed, but extended."`
	Revision     int64     `json:"revision" doc:"Counts the changes of this version; the ETag."`
	Created      time.Time `json:"created,omitzero"`
	Updated      time.Time `json:"updated,omitzero"`
	CreatedBy    string    `json:"createdBy,omitzero" doc:"DID of whoever made this version."`
	UpdatedBy    string    `json:"updatedBy,omitzero"`
	WrittenBy    []string  `json:"writtenBy,omitzero" doc:"DIDs of everyone who wrote or published this version: it does not automatically decide claims that they have a part in."`
	Published    time.Time `json:"published,omitzero"`
	StatusReason string    `json:"statusReason,omitzero" doc:"Why it was deprecated or retired."`
	Links        Links     `json:"links"`
}

// Content is what a version says about its twins; contentHash covers it.
type Content struct {
	Class                string   `json:"class,omitzero" enum:"physical,cognitive,system,oracle" doc:"Canonical class of the twins; by default the class of the protocol it extends, or else physical."`
	DomainType           string   `json:"domainType,omitzero" enum:"organisation,group,project,asset,device,household,person,oracle,system,claim,credential,thing" doc:"Role of the twins in the domain model."`
	AppliesTo            []string `json:"appliesTo,omitzero" doc:"Types of twins it is for; all types when absent."`
	Extends              string   `json:"extends,omitzero" doc:"DID of the protocol it builds on. Its own members take precedence."`
	ExtendsVersion       string   `json:"extendsVersion,omitzero" doc:"Version it builds on; the newest published one at the time of publishing."`
	Properties           Object   `json:"properties" required:"false" doc:"Name → type name (string, number, integer, boolean, object, array, date, date-time, uri, did, geo, duration, quantity) or a JSON Schema, which may say indexed and pii too."`
	Required             []string `json:"required,omitzero" doc:"Names of properties a twin must have."`
	AdditionalProperties *bool    `json:"additionalProperties,omitzero" doc:"Whether a twin may have properties that are not declared; false by default."`
	Indexed              []string `json:"indexed,omitzero" doc:"Properties that twins can be found by quickly, at most 8."`
	PII                  []string `json:"pii,omitzero" doc:"Properties that are personal data."`
	Relationships        Object   `json:"relationships" required:"false" doc:"Role → class name (OracleEntity, OrganisationEntity, …, or the DID of a protocol) or {class, min, max, requiredFor}."`
	Services             Array    `json:"services,omitzero"`
	ClaimTypes           Object   `json:"claimTypes,omitzero" doc:"Types of claims the twins produce → {schema, verification, …}. A claim is of the type its property kind names, else of its own type; where types are named, no other claim can be verified. The server applies these members of verification: oracles (DIDs of those whose controllers give the verdict), quorum (how many of them, 1 by default, by as many people), reasonCodes (what a verdict may give as its reason), precision ({confidence, precision or marginOfError, parameterType, tail, onMiss, limit}: the target of surveys whose methodology is the protocol, and which bound stands in for a figure that misses it: none, lower or upper, up to the limit). mode is manual: a person gives it."`
	CredentialTypes      Object   `json:"credentialTypes,omitzero"`
	SurveyTemplates      Array    `json:"surveyTemplates,omitzero"`
	Indicators           Array    `json:"indicators,omitzero"`
	Governance           Object   `json:"governance,omitzero"`
}

// Links is the type of package api.
type Links = api.ProtocolLinks

// Indexed is a property by which twins are found quickly.
type Indexed struct {
	Name string
	Kind rql.Kind // how its values compare
}

// Role is a relationship that twins of a protocol have.
type Role struct {
	Name        string
	Class       string // class name as given, or the DID of a protocol
	Min         int    // relationships a twin needs
	Max         int    // relationships a twin may have; 0: any number
	RequiredFor string // "active" or "claims"
}

// Protocol is a version including everything it inherits, ready to check twins.
// It never changes; share it freely.
type Protocol struct {
	Record // as stored; Effective has the inherited members too

	eff     Content    // merged with the ancestors
	lineage []string   // its DID and those of its ancestors
	writers []string   // of it and its ancestors
	body    []byte     // the record as it is sent
	set     schema.Set // its properties
	indexed []Indexed
	pii     []string
	roles   []Role
}

// Class is the canonical class of its twins: physical, cognitive, system or
// oracle.
func (p *Protocol) Class() string { return p.eff.Class }

// DomainType is the role of its twins in the domain model.
func (p *Protocol) DomainType() string { return p.eff.DomainType }

// ClaimTypes are the types of claims that its twins produce, as text;
// FindClaimRule reads it. Do not change it.
func (p *Protocol) ClaimTypes() []byte { return p.eff.ClaimTypes.Value }

// Open reports whether a twin may have properties that are not declared.
func (p *Protocol) Open() bool { return p.set.Open }

// Indexed lists the properties in the property index. Do not change it.
func (p *Protocol) Indexed() []Indexed { return p.indexed }

// PII lists the properties that are personal data. Do not change it.
func (p *Protocol) PII() []string { return p.pii }

// Roles lists the relationships, sorted by name. Do not change it.
func (p *Protocol) Roles() []Role { return p.roles }

// Role finds a relationship by name.
func (p *Protocol) Role(name string) (Role, bool) {
	i, ok := slices.BinarySearchFunc(p.roles, name, func(r Role, name string) int {
		if r.Name < name {
			return -1
		} else if r.Name > name {
			return 1
		}
		return 0
	})
	if !ok {
		return Role{}, false
	}
	return p.roles[i], true
}

// Kind is the type name of a property, "" for an undeclared one.
func (p *Protocol) Kind(name string) string {
	if d, ok := p.set.Properties[name]; ok {
		return d.Kind
	}
	return ""
}

// Defaults returns the default values of its required properties, if they have
// one.
func (p *Protocol) Defaults() map[string]any {
	out := map[string]any{}
	for _, name := range p.set.Required {
		if d, ok := p.set.Properties[name]; ok {
			if v, given := d.Doc["default"]; given {
				out[name] = v
			}
		}
	}
	return out
}

// Names lists the declared properties, sorted.
func (p *Protocol) Names() []string {
	return slices.Sorted(maps.Keys(p.set.Properties))
}

// Fits reports whether twins of a type may be made from it.
func (p *Protocol) Fits(entityType string) bool {
	return len(p.eff.AppliesTo) == 0 || slices.Contains(p.eff.AppliesTo, entityType)
}

// Extends reports whether it is the protocol did or builds on it.
func (p *Protocol) Extends(did string) bool { return slices.Contains(p.lineage, did) }

// Writers are the DIDs of those who have written or published it or the protocols it
// builds on; none where all are bundled. Do not change it.
func (p *Protocol) Writers() []string { return p.writers }

// written returns those who have written or published a version. Before this was
// recorded, these are its creator and its last editor.
func (r *Record) written() []string {
	if len(r.WrittenBy) > 0 {
		return r.WrittenBy
	}
	var out []string
	for _, id := range []string{r.CreatedBy, r.UpdatedBy} {
		if id != "" {
			out = append(out, id)
		}
	}
	return unique(out)
}

// Schema is the JSON Schema of the properties, as text. Do not change it.
func (p *Protocol) Schema() []byte { return p.set.Text() }

// Check checks the properties of a twin against the declarations. properties is
// what JSON decodes to: map[string]any with float64 numbers. It returns every
// fault, sorted, at most 100, with pointers that begin with /properties and
// none that repeats a value; nil when all is well.
func (p *Protocol) Check(properties any) []fault.Field { return p.set.Check(properties) }
