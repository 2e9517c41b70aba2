package archtest

import (
	"go/ast"
	"go/token"
	"strings"
	"testing"
)

// checkInit forbids init functions and imports for their side effects: what is
// built in is a list one can read.
func checkInit(all []*file) []finding {
	var found []finding
	for _, f := range all {
		for _, decl := range f.ast.Decls {
			if fn, ok := decl.(*ast.FuncDecl); ok && fn.Recv == nil && fn.Name.Name == "init" {
				found = append(found, f.finding(fn, "no init(): call it by name"))
			}
		}
		for _, spec := range f.ast.Imports {
			if spec.Name != nil && spec.Name.Name == "_" && spec.Path.Value != `"embed"` && spec.Path.Value != `"time/tzdata"` { // both only add data
				found = append(found, f.finding(spec, "no import for its side effects: %s", spec.Path.Value))
			}
		}
	}
	return found
}

// stateful are types whose values change by their methods; a package variable
// of one is a global that changes.
var stateful = []string{"sync.Mutex", "sync.RWMutex", "sync.Map", "sync.Once", "sync.Pool", "sync.WaitGroup", "atomic."}

// checkGlobals forbids package variables that change after their declaration.
func checkGlobals(all []*file) []finding {
	vars := map[string]map[string]bool{} // folder → names
	for _, f := range code(all) {
		for name := range f.packageVars() {
			if vars[f.dir] == nil {
				vars[f.dir] = map[string]bool{}
			}
			vars[f.dir][name] = true
		}
	}
	var found []finding
	for _, f := range code(all) {
		for name, spec := range f.packageVars() {
			if typ := stateType(f, spec); typ != "" {
				found = append(found, f.finding(spec, "package variable %s holds state (%s)", name, typ))
			}
		}
		found = append(found, f.reassigned(vars[f.dir])...)
	}
	return found
}

// packageVars maps the names of f's package variables to their declarations.
func (f *file) packageVars() map[string]*ast.ValueSpec {
	out := map[string]*ast.ValueSpec{}
	for _, decl := range f.ast.Decls {
		d, ok := decl.(*ast.GenDecl)
		if !ok || d.Tok != token.VAR {
			continue
		}
		for _, spec := range d.Specs {
			s := spec.(*ast.ValueSpec)
			for _, name := range s.Names {
				if name.Name != "_" {
					out[name.Name] = s
				}
			}
		}
	}
	return out
}

func stateType(f *file, spec *ast.ValueSpec) string {
	text := func(n ast.Node) string {
		return f.src[f.fset.Position(n.Pos()).Offset:f.fset.Position(n.End()).Offset]
	}
	shown := ""
	if spec.Type != nil {
		shown = text(spec.Type)
	}
	for _, v := range spec.Values {
		if lit, ok := v.(*ast.CompositeLit); ok && lit.Type != nil {
			shown = text(lit.Type)
		}
	}
	for _, name := range stateful {
		if strings.HasPrefix(shown, name) {
			return shown
		}
	}
	return ""
}

// reassigned finds assignments inside functions to any of names, and to
// variables of other packages.
func (f *file) reassigned(names map[string]bool) []finding {
	imported := f.importNames()
	var found []finding
	hit := func(n ast.Node, target ast.Expr) {
		if name := f.globalRoot(target, names, imported); name != "" {
			found = append(found, f.finding(n, "package variable %s changes outside its declaration", name))
		}
	}
	ast.Inspect(f.ast, func(n ast.Node) bool {
		switch s := n.(type) {
		case *ast.AssignStmt:
			if s.Tok == token.DEFINE {
				return true
			}
			for _, target := range s.Lhs {
				hit(s, target)
			}
		case *ast.IncDecStmt:
			hit(s, s.X)
		case *ast.CallExpr:
			if fn, ok := s.Fun.(*ast.Ident); ok && (fn.Name == "delete" || fn.Name == "clear") && len(s.Args) > 0 {
				hit(s, s.Args[0])
			}
		}
		return true
	})
	return found
}

// importNames holds the names under which f sees other packages.
func (f *file) importNames() map[string]bool {
	out := map[string]bool{}
	for _, spec := range f.ast.Imports {
		path := strings.Trim(spec.Path.Value, `"`)
		name := path[strings.LastIndex(path, "/")+1:]
		if spec.Name != nil {
			name = spec.Name.Name
		}
		out[name] = true
	}
	return out
}

// globalRoot follows x.f[i] and *x to their root and names it when it is a
// package variable.
func (f *file) globalRoot(e ast.Expr, names, imported map[string]bool) string {
	for {
		switch x := e.(type) {
		case *ast.ParenExpr:
			e = x.X
		case *ast.IndexExpr:
			e = x.X
		case *ast.StarExpr:
			e = x.X
		case *ast.SelectorExpr:
			if id, ok := x.X.(*ast.Ident); ok && id.Obj == nil && imported[id.Name] && !names[id.Name] {
				return id.Name + "." + x.Sel.Name
			}
			e = x.X
		case *ast.Ident:
			// The parser places what functions declare; what it could not
			// place, or placed in the file's own scope, is global.
			if names[x.Name] && (x.Obj == nil || f.ast.Scope.Lookup(x.Name) == x.Obj) {
				return x.Name
			}
			return ""
		default:
			return ""
		}
	}
}

func TestNoInit(t *testing.T) {
	t.Parallel()
	report(t, checkInit(allFiles(t)))
}

func TestNoInitFindsBad(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, src, want string }{
		{"init", "func init() {}", "no init()"},
		{"method called init", "type t struct{}\n\nfunc (t) init() {}", ""},
		{"side effect", `import _ "net/http/pprof"`, "side effects"},
		{"embed", `import _ "embed"`, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			wantFinding(t, checkInit([]*file{sample(t, "internal/web/a.go", "package web\n\n"+tt.src+"\n")}), tt.want)
		})
	}
}

func TestNoChangingGlobals(t *testing.T) {
	t.Parallel()
	report(t, checkGlobals(allFiles(t)))
}

func TestNoChangingGlobalsFindsBad(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, src, want string }{
		{"assigned", "var n int\n\nfunc f() { n = 1 }", "n changes"},
		{"counted", "var n int\n\nfunc f() { n++ }", "n changes"},
		{"map", "var m = map[int]int{}\n\nfunc f() { m[1] = 2 }", "m changes"},
		{"deleted", "var m = map[int]int{}\n\nfunc f() { delete(m, 1) }", "m changes"},
		{"member", "var s struct{ n int }\n\nfunc f() { s.n = 1 }", "s changes"},
		{"other package", "import \"net/http\"\n\nfunc f() { http.DefaultClient = nil }", "http.DefaultClient"},
		{"mutex", "var mu sync.Mutex", "holds state"},
		{"read", "var n = 1\n\nfunc f() int { return n }", ""},
		{"local of the same name", "var n int\n\nfunc f() int { n := 1; n = 2; return n }", ""},
		{"local var of the same name", "var n int\n\nfunc f() int { var n int; n = 2; return n }", ""},
		{"parameter of the same name", "var n int\n\nfunc f(n int) { n = 2; _ = n }", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			wantFinding(t, checkGlobals([]*file{sample(t, "internal/web/a.go", "package web\n\n"+tt.src+"\n")}), tt.want)
		})
	}
	a := sample(t, "internal/web/a.go", "package web\n\nvar n int\n")
	b := sample(t, "internal/web/b.go", "package web\n\nfunc f() { n = 1 }\n")
	wantFinding(t, checkGlobals([]*file{a, b}), "n changes")
}
