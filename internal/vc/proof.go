package vc

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"encoding/base64"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/hearth-dmrv/hearth/internal/did"
)

// skew is how far clocks of issuers and verifiers may be apart.
const skew = 5 * time.Minute

// legacyType is the proof of VC 1.1 documents: a detached JWS over their RDF.
const legacyType = "Ed25519Signature2018"

// proofs holds the proofs of one document while they are verified.
type proofs struct {
	doc     *document
	all     []*proof
	purpose string
	lookup  Lookup
	options Options
	now     time.Time
	left    *budget
	fixed   []any // the contexts that a proof covers, where the document has more
}

// proof is one proof, and what became of it.
type proof struct {
	raw        jsontext.Value
	members    map[string]any
	at         string // its pointer
	controller string // once it is verified
	begun      bool
	done       bool
	err        error
}

// readProofs finds the proofs of a document. The reasons are proof_missing and
// proof_invalid.
func readProofs(d *document) ([]*proof, error) {
	raw, there := d.parts["proof"]
	if !there {
		return nil, fail("/proof", "proof_missing", "The document has no proof.")
	}
	pieces := []jsontext.Value{raw}
	if raw.Kind() == '[' {
		if err := json.Unmarshal(raw, &pieces); err != nil {
			return nil, fail("/proof", "proof_invalid", "A proof is an object, or an array of them.")
		}
	}
	if len(pieces) == 0 || len(pieces) > maxProofs {
		return nil, fail("/proof", "proof_invalid", "A document has one to "+strconv.Itoa(maxProofs)+" proofs.")
	}
	var out []*proof
	for i, piece := range pieces {
		p := &proof{raw: piece, at: place("/proof", d.members["proof"], i)}
		if piece.Kind() != '{' || json.Unmarshal(piece, &p.members) != nil {
			return nil, fail(p.at, "proof_invalid", "A proof is an object.")
		}
		out = append(out, p)
	}
	return out, nil
}

// verify checks a proof, after those it builds on.
func (s *proofs) verify(ctx context.Context, p *proof) error {
	if p.done {
		return p.err
	}
	if p.begun {
		return fail(p.at+"/previousProof", "chain_invalid", "The proofs build on each other in a circle.")
	}
	p.begun = true
	p.err = s.check(ctx, p)
	p.done = true
	return p.err
}

func (s *proofs) check(ctx context.Context, p *proof) error {
	before, err := s.before(ctx, p)
	if err != nil {
		return err
	}
	if err := s.saysEnough(p); err != nil {
		return err
	}
	m, err := resolve(ctx, text(p.members, "verificationMethod"), s.lookup)
	if err != nil {
		return p.located(err)
	}
	if m.Purposes != nil && !slices.Contains(m.Purposes, s.purpose) {
		return fail(p.at+"/verificationMethod", "purpose_forbidden", "The key may not be used for this purpose.")
	}
	if err := s.signature(p, m, before); err != nil {
		return p.located(err)
	}
	p.controller = m.Controller
	return nil
}

// located gives a reason of one proof the pointer of the proof.
func (p *proof) located(err error) error {
	r := reasonOf(err)
	switch {
	case r.Code == "data_loss" || r.Code == "json_ld" || strings.HasPrefix(r.Code, "context_") || r.Code == "graph_too_complex" || r.Code == "term_redefined":
		return err // it is about the document
	case r.Pointer == p.at || strings.HasPrefix(r.Pointer, p.at+"/"):
		return err
	}
	return fail(p.at+r.Pointer, r.Code, r.Detail)
}

// before verifies the proofs that p names as previous, and gives them.
func (s *proofs) before(ctx context.Context, p *proof) ([]jsontext.Value, error) {
	v, there := p.members["previousProof"]
	if !there {
		return nil, nil
	}
	var out []jsontext.Value
	for _, item := range list(v) {
		id, ok := item.(string)
		i := slices.IndexFunc(s.all, func(o *proof) bool { return ok && id != "" && text(o.members, "id") == id })
		if i < 0 {
			return nil, fail(p.at+"/previousProof", "chain_invalid", "No proof of this document has this id.")
		}
		if err := s.verify(ctx, s.all[i]); err != nil {
			return nil, err
		}
		out = append(out, s.all[i].raw)
	}
	return out, nil
}

// saysEnough checks the members of a proof besides its value.
func (s *proofs) saysEnough(p *proof) error {
	wrong := func(name, code, detail string) error { return fail(p.at+"/"+name, code, detail) }
	kind, suite := text(p.members, "type"), text(p.members, "cryptosuite")
	switch {
	case kind == legacyType:
	case kind != proofType:
		return wrong("type", "proof_type_unknown", "Proofs of type "+proofType+" and, in older documents, "+legacyType+" are verified.")
	case suite != JCS && suite != RDFC:
		return wrong("cryptosuite", "cryptosuite_unknown", "Proofs by "+JCS+" and "+RDFC+" are verified.")
	}
	if v, there := p.members["id"]; there {
		if id, ok := v.(string); !ok || !absolute(id) {
			return wrong("id", "not_a_url", "The id of a proof is a URL.")
		}
	}
	if text(p.members, "verificationMethod") == "" {
		return wrong("verificationMethod", "required", "This member is required.")
	}
	if text(p.members, "proofPurpose") != s.purpose {
		return wrong("proofPurpose", "purpose_mismatch", "The purpose of this proof is not "+s.purpose+".")
	}
	created, err := proofTime(p, "created")
	if err != nil {
		return err
	}
	expires, err := proofTime(p, "expires")
	if err != nil {
		return err
	}
	switch {
	case created.After(s.now.Add(skew)):
		return wrong("created", "not_yet_valid", "The proof was made in the future.")
	case !expires.IsZero() && expires.Before(s.now.Add(-skew)):
		return wrong("expires", "expired", "The proof has expired.")
	}
	return s.meantForUs(p)
}

// meantForUs compares domain and challenge with those the verifier expects.
func (s *proofs) meantForUs(p *proof) error {
	if want := s.options.Domain; want != "" && !slices.Contains(list(p.members["domain"]), any(want)) {
		return fail(p.at+"/domain", "domain_mismatch", "The proof was made for another domain, or for none.")
	}
	if want := s.options.Challenge; want != "" && text(p.members, "challenge") != want {
		return fail(p.at+"/challenge", "challenge_mismatch", "The proof answers another challenge, or none.")
	}
	return nil
}

// proofTime reads a time of a proof; one without an offset is UTC.
func proofTime(p *proof, name string) (time.Time, error) {
	v, there := p.members[name]
	if !there {
		return time.Time{}, nil
	}
	s, _ := v.(string)
	t, err := time.Parse(time.RFC3339, s)
	if err != nil {
		t, err = time.Parse("2006-01-02T15:04:05.999999999", s)
	}
	if err != nil {
		return t, fail(p.at+"/"+name, "date_invalid", "This is a date and time, such as 2026-01-31T12:00:00Z.")
	}
	return t, nil
}

// signature checks the value of a proof. The proofs it builds on are part of the
// signed data.
func (s *proofs) signature(p *proof, m Method, before []jsontext.Value) error {
	if _, ok := m.Key.(ed25519.PublicKey); !ok {
		return fail("/verificationMethod", "method_invalid", "The key is not of the kind that the proof needs, Ed25519.")
	}
	set := map[string]jsontext.Value{}
	if len(before) > 0 {
		joined := append([]byte{'['}, bytes.Join(asBytes(before), []byte{','})...)
		set["proof"] = append(joined, ']')
	}
	if text(p.members, "type") == legacyType {
		return s.legacy(p, m, set)
	}
	value, err := did.DecodeMultibase(text(p.members, "proofValue"))
	if err != nil || text(p.members, "proofValue")[0] != 'z' {
		return fail("/proofValue", "proof_invalid", "proofValue is a signature in base 58, beginning with z.")
	}
	config, err := parse(p.raw)
	if err != nil {
		return err
	}
	var data []byte
	if text(p.members, "cryptosuite") == JCS {
		data, err = s.jcsData(config, set)
	} else {
		data, err = rdfcData(s.doc.without("proof", set), config.without("proofValue", map[string]jsontext.Value{"@context": s.doc.parts["@context"]}), s.left)
	}
	if err != nil {
		return err
	}
	if !verifySignature(m.Key, data, value) {
		return fail("/proofValue", "signature_invalid", "The signature is not that of this document by this key.")
	}
	return nil
}

// jcsData is the data that an eddsa-jcs-2022 proof signed. As that suite requires,
// contexts that were appended after signing do not count: the proof has its own.
func (s *proofs) jcsData(config *document, set map[string]jsontext.Value) ([]byte, error) {
	if own, there := config.members["@context"]; there {
		have, want := list(s.doc.members["@context"]), list(own)
		if len(want) > len(have) || !sameJSON(have[:len(want)], want) {
			return nil, fail("/@context", "proof_invalid", "The document's context does not begin with that of the proof.")
		}
		if len(want) < len(have) {
			s.fixed = want
		}
		set["@context"] = config.parts["@context"]
	}
	doc, err := canonical(s.doc.without("proof", set))
	if err != nil {
		return nil, err
	}
	plain, err := canonical(config.without("proofValue", nil))
	return hashes(plain, doc), err
}

func sameJSON(a, b any) bool {
	x, errX := json.Marshal(a, json.Deterministic(true))
	y, errY := json.Marshal(b, json.Deterministic(true))
	return errX == nil && errY == nil && bytes.Equal(x, y)
}

func asBytes(values []jsontext.Value) [][]byte {
	out := make([][]byte, len(values))
	for i, v := range values {
		out[i] = v
	}
	return out
}

// legacy checks an Ed25519Signature2018: a JWS whose payload is left out and not
// encoded, over the hashes of proof and document as canonical RDF.
func (s *proofs) legacy(p *proof, m Method, set map[string]jsontext.Value) error {
	wrong := fail("/jws", "proof_invalid", "jws is a detached JWS by EdDSA with an unencoded payload.")
	header, rest, ok := strings.Cut(text(p.members, "jws"), "..")
	if !ok || !legacyHeader(header) {
		return wrong
	}
	value, err := base64.RawURLEncoding.Strict().DecodeString(rest)
	if err != nil {
		return wrong
	}
	config, err := parse(p.raw)
	if err != nil {
		return err
	}
	data, err := rdfcData(s.doc.without("proof", set), config.without("jws", map[string]jsontext.Value{"@context": jsontext.Value(`["` + ContextV1 + `"]`)}), s.left)
	if err != nil {
		return err
	}
	if !verifySignature(m.Key, append([]byte(header+"."), data...), value) {
		return fail("/jws", "signature_invalid", "The signature is not that of this document by this key.")
	}
	return nil
}

func legacyHeader(encoded string) bool {
	var h struct {
		Alg  string   `json:"alg"`
		B64  *bool    `json:"b64"`
		Crit []string `json:"crit"`
	}
	raw, err := base64.RawURLEncoding.Strict().DecodeString(encoded)
	return err == nil && json.Unmarshal(raw, &h) == nil && h.Alg == "EdDSA" && h.B64 != nil && !*h.B64 && slices.Equal(h.Crit, []string{"b64"})
}
