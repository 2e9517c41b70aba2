package vc

import (
	"crypto/sha256"
	"embed"
	"errors"
	"strconv"
	"strings"
	"sync"

	"github.com/go-json-experiment/json"
	"github.com/piprate/json-gold/ld"

	"github.com/hearth-dmrv/hearth/internal/fault"
)

//go:embed contexts
var contextFiles embed.FS

// contextNames are the contexts known here, each with its file. No other is ever
// loaded.
var contextNames = map[string]string{
	ContextV1: "credentials-v1.jsonld",
	ContextV2: "credentials-v2.jsonld",
	ContextDI: "data-integrity-v2.jsonld",
	"https://www.w3.org/ns/credentials/examples/v2": "examples-v2.jsonld",
}

// Limits of contexts: each one named costs milliseconds.
const (
	maxContexts = 48  // in a document and all below it
	maxTerms    = 256 // defined by a document itself
)

// contexts reads the embedded files once.
var contexts = sync.OnceValues(func() (map[string]*ld.RemoteDocument, error) {
	out := map[string]*ld.RemoteDocument{}
	for address, file := range contextNames {
		raw, err := contextFiles.ReadFile("contexts/" + file)
		if err != nil {
			return nil, err
		}
		var doc any
		if err := json.Unmarshal(raw, &doc); err != nil {
			return nil, err
		}
		out[address] = &ld.RemoteDocument{DocumentURL: address, Document: doc}
	}
	return out, nil
})

// embedded is a loader that knows the embedded contexts and nothing else.
type embedded struct{}

var errUnknownContext = errors.New("unknown context")

func (embedded) LoadDocument(address string) (*ld.RemoteDocument, error) {
	known, err := contexts()
	if err != nil {
		return nil, err
	}
	if doc, ok := known[address]; ok {
		return doc, nil
	}
	return nil, errUnknownContext
}

// normalise is the document as canonical N-Quads. The reasons are context_unknown,
// context_refused, data_loss, json_ld, too_large and graph_too_complex.
func normalise(doc map[string]any, left *budget) (string, error) {
	if err := (&scan{}).value(doc, ""); err != nil {
		return "", err
	}
	expanded, err := expand(doc)
	if err != nil {
		return "", err
	}
	quads, err := statements(expanded)
	if err != nil {
		return "", err
	}
	return canonicalise(quads, left)
}

func normalisedHash(doc map[string]any, left *budget) ([]byte, error) {
	text, err := normalise(doc, left)
	sum := sha256.Sum256([]byte(text))
	return sum[:], err
}

// expand runs JSON-LD expansion in safe mode: a property that no context defines is
// an error. The library panics on some contexts that are wrong.
func expand(doc map[string]any) (out []any, err error) {
	defer func() {
		if recover() != nil {
			out, err = nil, fail("/@context", "json_ld", "The context cannot be processed.")
		}
	}()
	o := ld.NewJsonLdOptions("")
	o.DocumentLoader, o.SafeMode, o.ProcessingMode = embedded{}, true, ld.JsonLd_1_1
	out, err = ld.NewJsonLdProcessor().Expand(doc, o)
	if err == nil {
		return out, nil
	}
	var ldErr *ld.JsonLdError
	switch {
	case !errors.As(err, &ldErr):
		return nil, fail("", "json_ld", "The document cannot be processed as JSON-LD.")
	case ldErr.Code == ld.InvalidProperty:
		return nil, lost("a property that no context defines")
	case ldErr.Code == ld.ProtectedTermRedefinition:
		return nil, fail("/@context", "term_redefined", "A context redefines a protected term.")
	}
	return nil, fail("", "json_ld", "The document cannot be processed as JSON-LD: "+string(ldErr.Code)+".")
}

// scan looks through a document before JSON-LD does, for what would be dropped in
// silence, would cost too much, or would need the network.
type scan struct{ contexts, terms int }

// taken are the keywords that documents may use themselves.
var taken = map[string]bool{"@context": true, "@id": true, "@type": true, "@value": true, "@language": true, "@direction": true}

func (s *scan) value(v any, at string) error {
	switch v := v.(type) {
	case nil:
		return fail(at, "data_loss", "A signature would not cover null. Leave the member out.")
	case []any:
		for i, item := range v {
			if err := s.value(item, at+"/"+strconv.Itoa(i)); err != nil {
				return err
			}
		}
	case map[string]any:
		for name, value := range v {
			here := at + "/" + name
			var err error
			switch {
			case name == "@context":
				err = s.context(value, here)
			case strings.HasPrefix(name, "@") && !taken[name]:
				err = fail(here, "json_ld", "The keyword "+fault.Echo(name)+" is not supported.")
			default:
				err = s.value(value, here)
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// context checks the value of @context: addresses known here, and objects that only
// define terms.
func (s *scan) context(v any, at string) error {
	for i, item := range list(v) {
		here := at
		if _, several := v.([]any); several {
			here += "/" + strconv.Itoa(i)
		}
		if s.contexts++; s.contexts > maxContexts {
			return fail(here, "context_refused", "A document names at most "+strconv.Itoa(maxContexts)+" contexts.")
		}
		switch item := item.(type) {
		case string:
			if _, known := contextNames[item]; !known {
				return fail(here, "context_unknown", "This context is not known here. Contexts are never fetched.")
			}
		case map[string]any:
			if inner, ok := item["@context"].(map[string]any); ok && len(item) == 1 {
				item = inner
			}
			if err := s.definitions(item, here); err != nil {
				return err
			}
		default:
			return fail(here, "context_invalid", "A context is an address or an object.")
		}
	}
	return nil
}

func (s *scan) definitions(m map[string]any, at string) error {
	for name, v := range m {
		here := at + "/" + name
		if s.terms++; s.terms > maxTerms {
			return fail(here, "context_refused", "A document defines at most "+strconv.Itoa(maxTerms)+" terms.")
		}
		switch name {
		case "@vocab", "@version", "@protected", "@language":
			continue
		}
		if strings.HasPrefix(name, "@") {
			return fail(here, "context_refused", "A document's own context may not use "+fault.Echo(name)+".")
		}
		if err := definition(v, here); err != nil {
			return err
		}
	}
	return nil
}

// definition accepts terms for an address, with a type, a language or a container
// of values. It refuses whatever hides values from signatures (indexes, nests), or
// makes one object load contexts again.
func definition(v any, at string) error {
	refused := func(what string) error {
		return fail(at, "context_refused", "A document's own context may not use "+fault.Echo(what)+" in a definition.")
	}
	m, ok := v.(map[string]any)
	if !ok {
		s, ok := v.(string)
		if !ok || strings.HasPrefix(s, "@") && s != "@id" && s != "@type" {
			return refused(s)
		}
		return nil
	}
	for name, v := range m {
		s, isText := v.(string)
		switch name {
		case "@id":
			if !isText || strings.HasPrefix(s, "@") && s != "@id" && s != "@type" {
				return refused(s)
			}
		case "@type", "@language", "@protected", "@prefix":
		case "@container":
			for _, c := range list(v) {
				if c != "@set" && c != "@list" && c != "@language" {
					return refused("@container")
				}
			}
		default:
			return refused(name)
		}
	}
	return nil
}
