package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// faultPath is the package whose calls make error codes.
const faultPath = "github.com/hearth-dmrv/hearth/internal/fault"

// source is one Go file; dir names its package.
type source struct {
	dir  string
	path string
	fset *token.FileSet
	tree *ast.File
}

// where names a place for an error message.
func (s *source) where(n ast.Node) string {
	return s.path + ":" + strconv.Itoa(s.fset.Position(n.Pos()).Line)
}

// usesFault reports whether the file imports the fault package or is part of it.
func (s *source) usesFault() bool {
	if s.dir == "internal/fault" {
		return true
	}
	for _, spec := range s.tree.Imports {
		if strings.Trim(spec.Path.Value, `"`) == faultPath {
			return true
		}
	}
	return false
}

// readSource parses the code below internal that is not a test.
func readSource(root string) ([]*source, error) {
	var out []*source
	err := filepath.WalkDir(filepath.Join(root, "internal"), func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := d.Name()
		if d.IsDir() {
			if name == "testdata" || strings.HasSuffix(name, "test") {
				return filepath.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		s, err := parse(filepath.ToSlash(rel), string(text))
		out = append(out, s)
		return err
	})
	return out, err
}

func parse(path, text string) (*source, error) {
	fset := token.NewFileSet()
	tree, err := parser.ParseFile(fset, path, text, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	return &source{dir: filepath.ToSlash(filepath.Dir(path)), path: path, fset: fset, tree: tree}, nil
}

// constants maps the string constants of each package: folder → name → value.
func constants(files []*source) map[string]map[string]string {
	out := map[string]map[string]string{}
	for _, s := range files {
		if out[s.dir] == nil {
			out[s.dir] = map[string]string{}
		}
		ast.Inspect(s.tree, func(n ast.Node) bool {
			d, ok := n.(*ast.GenDecl)
			if !ok || d.Tok != token.CONST {
				return true
			}
			for _, spec := range d.Specs {
				v := spec.(*ast.ValueSpec)
				for i, name := range v.Names {
					if i >= len(v.Values) {
						break
					}
					if text, ok := literal(v.Values[i]); ok {
						out[s.dir][name.Name] = text
					}
				}
			}
			return true
		})
	}
	return out
}

// literal is the value of a string literal.
func literal(e ast.Expr) (string, bool) {
	lit, ok := e.(*ast.BasicLit)
	if !ok || lit.Kind != token.STRING {
		return "", false
	}
	text, err := strconv.Unquote(lit.Value)
	return text, err == nil
}
