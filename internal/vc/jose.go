package vc

import (
	"context"
	"crypto/ecdsa"
	"crypto/ed25519"
	"encoding/base64"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Types of objects that hold a signed document, and its media types.
const (
	envelopedCredential   = "EnvelopedVerifiableCredential"
	envelopedPresentation = "EnvelopedVerifiablePresentation"
	MediaCredential       = "application/vc+jwt"
)

// envelopeMedia are the media types of envelopes that are opened: those of today,
// and those of drafts and of VC 1.1.
var envelopeMedia = map[string]bool{
	MediaCredential: true, "application/vp+jwt": true, "application/jwt": true,
	"application/vc-ld+jwt": true, "application/vp-ld+jwt": true,
}

// joseHeader is the protected header of an envelope.
type joseHeader struct {
	Alg  string         `json:"alg"`
	Kid  string         `json:"kid,omitzero"`
	Typ  string         `json:"typ,omitzero"`
	Cty  string         `json:"cty,omitzero"`
	Crit jsontext.Value `json:"crit,omitzero"`
}

// Envelop signs a credential as a JWS (VC-JOSE-COSE) and returns the object that
// holds it.
func (s Signer) Envelop(doc jsontext.Value) (jsontext.Value, error) {
	header, err := json.Marshal(joseHeader{Alg: "EdDSA", Kid: s.Method, Typ: "vc+jwt", Cty: "vc"})
	if err != nil {
		return nil, err
	}
	plain, err := canonical(doc)
	if err != nil {
		return nil, err
	}
	input := base64.RawURLEncoding.EncodeToString(header) + "." + base64.RawURLEncoding.EncodeToString(plain)
	jws := input + "." + base64.RawURLEncoding.EncodeToString(ed25519.Sign(s.Key, []byte(input)))
	return json.Marshal(struct {
		Context []string `json:"@context"`
		ID      string   `json:"id"`
		Type    string   `json:"type"`
	}{[]string{ContextV2}, "data:" + MediaCredential + "," + jws, envelopedCredential})
}

// opened is an envelope whose signature is good.
type opened struct {
	doc        *document
	controller string
	method     string // the verification method
	claims     joseClaims
}

// joseClaims are the relevant members of a JWT besides the document.
type joseClaims struct {
	Issuer    string
	Audience  []any
	Nonce     string
	NotBefore time.Time
	Expires   time.Time
}

// isEnvelope reports whether a document is one of the enveloped kinds.
func isEnvelope(m map[string]any, kind string) bool {
	all := list(m["type"])
	return len(all) == 1 && all[0] == kind
}

// open checks an envelope and its signature. The reasons are context_invalid,
// envelope_invalid, algorithm_unknown, method_invalid, method_unknown,
// purpose_forbidden, signature_invalid.
func open(ctx context.Context, m map[string]any, inner, purpose string, lookup Lookup) (*opened, error) {
	if all := list(m["@context"]); len(all) == 0 || all[0] != ContextV2 {
		return nil, fail("/@context", "context_invalid", "The first context of an envelope is "+ContextV2+".")
	}
	rest, isData := strings.CutPrefix(text(m, "id"), "data:")
	media, jws, hasComma := strings.Cut(rest, ",")
	media, _, _ = strings.Cut(media, ";")
	if !isData || !hasComma || !envelopeMedia[media] {
		return nil, fail("/id", "envelope_invalid", "The id of an envelope is a data: URL of type "+MediaCredential+".")
	}
	payload, method, kid, err := openJWS(ctx, jws, lookup)
	if err != nil {
		return nil, err
	}
	if method.Purposes != nil && !contains(method.Purposes, purpose) {
		return nil, fail("/id", "purpose_forbidden", "The key may not be used for this purpose.")
	}
	d, err := parse(payload)
	if err != nil {
		return nil, err
	}
	o := &opened{doc: d, controller: method.Controller, method: kid, claims: readClaims(d.members)}
	if raw, ok := d.parts[inner]; ok && raw.Kind() == '{' { // a JWT of VC 1.1
		if o.doc, err = parse(raw); err != nil {
			return nil, err
		}
	}
	return o, nil
}

func contains(all []string, s string) bool {
	for _, have := range all {
		if have == s {
			return true
		}
	}
	return false
}

// openJWS checks a compact JWS and gives its payload.
func openJWS(ctx context.Context, jws string, lookup Lookup) (payload []byte, m Method, kid string, err error) {
	wrong := fail("/id", "envelope_invalid", "The envelope does not hold a JWS in compact form.")
	parts := strings.Split(jws, ".")
	if len(jws) > 2*MaxBytes || len(parts) != 3 {
		return nil, Method{}, "", wrong
	}
	var raw [3][]byte
	for i, part := range parts {
		if raw[i], err = base64.RawURLEncoding.Strict().DecodeString(part); err != nil {
			return nil, Method{}, "", wrong
		}
	}
	var h joseHeader
	if json.Unmarshal(raw[0], &h) != nil || h.Crit != nil {
		return nil, Method{}, "", wrong
	}
	m, err = resolve(ctx, h.Kid, lookup)
	if err != nil {
		r := reasonOf(err)
		return nil, Method{}, "", fail("/id", r.Code, r.Detail)
	}
	if !fits(h.Alg, m) {
		return nil, Method{}, "", fail("/id", "algorithm_unknown", "The algorithm is EdDSA or ES256, and fits the key.")
	}
	if !verifySignature(m.Key, []byte(parts[0]+"."+parts[1]), raw[2]) {
		return nil, Method{}, "", fail("/id", "signature_invalid", "The signature is not that of this document by this key.")
	}
	return raw[1], m, h.Kid, nil
}

// fits reports whether an algorithm belongs to a key.
func fits(alg string, m Method) bool {
	switch m.Key.(type) {
	case ed25519.PublicKey:
		return alg == "EdDSA" || alg == "Ed25519"
	case *ecdsa.PublicKey:
		return alg == "ES256"
	}
	return false
}

func readClaims(m map[string]any) joseClaims {
	moment := func(name string) time.Time {
		f, ok := m[name].(float64)
		if !ok || f < 0 || f > 1e11 {
			return time.Time{}
		}
		return time.Unix(int64(f), 0)
	}
	return joseClaims{Issuer: text(m, "iss"), Audience: list(m["aud"]), Nonce: text(m, "nonce"), NotBefore: moment("nbf"), Expires: moment("exp")}
}

// IDOf is the id of a credential, even of one in an envelope. No signature is checked.
func IDOf(raw jsontext.Value) (string, error) {
	d, err := parse(raw)
	if err != nil {
		return "", err
	}
	if !isEnvelope(d.members, envelopedCredential) {
		return text(d.members, "id"), nil
	}
	parts := strings.Split(text(d.members, "id"), ".")
	if len(parts) != 3 {
		return "", fail("/id", "envelope_invalid", "The envelope does not hold a JWS in compact form.")
	}
	payload, err := base64.RawURLEncoding.Strict().DecodeString(parts[1])
	if err != nil {
		return "", fail("/id", "envelope_invalid", "The envelope does not hold a JWS in compact form.")
	}
	if d, err = parse(payload); err != nil {
		return "", err
	}
	return text(d.members, "id"), nil
}
