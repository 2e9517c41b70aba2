package dialog_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hearth-dmrv/hearth/internal/ussd/dialog"
	"github.com/hearth-dmrv/hearth/internal/ussd/wire"
)

func parse(t *testing.T, text string) *dialog.Dialog {
	t.Helper()
	all, err := dialog.Parse("d", []byte(text))
	if err != nil || len(all) != 1 {
		t.Fatalf("Parse() = %v, %v", all, err)
	}
	return all[0]
}

func run(t *testing.T, r *dialog.Runner, text string) dialog.Result {
	t.Helper()
	out, err := r.Run(t.Context(), parse(t, text))
	if err != nil {
		t.Fatalf("Run() = %v", err)
	}
	return out
}

// The files of testdata/good pass, and together they visit all of the pack but
// the node that nothing leads to.
func TestRunFiles(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/good/*.dialog")
	if err != nil || len(files) < 4 {
		t.Fatalf("files = %v, %v", files, err)
	}
	visits := map[string]int{}
	l := newLine(t)
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		all, err := dialog.Parse(file, data)
		if err != nil {
			t.Fatal(err)
		}
		l.wrong = 0
		r := l.runner()
		r.Vars = map[string]string{"pin": "48213"}
		out, err := r.Run(t.Context(), all[0])
		if err != nil || !out.OK() || out.Steps == 0 {
			t.Errorf("%s: %v\n%v", file, err, out.Problems.Error())
		}
		for id, n := range out.Visits {
			visits[id] += n
		}
	}
	c := dialog.Cover(l.pack, visits)
	if c.Nodes != 8 || c.Visited != 7 || !slices.Equal(c.Missing, []string{"lost"}) || c.Percent() != 87 {
		t.Errorf("Cover() = %+v, want all but lost", c)
	}
}

func TestRunProblems(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ in, want string }{
		"screen":        {">\n< CON Welcome\n", "d:2: the screen is\n    CON Welcome to Little\n    1. About"},
		"has":           {">\n~ Farewell\n", "d:2: the screen does not have \"Farewell\""},
		"lacks":         {">\n! Welcome\n", "d:2: the screen has \"Welcome\""},
		"node":          {"> 1\n@ home\n", "d:2: the session is at \"about\", want \"home\""},
		"frame":         {">\nEND\n", "d:2: the answer is CON, want END"},
		"other frame":   {">\n> *\nCON\n", "d:3: the answer is END, want CON"},
		"keep":          {">\n= id: (C[0-9]+)\n> 1\n", "d:2: nothing on the screen matches (C[0-9]+)"},
		"after the end": {">\n> *\n> 1\n", "d:3: the call is over"},
		"no value":      {"needs: pin\n> 2*C12345678\n> {pin}\n", "d:3: {pin} has no value: give it with --set pin=…"},
		"bad number":    {"code: 2233\n>\n@ home\n", "d:3: the session is at \"\", want \"home\""},
	} {
		out := run(t, newLine(t).runner(), tt.in)
		if out.OK() || !strings.Contains(out.Problems.Error(), tt.want) {
			t.Errorf("%s: problems = %v, want %q", name, out.Problems, tt.want)
		}
	}
	if _, err := newLine(t).runner().Run(t.Context(), parse(t, "gateway: none\n>\n")); err == nil {
		t.Error("Run() with no such gateway is no error")
	}
}

// Every answer is looked at, whatever the dialog says.
func TestRunSizeAndFraming(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		text, want string
		gateway    string
	}{
		"long":       {strings.Repeat("a", 183), "183 units, at most 182", ""},
		"wide":       {strings.Repeat("ŋ", 81), "81 units, at most 80", ""},
		"of gateway": {strings.Repeat("a", 161), "161 units, at most 160", "hubtel"},
		"empty":      {" \n", "the screen is empty", ""},
		"control":    {"a\x07", "characters no handset shows", ""},
		"return":     {"a\r\nb", "characters no handset shows", ""},
		"fits":       {strings.Repeat("a", 182), "", ""},
	} {
		l := newLine(t)
		l.spoil = func(a *wire.Reply) { a.Text = tt.text }
		out := run(t, l.runner(), "gateway: "+tt.gateway+"\n>\n")
		if tt.want == "" != out.OK() || !strings.Contains(out.Problems.Error(), tt.want) {
			t.Errorf("%s: problems = %v, want %q", name, out.Problems, tt.want)
		}
	}
}

// A server that answers a copy otherwise is found out.
func TestRunCopies(t *testing.T) {
	t.Parallel()
	for _, in := range []string{">\n:again\n", ":double\n>\n"} {
		l := newLine(t)
		n := 0
		l.spoil = func(a *wire.Reply) { n++; a.Text = strings.Repeat("x", n) }
		if out := run(t, l.runner(), in); out.OK() || !strings.Contains(out.Problems.Error(), "another answer") {
			t.Errorf("%q: problems = %v, want another answer", in, out.Problems)
		}
		if out := run(t, newLine(t).runner(), in); !out.OK() {
			t.Errorf("%q: problems = %v", in, out.Problems)
		}
	}
}

// Values that are nowhere else are asked for when they are used.
func TestRunValue(t *testing.T) {
	t.Parallel()
	r := newLine(t).runner()
	asked := 0
	r.Value = func(_ context.Context, name, phone string) (string, bool) {
		asked++
		return "48213", name == "code6" && phone == "+254700000009"
	}
	out := run(t, r, "phone: +254700000009\nneeds: code6\n> 2*C12345678\n> {code6}\n~ Hello, Amina\n! {code6}\n")
	if !out.OK() || asked != 1 {
		t.Errorf("problems = %v, asked %d times, want 1", out.Problems, asked)
	}
}

// Without a pack the nodes come from the server alone.
func TestRunWithoutPack(t *testing.T) {
	t.Parallel()
	r := newLine(t).runner()
	r.Pack = nil
	if out := run(t, r, ">\n@ home\n> 2\n@ login.id\n> *\n@ unknown.when.over\nEND\n"); !out.OK() || len(out.Visits) != 0 {
		t.Errorf("problems = %v, visits = %v", out.Problems, out.Visits)
	}
	if out := run(t, r, ">\n@ nowhere\n"); out.OK() {
		t.Error("a wrong node passed")
	}
}
