// Package resolve turns DIDs into DID documents: of every twin for callers who
// may read it, and of some twins for everybody. It follows W3C DID Core 1.0 and
// DID Resolution.
//
// It promises that a public document contains only keys, controllers, services
// and other names, and for households and persons not even the last two; that a
// twin of another workspace is public only under a DID that was minted, which
// nobody can guess; that a deactivated DID can still be resolved and says that
// it is deactivated; and that a stranger never makes this server call another
// one.
//
// It stores nothing of its own. It also makes the oracle's twin, whose services
// clients resolve.
package resolve

import (
	"crypto/ed25519"
	"net/url"
	"slices"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/hearth-dmrv/hearth/api"
	"github.com/hearth-dmrv/hearth/internal/did"
	"github.com/hearth-dmrv/hearth/internal/entity"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// Contexts of JSON-LD.
const (
	contextDID        = "https://www.w3.org/ns/did/v1"
	contextEd25519    = "https://w3id.org/security/suites/ed25519-2020/v1"
	contextMultikey   = "https://w3id.org/security/multikey/v1"
	contextResolution = "https://w3id.org/did-resolution/v1"
)

// Document is a DID document. The order of members is the order they are sent
// in.
type Document api.DIDDocument

// Types of package api.
type (
	Method             = api.DIDMethod
	Endpoint           = api.DIDService
	ResolutionMetadata = api.ResolutionMetadata
)

// Result is the answer of a resolution.
type Result struct {
	Context            string             `json:"@context"`
	DIDDocument        Text               `json:"didDocument"`
	ResolutionMetadata ResolutionMetadata `json:"didResolutionMetadata"`
	DocumentMetadata   DocumentMetadata   `json:"didDocumentMetadata"`
}

// DocumentMetadata describes the document. Times have whole seconds, as DID
// Core requires.
type DocumentMetadata struct {
	Created     string `json:"created,omitempty" example:"2026-11-15T06:00:00Z"`
	Updated     string `json:"updated,omitempty"`
	VersionID   string `json:"versionId,omitempty" doc:"The revision of the twin." example:"3"`
	Deactivated bool   `json:"deactivated,omitzero"`
}

// Text is a document as it is sent; null when there is none.
type Text struct{ jsontext.Value }

// Schema describes a document in the API reference. Documents of other hosts
// may hold more than ours.
func (Text) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{Type: huma.TypeObject, AdditionalProperties: true, Nullable: true, Description: "The DID document; null when there is none."}
}

// timeFormat is the format of times in DocumentMetadata.
const timeFormat = "2006-01-02T15:04:05Z"

func moment(ms int64) string { return time.UnixMilli(ms).UTC().Format(timeFormat) }

// record is the part of a stored twin that a document needs.
type record struct {
	DID         string            `json:"did"`
	DomainType  string            `json:"domainType"`
	Controllers []string          `json:"controllers"`
	AlsoKnownAs []string          `json:"alsoKnownAs"`
	Services    []entity.Endpoint `json:"services"`
	Status      entity.Status     `json:"status"`
	Updated     time.Time         `json:"updated"`
}

// private reports whether twins of a type represent people. Strangers learn
// only that such a DID exists and who controls it.
func private(domainType string) bool { return domainType == "household" || domainType == "person" }

// view says how to show a twin.
type view struct {
	id      string            // of the document; the twin's own DID, or its did:web
	key     ed25519.PublicKey // nil when none is known
	issues  []string          // keys it issues credentials with, in multibase
	public  bool              // for strangers
	private bool              // and about people
}

// document is the DID document of a twin. A deactivated one shows neither keys
// nor services, so that nobody trusts or calls it.
func (r record) document(v view) *Document {
	d := &Document{Context: []string{contextDID}, ID: v.id, Controller: r.Controllers}
	if v.id != r.DID {
		d.AlsoKnownAs = append(d.AlsoKnownAs, r.DID)
	}
	if r.Status == entity.StatusDeactivated {
		return d
	}
	if v.key != nil {
		d.addKey(v.id+"#signing", did.Ed25519Key, did.Multibase(v.key))
	} else if kind, text, err := did.DID(v.id).KeyKind(); err == nil {
		d.addKey(v.id+"#"+text, kind, text)
	}
	for _, text := range v.issues {
		d.addIssuing(v.id+"#"+text, text)
	}
	if v.private {
		return d
	}
	for _, name := range r.AlsoKnownAs {
		if isURI(name) {
			d.AlsoKnownAs = append(d.AlsoKnownAs, name)
		}
	}
	for _, s := range r.Services {
		d.Service = append(d.Service, Endpoint{ID: v.id + s.ID, Type: s.Type, ServiceEndpoint: s.Endpoint})
	}
	return d
}

// isURI reports whether DID Core accepts a name: records may hold any.
func isURI(s string) bool {
	u, err := url.Parse(s)
	return err == nil && u.Scheme != "" && (u.Opaque != "" || u.Host != "")
}

// addKey adds a key to the document for everything its kind can do. Ed25519
// keys have the type that clients of the oracle look for; the others are
// Multikeys.
func (d *Document) addKey(id string, kind did.KeyKind, multibase string) {
	m := Method{ID: id, Type: "Multikey", Controller: d.ID, PublicKeyMultibase: multibase}
	context := contextMultikey
	if kind == did.Ed25519Key {
		m.Type, context = "Ed25519VerificationKey2020", contextEd25519
	}
	d.Context = append(d.Context, context)
	d.VerificationMethod = append(d.VerificationMethod, m)
	if kind == did.X25519Key {
		d.KeyAgreement = append(d.KeyAgreement, id)
		return
	}
	d.Authentication = append(d.Authentication, id)
	d.AssertionMethod = append(d.AssertionMethod, id)
	d.CapabilityInvocation = append(d.CapabilityInvocation, id)
	d.CapabilityDelegation = append(d.CapabilityDelegation, id)
}

// addIssuing adds a key to the document that signs credentials and nothing
// else.
func (d *Document) addIssuing(id, multibase string) {
	if !slices.Contains(d.Context, contextMultikey) {
		d.Context = append(d.Context, contextMultikey)
	}
	d.VerificationMethod = append(d.VerificationMethod, Method{ID: id, Type: "Multikey", Controller: d.ID, PublicKeyMultibase: multibase})
	d.AssertionMethod = append(d.AssertionMethod, id)
}

// keyDocument makes the document of a did:key, which follows from the DID
// alone.
func keyDocument(id did.DID) (*Document, error) {
	kind, text, err := id.KeyKind()
	if err != nil {
		return nil, invalidDID("The key of this did:key cannot be read.")
	}
	d := &Document{Context: []string{contextDID}, ID: id.String()}
	d.addKey(id.String()+"#"+text, kind, text)
	return d, nil
}

// result wraps a document.
func result(d *Document, meta DocumentMetadata) (*Result, error) {
	text, err := web.Encode(d)
	if err != nil {
		return nil, err
	}
	return textResult(text, meta), nil
}

func textResult(text []byte, meta DocumentMetadata) *Result {
	return &Result{
		Context: contextResolution, DIDDocument: Text{text},
		ResolutionMetadata: ResolutionMetadata{ContentType: mediaLD}, DocumentMetadata: meta,
	}
}

// readRecord decodes the part of a stored twin that a document needs.
func readRecord(body []byte) (record, error) {
	var r record
	err := json.Unmarshal(body, &r)
	return r, err
}
