package ucan

import (
	"bytes"
	"crypto/ed25519"
	"encoding/base64"
	"strings"
	"time"

	"github.com/hearth-dmrv/hearth/internal/did"
	"github.com/hearth-dmrv/hearth/internal/ucan/codec"
)

const (
	version   = "0.9.1"
	rootKey   = "ucan@" + version
	sigPrefix = "\xed\xa1\x03\x40" // EdDSA, 64 bytes
	jwtHeader = `{"alg":"EdDSA","typ":"JWT","ucv":"` + version + `"}`
	never     = int64(1) << 53 // no integer of JavaScript reaches it
)

// Token is one UCAN and the archive it came in. Only its form is checked. It
// never changes after it was made; nor may its lists be changed.
type Token struct {
	CID          codec.CID
	Issuer       did.DID
	Audience     did.DID
	Capabilities []Capability
	Nonce        string
	Proofs       []codec.CID

	expires   int64 // Unix seconds, or never
	notBefore int64 // 0: at once
	facts     []any
	key       ed25519.PublicKey // of a did:key issuer
	signature []byte
	block     []byte
	archive   *codec.Archive
}

// Parse reads a token from its text: base64 in any alphabet, with or without
// padding, of a CAR. It checks only the form and the CIDs of all blocks. It
// returns a refusal of kind Malformed or TooLarge.
func Parse(text string) (*Token, error) {
	if len(text) > MaxText {
		return nil, refuse(TooLarge, "%d characters", len(text))
	}
	raw, err := codec.DecodeText(text)
	if err != nil {
		return nil, malformed(err)
	}
	archive, err := codec.DecodeCAR(raw)
	if err != nil {
		return nil, malformed(err)
	}
	root, _ := archive.Find(archive.Root)
	v, err := codec.DecodeCBOR(root)
	if err != nil {
		return nil, malformed(err)
	}
	m, _ := v.(codec.Map)
	link, _ := m.Get(rootKey)
	c, ok := link.(codec.CID)
	if !ok || len(m) != 1 || archive.Root.Codec() != codec.DagCBOR {
		return nil, refuse(Malformed, "no root of UCAN %s", version)
	}
	t, err := open(archive, c)
	if KindOf(err) == MissingProof {
		return nil, refuse(Malformed, "the root names a block that is not there")
	}
	return t, err
}

// Proof reads one of the token's proofs. It returns a refusal of kind
// MissingProof when it is not in the archive.
func (t *Token) Proof(c codec.CID) (*Token, error) { return open(t.archive, c) }

// Expires is when the token ends; the zero time for never.
func (t *Token) Expires() time.Time { return moment(t.expires) }

// NotBefore is when it begins; the zero time for at once.
func (t *Token) NotBefore() time.Time {
	if t.notBefore == 0 {
		return time.Time{}
	}
	return time.Unix(t.notBefore, 0).UTC()
}

// Facts are statements that come with the token.
func (t *Token) Facts() []map[string]any {
	var out []map[string]any
	for _, f := range t.facts {
		if m, ok := codec.Plain(f).(map[string]any); ok {
			out = append(out, m)
		}
	}
	return out
}

func moment(seconds int64) time.Time {
	if seconds >= never {
		return time.Time{}
	}
	return time.Unix(seconds, 0).UTC()
}

// open reads the token in one block of an archive.
func open(archive *codec.Archive, c codec.CID) (*Token, error) {
	block, ok := archive.Find(c)
	if !ok {
		return nil, refuse(MissingProof, "%s", c)
	}
	t := &Token{CID: c, block: block, archive: archive}
	switch c.Codec() {
	case codec.DagCBOR:
		v, err := codec.DecodeCBOR(block)
		if err != nil {
			return nil, malformed(err)
		}
		return t, t.read(v)
	case codec.Raw:
		return t, t.readJWT(block)
	}
	return nil, refuse(Malformed, "block of an unknown encoding")
}

// readJWT reads a token that stands in its block as the text of a JWT.
func (t *Token) readJWT(block []byte) error {
	signed, sig, ok := cutLast(block, '.')
	head, body, found := bytes.Cut(signed, []byte("."))
	if !ok || !found || string(head) != base64.RawURLEncoding.EncodeToString([]byte(jwtHeader)) {
		return refuse(Malformed, "no JWT of UCAN %s", version)
	}
	payload, err := base64.RawURLEncoding.Strict().AppendDecode(nil, body)
	if err != nil {
		return malformed(err)
	}
	signature, err := base64.RawURLEncoding.Strict().AppendDecode([]byte(sigPrefix), sig)
	if err != nil {
		return malformed(err)
	}
	v, err := codec.DecodeJSON(payload)
	if err != nil {
		return malformed(err)
	}
	m, ok := v.(codec.Map)
	if !ok {
		return refuse(Malformed, "the payload is no map")
	}
	if err := fromJWT(m); err != nil {
		return err
	}
	m = append(m, codec.Entry{Key: "v", Value: version}, codec.Entry{Key: "s", Value: signature})
	if err := t.read(m); err != nil {
		return err
	}
	if again, err := t.signed(); err != nil || !bytes.Equal(again, signed) {
		return refuse(Malformed, "another spelling of a JWT")
	}
	return nil
}

// fromJWT gives the members of a payload the types they have in dag-cbor.
func fromJWT(m codec.Map) error {
	for i, e := range m {
		switch e.Key {
		case "iss", "aud":
			text, _ := e.Value.(string)
			b, err := principalBytes(did.DID(text))
			if err != nil {
				return err
			}
			m[i].Value = b
		case "prf":
			list, _ := e.Value.([]any)
			for j := range list {
				text, _ := list[j].(string)
				c, err := codec.ParseCID(text)
				if err != nil {
					return malformed(err)
				}
				list[j] = c
			}
		case "v", "s":
			return refuse(Malformed, "a JWT with %q", e.Key)
		}
	}
	return nil
}

func cutLast(b []byte, sep byte) (before, after []byte, ok bool) {
	i := bytes.LastIndexByte(b, sep)
	if i < 0 {
		return b, nil, false
	}
	return b[:i], b[i+1:], true
}

// read fills t from the members of a token. Members that are not signed would
// let one signature carry two CIDs, so there may be no unknown ones, and no
// empty optional ones.
func (t *Token) read(v any) error {
	m, _ := v.(codec.Map)
	required := 0
	for _, e := range m {
		var err error
		ok := true
		switch e.Key {
		case "v":
			ok = e.Value == version
		case "iss":
			t.Issuer, t.key, err = principal(e.Value)
		case "aud":
			t.Audience, _, err = principal(e.Value)
		case "att":
			err = t.readCapabilities(e.Value)
		case "exp":
			t.expires, ok = seconds(e.Value, 0)
			if e.Value == nil {
				t.expires, ok = never, true
			}
		case "prf":
			t.Proofs, ok = links(e.Value)
		case "s":
			b, _ := e.Value.([]byte)
			ok = len(b) == len(sigPrefix)+ed25519.SignatureSize && strings.HasPrefix(string(b), sigPrefix)
			t.signature = b[min(len(b), len(sigPrefix)):]
		default:
			required--
			ok = t.readOptional(e)
		}
		if err != nil {
			return err
		}
		if !ok {
			return refuse(Malformed, "member %q", e.Key)
		}
		required++
	}
	if required != 7 {
		return refuse(Malformed, "members are missing")
	}
	return nil
}

func (t *Token) readOptional(e codec.Entry) (ok bool) {
	switch e.Key {
	case "nnc":
		t.Nonce, ok = e.Value.(string)
		return ok && t.Nonce != ""
	case "nbf":
		t.notBefore, ok = seconds(e.Value, 1)
		return ok
	case "fct":
		t.facts, ok = e.Value.([]any)
		for _, f := range t.facts {
			if _, isMap := f.(codec.Map); !isMap {
				return false
			}
		}
		return ok && len(t.facts) > 0
	}
	return false
}

func (t *Token) readCapabilities(v any) error {
	list, _ := v.([]any)
	if len(list) == 0 || len(list) > maxCapabilities {
		return refuse(Malformed, "%d capabilities", len(list))
	}
	t.Capabilities = make([]Capability, len(list))
	for i := range list {
		c, err := readCapability(list[i])
		if err != nil {
			return err
		}
		t.Capabilities[i] = c
	}
	return nil
}

func principal(v any) (did.DID, ed25519.PublicKey, error) {
	b, _ := v.([]byte)
	return readPrincipal(b)
}

func seconds(v any, least int64) (int64, bool) {
	n, ok := v.(int64)
	return n, ok && n >= least && n < never
}

func links(v any) ([]codec.CID, bool) {
	list, ok := v.([]any)
	if !ok || len(list) > maxTokens {
		return nil, false
	}
	var out []codec.CID
	for i := range list {
		c, isLink := list[i].(codec.CID)
		if !isLink {
			return nil, false
		}
		out = append(out, c)
	}
	return out, true
}

// signed is the text that is signed: header and payload of a JWT.
func (t *Token) signed() ([]byte, error) {
	var buf [1024]byte
	payload, err := t.payload(buf[:0])
	if err != nil {
		return nil, malformed(err)
	}
	size := base64.RawURLEncoding.EncodedLen(len(payload))
	out := make([]byte, 0, len(jwtHeader)*4/3+2+size)
	out = base64.RawURLEncoding.AppendEncode(out, []byte(jwtHeader))
	return base64.RawURLEncoding.AppendEncode(append(out, '.'), payload), nil
}

// payload writes the members in the order of their names.
func (t *Token) payload(b []byte) ([]byte, error) {
	att := make([]any, len(t.Capabilities))
	for i, c := range t.Capabilities {
		v, err := c.value()
		if err != nil {
			return nil, err
		}
		att[i] = v
	}
	prf := make([]any, len(t.Proofs))
	for i, c := range t.Proofs {
		prf[i] = c.String()
	}
	var exp any
	if t.expires < never {
		exp = t.expires
	}
	m := codec.Map{{Key: "att", Value: att}, {Key: "aud", Value: string(t.Audience)}, {Key: "exp", Value: exp}}
	if len(t.facts) > 0 {
		m = append(m, codec.Entry{Key: "fct", Value: t.facts})
	}
	m = append(m, codec.Entry{Key: "iss", Value: string(t.Issuer)})
	if t.notBefore > 0 {
		m = append(m, codec.Entry{Key: "nbf", Value: t.notBefore})
	}
	if t.Nonce != "" {
		m = append(m, codec.Entry{Key: "nnc", Value: t.Nonce})
	}
	return codec.AppendJSON(b, append(m, codec.Entry{Key: "prf", Value: prf}))
}
