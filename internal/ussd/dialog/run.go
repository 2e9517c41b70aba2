package dialog

import (
	"context"
	"fmt"
	"strings"

	"github.com/hearth-dmrv/hearth/internal/ussd/menu"
	"github.com/hearth-dmrv/hearth/internal/ussd/wire"
)

// Runner plays dialogs. Send and Gateways are needed.
type Runner struct {
	Send     Sender
	Base     string // address of the server; a handler of this process needs none
	Gateways *wire.Set
	Secret   string            // of the gateway
	Key      string            // API key to ask for the node; "" works from the server's own machine
	Pack     *menu.Pack        // to know which nodes were passed; nil asks for none
	Vars     map[string]string // what dialogs need
	// Value returns a variable that is defined nowhere else when it is first
	// used, such as a code that was sent by SMS to the number. nil knows none.
	Value func(ctx context.Context, name, phone string) (string, bool)
	// Do makes something happen outside of the handset, such as "later 16m",
	// for dialogs that run on a test server. nil can do nothing.
	Do func(ctx context.Context, what string) error
}

// Result is the result of one dialog.
type Result struct {
	Dialog   *Dialog
	Steps    int
	Problems Problems
	Visits   map[string]int // by node id
}

// OK reports whether everything was as the dialog says.
func (r Result) OK() bool { return len(r.Problems) == 0 }

// play is one dialog at work.
type play struct {
	*Runner
	d     *Dialog
	phone *Phone
	vars  map[string]string
	out   Result
	last  Answer
	at    Place // of the last screen; empty before the first
	asked bool  // at is known for the last screen

	hungUp bool // the next step dials
}

// Run plays a dialog to its end or to the first step that cannot be done. An
// error means that it could not begin.
func (r *Runner) Run(ctx context.Context, d *Dialog) (Result, error) {
	g := r.Gateways.Get(d.Gateway)
	if g == nil {
		return Result{}, fmt.Errorf("%s: there is no gateway %q", d.File, d.Gateway)
	}
	base := r.Base
	if base == "" {
		base = "http://localhost"
	}
	var limits menu.Limits
	if r.Pack != nil && g.Limits == (menu.Limits{}) {
		limits = r.Pack.Limits
	}
	phone, err := NewPhone(PhoneConfig{Send: r.Send, Base: base, Gateway: g, Number: d.Phone, Code: d.Code, Mode: d.Mode, Secret: r.Secret, Limits: limits})
	if err != nil {
		return Result{}, err
	}
	p := &play{Runner: r, d: d, phone: phone, vars: map[string]string{"phone": phone.Number(), "code": phone.Code()}}
	p.out = Result{Dialog: d, Visits: map[string]int{}}
	for name, v := range d.Let {
		p.vars[name] = v
	}
	for _, name := range d.Needs {
		if v, ok := r.Vars[name]; ok {
			p.vars[name] = v
		}
	}
	for _, s := range d.Steps {
		if !p.step(ctx, s, base) {
			break
		}
	}
	return p.out, nil
}

func (p *play) bad(line int, format string, args ...any) {
	p.out.Problems = append(p.out.Problems, Problem{File: p.d.File, Line: line, Text: fmt.Sprintf(format, args...)})
}

// fill puts the variables into a text.
func (p *play) fill(ctx context.Context, line int, text string) (string, bool) {
	ok := true
	out := useForm.ReplaceAllStringFunc(text, func(use string) string {
		if use == "{{" {
			return "{"
		}
		name := use[1 : len(use)-1]
		v, known := p.vars[name]
		if !known && p.Value != nil {
			if v, known = p.Value(ctx, name, p.phone.Number()); known {
				p.vars[name] = v
			}
		}
		if !known && name == samePIN { // who gives one PIN means the same again
			v, known = p.vars[newPIN]
		}
		if !known {
			p.bad(line, "{%s} has no value: give it with --set %s=…", name, name)
			ok = false
		}
		return v
	})
	return out, ok
}

// step does one step and checks its claims. It returns false when the dialog
// cannot go on.
func (p *play) step(ctx context.Context, s Step, base string) bool {
	switch s.Verb {
	case Outside:
		return p.outside(ctx, s)
	case Redial:
		p.phone.Drop()
		p.at, p.hungUp = Place{}, true
		return true
	}
	input, ok := p.fill(ctx, s.Line, s.Input)
	if !ok {
		return false
	}
	if !p.phone.Live() && p.out.Steps > 0 && !p.hungUp && s.Verb != Again {
		p.bad(s.Line, "the call is over; :redial begins another")
		return false
	}
	p.hungUp = false
	a, err := p.send(ctx, s, input)
	if err != nil {
		p.bad(s.Line, "%v", err)
		return false
	}
	p.out.Steps++
	p.last, p.asked = a, false
	if a.Wrong != "" {
		p.bad(s.Line, "%s: %q", a.Wrong, a.Raw)
	}
	p.track(ctx, s, input, base)
	for _, e := range s.Expects {
		p.check(ctx, e)
	}
	return true
}

// outside has something happen that no handset does.
func (p *play) outside(ctx context.Context, s Step) bool {
	if p.Do == nil {
		p.bad(s.Line, ":do %s is for servers of tests", s.Input)
		return false
	}
	if err := p.Do(ctx, s.Input); err != nil {
		p.bad(s.Line, ":do %s: %v", s.Input, err)
		return false
	}
	return true
}

// send does what the verb says.
func (p *play) send(ctx context.Context, s Step, input string) (Answer, error) {
	switch s.Verb {
	case Again:
		a, err := p.phone.Again(ctx)
		if err == nil && a.Raw != p.last.Raw {
			p.bad(s.Line, "the same request got another answer:\n%q, before\n%q", a.Raw, p.last.Raw)
		}
		return a, err
	case Double:
		a, b, err := p.phone.Double(ctx, input)
		if err == nil && a.Raw != b.Raw {
			p.bad(s.Line, "the copy of a request got another answer:\n%q and\n%q", b.Raw, a.Raw)
		}
		return a, err
	}
	return p.phone.Type(ctx, input)
}

// track notes the nodes the step passed through.
func (p *play) track(ctx context.Context, s Step, input, base string) {
	wanted := p.Pack != nil
	for _, e := range s.Expects {
		wanted = wanted || e.Claim == At
	}
	if !wanted || s.Verb == Again {
		return
	}
	from := p.at
	p.at = Place{}
	if !p.last.End {
		var err error
		if p.at, err = Where(ctx, Server{Send: p.Send, Base: base, Key: p.Key}, p.phone.Session()); err != nil {
			p.bad(s.Line, "%v", err)
			return
		}
	}
	if p.Pack == nil {
		p.asked = !p.last.End
		return
	}
	var visited []string
	p.at.Node, visited = route{p.Pack}.step(from, input, p.at.Node, p.last.Text)
	p.asked = true
	for _, id := range visited {
		p.out.Visits[id]++
	}
}

// check looks at one claim.
func (p *play) check(ctx context.Context, e Expect) {
	got := p.last.Framed()
	want, ok := e.Text, true
	if e.Claim == Whole || e.Claim == Has || e.Claim == Lacks {
		if want, ok = p.fill(ctx, e.Line, e.Text); !ok {
			return
		}
	}
	switch e.Claim {
	case Whole:
		if got != want {
			p.bad(e.Line, "the screen is\n%s\nwant\n%s", indent(got), indent(want))
		}
	case Has:
		if !strings.Contains(got, want) {
			p.bad(e.Line, "the screen does not have %q:\n%s", want, indent(got))
		}
	case Lacks:
		if strings.Contains(got, want) {
			p.bad(e.Line, "the screen has %q:\n%s", want, indent(got))
		}
	case Frame:
		if got[:3] != want {
			p.bad(e.Line, "the answer is %s, want %s:\n%s", got[:3], want, indent(got))
		}
	case At:
		if p.asked && p.at.Node != want {
			p.bad(e.Line, "the session is at %q, want %q:\n%s", p.at.Node, want, indent(got))
		}
	case Keep:
		m := e.match.FindStringSubmatch(got)
		if m == nil {
			p.bad(e.Line, "nothing on the screen matches %s:\n%s", e.Text, indent(got))
			return
		}
		p.vars[e.Name] = m[len(m)-1]
	}
}

func indent(s string) string { return "    " + strings.ReplaceAll(s, "\n", "\n    ") }
