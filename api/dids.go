package api

// DIDMethod is a key of a DID document.
type DIDMethod struct {
	ID                 string `json:"id" doc:"DID and fragment."`
	Type               string `json:"type" example:"Ed25519VerificationKey2020"`
	Controller         string `json:"controller"`
	PublicKeyMultibase string `json:"publicKeyMultibase"`
}

// DIDService is a service of a DID document. Its id is always absolute: the id
// of the document and the fragment.
type DIDService struct {
	ID              string `json:"id" example:"did:ixo:entity:175d7824ba25002e4ec206365e206236#api"`
	Type            string `json:"type" example:"oracleService"`
	ServiceEndpoint string `json:"serviceEndpoint" example:"https://twins.example.org"`
}

// DIDDocument is a DID document. The order of members is the order they are sent
// in.
type DIDDocument struct {
	Context              []string     `json:"@context"`
	ID                   string       `json:"id" doc:"The DID." example:"did:ixo:entity:175d7824ba25002e4ec206365e206236"`
	Controller           []string     `json:"controller,omitempty" doc:"DIDs of its controllers, who may change it."`
	AlsoKnownAs          []string     `json:"alsoKnownAs,omitempty" doc:"URIs of the same subject."`
	VerificationMethod   []DIDMethod  `json:"verificationMethod,omitempty" doc:"Its keys."`
	Authentication       []string     `json:"authentication,omitempty"`
	AssertionMethod      []string     `json:"assertionMethod,omitempty"`
	KeyAgreement         []string     `json:"keyAgreement,omitempty"`
	CapabilityInvocation []string     `json:"capabilityInvocation,omitempty"`
	CapabilityDelegation []string     `json:"capabilityDelegation,omitempty"`
	Service              []DIDService `json:"service,omitempty" doc:"Where to reach it."`
}

// ResolutionMetadata describes the resolution.
type ResolutionMetadata struct {
	ContentType string `json:"contentType,omitempty" example:"application/did+ld+json"`
	Error       string `json:"error,omitempty" enum:"invalidDid,notFound,methodNotSupported,invalidOptions,representationNotSupported" doc:"Why there is no document."`
	Message     string `json:"message,omitempty" doc:"The same in a sentence."`
}
