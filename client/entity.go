package client

import (
	"time"

	"github.com/hearth-dmrv/hearth/api"
)

// Object is a JSON object whose members a protocol decides: properties,
// metadata and similar. Its values are those of encoding/json: nil, bool,
// float64, string, []any and map[string]any; numbers are float64, so whole
// numbers beyond 2^53 belong in texts. In a patch nil removes a member.
type Object = map[string]any

// Entity is the record of a digital twin. With fields only the requested
// members are filled in.
type Entity struct {
	DID                  string            `json:"did"`
	Type                 string            `json:"type"`       // in the words of its maker
	Class                string            `json:"class"`      // physical, cognitive, system or oracle; from the protocol
	DomainType           string            `json:"domainType"` // organisation, project, device …; from the protocol
	Controller           string            `json:"controller"` // DID of the principal that may change it
	Controllers          []string          `json:"controllers"`
	Owner                string            `json:"owner"`
	Protocol             string            `json:"protocol"`
	ProtocolVersion      string            `json:"protocolVersion"`
	ProtocolRecord       *ProtocolBrief    `json:"protocolRecord,omitzero"` // with expand
	Project              string            `json:"project,omitzero"`
	Properties           Object            `json:"properties"`
	Services             []Service         `json:"services"`
	Relationships        []Relationship    `json:"relationships"` // the first 100
	MoreRelationships    bool              `json:"moreRelationships,omitzero"`
	MissingRelationships []string          `json:"missingRelationships"` // roles to fill before it can be active
	VerifiableCredential []Credential      `json:"verifiableCredential"` // the first 100
	MoreCredentials      bool              `json:"moreCredentials,omitzero"`
	LinkedResources      []LinkedResource  `json:"linkedResources"`
	LinkedClaims         []LinkedResource  `json:"linkedClaims"`
	LinkedEntities       []LinkedEntity    `json:"linkedEntities"`
	AccordedRights       []AccordedRight   `json:"accordedRights"`
	Accounts             []Account         `json:"accounts"`
	AlsoKnownAs          []string          `json:"alsoKnownAs"`
	ExternalIDs          map[string]string `json:"externalIds"` // system → its name for the twin
	Status               string            `json:"status"`      // draft, active, suspended, completed or deactivated
	StatusCode           int               `json:"statusCode"`
	Verification         Verification      `json:"verification"`
	StartDate            time.Time         `json:"startDate,omitzero"`
	EndDate              time.Time         `json:"endDate,omitzero"`
	RelayerNode          string            `json:"relayerNode"`
	Metadata             Object            `json:"metadata"`
	Revision             int64             `json:"revision"` // give it as IfRevision
	Created              time.Time         `json:"created"`
	Updated              time.Time         `json:"updated"`
	CreatedBy            string            `json:"createdBy"`
	UpdatedBy            string            `json:"updatedBy"`
	StatedBy             string            `json:"statedBy,omitzero"` // for a claim: who last changed what it says
	Links                EntityLinks       `json:"links"`
	Withheld             []string          `json:"withheld,omitzero"` // personal properties it has that the key may not see: it has not entities:pii
}

// Service is a place where a twin can be reached.
type Service struct {
	ID       string `json:"id,omitzero"` // fragment: #data
	Type     string `json:"type"`
	Endpoint string `json:"endpoint"` // URL
}

// Relationship is an edge as the record of a twin shows it.
type Relationship struct {
	ID       string `json:"id"`
	Role     string `json:"role"`
	Target   string `json:"target"`            // DID
	External bool   `json:"external,omitzero"` // the target is not held by the server
	// Unconfirmed means that the server does not hold the target, and does not count it
	// for any required role until a caller with the scope * confirms it; see
	// ConfirmRelationship.
	Unconfirmed bool       `json:"unconfirmed,omitzero"`
	Since       time.Time  `json:"since,omitzero"`
	Until       time.Time  `json:"until,omitzero"`
	Source      string     `json:"source"`          // declared, protocol or derived
	Entity      *TwinBrief `json:"entity,omitzero"` // the target, with expand
}

// Types of package api.
type (
	Credential        = api.Credential
	LinkedResource    = api.LinkedResource
	LinkedEntity      = api.LinkedEntity
	AccordedRight     = api.AccordedRight
	Account           = api.Account
	Verification      = api.Verification
	Approval          = api.Approval
	EntityLinks       = api.EntityLinks
	RelationshipDraft = api.RelationshipDraft
)

// TwinBrief is a short description of a twin.
type TwinBrief struct {
	DID        string `json:"did"`
	Type       string `json:"type,omitzero"`
	Class      string `json:"class,omitzero"`
	DomainType string `json:"domainType,omitzero"`
	Status     string `json:"status,omitzero"`
	Name       string `json:"name,omitzero"`
	External   bool   `json:"external,omitzero"` // not held by the server: only its DID is known
}

// ProtocolBrief is the type of package api.
type ProtocolBrief = api.ProtocolBrief

// EntityDraft asks for a twin, or for the replacement of one. Type and Protocol
// are required.
type EntityDraft struct {
	DID             string              `json:"did,omitzero"` // made by the server when absent
	Type            string              `json:"type"`
	Protocol        string              `json:"protocol"` // DID; with @version for another than the newest
	ProtocolVersion string              `json:"protocolVersion,omitzero"`
	Controller      string              `json:"controller,omitzero"` // the caller when absent
	Controllers     []string            `json:"controllers,omitzero"`
	Properties      Object              `json:"properties,omitzero"`
	Services        []Service           `json:"services,omitzero"`
	Relationships   []RelationshipDraft `json:"relationships,omitzero"`
	LinkedResources []LinkedResource    `json:"linkedResources,omitzero"`
	LinkedEntities  []LinkedEntity      `json:"linkedEntities,omitzero"`
	AccordedRights  []AccordedRight     `json:"accordedRights,omitzero"`
	Accounts        []Account           `json:"accounts,omitzero"`
	AlsoKnownAs     []string            `json:"alsoKnownAs,omitzero"`
	ExternalIDs     map[string]string   `json:"externalIds,omitzero"`
	StartDate       time.Time           `json:"startDate,omitzero"`
	EndDate         time.Time           `json:"endDate,omitzero"`
	Metadata        Object              `json:"metadata,omitzero"`
	Groups          []GroupDraft        `json:"groups,omitzero"` // an organisation begins with; name and scopes
}

// DomainDraft asks for a twin in the terms of domain registration: Class is
// another name for Protocol.
type DomainDraft struct {
	Type          string              `json:"type"`
	Protocol      string              `json:"protocol,omitzero"`
	Class         string              `json:"class,omitzero"`
	Metadata      Object              `json:"metadata,omitzero"`
	Properties    Object              `json:"properties,omitzero"`
	Relationships []RelationshipDraft `json:"relationships,omitzero"`
	ValidFrom     time.Time           `json:"validFrom,omitzero"`
	ValidUntil    time.Time           `json:"validUntil,omitzero"`
}
