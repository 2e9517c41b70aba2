package archtest

import (
	"go/ast"
	"strings"
	"testing"
)

// rootContexts are the places outside main that may start a context of their
// own, and why.
var rootContexts = map[string]string{
	"internal/db": "a cancellable context on the SQLite writer rolls back its neighbours (ADR 0001)",
}

// keptContexts are the places where a struct may hold a context, and why.
var keptContexts = map[string]string{
	"internal/db": "a request waits in the writer's queue, and rows are read, under the context of their caller",
}

// checkContext forbids context.Background and context.TODO outside main, and
// contexts kept in structs.
func checkContext(all []*file) []finding {
	var found []finding
	for _, f := range code(all) {
		fam, rung, _ := family(f.dir)
		ast.Inspect(f.ast, func(n ast.Node) bool {
			switch x := n.(type) {
			case *ast.SelectorExpr:
				name := selector(x)
				if (name == "context.Background" || name == "context.TODO") && rung != command && rootContexts[fam] == "" {
					found = append(found, f.finding(x, "%s outside main: take ctx as a parameter", name))
				}
			case *ast.StructType:
				for _, field := range x.Fields.List {
					if sel, ok := field.Type.(*ast.SelectorExpr); ok && selector(sel) == "context.Context" && keptContexts[fam] == "" {
						found = append(found, f.finding(field, "a context is a parameter, never a struct field"))
					}
				}
			}
			return true
		})
	}
	return found
}

// selector gives "pkg.Name" for a selector on a plain identifier.
func selector(x *ast.SelectorExpr) string {
	if id, ok := x.X.(*ast.Ident); ok {
		return id.Name + "." + x.Sel.Name
	}
	return ""
}

// checkSleep forbids sleeping in tests: channels, synctest or polling with a
// deadline say what is waited for.
func checkSleep(all []*file) []finding {
	var found []finding
	for _, f := range all {
		_, rung, _ := family(f.dir)
		if !f.test() || rung == checks || strings.Contains(f.src, `"testing/synctest"`) {
			continue
		}
		for _, decl := range f.ast.Decls {
			if f.polls(decl) {
				continue
			}
			ast.Inspect(decl, func(n ast.Node) bool {
				if x, ok := n.(*ast.SelectorExpr); ok && selector(x) == "time.Sleep" {
					found = append(found, f.finding(x, "no sleep in tests: wait for what you wait for"))
				}
				return true
			})
		}
	}
	return found
}

// polls tells a function that looks again and again until a deadline: its
// short sleep waits for nothing else.
func (f *file) polls(decl ast.Decl) bool {
	fn, ok := decl.(*ast.FuncDecl)
	if !ok {
		return false
	}
	text := f.src[f.fset.Position(fn.Pos()).Offset:f.fset.Position(fn.End()).Offset]
	return strings.Contains(text, "deadline")
}

func TestContext(t *testing.T) {
	t.Parallel()
	report(t, checkContext(allFiles(t)))
}

func TestContextFindsBad(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, path, src, want string }{
		{"background", "internal/web/a.go", "var x = context.Background()", "outside main"},
		{"todo", "internal/event/a.go", "var x = context.TODO()", "outside main"},
		{"main", "cmd/hearth/main.go", "var x = context.Background()", ""},
		{"test", "internal/web/a_test.go", "var x = context.Background()", ""},
		{"writer", "internal/db/a.go", "var x = context.Background()", ""},
		{"field", "internal/web/a.go", "type t struct{ ctx context.Context }", "never a struct field"},
		{"queued field", "internal/db/a.go", "type t struct{ ctx context.Context }", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			wantFinding(t, checkContext([]*file{sample(t, tt.path, "package x\n\n"+tt.src+"\n")}), tt.want)
		})
	}
}

func TestNoSleepInTests(t *testing.T) {
	t.Parallel()
	report(t, checkSleep(allFiles(t)))
}

func TestNoSleepInTestsFindsBad(t *testing.T) {
	t.Parallel()
	const src = "package x\n\nfunc f() { time.Sleep(1) }\n"
	wantFinding(t, checkSleep([]*file{sample(t, "internal/web/a_test.go", src)}), "no sleep")
	wantFinding(t, checkSleep([]*file{sample(t, "internal/web/a.go", src)}), "")
	wantFinding(t, checkSleep([]*file{sample(t, "internal/web/a_test.go", strings.Replace(src, "{", "{ deadline := 1;", 1))}), "")
	wantFinding(t, checkSleep([]*file{sample(t, "internal/web/a_test.go", strings.Replace(src, "\n\n", "\n\nimport \"testing/synctest\"\n\n", 1))}), "")
}
