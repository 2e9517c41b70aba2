package vc_test

import (
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/hearth-dmrv/hearth/internal/vc"
)

// FuzzVerify holds that no document makes verification panic, and that none passes
// which nobody here has signed.
func FuzzVerify(f *testing.F) {
	issuer, s := person("issuer")
	good := signed(f, s, credential(issuer), vc.Proof{Suite: vc.RDFC})
	f.Add([]byte(raw(f, good)))
	f.Add([]byte(raw(f, signed(f, s, credential(issuer), vc.Proof{}))))
	f.Add([]byte(raw(f, with(good, object{"@context": []any{vc.ContextV2, object{"x": object{"@id": "https://example.org/x", "@container": "@set"}}}}))))
	f.Add([]byte(`{"@context":["https://www.w3.org/ns/credentials/v2"],"type":"EnvelopedVerifiableCredential","id":"data:application/vc+jwt,e30.e30.AA"}`))
	want := raw(f, object{"s": good["credentialSubject"], "i": good["issuer"], "d": good["validFrom"]})
	f.Fuzz(func(t *testing.T, in []byte) {
		r := verifier().Credential(t.Context(), jsontext.Value(in), vc.Options{})
		verifier().Presentation(t.Context(), jsontext.Value(in), vc.Options{})
		vc.Check(jsontext.Value(in))
		if !r.Verified() {
			return
		}
		got := read(t, r.Document)
		if have := raw(t, object{"s": got["credentialSubject"], "i": got["issuer"], "d": got["validFrom"]}); string(have) != string(want) && r.Issuer == issuer {
			t.Errorf("nobody signed %s", in)
		}
	})
}

// FuzzStatusList holds that what is read is written back as the same list.
func FuzzStatusList(f *testing.F) {
	text, err := vc.NewStatusList(0).Encode()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text)
	f.Fuzz(func(t *testing.T, in string) {
		l, err := vc.DecodeStatusList(in)
		if err != nil {
			return
		}
		again, err := l.Encode()
		if err != nil {
			t.Fatal(err)
		}
		if back, err := vc.DecodeStatusList(again); err != nil || back.Len() != l.Len() {
			t.Errorf("%d places became %v, %v", l.Len(), back, err)
		}
	})
}
