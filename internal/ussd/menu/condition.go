package menu

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/hearth-dmrv/hearth/internal/cel"
)

// Decide is the action of nodes that have cases: the machine itself chooses
// the result. The results are named by the number of the case, from 1, and
// Otherwise.
const (
	Decide    = "@cases"
	Otherwise = "else"
)

const (
	maxConditions = 500 // of a pack
	maxNamed      = 20  // variables that an error lists
)

// Expression is a condition on values, in CEL. It sees the variables that are
// not secret, authenticated, draft and language. Answers to the check integer
// are numbers, all others texts; a missing one is null.
type Expression struct {
	Source  string `json:"source"`
	program *cel.Program
	numbers map[string]bool // of the pack: variables that are numbers
}

// Holds reports whether the condition holds for v. One that cannot be
// evaluated, for example because a value is missing, does not hold. A nil
// condition holds.
func (e *Expression) Holds(v *View) bool {
	if e == nil || v.all {
		return true
	}
	if e.program == nil {
		return false // of a pack that could not be read
	}
	held, _, err := e.program.Holds(scope{v, e.numbers})
	return held && err == nil
}

// Decided returns the result of a node with cases for v: the first case that
// holds.
func (n *Node) Decided(v *View) string {
	for i, c := range n.Cases {
		if c.Holds(v) {
			return strconv.Itoa(i + 1)
		}
	}
	return Otherwise
}

// scope gives the values of a view to an expression.
type scope struct {
	v       *View
	numbers map[string]bool
}

// Parent returns nil: there is none.
func (s scope) Parent() cel.Vars { return nil }

// ResolveName gives a variable.
func (s scope) ResolveName(name string) (any, bool) {
	switch name {
	case Authenticated:
		return cel.BooleanValue(s.v.Authenticated), true
	case HasDraft:
		return cel.BooleanValue(s.v.Draft), true
	case Language:
		return cel.TextValue(s.v.Lang), true
	case Caller:
		return cel.TextValue(s.v.Caller), true
	}
	text, ok := s.v.Vars[name]
	switch {
	case !ok:
		return cel.Null, true
	case s.numbers[name]:
		if f, err := strconv.ParseFloat(text, 64); err == nil {
			return cel.NumberValue(f), true
		}
		return cel.Null, true
	}
	return cel.TextValue(text), true
}

// condition reads an expression, which is compiled when all variables are
// known.
func (r *reader) condition(v *value, path string) *Expression {
	e := &Expression{Source: r.scalar(v, path)}
	if e.Source != "" {
		r.conditions = append(r.conditions, located{e, v.spot, path})
	}
	return e
}

// located is an expression and where it stands.
type located struct {
	*Expression
	spot spot
	path string
}

// compile makes programs of the expressions.
func (r *reader) compile() {
	if len(r.conditions) == 0 {
		return
	}
	if n := len(r.conditions); n > maxConditions {
		at := r.conditions[maxConditions]
		r.bad(at.spot, at.path, "%d conditions, at most %d", n, maxConditions)
		return
	}
	vars := []cel.Variable{{Name: Authenticated, Type: cel.Boolean}, {Name: HasDraft, Type: cel.Boolean}, {Name: Language, Type: cel.Text}}
	known := []string{Authenticated, HasDraft, Language}
	numbers := map[string]bool{}
	open := maps.Clone(r.vars)
	for name, secret := range r.inputs {
		open[name] = !secret
	}
	for _, name := range slices.Sorted(maps.Keys(open)) {
		if name == "" || name == App || name == Language || !open[name] {
			continue
		}
		typ := cel.Text
		if numbers[name] = r.numbers[name]; numbers[name] {
			typ = cel.Number
		}
		vars, known = append(vars, cel.Variable{Name: name, Type: typ}), append(known, name)
	}
	env, err := cel.NewEnv(nil, vars)
	if err != nil {
		r.bad(r.conditions[0].spot, r.conditions[0].path, "conditions cannot be read: %v", err)
		return
	}
	names := func(name string) (cel.Ref, error) { return resolve(name, known, r.inputs) }
	for _, c := range r.conditions {
		if c.program, err = env.Compile(c.Source, names, cel.Condition); err != nil {
			r.bad(c.spot, c.path, "%v", err)
		}
		c.numbers = numbers
	}
}

// resolve finds the variable for a name, or says what is wrong with the name.
func resolve(name string, known []string, secret map[string]bool) (cel.Ref, error) {
	if slices.Contains(known, name) {
		return cel.Ref{Var: name}, nil
	}
	if secret[name] {
		return cel.Ref{}, fmt.Errorf("%s is secret: no condition sees it", name)
	}
	list := known
	if len(list) > maxNamed {
		list = append(slices.Clone(known[:maxNamed]), "…")
	}
	return cel.Ref{}, errors.New("nothing sets the variable " + strconv.Quote(name) + "; there are " + strings.Join(list, ", "))
}

// cases reads a node that branches by conditions, without a screen.
func (r *reader) cases(n *Node, o object, path string) {
	n.Do, n.Results = Decide, map[string]Target{}
	v := o.get("cases")
	if items := r.list(v, path+".cases"); len(items) > maxOptions {
		r.bad(v.spot, path+".cases", "%d cases, at most %d", len(items), maxOptions)
	} else {
		for i, item := range items {
			at := path + ".cases[" + strconv.Itoa(i) + "]"
			c := r.object(item, at, caseFields)
			if c == nil {
				r.unread++
				continue
			}
			n.Cases = append(n.Cases, r.condition(c.get("when"), at+".when"))
			n.Results[strconv.Itoa(len(n.Cases))] = r.aim(c, at)
		}
	}
	if len(n.Cases) == 0 {
		r.unread++
	}
	n.Results[Otherwise] = r.result(o.get("else"), path+".else")
}
