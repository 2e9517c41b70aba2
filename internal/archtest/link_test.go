package archtest

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var mdLink = regexp.MustCompile(`\]\(([^)\s]+)\)`)

// checkLinks finds links of a Markdown page to files that do not exist.
func checkLinks(page, text string, exists func(path string) bool) []finding {
	var found []finding
	for _, m := range mdLink.FindAllStringSubmatch(text, -1) {
		target, _, _ := strings.Cut(m[1], "#")
		if target == "" || strings.Contains(target, ":") || strings.HasPrefix(target, "/") {
			continue // inside the page, outside the repository, or on a server
		}
		if !exists(path.Join(path.Dir(page), target)) {
			found = append(found, finding{page, "link to nothing: " + m[1]})
		}
	}
	return found
}

func onDisk(path string) bool {
	_, err := os.Stat(filepath.Join(root(), path))
	return err == nil
}

func TestLinks(t *testing.T) {
	t.Parallel()
	var found []finding
	err := walk(func(path string, _ fs.DirEntry) error {
		if !strings.HasSuffix(path, ".md") {
			return nil
		}
		text, err := os.ReadFile(filepath.Join(root(), path))
		found = append(found, checkLinks(path, string(text), onDisk)...)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	report(t, found)
}

func TestLinksFindsBad(t *testing.T) {
	t.Parallel()
	exists := func(path string) bool { return path == "docs/a.md" }
	wantFinding(t, checkLinks("docs/b.md", "[a](a.md#x) [site](https://example.org) [here](#y)", exists), "")
	wantFinding(t, checkLinks("docs/b.md", "[c](c.md)", exists), "link to nothing")
	wantFinding(t, checkLinks("b.md", "[a](a.md)", exists), "link to nothing")
}

// TestDecisionsAreListed wants every record of docs/adr in its index.
func TestDecisionsAreListed(t *testing.T) {
	t.Parallel()
	index, err := os.ReadFile(filepath.Join(root(), "docs/adr/README.md"))
	if err != nil {
		t.Fatal(err)
	}
	records, err := filepath.Glob(filepath.Join(root(), "docs/adr/0*.md"))
	if err != nil || len(records) == 0 {
		t.Fatalf("records = %v, %v", records, err)
	}
	for _, record := range records {
		if !strings.Contains(string(index), "("+filepath.Base(record)+")") {
			t.Errorf("docs/adr/README.md does not list %s", filepath.Base(record))
		}
		text, err := os.ReadFile(record)
		if err != nil {
			t.Fatal(err)
		}
		for _, part := range []string{"## Context", "## Decision", "## Consequences"} {
			if !strings.Contains(string(text), "\n"+part+"\n") {
				t.Errorf("%s has no %q", filepath.Base(record), part)
			}
		}
	}
}

// TestCI wants CI to run what the README tells people to run, and no more.
func TestCI(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join(root(), ".ci/run"))
	if err != nil {
		t.Fatal(err)
	}
	const want = "#!/usr/bin/env bash\nset -euo pipefail\ncd \"$(dirname \"$0\")/..\"\nmake test\n"
	if string(text) != want {
		t.Errorf(".ci/run = %q, want %q", text, want)
	}
	readme, err := os.ReadFile(filepath.Join(root(), "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(readme), "make test") {
		t.Error("README.md does not name make test")
	}
}
