package plugin

import (
	"net/http"
	"time"
)

// Want is what a plugin wants to do at another service for its user.
type Want struct {
	// Service is the DID of the service, or its address, such as https://memory.example:
	// then the DID is that of its /.well-known/did.json, which must be the did:web of
	// that very address.
	Service string
	Can     string // the ability, such as memory/read; empty: *
	With    string // the resource, such as ixo:memory
	// Fresh asks for an invocation that nobody has used, for services that accept each
	// one once. Others are reused until shortly before they expire.
	Fresh bool
}

// Invocation is a UCAN by the oracle, for one service and one ability, with the
// user's delegation as its proof.
type Invocation struct {
	Token   string
	Service string // DID of the service
	Expires time.Time
}

// Sign adds the invocation to the headers of a request.
func (i Invocation) Sign(r *http.Request) {
	r.Header.Set("Authorization", "Bearer "+i.Token)
	r.Header.Set("X-Auth-Type", "ucan")
}
