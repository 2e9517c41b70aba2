package vc

import (
	"math"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
)

const (
	rdf = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
	xsd = "http://www.w3.org/2001/XMLSchema#"
)

// directionLost is the reason of texts with a direction, which RDF cannot say. Only
// proofs over RDF lose it.
const directionLost = "direction_lost"

// shownProperty holds the credentials of a presentation, each in a graph of its own.
// The library forgets that: the context resets itself for the same term, and it looks
// for the container only afterwards.
const shownProperty = "https://www.w3.org/2018/credentials#verifiableCredential"

// maxQuads bounds the statements of a document.
const maxQuads = 10_000

// graphs turns an expanded JSON-LD document into statements. It drops nothing in
// silence: what RDF cannot say is an error, because a signature would not cover it.
type graphs struct {
	quads []quad
	fresh int
}

// statements gives the quads of an expanded document. The reasons are data_loss and
// too_large.
func statements(expanded []any) ([]quad, error) {
	g := &graphs{}
	for _, node := range expanded {
		if _, err := g.node(node, ""); err != nil {
			return nil, err
		}
	}
	if len(g.quads) == 0 {
		return nil, fail("", "data_loss", "The document says nothing that a signature could cover.")
	}
	return g.quads, nil
}

func (g *graphs) add(q quad) error {
	if len(g.quads) >= maxQuads {
		return fail("", "too_large", "The document makes more than 10,000 statements.")
	}
	g.quads = append(g.quads, q)
	return nil
}

// node adds the statements of a node object to a graph and gives its name.
func (g *graphs) node(v any, graph term) (term, error) {
	m, ok := v.(map[string]any)
	if !ok {
		return "", lost("a value where an object is needed")
	}
	id, err := g.name(m)
	if err != nil {
		return "", err
	}
	for _, key := range sortedKeys(m) {
		switch {
		case key == "@id":
		case key == "@type":
			err = g.types(id, list(m[key]), graph)
		case key == "@graph":
			for _, inner := range list(m[key]) {
				if _, err = g.node(inner, id); err != nil {
					break
				}
			}
		case strings.HasPrefix(key, "@"):
			err = lost("the keyword " + key)
		default:
			err = g.property(id, key, list(m[key]), graph)
		}
		if err != nil {
			return "", err
		}
	}
	return id, nil
}

// name is the node's id as a term, or a new blank node. Names that documents give to
// blank nodes and names made here never clash.
func (g *graphs) name(m map[string]any) (term, error) {
	id, given := m["@id"]
	if !given {
		g.fresh++
		return term("_:n" + strconv.Itoa(g.fresh)), nil
	}
	s, _ := id.(string)
	return resource(s)
}

func resource(s string) (term, error) {
	if label, ok := strings.CutPrefix(s, "_:"); ok {
		if label == "" || strings.ContainsAny(label, " \t\r\n<>\"") {
			return "", lost("the blank node " + s)
		}
		return term("_:d" + label), nil
	}
	if !absolute(s) {
		return "", lost("the relative address " + strconv.Quote(s))
	}
	return term("<" + s + ">"), nil
}

// absolute reports whether s is an address with a scheme that N-Quads can write.
func absolute(s string) bool {
	scheme, rest, ok := strings.Cut(s, ":")
	if !ok || scheme == "" || rest == "" {
		return false
	}
	for i, c := range scheme {
		letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
		if !letter && (i == 0 || !strings.ContainsRune("0123456789+-.", c)) {
			return false
		}
	}
	return !strings.ContainsFunc(s, func(c rune) bool { return c <= ' ' || strings.ContainsRune("<>\"{}|^`\\", c) })
}

func (g *graphs) types(id term, types []any, graph term) error {
	for _, t := range types {
		s, _ := t.(string)
		object, err := resource(s)
		if err != nil {
			return lost("the type " + strconv.Quote(s) + ", which no context defines")
		}
		if err := g.add(quad{id, "<" + rdf + "type>", object, graph}); err != nil {
			return err
		}
	}
	return nil
}

func (g *graphs) property(id term, name string, values []any, graph term) error {
	if strings.HasPrefix(name, "_:") || !absolute(name) {
		return lost("the property " + strconv.Quote(name))
	}
	for _, v := range values {
		if m, ok := v.(map[string]any); ok && name == shownProperty && m["@graph"] == nil {
			v = map[string]any{"@graph": []any{v}}
		}
		object, err := g.object(v, graph)
		if err != nil {
			return err
		}
		if err := g.add(quad{id, term("<" + name + ">"), object, graph}); err != nil {
			return err
		}
	}
	return nil
}

func (g *graphs) object(v any, graph term) (term, error) {
	m, ok := v.(map[string]any)
	if !ok {
		return "", lost("a value that did not expand")
	}
	if _, ok := m["@value"]; ok {
		return literal(m)
	}
	if items, ok := m["@list"]; ok {
		return g.list(list(items), graph)
	}
	return g.node(m, graph)
}

func (g *graphs) list(items []any, graph term) (term, error) {
	if len(items) == 0 {
		return "<" + rdf + "nil>", nil
	}
	object, err := g.object(items[0], graph)
	if err != nil {
		return "", err
	}
	g.fresh++
	cell := term("_:n" + strconv.Itoa(g.fresh))
	if err := g.add(quad{cell, "<" + rdf + "first>", object, graph}); err != nil {
		return "", err
	}
	rest, err := g.list(items[1:], graph)
	if err != nil {
		return "", err
	}
	return cell, g.add(quad{cell, "<" + rdf + "rest>", rest, graph})
}

// literal writes a value object. Numbers and booleans get the types of XML Schema.
func literal(m map[string]any) (term, error) {
	if _, ok := m["@direction"]; ok {
		return "", fail("", directionLost, "A signature by "+RDFC+" would not cover the direction of a text.")
	}
	kind, _ := m["@type"].(string)
	if language, ok := m["@language"].(string); ok {
		s, ok := m["@value"].(string)
		if !ok || !languageTag(language) {
			return "", lost("the language " + strconv.Quote(language))
		}
		return term(quote(s) + "@" + language), nil
	}
	if kind == "@json" {
		raw, err := json.Marshal(m["@value"])
		if err != nil {
			return "", lost("a JSON value")
		}
		c, err := canonical(raw)
		return term(quote(string(c)) + "^^<" + rdf + "JSON>"), err
	}
	s, natural, err := scalar(m["@value"], kind)
	if err != nil {
		return "", err
	}
	if kind == "" {
		kind = natural
	}
	if kind == xsd+"string" {
		return term(quote(s)), nil
	}
	if !absolute(kind) {
		return "", lost("the type " + strconv.Quote(kind))
	}
	return term(quote(s) + "^^<" + kind + ">"), nil
}

func scalar(v any, kind string) (s, natural string, err error) {
	switch v := v.(type) {
	case string:
		return v, xsd + "string", nil
	case bool:
		return strconv.FormatBool(v), xsd + "boolean", nil
	case float64:
		if v == math.Trunc(v) && math.Abs(v) < 1e21 && kind != xsd+"double" {
			return strconv.FormatFloat(v, 'f', 0, 64), xsd + "integer", nil
		}
		return double(v), xsd + "double", nil
	}
	return "", "", lost("a value that is no text, number or truth value")
}

// double is the canonical form of an xsd:double with the 15 decimals of JSON-LD.
func double(v float64) string {
	mantissa, exponent, _ := strings.Cut(strconv.FormatFloat(v, 'E', 15, 64), "E")
	mantissa = strings.TrimRight(mantissa, "0")
	if strings.HasSuffix(mantissa, ".") {
		mantissa += "0"
	}
	n, err := strconv.Atoi(exponent)
	if err != nil {
		n = 0 // FormatFloat always writes one
	}
	return mantissa + "E" + strconv.Itoa(n)
}

func languageTag(s string) bool {
	for i, part := range strings.Split(s, "-") {
		if part == "" || strings.ContainsFunc(part, func(c rune) bool {
			letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
			return !letter && (i == 0 || c < '0' || c > '9')
		}) {
			return false
		}
	}
	return true
}

// quote writes a literal as canonical N-Quads do.
func quote(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, c := range s {
		if short := strings.IndexRune("\b\t\n\f\r\"\\", c); short >= 0 {
			b.WriteByte('\\')
			b.WriteByte("btnfr\"\\"[short])
			continue
		}
		if c < 0x20 || c == 0x7f {
			b.WriteString(`\u00` + strings.ToUpper(strconv.FormatInt(int64(c)+0x100, 16)[1:]))
			continue
		}
		b.WriteRune(c)
	}
	b.WriteByte('"')
	return b.String()
}

func lost(what string) error {
	return fail("", "data_loss", "A signature would not cover "+what+".")
}
