package vc_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/hearth-dmrv/hearth/internal/did"
	"github.com/hearth-dmrv/hearth/internal/vc"
)

func TestSignedVerifies(t *testing.T) {
	t.Parallel()
	issuer, s := person("issuer")
	for _, suite := range []string{vc.JCS, vc.RDFC} {
		doc := signed(t, s, credential(issuer), vc.Proof{Suite: suite})
		r := verifier().Credential(t.Context(), raw(t, doc), vc.Options{})
		if !r.Verified() || r.Issuer != issuer || r.Form != "data-integrity" || r.Test {
			t.Errorf("%s: %+v", suite, r)
		}
	}
	enveloped, err := s.Envelop(raw(t, credential(issuer)))
	if err != nil {
		t.Fatal(err)
	}
	if r := verifier().Credential(t.Context(), enveloped, vc.Options{}); !r.Verified() || r.Issuer != issuer || r.Form != "jose" {
		t.Errorf("envelope: %+v", r)
	}
}

// TestReasons changes a good credential in one way and wants the name of it.
func TestReasons(t *testing.T) {
	t.Parallel()
	issuer, s := person("issuer")
	other, thief := person("thief")
	for _, suite := range []string{vc.JCS, vc.RDFC} {
		good := signed(t, s, credential(issuer), vc.Proof{Suite: suite})
		proof, _ := good["proof"].(object)
		inProof := func(members object) object { return with(good, object{"proof": with(proof, members)}) }
		for name, tt := range map[string]struct {
			doc  object
			code string
		}{
			"another subject":        {with(good, object{"credentialSubject": object{"id": "did:example:other"}}), "signature_invalid"},
			"another issuer":         {with(good, object{"issuer": other}), "signature_invalid"},
			"a thief's own proof":    {signed(t, thief, credential(issuer), vc.Proof{Suite: suite}), "issuer_mismatch"},
			"no proof":               {with(good, object{"proof": nil}), "proof_missing"},
			"an empty set of proofs": {with(good, object{"proof": []any{}}), "proof_invalid"},
			"proof as text":          {with(good, object{"proof": "z1"}), "proof_invalid"},
			"type of proof":          {inProof(object{"type": "UnknownProof"}), "proof_type_unknown"},
			"no type of proof":       {inProof(object{"type": nil}), "proof_type_unknown"},
			"suite":                  {inProof(object{"cryptosuite": "unknown-2017"}), "cryptosuite_unknown"},
			"purpose":                {inProof(object{"proofPurpose": "authentication"}), "purpose_mismatch"},
			"no method":              {inProof(object{"verificationMethod": nil}), "required"},
			"method of nobody":       {inProof(object{"verificationMethod": "did:key:invalid"}), "method_invalid"},
			"method elsewhere":       {inProof(object{"verificationMethod": "did:web:example.org#key-1"}), "method_unknown"},
			"method of another key":  {inProof(object{"verificationMethod": thief.Method}), "signature_invalid"},
			"fragment of another":    {inProof(object{"verificationMethod": issuer + "#" + strings.TrimPrefix(other, "did:key:")}), "method_invalid"},
			"created later":          {inProof(object{"created": "2027-01-01T00:00:00Z"}), "not_yet_valid"},
			"created never":          {inProof(object{"created": "soon"}), "date_invalid"},
			"expired":                {inProof(object{"expires": "2026-11-18T11:00:00Z"}), "expired"},
			"value in another base":  {inProof(object{"proofValue": "uAAAA"}), "proof_invalid"},
			"value cut":              {inProof(object{"proofValue": "z5nmMBw2u9TGKd9NxxHJtyZKgjN2Eh"}), "signature_invalid"},
			"no value":               {inProof(object{"proofValue": nil}), "proof_invalid"},
			"id that is no URL":      {inProof(object{"id": "first"}), "not_a_url"},
			"previous that is not":   {inProof(object{"previousProof": "urn:uuid:1"}), "chain_invalid"},
			"previous that is 1":     {inProof(object{"previousProof": 1}), "chain_invalid"},
			"no context":             {with(good, object{"@context": nil}), "context_invalid"},
			"context out of order":   {with(good, object{"@context": []any{object{}, vc.ContextV2}}), "context_invalid"},
		} {
			r := verifier().Credential(t.Context(), raw(t, tt.doc), vc.Options{})
			wantCodes(t, suite+" "+name, r.Reasons, tt.code)
		}
	}
}

func TestProofInACircle(t *testing.T) {
	t.Parallel()
	issuer, s := person("issuer")
	good := signed(t, s, credential(issuer), vc.Proof{})
	proof, _ := good["proof"].(object)
	a := with(proof, object{"id": "urn:uuid:a", "previousProof": "urn:uuid:b"})
	b := with(proof, object{"id": "urn:uuid:b", "previousProof": []any{"urn:uuid:a"}})
	r := verifier().Credential(t.Context(), raw(t, with(good, object{"proof": []any{a, b}})), vc.Options{})
	wantCodes(t, "circle", r.Reasons, "chain_invalid")
}

// A property that nothing defines is not covered by a proof over RDF, so it is never
// accepted; a proof over JSON covers all.
func TestNothingUnsignedPasses(t *testing.T) {
	t.Parallel()
	issuer, s := person("issuer")
	good := signed(t, s, credential(issuer), vc.Proof{Suite: vc.RDFC})
	for name, tt := range map[string]struct {
		members object
		code    string
	}{
		"property":            {object{"amount": 5}, "data_loss"},
		"type":                {object{"type": []any{"VerifiableCredential", "Extra"}}, "data_loss"},
		"null":                {object{"name": []any{nil}}, "text_invalid"},
		"null below":          {object{"credentialSubject": object{"id": "did:example:subject", "x": []any{nil}}}, "data_loss"},
		"keyword":             {object{"@graph": []any{"x"}}, "json_ld"},
		"set":                 {object{"credentialSubject": object{"@set": []any{object{"id": "did:example:subject"}}, "id": "did:example:subject"}}, "json_ld"},
		"relative id":         {object{"termsOfUse": object{"id": "terms", "type": "https://example.org/T"}}, "not_a_url"},
		"direction":           {object{"name": object{"@value": "x", "@language": "en", "@direction": "ltr"}}, "direction_lost"},
		"an unknown context":  {object{"@context": []any{vc.ContextV2, "https://example.org/c"}}, "context_unknown"},
		"an index":            {object{"@context": []any{vc.ContextV2, object{"x": object{"@id": "https://example.org/x", "@container": "@index"}}}}, "context_refused"},
		"a nest":              {object{"@context": []any{vc.ContextV2, object{"x": "@nest"}}}, "context_refused"},
		"a scoped context":    {object{"@context": []any{vc.ContextV2, object{"x": object{"@id": "https://example.org/x", "@context": vc.ContextV2}}}}, "context_refused"},
		"an import":           {object{"@context": []any{vc.ContextV2, object{"@import": "https://example.org/c"}}}, "context_refused"},
		"a base":              {object{"@context": []any{vc.ContextV2, object{"@base": "https://example.org/"}}}, "context_refused"},
		"a redefined term":    {object{"@context": []any{vc.ContextV2, object{"VerifiableCredential": "https://example.org/i"}}}, "term_redefined"},
		"protected with text": {object{"@context": []any{vc.ContextV2, object{"@protected": "yes", "a": "https://example.org/a"}}}, "json_ld"},
	} {
		r := verifier().Credential(t.Context(), raw(t, with(good, tt.members)), vc.Options{})
		wantCodes(t, name, r.Reasons, tt.code)
	}
}

func TestLimits(t *testing.T) {
	t.Parallel()
	issuer, s := person("issuer")
	good := signed(t, s, credential(issuer), vc.Proof{Suite: vc.RDFC})
	deep := any("x")
	for range 40 {
		deep = []any{deep}
	}
	var contexts, clique, wide []any
	for range 60 {
		contexts = append(contexts, object{"@context": vc.ContextV2, "type": "https://example.org/T"})
	}
	terms := object{}
	for i := range 300 {
		terms["t"+strings.Repeat("x", i)] = "https://example.org/t"
	}
	for i := range 12 {
		node := object{"@id": "_:n" + string(rune('a'+i))}
		var all []any
		for j := range 12 {
			if j != i {
				all = append(all, object{"@id": "_:n" + string(rune('a'+j))})
			}
		}
		node["https://example.org/knows"] = all
		clique = append(clique, node)
	}
	for range 9000 {
		wide = append(wide, 1)
	}
	for name, tt := range map[string]struct {
		members object
		code    string
	}{
		"deep":     {object{"deep": deep}, "too_large"},
		"wide":     {object{"wide": wide}, "too_large"},
		"large":    {object{"large": strings.Repeat("x", vc.MaxBytes)}, "too_large"},
		"contexts": {object{"evidence": contexts}, "context_refused"},
		"terms":    {object{"@context": []any{vc.ContextV2, terms}}, "context_refused"},
		"numbers":  {object{"n": jsontext.Value("9007199254740993")}, "number_not_exact"},
		"poison":   {object{"credentialSubject": append(clique, object{"id": "did:example:subject"})}, "graph_too_complex"},
	} {
		r := verifier().Credential(t.Context(), raw(t, with(good, tt.members)), vc.Options{})
		wantCodes(t, name, r.Reasons, tt.code)
	}
	for text, code := range map[string]string{`"x"`: "not_an_object", `{"a":1,"a":2}`: "malformed", `{"a"`: "malformed", ``: "not_an_object"} {
		wantCodes(t, text, verifier().Credential(t.Context(), jsontext.Value(text), vc.Options{}).Reasons, code)
	}
}

func TestValidity(t *testing.T) {
	t.Parallel()
	issuer, s := person("issuer")
	for name, tt := range map[string]struct {
		members object
		checks  []string
		code    string
	}{
		"in time":          {object{"validUntil": "2026-12-01T00:00:00Z"}, nil, ""},
		"expired":          {object{"validUntil": "2026-02-01T00:00:00Z"}, nil, "expired"},
		"early":            {object{"validFrom": "2027-02-01T00:00:00Z"}, nil, "not_yet_valid"},
		"expired, unasked": {object{"validUntil": "2026-02-01T00:00:00Z"}, []string{vc.CheckProof}, ""},
	} {
		doc := signed(t, s, with(credential(issuer), tt.members), vc.Proof{})
		r := verifier().Credential(t.Context(), raw(t, doc), vc.Options{Checks: tt.checks})
		if tt.code == "" {
			wantCodes(t, name, r.Reasons)
		} else {
			wantCodes(t, name, r.Reasons, tt.code)
		}
	}
}

func TestTestIssuerIsNamed(t *testing.T) {
	t.Parallel()
	issuer, s := person("test issuer")
	v := verifier()
	v.TestIssuer = issuer
	r := v.Credential(t.Context(), raw(t, signed(t, s, credential(issuer), vc.Proof{})), vc.Options{})
	if !r.Verified() || !r.Test {
		t.Errorf("%+v", r)
	}
	wantCodes(t, "warnings", r.Warnings, "test_issuer")
}

// TestContextsUnknownToJCS: what terms mean cannot be checked, and that is said.
func TestContextsUnknownToJCS(t *testing.T) {
	t.Parallel()
	issuer, s := person("issuer")
	doc := with(credential(issuer), object{"@context": []any{vc.ContextV2, "https://example.org/our/v1"}, "amount": 5})
	r := verifier().Credential(t.Context(), raw(t, signed(t, s, doc, vc.Proof{})), vc.Options{})
	wantCodes(t, "reasons", r.Reasons)
	wantCodes(t, "warnings", r.Warnings, "terms_unchecked")
}

// TestAppendedContexts: eddsa-jcs-2022 lets contexts be appended after signing. That is
// said, and refused where it changes what was signed.
func TestAppendedContexts(t *testing.T) {
	t.Parallel()
	issuer, s := person("issuer")
	own := object{"amount": "https://example.org/amount", "other": "https://example.org/other"}
	for name, tt := range map[string]struct {
		contexts []any
		reasons  []string
		warnings []string
	}{
		"none":                 {[]any{vc.ContextV2, own}, nil, nil},
		"an unknown one":       {[]any{vc.ContextV2, own, "https://example.org/our/v1"}, []string{"meaning_changed"}, []string{"terms_unchecked", "context_appended"}},
		"one that adds a term": {[]any{vc.ContextV2, own, object{"more": "https://example.org/more"}}, nil, []string{"context_appended"}},
		"another meaning":      {[]any{vc.ContextV2, own, object{"amount": "https://example.org/other"}}, []string{"meaning_changed"}, []string{"context_appended"}},
		"a protected term":     {[]any{vc.ContextV2, own, object{"VerifiableCredential": "https://example.org/i"}}, []string{"term_redefined"}, nil},
		"one before":           {[]any{vc.ContextV2, object{"more": "https://example.org/more"}, own}, []string{"proof_invalid"}, nil},
	} {
		doc := signed(t, s, with(credential(issuer), object{"@context": []any{vc.ContextV2, own}, "amount": 5}), vc.Proof{})
		doc["@context"] = tt.contexts
		r := verifier().Credential(t.Context(), raw(t, doc), vc.Options{})
		wantCodes(t, name, r.Reasons, tt.reasons...)
		wantCodes(t, name+", warnings", r.Warnings, tt.warnings...)
	}
}

// TestNarrowed: what nobody asked for is named.
func TestNarrowed(t *testing.T) {
	t.Parallel()
	issuer, s := person("issuer")
	r := verifier().Credential(t.Context(), raw(t, signed(t, s, credential(issuer), vc.Proof{})), vc.Options{Checks: []string{vc.CheckValidity}})
	wantCodes(t, "reasons", r.Reasons)
	wantCodes(t, "warnings", r.Warnings, "proof_unchecked", "status_unchecked")
}

func TestLookupOfOtherMethods(t *testing.T) {
	t.Parallel()
	_, s := person("web")
	const web = "did:web:hearth.example.org"
	public, _ := s.Key.Public().(ed25519.PublicKey)
	v := verifier()
	v.Lookup = func(_ context.Context, method string) (vc.Method, bool, error) {
		switch method {
		case web + "#signs":
			return vc.Method{Controller: web, Key: public, Purposes: []string{vc.Assertion}}, true, nil
		case web + "#logs-in":
			return vc.Method{Controller: web, Key: public, Purposes: []string{vc.Authentication}}, true, nil
		case web + "#broken":
			return vc.Method{}, false, errors.New("store is down")
		}
		return vc.Method{}, false, nil
	}
	for fragment, codes := range map[string][]string{"signs": nil, "logs-in": {"purpose_forbidden"}, "other": {"method_unknown"}, "broken": {"not_verified"}} {
		s.Method = web + "#" + fragment
		r := v.Credential(t.Context(), raw(t, signed(t, s, credential(web), vc.Proof{})), vc.Options{})
		wantCodes(t, fragment, r.Reasons, codes...)
	}
}

// jws signs with any algorithm, as others do.
func jws(t *testing.T, header string, payload any, sign func(input []byte) []byte) string {
	t.Helper()
	b64 := base64.RawURLEncoding.EncodeToString
	input := b64([]byte(header)) + "." + b64(raw(t, payload))
	return input + "." + b64(sign([]byte(input)))
}

func envelope(media, jws string) object {
	return object{"@context": []any{vc.ContextV2}, "type": "EnvelopedVerifiableCredential", "id": "data:" + media + "," + jws}
}

func TestEnvelopes(t *testing.T) {
	t.Parallel()
	issuer, s := person("issuer")
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	point, err := key.PublicKey.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	compressed := append([]byte{2 + point[64]&1}, point[1:33]...)
	p256 := "did:key:" + did.EncodeMultibase(append([]byte{0x80, 0x24}, compressed...))
	byP256 := func(input []byte) []byte {
		sum := sha256.Sum256(input)
		a, b, err := ecdsa.Sign(rand.Reader, key, sum[:])
		if err != nil {
			t.Fatal(err)
		}
		return append(a.FillBytes(make([]byte, 32)), b.FillBytes(make([]byte, 32))...)
	}
	byEd := func(input []byte) []byte { return ed25519.Sign(s.Key, input) }
	edHeader := `{"alg":"EdDSA","kid":"` + s.Method + `"}`
	p256Header := `{"alg":"ES256","kid":"` + vc.MethodOf(did.DID(p256)) + `"}`
	old := time.Now().Unix() - 1e8
	for name, tt := range map[string]struct {
		doc  object
		code string
	}{
		"EdDSA":                {envelope("application/vc+jwt", jws(t, edHeader, credential(issuer), byEd)), ""},
		"ES256 as JWT of 1.1":  {envelope("application/jwt", jws(t, p256Header, object{"iss": p256, "vc": credential(p256)}, byP256)), ""},
		"another issuer":       {envelope("application/vc+jwt", jws(t, edHeader, credential(p256), byEd)), "issuer_mismatch"},
		"another iss":          {envelope("application/jwt", jws(t, edHeader, object{"iss": p256, "vc": credential(issuer)}, byEd)), "issuer_mismatch"},
		"the wrong algorithm":  {envelope("application/vc+jwt", jws(t, strings.Replace(edHeader, "EdDSA", "ES256", 1), credential(issuer), byEd)), "algorithm_unknown"},
		"no algorithm":         {envelope("application/vc+jwt", jws(t, strings.Replace(edHeader, "EdDSA", "none", 1), credential(issuer), byEd)), "algorithm_unknown"},
		"something critical":   {envelope("application/vc+jwt", jws(t, `{"crit":["b64"],`+edHeader[1:], credential(issuer), byEd)), "envelope_invalid"},
		"no key":               {envelope("application/vc+jwt", jws(t, `{"alg":"EdDSA"}`, credential(issuer), byEd)), "method_unknown"},
		"changed":              {envelope("application/vc+jwt", jws(t, edHeader, credential(issuer), byEd)[:40]+"A"+jws(t, edHeader, credential(issuer), byEd)[41:]), "envelope_invalid"},
		"signed by nobody":     {envelope("application/vc+jwt", jws(t, edHeader, credential(issuer), func([]byte) []byte { return make([]byte, 64) })), "signature_invalid"},
		"expired":              {envelope("application/jwt", jws(t, edHeader, object{"exp": old, "vc": credential(issuer)}, byEd)), "expired"},
		"not a data URL":       {with(envelope("application/vc+jwt", "x"), object{"id": "x"}), "envelope_invalid"},
		"another media type":   {envelope("text/html", jws(t, edHeader, credential(issuer), byEd)), "envelope_invalid"},
		"without the context":  {with(envelope("application/vc+jwt", jws(t, edHeader, credential(issuer), byEd)), object{"@context": []any{}}), "context_invalid"},
		"no credential inside": {envelope("application/vc+jwt", jws(t, edHeader, with(credential(issuer), object{"credentialSubject": nil}), byEd)), "required"},
	} {
		r := verifier().Credential(t.Context(), raw(t, tt.doc), vc.Options{})
		if name == "changed" && len(r.Reasons) == 1 { // the header or what it says
			continue
		}
		if tt.code == "" {
			wantCodes(t, name, r.Reasons)
		} else {
			wantCodes(t, name, r.Reasons, tt.code)
		}
	}
}
