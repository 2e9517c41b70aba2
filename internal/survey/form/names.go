package form

import (
	"fmt"
	"slices"

	"github.com/hearth-dmrv/hearth/internal/cel"
)

// variable describes a variable of expressions.
type variable struct {
	kind variableKind
	at   int // section
	box  *container
}

type variableKind uint8

const (
	aSection variableKind = iota
	anElement
	anIndex
	theHousehold
	theResponse
	theDay
	theFiles
	aChoice
)

// householdMembers and responseMembers are the members of household and
// response, and what they are.
var (
	householdMembers = []cel.Field{{Name: "did", Type: cel.Text}, {Name: "group", Type: cel.Text}, {Name: "stratum", Type: cel.Text}, {Name: "attributes", Type: cel.Any}}
	responseMembers  = []cel.Field{
		{Name: "id", Type: cel.Text},
		{Name: "mode", Type: cel.Text},
		{Name: "language", Type: cel.Text},
		{Name: "collector", Type: cel.Text},
		{Name: "startedAt", Type: cel.Instant},
		{Name: "submittedAt", Type: cel.Instant},
		{Name: "round", Type: cel.Number},
	}
)

// declare makes the environment of all expressions of the template.
func (c *compiler) declare() error {
	var vars []cel.Variable
	add := func(name string, t cel.Type, v variable) {
		vars = append(vars, cel.Variable{Name: name, Type: t})
		c.vars[name] = v
	}
	for i, s := range c.sections {
		add(s.variable, cel.RecordOf(s.shape), variable{kind: aSection, at: i})
		s.each(func(n *node) {
			if n.kind.Repeated {
				add(n.kids.variable, cel.RecordOf(n.kids.shape), variable{kind: anElement, box: n.kids})
				add(n.kids.position, cel.Whole, variable{kind: anIndex, box: n.kids})
			}
		})
	}
	c.household, c.response = c.shape("household"), c.shape("response")
	for _, f := range householdMembers {
		c.household.Add(f.Name, f.Type)
	}
	for _, f := range responseMembers {
		c.response.Add(f.Name, f.Type)
	}
	add("@household", cel.RecordOf(c.household), variable{kind: theHousehold})
	add("@response", cel.RecordOf(c.response), variable{kind: theResponse})
	add("@today", cel.Instant, variable{kind: theDay})
	if c.files != nil {
		add("@"+filesName, cel.RecordOf(c.files.Shape), variable{kind: theFiles})
	}
	for _, n := range c.nodes {
		if n.offers != nil {
			add("@"+n.offers.Name(), cel.RecordOf(n.offers), variable{kind: aChoice})
		}
	}
	var err error
	c.env, err = cel.NewEnv(c.shapes, vars)
	return err
}

// names looks names up as seen from a container: first the questions of the
// element it stands in, and of the elements around that; then sections, the
// questions of its own section, those that are unique in the template, and the
// household, the response and the day. box is nil for an expression about the
// whole response.
func (f *compiled) names(box *container) cel.Names {
	return func(name string) (cel.Ref, error) {
		for r := box.repeat(); r != nil; r = r.parent().repeat() {
			if name == "index" {
				return cel.Ref{Var: r.position}, nil
			}
			if path := r.scope[name]; path != nil {
				return cel.Ref{Var: r.variable, Path: path}, nil
			}
		}
		if i, ok := f.byID[name]; ok {
			return cel.Ref{Var: f.sections[i].variable}, nil
		}
		if slices.Contains(ours, name) && name != "index" && name != "math" {
			return cel.Ref{Var: "@" + name}, nil
		}
		if name == filesName && f.files != nil {
			return cel.Ref{Var: "@" + name}, nil
		}
		if box != nil {
			if path := f.sections[box.section].scope[name]; path != nil {
				return cel.Ref{Var: f.sections[box.section].variable, Path: path}, nil
			}
		}
		return f.byName(name)
	}
}

func (f *compiled) byName(name string) (cel.Ref, error) {
	n, ok := f.unique[name]
	switch {
	case !ok && f.ambiguous(name):
		return cel.Ref{}, fmt.Errorf("several sections have a question %s; name its section too", name)
	case !ok:
		return cel.Ref{}, fmt.Errorf("no section and no question is called %s", name)
	case n.in.repeat() != nil:
		repeat := n.in.repeat().owner.id
		return cel.Ref{}, fmt.Errorf("%s is asked in the repeat %s; use a list such as %s.map(x, x.%s)", name, repeat, repeat, name)
	}
	s := f.sections[n.in.section]
	return cel.Ref{Var: s.variable, Path: s.scope[name]}, nil
}

func (f *compiled) ambiguous(name string) bool {
	found := false
	for _, s := range f.sections {
		s.each(func(n *node) { found = found || n.id == name })
	}
	return found
}

// Condition compiles an expression about a whole response, such as who is
// eligible; Result.Holds evaluates it. The error is a *cel.Error.
func (f *Form) Condition(source string) (*cel.Program, error) {
	return f.env.Compile(source, f.names(nil), cel.Condition)
}

// expressions compiles every expression and refuses cycles.
func (c *compiler) expressions() {
	if err := c.declare(); err != nil {
		c.problem("", "invalid", "The template cannot be compiled: %s.", err)
		return
	}
	for _, s := range c.sections {
		s.relevant = c.compile(s.pointer+"/relevant", s.s.Relevant, s.container, cel.Condition)
	}
	for _, n := range c.nodes {
		n.relevant = c.compile(n.pointer+"/relevant", n.q.Relevant, n.in, cel.Condition)
		n.required = c.compile(n.pointer+"/required", n.q.Required.When, n.in, cel.Condition)
		n.constraint = c.compile(n.pointer+"/constraint", n.q.Constraint, n.in, cel.Condition)
		n.calculate = c.compile(n.pointer+"/calculate", n.q.Calculate, n.in, cel.Result)
		n.filter = c.compileFilter(n)
	}
	compileEntity(c)
	c.cycles()
	if len(c.problems) == 0 {
		c.defaults()
	}
}

func (c *compiler) compile(at, source string, box *container, want cel.Want) *cel.Program {
	return c.compileNamed(at, source, c.names(box), want)
}

func (c *compiler) compileNamed(at, source string, names cel.Names, want cel.Want) *cel.Program {
	if source == "" || c.heap > maxPatterns {
		return nil
	}
	p, err := c.env.Compile(source, names, want)
	if err != nil {
		c.problem(at, "expression", "The expression is not valid: %s.", err)
		return nil
	}
	c.weight += p.Weight()
	c.weigh(at, p.Patterns())
	c.env.Keep(p)
	return p
}
