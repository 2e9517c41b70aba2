package menu_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/hearth-dmrv/hearth/internal/ussd/menu"
)

// review is everything that is said about the small pack after changes.
func review(t *testing.T, changes ...string) []string {
	t.Helper()
	r := menu.Review("f", []byte(changed(t, changes...)), smallKnown(), menu.LintOptions{})
	if (r.Pack == nil) != (len(r.Problems) > 0) {
		t.Errorf("Pack = %v with %d problems, want one or the other", r.Pack, len(r.Problems))
	}
	var out []string
	for _, p := range r.Problems {
		out = append(out, p.String())
	}
	for _, f := range r.Findings {
		out = append(out, f.String())
	}
	return out
}

// TestReviewTellsAllAtOnce: what Parse refuses hides nothing of what lint finds.
func TestReviewTellsAllAtOnce(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name    string
		changes []string
		want    []string
	}{
		{"nothing", nil, nil},
		{
			"a mistake of each kind",
			[]string{
				"pack: small", "pack: S", "{en: Ask, sw: Uliza}", "{en: Ask}", `key: "9"`, `key: "1"`, "check: pin", "check: pine",
				"    text: {en: Your name?", "    exit: false\n    text: {en: Your name?",
			},
			[]string{
				`f:1:7: pack: "S" does not have the form ^[a-z][a-z0-9-]{0,31}$`,
				`f:33:31: nodes.ask.pin.input.check: no check has the name "pine"; there are name, pin, integer`,
				"f:13: error: home (sw): option 1 has no translation; it is shown in en",
				"f:13: error: home: two options have the key 1",
				"f:19: error: ask: has no exit",
			},
		},
		{
			"what is given twice hides nothing",
			[]string{"start: home\n", "start: home\nstart: ask\n", "  ask.pin:\n", "  home: {text: Two, end: true}\n  ask.pin:\n", "{en: Ask, sw: Uliza}", "{en: Ask}"},
			[]string{
				`f:5:1: there is one "start" already, on line 4`,
				`f:31:3: there is one "home" already, on line 14`,
				"f:14: error: home (sw): option 1 has no translation; it is shown in en",
			},
		},
		{
			"what cannot be read says that it hides the rest",
			[]string{"languages: [en, sw]", "languages: [en, sw", "{en: Ask, sw: Uliza}", "{en: Ask}"},
			[]string{"f:4:1: ',' or ']' must be specified; the rest could not be looked at until this is mended"},
		},
		{
			"a screen that does not fit beside an unknown action",
			[]string{"do: store", "do: stor", "text: \"Thanks, {name}", "text: \"" + strings.Repeat("so ", 60) + "{name}"},
			[]string{
				`f:36:9: nodes.save.do: no action has the name "stor"; there are store, tell`,
				"f:42: error: thanks (en): the closing screen has 220 units, more than one page",
				"f:42: error: thanks (sw): the closing screen has 220 units, more than one page",
			},
		},
		{
			"a link to nothing leaves open what it was meant for",
			[]string{"to: save", "to: safe"},
			[]string{
				`f:33:9: nodes.ask.pin.to: no node has the id "safe"`,
				"f:35: warning: save: cannot be reached, unless a link that leads nowhere is meant for it",
			},
		},
		{
			"a node that leads nowhere is no dead end when its way could not be read",
			[]string{"    to: ask.pin\n    back: home\n", "", "    state: home\n", "    keys: {}\n"},
			[]string{
				"f:19:3: nodes.ask.to: is missing",
				"f:28: warning: ask.pin: cannot be reached, unless a link that leads nowhere is meant for it",
			},
		},
		{
			"a misspelt member is no dead end",
			[]string{"    options:\n", "    option:\n"},
			[]string{
				"f:15:5: nodes.home.option: is not known here; want one of state, text, options, any, input, do, with, results, clear, to, back, keys, exit, end, draft, cases, else, answer, list",
				"f:19: warning: ask: cannot be reached, unless a link that leads nowhere is meant for it",
			},
		},
		{
			"a text without its default says what else is missing",
			[]string{"{en: Your name?, sw: Jina lako?}", "{}"},
			[]string{
				"f:21:11: nodes.ask.text: want a text in en, the default language",
				"f:19: error: ask (sw): text has no translation; it is shown in en",
			},
		},
		{
			"a text that is not there is said once",
			[]string{"    text: {en: Your name?, sw: Jina lako?}\n", ""},
			[]string{"f:19:3: nodes.ask.text: is missing"},
		},
		{
			"a limit that cannot be read is the usual one",
			[]string{"gsm7: 182", "gsm7: many"},
			[]string{"f:5:16: limits.gsm7: want a number from 40 to 182"},
		},
		{
			"a flag that cannot be read is the usual one",
			[]string{"    back: home\n", "    back: home\n    exit: maybe\n"},
			[]string{"f:29:11: nodes.ask.exit: want true or false"},
		},
		{
			"languages that cannot be read say nothing of the texts",
			[]string{"languages: [en, sw]", "languages: []"},
			[]string{"f:3:12: languages: want at least one language"},
		},
		{
			"an action that cannot be read is no menu",
			[]string{"    do: store", "    do:"},
			[]string{"f:36:5: nodes.save.do: want a text, not nothing"},
		},
		{
			"everything a pack has not",
			[]string{"start: home", "start: &a home", "text: PIN?", "text: *a"},
			[]string{"f:4:8: a pack has no anchor", "f:31:11: a pack has no alias"},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := review(t, tt.changes...); !slices.Equal(got, tt.want) {
				t.Errorf("Review says\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(tt.want, "\n"))
			}
		})
	}
}

// TestReviewCountsWhatItLeavesOut: a file with very many mistakes says how many.
func TestReviewCountsWhatItLeavesOut(t *testing.T) {
	t.Parallel()
	r := menu.Review("f", []byte("other: [\n"+small), smallKnown(), menu.LintOptions{})
	if len(r.Problems) != 1 || r.Findings != nil {
		t.Errorf("Review of no YAML = %v, %v, want one problem", r.Problems, r.Findings)
	}
	many := small
	for i := range 130 {
		many += "  x" + strings.Repeat("y", i%50) + string(rune('a'+i/50)) + ": {text: x, back: nowhere}\n"
	}
	r = menu.Review("f", []byte(many), smallKnown(), menu.LintOptions{})
	if n := len(r.Problems); n != 101 || r.Problems[100].Text != "and 30 more problems" {
		t.Errorf("Review gives %d problems, the last %v", n, r.Problems[n-1])
	}
}

// TestLoginSays: the line above the login that a kept walk needs is a text like
// any other.
func TestLoginSays(t *testing.T) {
	t.Parallel()
	login := func(text string) []string { return []string{"start: home\n", "start: home\nlogin: " + text + "\n"} }
	if p := parse(t, login("ask")...); p.Login != "ask" || p.LoginSay != nil {
		t.Errorf("login = %q, %q", p.Login, p.LoginSay)
	}
	if p := parse(t, login("{to: ask, say: {en: Log in., sw: Ingia.}}")...); p.Login != "ask" || p.LoginSay["sw"] != "Ingia." {
		t.Errorf("login = %q, %q", p.Login, p.LoginSay)
	}
	for text, want := range map[string]string{
		"{to: ask, say: {en: Log in.}}":       "error: pack (sw): login has no translation; it is shown in en",
		"{to: ask, say: {sw: Ingia.}}":        "f:5:23: login.say: want a text in en, the default language",
		"{to: ask, say: \"{nobody}\"}":        `f:5:23: login.say: nothing sets the variable "nobody"`,
		"{to: safe, say: Log in.}":            `f:5:13: login.to: no node has the id "safe"`,
		"{to: ask, say: " + long + "}":        "f:20: warning: ask (en): ",
		"{to: ask, say: Log in., why: never}": "f:5:32: login.why: is not known here",
	} {
		if got := strings.Join(review(t, login(text)...), "\n"); !strings.Contains(got, want) {
			t.Errorf("login: %s says\n%s\nwant %q in it", text, got, want)
		}
	}
}

const long = "so so so so so so so so so so so so so so so so so so so so so so so so so so so so so so so so so so so so so so so so so so so so so so so so so so so so so so so so so so so so so so so so"

// TestHeldMayBeLeftOut: packs from before the result for held numbers lead to
// what they have for the nearest of its kin.
func TestHeldMayBeLeftOut(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		results []string
		changes []string
		to      string
		err     string
	}{
		{[]string{"ok", "blocked", menu.Held}, []string{"no: home", "blocked: ask"}, "ask", ""},
		{[]string{"ok", "full", menu.Held}, []string{"no: home", "full: home"}, "home", ""},
		{[]string{"ok", "blocked", menu.Held}, []string{"no: home", "blocked: ask\n      held: home"}, "home", ""},
		{[]string{"ok", "no", menu.Held}, nil, "", "store may end with held, which leads nowhere"},
		{[]string{"ok", "no"}, []string{"no: home", "no: home\n      held: home"}, "", "store has no such result"},
	} {
		k := smallKnown()
		k.Actions["store"] = tt.results
		p, err := menu.Parse("f", []byte(changed(t, tt.changes...)), k)
		switch {
		case tt.err != "":
			if err == nil || !strings.Contains(err.Error(), tt.err) {
				t.Errorf("results %q: Parse() = %v, want %q", tt.results, err, tt.err)
			}
		case err != nil:
			t.Errorf("results %q: Parse() = %v", tt.results, err)
		case p.Node("save").Results[menu.Held].To != tt.to:
			t.Errorf("held leads to %q, want %q", p.Node("save").Results[menu.Held].To, tt.to)
		}
	}
}
