package did

import (
	"crypto/ed25519"
	"strings"
)

// KeyKind is what a key inside a did:key is for.
type KeyKind string

// The kinds of keys that are told apart.
const (
	Ed25519Key   KeyKind = "Ed25519"   // signs
	Secp256k1Key KeyKind = "secp256k1" // signs
	P256Key      KeyKind = "P-256"     // signs
	X25519Key    KeyKind = "X25519"    // agrees on keys, never signs
)

// codecs are the multicodec prefixes of keys and how long a key is. A point on
// a curve comes compressed: a byte that says which of two, then a coordinate.
var codecs = []struct {
	prefix string
	kind   KeyKind
	size   int
	point  bool
}{
	{ed25519Prefix, Ed25519Key, 32, false},
	{"\xec\x01", X25519Key, 32, false},
	{"\xe7\x01", Secp256k1Key, 33, true},
	{"\x80\x24", P256Key, 33, true},
}

// KeyKind tells what kind of key a did:key holds, and its multibase text. It
// returns ErrSyntax for any other DID, for kinds not known here, and for a
// second spelling of a key.
func (d DID) KeyKind() (kind KeyKind, multibase string, err error) {
	multibase, ok := strings.CutPrefix(string(d), "did:key:")
	if !ok || !strings.HasPrefix(multibase, "z") {
		return "", "", ErrSyntax
	}
	raw, err := unbase58(multibase[1:])
	if err != nil || base58(raw) != multibase[1:] {
		return "", "", ErrSyntax
	}
	for _, c := range codecs {
		key, ok := strings.CutPrefix(string(raw), c.prefix)
		if ok && len(key) == c.size && (!c.point || key[0] == 2 || key[0] == 3) {
			return c.kind, multibase, nil
		}
	}
	return "", "", ErrSyntax
}

// Multibase is a public key as DID documents show it.
func Multibase(key ed25519.PublicKey) string {
	return strings.TrimPrefix(string(FromEd25519(key)), "did:key:")
}
