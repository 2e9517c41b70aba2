package did_test

import (
	"crypto/ed25519"
	"testing"

	"github.com/hearth-dmrv/hearth/internal/did"
)

// The first is of a seed of 32 zeros; the others are published examples of
// their kinds.
func TestKeyKind(t *testing.T) {
	t.Parallel()
	zero := ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize)).Public().(ed25519.PublicKey)
	const zeroText = "z6MkiTBz1ymuepAQ4HEHYSF1H8quG5GLVVQR3djdX3mDooWp"
	if got := did.Multibase(zero); got != zeroText {
		t.Errorf("Multibase of the zero seed = %s, want %s", got, zeroText)
	}
	for _, tt := range []struct {
		did  did.DID
		kind did.KeyKind
	}{
		{"did:key:" + zeroText, did.Ed25519Key},
		{"did:key:z6MkhaXgBZDvotDkL5257faiztiGiC2QtKLGpbnnEGta2doK", did.Ed25519Key},
		{"did:key:z6LSeu9HkTHSfLLeUs2nnzUSNedgDUevfNQgQjQC23ZCit6F", did.X25519Key},
		{"did:key:zQ3shokFTS3brHcDQrn82RUDfCZESWL1ZdCEJwekUDPQiYBme", did.Secp256k1Key},
		{"did:key:zDnaerDaTF5BXEavCrfRZEk316dpbLsfPDZ3WJ5hRTPFU2169", did.P256Key},
		{"did:key:z", ""},
		{"did:key:z6Mk", ""},
		{"did:key:m6Mk", ""},
		{did.DID("did:key:z1" + zeroText[1:]), ""}, // a zero byte in front
		{"did:key:z0OIl", ""},
		{"did:ixo:x", ""},
	} {
		kind, text, err := tt.did.KeyKind()
		if kind != tt.kind || (err == nil) != (tt.kind != "") {
			t.Errorf("KeyKind(%s) = %q, %v, want %q", tt.did, kind, err, tt.kind)
		}
		if err == nil && "did:key:"+text != tt.did.String() {
			t.Errorf("multibase of %s = %s", tt.did, text)
		}
	}
}

func TestEntityID(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		did did.DID
		ok  bool
	}{
		{did.NewEntity(), true},
		{"did:ixo:entity:0123456789abcdef0123456789abcdef", true},
		{"did:ixo:entity:0123456789ABCDEF0123456789ABCDEF", false},
		{"did:ixo:entity:0123456789abcdef0123456789abcde", false},
		{"did:ixo:entity:0123456789abcdef0123456789abcdeg", false},
		{"did:ixo:household:0123456789abcdef0123456789abcdef", false},
		{"did:ixo:entity/0123456789abcdef0123456789abcdef", false},
	} {
		if _, ok := tt.did.EntityID(); ok != tt.ok {
			t.Errorf("EntityID(%s) = %v, want %v", tt.did, ok, tt.ok)
		}
	}
}
