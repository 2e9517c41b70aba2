package vc

import (
	"crypto/ed25519"
	"encoding/hex"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/hearth-dmrv/hearth/internal/did"
)

// golden reads one of the test vectors of the W3C (vc-di-eddsa, TestVectors).
func golden(t testing.TB, name string) jsontext.Value {
	t.Helper()
	b, err := os.ReadFile("testdata/eddsa/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// goldenSigner has the key of the vectors.
func goldenSigner(t testing.TB) Signer {
	t.Helper()
	var pair struct{ PublicKeyMultibase, PrivateKeyMultibase string }
	if err := json.Unmarshal(golden(t, "keyPair.json"), &pair, json.MatchCaseInsensitiveNames(true)); err != nil {
		t.Fatal(err)
	}
	raw, err := did.DecodeMultibase(pair.PrivateKeyMultibase)
	if err != nil || len(raw) != 34 {
		t.Fatalf("private key: %d bytes, %v", len(raw), err)
	}
	return Signer{Key: ed25519.NewKeyFromSeed(raw[2:]), Method: "did:key:" + pair.PublicKeyMultibase + "#" + pair.PublicKeyMultibase}
}

func memberOf(t testing.TB, doc jsontext.Value, name string) map[string]any {
	t.Helper()
	var all map[string]any
	if err := json.Unmarshal(doc, &all); err != nil {
		t.Fatal(err)
	}
	m, ok := all[name].(map[string]any)
	if !ok {
		t.Fatalf("no %s in %s", name, doc)
	}
	return m
}

func TestSignAsW3C(t *testing.T) {
	t.Parallel()
	s := goldenSigner(t)
	for suite, file := range map[string]string{JCS: "signedJCS.json", RDFC: "signedDataInt.json"} {
		got, err := s.Sign(golden(t, "unsigned.json"), Proof{Suite: suite, Created: time.Date(2023, 2, 24, 23, 36, 38, 0, time.UTC)})
		if err != nil {
			t.Fatalf("%s: %v", suite, err)
		}
		if !sameJSON(memberOf(t, got, "proof"), memberOf(t, golden(t, file), "proof")) {
			t.Errorf("%s: proof %v\nwant %v", suite, memberOf(t, got, "proof"), memberOf(t, golden(t, file), "proof"))
		}
	}
}

func TestCanonicalFormsAsW3C(t *testing.T) {
	t.Parallel()
	s, doc := goldenSigner(t), golden(t, "unsigned.json")
	plain, err := canonical(doc)
	if err != nil || string(plain) != string(golden(t, "canonDocJCS.txt")) {
		t.Errorf("document: %v\n%s", err, plain)
	}
	p := Proof{Suite: JCS, Purpose: Assertion, Created: time.Date(2023, 2, 24, 23, 36, 38, 0, time.UTC)}
	config, err := s.config(plain, p)
	if err != nil || string(config) != string(golden(t, "proofCanonJCS.txt")) {
		t.Errorf("proof: %v\n%s", err, config)
	}
	again, err := canonical(config)
	if err != nil || string(again) != string(config) {
		t.Errorf("the proof is not in canonical form: %s", config)
	}
	if got := hex.EncodeToString(hashes(config, plain)); got != strings.TrimSpace(string(golden(t, "combinedHashJCS.txt"))) {
		t.Errorf("hashes %s", got)
	}
	p.Suite = RDFC
	config, err = s.config(plain, p)
	if err != nil {
		t.Fatal(err)
	}
	for raw, file := range map[string]string{string(plain): "canonDocDataInt.txt", string(config): "proofCanonDataInt.txt"} {
		var m map[string]any
		if err := json.Unmarshal([]byte(raw), &m); err != nil {
			t.Fatal(err)
		}
		if got, err := normalise(m, newBudget()); err != nil || got != string(golden(t, file)) {
			t.Errorf("%s: %v\n%s", file, err, got)
		}
	}
	data, err := rdfcData(plain, config, newBudget())
	if got := hex.EncodeToString(data); err != nil || got != strings.TrimSpace(string(golden(t, "combinedHashDataInt.txt"))) {
		t.Errorf("hashes %s, %v", got, err)
	}
}

// The vectors name an issuer whose key nobody can find here, so their proofs are
// good and the documents are not verified for that reason alone.
func TestVerifyVectorsOfW3C(t *testing.T) {
	t.Parallel()
	v := &Verifier{}
	for _, file := range []string{"signedJCS.json", "signedDataInt.json", "signedProofSet2.json", "signedProofChain1.json", "signedProofChain2.json"} {
		r := v.Credential(t.Context(), golden(t, file), Options{})
		if len(r.Reasons) != 1 || r.Reasons[0].Code != "issuer_mismatch" {
			t.Errorf("%s: %+v, want issuer_mismatch alone", file, r.Reasons)
		}
		for name, change := range map[string][2]string{
			"another subject": {"did:example:abcdefgh", "did:example:abcdefgi"},
			"another date":    {"2023-01-01T00:00:00Z", "2023-01-01T00:00:01Z"},
			"another proof":   {`"created": "2023-02-24T23:36:38Z"`, `"created": "2023-02-24T23:36:39Z"`},
		} {
			changed := strings.Replace(string(golden(t, file)), change[0], change[1], 1)
			r := v.Credential(t.Context(), jsontext.Value(changed), Options{})
			if len(r.Reasons) == 0 || r.Reasons[0].Code != "signature_invalid" {
				t.Errorf("%s with %s: %+v, want signature_invalid", file, name, r.Reasons)
			}
		}
	}
}

// legacyCredential is a VC 1.1 document that somebody else's software has signed;
// its second context stands in it here with the terms it uses.
const legacyCredential = `{"@context":["https://www.w3.org/2018/credentials/v1",{"UniversityDegreeCredential":"https://example.org/examples#UniversityDegreeCredential",
"BachelorDegree":"https://example.org/examples#BachelorDegree","degree":"https://example.org/examples#degree","name":{"@id":"http://schema.org/name","@type":"http://www.w3.org/1999/02/22-rdf-syntax-ns#HTML"}}],
"type":["VerifiableCredential","UniversityDegreeCredential"],"issuer":"did:key:z6MkvePyWAApUVeDboZhNbckaWHnqtD6pCETd6xoqGbcpEBV","issuanceDate":"2017-10-22T12:23:48Z",
"credentialSubject":{"degree":{"type":"BachelorDegree","name":"Bachelor of Science and Arts"}},
"proof":{"verificationMethod":"did:key:z6MkvePyWAApUVeDboZhNbckaWHnqtD6pCETd6xoqGbcpEBV#z6MkvePyWAApUVeDboZhNbckaWHnqtD6pCETd6xoqGbcpEBV","type":"Ed25519Signature2018",
"created":"2022-03-28T15:54:59Z","proofPurpose":"assertionMethod",
"jws":"eyJhbGciOiJFZERTQSIsImI2NCI6ZmFsc2UsImNyaXQiOlsiYjY0Il19..b0MD_c-8EyGATDuCda1A72qbjD3o8MfiipicmhnYmcdqoIyZzE9MlZ9FZn5sxsIJ3LPqPQj7y1jLlINwCwNSDg"}}`

func TestVerifyLegacy(t *testing.T) {
	t.Parallel()
	v := &Verifier{}
	r := v.Credential(t.Context(), jsontext.Value(legacyCredential), Options{})
	if r.Form != "legacy" || !r.Verified() {
		t.Errorf("%s %+v", r.Form, r.Reasons)
	}
	changed := strings.Replace(legacyCredential, "Science and Arts", "Arts", 1)
	if r := v.Credential(t.Context(), jsontext.Value(changed), Options{}); len(r.Reasons) == 0 || r.Reasons[0].Code != "signature_invalid" {
		t.Errorf("changed: %+v, want signature_invalid", r.Reasons)
	}
}
