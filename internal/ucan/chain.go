package ucan

import (
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"slices"

	"github.com/hearth-dmrv/hearth/internal/did"
	"github.com/hearth-dmrv/hearth/internal/ucan/codec"
)

// walk is one check of a token and its proofs at one moment. It remembers its
// findings, so that proofs shared by several tokens cost once.
type walk struct {
	resolver     Resolver
	now          int64
	tokens       map[codec.CID]*Token
	signers      map[codec.CID]ed25519.PublicKey // tokens whose time and signature are valid
	first        ed25519.PublicKey               // of the token that was sent, which is looked at before its proofs
	keys         map[did.DID][]ed25519.PublicKey
	checked      map[codec.CID]int64 // the effective end of whole chains that are good
	dead         map[step]bool       // steps that lead to no root
	capabilities int
}

// step is one capability of one token.
type step struct {
	token      codec.CID
	capability int
}

// proof reads a proof within the limits of one chain.
func (w *walk) proof(t *Token, c codec.CID) (*Token, error) {
	if p, ok := w.tokens[c]; ok {
		return p, nil
	}
	p, err := t.Proof(c)
	if err != nil {
		return nil, err
	}
	w.capabilities += len(p.Capabilities)
	// One token is the leaf, which is not in the table.
	if len(w.tokens)+1 >= maxTokens || w.capabilities > maxCapabilities {
		return nil, refuse(BrokenChain, "too many tokens or capabilities")
	}
	if w.tokens == nil {
		w.tokens = map[codec.CID]*Token{}
	}
	w.tokens[c] = p
	return p, nil
}

// inTime applies the rules of JavaScript: over when the last second begins, not
// yet as long as the first one runs.
func (w *walk) inTime(t *Token) error {
	if t.expires <= w.now {
		return refuse(Expired, "at %d, now %d", t.expires, w.now)
	}
	if t.notBefore > 0 && w.now <= t.notBefore {
		return refuse(NotYet, "before %d, now %d", t.notBefore, w.now)
	}
	return nil
}

// valid checks time and signature of one token, and returns which key made it.
func (w *walk) valid(ctx context.Context, t *Token) (ed25519.PublicKey, error) {
	if key, ok := w.signers[t.CID]; ok {
		return key, nil
	}
	if err := w.inTime(t); err != nil {
		return nil, err
	}
	key, err := w.signer(ctx, t)
	if err != nil {
		return nil, err
	}
	if w.first == nil {
		w.first = key
	}
	if len(t.Proofs) > 0 || len(w.tokens) > 0 {
		if w.signers == nil {
			w.signers = map[codec.CID]ed25519.PublicKey{}
		}
		w.signers[t.CID] = key
	}
	return key, nil
}

// signer finds the key of the issuer that signed t.
func (w *walk) signer(ctx context.Context, t *Token) (ed25519.PublicKey, error) {
	text, err := t.signed()
	if err != nil {
		return nil, err
	}
	if t.key != nil {
		if !ed25519.Verify(t.key, text, t.signature) {
			return nil, refuse(BadSignature, "of %s", t.Issuer)
		}
		return t.key, nil
	}
	keys, err := w.resolve(ctx, t.Issuer)
	if err != nil {
		return nil, err
	}
	for _, key := range keys {
		if ed25519.Verify(key, text, t.signature) {
			return key, nil
		}
	}
	return nil, refuse(BadSignature, "none of %d keys of %s", len(keys), t.Issuer)
}

// resolve asks for the keys of a DID, each DID once.
func (w *walk) resolve(ctx context.Context, id did.DID) ([]ed25519.PublicKey, error) {
	if keys, ok := w.keys[id]; ok {
		return keys, nil
	}
	if key, err := id.Ed25519(); err == nil {
		return []ed25519.PublicKey{key}, nil
	}
	if w.resolver == nil {
		return nil, refuse(UnknownIssuer, "%s", id)
	}
	if len(w.keys) == maxResolved {
		return nil, refuse(BrokenChain, "too many DIDs")
	}
	found, err := w.resolver.Resolve(ctx, id)
	if err != nil && !errors.Is(err, ErrUnknownDID) {
		return nil, &Error{Kind: Unavailable, Detail: "keys of " + id.String(), Err: err}
	}
	keys := make([]ed25519.PublicKey, 0, min(len(found), maxKeys))
	for _, key := range found {
		if len(key) == ed25519.PublicKeySize && len(keys) < maxKeys {
			keys = append(keys, key)
		}
	}
	if len(keys) == 0 {
		return nil, refuse(UnknownIssuer, "%s", id)
	}
	if w.keys == nil {
		w.keys = map[did.DID][]ed25519.PublicKey{}
	}
	w.keys[id] = keys
	return keys, nil
}

// whole checks a token and all its proofs: time, signatures, that each proof
// was given to the issuer who uses it, and that nobody gives more than they
// have. It returns their earliest end.
func (w *walk) whole(ctx context.Context, t *Token, depth int) (int64, error) {
	if end, ok := w.checked[t.CID]; ok {
		return end, nil
	}
	if depth >= maxDepth {
		return 0, refuse(BrokenChain, "more than %d tokens long", maxDepth)
	}
	key, err := w.valid(ctx, t)
	if err != nil {
		return 0, err
	}
	end := t.expires
	var granted []Capability
	for _, c := range t.Proofs {
		p, err := w.proof(t, c)
		if err != nil {
			return 0, err
		}
		if err := w.aligned(ctx, p, t, key); err != nil {
			return 0, err
		}
		until, err := w.whole(ctx, p, depth+1)
		if err != nil {
			return 0, fmt.Errorf("proof %s: %w", c, err)
		}
		end, granted = min(end, until), append(granted, p.Capabilities...)
	}
	if len(t.Proofs) > 0 {
		for _, c := range t.Capabilities {
			if c.With != t.Issuer.String() && !anyCovers(granted, c) {
				return 0, refuse(Escalated, "%s has no proof for %s on %s", t.Issuer, c.Can, c.With)
			}
		}
	}
	if w.checked == nil {
		w.checked = map[codec.CID]int64{}
	}
	w.checked[t.CID] = end
	return end, nil
}

// aligned requires that a proof was given to the issuer of the token that uses
// it, or to another DID with the key that signed that token.
func (w *walk) aligned(ctx context.Context, proof, t *Token, signer ed25519.PublicKey) error {
	if proof.Audience == t.Issuer {
		return nil
	}
	keys, err := w.resolve(ctx, proof.Audience)
	if KindOf(err) == Unavailable {
		return err
	}
	if !slices.ContainsFunc(keys, func(k ed25519.PublicKey) bool { return k.Equal(signer) }) {
		return refuse(BrokenChain, "a proof for %s is used by %s", proof.Audience, t.Issuer)
	}
	return nil
}

// end is the earliest end of a token and the proofs that came with it, checked
// or not.
func (w *walk) end(t *Token, depth int) (int64, error) {
	if depth >= maxDepth {
		return 0, refuse(BrokenChain, "more than %d tokens long", maxDepth)
	}
	if end, ok := w.checked[t.CID]; ok {
		return end, nil
	}
	end := t.expires
	for _, c := range t.Proofs {
		p, err := w.proof(t, c)
		if KindOf(err) == MissingProof {
			continue
		}
		if err != nil {
			return 0, err
		}
		until, err := w.end(p, depth+1)
		if err != nil {
			return 0, err
		}
		end = min(end, until)
	}
	if len(t.Proofs) > 0 {
		if w.checked == nil {
			w.checked = map[codec.CID]int64{}
		}
		w.checked[t.CID] = end
	}
	return end, nil
}

// path looks for a chain of proofs from capability i of t to an issuer that is
// trusted with it. It returns the earliest end on that chain. Proofs that are
// not good are passed over, as in JavaScript; the first trouble is reported
// when nothing else helps.
func (w *walk) path(ctx context.Context, t *Token, i int, roots func(did.DID, Capability) bool, depth int) (int64, error) {
	if _, err := w.valid(ctx, t); err != nil {
		return 0, err
	}
	claim := t.Capabilities[i]
	if roots(t.Issuer, claim) {
		return t.expires, nil
	}
	if depth+1 >= maxDepth && len(t.Proofs) > 0 {
		return 0, refuse(BrokenChain, "more than %d tokens long", maxDepth)
	}
	if w.dead[step{t.CID, i}] {
		return 0, refuse(Untrusted, "%s", t.Issuer)
	}
	var trouble error
	for _, c := range t.Proofs {
		end, err := w.through(ctx, t, c, func(p *Token, j int) (int64, error) {
			if !p.Capabilities[j].Covers(claim) {
				return 0, refuse(Escalated, "%s has no proof for %s on %s", t.Issuer, claim.Can, claim.With)
			}
			return w.path(ctx, p, j, roots, depth+1)
		})
		if err == nil {
			return min(end, t.expires), nil
		}
		trouble = worse(trouble, err)
	}
	if w.dead == nil {
		w.dead = map[step]bool{}
	}
	w.dead[step{t.CID, i}] = true
	if trouble == nil {
		trouble = refuse(Untrusted, "%s is no root for %s on %s", t.Issuer, claim.Can, claim.With)
	}
	return 0, trouble
}

// through tries every capability of a proof.
func (w *walk) through(ctx context.Context, t *Token, c codec.CID, try func(p *Token, j int) (int64, error)) (int64, error) {
	p, err := w.proof(t, c)
	if err != nil {
		return 0, err
	}
	if p.Audience != t.Issuer {
		return 0, refuse(BrokenChain, "a proof for %s is used by %s", p.Audience, t.Issuer)
	}
	if _, err := w.valid(ctx, p); err != nil {
		return 0, err
	}
	var trouble error
	for j := range p.Capabilities {
		end, err := try(p, j)
		if err == nil {
			return end, nil
		}
		trouble = worse(trouble, err)
	}
	return 0, trouble
}

// worse keeps the first trouble, but one that may pass later comes first: the
// caller should then try again.
func worse(first, second error) error {
	if first == nil || KindOf(second) == Unavailable {
		return second
	}
	return first
}
