package client

import (
	"context"
	"iter"
	"maps"
	"net/url"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/hearth-dmrv/hearth/api"
)

const protocolsPath = "/v1/protocols"

// Protocols are the templates twins are made from.
type Protocols struct{ c *Client }

func protocolPath(did string) string { return protocolsPath + "/" + url.PathEscape(did) }

// Protocol is a version of a protocol.
type Protocol struct {
	DID         string `json:"did"` // all versions share it
	Type        string `json:"type"`
	Name        string `json:"name,omitzero"`
	Version     string `json:"version"`
	Status      string `json:"status"` // draft, published, deprecated or retired
	Description string `json:"description,omitzero"`
	ProtocolContent
	ContentHash  string        `json:"contentHash"`
	Shipped      bool          `json:"shipped,omitzero"` // it cannot be changed, but extended
	Revision     int64         `json:"revision"`
	Created      time.Time     `json:"created,omitzero"`
	Updated      time.Time     `json:"updated,omitzero"`
	CreatedBy    string        `json:"createdBy,omitzero"`
	UpdatedBy    string        `json:"updatedBy,omitzero"`
	Published    time.Time     `json:"published,omitzero"`
	StatusReason string        `json:"statusReason,omitzero"`
	Links        ProtocolLinks `json:"links"`
}

// ProtocolContent is what a protocol says about its twins.
type ProtocolContent struct {
	Class                string   `json:"class,omitzero"`      // physical, cognitive, system or oracle
	DomainType           string   `json:"domainType,omitzero"` // role of the twins in the domain model
	AppliesTo            []string `json:"appliesTo,omitzero"`  // types of twins; all by default
	Extends              string   `json:"extends,omitzero"`    // DID of the protocol it builds on
	ExtendsVersion       string   `json:"extendsVersion,omitzero"`
	Properties           Object   `json:"properties,omitzero"` // name → type name or JSON Schema
	Required             []string `json:"required,omitzero"`
	AdditionalProperties *bool    `json:"additionalProperties,omitzero"` // false by default
	Indexed              []string `json:"indexed,omitzero"`              // twins are found by these quickly
	PII                  []string `json:"pii,omitzero"`                  // personal data
	Relationships        Object   `json:"relationships,omitzero"`        // role → class name or {class, min, max, requiredFor}
	Services             []any    `json:"services,omitzero"`
	ClaimTypes           Object   `json:"claimTypes,omitzero"`
	CredentialTypes      Object   `json:"credentialTypes,omitzero"`
	SurveyTemplates      []any    `json:"surveyTemplates,omitzero"`
	Indicators           []any    `json:"indicators,omitzero"`
	Governance           Object   `json:"governance,omitzero"`
}

// Types of package api.
type (
	ProtocolLinks = api.ProtocolLinks
	ProtocolMove  = api.ProtocolMove
)

// ProtocolDraft asks for a protocol. Everything is optional: by default Type is
// Protocol, and Version 1.0.0.
type ProtocolDraft struct {
	DID         string `json:"did,omitzero"` // made by the server when absent
	Type        string `json:"type"`
	Name        string `json:"name,omitzero"`
	Version     string `json:"version,omitzero"`
	Description string `json:"description,omitzero"`
	ProtocolContent
}

// Create makes a protocol, as a draft: Publish it before twins are made from
// it. Codes: PROTOCOL_INVALID, PROTOCOL_EXISTS, PROTOCOL_CYCLE.
func (p Protocols) Create(ctx context.Context, d ProtocolDraft, opts ...Option) (*Protocol, error) {
	if d.Type == "" {
		d.Type = "Protocol"
	}
	return do[Protocol](ctx, p.c, post(protocolsPath, d), opts)
}

// Get reads a version of a protocol; "" is the one twins are made from. Code:
// PROTOCOL_NOT_FOUND.
func (p Protocols) Get(ctx context.Context, did, version string, opts ...Option) (*Protocol, error) {
	return do[Protocol](ctx, p.c, get(protocolPath(did), versionQuery(version)), opts)
}

// Effective is Get with everything the version inherits.
func (p Protocols) Effective(ctx context.Context, did, version string, opts ...Option) (*Protocol, error) {
	v := versionQuery(version)
	v.Set("view", "effective")
	return do[Protocol](ctx, p.c, get(protocolPath(did), v), opts)
}

func versionQuery(version string) url.Values {
	v := url.Values{}
	set(v, "version", version)
	return v
}

// ProtocolQuery asks for protocols.
type ProtocolQuery struct {
	Status string // all by default
	Class  string
	Name   string // part of the name
	Limit  int    // items in one page, 1 to 1000; 50 by default
	Cursor string // NextCursor of the page before
}

func (q ProtocolQuery) values() url.Values {
	v := PageQuery{q.Limit, q.Cursor}.values()
	set(v, "status", q.Status)
	set(v, "class", q.Class)
	set(v, "name", q.Name)
	return v
}

// Page reads one page of the protocols: the bundled ones, then those of the
// workspace.
func (p Protocols) Page(ctx context.Context, q ProtocolQuery, opts ...Option) (*Page[Protocol], error) {
	return page[Protocol](ctx, p.c, protocolsPath, q.values(), opts)
}

// List walks over the protocols, page by page. An error ends it.
func (p Protocols) List(ctx context.Context, q ProtocolQuery, opts ...Option) iter.Seq2[Protocol, error] {
	return pages[Protocol](ctx, p.c, protocolsPath, q.values(), opts)
}

// Update changes a draft by a merge patch; version "" is the newest draft. It
// needs the option IfRevision or IfMatch, and is not retried. Codes:
// PROTOCOL_PUBLISHED, PROTOCOL_INVALID, STALE_REVISION.
func (p Protocols) Update(ctx context.Context, did, version string, patch Object, opts ...Option) (*Protocol, error) {
	k := merge(protocolPath(did), patch)
	k.query = versionQuery(version)
	return do[Protocol](ctx, p.c, k, opts)
}

// Delete removes a draft that was never published; version "" is the newest
// draft. It needs the option IfRevision or IfMatch. Codes: PROTOCOL_NOT_FOUND,
// PROTOCOL_PUBLISHED, STALE_REVISION.
func (p Protocols) Delete(ctx context.Context, did, version string, opts ...Option) (*Protocol, error) {
	k := remove(protocolPath(did))
	k.query = versionQuery(version)
	return do[Protocol](ctx, p.c, k, opts)
}

// ProtocolVersion is a version in the list of versions.
type ProtocolVersion struct {
	Version      string        `json:"version"`
	Status       string        `json:"status"`
	Current      bool          `json:"current,omitzero"` // used when none is named
	ContentHash  string        `json:"contentHash"`
	Revision     int64         `json:"revision"`
	Created      time.Time     `json:"created,omitzero"`
	CreatedBy    string        `json:"createdBy,omitzero"`
	Published    time.Time     `json:"published,omitzero"`
	StatusReason string        `json:"statusReason,omitzero"`
	Links        ProtocolLinks `json:"links"`
}

// ProtocolVersions are the versions of a protocol.
type ProtocolVersions struct {
	DID   string            `json:"did"`
	Items []ProtocolVersion `json:"items"`
}

// Versions lists the versions of a protocol, newest first.
func (p Protocols) Versions(ctx context.Context, did string, opts ...Option) (*ProtocolVersions, error) {
	return do[ProtocolVersions](ctx, p.c, get(protocolPath(did)+"/versions", nil), opts)
}

// AddVersion makes a draft from the newest version, changed by a merge patch.
// Codes: PROTOCOL_VERSION_EXISTS, PROTOCOL_INVALID.
func (p Protocols) AddVersion(ctx context.Context, did, version string, patch Object, opts ...Option) (*Protocol, error) {
	body := Object{}
	maps.Copy(body, patch)
	body["version"] = version
	return do[Protocol](ctx, p.c, post(protocolPath(did)+"/versions", body), opts)
}

// Publish makes a draft final, so that twins can be made from it. Codes:
// PROTOCOL_INVALID, PROTOCOL_NOT_PUBLISHED, STATE_TRANSITION_INVALID.
func (p Protocols) Publish(ctx context.Context, did string, m ProtocolMove, opts ...Option) (*Protocol, error) {
	return do[Protocol](ctx, p.c, post(protocolPath(did)+"/publish", m), opts)
}

// Deprecate marks a version as superseded by something better.
func (p Protocols) Deprecate(ctx context.Context, did string, m ProtocolMove, opts ...Option) (*Protocol, error) {
	return do[Protocol](ctx, p.c, post(protocolPath(did)+"/deprecate", m), opts)
}

// Retire ends a version: no more twins are made from it.
func (p Protocols) Retire(ctx context.Context, did string, m ProtocolMove, opts ...Option) (*Protocol, error) {
	return do[Protocol](ctx, p.c, post(protocolPath(did)+"/retire", m), opts)
}

// ProtocolDiff is what changed between two versions.
type ProtocolDiff struct {
	DID        string           `json:"did"`
	From       string           `json:"from"`
	To         string           `json:"to"`
	Compatible bool             `json:"compatible"` // twins of the one fit the other
	Suggested  string           `json:"suggested"`  // major, minor, patch or none
	Changes    []ProtocolChange `json:"changes"`
}

// ProtocolChange is one member that changed.
type ProtocolChange struct {
	Pointer  string         `json:"pointer"`
	Change   string         `json:"change"` // added, removed or changed
	From     jsontext.Value `json:"from,omitzero"`
	To       jsontext.Value `json:"to,omitzero"`
	Breaking bool           `json:"breaking"`
	Why      string         `json:"why,omitzero"`
}

// Diff compares two versions; to "" is the newest, from "" the one before to.
func (p Protocols) Diff(ctx context.Context, did, from, to string, opts ...Option) (*ProtocolDiff, error) {
	v := url.Values{}
	set(v, "from", from)
	set(v, "to", to)
	return do[ProtocolDiff](ctx, p.c, get(protocolPath(did)+"/diff", v), opts)
}

// VersionDiff is Diff with the address of a version.
func (p Protocols) VersionDiff(ctx context.Context, did, version, to string, opts ...Option) (*ProtocolDiff, error) {
	v := url.Values{}
	set(v, "to", to)
	return do[ProtocolDiff](ctx, p.c, get(protocolPath(did)+"/versions/"+url.PathEscape(version)+"/diff", v), opts)
}

// Schema reads the JSON Schema of the properties of a version.
func (p Protocols) Schema(ctx context.Context, did, version string, opts ...Option) (jsontext.Value, error) {
	return value(do[jsontext.Value](ctx, p.c, get(protocolPath(did)+"/schema", versionQuery(version)), opts))
}

// Sample is what to check against a protocol. Properties are required.
type Sample struct {
	Properties    Object              `json:"properties"`
	Relationships []RelationshipDraft `json:"relationships,omitzero"`
}

// Validation is the result of checking a sample.
type Validation struct {
	Valid                bool     `json:"valid"`
	Protocol             string   `json:"protocol"`
	Version              string   `json:"version"`
	Errors               []Field  `json:"errors"`
	MissingRelationships []string `json:"missingRelationships"`
}

// Validate checks a sample against a version and stores nothing.
func (p Protocols) Validate(ctx context.Context, did, version string, s Sample, opts ...Option) (*Validation, error) {
	k := post(protocolPath(did)+"/validate", s)
	k.query, k.keyed, k.safe = versionQuery(version), false, true
	return do[Validation](ctx, p.c, k, opts)
}

// The input of a trial of a rubric, and its result.
type (
	RubricTrial    = api.RubricTrial
	TriedClaim     = api.TriedClaim
	KnownFact      = api.KnownFact
	RubricDecision = api.RubricDecision
	RubricStep     = api.RubricStep
)

// RubricName names a rubric. Without a version it means the version in use.
type RubricName struct{ Protocol, Version, Kind string }

// TryRubric asks a rubric about a hypothetical claim, and stores nothing.
func (p Protocols) TryRubric(ctx context.Context, n RubricName, t RubricTrial, opts ...Option) (*RubricDecision, error) {
	k := post(protocolPath(n.Protocol)+"/rubrics/"+url.PathEscape(n.Kind)+"/try", t)
	k.query, k.keyed, k.safe = versionQuery(n.Version), false, true
	return do[RubricDecision](ctx, p.c, k, opts)
}

// MigrationDraft says how to take twins to another version of their protocol.
type MigrationDraft struct {
	From     string             `json:"from,omitzero"` // only twins of this version; all older ones by default
	To       string             `json:"to,omitzero"`   // the newest published one by default
	DryRun   bool               `json:"dryRun,omitzero"`
	Filter   string             `json:"filter,omitzero"`
	Rename   map[string]*string `json:"rename,omitzero"`   // old → new; nil drops the property
	Defaults Object             `json:"defaults,omitzero"` // for properties a twin does not have
	Reason   string             `json:"reason,omitzero"`
}

// Migrate begins a migration. Wait for it with Jobs.Wait and read what became
// of the twins with Migrations. Codes: PROTOCOL_NOT_FOUND, MIGRATION_INVALID.
func (p Protocols) Migrate(ctx context.Context, did string, d MigrationDraft, opts ...Option) (*Job, error) {
	return do[Job](ctx, p.c, post(protocolPath(did)+"/migrations", d), opts)
}
