package vc

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/hearth-dmrv/hearth/internal/did"
)

// The cryptosuites of embedded proofs.
const (
	JCS  = "eddsa-jcs-2022"  // canonical JSON; the default
	RDFC = "eddsa-rdfc-2022" // canonical RDF: the contexts must be known here
)

// proofType is the type of proofs with a cryptosuite.
const proofType = "DataIntegrityProof"

// CheckForm checks the requested form of signing a credential: a known suite, or an
// envelope of a known media type; neither means the default. The reasons are
// not_allowed and not_both.
func CheckForm(suite, envelope string) (out []Reason) {
	if suite != "" && suite != JCS && suite != RDFC {
		out = append(out, Reason{Pointer: "/cryptosuite", Code: "not_allowed", Detail: "The value must be " + JCS + " or " + RDFC + "."})
	}
	if envelope != "" && envelope != MediaCredential {
		out = append(out, Reason{Pointer: "/envelope", Code: "not_allowed", Detail: "The value must be " + MediaCredential + "."})
	}
	if out == nil && suite != "" && envelope != "" {
		out = append(out, Reason{Pointer: "/cryptosuite", Code: "not_both", Detail: "An envelope has no embedded proof: leave one of the two out."})
	}
	return out
}

// Signer makes proofs with one key.
type Signer struct {
	Key    ed25519.PrivateKey
	Method string // the verification method others find the public key by
}

// Proof is the data of a proof besides the signature.
type Proof struct {
	Suite     string // JCS by default
	Purpose   string // Assertion by default
	Created   time.Time
	Domain    string // of presentations
	Challenge string
}

// Sign adds a proof to a document without one. The caller has made the document, or
// checked it with Check. The reasons are those of the canonical forms.
func (s Signer) Sign(doc jsontext.Value, p Proof) (jsontext.Value, error) {
	if p.Suite == "" {
		p.Suite = JCS
	}
	if p.Purpose == "" {
		p.Purpose = Assertion
	}
	plain, err := canonical(doc)
	if err != nil {
		return nil, err
	}
	config, err := s.config(plain, p)
	if err != nil {
		return nil, err
	}
	var data []byte
	if p.Suite == RDFC {
		data, err = rdfcData(plain, config, newBudget())
	} else {
		data = hashes(config, plain)
	}
	if err != nil {
		return nil, err
	}
	if p.Suite == RDFC {
		config = dropContext(config)
	}
	out := append(plain[:len(plain)-1:len(plain)-1], `,"proof":`...)
	out = append(out, config[:len(config)-1]...)
	out = append(out, `,"proofValue":"`...)
	out = append(out, did.EncodeMultibase(ed25519.Sign(s.Key, data))...)
	return append(out, `"}}`...), nil
}

// config is the proof without its value, in canonical form: the members stand in
// order and the context is a piece of a canonical document.
func (s Signer) config(plain jsontext.Value, p Proof) (jsontext.Value, error) {
	context, err := member(plain, "@context")
	if err != nil {
		return nil, err
	}
	out := append([]byte(`{"@context":`), context...)
	for _, m := range [][2]string{
		{"challenge", p.Challenge},
		{"created", p.Created.UTC().Format("2006-01-02T15:04:05Z")},
		{"cryptosuite", p.Suite},
		{"domain", p.Domain},
		{"proofPurpose", p.Purpose},
		{"type", proofType},
		{"verificationMethod", s.Method},
	} {
		if m[1] == "" {
			continue
		}
		out = append(append(append(out, `,"`...), m[0]...), `":`...)
		if out, err = jsontext.AppendQuote(out, m[1]); err != nil {
			return nil, fail("/proof/"+m[0], "malformed", "This is not a text in UTF-8.")
		}
	}
	return append(out, '}'), nil
}

// member reads one member of an object. The reason is context_invalid: only the
// context is read so.
func member(v jsontext.Value, name string) (jsontext.Value, error) {
	dec := jsontext.NewDecoder(bytes.NewReader(v))
	_, err := dec.ReadToken()
	for err == nil && dec.PeekKind() == '"' {
		var key jsontext.Token
		if key, err = dec.ReadToken(); err != nil {
			break
		}
		found := key.String() == name
		var value jsontext.Value
		if value, err = dec.ReadValue(); err == nil && found {
			return value.Clone(), nil
		}
	}
	return nil, fail("/"+name, "context_invalid", "The document has no "+name+".")
}

// dropContext takes the context off a proof's canonical form: in eddsa-rdfc-2022 it
// is the document's and is not repeated.
func dropContext(config jsontext.Value) jsontext.Value {
	context, err := member(config, "@context")
	if err != nil {
		return config
	}
	return append([]byte{'{'}, config[len(`{"@context":`)+len(context)+1:]...)
}

// hashes is what eddsa-jcs-2022 signs: the hash of the proof, then of the document.
func hashes(config, doc []byte) []byte {
	a, b := sha256.Sum256(config), sha256.Sum256(doc)
	return append(a[:], b[:]...)
}

// rdfcData is what eddsa-rdfc-2022 signs: the same of their RDF.
func rdfcData(doc, config jsontext.Value, left *budget) ([]byte, error) {
	var document, proof map[string]any
	if json.Unmarshal(doc, &document) != nil || json.Unmarshal(config, &proof) != nil {
		return nil, fail("", "malformed", "The document is not strict JSON.")
	}
	a, err := normalisedHash(proof, left)
	if err != nil {
		return nil, err
	}
	b, err := normalisedHash(document, left)
	return append(a, b...), err
}
