package form

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"unicode/utf16"

	"github.com/hearth-dmrv/hearth/internal/cel"
)

// prepare fixes what the answers of a question are compared with.
func (c *compiler) prepare(n *node) {
	q, v := n.q, n.q.Validation
	n.min, n.max = math.Inf(-1), math.Inf(1)
	if n.kind.high > 0 {
		n.min, n.max = n.kind.low, n.kind.high
	}
	if v.Min != nil {
		n.min = *v.Min
	}
	if v.Max != nil {
		n.max = *v.Max
	}
	n.most = MaxText
	if v.MaxLength > 0 {
		n.most = v.MaxLength
	}
	if n.kind.Repeated {
		n.most = cmp.Or(q.MaxRepeats, MaxRepeats)
	}
	n.pattern = c.patterns[v.Regex]
	if len(q.Options) > 0 {
		n.options = make(map[string]*choice, len(q.Options))
		for i := range q.Options {
			o := &q.Options[i]
			n.options[o.Value] = &choice{value: o.Value, exclusive: o.Exclusive, canonical: quote(nil, o.Value)}
		}
	}
	n.file = c.fromFile(q)
	c.prepareFilter(n)
	c.prepareShape(n)
}

// prepareShape declares the members of answers that are objects: a text for
// each row, or the parts of the kind.
func (c *compiler) prepareShape(n *node) {
	if !n.kind.Rows && len(n.kind.Parts) == 0 {
		return
	}
	n.shape = c.shape(fmt.Sprintf("v%d", len(c.nodes)))
	for _, p := range n.kind.Parts {
		n.shape.Add(p.Name, KindOf(p.Type).CEL)
	}
	for _, r := range n.q.Rows {
		n.rowOrder = append(n.rowOrder, r.Value)
	}
	slices.SortFunc(n.rowOrder, compareUTF16)
	n.rows = make(map[string]int, len(n.rowOrder))
	for i, row := range n.rowOrder {
		n.rows[row] = i
		n.shape.Add(row, cel.Text)
	}
}

// compareUTF16 orders names as RFC 8785 does.
func compareUTF16(a, b string) int {
	return slices.Compare(utf16.Encode([]rune(a)), utf16.Encode([]rune(b)))
}

// typeOf is the type of a question's answer in expressions.
func (n *node) typeOf() cel.Type {
	switch {
	case n.kind.Repeated:
		return cel.ListOf(n.kids.shape)
	case n.kind.Nested:
		return cel.RecordOf(n.kids.shape)
	case n.shape != nil:
		return cel.RecordOf(n.shape)
	}
	return n.kind.CEL
}
