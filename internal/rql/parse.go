package rql

import (
	"errors"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Parse reads a filter and checks it against the schema. Errors are *Error, or
// what the schema returned.
func Parse(text string, schema Schema) (*Expr, error) {
	if n := utf8.RuneCountInString(text); n > MaxLength {
		return nil, &Error{Code: "too_long", Pos: MaxLength + 1, Detail: fmt.Sprintf("A filter is at most %d characters long.", MaxLength)}
	}
	p := &parser{text: text, schema: schema}
	if !utf8.ValidString(text) {
		return nil, p.fail(0, "syntax", "The filter must be UTF-8.")
	}
	e, err := p.expr(1)
	if err != nil {
		return nil, err
	}
	if p.space(); p.at < len(text) {
		return nil, p.fail(p.at, "syntax", "There is something after the end of the filter.")
	}
	return e, nil
}

type parser struct {
	text   string
	at     int // bytes
	terms  int
	schema Schema
}

// fail makes the error of a place in the text.
func (p *parser) fail(at int, code, detail string) *Error {
	return &Error{Code: code, Pos: p.pos(at), Detail: detail}
}

func (p *parser) pos(at int) int { return utf8.RuneCountInString(p.text[:at]) + 1 }

func isSpace(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }

func (p *parser) space() {
	p.at = len(p.text) - len(strings.TrimLeftFunc(p.text[p.at:], isSpace))
}

// take eats one character if it comes next.
func (p *parser) take(c byte) bool {
	p.space()
	if p.at < len(p.text) && p.text[p.at] == c {
		p.at++
		return true
	}
	return false
}

func (p *parser) expr(depth int) (*Expr, error) {
	p.space()
	start := p.at
	for p.at < len(p.text) && p.text[p.at] >= 'a' && p.text[p.at] <= 'z' {
		p.at++
	}
	e := &Expr{Op: Op(p.text[start:p.at]), Pos: p.pos(start)}
	if e.Op == "" {
		return nil, p.fail(start, "syntax", "An operator such as eq, and, in or like is expected here.")
	}
	if _, ok := arity[e.Op]; !ok {
		return nil, p.fail(start, "unknown_operator", "There is no such operator. They are and, or, not, eq, ne, lt, le, gt, ge, in, like, exists, near and within.")
	}
	if depth > MaxDepth {
		return nil, p.fail(start, "too_deep", fmt.Sprintf("A filter nests at most %d deep.", MaxDepth))
	}
	if !p.take('(') {
		return nil, p.fail(p.at, "syntax", "An opening bracket is expected here.")
	}
	if e.Op == And || e.Op == Or || e.Op == Not {
		return e, p.group(e, depth)
	}
	if p.terms++; p.terms > MaxTerms {
		return nil, p.fail(start, "too_many", fmt.Sprintf("A filter has at most %d comparisons.", MaxTerms))
	}
	return e, p.term(e)
}

// group reads the rest of and, or, not.
func (p *parser) group(e *Expr, depth int) error {
	for {
		arg, err := p.expr(depth + 1)
		if err != nil {
			return err
		}
		e.Args = append(e.Args, arg)
		if p.take(')') {
			return nil
		}
		if e.Op == Not || !p.take(',') {
			return p.unfinished(e.Op == Not)
		}
	}
}

func (p *parser) unfinished(only bool) error {
	p.space()
	if only {
		return p.fail(p.at, "syntax", "A closing bracket is expected here.")
	}
	return p.fail(p.at, "syntax", "A comma or a closing bracket is expected here.")
}

// arity is how many arguments a term has: least and most, the field counted.
// Groups are here to be known.
var arity = map[Op][2]int{
	And: {}, Or: {}, Not: {},
	Eq: {2, 2}, Ne: {2, 2}, Lt: {2, 2}, Le: {2, 2}, Gt: {2, 2}, Ge: {2, 2}, Like: {2, 2},
	In: {2, MaxLength}, Exists: {1, 1}, Near: {3, 4}, Within: {4, 5},
}

// arg is an argument of a term as it stands in the text.
type arg struct {
	text   string
	quoted bool
	at     int
}

func (p *parser) term(e *Expr) error {
	var args []arg
	for {
		a, err := p.arg()
		if err != nil {
			return err
		}
		args = append(args, a)
		if p.take(')') {
			break
		}
		if !p.take(',') {
			return p.unfinished(false)
		}
	}
	if n := arity[e.Op]; len(args) < n[0] || len(args) > n[1] {
		return &Error{Code: "syntax", Pos: e.Pos, Detail: wrongCount(e.Op)}
	}
	if e.Op == Near || e.Op == Within {
		return p.geo(e, args)
	}
	if err := p.field(e, args[0]); err != nil {
		return err
	}
	for _, a := range args[1:] {
		v, err := p.value(e, a)
		if err != nil {
			return err
		}
		e.Values = append(e.Values, v)
	}
	if e.Op == Like {
		return p.pattern(e, args[1])
	}
	return nil
}

func wrongCount(op Op) string {
	switch op {
	case In:
		return "in takes a field and one or more values."
	case Exists:
		return "exists takes a field."
	case Near:
		return "near takes a latitude, a longitude and a radius in metres, or a field and these."
	case Within:
		return "within takes the least latitude and longitude and the most latitude and longitude, or a field and these."
	}
	return string(op) + " takes a field and a value."
}

// arg reads a quoted text or a bare word.
func (p *parser) arg() (arg, error) {
	p.space()
	start := p.at
	if start < len(p.text) && (p.text[start] == '"' || p.text[start] == '\'') {
		text, err := p.quoted()
		return arg{text: text, quoted: true, at: start}, err
	}
	end := strings.IndexFunc(p.text[start:], func(r rune) bool { return strings.ContainsRune(`,()"'`, r) || isSpace(r) })
	if end < 0 {
		end = len(p.text) - start
	}
	if end == 0 {
		return arg{}, p.fail(start, "syntax", "A field or a value is expected here.")
	}
	p.at += end
	return arg{text: p.text[start:p.at], at: start}, nil
}

// quoted reads a text between quotes, with the escapes of JSON and \'.
func (p *parser) quoted() (string, error) {
	start, quote := p.at, p.text[p.at]
	var b strings.Builder
	for p.at++; p.at < len(p.text); {
		switch c := p.text[p.at]; c {
		case quote:
			p.at++
			if s := b.String(); !strings.ContainsRune(s, 0) {
				return s, nil
			}
			return "", p.fail(start, "syntax", "A text cannot hold the character U+0000.")
		case '\\':
			r, n := escape(p.text[p.at:])
			if n == 0 {
				return "", p.fail(p.at, "syntax", `After a backslash only " ' \ / b f n r t and u with four digits may stand.`)
			}
			b.WriteRune(r)
			p.at += n
		default:
			b.WriteByte(c)
			p.at++
		}
	}
	return "", p.fail(start, "syntax", "This text has no closing quote.")
}

var unicodeEscape = regexp.MustCompile(`^\\u[0-9a-fA-F]{4}`)

// escape reads an escape at the front of s and returns its length, 0 when there
// is none.
func escape(s string) (rune, int) {
	if len(s) < 2 {
		return 0, 0
	}
	if i := strings.IndexByte(`"'\/bfnrt`, s[1]); i >= 0 {
		return rune("\"'\\/\b\f\n\r\t"[i]), 2
	}
	unit := func(s string) rune {
		if !unicodeEscape.MatchString(s) {
			return -1
		}
		n, _ := strconv.ParseUint(s[2:6], 16, 16) // four digits, as just seen
		return rune(n)
	}
	r := unit(s)
	switch {
	case r < 0:
		return 0, 0
	case r < 0xd800 || r > 0xdfff:
		return r, 6
	case r < 0xdc00:
		if low := unit(s[6:]); low >= 0xdc00 && low <= 0xdfff {
			return (r-0xd800)<<10 + (low - 0xdc00) + 0x10000, 12
		}
	}
	return 0, 0 // half of a pair
}

func (p *parser) field(e *Expr, a arg) error {
	path, ok := ParsePath(a.text)
	if !ok {
		return p.fail(a.at, "syntax", "This is no field: write names with dots between them, or a JSON pointer.")
	}
	e.Field = path
	if p.schema.Field == nil {
		return nil
	}
	kind, err := p.schema.Field(path)
	if errors.Is(err, ErrUnknown) {
		return &Error{Code: "unknown_field", Pos: p.pos(a.at), Detail: "There is no field " + quoted(path.String()) + ".", Field: path}
	}
	e.Kind = kind
	if err == nil && kind == Object && e.Op != Exists && e.Op != Near && e.Op != Within {
		return p.fail(a.at, "wrong_type", "This field holds an object; name a field inside it.")
	}
	return err
}

var number = regexp.MustCompile(`^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?$`)

// value reads a value as the kind of its field.
func (p *parser) value(e *Expr, a arg) (Value, error) {
	if !a.quoted && a.text == "null" {
		if e.Op == Eq || e.Op == Ne || e.Op == In {
			return Value{}, nil
		}
		return Value{}, p.fail(a.at, "wrong_type", "null can only be compared with eq, ne and in.")
	}
	wrong := func(want string) (Value, error) {
		return Value{}, p.fail(a.at, "wrong_type", "The value must be "+want+", as the field is.")
	}
	switch e.Kind {
	case Text:
		return Value{a.text}, nil // as text: 0042 is not a number here
	case Number:
		if f, ok := toNumber(a.text); ok && !a.quoted {
			return Value{f}, nil
		}
		return wrong("a number")
	case Bool:
		if b := a.text == "true"; !a.quoted && (b || a.text == "false") {
			return Value{b}, nil
		}
		return wrong("true or false")
	case Time:
		if t, ok := parseTime(a.text); ok {
			return Value{t}, nil
		}
		return wrong("a time such as 2026-01-31T08:00:00Z, or a date")
	}
	return literal(a), nil
}

// literal reads a value whose field has no known kind, as JSON would.
func literal(a arg) Value {
	if a.quoted {
		return Value{a.text}
	}
	switch a.text {
	case "true":
		return Value{true}
	case "false":
		return Value{false}
	}
	if f, ok := toNumber(a.text); ok {
		return Value{f}
	}
	return Value{a.text}
}

func toNumber(s string) (float64, bool) {
	if !number.MatchString(s) {
		return 0, false
	}
	f, err := strconv.ParseFloat(s, 64)
	return f, err == nil && !math.IsInf(f, 0)
}

func (p *parser) pattern(e *Expr, a arg) error {
	if e.Kind != Text && e.Kind != Any {
		return p.fail(a.at, "wrong_type", "like compares texts only.")
	}
	if e.Kind == Any { // a pattern is a text, whatever it looks like
		e.Values[0] = Value{a.text}
	}
	g, detail := newGlob(a.text)
	if detail != "" {
		return p.fail(a.at, "syntax", detail)
	}
	e.glob = g
	return nil
}

// geo reads the arguments of near and within.
func (p *parser) geo(e *Expr, args []arg) error {
	if len(args) == arity[e.Op][1] {
		if err := p.field(e, args[0]); err != nil {
			return err
		}
		if e.Kind != Any && e.Kind != Object {
			return p.fail(args[0].at, "wrong_type", "This field holds no place.")
		}
		e.places, args = []Path{e.Field}, args[1:]
	} else if e.places = p.schema.Places; len(e.places) == 0 {
		return &Error{Code: "syntax", Pos: e.Pos, Detail: "Name the field that holds the place."}
	}
	limits := [][2]float64{{-90, 90}, {-180, 180}, {-90, 90}, {-180, 180}}
	if e.Op == Near {
		limits[2] = [2]float64{0, maxRadius}
	}
	for i, a := range args {
		f, ok := toNumber(a.text)
		if !ok || a.quoted {
			return p.fail(a.at, "wrong_type", "This must be a number.")
		}
		if f < limits[i][0] || f > limits[i][1] {
			return p.fail(a.at, "out_of_range", fmt.Sprintf("This must be %v to %v.", limits[i][0], limits[i][1]))
		}
		e.Values = append(e.Values, Value{f})
	}
	if e.Op == Within && e.Values[0].V.(float64) > e.Values[2].V.(float64) {
		return p.fail(args[2].at, "out_of_range", "The most latitude is below the least.")
	}
	return nil
}
