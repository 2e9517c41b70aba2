// Package credential keeps what claims have become: W3C verifiable credentials that this
// server built and signed with a key of the oracle that approved the claim, their status
// lists, and the keys themselves.
//
// It promises that it signs only what it built itself from a claim and its evaluation;
// that no signed document holds personal data (the subject is a pseudonym used in that
// credential alone, and evidence appears as salted hashes); that a document never
// changes, whatever is erased or revoked later; and that status lists and verification
// follow the credential's twin in the same transaction.
//
// It does not decide about claims: package claim does, and asks it to sign.
//
// Vouchers are paid from a credential. A voucher belongs to a recipient and is redeemed
// by suppliers in parts until nothing is left, it expires or it is cancelled. A balance
// is counted in hundredths. One statement checks that there is enough and subtracts, so
// the balance never falls below zero, however many redeem at once.
package credential

import (
	"crypto/hmac"
	"crypto/sha256"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/hearth-dmrv/hearth/api"
	"github.com/hearth-dmrv/hearth/internal/did"
	"github.com/hearth-dmrv/hearth/internal/entity"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/vc"
)

// States of credentials.
const (
	Active    = "active"
	Suspended = "suspended"
	Revoked   = "revoked"
	Retired   = "retired" // its amount has been used
)

// Purposes of status lists.
const (
	revocation = "revocation"
	suspension = "suspension"
)

// vocabulary defines the terms of our documents beside those of W3C.
const vocabulary = `{"ClaimDigest":"urn:hearth:vocab:ClaimDigest","EvaluationDigest":"urn:hearth:vocab:EvaluationDigest","EvidenceDigest":"urn:hearth:vocab:EvidenceDigest",` +
	`"ImpactCredential":"urn:hearth:vocab:ImpactCredential","amount":"urn:hearth:vocab:amount","kind":"urn:hearth:vocab:kind",` +
	`"periodEnd":{"@id":"urn:hearth:vocab:periodEnd","@type":"http://www.w3.org/2001/XMLSchema#date"},` +
	`"periodStart":{"@id":"urn:hearth:vocab:periodStart","@type":"http://www.w3.org/2001/XMLSchema#date"},` +
	`"project":{"@id":"urn:hearth:vocab:project","@type":"@id"},"unit":"urn:hearth:vocab:unit","value":"urn:hearth:vocab:value"}`

// maxExact is the limit up to which whole numbers are exact in canonical JSON.
const maxExact = 1 << 53

// Types of evidence in a document.
const (
	claimDigest      = "ClaimDigest"
	evaluationDigest = "EvaluationDigest"
	evidenceDigest   = "EvidenceDigest"
)

// document is the credential as it is signed, without its proof.
type document struct {
	Context  []jsontext.Value `json:"@context"`
	ID       string           `json:"id"`
	Type     []string         `json:"type"`
	Issuer   string           `json:"issuer"`
	From     string           `json:"validFrom"`
	Subject  subject          `json:"credentialSubject"`
	Evidence []digest         `json:"evidence"`
	Status   []statusEntry    `json:"credentialStatus"`
}

type subject struct {
	ID          string           `json:"id"`
	Kind        string           `json:"kind"`
	PeriodStart string           `json:"periodStart,omitzero"`
	PeriodEnd   string           `json:"periodEnd,omitzero"`
	Amount      *api.ClaimAmount `json:"amount,omitzero"`
	Project     string           `json:"project,omitzero"`
}

type digest struct {
	Type   string `json:"type"`
	Digest string `json:"digestMultibase"`
}

type statusEntry struct {
	Type    string `json:"type"`
	Purpose string `json:"statusPurpose"`
	Index   string `json:"statusListIndex"`
	List    string `json:"statusListCredential"`
}

// build makes the document of a credential.
func (is *Issuer) build(i entity.Issued, k *key, r *row) (jsontext.Value, error) {
	if a := i.Says.Amount; a != nil && (math.IsInf(a.Value, 0) || math.IsNaN(a.Value) || math.Abs(a.Value) >= maxExact) {
		return nil, fault.New(fault.Conflict, "CREDENTIAL_AMOUNT_INEXACT", "The amount is too large to be written exactly. Claim it in a larger unit.")
	}
	d := document{
		Context: []jsontext.Value{jsontext.Value(`"` + vc.ContextV2 + `"`), jsontext.Value(vocabulary)}, ID: r.uri, Type: []string{"VerifiableCredential", "ImpactCredential"},
		Issuer: k.controller, From: time.UnixMilli(r.issued).UTC().Format("2006-01-02T15:04:05Z"),
		Subject: subject{
			ID: pseudonym(r.salt, i.Says.Subject), Kind: i.Says.Kind, PeriodStart: i.Says.PeriodStart, PeriodEnd: i.Says.PeriodEnd, Amount: i.Says.Amount, Project: r.project,
		},
		Evidence: []digest{{claimDigest, salted(r.salt, claimDigest, i.Claimed)}, {evaluationDigest, salted(r.salt, evaluationDigest, i.Evaluated)}},
	}
	for n, e := range i.Evidence {
		d.Evidence = append(d.Evidence, digest{evidenceDigest, salted(r.salt, evidenceDigest+strconv.Itoa(n), []byte(e))})
	}
	for _, purpose := range []string{revocation, suspension} {
		d.Status = append(d.Status, statusEntry{"BitstringStatusListEntry", purpose, strconv.Itoa(r.place), r.listAt + r.listID + "-" + purpose})
	}
	return json.Marshal(d)
}

// pseudonymous is the prefix of the names that signed documents use for their subjects.
const pseudonymous = "urn:hearth:pseudonym:"

// pseudonym is the name of a subject in one credential alone. After an erasure the
// record has no other name for it.
func pseudonym(salt []byte, id string) string {
	if strings.HasPrefix(id, pseudonymous) {
		return id
	}
	h := hmac.New(sha256.New, salt)
	h.Write([]byte("subject\n" + id))
	return pseudonymous + did.EncodeMultibase(h.Sum(nil)[:16])
}

// SaltOf is the salt of one piece of evidence. Whoever gets it with the piece can
// check the hash in the document, and learns nothing about the other pieces.
func SaltOf(salt []byte, name string) []byte {
	h := hmac.New(sha256.New, salt)
	h.Write([]byte("evidence\n" + name))
	return h.Sum(nil)
}

// Digest is the salted hash of a piece of evidence in documents: a multihash of
// HMAC-SHA-256.
func Digest(salt, piece []byte) string {
	h := hmac.New(sha256.New, salt)
	h.Write(piece)
	return did.EncodeMultibase(h.Sum([]byte{0x12, 0x20}))
}

func salted(salt []byte, name string, piece []byte) string { return Digest(SaltOf(salt, name), piece) }

// stateOf is the state of a credential in one word.
func (r *row) stateOf() string {
	switch {
	case r.revoked:
		return Revoked
	case r.suspended:
		return Suspended
	case r.retired:
		return Retired
	}
	return Active
}
