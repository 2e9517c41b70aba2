package api

import "time"

// Credential names a credential about the twin.
type Credential struct {
	ID     string `json:"id,omitzero" doc:"DID of its twin."`
	Type   string `json:"type" doc:"Type of its twin." example:"Certification"`
	Issuer string `json:"issuer" doc:"Its property issuer when that is a DID, else the maker of its twin." example:"did:ixo:org/certifier"`
	Status string `json:"status,omitzero"`
}

// LinkedResource is a document about the twin, kept elsewhere.
type LinkedResource struct {
	ID              string `json:"id" doc:"Fragment." example:"#profile"`
	Type            string `json:"type" example:"Settings"`
	Description     string `json:"description,omitzero"`
	MediaType       string `json:"mediaType,omitzero" example:"application/json"`
	ServiceEndpoint string `json:"serviceEndpoint,omitzero"`
	Proof           string `json:"proof,omitzero" doc:"Content id of the document."`
	Encrypted       string `json:"encrypted,omitzero" enum:"true,false"`
	Right           string `json:"right,omitzero"`
}

// LinkedEntity names another twin without making an edge of the graph.
type LinkedEntity struct {
	ID           string `json:"id" doc:"DID."`
	Type         string `json:"type"`
	Relationship string `json:"relationship"`
	Service      string `json:"service,omitzero"`
}

// AccordedRight is a right given to a principal.
type AccordedRight struct {
	ID        string `json:"id" doc:"Fragment."`
	Type      string `json:"type" example:"capability/mintToken"`
	Mechanism string `json:"mechanism,omitzero"`
	Message   string `json:"message,omitzero"`
	Service   string `json:"service,omitzero"`
}

// Account is an account of the twin on some ledger.
type Account struct {
	Name    string `json:"name" example:"admin"`
	Address string `json:"address"`
}

// Verification says whether somebody has vouched for the twin.
type Verification struct {
	Status    string    `json:"status" enum:"unverified,pending,verified,rejected,revoked,expired"`
	Verifier  string    `json:"verifier,omitzero" doc:"DID."`
	Timestamp time.Time `json:"timestamp,omitzero"`
	Evidence  string    `json:"evidence,omitzero"`
	Revision  int64     `json:"revision,omitzero" doc:"The revision the verifier has judged."`

	Approvals []Approval `json:"approvals,omitzero" doc:"For a claim whose protocol says which oracles verify it, or how many: the oracles that have verified it."`
	Missing   int        `json:"missing,omitzero" doc:"How many more oracles must verify the claim; it is pending until then."`
}

// Approval is the verdict of an oracle that a claim is true.
type Approval struct {
	Oracle    string    `json:"oracle" doc:"DID of the oracle."`
	Verifier  string    `json:"verifier" doc:"DID of the person who spoke for it."`
	Timestamp time.Time `json:"timestamp"`
	Revision  int64     `json:"revision,omitzero" doc:"The revision it is about."`
}

// EntityLinks are the addresses of a twin.
type EntityLinks struct {
	Self          string `json:"self"`
	History       string `json:"history"`
	Relationships string `json:"relationships"`
	Graph         string `json:"graph"`
	DIDDocument   string `json:"didDocument"`
}

// RelationshipDraft describes a relationship to make.
type RelationshipDraft struct {
	Role   string    `json:"role" doc:"A role of the protocol, a word of the domain model (implements or implementedBy, generates, produces, verifies, becomes, contains), or a word of your own." example:"operator"`
	Target string    `json:"target" doc:"DID of the other twin." example:"did:ixo:org/stoves"`
	Since  time.Time `json:"since,omitzero" doc:"From when on it holds; at once when absent."`
	Until  time.Time `json:"until,omitzero" doc:"When it ends. From then on it fills no role. An active twin that then lacks a required role is listed in /v1/invariants, and cannot become active again without it."`

	Unconfirmed bool `json:"unconfirmed,omitzero" doc:"Leave a target that is not held here unconfirmed although you have the scope *. Without that scope it is always unconfirmed."`
}

// Transfer hands a twin over.
type Transfer struct {
	Controller string `json:"controller" doc:"DID of the twin's only controller from now on." example:"did:ixo:org/stoves"`
	Owner      string `json:"owner,omitzero" doc:"DID of its owner; the controller when absent."`
	Reason     string `json:"reason,omitzero" doc:"Why, for the history; one line of at most 1,000 characters."`
}
