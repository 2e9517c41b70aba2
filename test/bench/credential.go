package main

import (
	"context"
	"crypto/ed25519"
	"crypto/sha256"
	"fmt"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/hearth-dmrv/hearth/internal/did"
	"github.com/hearth-dmrv/hearth/internal/vc"
)

// signBar is how many times the bare steps of a signature one credential costs.
const signBar = 2.0

// benchCredential is a credential of usual size.
const benchCredential = `{"@context":["https://www.w3.org/ns/credentials/v2","https://www.w3.org/ns/credentials/examples/v2"],
"id":"https://hearth.example.org/c/7d5f0c1be24a4c0f9a51","type":["VerifiableCredential","EmissionReductionCredential"],
"issuer":{"id":"did:web:hearth.example.org:entities:175d7824ba25002e4ec206365e206236","name":"Kitui oracle"},"validFrom":"2026-01-01T00:00:00Z",
"credentialSubject":{"id":"urn:uuid:1c6a1f6e-5cf6-4f1d-a2b1-0b3c1a2d9e11","period":{"from":"2025-01-01","to":"2025-12-31"},"amount":{"value":396,"unit":"tCO2e"},
"method":{"name":"SMEC","version":"4.0"},"evidence":[{"type":"Hash","digestMultibase":"uJKGMkOmFbVJhEfKTduMC2XCyvRAYLjOVmZWwIH1wQ7k"},
{"type":"Hash","digestMultibase":"uM4RgWQc3RUDtjJCSgTJtTfvpZ7SPEg_LNO0ESlovQC0"}]}}`

// signings compares the signing of a credential with its bare steps: the canonical
// forms and hashes of the same two texts, and one signature.
func (b *bench) signings(ctx context.Context) error {
	key := ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize))
	signer, err := signerOf(key)
	if err != nil {
		return err
	}
	ours := func(context.Context) (side, error) { return signSide(signer), nil }
	config := []byte(`{"type":"DataIntegrityProof","cryptosuite":"eddsa-jcs-2022","created":"2026-01-01T00:00:00Z","verificationMethod":"` + signer.Method +
		`","proofPurpose":"assertionMethod","@context":["https://www.w3.org/ns/credentials/v2","https://www.w3.org/ns/credentials/examples/v2"]}`)
	bare := func(context.Context) (side, error) {
		return &looper{func(context.Context, int) error { return bareSignature(key, config) }}, nil
	}
	p, err := b.pair(ctx, ours, bare)
	if err != nil {
		return err
	}
	times := p.ratio(sample.cost)
	fmt.Printf("%-26s %9s %9s %7s\n", "", "CPU µs", "bare", "times")
	fmt.Printf("%-26s %9.2f %9.2f %7.2f   bar %.1f times %s\n", "signing a credential", medianOf(p.ours, sample.cost), medianOf(p.bound, sample.cost), times,
		signBar, b.verdict("signing of a credential", times <= signBar))
	return nil
}

func signerOf(key ed25519.PrivateKey) (vc.Signer, error) {
	public, ok := key.Public().(ed25519.PublicKey)
	if !ok {
		return vc.Signer{}, fmt.Errorf("not a key: %T", key.Public())
	}
	return vc.Signer{Key: key, Method: vc.MethodOf(did.FromEd25519(public))}, nil
}

// signSide signs the credential repeatedly.
func signSide(signer vc.Signer) *looper {
	proof := vc.Proof{Created: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}
	return &looper{func(context.Context, int) error {
		_, err := signer.Sign(jsontext.Value(benchCredential), proof)
		return err
	}}
}

// signingCost returns the CPU of one signing step in µs.
func (b *bench) signingCost(ctx context.Context) (float64, error) {
	signer, err := signerOf(ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize)))
	if err != nil {
		return 0, err
	}
	s, err := signSide(signer).run(ctx, b.cell)
	return s.cost(), err
}

func bareSignature(key ed25519.PrivateKey, config []byte) error {
	doc, proof := jsontext.Value(benchCredential).Clone(), jsontext.Value(config).Clone()
	if err := doc.Canonicalize(); err != nil {
		return err
	}
	if err := proof.Canonicalize(); err != nil {
		return err
	}
	a, b := sha256.Sum256(proof), sha256.Sum256(doc)
	_ = ed25519.Sign(key, append(a[:], b[:]...)) // only its cost counts
	return nil
}
