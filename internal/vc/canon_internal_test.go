package vc

import (
	"crypto/ed25519"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/hearth-dmrv/hearth/internal/did"
)

var nquad = regexp.MustCompile(`<[^>]*>|_:[^\s]+|"(?:[^"\\]|\\.)*"(?:\^\^<[^>]*>|@[A-Za-z0-9-]+)?`)

// readQuads reads N-Quads as the W3C's tests write them.
func readQuads(t testing.TB, text string) []quad {
	t.Helper()
	var out []quad
	for line := range strings.Lines(text) {
		var terms [4]term
		found := nquad.FindAllString(line, -1)
		if len(found) == 0 {
			continue
		}
		if len(found) < 3 || len(found) > 4 {
			t.Fatalf("not a quad: %s", line)
		}
		for i, s := range found {
			if s[0] == '"' {
				end := strings.LastIndexByte(s, '"') + 1
				plain, err := strconv.Unquote(strings.ReplaceAll(s[:end], `\'`, "'"))
				if err != nil {
					t.Fatalf("%s: %v", s, err)
				}
				s = quote(plain) + iri(t, strings.TrimSuffix(s[end:], "^^<"+xsd+"string>"))
			} else {
				s = iri(t, s)
			}
			terms[i] = term(s)
		}
		out = append(out, quad{terms[0], terms[1], terms[2], terms[3]})
	}
	return out
}

// iri is an address without escapes.
func iri(t testing.TB, s string) string {
	t.Helper()
	plain, err := strconv.Unquote(`"` + s + `"`)
	if err != nil {
		t.Fatalf("%s: %v", s, err)
	}
	return plain
}

// The files are from the W3C's tests of RDF Dataset Canonicalization.
func TestCanonicaliseAsW3C(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/rdfc10/*-out.nq")
	if err != nil || len(files) < 10 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			t.Parallel()
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			in, err := os.ReadFile(strings.Replace(file, "-out", "-in", 1))
			if err != nil {
				t.Fatal(err)
			}
			got, err := canonicalise(readQuads(t, string(in)), newBudget())
			if err != nil || got != string(want) {
				t.Errorf("got %v\n%s\nwant\n%s", err, got, want)
			}
		})
	}
}

// A graph whose blank nodes all look alike is given up, not computed for hours.
func TestCanonicaliseGivesUp(t *testing.T) {
	t.Parallel()
	file, err := os.ReadFile("testdata/rdfc10/074-in.nq")
	if err != nil {
		t.Fatal(err)
	}
	var ring []quad
	for i := range 4000 {
		ring = append(ring, quad{term(fmt.Sprintf("_:x%d", i)), "<urn:p>", term(fmt.Sprintf("_:x%d", (i+1)%4000)), ""})
	}
	var star []quad
	for i := range 12 {
		for j := range 12 {
			star = append(star, quad{term(fmt.Sprintf("_:x%d", i)), "<urn:p>", term(fmt.Sprintf("_:y%d", j)), ""})
		}
	}
	for name, quads := range map[string][]quad{"clique": readQuads(t, string(file)), "ring": ring, "star": star} {
		if _, err := canonicalise(quads, newBudget()); err == nil || reasonOf(err).Code != "graph_too_complex" {
			t.Errorf("%s: %v, want graph_too_complex", name, err)
		}
	}
}

func TestDouble(t *testing.T) {
	t.Parallel()
	for in, want := range map[float64]string{5.5: "5.5E0", 0.1: "1.0E-1", 1e30: "1.0E30", -123.456: "-1.23456E2", 1.0 / 3: "3.333333333333333E-1"} {
		if got := double(in); got != want {
			t.Errorf("double(%v) = %s, want %s", in, got, want)
		}
	}
}

// However many proofs and credentials a presentation has, ordering their blank nodes
// costs what it may cost once.
func TestOneBudget(t *testing.T) {
	t.Parallel()
	issuer := did.FromEd25519(make(ed25519.PublicKey, ed25519.PublicKeySize))
	var clique, proofs, all []string
	for i := range 9 {
		var others []string
		for j := range 9 {
			if j != i {
				others = append(others, fmt.Sprintf(`{"@id":"_:b%d"}`, j))
			}
		}
		clique = append(clique, fmt.Sprintf(`{"@id":"_:b%d","https://example.org/knows":[%s]}`, i, strings.Join(others, ",")))
	}
	for range maxProofs {
		proofs = append(proofs, `{"type":"DataIntegrityProof","cryptosuite":"`+RDFC+`","verificationMethod":"`+MethodOf(issuer)+`","proofPurpose":"assertionMethod","proofValue":"z5oB"}`)
	}
	for range 16 {
		all = append(all, `{"@context":["`+ContextV2+`"],"type":["VerifiableCredential"],"issuer":"`+string(issuer)+`","credentialSubject":[`+strings.Join(clique, ",")+`],"proof":[`+strings.Join(proofs, ",")+`]}`)
	}
	left := newBudget()
	r := (&Verifier{}).Presentation(t.Context(), []byte(`{"@context":["`+ContextV2+`"],"type":["VerifiablePresentation"],"verifiableCredential":[`+strings.Join(all, ",")+`]}`), Options{left: left})
	tooComplex := 0
	for _, reason := range r.Reasons {
		if reason.Code == "graph_too_complex" {
			tooComplex++
		}
	}
	// Each graph that comes after the end takes one step to find that out.
	if tries := 16 * maxProofs; tooComplex != 16 || left.steps >= 0 || left.steps < -2*tries {
		t.Errorf("%d credentials are too complex, %d steps are left: %+v", tooComplex, left.steps, r.Reasons)
	}
}
