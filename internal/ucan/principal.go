package ucan

import (
	"context"
	"crypto/ed25519"
	"crypto/sha256"
	"errors"
	"strings"

	"github.com/hearth-dmrv/hearth/internal/did"
)

// Prefixes of a principal's bytes: the multicodecs of an Ed25519 key and of a
// DID as text.
const (
	keyPrefix = "\xed\x01"
	didPrefix = "\x9d\x1a"
)

// ErrUnknownDID is what a Resolver returns for a DID that does not exist or has
// no Ed25519 key. Any other error means that the lookup failed.
var ErrUnknownDID = errors.New("unknown DID")

// Resolver knows the keys of DIDs other than did:key. A DID may have several;
// a signature by any of them counts.
type Resolver interface {
	Resolve(ctx context.Context, id did.DID) ([]ed25519.PublicKey, error)
}

// Static is a Resolver that knows a fixed table.
type Static map[did.DID][]ed25519.PublicKey

// Resolve looks id up in the table.
func (s Static) Resolve(_ context.Context, id did.DID) ([]ed25519.PublicKey, error) {
	keys, ok := s[id]
	if !ok {
		return nil, ErrUnknownDID
	}
	return keys, nil
}

// KeyFromMnemonic is the signing key of an oracle that is configured with a
// mnemonic: its seed is the SHA-256 of the text without surrounding blanks.
func KeyFromMnemonic(text string) ed25519.PrivateKey {
	seed := sha256.Sum256([]byte(strings.TrimSpace(text)))
	return ed25519.NewKeyFromSeed(seed[:])
}

// readPrincipal turns bytes into a DID and, of a did:key, its key. Keys of
// other kinds are refused, and so is a did:key as text, which would be a second
// spelling.
func readPrincipal(b []byte) (did.DID, ed25519.PublicKey, error) {
	text := string(b)
	if raw, ok := strings.CutPrefix(text, keyPrefix); ok && len(raw) == ed25519.PublicKeySize {
		key := ed25519.PublicKey(raw)
		return did.FromEd25519(key), key, nil
	}
	rest, ok := strings.CutPrefix(text, didPrefix)
	id, err := did.Parse("did:" + rest)
	if !ok || err != nil || id.Method() == "key" {
		return "", nil, refuse(Malformed, "principal is no DID with an Ed25519 key")
	}
	return id, nil, nil
}

// principalBytes is the opposite of readPrincipal.
func principalBytes(id did.DID) ([]byte, error) {
	if !did.Valid(string(id)) {
		return nil, refuse(Malformed, "%q is not a DID", string(id))
	}
	if id.Method() != "key" {
		return []byte(didPrefix + strings.TrimPrefix(string(id), "did:")), nil
	}
	key, err := id.Ed25519()
	if err != nil {
		return nil, refuse(Malformed, "%q holds no Ed25519 key", string(id))
	}
	return append([]byte(keyPrefix), key...), nil
}
