package archtest

import (
	"go/ast"
	"sort"
	"strings"
	"testing"
)

// checkPackageComments wants exactly one package comment per package, and that
// it begins the usual way.
func checkPackageComments(all []*file) []finding {
	byDir := map[string][]*file{}
	for _, f := range all {
		if !strings.HasSuffix(f.ast.Name.Name, "_test") {
			byDir[f.dir] = append(byDir[f.dir], f)
		}
	}
	var found []finding
	for _, group := range byDir {
		sort.Slice(group, func(i, j int) bool { return group[i].name < group[j].name })
		found = append(found, onePackageComment(group)...)
	}
	return found
}

func onePackageComment(group []*file) []finding {
	var found []finding
	first := ""
	for _, f := range group {
		if f.ast.Doc == nil {
			continue
		}
		if first != "" {
			found = append(found, f.finding(f.ast, "a second package comment; the first is in %s", first))
			continue
		}
		first = f.name
		want := "Package " + f.ast.Name.Name + " "
		if f.ast.Name.Name == "main" {
			want = "Command "
		}
		if !strings.HasPrefix(f.ast.Doc.Text(), want) {
			found = append(found, f.finding(f.ast, "the package comment begins with %q", want))
		}
	}
	if first == "" {
		found = append(found, group[0].finding(group[0].ast, "package %s has no package comment", group[0].dir))
	}
	return found
}

// checkExported wants a sentence on every exported name that begins with it.
func checkExported(all []*file) []finding {
	var found []finding
	for _, f := range code(all) {
		if f.ast.Name.Name == "main" || f.generated() {
			continue
		}
		for _, decl := range f.ast.Decls {
			switch d := decl.(type) {
			case *ast.FuncDecl:
				if d.Name.IsExported() && exportedReceiver(d) {
					found = append(found, f.named(d, d.Name.Name, d.Doc)...)
				}
			case *ast.GenDecl:
				found = append(found, f.exportedSpecs(d)...)
			}
		}
	}
	return found
}

func exportedReceiver(d *ast.FuncDecl) bool {
	return d.Recv == nil || ast.IsExported(receiver(d))
}

func (f *file) exportedSpecs(d *ast.GenDecl) []finding {
	var found []finding
	for _, spec := range d.Specs {
		switch s := spec.(type) {
		case *ast.TypeSpec:
			doc := s.Doc
			if doc == nil && !d.Lparen.IsValid() {
				doc = d.Doc
			}
			if s.Name.IsExported() && !(doc == nil && d.Doc != nil && ofAPI(s)) {
				found = append(found, f.named(s, s.Name.Name, doc)...)
			}
		case *ast.ValueSpec:
			// One comment may speak for a group of constants.
			if s.Names[0].IsExported() && d.Doc == nil && s.Doc == nil && s.Comment == nil {
				found = append(found, f.finding(s, "%s %s has no comment", d.Tok, s.Names[0].Name))
			}
		}
	}
	return found
}

// ofAPI reports whether a name stands for a noun of package api, whose comment
// is there. In a group with a comment it needs none of its own.
func ofAPI(s *ast.TypeSpec) bool {
	typ := s.Type
	if x, ok := typ.(*ast.IndexExpr); ok {
		typ = x.X
	}
	sel, ok := typ.(*ast.SelectorExpr)
	if !ok || !s.Assign.IsValid() {
		return false
	}
	pkg, ok := sel.X.(*ast.Ident)
	return ok && pkg.Name == "api"
}

func (f *file) named(n ast.Node, name string, doc *ast.CommentGroup) []finding {
	if doc == nil {
		return []finding{f.finding(n, "%s has no comment", name)}
	}
	words := strings.Fields(doc.Text())
	if len(words) > 0 && strings.TrimSuffix(strings.TrimRight(words[0], ",.:;"), "'s") == name {
		return nil
	}
	if len(words) > 1 && words[1] == name && (words[0] == "A" || words[0] == "An" || words[0] == "The") {
		return nil
	}
	return []finding{f.finding(n, "the comment of %s begins with its name", name)}
}

func TestPackageComments(t *testing.T) {
	t.Parallel()
	report(t, checkPackageComments(allFiles(t)))
}

func TestPackageCommentsFindsBad(t *testing.T) {
	t.Parallel()
	good := sample(t, "internal/x/a.go", "// Package x is for samples.\npackage x\n")
	bare := sample(t, "internal/x/b.go", "package x\n")
	for _, tt := range []struct {
		name string
		in   []*file
		want string
	}{
		{"one", []*file{good, bare}, ""},
		{"none", []*file{bare}, "no package comment"},
		{"two", []*file{good, sample(t, "internal/x/c.go", "// Package x again.\npackage x\n")}, "second"},
		{"wrong start", []*file{sample(t, "internal/x/a.go", "// This package does x.\npackage x\n")}, "begins with"},
		{"command", []*file{sample(t, "cmd/x/main.go", "// Command x runs.\npackage main\n")}, ""},
		{"outside tests need none", []*file{good, sample(t, "internal/x/a_test.go", "package x_test\n")}, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			wantFinding(t, checkPackageComments(tt.in), tt.want)
		})
	}
}

func TestExportedComments(t *testing.T) {
	t.Parallel()
	report(t, checkExported(allFiles(t)))
}

func TestExportedCommentsFindsBad(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, src, want string }{
		{"func", "// F does.\nfunc F() {}", ""},
		{"func bare", "func F() {}", "no comment"},
		{"func wrong", "// Does f.\nfunc F() {}", "begins with"},
		{"unexported", "func f() {}", ""},
		{"type", "type T struct{}", "no comment"},
		{"method", "// T is.\ntype T struct{}\n\nfunc (t *T) M() {}", "no comment"},
		{"method of unexported", "type t struct{}\n\nfunc (t) M() {}", ""},
		{"const group", "// The sizes.\nconst (\n\tA = 1\n\tB = 2\n)", ""},
		{"noun of api", "// The nouns.\ntype (\n\tT = api.T\n\tP[X any] = api.P[X]\n)", ""},
		{"noun of api bare", "type (\n\tT = api.T\n)", "no comment"},
		{"alias in a group", "// The nouns.\ntype (\n\tT = twin.T\n)", "no comment"},
		{"const bare", "const A = 1", "no comment"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			f := sample(t, "internal/web/a.go", "package web\n\n"+tt.src+"\n")
			wantFinding(t, checkExported([]*file{f}), tt.want)
		})
	}
}
