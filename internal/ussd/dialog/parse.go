package dialog

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/hearth-dmrv/hearth/internal/ussd/wire"
)

// DefaultCode is the service code of a dialog that names none.
const DefaultCode = "*2233#"

var (
	variableForm = regexp.MustCompile(`^[a-z][A-Za-z0-9]{0,31}$`)
	useForm      = regexp.MustCompile(`\{\{|\{([a-z][A-Za-z0-9]{0,31})\}`)
	phoneForm    = regexp.MustCompile(`^\+[1-9][0-9]{7,14}$`)
)

// parser reads one file.
type parser struct {
	file  string
	all   []*Dialog
	d     *Dialog         // the one at work
	known map[string]bool // variables so far
	whole *Expect         // the screen that < lines add to
	twice bool            // :double came before
	found Problems
	line  int
}

// Parse reads the dialogs of a file: one, or several that each begin with a
// line dialog: and share nothing. The error is Problems, all of them with their
// lines.
func Parse(file string, data []byte) ([]*Dialog, error) {
	p := &parser{file: file}
	p.begin()
	for line := range strings.Lines(strings.TrimPrefix(string(data), "\ufeff")) {
		p.line++
		p.take(strings.TrimRight(line, " \t\r\n"))
	}
	p.finish()
	if len(p.found) > 0 {
		return nil, p.found
	}
	return p.all, nil
}

// begin starts a dialog with nothing known.
func (p *parser) begin() {
	p.d = &Dialog{File: p.file, Code: DefaultCode, Let: map[string]string{}}
	p.known, p.whole = map[string]bool{"phone": true, "code": true}, nil
}

// finish ends the dialog at work.
func (p *parser) finish() {
	if len(p.d.Steps) == 0 {
		p.bad("the dialog has no step: a line that begins with >")
	}
	if p.twice {
		p.bad(":double wants a > after it")
	}
	p.all, p.twice = append(p.all, p.d), false
}

func (p *parser) bad(format string, args ...any) {
	p.found = append(p.found, Problem{File: p.file, Line: p.line, Text: fmt.Sprintf(format, args...)})
}

// take reads one line by its first character.
func (p *parser) take(line string) {
	if line == "" || line[0] == '#' {
		return
	}
	mark, rest := line[:1], strings.TrimPrefix(line[1:], " ")
	if mark != "<" {
		p.whole = nil
	}
	switch {
	case mark == ">":
		p.uses(rest)
		s := Step{Line: p.line, Verb: Type, Input: rest}
		if p.twice {
			s.Verb, p.twice = Double, false
		}
		p.d.Steps = append(p.d.Steps, s)
	case mark == ":":
		p.command(rest)
	case strings.Contains("<~!@=", mark) || line == "CON" || line == "END":
		p.expect(mark, rest, line)
	case strings.HasPrefix(line, titled) && (p.d.Title != "" || len(p.d.Steps) > 0):
		p.finish()
		p.begin()
		p.header(line)
	case len(p.d.Steps) > 0:
		p.bad("want a line that begins with %s, CON or END, or dialog: for another one", strings.Join(marks(), " "))
	default:
		p.header(line)
	}
}

func (p *parser) command(word string) {
	if what, ok := strings.CutPrefix(word, "do "); ok {
		p.d.Steps = append(p.d.Steps, Step{Line: p.line, Verb: Outside, Input: what})
		return
	}
	switch word {
	case "redial":
		p.d.Steps = append(p.d.Steps, Step{Line: p.line, Verb: Redial})
	case "again":
		if len(p.d.Steps) == 0 {
			p.bad(":again comes after a step")
		}
		p.d.Steps = append(p.d.Steps, Step{Line: p.line, Verb: Again})
	case "double":
		p.twice = true
	default:
		p.bad(":%s is not known; there are %s", word, strings.Join(forms(commands), ", "))
	}
}

// expect adds a claim to the last step.
func (p *parser) expect(mark, rest, line string) {
	if len(p.d.Steps) == 0 || p.d.Steps[len(p.d.Steps)-1].Verb == Redial || p.d.Steps[len(p.d.Steps)-1].Verb == Outside {
		p.bad("nothing was typed before this line")
		return
	}
	step := &p.d.Steps[len(p.d.Steps)-1]
	e := Expect{Line: p.line, Text: rest}
	switch mark {
	case "<":
		p.uses(rest)
		if p.whole != nil {
			p.whole.Text += "\n" + rest
			return
		}
		if !strings.HasPrefix(rest, "CON ") && !strings.HasPrefix(rest, "END ") {
			p.bad("a screen begins with CON or END")
		}
		e.Claim = Whole
	case "~", "!":
		p.uses(rest)
		e.Claim = Has
		if mark == "!" {
			e.Claim = Lacks
		}
		if rest == "" {
			p.bad("want some text")
		}
	case "@":
		e.Claim = At
		e.Text = strings.TrimSpace(rest)
	case "=":
		e = p.keep(rest)
	default:
		e.Claim, e.Text = Frame, line
	}
	step.Expects = append(step.Expects, e)
	if e.Claim == Whole {
		p.whole = &step.Expects[len(step.Expects)-1]
	}
}

// keep reads name: pattern.
func (p *parser) keep(rest string) Expect {
	name, pattern, ok := strings.Cut(rest, ":")
	name = strings.TrimSpace(name)
	if !ok || !variableForm.MatchString(name) {
		p.bad("want = name: pattern")
		return Expect{}
	}
	re, err := regexp.Compile(strings.TrimSpace(pattern))
	if err != nil {
		p.bad("the pattern is wrong: %v", err)
	}
	p.known[name] = true
	return Expect{Line: p.line, Claim: Keep, Name: name, Text: strings.TrimSpace(pattern), match: re}
}

// header reads name: value or let name = value.
func (p *parser) header(line string) {
	if rest, ok := strings.CutPrefix(line, "let "); ok {
		name, value, ok := strings.Cut(rest, "=")
		name, value = strings.TrimSpace(name), strings.TrimSpace(value)
		if !ok || !variableForm.MatchString(name) {
			p.bad("want let name = value")
			return
		}
		p.d.Let[name], p.known[name] = value, true
		return
	}
	name, value, ok := strings.Cut(line, ":")
	value = strings.TrimSpace(value)
	if !ok {
		p.bad("want name: value, let name = value, or > to dial")
		return
	}
	switch name {
	case "dialog":
		p.d.Title = value
	case "phone":
		if value != "new" && !phoneForm.MatchString(value) {
			p.bad("want a number such as +254700000001, or new")
		}
		p.d.Phone = strings.TrimPrefix(value, "new")
	case "code":
		p.d.Code = value
	case "gateway":
		p.d.Gateway = value
	case "text":
		if p.d.Mode = wire.Mode(value); p.d.Mode != wire.Accumulated && p.d.Mode != wire.Latest {
			p.bad("want accumulated or latest")
		}
	case "needs":
		for _, v := range strings.Split(value, ",") {
			p.need(strings.TrimSpace(v))
		}
	default:
		p.bad("%q is not known; there are %s", name, strings.Join(forms(headers), ", "))
	}
}

func (p *parser) need(name string) {
	if !variableForm.MatchString(name) || slices.Contains(p.d.Needs, name) {
		p.bad("want names of variables, separated by commas")
		return
	}
	p.d.Needs, p.known[name] = append(p.d.Needs, name), true
}

// uses requires that every {name} in a text is defined before.
func (p *parser) uses(text string) {
	for _, m := range useForm.FindAllStringSubmatch(text, -1) {
		if m[1] != "" && !p.known[m[1]] {
			p.bad("{%s} is not known here: let it, keep it with = before, or name it in needs", m[1])
		}
	}
}
