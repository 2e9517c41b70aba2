package vc

import (
	"context"
	"slices"
	"strconv"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Presentation verifies a presentation: the holder's proof, for the domain and
// challenge of the options, and each credential in it separately, whatever is
// wrong with the proof.
func (v *Verifier) Presentation(ctx context.Context, raw jsontext.Value, o Options) Result {
	r := Result{Document: raw, left: o.budget()}
	d, err := parse(raw)
	if err != nil {
		r.refuse(err)
		return r
	}
	var sound bool
	if isEnvelope(d.members, envelopedPresentation) {
		d, sound = v.presentedJWS(ctx, d, o, &r)
	} else {
		sound = v.presented(ctx, d, o, &r)
	}
	if d == nil {
		return r
	}
	r.skipped(o)
	if o.Challenge == "" {
		r.warn("/proof/challenge", "challenge_unchecked", "No challenge was given: the presentation may have been made for somebody else, at any time.")
	}
	if sound {
		v.shown(ctx, d, o, &r)
	}
	return r
}

// presented checks structure and proofs of a presentation, and reports whether the
// structure is sound.
func (v *Verifier) presented(ctx context.Context, d *document, o Options, r *Result) bool {
	if r.Reasons = shapeOf(d.members, true); len(r.Reasons) > 0 {
		return false
	}
	if !o.wants(CheckProof) {
		return true
	}
	controllers := v.proofs(ctx, d, proofs{purpose: Authentication, options: o}, r)
	if !r.Verified() {
		return true
	}
	r.Holder = controllers[len(controllers)-1]
	if holder := partyID(d.members["holder"]); holder != "" {
		r.Holder = holder
		if !slices.Contains(controllers, holder) {
			r.refuse(fail("/holder", "holder_mismatch", "None of the proofs is from the holder."))
		}
	}
	return true
}

// presentedJWS checks a presentation in a JWS, and reports whether its structure is
// sound: nonce and aud are its challenge and domain.
func (v *Verifier) presentedJWS(ctx context.Context, d *document, o Options, r *Result) (inner *document, sound bool) {
	r.Form = "jose"
	e, err := open(ctx, d.members, "vp", Authentication, v.Lookup)
	if err != nil {
		r.refuse(err)
		return nil, false
	}
	r.Document, r.Holder = e.doc.raw, e.controller
	r.Reasons = shapeOf(e.doc.members, true)
	sound = r.Verified()
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
	return e.doc, sound
}

// shown verifies the credentials of a presentation. Their reasons become those of
// the presentation.
func (v *Verifier) shown(ctx context.Context, d *document, o Options, r *Result) {
	raw, there := d.parts["verifiableCredential"]
	if !there {
		return
	}
	pieces := []jsontext.Value{raw}
	if raw.Kind() == '[' {
		if err := json.Unmarshal(raw, &pieces); err != nil {
			r.refuse(fail("/verifiableCredential", "malformed", "The credentials are not strict JSON."))
			return
		}
	}
	proven := r.Holder != "" && r.Verified()
	for i, piece := range pieces {
		one := v.Credential(ctx, piece, Options{Checks: o.Checks, left: r.left})
		if proven && one.Document != nil && !isAbout(one.Document, r.Holder) {
			one.warn("/credentialSubject", "holder_not_subject", "The credential is not about the holder: whoever has a copy can present it.")
		}
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

// isAbout reports whether all subjects of a credential are a holder.
func isAbout(doc jsontext.Value, holder string) bool {
	d, err := parse(doc)
	if err != nil {
		return false
	}
	all := list(d.members["credentialSubject"])
	return len(all) > 0 && !slices.ContainsFunc(all, func(v any) bool {
		o, ok := v.(map[string]any)
		return !ok || text(o, "id") != holder
	})
}

// Check makes the checks of a verifier on an unsigned credential: structure,
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
	if reason, ok := d.defined(newBudget()); !ok {
		return []Reason{reason}
	}
	return nil
}
