package dialog_test

import (
	"strings"
	"testing"

	"github.com/hearth-dmrv/hearth/internal/ussd/dialog"
	"github.com/hearth-dmrv/hearth/internal/ussd/wire"
)

func TestParse(t *testing.T) {
	t.Parallel()
	d := parse(t, "\ufeff# comment\r\ndialog: a title\r\nphone: +254700000001\r\ncode: *384*1#\ngateway: get\ntext: latest\nlet pin = 4 8\nneeds: a, b\n\n>\n< CON One\n<\n< two\n~ x\n:again\n:redial\n> {a}*{pin}\n")
	if d.Title != "a title" || d.Phone != "+254700000001" || d.Code != "*384*1#" || d.Gateway != "get" || d.Mode != wire.Latest || d.Let["pin"] != "4 8" || len(d.Needs) != 2 {
		t.Errorf("header = %+v", d)
	}
	if len(d.Steps) != 4 || d.Steps[0].Input != "" || d.Steps[0].Expects[0].Text != "CON One\n\ntwo" || len(d.Steps[0].Expects) != 2 ||
		d.Steps[1].Verb != dialog.Again || d.Steps[2].Verb != dialog.Redial || d.Steps[3].Input != "{a}*{pin}" || d.Steps[3].Line != 17 {
		t.Errorf("steps = %+v", d.Steps)
	}
	if d := parse(t, ">\n"); d.Code != dialog.DefaultCode || d.Mode != "" || d.Phone != "" {
		t.Errorf("defaults = %+v", d)
	}
}

// TestParseSeveral: a file holds several dialogs, which share nothing.
func TestParseSeveral(t *testing.T) {
	t.Parallel()
	all, err := dialog.Parse("d", []byte("dialog: one\ngateway: get\nlet a = 1\n> {a}\n~ x\n\ndialog: two\nphone: +254700000001\nlet a = 2\n>\n> {a}\n\n# three\ndialog:\n>\n"))
	if err != nil || len(all) != 3 {
		t.Fatalf("Parse() = %v, %v, want three dialogs", all, err)
	}
	for i, want := range []dialog.Dialog{{Title: "one", Gateway: "get"}, {Title: "two", Phone: "+254700000001"}, {}} {
		if d := all[i]; d.Title != want.Title || d.Gateway != want.Gateway || d.Phone != want.Phone || d.File != "d" || len(d.Steps) == 0 {
			t.Errorf("dialog %d = %+v, want %+v", i, d, want)
		}
	}
	if all[0].Let["a"] != "1" || all[1].Let["a"] != "2" || all[1].Steps[1].Line != 11 || len(all[1].Steps) != 2 {
		t.Errorf("dialogs = %+v and %+v", all[0], all[1])
	}
}

// TestSyntax: every kind of line that is described is one that is read.
func TestSyntax(t *testing.T) {
	t.Parallel()
	text := ""
	for _, f := range dialog.Syntax() {
		if f.About == "" {
			t.Errorf("%q is not described", f.Line)
		}
		text += f.Line + "\n"
		if f.Line == ":redial" || f.Line == ":double" || f.Line == ":do later 16m" {
			text += ">\n"
		}
	}
	if all, err := dialog.Parse("d", []byte(text)); err != nil || len(all) != 1 {
		t.Errorf("Parse() = %v, %v of\n%s", all, err, text)
	}
}

func TestParseProblems(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ in, want string }{
		"empty":         {"", "d:0: the dialog has no step"},
		"header":        {"colour: red\n>\n", "d:1: \"colour\" is not known"},
		"no colon":      {"hello\n>\n", "d:1: want name: value"},
		"phone":         {"phone: 0700\n>\n", "d:1: want a number"},
		"mode":          {"text: auto\n>\n", "d:1: want accumulated or latest"},
		"let":           {"let Pin 5\n>\n", "d:1: want let name = value"},
		"needs":         {"needs: a,, b\n>\n", "d:1: want names of variables"},
		"early":         {"~ x\n>\n", "d:1: nothing was typed"},
		"after redial":  {">\n:redial\n~ x\n", "d:3: nothing was typed"},
		"screen":        {">\n< Welcome\n", "d:2: a screen begins with CON or END"},
		"empty has":     {">\n~\n", "d:2: want some text"},
		"pattern":       {">\n= a: (\n", "d:2: the pattern is wrong"},
		"keep":          {">\n= A\n", "d:2: want = name: pattern"},
		"command":       {">\n:jump\n", "d:2: :jump is not known"},
		"first again":   {":again\n>\n", "d:1: :again comes after a step"},
		"lonely double": {">\n:double\n", "d:2: :double wants a > after it"},
		"variable":      {"> {pin}\n", "d:1: {pin} is not known here"},
		"late variable": {"> {id}\n= id: x\n", "d:1: {id} is not known here"},
		"word":          {">\nhello\n", "d:2: want a line that begins with"},
		"second":        {"dialog: a\n>\ndialog: b\n", "d:3: the dialog has no step"},
		"first":         {"dialog: a\ndialog: b\n>\n", "d:2: the dialog has no step"},
		"not shared":    {"let a = 1\n> {a}\ndialog: b\n> {a}\n", "d:4: {a} is not known here"},
		"double at end": {"dialog: a\n>\n:double\ndialog: b\n>\n", "d:4: :double wants a > after it"},
		"all at once":   {"colour: red\n>\n< x\n", "d:3: a screen begins"},
	} {
		_, err := dialog.Parse("d", []byte(tt.in))
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: Parse() = %v, want %q", name, err, tt.want)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte("dialog: x\nlet a = 1\n> {a}\n< CON x\n= b: (.)\n:again\n:double\n> {b}\nEND\n@ n\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		all, err := dialog.Parse("d", data)
		if err == nil && len(all) == 0 {
			t.Fatal("no dialog")
		}
		for _, d := range all {
			if len(d.Steps) == 0 {
				t.Fatal("a dialog without steps")
			}
		}
	})
}

// What is saved can be read and played, and holds no secret.
func TestSave(t *testing.T) {
	t.Parallel()
	s := dialog.Saved{Title: "saved", Code: "*2233#", Mode: wire.Accumulated, Turns: []dialog.Turn{
		{Node: "home"},
		{Input: "2", Node: "login.id"},
		{Input: "C12345678", Node: "login.pin"},
		{Mask: "pin", Node: "home"},
		{Input: "*", Screen: "END Goodbye."},
		{Hangup: true, Screen: "CON Welcome to Little\n1. About\n2. Log in\n9. Kiswahili\n*. Exit"},
	}}
	want := "dialog: saved\ncode: *2233#\ntext: accumulated\nneeds: pin\n\n>\n@ home\n\n> 2\n@ login.id\n\n> C12345678\n@ login.pin\n\n> {pin}\n@ home\n\n> *\n< END Goodbye.\n\n" +
		":redial\n\n>\n< CON Welcome to Little\n< 1. About\n< 2. Log in\n< 9. Kiswahili\n< *. Exit\n"
	if got := string(s.Text()); got != want {
		t.Fatalf("Text() = %s, want %s", got, want)
	}
	r := newLine(t).runner()
	r.Vars = map[string]string{"pin": "48213"}
	if out := run(t, r, string(s.Text())); !out.OK() || out.Visits["login.check"] != 1 || out.Visits["login.greet"] != 1 {
		t.Errorf("problems = %v, visits = %v", out.Problems, out.Visits)
	}
}

// A new PIN and its repetition are one placeholder, unless they were not the
// same.
func TestSaveRepeatedPIN(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		turns []dialog.Turn
		want  string
	}{
		"taken":        {[]dialog.Turn{{Input: "2", Node: "ask"}, {Mask: "pin", Node: "again"}, {Mask: "confirm", Node: "done"}}, "2 {pin} {pin}, needs pin"},
		"differs":      {[]dialog.Turn{{Input: "2", Node: "ask"}, {Mask: "pin", Node: "again"}, {Mask: "confirm", Node: "ask"}}, "2 {pin} {confirm}, needs pin confirm"},
		"refused":      {[]dialog.Turn{{Input: "2", Node: "ask"}, {Mask: "pin", Node: "again"}, {Mask: "confirm", Node: "again"}}, "2 {pin} {confirm}, needs pin confirm"},
		"not known":    {[]dialog.Turn{{Input: "2"}, {Mask: "pin"}, {Mask: "confirm"}}, "2 {pin} {confirm}, needs pin confirm"},
		"by itself":    {[]dialog.Turn{{Input: "2", Node: "ask"}, {Mask: "confirm", Node: "done"}}, "2 {confirm}, needs confirm"},
		"after a call": {[]dialog.Turn{{Input: "2", Node: "ask"}, {Mask: "pin", Node: "again"}, {Mask: "confirm", Node: "done", Hangup: true}}, "2 {pin} {confirm}, needs pin confirm"},
	} {
		d := parse(t, string(dialog.Saved{Mode: "", Turns: tt.turns}.Text()))
		var typed []string
		for _, s := range d.Steps {
			if s.Verb == dialog.Type {
				typed = append(typed, s.Input)
			}
		}
		if got := strings.Join(typed, " ") + ", needs " + strings.Join(d.Needs, " "); got != tt.want {
			t.Errorf("%s: saved as %q, want %q", name, got, tt.want)
		}
	}
}

// Dialogs that were saved with a placeholder for each need one value only.
func TestRepeatedPINHasOneValue(t *testing.T) {
	t.Parallel()
	const text = "needs: pin, confirm\n>\n> 2\n> C12345678\n> {confirm}\n@ home\n"
	for vars, ok := range map[[2]string]bool{{"pin", "48213"}: true, {"confirm", "48213"}: true, {"confirm", "11111"}: false, {"other", "48213"}: false} {
		r := newLine(t).runner()
		r.Vars = map[string]string{vars[0]: vars[1]}
		if out := run(t, r, text); out.OK() != ok {
			t.Errorf("with %v: %v, want ok: %v", vars, out.Problems, ok)
		}
	}
	r := newLine(t).runner()
	r.Vars = map[string]string{"pin": "48213", "confirm": "11111"}
	if out := run(t, r, text); out.OK() {
		t.Error("a value of its own is not heeded")
	}
}

// Names of inputs and what was typed cannot break the file.
func TestSaveOdd(t *testing.T) {
	t.Parallel()
	s := dialog.Saved{Mode: "", Turns: []dialog.Turn{{Input: "a\n< CON {x}", Screen: "CON {y}"}, {Mask: "new-pin.2"}, {Mask: "9"}, {Mask: strings.Repeat("x", 40)}}}
	d := parse(t, string(s.Text()))
	if len(d.Steps) != 4 || d.Steps[0].Input != "a < CON {{x}" || d.Steps[0].Expects[0].Text != "CON {{y}" || d.Steps[1].Input != "{newpin2}" || d.Steps[2].Input != "{secret9}" || len(d.Needs) != 3 {
		t.Errorf("dialog = %+v", d)
	}
}
