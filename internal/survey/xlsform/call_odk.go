package xlsform

import (
	"fmt"
	"strings"
)

// odkCalls are the functions that our CEL has for forms from elsewhere.
var odkCalls = map[string]translation{
	"pow":       {2, 2, callFunction("math.pow", kNumber)},
	"log":       {1, 1, callFunction("math.log", kNumber)},
	"log10":     {1, 1, callFunction("math.log10", kNumber)},
	"exp":       {1, 1, callFunction("math.exp", kNumber)},
	"sin":       {1, 1, callFunction("math.sin", kNumber)},
	"cos":       {1, 1, callFunction("math.cos", kNumber)},
	"tan":       {1, 1, callFunction("math.tan", kNumber)},
	"asin":      {1, 1, callFunction("math.asin", kNumber)},
	"acos":      {1, 1, callFunction("math.acos", kNumber)},
	"atan":      {1, 1, callFunction("math.atan", kNumber)},
	"atan2":     {2, 2, callFunction("math.atan2", kNumber)},
	"pi":        {0, 0, callFunction("math.pi", kNumber)},
	"exp10":     {1, 1, func(_ *toCEL, a []part) (part, error) { return call("math.pow", kNumber, "10", a[0].text), nil }},
	"translate": {3, 3, callFunction("exchanged", kText)},

	"substring-before": {2, 2, callFunction("before", kText)},
	"substring-after":  {2, 2, callFunction("after", kText)},
	"normalize-space":  {1, 1, callFunction("squeezed", kText)},
	"base64-decode":    {1, 1, callFunction("base64Decoded", kText)},
	"decimal-time":     {1, 1, callFunction("dayFraction", kNumber)},
	"format-date":      {2, 2, callFunction("formatDate", kText)},
	"format-date-time": {2, 2, callFunction("formatDate", kText)},
	"substr":           {2, 3, func(_ *toCEL, a []part) (part, error) { return callPart(a), nil }},
	"substring":        {2, 3, callSubstring},
	"selected-at":      {2, 2, func(_ *toCEL, a []part) (part, error) { return call("item", kAny, a[0].text, a[1].text), nil }},
	"join":             {2, manyArgs, callJoin},
	"digest": {2, 3, func(_ *toCEL, a []part) (part, error) {
		encoding := `"base64"`
		if len(a) > 2 {
			encoding = a[2].text
		}
		return call("digest", kText, a[0].text, a[1].text, encoding), nil
	}},
	"boolean-from-string": {1, 1, func(_ *toCEL, a []part) (part, error) {
		return part{text: text(a[0]).in(pAdd) + ` in ["true", "1"]`, prec: pRelation, kind: kBool}, nil
	}},
	"checklist": {3, manyArgs, func(c *toCEL, a []part) (part, error) {
		var points []string
		for _, p := range a[2:] {
			points = append(points, c.truth(p).in(pOr)+" ? 1 : 0")
		}
		return between(a[0], a[1], points), nil
	}},
	"weighted-checklist": {4, manyArgs, func(c *toCEL, a []part) (part, error) {
		var points []string
		for i := 2; i+1 < len(a); i += 2 {
			weight, err := number(a[i+1])
			if err != nil {
				return part{}, err
			}
			points = append(points, c.truth(a[i]).in(pOr)+" ? double("+weight.text+") : 0.0")
		}
		return between(a[0], a[1], points), nil
	}},
	"area":     {1, 1, callMeasure("area")},
	"distance": {1, manyArgs, callMeasure("distance")},
	"geofence": {2, 2, func(_ *toCEL, a []part) (part, error) { return call("inside", kBool, a[0].text, a[1].text), nil }},
	"uuid":     {0, 1, func(c *toCEL, _ []part) (part, error) { return call("uuid", kText, c.seed()), nil }},
	"random":   {0, 0, func(c *toCEL, _ []part) (part, error) { return call("random", kNumber, c.seed()), nil }},
}

// callFunction calls a function of ours with the same arguments, which it takes
// whatever they are.
func callFunction(name string, k kind) func(*toCEL, []part) (part, error) {
	return func(_ *toCEL, a []part) (part, error) {
		args := make([]string, len(a))
		for i, p := range a {
			if p.nodes {
				p = first(p)
			}
			args[i] = p.text
		}
		return call(name, k, args...), nil
	}
}

// callMeasure measures a line or an area: an answer, the answers of a repeat, or
// several places.
func callMeasure(name string) func(*toCEL, []part) (part, error) {
	return func(_ *toCEL, a []part) (part, error) {
		if len(a) == 1 {
			return call(name, kNumber, a[0].text), nil
		}
		all := make([]string, len(a))
		for i, p := range a {
			all[i] = "dyn(" + p.text + ")"
		}
		return call(name, kNumber, "["+strings.Join(all, ", ")+"]"), nil
	}
}

// seed is a text that is another one for each place of each response, and the
// same whenever the response is looked at.
func (c *toCEL) seed() string {
	c.seeds++
	place := "calculation"
	if c.from != nil {
		place = c.from.id
	}
	out := fmt.Sprintf("text(response.id) + %s", quoteCEL(fmt.Sprintf("/%s/%d", place, c.seeds)))
	if c.from != nil && c.from.repeat() != nil {
		out += ` + "/" + string(index)`
	}
	return out
}

// callExtreme is the least or greatest of several values, or of the answers of a
// repeat.
func callExtreme(several, list string) func(*toCEL, []part) (part, error) {
	return func(c *toCEL, a []part) (part, error) {
		if len(a) > 1 {
			args := make([]string, len(a))
			for i, p := range a {
				if args[i] = p.text; p.nodes {
					return part{}, cannot("a function takes one repeat or several values")
				}
			}
			return callMath(strings.TrimPrefix(several, "math."))(c, a)
		}
		if a[0].kind != kList {
			return number(a[0])
		}
		return call(list, kNumber, a[0].text), nil
	}
}

func callPart(a []part) part {
	end := "null"
	if len(a) > 2 {
		end = a[2].text
	}
	return call("part", kText, a[0].text, a[1].text, end)
}

// callSubstring is the one of XPath, which counts from 1 and takes a length.
func callSubstring(_ *toCEL, a []part) (part, error) {
	from, err := number(a[1])
	if err != nil {
		return part{}, err
	}
	out := []part{a[0], {text: from.in(pAdd) + " - 1"}}
	if len(a) > 2 {
		length, err := number(a[2])
		if err != nil {
			return part{}, err
		}
		out = append(out, part{text: from.in(pAdd) + " - 1 + " + length.in(pMultiply)})
	}
	return callPart(out), nil
}

// callJoin joins the answers of a repeat, or several values.
func callJoin(_ *toCEL, a []part) (part, error) {
	if len(a) == 2 && a[1].kind == kList {
		return call("joined", kText, a[1].text, a[0].text), nil
	}
	var all []string
	for _, p := range a[1:] {
		if p.nodes {
			return part{}, cannot("join() takes one repeat or several values")
		}
		all = append(all, text(p).text)
	}
	return call("joined", kText, "["+strings.Join(all, ", ")+"]", a[0].text), nil
}

// between reports whether the sum of points is between two bounds; -1 means no
// bound.
func between(least, most part, points []string) part {
	sum := "sum([" + strings.Join(points, ", ") + "])"
	out := "true"
	if least.text != "-1" {
		out = sum + " >= " + least.in(pAdd)
	}
	if most.text != "-1" {
		out += " && " + sum + " <= " + most.in(pAdd)
	}
	return part{text: out, prec: pAnd, kind: kBool}
}
