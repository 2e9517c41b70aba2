package vc

import (
	"context"
	"slices"
	"strconv"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Presentation verifies a presentation: the holder's proof, for the domain and
// challenge of the options, and each credential in it by itself.
func (v *Verifier) Presentation(ctx context.Context, raw jsontext.Value, o Options) Result {
	r := Result{Document: raw}
	d, err := parse(raw)
	if err != nil {
		r.refuse(err)
		return r
	}
	if isEnvelope(d.members, envelopedPresentation) {
		d = v.presentedJWS(ctx, d, o, &r)
	} else {
		v.presented(ctx, d, o, &r)
	}
	if d == nil {
		return r
	}
	r.skipped(o)
	if o.Challenge == "" {
		r.warn("/proof/challenge", "challenge_unchecked", "No challenge was given: the presentation may have been made for somebody else, at any time.")
	}
	v.shown(ctx, d, o, &r)
	return r
}

// presented checks structure and proofs of a presentation.
func (v *Verifier) presented(ctx context.Context, d *document, o Options, r *Result) {
	if r.Reasons = shapeOf(d.members, true); len(r.Reasons) > 0 || !o.wants(CheckProof) {
		return
	}
	controllers := v.proofs(ctx, d, proofs{purpose: Authentication, options: o}, r)
	if !r.Verified() {
		return
	}
	r.Holder = controllers[len(controllers)-1]
	if holder := partyID(d.members["holder"]); holder != "" {
		r.Holder = holder
		if !slices.Contains(controllers, holder) {
			r.refuse(fail("/holder", "holder_mismatch", "None of the proofs is by the holder."))
		}
	}
}

// presentedJWS checks a presentation in a JWS: nonce and aud are its challenge and
// domain.
func (v *Verifier) presentedJWS(ctx context.Context, d *document, o Options, r *Result) *document {
	r.Form = "jose"
	e, err := open(ctx, d.members, "vp", Authentication, v.Lookup)
	if err != nil {
		r.refuse(err)
		return nil
	}
	r.Document, r.Holder = e.doc.raw, e.controller
	r.Reasons = shapeOf(e.doc.members, true)
	if holder := partyID(e.doc.members["holder"]); holder != "" && holder != e.controller || e.claims.Issuer != "" && e.claims.Issuer != e.controller {
		r.refuse(fail("/holder", "holder_mismatch", "The envelope was not signed by the holder."))
	}
	if o.Challenge != "" && e.claims.Nonce != o.Challenge {
		r.refuse(fail("/nonce", "challenge_mismatch", "The envelope answers another challenge, or none."))
	}
	if o.Domain != "" && !slices.Contains(e.claims.Audience, any(o.Domain)) {
		r.refuse(fail("/aud", "domain_mismatch", "The envelope was made for another audience, or for none."))
	}
	v.lifetime(e.claims, r)
	return e.doc
}

// shown verifies the credentials of a presentation. Their reasons become those of
// the presentation.
func (v *Verifier) shown(ctx context.Context, d *document, o Options, r *Result) {
	raw, there := d.parts["verifiableCredential"]
	if !there || !r.Verified() {
		return
	}
	pieces := []jsontext.Value{raw}
	if raw.Kind() == '[' {
		if err := json.Unmarshal(raw, &pieces); err != nil {
			r.refuse(fail("/verifiableCredential", "malformed", "The credentials are not strict JSON."))
			return
		}
	}
	for i, piece := range pieces {
		one := v.Credential(ctx, piece, Options{Checks: o.Checks})
		at := "/verifiableCredential/" + strconv.Itoa(i)
		for _, reason := range one.Reasons {
			r.Reasons = append(r.Reasons, Reason{Pointer: at + reason.Pointer, Code: reason.Code, Detail: reason.Detail})
		}
		for _, w := range one.Warnings {
			r.Warnings = append(r.Warnings, Reason{Pointer: at + w.Pointer, Code: w.Code, Detail: w.Detail})
		}
		r.Test = r.Test || one.Test
		r.Shown = append(r.Shown, one)
	}
}

// Check holds an unsigned credential to everything that a verifier would: structure,
// contexts that are known here, and terms that they define.
func Check(raw jsontext.Value) []Reason {
	d, err := parse(raw)
	if err != nil {
		return []Reason{reasonOf(err)}
	}
	if _, signed := d.parts["proof"]; signed {
		return []Reason{{Pointer: "/proof", Code: "proof_present", Detail: "The credential already has a proof."}}
	}
	if reasons := shapeOf(d.members, false); len(reasons) > 0 {
		return reasons
	}
	if reason, ok := d.defined(); !ok {
		return []Reason{reason}
	}
	return nil
}
