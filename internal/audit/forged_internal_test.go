package audit

import (
	"bytes"
	"crypto/ed25519"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/hearth-dmrv/hearth/internal/did"
	"github.com/hearth-dmrv/hearth/internal/vc"
)

// signer is somebody with a did:key.
type signer struct {
	vc.Signer
	did string
}

func newSigner(seed byte) signer {
	key := ed25519.NewKeyFromSeed(bytes.Repeat([]byte{seed}, ed25519.SeedSize))
	id := string(did.FromEd25519(key.Public().(ed25519.PublicKey)))
	return signer{vc.Signer{Key: key, Method: id + "#" + strings.TrimPrefix(id, "did:key:")}, id}
}

// pack makes a bundle of a manifest.
func pack(t *testing.T, manifest jsontext.Value) []byte {
	t.Helper()
	var out bytes.Buffer
	w := newWriter(&out, "", "")
	if err := w.bytes(ManifestName, manifest); err != nil {
		t.Fatal(err)
	}
	if err := w.zip.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// TestForged has somebody make a bundle in the name of an issuer whose key they lack.
func TestForged(t *testing.T) {
	t.Parallel()
	issuer, thief := newSigner(1), newSigner(2)
	written := func(name string) jsontext.Value {
		t.Helper()
		c := contents{ID: "urn:uuid:0e0e6b2c-8ba2-4a47-8d7f-0a4d5c3f7d11", Format: Format, Project: "did:ixo:entity:1"}
		doc, err := c.document(name, time.Date(2026, 11, 1, 8, 0, 0, 0, time.UTC))
		if err != nil {
			t.Fatal(err)
		}
		return doc
	}
	signed := func(s vc.Signer, doc jsontext.Value) jsontext.Value {
		t.Helper()
		out, err := s.Sign(doc, vc.Proof{Created: time.Date(2026, 11, 1, 8, 0, 0, 0, time.UTC)})
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	with := func(doc jsontext.Value, more map[string]any) jsontext.Value {
		t.Helper()
		all := map[string]any{}
		if err := json.Unmarshal(doc, &all); err != nil {
			t.Fatal(err)
		}
		for name, v := range more {
			all[name] = v
		}
		out, err := json.Marshal(all)
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	enveloped, err := thief.Envelop(written(thief.did))
	if err != nil {
		t.Fatal(err)
	}
	var envelope map[string]any
	if err := json.Unmarshal(enveloped, &envelope); err != nil {
		t.Fatal(err)
	}
	good := signed(issuer.Signer, written(issuer.did))
	var own map[string]any
	if err := json.Unmarshal(good, &own); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name     string
		manifest jsontext.Value
		good     bool
	}{
		{"as it was signed", good, true},
		{"an envelope of the thief in it", with(good, map[string]any{"id": envelope["id"], "type": []any{envelope["type"]}}), false},
		{"the thief's key under the issuer's name", signed(vc.Signer{Key: thief.Key, Method: issuer.did + "#" + strings.TrimPrefix(thief.did, "did:key:")}, written(issuer.did)), false},
		{"signed by the thief", signed(thief.Signer, written(issuer.did)), false},
		{"a context appended", with(good, map[string]any{"@context": append(own["@context"].([]any), map[string]any{"zzz": "urn:x:z"})}), false},
	} {
		text := pack(t, tt.manifest)
		r, err := Verify(t.Context(), bytes.NewReader(text), int64(len(text)), issuer.did)
		if err != nil {
			if tt.good {
				t.Errorf("%s: %v", tt.name, err)
			}
			continue
		}
		if got := len(r.Checks[0].Wrong) == 0; got != tt.good {
			t.Errorf("%s: signature good = %v, %q", tt.name, got, r.Checks[0].Wrong)
		}
	}
}

// TestChangedByte changes each byte of a bundle in turn: of its files, of the headers
// around them, and of what is after them.
func TestChangedByte(t *testing.T) {
	t.Parallel()
	issuer := newSigner(1)
	doc, err := (&contents{ID: "urn:uuid:0e0e6b2c-8ba2-4a47-8d7f-0a4d5c3f7d11", Format: Format, Project: "did:ixo:entity:1"}).document(issuer.did, time.Date(2026, 11, 1, 8, 0, 0, 0, time.UTC))
	if err != nil {
		t.Fatal(err)
	}
	if doc, err = issuer.Sign(doc, vc.Proof{Created: time.Date(2026, 11, 1, 8, 0, 0, 0, time.UTC)}); err != nil {
		t.Fatal(err)
	}
	good := pack(t, doc)
	holds := func(text []byte) bool {
		r, err := Verify(t.Context(), bytes.NewReader(text), int64(len(text)), issuer.did)
		return err == nil && !slices.ContainsFunc(r.Checks[:3], func(c Check) bool { return len(c.Wrong) > 0 })
	}
	if !holds(good) {
		t.Fatal("the bundle does not hold as it was made")
	}
	// The first bit of what is packed says whether a block of it is the last: the next one,
	// which is empty, is left out then, and the contents are the same.
	last := 30 + len(ManifestName) + 9
	for i := range good {
		changed := bytes.Clone(good)
		changed[i] ^= 1
		if i != last && holds(changed) {
			t.Errorf("the bundle holds with byte %d of %d changed", i, len(good))
		}
	}
	for name, text := range map[string][]byte{"before": append([]byte("more"), good...), "after": append(bytes.Clone(good), 0)} {
		if holds(text) {
			t.Errorf("the bundle holds with bytes %s it", name)
		}
	}
}
