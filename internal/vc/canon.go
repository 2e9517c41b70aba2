package vc

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strconv"
	"strings"

	"github.com/hearth-dmrv/hearth/internal/order"
)

// maxSteps bounds how many hashes the canonicalisation of all graphs of one verification
// may take beyond the first of each blank node. Credentials need none or a few; graphs
// made to be hard need factorially many, for each proof and each credential presented.
const maxSteps = 20_000

// budget is what one verification, or one signature, may still spend.
type budget struct{ steps int }

func newBudget() *budget { return &budget{maxSteps} }

// term is a node of a quad as N-Quads write it; a blank node is "_:" and its name.
type term string

func (t term) blank() bool { return strings.HasPrefix(string(t), "_:") }

// quad is a statement. Graph is "" for the default graph.
type quad struct{ subject, predicate, object, graph term }

func (q quad) blanks() []term {
	var out []term
	for _, t := range []term{q.subject, q.object, q.graph} {
		if t.blank() {
			out = append(out, t)
		}
	}
	return out
}

// line writes q with blank nodes as name says.
func (q quad) line(name func(term) term) string {
	var b strings.Builder
	for i, t := range []term{q.subject, q.predicate, q.object, q.graph} {
		if i == 3 && t == "" {
			break
		}
		if t.blank() {
			t = name(t)
		}
		b.WriteString(string(t))
		b.WriteByte(' ')
	}
	b.WriteString(".\n")
	return b.String()
}

// issuer gives blank nodes new names in the order they are asked for.
type issuer struct {
	prefix string
	names  map[term]term
	order  []term
}

func newIssuer(prefix string) *issuer { return &issuer{prefix: prefix, names: map[term]term{}} }

func (i *issuer) issue(t term) term {
	if name, ok := i.names[t]; ok {
		return name
	}
	name := term("_:" + i.prefix + strconv.Itoa(len(i.order)))
	i.names[t], i.order = name, append(i.order, t)
	return name
}

func (i *issuer) clone() *issuer {
	names := make(map[term]term, len(i.names))
	for k, v := range i.names {
		names[k] = v
	}
	return &issuer{prefix: i.prefix, names: names, order: slices.Clone(i.order)}
}

// canon is the state of RDFC-1.0 (W3C RDF Dataset Canonicalization).
type canon struct {
	of    map[term][]quad // the quads of each blank node
	first map[term]string // hashes of first degree
	names *issuer         // the canonical ones
	left  *budget
}

// canonicalise writes quads as canonical N-Quads. The reason is graph_too_complex.
func canonicalise(quads []quad, left *budget) (string, error) {
	c := &canon{of: map[term][]quad{}, first: map[term]string{}, names: newIssuer("c14n"), left: left}
	for _, q := range quads {
		blanks := q.blanks()
		for i, t := range blanks {
			if !slices.Contains(blanks[:i], t) {
				c.of[t] = append(c.of[t], q)
			}
		}
	}
	if err := c.name(); err != nil {
		return "", err
	}
	lines := make([]string, len(quads))
	for i, q := range quads {
		lines[i] = q.line(c.names.issue)
	}
	slices.Sort(lines)
	return strings.Join(slices.Compact(lines), ""), nil
}

// name issues the canonical names: first to nodes that differ by their own quads,
// then to those that differ by their neighbours.
func (c *canon) name() error {
	same := map[string][]term{}
	for t := range c.of {
		h := c.firstDegree(t)
		same[h] = append(same[h], t)
	}
	hashes := sortedKeys(same)
	for _, h := range hashes {
		if nodes := same[h]; len(nodes) == 1 {
			c.names.issue(nodes[0])
		}
	}
	for _, h := range hashes {
		nodes := same[h]
		if len(nodes) == 1 {
			continue
		}
		slices.Sort(nodes)
		var paths []path
		for _, t := range nodes {
			if _, done := c.names.names[t]; done {
				continue
			}
			temporary := newIssuer("b")
			temporary.issue(t)
			p, err := c.manyDegrees(t, temporary)
			if err != nil {
				return err
			}
			paths = append(paths, p)
		}
		order.Stable(paths, func(a, b path) int { return strings.Compare(a.hash, b.hash) })
		for _, p := range paths {
			for _, t := range p.names.order {
				c.names.issue(t)
			}
		}
	}
	return nil
}

// path is the way through the neighbours of a node, and the names given on it.
type path struct {
	hash  string
	names *issuer
}

func (c *canon) firstDegree(t term) string {
	if h, ok := c.first[t]; ok {
		return h
	}
	lines := make([]string, len(c.of[t]))
	for i, q := range c.of[t] {
		lines[i] = q.line(func(other term) term {
			if other == t {
				return "_:a"
			}
			return "_:z"
		})
	}
	slices.Sort(lines)
	h := digest(strings.Join(lines, ""))
	c.first[t] = h
	return h
}

// spend counts a step, and the cost of copying the names given so far.
func (c *canon) spend(names *issuer) error {
	if c.left.steps -= 1 + len(names.order)/16; c.left.steps < 0 {
		return fail("", "graph_too_complex", "The document's blank nodes are too alike to be put in an order at a reasonable cost.")
	}
	return nil
}

func (c *canon) related(t term, q quad, names *issuer, position string) string {
	in := position
	if position != "g" {
		in += string(q.predicate)
	}
	switch name, known := c.names.names[t]; {
	case known:
		in += string(name)
	case names.names[t] != "":
		in += string(names.names[t])
	default:
		in += c.firstDegree(t)
	}
	return digest(in)
}

// manyDegrees is the Hash N-Degree Quads algorithm: it distinguishes nodes by
// their neighbours, trying every order of neighbours that look the same.
func (c *canon) manyDegrees(t term, names *issuer) (path, error) {
	neighbours := map[string][]term{}
	for _, q := range c.of[t] {
		for i, other := range []term{q.subject, q.object, q.graph} {
			if !other.blank() || other == t {
				continue
			}
			if err := c.spend(names); err != nil {
				return path{}, err
			}
			h := c.related(other, q, names, []string{"s", "o", "g"}[i])
			neighbours[h] = append(neighbours[h], other)
		}
	}
	var data strings.Builder
	for _, h := range sortedKeys(neighbours) {
		data.WriteString(h)
		chosen, chosenNames := "", (*issuer)(nil)
		err := permute(neighbours[h], func(order []term) error {
			text, with, err := c.try(order, names.clone(), chosen)
			if err == nil && text != "" && (chosen == "" || text < chosen) {
				chosen, chosenNames = text, with
			}
			return err
		})
		if err != nil {
			return path{}, err
		}
		data.WriteString(chosen)
		names = chosenNames
	}
	return path{digest(data.String()), names}, nil
}

// try walks neighbours in one order. It gives up, with "", once the way is longer or
// later than the best so far.
func (c *canon) try(order []term, names *issuer, best string) (string, *issuer, error) {
	worse := func(p string) bool { return best != "" && len(p) >= len(best) && p > best }
	way := ""
	var deeper []term
	if err := c.spend(names); err != nil {
		return "", nil, err
	}
	for _, t := range order {
		if name, known := c.names.names[t]; known {
			way += string(name)
		} else {
			if _, known := names.names[t]; !known {
				deeper = append(deeper, t)
			}
			way += string(names.issue(t))
		}
		if worse(way) {
			return "", nil, nil
		}
	}
	for _, t := range deeper {
		p, err := c.manyDegrees(t, names)
		if err != nil {
			return "", nil, err
		}
		way += string(names.issue(t)) + "<" + p.hash + ">"
		names = p.names
		if worse(way) {
			return "", nil, nil
		}
	}
	return way, names, nil
}

// permute calls visit with every order of items, until it fails.
func permute(items []term, visit func([]term) error) error {
	items = slices.Clone(items)
	slices.Sort(items)
	for {
		if err := visit(slices.Clone(items)); err != nil {
			return err
		}
		i := len(items) - 2
		for i >= 0 && items[i] >= items[i+1] {
			i--
		}
		if i < 0 {
			return nil
		}
		j := len(items) - 1
		for items[j] <= items[i] {
			j--
		}
		items[i], items[j] = items[j], items[i]
		slices.Reverse(items[i+1:])
	}
}

func digest(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:])
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
