package archtest

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// module is the import path all packages of the repository begin with.
const module = "github.com/hearth-dmrv/hearth"

// file is one parsed Go file. dir is the path of its folder from the root of
// the repository, with slashes; it names the package.
type file struct {
	dir, name string
	src       string
	fset      *token.FileSet
	ast       *ast.File
}

func (f *file) test() bool { return strings.HasSuffix(f.name, "_test.go") }

func (f *file) generated() bool { return ast.IsGenerated(f.ast) }

// finding is one broken rule: where, and what is wrong.
type finding struct{ where, what string }

func (f *file) finding(n ast.Node, format string, args ...any) finding {
	line := 1
	if n != nil {
		line = f.fset.Position(n.Pos()).Line
	}
	return finding{fmt.Sprintf("%s/%s:%d", f.dir, f.name, line), fmt.Sprintf(format, args...)}
}

// report fails t with every finding.
func report(t *testing.T, found []finding) {
	t.Helper()
	for _, f := range found {
		t.Errorf("%s: %s", f.where, f.what)
	}
}

// sample parses src as if it stood at path in the repository.
func sample(t *testing.T, path, src string) *file {
	t.Helper()
	f, err := parseFile(path, src)
	if err != nil {
		t.Fatalf("parse sample: %v", err)
	}
	return f
}

// wantFinding fails t unless exactly one finding was made and it speaks of
// text; an empty text wants none. It is how a rule shows that it works.
func wantFinding(t *testing.T, found []finding, text string) {
	t.Helper()
	switch {
	case text == "" && len(found) == 0:
	case text == "":
		t.Errorf("findings = %v, want none", found)
	case len(found) != 1 || !strings.Contains(found[0].what, text):
		t.Errorf("findings = %v, want one about %q", found, text)
	}
}

func parseFile(path, src string) (*file, error) {
	fset := token.NewFileSet()
	tree, err := parser.ParseFile(fset, path, src, parser.ParseComments)
	if err != nil {
		return nil, err
	}
	dir, name := filepath.Split(path)
	return &file{dir: strings.TrimSuffix(dir, "/"), name: name, src: src, fset: fset, ast: tree}, nil
}

// root is the folder of go.mod, two above this one.
var root = sync.OnceValue(func() string {
	dir, err := filepath.Abs("../..")
	if err != nil {
		panic(err)
	}
	if _, err := os.Stat(filepath.Join(dir, "go.mod")); err != nil {
		panic(err)
	}
	return dir
})

// walk calls fn for every file of the repository that is ours: no hidden or
// built folder, no data folder, no testdata unless asked for.
func walk(fn func(path string, d fs.DirEntry) error) error {
	return filepath.WalkDir(root(), func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root(), path)
		if err != nil {
			return err
		}
		if d.IsDir() && rel != "." && skipDir(d.Name()) {
			return filepath.SkipDir
		}
		if d.IsDir() {
			return nil
		}
		return fn(filepath.ToSlash(rel), d)
	})
}

func skipDir(name string) bool {
	if strings.HasPrefix(name, ".") {
		return name != ".ci"
	}
	switch name {
	case "bin", "hearth-data", "testdata", "node_modules":
		return true
	}
	return false
}

// files parses every Go file of the main module, once.
var files = sync.OnceValues(func() ([]*file, error) {
	var out []*file
	err := walk(func(path string, d fs.DirEntry) error {
		if !strings.HasSuffix(path, ".go") {
			return nil
		}
		src, err := os.ReadFile(filepath.Join(root(), path))
		if err != nil {
			return err
		}
		f, err := parseFile(path, string(src))
		if err != nil {
			return err
		}
		out = append(out, f)
		return nil
	})
	return out, err
})

func allFiles(t *testing.T) []*file {
	t.Helper()
	all, err := files()
	if err != nil {
		t.Fatalf("parse the repository: %v", err)
	}
	if len(all) < 10 {
		t.Fatalf("found %d Go files, want the whole repository", len(all))
	}
	return all
}

// code returns the files that are neither tests nor helpers of tests.
func code(all []*file) []*file {
	var out []*file
	for _, f := range all {
		if !f.test() && !testOnly(f.dir) {
			out = append(out, f)
		}
	}
	return out
}
