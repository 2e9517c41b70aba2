package main

import (
	"os"
	"testing"
)

// TestPageIsMadeFromTheCode: docs/xlsform.md is what the code gives.
func TestPageIsMadeFromTheCode(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../../../docs/xlsform.md")
	if err != nil {
		t.Fatal(err)
	}
	if string(page) != Page() {
		t.Error("docs/xlsform.md is not what the code gives: run go generate ./docs")
	}
}
