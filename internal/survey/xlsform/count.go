package xlsform

import "strings"

// In XLSForm an expression says how often a group is repeated. Here it is a
// constraint of the repeat:
//
//	count(people) == coalesce(size, 0)

const countMiddle, countEnd = ") == coalesce(", ", 0)"

// CountToCEL translates the repeat count of a group: the constraint, and the
// condition for at least one element. The error is that of ToCEL.
func (n *Names) CountToCEL(text string, at *Named) (constraint, some string, err error) {
	c := &toCEL{names: n, from: at}
	p, err := c.parse(text)
	if err != nil {
		return "", "", err
	}
	if p.nodes {
		return "", "", cannot("the number of elements stands in a repeat itself")
	}
	if p, err = number(p); err != nil {
		return "", "", err
	}
	self, list, err := n.cel(at, at)
	if err != nil || list {
		return "", "", cannot("the repeat has no name here")
	}
	return "count(" + self + countMiddle + p.text + countEnd, p.in(pAdd) + " > 0", nil
}

// Count recognises a constraint that CountToCEL makes, and returns its
// expression in XLSForm; "" for any other constraint.
func (n *Names) Count(cel string, at *Named) string {
	self, _, err := n.cel(at, at)
	if err != nil {
		return ""
	}
	inner, begins := strings.CutPrefix(cel, "count("+self+countMiddle)
	inner, ends := strings.CutSuffix(inner, countEnd)
	if !begins || !ends {
		return ""
	}
	if n.exact() {
		plain := *n
		plain.root = ""
		if plain.Count(cel, at) == "" {
			return ""
		}
		text, err := n.FromCEL(inner, Place{At: at}, Value)
		if err != nil {
			return ""
		}
		return text
	}
	used := map[string]bool{}
	text, err := n.FromCEL(inner, Place{At: at, Used: used}, Value)
	if err != nil || len(used) > 0 {
		return ""
	}
	if back, _, err := n.CountToCEL(text, at); err != nil || back != cel {
		return ""
	}
	return text
}
