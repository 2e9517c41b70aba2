package wire

import (
	"embed"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hearth-dmrv/hearth/internal/ussd/menu"
)

//go:embed gateways/*.yaml
var shipped embed.FS

// Set is the gateways a server knows. It never changes.
type Set struct {
	byName map[string]*Gateway
	plain  *Gateway
}

// Open reads the bundled gateways and, when path is not "", those of a file or of every
// .yaml file in a folder. One of the same name replaces a bundled one. The error is
// Problems where a file was read: it names every problem with its file, line and column.
func Open(path string) (*Set, error) {
	s := &Set{byName: map[string]*Gateway{}, plain: Plain()}
	entries, err := shipped.ReadDir("gateways")
	if err != nil {
		return nil, fmt.Errorf("read shipped gateways: %w", err)
	}
	for _, entry := range entries {
		data, err := shipped.ReadFile("gateways/" + entry.Name())
		if err != nil {
			return nil, fmt.Errorf("read shipped gateways: %w", err)
		}
		if err := s.add(entry.Name(), data); err != nil {
			return nil, err
		}
	}
	if path == "" {
		return s, nil
	}
	files, err := filesOf(path)
	if err != nil {
		return nil, err
	}
	own := &Set{byName: map[string]*Gateway{}}
	var wrong Problems
	for _, file := range files {
		data, err := menu.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("read gateways: %w", err)
		}
		var problems Problems
		if err := own.add(file, data); errors.As(err, &problems) {
			wrong = append(wrong, problems...)
		} else if err != nil {
			return nil, err
		}
	}
	if len(wrong) > 0 {
		return nil, wrong
	}
	for name, g := range own.byName {
		s.byName[name] = g
	}
	return s, nil
}

func filesOf(path string) ([]string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("read gateways: %w", err)
	}
	if !info.IsDir() {
		return []string{path}, nil
	}
	entries, err := os.ReadDir(path)
	if err != nil {
		return nil, fmt.Errorf("read gateways: %w", err)
	}
	var files []string
	for _, e := range entries {
		if ext := strings.ToLower(filepath.Ext(e.Name())); !e.IsDir() && (ext == ".yaml" || ext == ".yml") {
			files = append(files, filepath.Join(path, e.Name()))
		}
	}
	return files, nil
}

func (s *Set) add(name string, data []byte) error {
	list, err := Parse(name, data)
	if err != nil {
		return err
	}
	var wrong Problems
	for _, g := range list {
		if s.byName[g.Name] != nil {
			wrong = append(wrong, g.twice(name))
			continue
		}
		s.byName[g.Name] = g
	}
	if len(wrong) > 0 {
		return wrong
	}
	return nil
}

// twice is the problem of a gateway whose name another one has.
func (g *Gateway) twice(file string) Problem {
	return Problem{File: file, Line: g.spot.line, Column: g.spot.column, Path: "gateway", Text: fmt.Sprintf("there are two gateways %q", g.Name)}
}

// Get returns the gateway of a name, nil when there is none. The name "" is the
// documented interface.
func (s *Set) Get(name string) *Gateway {
	if name == "" {
		return s.plain
	}
	return s.byName[name]
}

// List returns all gateways by name, without the documented interface.
func (s *Set) List() []*Gateway {
	out := make([]*Gateway, 0, len(s.byName))
	for _, g := range s.byName {
		out = append(out, g)
	}
	slices.SortFunc(out, func(a, b *Gateway) int { return strings.Compare(a.Name, b.Name) })
	return out
}
