// Package twin is the record of a digital twin and the draft it is made from:
// their members, the rules that hold whatever the protocol says, and how a
// record is rendered. It is pure.
package twin

import (
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/hearth-dmrv/hearth/api"
)

// Status is the stage of a twin's life.
type Status string

// The statuses. StatusDeactivated is final; its DID can still be resolved.
const (
	StatusDraft       Status = "draft" // a relationship its protocol requires is missing
	StatusActive      Status = "active"
	StatusSuspended   Status = "suspended"
	StatusCompleted   Status = "completed"
	StatusDeactivated Status = "deactivated"
)

// Code is the number of a status, for systems that keep one.
func (s Status) Code() int {
	for i, known := range []Status{StatusDraft, StatusActive, StatusSuspended, StatusCompleted, StatusDeactivated} {
		if s == known {
			return i
		}
	}
	return -1
}

// Object is a JSON object kept as text.
type Object struct{ jsontext.Value }

// IsZero reports whether there is no object.
func (o Object) IsZero() bool { return len(o.Value) == 0 }

// Schema describes an object in the API reference.
func (Object) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{Type: huma.TypeObject, AdditionalProperties: true}
}

// Entity is the record of a twin. The order of members is the order they are
// sent in.
type Entity struct {
	DID                  string            `json:"did" doc:"Identifier of the twin." example:"did:ixo:entity:175d7824ba25002e4ec206365e206236"`
	Type                 string            `json:"type" doc:"What it is, in the words of its maker." example:"Device"`
	Class                string            `json:"class" enum:"physical,cognitive,system,oracle" doc:"Canonical class; comes from the protocol."`
	DomainType           string            `json:"domainType" doc:"Role in the domain model: organisation, group, project, asset, device, household, person, oracle, system, claim, credential, or thing; comes from the protocol." example:"device"`
	Controller           string            `json:"controller" doc:"DID of whoever may change the twin."`
	Controllers          []string          `json:"controllers" doc:"All who may change it, the controller first."`
	Owner                string            `json:"owner" doc:"DID of its owner."`
	Protocol             string            `json:"protocol" doc:"DID of the protocol it was made from." example:"did:ixo:protocol/template"`
	ProtocolVersion      string            `json:"protocolVersion" example:"1.0.0"`
	Project              string            `json:"project,omitzero" doc:"DID of the project it belongs to."`
	Properties           Object            `json:"properties" doc:"What the protocol declares."`
	Services             []Endpoint        `json:"services" doc:"Where to reach it. Stored, never called."`
	Relationships        []Relationship    `json:"relationships" doc:"The first 100 relationships; links.relationships has all."`
	MoreRelationships    bool              `json:"moreRelationships,omitzero" doc:"There are more than are shown here."`
	MissingRelationships []string          `json:"missingRelationships" doc:"Roles that must be filled before the twin can be active, by relationships that hold and are not unconfirmed. As of this revision."`
	VerifiableCredential []Credential      `json:"verifiableCredential" doc:"The first 100 credentials about it: of a claim those it became, of what produces claims those of its claims. The status follows the credential: active, suspended, completed, deactivated, revoked or expired."`
	MoreCredentials      bool              `json:"moreCredentials,omitzero" doc:"There are, or have been, more credentials than are shown here."`
	LinkedResources      []LinkedResource  `json:"linkedResources"`
	LinkedClaims         []LinkedResource  `json:"linkedClaims"`
	LinkedEntities       []LinkedEntity    `json:"linkedEntities"`
	AccordedRights       []AccordedRight   `json:"accordedRights"`
	Accounts             []Account         `json:"accounts"`
	AlsoKnownAs          []string          `json:"alsoKnownAs"`
	ExternalIDs          map[string]string `json:"externalIds" doc:"Names other systems have for it, by system."`
	Status               Status            `json:"status" enum:"draft,active,suspended,completed,deactivated"`
	StatusCode           int               `json:"statusCode" doc:"0 draft, 1 active, 2 suspended, 3 completed, 4 deactivated."`
	Verification         Verification      `json:"verification"`
	StartDate            time.Time         `json:"startDate,omitzero"`
	EndDate              time.Time         `json:"endDate,omitzero"`
	RelayerNode          string            `json:"relayerNode" doc:"DID of the server through which it was made."`
	Metadata             Object            `json:"metadata" doc:"Anything else its makers want to keep: name, description, tags, location."`
	Revision             int64             `json:"revision" doc:"Counts the changes; the ETag."`
	Created              time.Time         `json:"created"`
	Updated              time.Time         `json:"updated"`
	CreatedBy            string            `json:"createdBy" doc:"DID of whoever made it."`
	UpdatedBy            string            `json:"updatedBy" doc:"DID of whoever made this revision."`
	StatedBy             string            `json:"statedBy,omitzero" doc:"For a claim: DID of the person who last changed its content; its maker when absent."`
	Links                Links             `json:"links"`
	Withheld             []string          `json:"withheld,omitzero" doc:"Personal properties of the twin that you may not see: callers who do not control it need the scope entities:pii. A member of metadata with such a name is withheld as metadata.name."`
}

// Endpoint is a place where a twin can be reached: a member of services.
type Endpoint struct {
	ID       string `json:"id" doc:"Fragment." example:"#data"`
	Type     string `json:"type" example:"DataIngestion"`
	Endpoint string `json:"endpoint" doc:"URL." example:"https://example.org/ingest"`
}

// Relationship is one as the record of a twin shows it.
type Relationship struct {
	ID          string    `json:"id" example:"rel_7310428377145344"`
	Role        string    `json:"role" doc:"A role of the protocol, or a word of the domain model such as implements." example:"operator"`
	Target      string    `json:"target" doc:"DID of the other twin."`
	External    bool      `json:"external,omitzero" doc:"The target is not held here."`
	Unconfirmed bool      `json:"unconfirmed,omitzero" doc:"The target is not held here, and no caller with the scope * has confirmed it: the relationship fills no role that must be filled."`
	Since       time.Time `json:"since,omitzero"`
	Until       time.Time `json:"until,omitzero"`
	Source      string    `json:"source" enum:"declared,protocol,derived" doc:"protocol: a role of the protocol. declared: any other. derived: the other end holds it."`
}

// Types of package api.
type (
	Credential     = api.Credential
	LinkedResource = api.LinkedResource
	LinkedEntity   = api.LinkedEntity
	AccordedRight  = api.AccordedRight
	Account        = api.Account
	Verification   = api.Verification
	Approval       = api.Approval
	Links          = api.EntityLinks
)
