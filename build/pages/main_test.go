package main

import (
	"os"
	"path/filepath"
	"testing"
)

const root = "../.."

// TestPagesAreFresh: each page is what the code gives.
func TestPagesAreFresh(t *testing.T) {
	t.Parallel()
	for _, p := range pages {
		t.Run(p.name, func(t *testing.T) {
			t.Parallel()
			old, err := os.ReadFile(filepath.Join(root, "docs", p.name))
			if err != nil {
				t.Fatal(err)
			}
			made, err := p.made(root, string(old))
			if err != nil {
				t.Fatal(err)
			}
			if made != string(old) {
				t.Errorf("docs/%s is stale: run make generate", p.name)
			}
		})
	}
}
