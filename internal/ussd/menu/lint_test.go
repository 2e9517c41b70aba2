package menu_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hearth-dmrv/hearth/internal/ussd/menu"
)

func lint(p *menu.Pack, o menu.LintOptions) []string {
	var out []string
	for _, f := range menu.Lint(p, o) {
		out = append(out, f.String())
	}
	return out
}

func TestLintSmall(t *testing.T) {
	t.Parallel()
	if got := lint(parse(t), menu.LintOptions{}); len(got) > 0 {
		t.Errorf("Lint = %q, want nothing", got)
	}
}

func TestLintFinds(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name    string
		changes []string
		want    []string
	}{
		{
			"unreachable node",
			[]string{"  thanks: {", "  lost: {text: x, options: [{key: \"1\", text: y, to: home}]}\n  thanks: {"},
			[]string{"error: lost: cannot be reached"},
		},
		{
			"dead end",
			[]string{"      no: home", "      no: stuck", "  thanks: {", "  stuck: {text: x}\n  thanks: {"},
			[]string{"error: stuck: is a dead end: no key leads on", "warning: stuck: may show no numbered option"},
		},
		{
			"duplicate keys",
			[]string{`key: "9"`, `key: "1"`},
			[]string{"error: home: two options have the key 1"},
		},
		{
			"duplicate keys behind guards that exclude each other",
			[]string{`key: "9", `, `key: "3", if: "!authenticated", `},
			nil,
		},
		{
			"constants that an action does not take",
			[]string{"with: {kind: a, count: 3}", "with: {kind: a, sort: b}"},
			[]string{"error: save: with.sort does nothing: store takes kind, count"},
		},
		{
			"a language that the pack does not have",
			[]string{"    do: store\n    with: {kind: a, count: 3}", "    do: tell\n    with: {en: a, sw: b, fr: c}"},
			[]string{"error: save: with.fr does nothing: tell takes a text in each language, en, sw"},
		},
		{
			"option hidden by keys",
			[]string{"    options:\n", "    keys: {\"9\": ask}\n    options:\n"},
			[]string{"error: home: option 9 is never chosen: keys gives it another meaning"},
		},
		{
			"skip hidden by keys",
			[]string{"    back: home\n", "    back: home\n    keys: {\"00\": home}\n"},
			[]string{"error: ask: key 00 cannot skip: keys gives it another meaning"},
		},
		{
			"missing translation",
			[]string{"{en: Ask, sw: Uliza}", "{en: Ask}", "invalid: {en: No such key., sw: Hakuna.}", "invalid: {en: No such key.}"},
			[]string{"error: pack (sw): navigation.invalid has no translation; it is shown in en", "error: home (sw): option 1 has no translation; it is shown in en"},
		},
		{
			"missing translation of a notice",
			[]string{`say: "Stored, {name}."`, `say: {en: "Stored, {name}."}`},
			[]string{"error: save (sw): results.ok has no translation; it is shown in en"},
		},
		{
			"missing translation of a message",
			[]string{"do: store\n    with: {kind: a, count: 3}", "do: tell\n    with: {en: Stored.}"},
			[]string{"error: save (sw): with has no translation; it is sent in en"},
		},
		{
			"message in no language a customer starts with",
			[]string{"do: store\n    with: {kind: a, count: 3}", "do: tell\n    with: {sw: Tayari.}"},
			[]string{"error: save (en): with has no translation; nothing is sent"},
		},
		{
			"menu without exit",
			[]string{"    text: {en: \"Welcome", "    exit: false\n    text: {en: \"Welcome"},
			[]string{"error: home: has no exit"},
		},
		{
			"menu without numbers",
			[]string{`key: "1"`, "key: A", `key: "9"`, "key: B"},
			[]string{"warning: home: may show no numbered option"},
		},
		{
			"circle of actions",
			[]string{"      no: home", "      no: other", "  thanks: {", "  other: {do: store, results: {ok: home, no: save}}\n  thanks: {"},
			[]string{"error: save: actions lead round in a circle without a screen"},
		},
		{
			"an option no page can hold",
			[]string{"{en: Ask, sw: Uliza}", "{en: " + strings.Repeat("ask ", 50) + ", sw: Uliza}"},
			[]string{
				"error: home (en): cannot be made to fit: a page has no room for an option",
				"error: home (en): cannot be made to fit: an option has 202 units",
			},
		},
		{
			"an option with values no page can hold",
			[]string{"{en: Ask, sw: Uliza}", "{en: \"" + strings.Repeat("{name}", 7) + "\", sw: Uliza}"},
			[]string{
				"error: home (en): cannot be made to fit: a page has no room for an option",
				"error: home (en): cannot be made to fit: an option has 213 units, each value as long as vars says, else 30 characters",
			},
		},
		{
			"an end of two pages",
			[]string{"Thanks, {name}. {{done}", "Thanks, {name}." + strings.Repeat(" word", 35)},
			[]string{
				"error: thanks (en): the closing screen has 214 units, more than one page",
				"error: thanks (sw): the closing screen has 214 units, more than one page",
			},
		},
		{
			"an end too long in UCS-2 only",
			[]string{"Thanks, {name}. {{done}", "Thanks, {name}." + strings.Repeat(" word", 10)},
			[]string{
				"warning: thanks (en): the closing screen has 89 units, more than one page",
				"warning: thanks (sw): the closing screen has 89 units, more than one page",
			},
		},
		{
			"a longer value",
			[]string{"start: home", "start: home\nvars: {name: 160}", "say: \"Stored, {name}.\"", "say: Stored."},
			[]string{
				"error: thanks (en): the closing screen has 178 units, more than one page",
				"error: thanks (sw): the closing screen has 178 units, more than one page",
			},
		},
		{
			"a long goodbye",
			[]string{"Bye from {app}.", "Bye" + strings.Repeat(" bye", 50)},
			[]string{"error: pack (en): the goodbye has 203 units, more than a screen"},
		},
		{
			"a notice that needs a page more",
			[]string{"en: No such key.", "en: No such key." + strings.Repeat(" word", 30)},
			[]string{`warning: home (en): needs 2 pages with the notice "No such key.` + strings.Repeat(" word", 30) + `"`},
		},
		{
			"many pages",
			[]string{"Your name?", strings.Repeat("word ", 150)},
			[]string{"warning: ask (en): needs 6 pages"},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			limits := menu.Limits{}
			if tt.name == "a longer value" {
				limits.GSM7 = 170
			}
			if got := lint(parse(t, tt.changes...), menu.LintOptions{Limits: limits}); !slices.Equal(got, tt.want) {
				t.Errorf("Lint =\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(tt.want, "\n"))
			}
		})
	}
}

func TestLintFindsLongRuns(t *testing.T) {
	t.Parallel()
	chain := func(n int) []string {
		text := ""
		for i := range n {
			next := fmt.Sprintf("run%d", i+1)
			if i == n-1 {
				next = "home"
			}
			text += fmt.Sprintf("  run%d: {do: store, results: {ok: %s, no: home}}\n", i, next)
		}
		return []string{"      no: home", "      no: run0", "  thanks: {", text + "  thanks: {"}
	}
	if got := lint(parse(t, chain(7)...), menu.LintOptions{}); len(got) > 0 {
		t.Errorf("8 actions: Lint = %q, want nothing", got)
	}
	want := []string{"error: save: begins a run of more than 8 actions without a screen"}
	if got := lint(parse(t, chain(8)...), menu.LintOptions{}); !slices.Equal(got, want) {
		t.Errorf("9 actions: Lint = %q, want %q", got, want)
	}
}

func TestLintWarnsOfSlowWays(t *testing.T) {
	t.Parallel()
	got := lint(parse(t), menu.LintOptions{Session: 20 * time.Second, Press: 5 * time.Second, Type: 10 * time.Second})
	want := []string{"warning: thanks: is reached after about 25 s; the network hangs up after 20 s"}
	if !slices.Equal(got, want) {
		t.Errorf("Lint = %q, want %q", got, want)
	}
}

func TestLintPutsErrorsFirst(t *testing.T) {
	t.Parallel()
	found := menu.Lint(parse(t, `key: "1"`, "key: A", `key: "9"`, "key: A"), menu.LintOptions{})
	if len(found) != 2 || found[0].Level != menu.LevelError || found[1].Level != menu.LevelWarning {
		t.Errorf("Lint = %v", found)
	}
}
