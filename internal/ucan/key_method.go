package ucan

import (
	"crypto/ed25519"
	"encoding/base64"
	"encoding/hex"
	"strings"

	"github.com/hearth-dmrv/hearth/internal/did"
)

// KeyMethod is a verification method of a DID document, as far as it can hold an
// Ed25519 key.
type KeyMethod struct {
	ID                 string `json:"id"`
	Type               string `json:"type"`
	PublicKeyMultibase string `json:"publicKeyMultibase"`
	PublicKeyHex       string `json:"publicKeyHex"`
	PublicKeyBase58    string `json:"publicKeyBase58"`
	PublicKeyJwk       struct {
		Crv string `json:"crv"`
		X   string `json:"x"`
	} `json:"publicKeyJwk"`
}

// KeysOf returns the Ed25519 keys of a document that sign: methods whose type
// says so, that are JSON web keys, or that are called signing keys. It ignores
// everything else, because one odd method does not make a DID useless.
func KeysOf(methods []KeyMethod) []ed25519.PublicKey {
	var out []ed25519.PublicKey
	for _, m := range methods {
		if !strings.Contains(m.Type, "Ed25519") && m.Type != "JsonWebKey2020" && !strings.Contains(m.ID, "signing") {
			continue
		}
		if key := m.key(); len(key) == ed25519.PublicKeySize {
			out = append(out, key)
		}
	}
	return out
}

func (m KeyMethod) key() ed25519.PublicKey {
	switch {
	case m.PublicKeyMultibase != "":
		key, _ := did.DID("did:key:" + m.PublicKeyMultibase).Ed25519()
		return key
	case m.PublicKeyHex != "":
		key, _ := hex.DecodeString(m.PublicKeyHex)
		return key
	case m.PublicKeyBase58 != "":
		key, _ := did.DecodeMultibase("z" + m.PublicKeyBase58)
		return key
	case m.PublicKeyJwk.Crv == "Ed25519":
		key, _ := base64.RawURLEncoding.DecodeString(m.PublicKeyJwk.X)
		return key
	}
	return nil
}
