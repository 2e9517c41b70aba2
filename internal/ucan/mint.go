package ucan

import (
	"crypto/ed25519"
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"strings"
	"time"

	"github.com/hearth-dmrv/hearth/internal/did"
	"github.com/hearth-dmrv/hearth/internal/ucan/codec"
)

// Signer mints tokens in the name of one DID.
type Signer struct {
	id  did.DID
	key ed25519.PrivateKey
}

// NewSigner makes a signer. Without an id it speaks as the did:key of its key;
// a did:key of another key is refused. Whether any other DID lists the key is
// up to that DID's document.
func NewSigner(id did.DID, key ed25519.PrivateKey) (*Signer, error) {
	if len(key) != ed25519.PrivateKeySize {
		return nil, refuse(Malformed, "no Ed25519 key")
	}
	own := did.FromEd25519(key.Public().(ed25519.PublicKey))
	if id == "" {
		id = own
	}
	if !did.Valid(string(id)) || id.Method() == "key" && id != own {
		return nil, refuse(Malformed, "%q is not the DID of this key", string(id))
	}
	return &Signer{id, key}, nil
}

// DID is the DID the signer speaks for.
func (s *Signer) DID() did.DID { return s.id }

// Draft is an unsigned token. An invocation and a delegation have the same
// form: the first names what is requested now, the second what is given.
type Draft struct {
	Audience     did.DID
	Capabilities []Capability
	Expires      time.Time // the zero time: never
	NotBefore    time.Time // the zero time: at once
	Nonce        string
	Facts        []map[string]any
	Proofs       []*Token // they travel inside the token
}

// Mint signs a draft. It returns a refusal of kind Malformed or TooLarge; the
// published validators can read what it mints.
func (s *Signer) Mint(d Draft) (*Token, error) {
	if len(d.Capabilities) == 0 || len(d.Capabilities) > maxCapabilities || len(d.Proofs) >= maxTokens {
		return nil, refuse(Malformed, "%d capabilities and %d proofs", len(d.Capabilities), len(d.Proofs))
	}
	t := &Token{Issuer: s.id, Audience: d.Audience, Nonce: d.Nonce, expires: never, archive: &codec.Archive{}}
	for _, c := range d.Capabilities {
		c.Can = strings.ToLower(c.Can)
		if err := c.check(); err != nil {
			return nil, err
		}
		t.Capabilities = append(t.Capabilities, c)
	}
	if !d.Expires.IsZero() {
		t.expires = d.Expires.Unix()
	}
	if !d.NotBefore.IsZero() {
		t.notBefore = d.NotBefore.Unix()
	}
	if t.expires < 0 || t.notBefore < 0 || t.expires > never || t.notBefore >= never {
		return nil, refuse(Malformed, "times out of range")
	}
	for _, f := range d.Facts {
		fact, err := codec.From(f)
		if err != nil {
			return nil, malformed(err)
		}
		t.facts = append(t.facts, fact)
	}
	for _, p := range d.Proofs {
		t.Proofs = append(t.Proofs, p.CID)
		p.export(t.archive)
	}
	return t, s.sign(t)
}

// sign signs t, writes its block and looks at the result with the eyes of a
// reader.
func (s *Signer) sign(t *Token) error {
	text, err := t.signed()
	if err != nil {
		return err
	}
	t.key, t.signature = nil, ed25519.Sign(s.key, text)
	m, err := t.members()
	if err != nil {
		return err
	}
	if t.block, err = codec.EncodeCBOR(m); err != nil {
		return malformed(err)
	}
	t.CID = codec.Sum(codec.DagCBOR, t.block)
	minted, err := t.encode()
	if err != nil {
		return err
	}
	again, err := Parse(minted)
	if err != nil {
		return fmt.Errorf("read what was minted: %w", err)
	}
	*t = *again
	return nil
}

// members are the members of the block, in the order of dag-cbor.
func (t *Token) members() (codec.Map, error) {
	iss, err := principalBytes(t.Issuer)
	if err != nil {
		return nil, err
	}
	aud, err := principalBytes(t.Audience)
	if err != nil {
		return nil, err
	}
	att := make([]any, len(t.Capabilities))
	for i, c := range t.Capabilities {
		if att[i], err = c.value(); err != nil {
			return nil, err
		}
	}
	prf := make([]any, len(t.Proofs))
	for i, c := range t.Proofs {
		prf[i] = c
	}
	m := map[string]any{
		"v": version, "s": append([]byte(sigPrefix), t.signature...), "iss": iss, "aud": aud, "att": att, "prf": prf, "exp": nil,
	}
	if t.expires < never {
		m["exp"] = t.expires
	}
	if len(t.facts) > 0 {
		m["fct"] = t.facts
	}
	if t.Nonce != "" {
		m["nnc"] = t.Nonce
	}
	if t.notBefore > 0 {
		m["nbf"] = t.notBefore
	}
	v, err := codec.From(m)
	if err != nil {
		return nil, malformed(err)
	}
	return v.(codec.Map), nil
}

// Text is the token in its sent form: base64 of a CAR with its proofs, the
// token, and the root, in the order in which JavaScript writes them.
func (t *Token) Text() string {
	text, _ := t.encode() // a token that was read or minted can be written
	return text
}

func (t *Token) encode() (string, error) {
	var a codec.Archive
	t.export(&a)
	root, err := codec.EncodeCBOR(codec.Map{{Key: rootKey, Value: t.CID}})
	if err != nil {
		return "", malformed(err)
	}
	a.Root = codec.Sum(codec.DagCBOR, root)
	a.Add(codec.Block{CID: a.Root, Data: root})
	raw, err := a.Encode()
	if err != nil {
		return "", malformed(err)
	}
	if text := base64.StdEncoding.EncodeToString(raw); len(text) <= MaxText {
		return text, nil
	}
	return "", refuse(TooLarge, "the token with its proofs")
}

// export adds the blocks of a token to a, its proofs first. Proofs that are not
// included stay links.
func (t *Token) export(a *codec.Archive) {
	if _, ok := a.Find(t.CID); ok {
		return
	}
	for _, c := range t.Proofs {
		if p, err := t.Proof(c); err == nil {
			p.export(a)
		}
	}
	a.Add(codec.Block{CID: t.CID, Data: t.block})
}

// Call is an invocation of another service with a user's delegation.
type Call struct {
	Grant      *Token // the user's delegation to the signer
	Service    did.DID
	Capability Capability
	TTL        time.Duration
	Nonce      string // "" for a fresh one
}

// Downstream mints the invocation of a service with the user's delegation as
// its proof. It ends after TTL or with the delegation, whichever is first, and
// has a nonce, because some services accept a token only once.
// Checker.Delegation decides whether the delegation is valid; here it is
// refused when it is for somebody else, has ended, or does not cover the
// capability.
func (s *Signer) Downstream(now time.Time, c Call) (*Token, error) {
	if c.Grant.Audience != s.id {
		return nil, refuse(WrongAudience, "%s, not %s", c.Grant.Audience, s.id)
	}
	if !anyCovers(c.Grant.Capabilities, c.Capability) {
		return nil, refuse(NotCapable, "no %s on %s", c.Capability.Can, c.Capability.With)
	}
	w := &walk{now: now.Unix()}
	end, err := w.end(c.Grant, 0)
	if err != nil {
		return nil, err
	}
	if end = min(end, now.Add(c.TTL).Unix()); end <= w.now {
		return nil, refuse(Expired, "at %d, now %d", end, w.now)
	}
	nonce := c.Nonce
	if nonce == "" {
		nonce = newNonce()
	}
	return s.Mint(Draft{
		Audience: c.Service, Capabilities: []Capability{c.Capability}, Expires: time.Unix(end, 0),
		Facts: []map[string]any{{"nonce": nonce}}, Proofs: []*Token{c.Grant},
	})
}

// newNonce is a random UUID, the form services expect.
func newNonce() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails: the program ends instead
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}
