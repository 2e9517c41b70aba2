package vc

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/sha256"
	"math/big"
	"strings"

	"github.com/hearth-dmrv/hearth/internal/did"
)

// Purposes of proofs.
const (
	Assertion      = "assertionMethod"
	Authentication = "authentication"
)

// Method is a verification method: a key, its controller, and what it may prove.
// Nil Purposes means every purpose, as for did:key.
type Method struct {
	Controller string
	Key        crypto.PublicKey // ed25519.PublicKey or *ecdsa.PublicKey on P-256
	Purposes   []string
}

// Lookup finds a verification method that is not a did:key, without the network:
// those of this server's own host. false means that it is unknown.
type Lookup func(ctx context.Context, method string) (Method, bool, error)

// MethodOf is the verification method of a did:key.
func MethodOf(id did.DID) string {
	return string(id) + "#" + strings.TrimPrefix(string(id), "did:key:")
}

// resolve finds a verification method. The reasons are method_invalid and
// method_unknown.
func resolve(ctx context.Context, method string, lookup Lookup) (Method, error) {
	id, fragment, _ := strings.Cut(method, "#")
	if rest, ok := strings.CutPrefix(id, "did:key:"); ok {
		key, err := did.DID(id).PublicKey()
		if err != nil || fragment != rest {
			return Method{}, fail("/verificationMethod", "method_invalid", "This is not a did:key that can verify, with its key as the fragment.")
		}
		return Method{Controller: id, Key: key}, nil
	}
	if lookup != nil && did.Valid(id) {
		if m, ok, err := lookup(ctx, method); err != nil || ok {
			return m, err
		}
	}
	return Method{}, fail("/verificationMethod", "method_unknown", "The key of this verification method is not known here. Keys are found in did:key and on this server alone.")
}

// verifySignature checks a signature over data with the algorithm of the key.
func verifySignature(key crypto.PublicKey, data, signature []byte) bool {
	switch key := key.(type) {
	case ed25519.PublicKey:
		return len(signature) == ed25519.SignatureSize && ed25519.Verify(key, data, signature)
	case *ecdsa.PublicKey:
		if len(signature) != 64 {
			return false
		}
		sum := sha256.Sum256(data)
		return ecdsa.Verify(key, sum[:], new(big.Int).SetBytes(signature[:32]), new(big.Int).SetBytes(signature[32:]))
	}
	return false
}
