// Package cel compiles and evaluates CEL expressions within limits. Names are declared,
// so an unknown one is an error at compile time, with its position. Records have declared
// members; a missing value is null. Every expression is bounded in length, depth, nesting
// of loops and cost. It knows nothing of forms, HTTP or storage.
//
// It is CEL with three additions that questionnaires need: a numeric value may meet an
// integer literal in arithmetic, comparison, == and in; a list may be compared with null;
// and there are the functions selected, answered, count, sum and coalesce. found looks up
// records of a table. The functions of convert.go and odk.go are for expressions
// translated from other questionnaires: they accept a value of any type, as XPath does.
package cel

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/interpreter"
)

// The limits.
const (
	MaxLength = 2000   // characters of an expression
	MaxCost   = 50_000 // units of one evaluation; a unit is about 50 ns
	maxNodes  = 600    // syntax nodes of an expression
	maxDepth  = 48     // nesting of an expression
	maxLoops  = 2      // loops inside one another

	programBytes = 1 << 10 // what a program takes, about
	nodeBytes    = 200     // and for each of its nodes
)

// Error is what is wrong with an expression, and where.
type Error struct {
	Line    int // from 1
	Column  int // from 1
	Message string
}

// Error gives the message with its place.
func (e *Error) Error() string {
	if e.Line <= 1 {
		return fmt.Sprintf("%s (at character %d)", e.Message, e.Column)
	}
	return fmt.Sprintf("%s (at line %d, character %d)", e.Message, e.Line, e.Column)
}

// Variable is a variable of the environment. Expressions reach variables only
// through Names, so their names may be any text.
type Variable struct {
	Name string
	Type Type
}

// Env is a set of declared shapes and variables. It is safe for concurrent use.
type Env struct {
	cel      *cel.Env
	shapes   *registry
	patterns patterns // that programs share
}

// NewEnv declares shapes and variables.
func NewEnv(shapes []*Shape, vars []Variable) (*Env, error) {
	reg, err := newRegistry(shapes)
	if err != nil {
		return nil, err
	}
	opts := append(language(), cel.CustomTypeProvider(reg), cel.CustomTypeAdapter(types.DefaultTypeAdapter))
	for _, v := range vars {
		opts = append(opts, cel.Variable(v.Name, v.Type.cel))
	}
	env, err := cel.NewCustomEnv(opts...)
	if err != nil {
		return nil, fmt.Errorf("make CEL environment: %w", err)
	}
	return &Env{cel: env, shapes: reg, patterns: patterns{}}, nil
}

// Want is the required type of an expression's result.
type Want int

// The required types.
const (
	Condition Want = iota // true or false
	Result                // a string, number, boolean, time, duration or list of them
)

// Program is a compiled expression. It is safe for concurrent use.
type Program struct {
	source string
	cel    cel.Program
	cost   uint64 // of an evaluation that is not counted
	uses   []Use
	nodes  int

	patterns patterns
	heap     int // bytes of those that the environment did not have
}

// Source is the text the program was compiled from.
func (p *Program) Source() string { return p.source }

// Patterns estimates the bytes of the program's regular expressions, without
// those that the environment had already.
func (p *Program) Patterns() int { return p.heap }

// Weight estimates the bytes of the whole program.
func (p *Program) Weight() int { return p.heap + programBytes + nodeBytes*p.nodes }

// Uses returns the members the program reads, without duplicates.
func (p *Program) Uses() []Use { return p.uses }

// Compile compiles an expression whose names are looked up in names. The error
// is an *Error.
func (e *Env) Compile(source string, names Names, want Want) (*Program, error) {
	if n := utf8.RuneCountInString(source); n > MaxLength {
		return nil, &Error{1, MaxLength + 1, fmt.Sprintf("the expression has %d characters, at most %d", n, MaxLength)}
	}
	parsed, issues := e.cel.Parse(source)
	if issues.Err() != nil {
		return nil, firstIssue(issues)
	}
	w := &resolver{ast: parsed.NativeRep(), names: names, patterns: patterns{}, shared: e.patterns}
	if err := w.run(); err != nil {
		return nil, err
	}
	checked, issues := e.cel.Check(parsed)
	if issues.Err() != nil {
		return nil, firstIssue(issues)
	}
	if err := w.comparable(checked.NativeRep()); err != nil {
		return nil, err
	}
	if err := fits(checked.OutputType(), want); err != nil {
		return nil, err
	}
	walked, err := e.tables(w, checked.NativeRep())
	if err != nil {
		return nil, err
	}
	uses := e.uses(checked.NativeRep())
	opts := []cel.ProgramOption{cel.EvalOptions(cel.OptOptimize)}
	cost, fixed := w.fixedCost(checked.NativeRep())
	if fixed = fixed && !walked; !fixed {
		cost = 0
		w.weigh(checked.NativeRep())
		opts = append(append(opts, cel.CostLimit(MaxCost)), w.patterns.options()...)
	}
	program, err := e.cel.Program(checked, opts...)
	if err != nil {
		return nil, &Error{1, 1, plain(err.Error())}
	}
	return &Program{source: source, cel: program, cost: cost, uses: uses, nodes: w.nodes, patterns: w.patterns, heap: w.heap}, nil
}

// fits checks what the expression gives.
func fits(t *cel.Type, want Want) error {
	ok := false
	switch t.Kind() {
	case types.DynKind, types.BoolKind:
		ok = true
	case types.DoubleKind, types.IntKind, types.StringKind, types.TimestampKind, types.DurationKind, types.NullTypeKind:
		ok = want == Result
	case types.ListKind:
		ok = want == Result && t.Parameters()[0].Kind() != types.StructKind
	}
	if ok {
		return nil
	}
	return &Error{1, 1, "the expression gives " + describe(t) + ", which is not available here"}
}

// describe names a type in the terms of questionnaires.
func describe(t *cel.Type) string {
	switch family(t) {
	case types.StructKind:
		return "a record"
	case types.ListKind:
		return "a list"
	case types.MapKind:
		return "a map"
	case types.DoubleKind:
		return "a number"
	case types.StringKind:
		return "a text"
	case types.BoolKind:
		return "a boolean"
	case types.TimestampKind:
		return "a time"
	}
	return "a value of type " + cel.FormatCELType(t)
}

// firstIssue turns the first issue of the CEL library into an Error.
func firstIssue(issues *cel.Issues) error {
	all := issues.Errors()
	if len(all) == 0 {
		return &Error{1, 1, "the expression is not valid"}
	}
	e := all[0]
	return &Error{max(e.Location.Line(), 1), max(e.Location.Column()+1, 1), plain(e.Message)}
}

// plain keeps the part of a library's message that helps an author.
func plain(message string) string {
	message = strings.TrimPrefix(message, "Syntax error: ")
	message, _, _ = strings.Cut(message, "\n")
	message, _, _ = strings.Cut(message, " expecting {")
	if r := []rune(message); len(r) > 300 {
		message = string(r[:300]) + "…"
	}
	return message
}

// Vars holds the variables of one evaluation by name.
type Vars = interpreter.Activation

// Eval evaluates the program. The error says why there is no value: mostly a
// missing answer. cost is the cost of the evaluation.
func (p *Program) Eval(vars Vars) (v Value, cost uint64, err error) {
	out, details, err := p.cel.Eval(vars)
	cost = p.cost
	if c := details.ActualCost(); c != nil {
		cost += *c
	}
	if err != nil {
		return Null, cost, err
	}
	return out, cost, nil
}

// Holds evaluates a condition. It does not hold when it cannot be evaluated.
func (p *Program) Holds(vars Vars) (held bool, cost uint64, err error) {
	v, cost, err := p.Eval(vars)
	if err != nil {
		return false, cost, err
	}
	b, ok := v.(types.Bool)
	if !ok {
		return false, cost, errNoCondition
	}
	return bool(b), cost, nil
}
