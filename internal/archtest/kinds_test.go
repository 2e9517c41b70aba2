package archtest

import (
	"go/ast"
	"go/token"
	"testing"
)

// formDir has the table of question types.
const formDir = "internal/survey/form"

// checkQuestionTypes finds code that compares names of question types: what a
// type does is in its kind.
func checkQuestionTypes(all []*file) []finding {
	names := map[string]bool{}
	for _, f := range code(all) {
		if f.dir != formDir {
			continue
		}
		ast.Inspect(f.ast, func(n ast.Node) bool {
			if s, ok := n.(*ast.ValueSpec); ok && isIdent(s.Type, "Type") {
				names[s.Names[0].Name] = true
			}
			return true
		})
	}
	var found []finding
	for _, f := range code(all) {
		see := func(operands ...ast.Expr) {
			for _, e := range operands {
				name, _ := e.(*ast.Ident)
				if s, ok := e.(*ast.SelectorExpr); ok && isIdent(s.X, "form") {
					name = s.Sel
				} else if f.dir != formDir {
					continue
				}
				if name != nil && names[name.Name] {
					found = append(found, f.finding(e, "compares with the question type %s: ask form.KindOf, and give Kind a field where it has none", name.Name))
				}
			}
		}
		ast.Inspect(f.ast, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.BinaryExpr:
				if n.Op == token.EQL || n.Op == token.NEQ {
					see(n.X, n.Y)
				}
			case *ast.CaseClause:
				see(n.List...)
			}
			return true
		})
	}
	return found
}

func isIdent(e ast.Expr, name string) bool {
	id, ok := e.(*ast.Ident)
	return ok && id.Name == name
}

func TestQuestionTypes(t *testing.T) {
	t.Parallel()
	report(t, checkQuestionTypes(allFiles(t)))
}

func TestQuestionTypesFindsBad(t *testing.T) {
	t.Parallel()
	const types = "package form\n\ntype Type string\n\nconst Geo Type = \"geo\"\n"
	for _, tt := range []struct{ name, path, src, want string }{
		{"a switch", "internal/survey/verify/a.go", "package verify\n\nfunc f(t form.Type) { switch t { case form.Geo: } }\n", "type Geo"},
		{"a comparison", formDir + "/a.go", "package form\n\nfunc f(t Type) bool { return t != Geo }\n", "type Geo"},
		{"the kind", "internal/survey/verify/a.go", "package verify\n\nfunc f(t form.Type) bool { return form.KindOf(t).Place }\n", ""},
		{"another Geo", "internal/entity/a.go", "package entity\n\nfunc f(k int) bool { return k == Geo }\n", ""},
		{"a new question", "internal/survey/verify/a.go", "package verify\n\nvar q = form.Question{Type: form.Geo}\n", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			wantFinding(t, checkQuestionTypes([]*file{sample(t, formDir+"/types.go", types), sample(t, tt.path, tt.src)}), tt.want)
		})
	}
}
