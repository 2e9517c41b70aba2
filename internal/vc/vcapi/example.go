package vcapi

import "github.com/go-json-experiment/json"

// signedExample is a credential for the reference that verifies. Its issuer and its
// subject are made up.
const signedExample = `{"@context":["https://www.w3.org/ns/credentials/v2"],"credentialSubject":{"id":"did:key:z6MkrrHKarECSME2kXBtv24gZo74jSZ2ChPZXmDcH61w4naU","name":"Kitui cook stoves"},"id":"urn:uuid:6f1f2d0e-6a0b-4f0e-8a51-5f0f3c1f2a77","issuer":"did:key:z6Mkwf1gsL6cN5prBRKJqhvxszAVCttNXvjVRuitnYmi9AcG","proof":{"@context":["https://www.w3.org/ns/credentials/v2"],"created":"2026-01-01T12:00:00Z","cryptosuite":"eddsa-jcs-2022","proofPurpose":"assertionMethod","proofValue":"z3mSLbJ5v2NJjcUYYYseso9SERc92vXhpQgNGavLV6jf4BZgQpPfpGhp8M1egU39nAwCjZBqSvYsf7qNwfBzLH9Jw","type":"DataIntegrityProof","verificationMethod":"did:key:z6Mkwf1gsL6cN5prBRKJqhvxszAVCttNXvjVRuitnYmi9AcG#z6Mkwf1gsL6cN5prBRKJqhvxszAVCttNXvjVRuitnYmi9AcG"},"type":["VerifiableCredential"],"validFrom":"2026-01-01T00:00:00Z"}`

// exampleProof is a proof of its subject over the presentation below.
const exampleProof = `{"@context":["https://www.w3.org/ns/credentials/v2"],"challenge":"c0ffee","created":"2026-01-01T12:00:00Z","cryptosuite":"eddsa-jcs-2022","domain":"hearth.example.org","proofPurpose":"authentication","proofValue":"z48Kha97cv6ESgudmbofNp8QKu6Wk7Mskr1jimxAwD6CC41dEutVKucDDiogUCCCmm41AH88gHVaw43E6svBoEBQ6","type":"DataIntegrityProof","verificationMethod":"did:key:z6MkrrHKarECSME2kXBtv24gZo74jSZ2ChPZXmDcH61w4naU#z6MkrrHKarECSME2kXBtv24gZo74jSZ2ChPZXmDcH61w4naU"}`

// exampleCredential is a credential that verifies.
func exampleCredential() map[string]any { return example(signedExample) }

// examplePresentation is a presentation that verifies.
func examplePresentation() map[string]any {
	return example(`{"@context":["https://www.w3.org/ns/credentials/v2"],"holder":"did:key:z6MkrrHKarECSME2kXBtv24gZo74jSZ2ChPZXmDcH61w4naU","type":["VerifiablePresentation"],"verifiableCredential":[` +
		signedExample + `],"proof":` + exampleProof + `}`)
}

func example(text string) map[string]any {
	var m map[string]any
	if err := json.Unmarshal([]byte(text), &m); err != nil {
		panic(err) // a constant of this file
	}
	return m
}
