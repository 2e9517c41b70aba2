// Command pages writes the pages of docs that are generated from the code: error
// codes, settings, what menu packs and dialogs may say, and what is read from an
// XLSForm. Its argument is the folder of the pages, which must lie below the root of
// the repository. Tests fail when a page is stale.
package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/hearth-dmrv/hearth/internal/config"
)

// page makes one of the pages; old is its present text.
type page struct {
	name string
	made func(root, old string) (string, error)
}

// pages are all of them.
var pages = []page{
	{"errors.md", func(root, _ string) (string, error) { return codesPage(root) }},
	{"configuration.md", func(string, string) (string, error) { return config.Markdown(), nil }},
	{"ussd.md", func(_, old string) (string, error) { return ussdPage(old) }},
	{"xlsform.md", func(string, string) (string, error) { return xlsformPage(), nil }},
}

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: pages <folder to write to>")
		os.Exit(2)
	}
	for _, p := range pages {
		if err := p.write(os.Args[1]); err != nil {
			fmt.Fprintf(os.Stderr, "%s: %v\n", p.name, err)
			os.Exit(1)
		}
	}
}

// write brings the page in folder up to date.
func (p page) write(folder string) error {
	file := filepath.Join(folder, p.name)
	old, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	text, err := p.made(filepath.Join(folder, ".."), string(old))
	if err != nil {
		return err
	}
	return os.WriteFile(file, []byte(text), 0o644)
}
