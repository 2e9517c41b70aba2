// Package did knows the syntax of W3C Decentralized Identifiers in every form
// this system meets, and makes the ones it mints. It resolves nothing.
package did

import (
	"crypto/ed25519"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"strings"
	"time"
)

// DID is a decentralized identifier: "did:<method>:<id>", without a fragment.
// Ids with slashes, such as did:ixo:household/123, are DIDs here too.
type DID string

// MaxLength limits the bytes of a DID: far above any real one, and it keeps
// index keys small.
const MaxLength = 512

// ErrSyntax means that a text is not a DID.
var ErrSyntax = errors.New("not a DID")

// Parse checks the syntax of s.
func Parse(s string) (DID, error) {
	rest, ok := strings.CutPrefix(s, "did:")
	method, id, found := strings.Cut(rest, ":")
	if !ok || !found || method == "" || id == "" || len(s) > MaxLength {
		return "", ErrSyntax
	}
	for _, c := range method {
		if (c < 'a' || c > 'z') && (c < '0' || c > '9') {
			return "", ErrSyntax
		}
	}
	if !idSyntax(id) {
		return "", ErrSyntax
	}
	return DID(s), nil
}

// Valid reports whether s is a DID.
func Valid(s string) bool {
	_, err := Parse(s)
	return err == nil
}

// idSyntax takes the characters of the W3C grammar and the slash of the
// documented forms. Empty segments and dot segments would make two spellings
// of one path, so they are refused.
func idSyntax(id string) bool {
	if strings.HasSuffix(id, ":") {
		return false
	}
	for i := 0; i < len(id); i++ {
		switch c := id[i]; {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9':
		case c == '.', c == '-', c == '_', c == ':', c == '/':
		case c == '%' && i+2 < len(id) && isHex(id[i+1]) && isHex(id[i+2]):
			i += 2
		default:
			return false
		}
	}
	for segment := range strings.SplitSeq(id, "/") {
		if segment == "" || segment == "." || segment == ".." {
			return false
		}
	}
	return true
}

func isHex(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c && c <= 'f' || 'A' <= c && c <= 'F'
}

// String is the DID as text.
func (d DID) String() string { return string(d) }

// Method is the part after "did:".
func (d DID) Method() string {
	rest := strings.TrimPrefix(string(d), "did:")
	method, _, _ := strings.Cut(rest, ":")
	return method
}

// NewEntity mints did:ixo:entity:<32 hex>. The first 12 digits are the time in
// milliseconds, so that new ones are adjacent in an index; the other 80 bits
// are random.
func NewEntity() DID {
	b := make([]byte, 16)
	_, _ = rand.Read(b[6:]) // never fails: the program ends instead
	ms := time.Now().UnixMilli()
	for i := range 6 {
		b[i] = byte(ms >> (8 * (5 - i)))
	}
	return DID(minted + hex.EncodeToString(b))
}

// minted begins every DID that NewEntity makes.
const minted = "did:ixo:entity:"

// EntityID is the last part of a DID in the minted form, 32 hexadecimal digits;
// false for any other.
func (d DID) EntityID() (string, bool) {
	id, ok := strings.CutPrefix(string(d), minted)
	return id, ok && len(id) == 32 && strings.Trim(id, "0123456789abcdef") == ""
}

// ed25519Prefix is the multicodec of an Ed25519 public key.
const ed25519Prefix = "\xed\x01"

// FromEd25519 is the did:key of a public key.
func FromEd25519(key ed25519.PublicKey) DID {
	return DID("did:key:z" + base58(append([]byte(ed25519Prefix), key...)))
}

// Ed25519 is the public key inside a did:key. It returns ErrSyntax for any
// other DID and any other kind of key.
func (d DID) Ed25519() (ed25519.PublicKey, error) {
	text, ok := strings.CutPrefix(string(d), "did:key:z")
	if !ok {
		return nil, ErrSyntax
	}
	raw, err := unbase58(text)
	if err != nil || len(raw) != 2+ed25519.PublicKeySize || string(raw[:2]) != ed25519Prefix {
		return nil, ErrSyntax
	}
	return ed25519.PublicKey(raw[2:]), nil
}

// Minted is the time inside a DID that NewEntity may have made, in
// milliseconds. It returns false for any other form; for DIDs that others made
// in this form the time means nothing.
func (d DID) Minted() (ms int64, ok bool) {
	digits, ok := strings.CutPrefix(string(d), minted)
	if !ok || len(digits) != 32 {
		return 0, false
	}
	b, err := hex.DecodeString(digits[:12])
	if err != nil {
		return 0, false
	}
	for _, c := range b {
		ms = ms<<8 | int64(c)
	}
	return ms, true
}
