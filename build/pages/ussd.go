package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hearth-dmrv/hearth/internal/ussd/account"
	"github.com/hearth-dmrv/hearth/internal/ussd/dialog"
	"github.com/hearth-dmrv/hearth/internal/ussd/fetch"
	"github.com/hearth-dmrv/hearth/internal/ussd/machine"
)

// A part of docs/ussd.md that is made from the code stands between these; the rest of
// the page is written by hand.
const (
	opening = "<!-- made from the code: "
	closing = "<!-- end -->"
)

// parts are the parts of the page by name.
func parts() map[string]string {
	return map[string]string{
		"checks": table("A check takes", params(machine.Checks())), "actions": actions(offered()),
		"variables": table("A variable of actions holds", params(append(account.Variables(), fetch.Variables()...))), "dialogs": syntax(),
	}
}

// offered are all actions that packs may name.
func offered() map[string]machine.Action {
	all := account.Offered()
	maps.Copy(all, fetch.Actions(fetch.Config{}))
	return all
}

// ussdPage gives the page with its parts as the code has them now. A part that is
// missing, not known or not closed is an error.
func ussdPage(page string) (string, error) {
	var out strings.Builder
	left := parts()
	for {
		before, rest, ok := strings.Cut(page, opening)
		out.WriteString(before)
		if !ok {
			break
		}
		name, rest, _ := strings.Cut(rest, " -->\n")
		part, known := left[name]
		_, after, closed := strings.Cut(rest, closing)
		if !known || !closed {
			return "", fmt.Errorf("the part %q is not known, there twice or not closed; there are %s", name, strings.Join(slices.Sorted(maps.Keys(parts())), ", "))
		}
		delete(left, name)
		out.WriteString(opening + name + " -->\n" + part + closing)
		page = after
	}
	if len(left) > 0 {
		return "", fmt.Errorf("the page has no part %s", strings.Join(slices.Sorted(maps.Keys(left)), ", "))
	}
	return out.String(), nil
}

// offer is a name and its meaning.
type offer struct{ name, about string }

func params(of []machine.Param) []offer {
	rows := make([]offer, len(of))
	for i, p := range of {
		rows[i] = offer{p.Name, p.About}
		if p.Secret {
			rows[i].about += "; always secret"
		}
	}
	return rows
}

func table(title string, rows []offer) string {
	var b strings.Builder
	fmt.Fprintf(&b, "| %s | |\n|---|---|\n", title)
	for _, r := range rows {
		fmt.Fprintf(&b, "| %s | %s |\n", code(r.name), escaped(r.about))
	}
	return b.String()
}

func actions(all map[string]machine.Action) string {
	var b strings.Builder
	b.WriteString("| An action | takes | has the results | sets | and does |\n|---|---|---|---|---|\n")
	for _, name := range slices.Sorted(maps.Keys(all)) {
		a := all[name]
		takes := make([]string, len(a.Takes))
		for i, t := range a.Takes {
			takes[i] = code(t.Name) + " (" + escaped(t.About) + ")"
		}
		if a.Texts {
			takes = []string{"a text by language: `en`, `sw`, …"}
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s |\n", code(name), strings.Join(takes, ", "), codeList(a.Results), codeList(a.Sets), escaped(a.About))
	}
	return b.String()
}

func syntax() string {
	var rows []offer
	for _, f := range dialog.Syntax() {
		rows = append(rows, offer{f.Line, f.About})
	}
	return table("A line of a dialog", rows)
}

func codeList(names []string) string {
	out := make([]string, len(names))
	for i, n := range names {
		out[i] = code(n)
	}
	return strings.Join(out, ", ")
}

func code(s string) string { return "`" + escaped(s) + "`" }

func escaped(s string) string { return strings.ReplaceAll(s, "|", `\|`) }
