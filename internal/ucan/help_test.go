package ucan_test

import (
	"bytes"
	"crypto/ed25519"
	"encoding/base64"
	"strings"
	"testing"

	"github.com/hearth-dmrv/hearth/internal/did"
	"github.com/hearth-dmrv/hearth/internal/ucan"
	"github.com/hearth-dmrv/hearth/internal/ucan/codec"
)

// seedKey is the key whose seed is 32 times b, as in the generator.
func seedKey(b byte) ed25519.PrivateKey {
	return ed25519.NewKeyFromSeed(bytes.Repeat([]byte{b}, ed25519.SeedSize))
}

func signer(t testing.TB, id did.DID, seed byte) *ucan.Signer {
	t.Helper()
	s, err := ucan.NewSigner(id, seedKey(seed))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func mint(t testing.TB, s *ucan.Signer, d ucan.Draft) *ucan.Token {
	t.Helper()
	token, err := s.Mint(d)
	if err != nil {
		t.Fatalf("mint: %v", err)
	}
	return token
}

// canonical is the standard padded spelling of a base64 text.
func canonical(text string) string {
	text = strings.NewReplacer("-", "+", "_", "/", "\r", "", "\n", "", "=", "").Replace(text)
	raw, _ := base64.RawStdEncoding.DecodeString(text)
	return base64.StdEncoding.EncodeToString(raw)
}

// signerOf finds the signer of a golden token.
func signerOf(t *testing.T, g *golden, keys map[string]ed25519.PrivateKey, token *ucan.Token) *ucan.Signer {
	t.Helper()
	id := token.Issuer
	key, ok := keys[string(id)]
	if !ok {
		key = keys[string(g.Resolve[id][0])]
	}
	s, err := ucan.NewSigner(id, key)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// draftOf is the draft a token was minted from.
func draftOf(t *testing.T, token *ucan.Token) ucan.Draft {
	t.Helper()
	d := ucan.Draft{
		Audience: token.Audience, Capabilities: token.Capabilities, Expires: token.Expires(),
		NotBefore: token.NotBefore(), Nonce: token.Nonce, Facts: token.Facts(),
	}
	for _, c := range token.Proofs {
		p, err := token.Proof(c)
		if err != nil {
			t.Fatal(err)
		}
		d.Proofs = append(d.Proofs, p)
	}
	return d
}

// pack puts one block into an archive and gives its text.
func pack(t testing.TB, block []byte, jwt bool) string {
	t.Helper()
	code := uint64(codec.DagCBOR)
	if jwt {
		code = codec.Raw
	}
	leaf := codec.Block{CID: codec.Sum(code, block), Data: block}
	root, err := codec.EncodeCBOR(codec.Map{{Key: "ucan@0.9.1", Value: leaf.CID}})
	if err != nil {
		t.Fatal(err)
	}
	a := codec.Archive{Root: codec.Sum(codec.DagCBOR, root), Blocks: []codec.Block{leaf, {CID: codec.Sum(codec.DagCBOR, root), Data: root}}}
	raw, err := a.Encode()
	if err != nil {
		t.Fatal(err)
	}
	return base64.StdEncoding.EncodeToString(raw)
}
