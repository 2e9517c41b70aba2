package did_test

import (
	"crypto/ed25519"
	"encoding/hex"
	"strings"
	"testing"
	"time"

	"github.com/hearth-dmrv/hearth/internal/did"
)

func TestParse(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, in string
		ok       bool
	}{
		{"entity", "did:ixo:entity:0123456789abcdef0123456789abcdef", true},
		{"slash", "did:ixo:household/123", true},
		{"protocol", "did:ixo:protocol/template", true},
		{"web with port", "did:web:example.org%3A3000:user:alice", true},
		{"key", "did:key:z6MkhaXgBZDvotDkL5257faiztiGiC2QtKLGpbnnEGta2doK", true},
		{"empty", "", false},
		{"no id", "did:ixo:", false},
		{"no method", "did::x", false},
		{"upper-case method", "did:IXO:x", false},
		{"fragment", "did:ixo:x#data", false},
		{"query", "did:ixo:x?y", false},
		{"dot segment", "did:ixo:x/../y", false},
		{"empty segment", "did:ixo:x//y", false},
		{"ends with colon", "did:ixo:x:", false},
		{"space", "did:ixo:x y", false},
		{"broken escape", "did:ixo:x%2", false},
		{"control", "did:ixo:x\n", false},
		{"not ASCII", "did:ixo:ñ", false},
		{"long", "did:ixo:" + strings.Repeat("a", 600), false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := did.Parse(tt.in)
			if (err == nil) != tt.ok {
				t.Errorf("Parse(%q) = %v, want ok %v", tt.in, err, tt.ok)
			}
			if err == nil && got.String() != tt.in {
				t.Errorf("Parse(%q) = %q", tt.in, got)
			}
		})
	}
}

// The vector is the did:key of RFC 8032 test 1's public key.
func TestKeyVector(t *testing.T) {
	t.Parallel()
	raw, err := hex.DecodeString("d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a")
	if err != nil {
		t.Fatal(err)
	}
	const want = "did:key:z6MktwupdmLXVVqTzCw4i46r4uGyosGXRnR3XjN4Zq7oMMsw"
	got := did.FromEd25519(ed25519.PublicKey(raw))
	if got != want {
		t.Errorf("FromEd25519() = %s, want %s", got, want)
	}
	back, err := got.Ed25519()
	if err != nil || !back.Equal(ed25519.PublicKey(raw)) {
		t.Errorf("Ed25519() = %x, %v", back, err)
	}
}

func TestEd25519RefusesOtherKeys(t *testing.T) {
	t.Parallel()
	for _, in := range []did.DID{"did:ixo:x", "did:key:z", "did:key:z0OIl", "did:key:z6Mk", "did:key:zQ3shokFTS3brHcDQrn82RUDfCZESWL1ZdCEJwekUDPQiYBme"} {
		if _, err := in.Ed25519(); err == nil {
			t.Errorf("Ed25519(%s) took it", in)
		}
	}
}

func TestNewEntityParses(t *testing.T) {
	t.Parallel()
	a, b := did.NewEntity(), did.NewEntity()
	if a == b {
		t.Error("two entities share a DID")
	}
	if _, err := did.Parse(a.String()); err != nil || a.Method() != "ixo" {
		t.Errorf("Parse(%s) = %v, method %s", a, err, a.Method())
	}
}

func FuzzParse(f *testing.F) {
	f.Add("did:ixo:household/123")
	f.Add("did:key:z6MktwupdmLXVVqTzCw4i46r4uGyosGXRnR3XjN4Zq7oMMsw")
	f.Fuzz(func(t *testing.T, s string) {
		d, err := did.Parse(s)
		if err != nil {
			return
		}
		if key, err := d.Ed25519(); err == nil && did.FromEd25519(key) != d {
			t.Errorf("%q does not round-trip", s)
		}
	})
}

func TestMinted(t *testing.T) {
	t.Parallel()
	before := time.Now().UnixMilli()
	a, b := did.NewEntity(), did.NewEntity()
	at, ok := a.Minted()
	if !ok || at < before || at > time.Now().UnixMilli() {
		t.Errorf("Minted(%s) = %d, %t; want a time since %d", a, at, ok, before)
	}
	if a == b || len(a) != len("did:ixo:entity:")+32 {
		t.Errorf("NewEntity() = %s, then %s", a, b)
	}
	for _, other := range []did.DID{"did:ixo:entity:123", "did:ixo:household/123", "did:ixo:entity:zzzzzzzzzzzz00000000000000000000"} {
		if _, ok := other.Minted(); ok {
			t.Errorf("Minted(%s) = true", other)
		}
	}
}

func TestValid(t *testing.T) {
	t.Parallel()
	for s, want := range map[string]bool{"did:ixo:household/123": true, "did:ixo:": false, "": false} {
		if got := did.Valid(s); got != want {
			t.Errorf("Valid(%q) = %v, want %v", s, got, want)
		}
	}
}
