package did

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"strings"
)

// KeyKind is the kind of key in a did:key.
type KeyKind string

// The known kinds of keys.
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

// KeyKind returns the kind of key in a did:key, and its multibase text. It
// returns ErrSyntax for any other DID, for unknown kinds, and for a
// non-canonical spelling of a key.
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

// Multibase is a public key in the notation of DID documents.
func Multibase(key ed25519.PublicKey) string {
	return strings.TrimPrefix(string(FromEd25519(key)), "did:key:")
}

// PublicKey is the key inside a did:key whose signatures can be checked here: an
// ed25519.PublicKey, or an *ecdsa.PublicKey on the curve P-256. It returns ErrSyntax
// for any other DID and any other kind of key.
func (d DID) PublicKey() (crypto.PublicKey, error) {
	kind, multibase, err := d.KeyKind()
	if err != nil {
		return nil, err
	}
	switch kind {
	case Ed25519Key:
		return d.Ed25519()
	case P256Key:
		raw, err := unbase58(multibase[1:])
		if err != nil {
			return nil, err
		}
		x, y := elliptic.UnmarshalCompressed(elliptic.P256(), raw[2:])
		if x == nil {
			return nil, ErrSyntax // not on the curve
		}
		point := append([]byte{4}, append(x.FillBytes(make([]byte, 32)), y.FillBytes(make([]byte, 32))...)...)
		return ecdsa.ParseUncompressedPublicKey(elliptic.P256(), point)
	}
	return nil, ErrSyntax
}
