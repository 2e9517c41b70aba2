package vc_test

import (
	"context"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/hearth-dmrv/hearth/internal/vc"
)

func TestPresentation(t *testing.T) {
	t.Parallel()
	issuer, s := person("issuer")
	holder, h := person("holder")
	plain := object{
		"@context": []any{vc.ContextV2}, "type": []any{"VerifiablePresentation"}, "holder": holder,
		"verifiableCredential": []any{signed(t, s, credential(issuer), vc.Proof{})},
	}
	asked := vc.Options{Domain: "hearth.example.org", Challenge: "c0ffee"}
	proof := vc.Proof{Purpose: vc.Authentication, Domain: asked.Domain, Challenge: asked.Challenge}
	bad := with(plain, object{"verifiableCredential": []any{with(signed(t, s, credential(issuer), vc.Proof{}), object{"validFrom": "2026-02-01T00:00:00Z"})}})
	for _, suite := range []string{vc.JCS, vc.RDFC} {
		proof.Suite = suite
		other := proof
		other.Challenge, other.Domain = "stale", "elsewhere.example"
		assertion := proof
		assertion.Purpose = vc.Assertion
		for name, tt := range map[string]struct {
			doc  object
			ask  vc.Options
			code string
		}{
			"good":                       {signed(t, h, plain, proof), asked, ""},
			"without credentials":        {signed(t, h, with(plain, object{"verifiableCredential": nil}), proof), asked, ""},
			"of another challenge":       {signed(t, h, plain, other), vc.Options{Challenge: asked.Challenge}, "challenge_mismatch"},
			"for another domain":         {signed(t, h, plain, other), vc.Options{Domain: asked.Domain}, "domain_mismatch"},
			"without a proof":            {plain, asked, "proof_missing"},
			"signed as a credential is":  {signed(t, h, plain, assertion), asked, "purpose_mismatch"},
			"by somebody else":           {signed(t, s, plain, proof), asked, "holder_mismatch"},
			"with a changed credential":  {signed(t, h, bad, proof), asked, "signature_invalid"},
			"with a credential as text":  {with(signed(t, h, plain, proof), object{"verifiableCredential": "x"}), asked, "object_expected"},
			"with a holder of no name":   {with(signed(t, h, plain, proof), object{"holder": object{"name": "x"}}), asked, "required"},
			"of a type that is not":      {with(signed(t, h, plain, proof), object{"type": "Other"}), asked, "type_missing"},
			"with too many credentials":  {with(signed(t, h, plain, proof), object{"verifiableCredential": make17()}), asked, "too_large"},
			"a credential in its place":  {signed(t, s, credential(issuer), vc.Proof{}), asked, "type_missing"},
			"with the proof's own value": {with(signed(t, h, plain, proof), object{"id": "urn:uuid:1"}), asked, "signature_invalid"},
		} {
			r := verifier().Presentation(t.Context(), raw(t, tt.doc), tt.ask)
			if tt.code == "" {
				wantCodes(t, suite+" "+name, r.Reasons)
				if r.Holder != holder {
					t.Errorf("%s: holder %s", name, r.Holder)
				}
			} else {
				wantCodes(t, suite+" "+name, r.Reasons, tt.code)
			}
		}
	}
	r := verifier().Presentation(t.Context(), raw(t, signed(t, h, plain, proof)), vc.Options{})
	wantCodes(t, "without a challenge", r.Warnings, "challenge_unchecked", "holder_not_subject")
}

// Each credential is looked at by itself, with its own reasons, whatever is wrong with
// the proof around it; one that is not about the holder says so.
func TestPresentedCredentials(t *testing.T) {
	t.Parallel()
	issuer, s := person("issuer")
	holder, h := person("holder")
	mine := signed(t, s, with(credential(issuer), object{"credentialSubject": object{"id": holder}}), vc.Proof{})
	both := signed(t, s, with(credential(issuer), object{"credentialSubject": []any{object{"id": holder}, object{"id": "did:example:other"}}}), vc.Proof{})
	late := signed(t, s, with(credential(issuer), object{"validUntil": "2026-02-01T00:00:00Z"}), vc.Proof{})
	plain := object{
		"@context": []any{vc.ContextV2}, "type": []any{"VerifiablePresentation"}, "holder": holder,
		"verifiableCredential": []any{mine, late, with(mine, object{"validFrom": "2026-02-01T00:00:00Z"}), both},
	}
	want := [][]string{nil, {"expired"}, {"signature_invalid"}, nil}
	for name, tt := range map[string]struct {
		challenge string
		reasons   []string
		warnings  [][]string
	}{
		"answered": {"c0ffee", []string{"expired", "signature_invalid"}, [][]string{nil, {"holder_not_subject"}, nil, {"holder_not_subject"}}},
		"stale":    {"tea", []string{"challenge_mismatch", "expired", "signature_invalid"}, [][]string{nil, nil, nil, nil}}, // nobody knows whose it is
	} {
		r := verifier().Presentation(t.Context(), raw(t, signed(t, h, plain, vc.Proof{Purpose: vc.Authentication, Challenge: tt.challenge})), vc.Options{Challenge: "c0ffee"})
		wantCodes(t, name, r.Reasons, tt.reasons...)
		if len(r.Shown) != len(want) {
			t.Fatalf("%s: %d credentials, want %d", name, len(r.Shown), len(want))
		}
		for i, one := range r.Shown {
			wantCodes(t, name, one.Reasons, want[i]...)
			wantCodes(t, name, one.Warnings, tt.warnings[i]...)
		}
	}
}

// The presentation was signed by other software, over RDF: each of its credentials
// stands in a graph of its own.
func TestPresentationOfOthers(t *testing.T) {
	t.Parallel()
	doc, err := os.ReadFile("testdata/presentation-rdfc.json")
	if err != nil {
		t.Fatal(err)
	}
	asked := vc.Options{Domain: "github.com/w3c/vc-data-model-2.0-test-suite", Challenge: "u4uIIEcbgZrBgCqbS15jEgg"}
	r := verifier().Presentation(t.Context(), doc, asked)
	wantCodes(t, "as it is", r.Reasons)
	if len(r.Shown) == 0 || !r.Shown[0].Verified() {
		t.Errorf("shown: %+v", r.Shown)
	}
	changed := strings.Replace(string(doc), "did:example:subject", "did:example:other", 1)
	wantCodes(t, "changed", verifier().Presentation(t.Context(), jsontext.Value(changed), asked).Reasons, "signature_invalid", "signature_invalid") // the holder's and the issuer's
}

func make17() []any {
	var out []any
	for range 17 {
		out = append(out, object{})
	}
	return out
}

func TestStructure(t *testing.T) {
	t.Parallel()
	good := credential("did:example:issuer")
	in := func(name string, v any) object { return with(good, object{name: v}) }
	for name, tt := range map[string]struct {
		doc   object
		codes []string
	}{
		"good":                      {good, nil},
		"two subjects":              {in("credentialSubject", []any{object{"id": "did:example:a"}, object{"id": "did:example:b"}}), nil},
		"an issuer with a name":     {in("issuer", object{"id": "did:example:issuer", "name": "A"}), nil},
		"a name in a language":      {in("name", object{"@value": "Jina", "@language": "sw", "@direction": "ltr"}), nil},
		"names in two":              {in("name", []any{object{"@value": "Name", "@language": "en"}, object{"@value": "Jina", "@language": "sw"}}), nil},
		"an offset":                 {in("validFrom", "2026-02-25T19:10:39-06:00"), nil},
		"a status":                  {in("credentialStatus", object{"type": "https://example.org/S"}), nil},
		"a digest":                  {in("relatedResource", object{"id": vc.ContextV2, "digestSRI": "sha384-l/HrjlBCNWyAX91hr6LFV2Y3heB5Tcr6IeE4/Tje8YyzYBM8IhqjHWiWpr8+ZbYU"}), nil},
		"a digest of before":        {in("relatedResource", object{"id": vc.ContextV2, "digestMultibase": "uJKGMkOmFbVJhEfKTduMC2XCyvRAYLjOVmZWwIH1wQ7k"}), nil},
		"a resource elsewhere":      {in("relatedResource", []any{object{"id": "https://example.org/x", "digestMultibase": "uAAAA"}}), nil},
		"no type":                   {in("type", nil), []string{"required"}},
		"only another type":         {in("type", "Other"), []string{"type_missing"}},
		"a number as type":          {in("type", []any{"VerifiableCredential", 2}), []string{"type_invalid"}},
		"an id of spaces":           {in("id", "https ://x"), []string{"not_a_url"}},
		"two ids":                   {in("id", []any{"urn:a:1", "urn:a:2"}), []string{"not_a_url"}},
		"no issuer":                 {in("issuer", nil), []string{"not_a_url"}},
		"an issuer of no scheme":    {in("issuer", "fake"), []string{"not_a_url"}},
		"an issuer without id":      {in("issuer", object{}), []string{"required"}},
		"no subject":                {in("credentialSubject", nil), []string{"required"}},
		"an empty subject":          {in("credentialSubject", []any{object{"id": "did:example:a"}, object{}}), []string{"subject_empty"}},
		"dates in words":            {with(good, object{"validFrom": "Sat 25 Feb", "validUntil": "Sun"}), []string{"date_invalid", "date_invalid"}},
		"until before from":         {in("validUntil", "2025-01-01T00:00:00Z"), []string{"period_invalid"}},
		"a status without type":     {in("credentialStatus", object{"id": "did:example:s"}), []string{"required"}},
		"a schema without id":       {in("credentialSchema", object{"type": "https://example.org/S"}), []string{"required"}},
		"a refresh without type":    {in("refreshService", object{"id": "did:example:r"}), []string{"required"}},
		"evidence without type":     {in("evidence", []any{object{}}), []string{"required"}},
		"a name with more":          {in("name", object{"@value": "x", "url": "y"}), []string{"text_invalid"}},
		"a description of 1":        {in("description", 1), []string{"text_invalid"}},
		"resources as texts":        {in("relatedResource", []any{vc.ContextV2}), []string{"object_expected"}},
		"a resource without id":     {in("relatedResource", object{"digestSRI": "sha384-x"}), []string{"required"}},
		"a resource twice":          {in("relatedResource", []any{object{"id": "urn:x:1", "digestSRI": "a"}, object{"id": "urn:x:1", "digestSRI": "a"}}), []string{"duplicate"}},
		"a resource of no digest":   {in("relatedResource", object{"id": vc.ContextV2}), []string{"digest_missing"}},
		"a wrong digest":            {in("relatedResource", object{"id": vc.ContextV2, "digestMultibase": "uM4RgWQc3RUDtjJCSgTJtTfvpZ7SPEg_LNO0ESlovQC0"}), []string{"digest_mismatch"}},
		"a type nobody defines":     {in("type", []any{"VerifiableCredential", "Undefined"}), []string{"data_loss"}},
		"a type that is no URL":     {with(good, object{"@context": []any{vc.ContextV2, object{"T": "not a url"}}, "type": []any{"VerifiableCredential", "T"}}), []string{"json_ld"}},
		"a property nobody defines": {in("credentialSubject", object{"id": "did:example:a", "undefined": 1}), []string{"data_loss"}},
		"a context elsewhere":       {in("@context", []any{vc.ContextV2, "https://example.com"}), []string{"context_unknown"}},
		"a number as context":       {in("@context", []any{vc.ContextV2, 5}), []string{"context_invalid"}},
		"a proof already":           {in("proof", object{}), []string{"proof_present"}},
		"of VC 1.1":                 {with(good, object{"@context": []any{vc.ContextV1}, "validFrom": nil, "issuanceDate": "2026-01-01T00:00:00Z"}), nil},
		"of VC 1.1 without a date":  {with(good, object{"@context": []any{vc.ContextV1}, "validFrom": nil}), []string{"required"}},
	} {
		wantCodes(t, name, vc.Check(raw(t, tt.doc)), tt.codes...)
	}
}

func TestStatusList(t *testing.T) {
	t.Parallel()
	l := vc.NewStatusList(5)
	if l.Len() != vc.MinPlaces {
		t.Errorf("a list of five has %d places", l.Len())
	}
	for _, place := range []int{0, 7, 8, 131071} {
		l.Set(place, true)
	}
	l.Set(8, false)
	text, err := l.Encode()
	if err != nil {
		t.Fatal(err)
	}
	back, err := vc.DecodeStatusList(text)
	if err != nil {
		t.Fatal(err)
	}
	for place, want := range map[int]bool{0: true, 1: false, 7: true, 8: false, 131071: true, 131072: false, -1: false} {
		if back.Get(place) != want {
			t.Errorf("place %d = %v, want %v", place, back.Get(place), want)
		}
	}
	for _, bad := range []string{"", "u", "z" + text[1:], text[:40], "u!!", "uAAAA"} {
		if _, err := vc.DecodeStatusList(bad); err == nil {
			t.Errorf("%.20q was read", bad)
		}
	}
	// The first bit of the first byte is place 0, as in the W3C's example of an empty list.
	empty, err := vc.DecodeStatusList("uH4sIAAAAAAAAA-3BMQEAAADCoPVPbQwfoAAAAAAAAAAAAAAAAAAAAIC3AYbSVKsAQAAA")
	if err != nil || empty.Len() != vc.MinPlaces || empty.Get(0) {
		t.Errorf("the example of the W3C: %v", err)
	}
}

func TestStatusIsChecked(t *testing.T) {
	t.Parallel()
	issuer, s := person("issuer")
	const address = "https://hearth.example.org/status/1"
	l := vc.NewStatusList(0)
	l.Set(94567, true)
	encoded, err := l.Encode()
	if err != nil {
		t.Fatal(err)
	}
	purpose := "revocation"
	v := verifier()
	v.Status = func(_ context.Context, p vc.StatusPlace) (set, known bool, err error) {
		if p.List != address {
			return false, false, nil
		}
		set, err = p.In(raw(t, object{"credentialSubject": object{"type": "BitstringStatusList", "statusPurpose": purpose, "encodedList": encoded}}))
		return set, true, err
	}
	entry := func(place int, purpose, list string) object {
		return object{"type": "BitstringStatusListEntry", "statusPurpose": purpose, "statusListIndex": strconv.Itoa(place), "statusListCredential": list}
	}
	for name, tt := range map[string]struct {
		entry          object
		reason, warned string
	}{
		"not revoked":     {entry(1, "revocation", address), "", ""},
		"revoked":         {entry(94567, "revocation", address), "revoked", ""},
		"another purpose": {entry(94567, "suspension", address), "status_invalid", ""},
		"out of the list": {entry(1<<20, "revocation", address), "status_invalid", ""},
		"no index":        {with(entry(1, "revocation", address), object{"statusListIndex": "x"}), "status_invalid", ""},
		"two bits":        {with(entry(1, "revocation", address), object{"statusSize": 2}), "status_invalid", ""},
		"elsewhere":       {entry(94567, "revocation", "https://example.org/1"), "", "status_unchecked"},
		"another kind":    {object{"type": "https://example.org/Status"}, "", "status_unchecked"},
	} {
		doc := signed(t, s, with(credential(issuer), object{"credentialStatus": tt.entry}), vc.Proof{})
		r := v.Credential(t.Context(), raw(t, doc), vc.Options{})
		wantCodes(t, name, r.Reasons, strings.Fields(tt.reason)...)
		wantCodes(t, name+", warnings", r.Warnings, strings.Fields(tt.warned)...)
	}
	purpose = "suspension"
	doc := signed(t, s, with(credential(issuer), object{"credentialStatus": entry(94567, "suspension", address)}), vc.Proof{})
	wantCodes(t, "suspended", v.Credential(t.Context(), raw(t, doc), vc.Options{}).Reasons, "suspended")
}
