package vc_test

import (
	"crypto/ed25519"
	"crypto/sha256"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/hearth-dmrv/hearth/internal/did"
	"github.com/hearth-dmrv/hearth/internal/vc"
)

// now is the time of these tests.
var now = time.Date(2026, 11, 18, 12, 0, 0, 0, time.UTC)

// object is JSON.
type object = map[string]any

// person makes a key by name, and its DID.
func person(name string) (string, vc.Signer) {
	seed := sha256.Sum256([]byte(name))
	key := ed25519.NewKeyFromSeed(seed[:])
	public, _ := key.Public().(ed25519.PublicKey)
	id := did.FromEd25519(public)
	return id.String(), vc.Signer{Key: key, Method: vc.MethodOf(id)}
}

// credential is a plain one of the issuer.
func credential(issuer string) object {
	return object{
		"@context": []any{vc.ContextV2}, "type": []any{"VerifiableCredential"}, "issuer": issuer,
		"validFrom": "2026-01-01T00:00:00Z", "credentialSubject": object{"id": "did:example:subject"},
	}
}

// with is a copy of o with some members set; nil takes one away.
func with(o object, members object) object {
	out := object{}
	for k, v := range o {
		out[k] = v
	}
	for k, v := range members {
		if v == nil {
			delete(out, k)
		} else {
			out[k] = v
		}
	}
	return out
}

func raw(t testing.TB, v any) jsontext.Value {
	t.Helper()
	b, err := json.Marshal(v, json.Deterministic(true))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func read(t testing.TB, v jsontext.Value) object {
	t.Helper()
	var o object
	if err := json.Unmarshal(v, &o); err != nil {
		t.Fatal(err)
	}
	return o
}

func signed(t testing.TB, s vc.Signer, doc object, p vc.Proof) object {
	t.Helper()
	if p.Created.IsZero() {
		p.Created = now
	}
	out, err := s.Sign(raw(t, doc), p)
	if err != nil {
		t.Fatal(err)
	}
	return read(t, out)
}

func verifier() *vc.Verifier { return &vc.Verifier{Now: func() time.Time { return now }} }

// wantCodes compares reasons by their codes.
func wantCodes(t testing.TB, name string, got []vc.Reason, want ...string) {
	t.Helper()
	var codes []string
	for _, r := range got {
		codes = append(codes, r.Code)
	}
	if len(codes) != len(want) {
		t.Errorf("%s: %+v, want %v", name, got, want)
		return
	}
	for i := range want {
		if codes[i] != want[i] {
			t.Errorf("%s: %+v, want %v", name, got, want)
			return
		}
	}
}
