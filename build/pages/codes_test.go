package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"strings"
	"testing"
)

func scanText(t *testing.T, body string) ([]use, error) {
	t.Helper()
	s, err := parse("internal/sample/a.go", "package sample\n\nimport \""+faultPath+"\"\n\n"+body)
	if err != nil {
		t.Fatal(err)
	}
	return scan([]*source{s})
}

func TestScan(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, body string
		want       use
	}{
		{"literal", `var x = fault.New(fault.NotFound, "KEY_NOT_FOUND", "No such key.")`, use{"KEY_NOT_FOUND", "NotFound", "No such key.", ""}},
		{"constant", "const c = \"A_B\"\nvar x = fault.New(fault.Invalid, c, \"Bad.\")", use{"A_B", "Invalid", "Bad.", ""}},
		{"joined message", `var x = fault.New(fault.Invalid, "A", "Bad "+y+".")`, use{"A", "Invalid", "Bad ….", ""}},
		{"formatted message", `var x = fault.New(fault.Invalid, "A", fmt.Sprintf("At most %d, 100%%.", n))`, use{"A", "Invalid", "At most …, 100%.", ""}},
		{"checks", `func f() { return c.Err("A", "Bad.") }`, use{"A", "Invalid", "Bad.", ""}},
		{"field", `func f() { c.Add("/a", "too_long", "Too long.") }`, use{"too_long", fieldKind, "Too long.", ""}},
		{"field literal", `var f = fault.Field{Pointer: "/a", Code: "unknown", Detail: "No."}`, use{"unknown", fieldKind, "No.", ""}},
		{"wrapper", "func f() { bad(1, \"A_B\") }\nfunc bad(n int, code string) error { return fault.New(fault.Stale, code, \"x\") }", use{"A_B", "Stale", "", ""}},
		{"method wrapper", "func f() { s.bad(\"A_B\", \"No.\") }\nfunc (s s) bad(code, text string) error { return fault.New(fault.Stale, code, text) }", use{"A_B", "Stale", "No.", ""}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := scanText(t, tt.body)
			if err != nil || len(got) != 1 {
				t.Fatalf("scan() = %v, %v; want one use", got, err)
			}
			got[0].dir = ""
			if got[0] != tt.want {
				t.Errorf("scan() = %+v, want %+v", got[0], tt.want)
			}
		})
	}
}

func TestScanRefusesWhatItCannotRead(t *testing.T) {
	t.Parallel()
	for name, body := range map[string]string{
		"built code":    `var x = fault.New(fault.Invalid, "A_"+name, "Bad.")`,
		"lower case":    `var x = fault.New(fault.Invalid, "not_upper", "Bad.")`,
		"variable kind": `var x = fault.New(kind, "A", "Bad.")`,
	} {
		if _, err := scanText(t, body); err == nil {
			t.Errorf("%s: scan() accepts %s", name, body)
		}
	}
}

// TestKinds fails when a kind was added to the fault package alone.
func TestKinds(t *testing.T) {
	t.Parallel()
	tree, err := parser.ParseFile(token.NewFileSet(), root+"/internal/fault/fault.go", nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	for _, decl := range tree.Decls {
		d, ok := decl.(*ast.GenDecl)
		if !ok || d.Tok != token.CONST {
			continue
		}
		for _, spec := range d.Specs {
			name := spec.(*ast.ValueSpec).Names[0].Name
			if _, ok := kinds[name]; !ok {
				t.Errorf("kind %s is not in the table", name)
			}
			seen++
		}
	}
	if seen != len(kinds) {
		t.Errorf("fault has %d kinds, the table %d", seen, len(kinds))
	}
}

func TestRender(t *testing.T) {
	t.Parallel()
	page := string(render([]use{
		{"B", "Invalid", "Two | bars.", "internal/web"},
		{"A", "NotFound", "Gone.", "internal/auth"},
		{"B", "Conflict", "Other.", "internal/db"},
		{"too_long", fieldKind, "Too long.", "internal/auth"},
	}))
	for _, want := range []string{
		"| `A` | 404 | Gone. | auth |\n| `B` | 400, 409 | Other. / Two \\| bars. | db, web |\n",
		"| `too_long` | Too long. | auth |\n",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("page = %s\nwant %s", page, want)
		}
	}
}
