package xlsform

import (
	"slices"
	"strings"

	"cel.dev/cel-go/common/operators"
)

// compare translates a comparison: boolean answers are one of two choices, and
// choices may have other names.
func (x *toXPath) compare(op string, l, r xpart) (xpart, error) {
	prec := xpOrder
	if op == "=" || op == "!=" {
		prec = xpEqual
		l, r = choiceName(l, r), choiceName(r, l)
	}
	if prec == xpOrder && x.names.exact() && (isText(l) || isText(r)) {
		return xpart{}, cannot("texts have no order there")
	}
	if l.kind == kList && l.name == nil || r.kind == kList && r.name == nil || l.kind == kList && r.kind == kList {
		return xpart{}, cannot("lists cannot be compared")
	}
	if l.name != nil && (l.kind == kList || l.typeless()) && r.kind != kEmpty || r.name != nil && (r.kind == kList || r.typeless()) && l.kind != kEmpty {
		return xpart{}, cannot("this kind of answer cannot be compared")
	}
	return xpart{text: l.in(prec) + " " + op + " " + r.in(prec+1), prec: prec, kind: kBool}, nil
}

// typeless reports whether the answer of a question is not a single value.
func (p xpart) typeless() bool { return p.name != nil && len(p.name.kids) > 0 }

// choiceName converts p to the form in which it is compared with the answer
// other.
func choiceName(p, other xpart) xpart {
	if other.name == nil {
		return p
	}
	if other.kind == kBool && p.kind == kBool && p.name == nil && strings.HasSuffix(p.text, "()") {
		return xpart{text: "'" + strings.TrimSuffix(p.text, "()") + "'", prec: xpPrimary, kind: kText}
	}
	if p.isLit && p.kind == kText {
		if name, ok := other.name.names[p.value]; ok {
			return literalText(name)
		}
	}
	return p
}

func (x *toXPath) arithmetic(op string, l, r xpart) (xpart, error) {
	if op == "+" && (isText(l) || isText(r)) {
		return xpart{text: "concat(" + flat(l) + ", " + flat(r) + ")", prec: xpPrimary, kind: kText}.needing(l, r), nil
	}
	for _, p := range []xpart{l, r} {
		if p.kind != kNumber && p.kind != kAny {
			return xpart{}, cannot("only numbers can be calculated with")
		}
	}
	prec := xpMultiply
	if op == "+" || op == "-" {
		prec = xpAdd
	}
	// A minus next to a name would be a part of the name, but names end in }.
	return xpart{text: l.in(prec) + " " + op + " " + r.in(prec+1), prec: prec, kind: kNumber}, nil
}

func isText(p xpart) bool {
	return p.kind == kText || p.kind == kEmpty
}

// flat gives the arguments of a concat inside a concat.
func flat(p xpart) string {
	if inner, ok := strings.CutPrefix(p.text, "concat("); ok && p.kind == kText && !p.isLit && p.prec == xpPrimary {
		return strings.TrimSuffix(inner, ")")
	}
	return p.text
}

// xFunctions are the functions that have a name in XPath and the same
// arguments; a dot in front marks methods.
var xFunctions = map[string]struct {
	name string
	args int
	kind kind
}{
	"coalesce": {"coalesce", 2, kAny}, "sum": {"sum", 1, kNumber}, "int": {"int", 1, kNumber}, "math.round": {"round", 1, kNumber},
	"math.floor": {"floor", 1, kNumber}, "math.ceil": {"ceiling", 1, kNumber}, "math.abs": {"abs", 1, kNumber}, "math.sqrt": {"sqrt", 1, kNumber},
	".startsWith": {"starts-with", 2, kBool}, ".endsWith": {"ends-with", 2, kBool}, ".contains": {"contains", 2, kBool},
	"math.least": {"min", -1, kNumber}, "math.greatest": {"max", -1, kNumber}, "math.pow": {"pow", 2, kNumber}, "math.atan2": {"atan2", 2, kNumber}, "math.pi": {"pi", 0, kNumber},
	"math.log": {"log", 1, kNumber}, "math.log10": {"log10", 1, kNumber}, "math.exp": {"exp", 1, kNumber}, "math.sin": {"sin", 1, kNumber}, "math.cos": {"cos", 1, kNumber},
	"math.tan": {"tan", 1, kNumber}, "math.asin": {"asin", 1, kNumber}, "math.acos": {"acos", 1, kNumber}, "math.atan": {"atan", 1, kNumber}, "roundTo": {"round", 2, kNumber},
	"before": {"substring-before", 2, kText}, "after": {"substring-after", 2, kText}, "exchanged": {"translate", 3, kText}, "squeezed": {"normalize-space", 1, kText},
	"base64Decoded": {"base64-decode", 1, kText}, "formatDate": {"format-date-time", 2, kText}, "digest": {"digest", 3, kText}, "area": {"area", 1, kNumber}, "distance": {"distance", 1, kNumber}, "inside": {"geofence", 2, kBool}, "day": {"date", 1, kDate}, "moment": {"date-time", 1, kMoment},
}

// lists are the functions that take the answers of a repeat.
var lists = map[string]string{"total": "sum", "lowest": "min", "highest": "max"}

// converted translates the functions that take a value whatever it is.
func (x *toXPath) converted(name string, args []xpart) (xpart, bool) {
	if len(args) == 0 || len(args) > 2 {
		return xpart{}, false
	}
	a := args[0]
	switch {
	case name == "holds":
		return a, true
	case name == "text" && (isText(a) || a.kind == kList):
		return xpart{text: a.text, prec: a.prec, kind: kText, isLit: a.isLit, value: a.value}, true
	case name == "text":
		return xcall("string", kText, a), true
	case name == "number":
		return xcall("number", kNumber, a), true
	case lists[name] != "" && a.kind == kList:
		return xcall(lists[name], kNumber, a), true
	case name == "joined" && a.kind == kList && a.name == nil:
		return xcall("join", kText, args[1], a), true
	case name == "joined" && a.kind == kList && args[1].value == " ":
		return xpart{text: a.text, prec: xpPrimary, kind: kText}, true
	case name == "item" && a.kind == kList && a.name != nil && !a.name.kind.Repeated:
		return xcall("selected-at", kAny, args...), true
	case name == "dayFraction":
		return xcall("decimal-time", kNumber, a), true
	}
	return xpart{}, false
}

func xcall(name string, k kind, args ...xpart) xpart {
	texts := make([]string, len(args))
	for i, a := range args {
		texts[i] = a.text
	}
	return xpart{text: name + "(" + strings.Join(texts, ", ") + ")", prec: xpPrimary, kind: k}
}

// function translates a call.
func (x *toXPath) function(name string, args []xpart) (xpart, error) {
	switch {
	case name == operators.LogicalAnd && len(args) == 2:
		return xpart{text: x.truth(args[0]).in(xpAnd) + " and " + x.truth(args[1]).in(xpEqual), prec: xpAnd, kind: kBool}, nil
	case name == operators.LogicalOr && len(args) == 2:
		return xpart{text: x.truth(args[0]).in(xpOr) + " or " + x.truth(args[1]).in(xpAnd), prec: xpOr, kind: kBool}, nil
	case name == operators.LogicalNot:
		if t := args[0].text; args[0].kind == kBool && strings.HasSuffix(t, " != ''") && args[0].prec == xpEqual {
			return xpart{text: strings.TrimSuffix(t, " != ''") + " = ''", prec: xpEqual, kind: kBool}, nil
		}
		return xcall("not", kBool, x.truth(args[0])), nil
	case name == operators.Negate && args[0].kind == kNumber:
		return xpart{text: "-" + args[0].in(xpPrimary), prec: xpUnary, kind: kNumber}, nil
	case name == operators.Conditional:
		k := args[1].kind
		if k != args[2].kind {
			k = kAny
		}
		return xcall("if", k, x.truth(args[0]), args[1], args[2]), nil
	case name == "answered" && len(args) == 1:
		return xpart{text: args[0].in(xpOrder) + " != ''", prec: xpEqual, kind: kBool}, nil
	}
	return x.plainFunction(name, args)
}

func (x *toXPath) plainFunction(name string, args []xpart) (xpart, error) {
	if f, ok := xFunctions[name]; ok && (f.args == len(args) || f.args < 0) {
		if f.kind == kNumber && name != "sum" && slices.ContainsFunc(args, func(a xpart) bool { return a.kind != kNumber && a.kind != kAny }) {
			return xpart{}, cannot("%s() has no equivalent here", strings.TrimPrefix(name, "math."))
		}
		return xcall(f.name, f.kind, args...), nil
	}
	if p, ok := x.converted(name, args); ok {
		return p, nil
	}
	switch {
	case name == "selected" && len(args) == 2 && args[0].kind != kBool:
		return xcall("selected", kBool, args[0], choiceName(args[1], args[0])), nil
	case name == "count" && len(args) == 1 && args[0].kind == kList && args[0].name != nil && !args[0].name.kind.Repeated:
		return xcall("count-selected", kNumber, args[0]), nil
	case name == "count" && len(args) == 1 && args[0].kind == kList:
		return xcall("count", kNumber, args[0]), nil
	case (name == "size" || name == ".size") && len(args) == 1 && isText(args[0]):
		return xcall("string-length", kNumber, args[0]), nil
	case (name == "size" || name == ".size") && len(args) == 1 && args[0].kind == kList:
		return x.plainFunction("count", args)
	case name == "dyn" && len(args) == 1:
		return args[0], nil
	case name == "string" && len(args) == 1 && args[0].kind == kNumber:
		return xcall("string", kText, args...), nil
	case name == "double" && len(args) == 1 && args[0].kind == kNumber:
		return args[0], nil
	case name == "double" && len(args) == 1 && args[0].kind == kText:
		return xcall("number", kNumber, args...), nil
	case (name == "matches" || name == ".matches") && len(args) == 2 && args[1].isLit:
		return x.regex(args[0], args[1].value)
	case name == ".join" && len(args) == 2 && args[0].kind == kList && args[1].value == " ":
		return xpart{text: args[0].text, prec: xpPrimary, kind: kText}, nil
	}
	return xpart{}, cannot("the function %s() has no equivalent", shorten(strings.TrimLeft(name, "._@!?:-*/%<=>&|[")))
}

// regex says that a text has a regular expression in it. Some programs look for it
// anywhere and others want the whole text: where it must be exact it says both ends.
func (x *toXPath) regex(text xpart, re string) (xpart, error) {
	re = searching(re)
	if x.names.exact() {
		whole, ok := pattern(re)
		if !ok {
			return xpart{}, cannot("the regular expression says something that other programs do not know")
		}
		re = whole
	}
	return xcall("regex", kBool, text, literalText(re)), nil
}

// searching makes a regular expression match a whole text that it is found in.
func searching(re string) string {
	if inner, ok := strings.CutPrefix(re, "^(?:"); ok && strings.HasSuffix(inner, ")$") {
		return strings.TrimSuffix(inner, ")$")
	}
	start, end := `[\s\S]*`, `[\s\S]*`
	if rest, ok := strings.CutPrefix(re, "^"); ok {
		re, start = rest, ""
	}
	if rest, ok := strings.CutSuffix(re, "$"); ok && !strings.HasSuffix(rest, `\`) {
		re, end = rest, ""
	}
	if start == "" && end == "" && !strings.Contains(re, "|") {
		return re
	}
	return start + "(?:" + re + ")" + end
}
