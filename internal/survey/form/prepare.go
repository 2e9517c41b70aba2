package form

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"unicode/utf16"

	"github.com/hearth-dmrv/hearth/internal/survey/expr"
)

// prepare fixes what the answers of a question are compared with.
func (c *compiler) prepare(n *node) {
	q, v := n.q, n.q.Validation
	n.min, n.max = math.Inf(-1), math.Inf(1)
	if q.Type == Rating {
		n.min, n.max = 1, 5
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
	if q.Type == Repeat {
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
	c.prepareShape(n)
}

// prepareShape declares the members of answers that are objects.
func (c *compiler) prepareShape(n *node) {
	name := fmt.Sprintf("v%d", len(c.nodes))
	switch n.q.Type {
	case Geo:
		n.shape = c.shape(name)
		for _, member := range geoMembers {
			n.shape.Add(member, expr.Number)
		}
	case Quantity:
		n.shape = c.shape(name)
		n.shape.Add("unit", expr.Text)
		n.shape.Add("value", expr.Number)
	case Matrix:
		n.shape = c.shape(name)
		for _, r := range n.q.Rows {
			n.rowOrder = append(n.rowOrder, r.Value)
		}
		slices.SortFunc(n.rowOrder, compareUTF16)
		n.rows = make(map[string]int, len(n.rowOrder))
		for i, row := range n.rowOrder {
			n.rows[row] = i
			n.shape.Add(row, expr.Text)
		}
	}
}

// geoMembers are the members of a place in canonical order.
var geoMembers = [...]string{"accuracy", "altitude", "lat", "lon"}

// compareUTF16 orders names as RFC 8785 does.
func compareUTF16(a, b string) int {
	return slices.Compare(utf16.Encode([]rune(a)), utf16.Encode([]rune(b)))
}

// typeOf is the type of a question's answer in expressions.
func (c *compiler) typeOf(n *node) expr.Type {
	switch n.q.Type {
	case Number, Integer, Rating:
		return expr.Number
	case Boolean, Consent:
		return expr.Boolean
	case MultipleChoice, Rank:
		return expr.Texts
	case Date, DateTime:
		return expr.Instant
	case Geo, Quantity, Matrix:
		return expr.RecordOf(n.shape)
	case Group:
		return expr.RecordOf(n.kids.shape)
	case Repeat:
		return expr.ListOf(n.kids.shape)
	case Calculate, Note:
		return expr.Any
	}
	return expr.Text
}
