package client

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/hearth-dmrv/hearth/api"
)

// DIDs are the DID documents of twins and others.
type DIDs struct{ c *Client }

// Types of package api.
type (
	DIDDocument        = api.DIDDocument
	DIDMethod          = api.DIDMethod
	DIDService         = api.DIDService
	ResolutionMetadata = api.ResolutionMetadata
)

// Resolution is the result of resolving a DID. Documents of other hosts come in
// many shapes, so the document is JSON here; Document reads those of this
// server.
type Resolution struct {
	DIDDocument        jsontext.Value     `json:"didDocument"`
	ResolutionMetadata ResolutionMetadata `json:"didResolutionMetadata"`
	DocumentMetadata   DocumentMetadata   `json:"didDocumentMetadata"`
}

// DocumentMetadata describes the document.
type DocumentMetadata struct {
	Created     time.Time `json:"created,omitzero"`
	Updated     time.Time `json:"updated,omitzero"`
	VersionID   string    `json:"versionId,omitempty"` // revision of the twin
	Deactivated bool      `json:"deactivated,omitzero"`
}

// Document reads the DID document.
func (r Resolution) Document() (*DIDDocument, error) {
	d := new(DIDDocument)
	if err := json.Unmarshal(r.DIDDocument, d); err != nil {
		return nil, fmt.Errorf("read DID document: %w", err)
	}
	return d, nil
}

// DIDVersion selects a version of a document. The zero value is the newest.
type DIDVersion struct {
	Revision int64
	At       time.Time
}

func (d DIDVersion) values() url.Values {
	v := url.Values{}
	setInt(v, "versionId", d.Revision)
	setTime(v, "versionTime", d.At)
	return v
}

// Document reads the DID document of a twin. Code: ENTITY_NOT_FOUND.
func (d DIDs) Document(ctx context.Context, did string, w DIDVersion, opts ...Option) (*DIDDocument, error) {
	return do[DIDDocument](ctx, d.c, get(entityPath(did)+"/did-document", w.values()), opts)
}

// Resolve resolves any DID: a twin of the workspace, did:key, did:web. Codes:
// DID_NOT_FOUND, DID_INVALID, DID_METHOD_NOT_SUPPORTED.
func (d DIDs) Resolve(ctx context.Context, did string, w DIDVersion, opts ...Option) (*Resolution, error) {
	return do[Resolution](ctx, d.c, get("/v1/dids/"+url.PathEscape(did), w.values()), opts)
}

// ResolvePublic resolves a DID as universal resolvers do, without a key. A
// deactivated DID is an answer, not an error. Codes are those of DID
// Resolution: notFound, invalidDid, methodNotSupported, invalidOptions.
func (d DIDs) ResolvePublic(ctx context.Context, did string, w DIDVersion, opts ...Option) (*Resolution, error) {
	return do[Resolution](ctx, d.c, gone("/1.0/identifiers/"+url.PathEscape(did), w.values()), opts)
}

// Server reads the DID document of the server under its did:web. Servers
// without a public address have none; those whose address has a path serve it
// at /did.json there, not here.
func (d DIDs) Server(ctx context.Context, opts ...Option) (*DIDDocument, error) {
	return do[DIDDocument](ctx, d.c, gone("/.well-known/did.json", nil), opts)
}

// Web reads the did:web document of a twin; id is the last part of a minted
// DID. Servers without a public address have none.
func (d DIDs) Web(ctx context.Context, id string, opts ...Option) (*DIDDocument, error) {
	return do[DIDDocument](ctx, d.c, gone("/entities/"+url.PathEscape(id)+"/did.json", nil), opts)
}

// gone is a get for which 410 is an answer.
func gone(path string, query url.Values) call {
	k := get(path, query)
	k.accept = http.StatusGone
	return k
}
