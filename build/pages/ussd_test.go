package main

import (
	"os"
	"strings"
	"testing"

	"github.com/hearth-dmrv/hearth/internal/ussd/account"
	"github.com/hearth-dmrv/hearth/internal/ussd/machine"
)

// TestUSSDPageIsWhole: docs/ussd.md is what the code gives.
func TestUSSDPageIsWhole(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/ussd.md")
	if err != nil {
		t.Fatal(err)
	}
	want, err := ussdPage(string(page))
	if err != nil {
		t.Fatal(err)
	}
	if want != string(page) {
		t.Error("docs/ussd.md is stale: run make generate")
	}
	names := []string{"`> 2`", "`:again`"}
	for _, c := range machine.Checks() {
		names = append(names, "| `"+c.Name+"` |")
	}
	for name, a := range account.Offered() {
		names = append(names, "| `"+name+"` |")
		for _, p := range a.Takes {
			names = append(names, "`"+p.Name+"` (")
		}
	}
	for _, name := range names {
		if !strings.Contains(want, name) {
			t.Errorf("docs/ussd.md does not have %s", name)
		}
	}
}

func TestUSSDPageRefuses(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ page, want string }{
		"nothing":    {"# USSD\n", "the page has no part actions, checks"},
		"unknown":    {"<!-- made from the code: colours -->\n<!-- end -->\n", `"colours" is not known`},
		"not closed": {"<!-- made from the code: checks -->\n", `"checks" is not known, there twice or not closed`},
		"twice":      {strings.Repeat("<!-- made from the code: checks -->\n<!-- end -->\n", 2), `"checks" is not known, there twice`},
	} {
		if _, err := ussdPage(tt.page); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: ussdPage() = %v, want %q", name, err, tt.want)
		}
	}
}
