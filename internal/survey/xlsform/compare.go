package xlsform

import "strings"

// compare translates a comparison. XPath turns the two sides into what they
// can be compared as; in CEL they must be so already.
func (c *toCEL) compare(op string, l, r part) (part, error) {
	if l.missing || r.missing {
		return part{text: "false", prec: pPrimary, kind: kBool}, nil
	}
	if l.isLit && !r.isLit {
		l, r, op = r, l, mirrored(op)
	}
	equality := op == "=" || op == "!="
	if equality && r.kind == kEmpty {
		p := part{text: "answered(" + l.text + ")", prec: pPrimary, kind: kBool}
		if op == "=" {
			p = part{text: "!" + p.text, prec: pUnary, kind: kBool}
		}
		return p, nil
	}
	if l.nodes && equality {
		return c.someEqual(op, l, r)
	}
	l, r, err := c.level(l, r, equality)
	if err != nil {
		return part{}, err
	}
	out := part{text: l.in(pAdd) + " " + relations[op] + " " + r.in(pAdd), prec: pRelation, kind: kBool}
	if c.guarded && (!equality || l.prec < pPrimary || r.prec < pPrimary) {
		return call("holds", kBool, out.text), nil
	}
	return out, nil
}

func mirrored(op string) string {
	switch op {
	case "<":
		return ">"
	case "<=":
		return ">="
	case ">":
		return "<"
	case ">=":
		return "<="
	}
	return op
}

// level makes both sides of a comparison the same kind.
func (c *toCEL) level(l, r part, equality bool) (part, part, error) {
	var err error
	switch {
	case l.kind == kBool || r.kind == kBool:
		return c.levelBools(l, r, equality)
	case l.kind == kList && r.isLit && equality:
		r = part{text: "[" + c.choice(l, r).text + "]", prec: pPrimary, kind: kList}
	case l.name != nil && r.isLit && equality && l.kind == kText:
		r = c.choice(l, r)
	case equality && (l.kind == kAny && r.kind == kNumber || r.kind == kAny && l.kind == kNumber):
		if l, err = number(l); err == nil {
			r, err = number(r)
		}
	case equality && (l.kind == kAny) != (r.kind == kAny) && !(isTime(l) || isTime(r)) && l.kind != kList && r.kind != kList:
		l, r = text(l), text(r)
	case isTime(l) || isTime(r):
		if l, err = moment(l); err == nil {
			r, err = moment(r)
		}
	case l.kind == kList || r.kind == kList:
		return l, r, cannot("a list can only be compared with one choice")
	case equality && (l.kind == r.kind || l.kind == kAny || r.kind == kAny || l.kind == kText && r.kind == kText):
	case l.kind == kText && l.name != nil && l.name.kind.Clock && r.kind == kText:
	default:
		if l, err = number(l); err == nil {
			r, err = number(r)
		}
	}
	return l, r, err
}

func (c *toCEL) levelBools(l, r part, equality bool) (part, part, error) {
	if !equality {
		return l, r, cannot("true and false have no order")
	}
	l, r = boolLiteral(l), boolLiteral(r)
	if l.kind != kBool {
		l = c.truth(l)
	}
	if r.kind != kBool {
		r = c.truth(r)
	}
	return l, r, nil
}

func isTime(p part) bool { return p.kind == kDate || p.kind == kMoment }

// boolLiteral takes what XLSForm writes for yes and no.
func boolLiteral(p part) part {
	if !p.isLit {
		return p
	}
	switch strings.ToLower(p.literal) {
	case "true", "ok", "yes", "1":
		return part{text: "true", prec: pPrimary, kind: kBool}
	case "false", "no", "0":
		return part{text: "false", prec: pPrimary, kind: kBool}
	}
	return p
}

// choice is the value of a choice that l is compared with.
func (c *toCEL) choice(l, r part) part {
	value := r.literal
	if l.name != nil {
		if v, ok := l.name.values[value]; ok {
			value = v
		}
	}
	return textPart(value)
}
