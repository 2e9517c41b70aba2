package vc

import (
	"context"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"
)

// Checks that a caller can ask for. The structure is always checked.
const (
	CheckProof    = "proof"
	CheckValidity = "validity"
	CheckStatus   = "status"
)

// Checks returns all checks.
func Checks() []string { return []string{CheckProof, CheckValidity, CheckStatus} }

// Options say what to verify. No Checks means all of them.
type Options struct {
	Checks    []string
	Domain    string // which a proof must name, when it is not empty
	Challenge string
	left      *budget // of the presentation that shows the credential; nil: its own
}

// budget is what a verification may spend.
func (o Options) budget() *budget {
	if o.left == nil {
		return newBudget()
	}
	return o.left
}

func (o Options) wants(check string) bool {
	return len(o.Checks) == 0 || slices.Contains(o.Checks, check)
}

// Verifier checks documents. Its zero value knows did:key and no status list.
type Verifier struct {
	Lookup Lookup
	// Status reports whether a place of a status list of this server is set; known is
	// false for lists of others, which are never fetched. An error can be a reason, such
	// as those of StatusPlace.
	Status func(ctx context.Context, p StatusPlace) (set, known bool, err error)
	// History adds what this server knows about the key of a valid proof, for example
	// that it was stolen, and about the document: reasons against it, and remarks.
	History    func(ctx context.Context, method string, doc jsontext.Value) (against, worth []Reason, err error)
	TestIssuer string // the DID of the issuer that vouches for nothing
	Now        func() time.Time
}

// Result is the result of a verification. The document is verified when there
// are no reasons.
type Result struct {
	Form     string   // data-integrity, jose, legacy, or "" when there is no proof to speak of
	Issuer   string   // of a credential
	Holder   string   // of a presentation: whose proof it has
	Test     bool     // by the test issuer: it proves nothing about the world
	Reasons  []Reason // why it is not verified
	Warnings []Reason // what was not checked, and other remarks
	Shown    []Result // the credentials of a presentation
	Document jsontext.Value
	methods  []string // of good proofs
	left     *budget  // while it is verified
}

// Verified reports whether there are no reasons against the document.
func (r Result) Verified() bool { return len(r.Reasons) == 0 }

func (r *Result) refuse(err error) { r.Reasons = append(r.Reasons, reasonOf(err)) }

// skipped names the checks that were not requested. The signature of an envelope is
// always checked, because it is worthless without.
func (r *Result) skipped(o Options) {
	for _, check := range Checks() {
		if !o.wants(check) && (check != CheckProof || r.Form != "jose") {
			r.warn("", check+"_unchecked", "You asked only for other checks: "+check+" was not checked.")
		}
	}
}

func (r *Result) warn(pointer, code, detail string) {
	r.Warnings = append(r.Warnings, Reason{Pointer: pointer, Code: code, Detail: detail})
}

func (v *Verifier) now() time.Time {
	if v.Now != nil {
		return v.Now()
	}
	return time.Now()
}

// Credential verifies a credential: with embedded proofs, or in an envelope.
func (v *Verifier) Credential(ctx context.Context, raw jsontext.Value, o Options) Result {
	r := Result{left: o.budget()}
	d, err := parse(raw)
	if err != nil {
		r.refuse(err)
		return r
	}
	if isEnvelope(d.members, envelopedCredential) {
		v.envelope(ctx, d, o, &r)
	} else {
		r.Document = raw
		v.embedded(ctx, d, o, &r)
	}
	if r.Document == nil {
		return r
	}
	r.skipped(o)
	v.remember(ctx, raw, &r)
	if inner, err := parse(r.Document); err == nil {
		v.afterwards(ctx, inner.members, o, &r)
	}
	return r
}

// remember adds what this server knows of the keys of good proofs.
func (v *Verifier) remember(ctx context.Context, raw jsontext.Value, r *Result) {
	if v.History == nil || !r.Verified() {
		return
	}
	for _, method := range r.methods {
		against, worth, err := v.History(ctx, method, raw)
		if err != nil {
			against = []Reason{{Code: "history_unavailable", Detail: "The record of the key cannot be read at the moment."}}
		}
		r.Reasons, r.Warnings = append(r.Reasons, against...), append(r.Warnings, worth...)
	}
}

// embedded checks structure and proofs of a credential.
func (v *Verifier) embedded(ctx context.Context, d *document, o Options, r *Result) {
	r.Issuer = partyID(d.members["issuer"])
	if r.Reasons = shapeOf(d.members, false); len(r.Reasons) > 0 || !o.wants(CheckProof) {
		return
	}
	controllers := v.proofs(ctx, d, proofs{purpose: Assertion, options: Options{Domain: o.Domain, Challenge: o.Challenge}}, r)
	if r.Verified() && !slices.Contains(controllers, r.Issuer) {
		r.refuse(fail("/issuer", "issuer_mismatch", "None of the proofs is by the issuer."))
	}
}

// proofs verifies all proofs of a document and returns whose keys made them.
func (v *Verifier) proofs(ctx context.Context, d *document, s proofs, r *Result) []string {
	all, err := readProofs(d)
	if err != nil {
		r.refuse(err)
		return nil
	}
	s.doc, s.all, s.lookup, s.now, s.left = d, all, v.Lookup, v.now(), r.left
	r.Form = "data-integrity"
	mapped := true
	var controllers []string
	for _, p := range all {
		if text(p.members, "type") == legacyType {
			r.Form = "legacy"
		}
		mapped = mapped && text(p.members, "cryptosuite") == JCS
		if err := s.verify(ctx, p); err != nil {
			if reason := reasonOf(err); !slices.Contains(r.Reasons, reason) {
				r.Reasons = append(r.Reasons, reason)
			}
		}
		controllers, r.methods = append(controllers, p.controller), append(r.methods, text(p.members, "verificationMethod"))
	}
	if mapped && r.Verified() {
		v.terms(d, r)
	}
	if s.fixed != nil && r.Verified() {
		v.appended(d, s.fixed, r)
	}
	return controllers
}

// appended checks a document that has more contexts than its proof covers. The suite
// allows that, as long as the signed data means the same with them as without.
func (v *Verifier) appended(d *document, fixed []any, r *Result) {
	at := "/@context/" + strconv.Itoa(len(fixed))
	r.warn(at, "context_appended", "The contexts from here on were appended after signing: nobody vouched for them.")
	plain := maps.Clone(d.members)
	delete(plain, "proof")
	plain["@context"] = fixed
	without, err := normalise(plain, r.left)
	if err != nil {
		return // the signed data cannot be understood here either: terms has said why
	}
	plain["@context"] = d.members["@context"]
	if with, err := normalise(plain, r.left); err != nil || with != without {
		r.refuse(fail(at, "meaning_changed", "Contexts that were appended after signing change what the document says, or are not known here."))
	}
}

// terms checks the contexts of documents whose proofs do not need them: if all
// are known, undefined terms are an error as with the other suite.
func (v *Verifier) terms(d *document, r *Result) {
	reason, ok := d.defined(r.left)
	if ok {
		return
	}
	if strings.HasPrefix(reason.Code, "context_") {
		r.warn(reason.Pointer, "terms_unchecked", "The signature is good; what the terms mean was not checked. "+reason.Detail)
		return
	}
	r.Reasons = append(r.Reasons, reason)
}

// defined reports whether contexts define everything in a document except its
// proofs, or what they do not.
func (d *document) defined(left *budget) (Reason, bool) {
	plain := maps.Clone(d.members)
	delete(plain, "proof")
	_, err := normalise(plain, left)
	reason := Reason{}
	if err != nil {
		reason = reasonOf(err)
	}
	return reason, err == nil || reason.Code == directionLost
}

// envelope checks a credential in a JWS.
func (v *Verifier) envelope(ctx context.Context, d *document, o Options, r *Result) {
	r.Form = "jose"
	e, err := open(ctx, d.members, "vc", Assertion, v.Lookup)
	if err != nil {
		r.refuse(err)
		return
	}
	r.Document, r.Issuer, r.methods = e.doc.raw, partyID(e.doc.members["issuer"]), []string{e.method}
	r.Reasons = shapeOf(e.doc.members, false)
	if e.controller != r.Issuer || e.claims.Issuer != "" && e.claims.Issuer != r.Issuer {
		r.refuse(fail("/issuer", "issuer_mismatch", "The envelope was not signed by the issuer."))
	}
	if o.wants(CheckValidity) {
		v.lifetime(e.claims, r)
	}
	if r.Verified() {
		v.terms(e.doc, r)
	}
}

func (v *Verifier) lifetime(c joseClaims, r *Result) {
	switch now := v.now(); {
	case !c.Expires.IsZero() && c.Expires.Before(now.Add(-skew)):
		r.refuse(fail("/exp", "expired", "The envelope has expired."))
	case !c.NotBefore.IsZero() && c.NotBefore.After(now.Add(skew)):
		r.refuse(fail("/nbf", "not_yet_valid", "The envelope is not valid yet."))
	}
}

// afterwards checks what time and the issuer decide after signing.
func (v *Verifier) afterwards(ctx context.Context, m map[string]any, o Options, r *Result) {
	if v.TestIssuer != "" && r.Issuer == v.TestIssuer {
		r.Test = true
		r.warn("/issuer", "test_issuer", "This issuer signs for tests of software. The credential proves nothing about the world.")
	}
	if o.wants(CheckValidity) {
		v.validity(m, r)
	}
	if o.wants(CheckStatus) && r.Verified() {
		for i, item := range list(m["credentialStatus"]) {
			entry, _ := item.(map[string]any)
			v.status(ctx, entry, place("/credentialStatus", m["credentialStatus"], i), r)
		}
	}
	for i, item := range list(m["relatedResource"]) {
		o, _ := item.(map[string]any)
		if _, known := contextNames[text(o, "id")]; !known {
			r.warn(place("/relatedResource", m["relatedResource"], i), "resource_unchecked", "The resource is not known here and was not fetched.")
		}
	}
}

func (v *Verifier) validity(m map[string]any, r *Result) {
	now := v.now()
	for _, name := range []string{"validFrom", "issuanceDate"} {
		if t, err := time.Parse(time.RFC3339, text(m, name)); err == nil && t.After(now.Add(skew)) {
			r.refuse(fail("/"+name, "not_yet_valid", "The credential is not valid yet."))
		}
	}
	for _, name := range []string{"validUntil", "expirationDate"} {
		if t, err := time.Parse(time.RFC3339, text(m, name)); err == nil && t.Before(now.Add(-skew)) {
			r.refuse(fail("/"+name, "expired", "The credential has expired."))
		}
	}
}

// status looks a credential up in its status list. The codes are revoked, suspended,
// status_set (for other purposes, a warning), status_unchecked and status_unavailable.
func (v *Verifier) status(ctx context.Context, o map[string]any, at string, r *Result) {
	e, ours, err := readEntry(o, at)
	if err != nil {
		r.refuse(err)
		return
	}
	e.Issuer = r.Issuer
	var set, known bool
	if ours && v.Status != nil {
		set, known, err = v.Status(ctx, e)
	}
	switch {
	case err != nil && !isReason(err):
		r.refuse(fail(at, "status_unavailable", "The status list cannot be read at the moment."))
	case err != nil:
		r.refuse(err)
	case !known:
		r.warn(at, "status_unchecked", "The status is kept on another server and was not checked: nothing is fetched.")
	case set && e.Purpose == "revocation":
		r.refuse(fail(at, "revoked", "The issuer has revoked this credential."))
	case set && e.Purpose == "suspension":
		r.refuse(fail(at, "suspended", "The issuer has suspended this credential."))
	case set:
		r.warn(at, "status_set", "The issuer has set a status of this credential.")
	}
}

func isReason(err error) bool {
	_, ok := ReasonOf(err)
	return ok
}
