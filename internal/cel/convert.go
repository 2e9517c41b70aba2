package cel

import (
	"math"
	"math/big"
	"strconv"
	"strings"
	"time"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/common/types/traits"
)

// conversions are the functions that take whatever a value is, as the
// expressions of other questionnaires do: a missing answer is an empty text, and
// no number.
func conversions() []cel.EnvOption {
	dyn, list := cel.DynType, cel.ListType(cel.DynType)
	text, number, moment := cel.StringType, cel.DoubleType, cel.TimestampType
	return []cel.EnvOption{
		cel.Function("text", cel.Overload("text_dyn", []*cel.Type{dyn}, text, cel.UnaryBinding(func(v ref.Val) ref.Val { return types.String(asText(v)) }))),
		cel.Function("number", cel.Overload("number_dyn", []*cel.Type{dyn}, number, cel.UnaryBinding(func(v ref.Val) ref.Val { return types.Double(asNumber(v)) }))),
		cel.Function("moment", cel.Overload("moment_dyn", []*cel.Type{dyn}, moment, cel.UnaryBinding(asMoment))),
		cel.Function("day", cel.Overload("day_dyn", []*cel.Type{dyn}, moment, cel.UnaryBinding(func(v ref.Val) ref.Val {
			if t, ok := asMoment(v).(types.Timestamp); ok {
				return types.Timestamp{Time: t.UTC().Truncate(dayLength)}
			}
			return types.NewErr("the value is not a day")
		}))),
		cel.Function("holds", cel.Overload("holds_bool", []*cel.Type{cel.BoolType}, cel.BoolType, cel.OverloadIsNonStrict(), cel.UnaryBinding(func(v ref.Val) ref.Val {
			return types.Bool(v == types.True)
		}))),
		cel.Function("item", cel.Overload("item_dyn_dyn", []*cel.Type{dyn, dyn}, dyn, cel.BinaryBinding(item))),
		cel.Function("total", cel.Overload("total_list", []*cel.Type{list}, number, cel.UnaryBinding(fold(0, func(a, b float64) float64 { return a + b })))),
		cel.Function("lowest", cel.Overload("lowest_list", []*cel.Type{list}, number, cel.UnaryBinding(fold(math.Inf(1), math.Min)))),
		cel.Function("highest", cel.Overload("highest_list", []*cel.Type{list}, number, cel.UnaryBinding(fold(math.Inf(-1), math.Max)))),
		cel.Function("joined", cel.Overload("joined_list_string", []*cel.Type{list, text}, text, cel.BinaryBinding(joined))),
	}
}

const dayLength = 24 * time.Hour

// asText is a value as XPath writes it.
func asText(v ref.Val) string {
	switch v := v.(type) {
	case types.String:
		return string(v)
	case types.Double:
		if math.IsNaN(float64(v)) {
			return "NaN"
		}
		return strconv.FormatFloat(float64(v), 'f', -1, 64)
	case types.Int:
		return strconv.FormatInt(int64(v), 10)
	case types.Bool:
		return strconv.FormatBool(bool(v))
	case types.Timestamp:
		return v.UTC().Format(time.RFC3339)
	case traits.Lister:
		all, _ := Elements(v)
		return joinTexts(all, " ")
	}
	return ""
}

func joinTexts(all []Value, between string) string {
	texts := make([]string, len(all))
	for i, e := range all {
		texts[i] = asText(e)
	}
	return strings.Join(texts, between)
}

// asNumber is a value as a number, NaN when it is not one. Days are counted
// from 1970.
func asNumber(v ref.Val) float64 {
	switch v := v.(type) {
	case types.Double:
		return float64(v)
	case types.Int:
		return float64(v)
	case types.Bool:
		if v {
			return 1
		}
		return 0
	case types.Timestamp:
		return float64(v.UnixMilli()) / float64(dayLength.Milliseconds())
	case types.String:
		text := strings.TrimSpace(string(v))
		if f, err := strconv.ParseFloat(text, 64); err == nil && !strings.ContainsAny(text, "xXpPnN_") {
			return f
		}
		if t, ok := parseMoment(text); ok {
			return asNumber(types.Timestamp{Time: t})
		}
	}
	return math.NaN()
}

// parseMoment reads a day or a point in time.
func parseMoment(text string) (time.Time, bool) {
	for _, layout := range []string{time.DateOnly, time.RFC3339, "2006-01-02T15:04:05", "2006-01-02T15:04"} {
		if t, err := time.Parse(layout, text); err == nil {
			return t, true
		}
	}
	return time.Time{}, false
}

// asMoment is a value as a point in time; numbers are days since 1970.
func asMoment(v ref.Val) ref.Val {
	const most = 3_000_000 // days; the year 10,000 is before it
	if t, ok := v.(types.Timestamp); ok {
		return t
	}
	if s, ok := v.(types.String); ok {
		if t, ok := parseMoment(string(s)); ok {
			return types.Timestamp{Time: t}
		}
		return types.NewErr("the text is not a date")
	}
	days := asNumber(v)
	if !(math.Abs(days) < most) {
		return types.NewErr("the value is not a date")
	}
	return types.Timestamp{Time: time.UnixMilli(int64(math.Round(days * float64(dayLength.Milliseconds())))).UTC()}
}

// item is the element of a list at an index from 0; null when there is none.
func item(v, at ref.Val) ref.Val {
	i := asNumber(at)
	if list, ok := v.(traits.Lister); ok {
		if n, _ := list.Size().(types.Int); i >= 0 && i < float64(n) {
			return list.Get(types.Int(i))
		}
		return Null
	}
	if i >= 0 && i < 1 && v != Null && asText(v) != "" {
		return v
	}
	return Null
}

// fold reduces the numbers of a list. There is no result for a list that
// contains anything but numbers, and for an empty one without a least number.
func fold(start float64, f func(a, b float64) float64) func(ref.Val) ref.Val {
	return func(v ref.Val) ref.Val {
		all, _ := Elements(v)
		out := start
		for _, e := range all {
			out = f(out, asNumber(e))
		}
		if math.IsInf(out, 0) {
			out = math.NaN()
		}
		return types.Double(out)
	}
}

// maxJoined is how many bytes a joined text has at most.
const maxJoined = 100_000

func joined(v, between ref.Val) ref.Val {
	all, _ := Elements(v)
	text := asText(between)
	size := len(text) * len(all)
	for _, e := range all {
		size += len(asText(e))
	}
	if size > maxJoined {
		return types.NewErr("the joined text is too long")
	}
	return types.String(joinTexts(all, text))
}

// roundTo rounds the digits that people see, halves away from zero: 2.345 to two
// digits is 2.35, though its binary value is below.
func roundTo(v, places ref.Val) ref.Val {
	f, n := asNumber(v), asNumber(places)
	if math.IsNaN(f) || math.IsInf(f, 0) || !(math.Abs(n) <= 20) {
		return types.Double(math.NaN())
	}
	exact, ok := new(big.Rat).SetString(strconv.FormatFloat(f, 'g', -1, 64))
	if !ok {
		return types.Double(math.NaN())
	}
	scale := new(big.Rat).SetInt(new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(math.Abs(n))), nil))
	if n < 0 {
		scale.Inv(scale)
	}
	whole := new(big.Rat).Mul(exact, scale)
	digits, _ := new(big.Rat).SetString(whole.FloatString(0)) // halves away from zero
	out, _ := digits.Quo(digits, scale).Float64()
	return types.Double(out)
}
