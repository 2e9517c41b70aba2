package menu_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/hearth-dmrv/hearth/internal/ussd/menu"
)

func TestParse(t *testing.T) {
	t.Parallel()
	p := parse(t)
	if p.Name != "small" || p.Start != "home" || p.Default() != "en" || p.Resume != "" {
		t.Errorf("head = %q %q %q %q", p.Name, p.Start, p.Default(), p.Resume)
	}
	if want := (menu.Limits{GSM7: 182, UCS2: 80}); p.Limits != want {
		t.Errorf("Limits = %+v, want %+v", p.Limits, want)
	}
	var ids []string
	for _, n := range p.Nodes() {
		ids = append(ids, n.ID+" "+n.State+" "+string(n.Kind()))
	}
	if want := []string{"home home menu", "ask home input", "ask.pin ask input", "save save do", "thanks thanks end"}; !slices.Equal(ids, want) {
		t.Errorf("nodes = %q, want %q", ids, want)
	}
	want := &menu.Node{
		ID: "save", State: "save", Do: "store", With: map[string]string{"kind": "a", "count": "3"},
		Results: map[string]menu.Target{
			"ok": {To: "thanks", Say: menu.Text{"en": "Stored, {name}.", "sw": "Stored, {name}."}},
			"no": {To: "home"},
		},
		Clear: []string{"pin"},
	}
	if diff := cmp.Diff(want, p.Node("save"), cmpopts.IgnoreUnexported(menu.Node{})); diff != "" {
		t.Errorf("save (-want +got):\n%s", diff)
	}
	if in := p.Node("ask").Input; in.Name != "name" || in.Check != "name" || in.Skip.Key != "00" || in.Secret {
		t.Errorf("ask.input = %+v", in)
	}
	home := p.Node("home")
	if !home.Exit || home.Options[1].If[0].Word != menu.Authenticated || home.Options[2].Set["language"] != "sw" {
		t.Errorf("home = %+v", home)
	}
	if p.Node("nobody") != nil || p.Speaks("fr") || !p.Speaks("sw") {
		t.Error("Node or Speaks knows what is not there")
	}
}

func TestParseProblems(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, from, to, want string }{
		{"pack name", "pack: small", "pack: Small", `1:7: pack: "Small" does not have the form`},
		{"no name", "pack: small\n", "", "1:1: pack: is missing"},
		{"unknown member", "start: home", "start: home\nbegin: x", "5:1: begin: is not known here"},
		{"unknown start", "start: home", "start: hom", `4:8: start: no node has the id "hom"`},
		{"start is an action", "start: home", "start: save", "4:8: start: save is not a menu or an input"},
		{"variable in the title", "sw: Onyesho}", "sw: \"{app}\"}", "2:8: title: shows no variables"},
		{"no languages", "languages: [en, sw]", "languages: []", "3:12: languages: want at least one"},
		{"bad language", "languages: [en, sw]", "languages: [en, sw, X]", `languages[2]: "X" does not`},
		{"language twice", "languages: [en, sw]", "languages: [en, sw, en]", "3:21: languages[2]: en is listed twice"},
		{"languages no list", "languages: [en, sw]", "languages: en", "3:12: languages: want a list, not a text"},
		{"text in a language not listed", "{en: Ask, sw: Uliza}", "{en: Ask, fr: Demander}", `the pack does not list the language "fr"`},
		{"no default text", "{en: Ask, sw: Uliza}", "{sw: Uliza}", "16:26: nodes.home.options[0].text: want a text in en"},
		{"empty text", "text: PIN?", `text: ""`, "nodes.ask.pin.text: is empty"},
		{"null text", "text: PIN?", "text:", "nodes.ask.pin.text: want a mapping, not nothing"},
		{"control character", "text: PIN?", `text: "a\tb"`, "holds a control character"},
		{"long text", "text: PIN?", "text: " + strings.Repeat("x", 1001), "more than 1000 characters"},
		{"open brace", "text: PIN?", `text: "a {b"`, "a { begins no variable"},
		{"bad variable", "text: PIN?", `text: "a {B c}"`, "a { begins no variable"},
		{"unknown variable", "text: PIN?", `text: "a {nobody}"`, `nodes.ask.pin.text: nothing sets the variable "nobody"`},
		{"secret variable", "text: PIN?", `text: "a {pin}"`, "pin is secret and is never shown"},
		{"secret guard", "if: authenticated", "if: pin", "pin is secret"},
		{"unknown guard", "if: authenticated", `if: [authenticated, "!nobody"]`, `nothing sets the variable "nobody"`},
		{"limit", "gsm7: 182", "gsm7: 183", "5:16: limits.gsm7: want a number from 40 to 182"},
		{"limit no number", "ucs2: 80", "ucs2: many", "limits.ucs2: want a number from 40 to 80"},
		{"navigation", "  more: {en: More, sw: Zaidi}\n", "", "navigation.more: is missing"},
		{"long word", "more: {en: More,", "more: {en: More of everything,", "navigation.more: want one short word"},
		{"long word of many bytes", "more: {en: More,", "more: {en: ቀጣይ ገጽ ይመልከቱ,", "navigation.more: want one short word without variables, at most 10 characters"},
		{"PIN that is not secret", "secret: true", "secret: false", "nodes.ask.pin.input.secret: what pin checks is always secret: leave secret out"},
		{"PIN that is shown", "check: pin, secret: true, error: Five digits.", `check: pin, error: "{pin}?"`, "nodes.ask.pin.input.error: pin is secret and is never shown"},
		{"unknown variable of an argument", "kind: a,", `kind: "{nobody}",`, `nodes.save.with.kind: nothing sets the variable "nobody"`},
		{"secret variable of an argument", "kind: a,", `kind: "{pin}",`, "nodes.save.with.kind: pin is secret and is never shown"},
		{"brace in an argument", "kind: a,", `kind: "{ a",`, "nodes.save.with.kind: a { begins no variable"},
		{"longest", "start: home", "start: home\nvars: {name: 0}", "vars.name: want a number from 1"},
		{"longest of nothing", "start: home", "start: home\nvars: {nobody: 4}", "vars.nobody: nothing sets"},
		{"bad id", "  thanks: {", "  Thanks: {", "nodes.Thanks: an id has the form"},
		{"bad state", "state: home", "state: Ho me", `nodes.ask.state: "Ho me" does not have the form`},
		{"two kinds", "    do: store", "    end: true\n    do: store", "nodes.save: is do and end at once"},
		{"member of another kind", "    clear: [pin]", "    clear: [pin]\n    back: home", "nodes.save.back: a node of kind do has no back"},
		{"text of an action", "    clear: [pin]", "    text: x", "nodes.save.text: a node of kind do has no text"},
		{"unknown target", "to: save", "to: safe", `33:9: nodes.ask.pin.to: no node has the id "safe"`},
		{"no target", "    to: save\n", "", "nodes.ask.pin.to: is missing"},
		{"unknown back", "back: ask", "back: asks", `nodes.ask.pin.back: no node has the id "asks"`},
		{"bad key", `key: "1"`, `key: "1a2b3"`, "does not have the form"},
		{"reserved key", `key: "1"`, `key: "0"`, "0 has a meaning of its own"},
		{"reserved more", `key: "1"`, `key: "98"`, "98 has a meaning of its own"},
		{"reserved word", `key: "1"`, `key: Exit`, "Exit has a meaning of its own"},
		{"two lines", "{en: Ask, sw: Uliza}", `{en: "A\nB", sw: Uliza}`, "want one line"},
		{"no options list", `    options:
      - {key: "1", text: {en: Ask, sw: Uliza}, to: ask}`, `    any: ask
    options:
      - text`, "nodes.home.options[0]: want a mapping, not a text"},
		{"override of more", "    back: ask\n", "    back: ask\n    keys: {\"98\": home}\n", "not a key that can be given another meaning"},
		{"unknown override", "    back: ask\n", "    back: ask\n    keys: {\"*\": hom}\n", `nodes.ask.pin.keys.*: no node has the id "hom"`},
		{"set of a language not listed", "{language: sw}", "{language: fr}", `set.language: the pack does not list the language "fr"`},
		{"set of a reserved name", "{language: sw}", "{app: x}", "app cannot be set"},
		{"set of a bad name", "{language: sw}", "{A b: x}", "a variable has the form"},
		{"unknown check", "check: pin", "check: pine", `nodes.ask.pin.input.check: no check has the name "pine"`},
		{"bound too large", "check: name\n", "check: integer:1..99999999999999999999\n", `input.check: "1..99999999999999999999" is no range of whole numbers`},
		{"bounds reversed", "check: name\n", "check: integer:30..1\n", `"30..1" is no range`},
		{"one bound", "check: name\n", "check: integer:30\n", `"30" is no range`},
		{"no bound", "check: name\n", "check: \"integer:\"\n", `"" is no range`},
		{"no check", "check: pin, ", "", "nodes.ask.pin.input.check: is missing"},
		{"bad flag", "secret: true", "secret: yes", "want true or false"},
		{"input of the language", "name: name\n", "name: language\n", "language cannot be asked for"},
		{"secret and not", "name: name\n", "name: pin\n", "pin is secret in one place and not in another"},
		{"unknown action", "do: store", "do: stor", `nodes.save.do: no action has the name "stor"`},
		{"result without a way", "      no: home\n", "", "store may end with no, which leads nowhere"},
		{"result the action has not", "      no: home\n", "      no: home\n      maybe: home\n", "store has no such result; it has ok, no"},
		{"clear of nothing", "clear: [pin]", "clear: [pim]", `nothing sets the variable "pim"`},
		{"draft as a target", "to: ask}", `to: "@draft"}`, "only the resume node leads to @draft"},
		{"draft after an input", "to: save", `to: "@draft"`, `no node has the id "@draft"`},
		{"draft of a login without a login", "draft: true", "draft: login", "nodes.ask.draft: the pack does not say with login where customers log in"},
		{"draft of a word", "draft: true", "draft: always", "nodes.ask.draft: want true, false or login"},
		{"login nowhere", "start: home", "start: home\nlogin: hom", `5:8: login: no node has the id "hom"`},
		{"login at an action", "start: home", "start: home\nlogin: save", "5:8: login: save is not a menu or an input"},
		{"nodes no mapping", "nodes:\n", "nodes: x\nx:\n", "nodes: want a mapping, not a text"},
		{"member twice", "    to: save\n", "    to: save\n    to: home\n", "to"},
		{"not YAML", "start: home", "start: [home", "small.yaml:"},
		{"anchor", "start: home", "start: &a home", "a pack has no anchor"},
		{"alias", "start: home", "start: *a", "a pack has no alias"},
		{"second document", "start: home", "start: home\n---\na: b", "second document"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p, err := menu.Parse("small.yaml", []byte(changed(t, tt.from, tt.to)), smallKnown())
			var problems menu.Problems
			if !errors.As(err, &problems) || p != nil {
				t.Fatalf("Parse = %v, %v, want problems", p, err)
			}
			if !strings.Contains(err.Error(), tt.want) {
				t.Errorf("Parse says\n%v\nwant %q", err, tt.want)
			}
			for _, problem := range problems {
				if problem.Line < 1 || problem.Column < 1 || problem.File != "small.yaml" {
					t.Errorf("problem without a place: %+v", problem)
				}
			}
		})
	}
}

// TestDraftOfALogin: a form of whoever is logged in can be kept, a secret never.
func TestDraftOfALogin(t *testing.T) {
	t.Parallel()
	with := []string{"start: home", "start: home\nlogin: ask.pin", "draft: true", "draft: login"}
	p := parse(t, with...)
	if n := p.Node("ask"); !n.Draft || !n.Login || p.Login != "ask.pin" {
		t.Errorf("ask = %+v, login %q", n, p.Login)
	}
	text := changed(t, append(with, "    to: save\n", "    to: save\n    draft: login\n")...)
	if _, err := menu.Parse("f", []byte(text), smallKnown()); err == nil || !strings.Contains(err.Error(), "nodes.ask.pin.draft: a question for a secret is not kept") {
		t.Errorf("Parse = %v, want the PIN refused", err)
	}
}

func TestParseTellsAllProblemsAtOnce(t *testing.T) {
	t.Parallel()
	text := changed(t, "start: home", "start: hom", "do: store", "do: stor", "to: save", "to: safe", "pack: small", "pack: S")
	_, err := menu.Parse("f", []byte(text), smallKnown())
	want := `f:1:7: pack: "S" does not have the form ^[a-z][a-z0-9-]{0,31}$
f:4:8: start: no node has the id "hom"
f:33:9: nodes.ask.pin.to: no node has the id "safe"
f:36:9: nodes.save.do: no action has the name "stor"; there are store, tell`
	if err == nil || err.Error() != want {
		t.Errorf("Parse says\n%v\nwant\n%s", err, want)
	}
}

func TestParseRefusesWholeFiles(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, in, want string }{
		{"empty", "", "the file is empty"},
		{"only a comment", "# x\n", "the file is empty"},
		{"a list", "- x", "want a mapping, not a list"},
		{"a text", "x", "want a mapping, not a text"},
		{"not UTF-8", "pack: \xff", "not UTF-8"},
		{"large", strings.Repeat("# x\n", 200_000), "larger than 256 KiB"},
		{"deep", strings.Repeat("[", 100), "nests too deep"},
		{"deep by indentation", deep(20), "nests too deep"},
		{"very deep by indentation", deep(600), "nests too deep"},
		{"deep by dashes", strings.Repeat("- ", 50_000), "nests too deep"},
		{"deep by question marks", strings.Repeat("? ", 50_000), "nests too deep"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if _, err := menu.Parse("f", []byte(tt.in), smallKnown()); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("Parse = %v, want %q", err, tt.want)
			}
		})
	}
}

func deep(n int) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(strings.Repeat(" ", i) + "a:\n")
	}
	return b.String()
}

func TestVersionIsOfWhatThePackSays(t *testing.T) {
	t.Parallel()
	base := parse(t)
	if len(base.Version) != 12 || strings.Trim(base.Version, "0123456789abcdef") != "" {
		t.Errorf("Version = %q, want 12 hex digits", base.Version)
	}
	for _, tt := range []struct {
		name, from, to string
		same           bool
	}{
		{"comment", "start: home", "start: home # here", true},
		{"quotes", "pack: small", `pack: "small"`, true},
		{"order of languages in a text", "{en: Ask, sw: Uliza}", "{sw: Uliza, en: Ask}", true},
		{"text", "en: Ask", "en: Tell", false},
		{"key", `key: "1"`, `key: "2"`, false},
		{"limit", "gsm7: 182", "gsm7: 160", false},
		{"exit", "    text: PIN?", "    exit: false\n    text: PIN?", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := parse(t, tt.from, tt.to).Version; (got == base.Version) != tt.same {
				t.Errorf("Version = %s after %q, first %s; want same: %v", got, tt.to, base.Version, tt.same)
			}
		})
	}
}

func TestTextIn(t *testing.T) {
	t.Parallel()
	text := menu.Text{"en": "a", "sw": "b"}
	for _, tt := range []struct{ lang, fallback, want string }{{"sw", "en", "b"}, {"fr", "en", "a"}, {"fr", "pt", ""}} {
		if got := text.In(tt.lang, tt.fallback); got != tt.want {
			t.Errorf("In(%q, %q) = %q, want %q", tt.lang, tt.fallback, got, tt.want)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add(small)
	for _, s := range []string{"", "a", "- a", "a: b", "nodes: {a: {}}", "&a b", "? a\n: b", "a: !!binary x", "<<: {a: b}", "{a: b}: c", "a: |\n  b", "nodes:\n  a:"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		r := menu.Review("f", []byte(text), smallKnown(), menu.LintOptions{})
		p, err := menu.Parse("f", []byte(text), smallKnown())
		if (err == nil) != (r.Pack != nil) {
			t.Errorf("Parse = %v, but Review finds %v", err, r.Problems)
		}
		if err != nil {
			return
		}
		menu.Mermaid(p, "en")
		menu.SVG(p, "en")
		for _, n := range p.Nodes() {
			if n.Do == "" {
				n.Render(&menu.View{Lang: p.Default()})
			}
		}
	})
}

// A question with the check of PINs is secret without saying so, and words of
// navigation are measured in characters.
func TestParseImplies(t *testing.T) {
	t.Parallel()
	p := parse(t, "check: pin, secret: true,", "check: pin,", "more: {en: More, sw: Zaidi}", "more: {en: ቀጣይ ገጽ, sw: Zaidi}")
	if n := p.Node("ask.pin"); !n.Input.Secret {
		t.Error("a question for a PIN is not secret")
	}
	if got := p.Navigation.More["en"]; got != "ቀጣይ ገጽ" {
		t.Errorf("more = %q", got)
	}
}

// TestConditions: what is wrong with a condition is said with its place, and
// which variables there are.
func TestConditions(t *testing.T) {
	t.Parallel()
	const option = `{key: "1", text: {en: Ask, sw: Uliza}, to: ask}`
	for _, tt := range []struct{ name, when, want string }{
		{"a text", `name == "Amina" || name.startsWith("B")`, ""},
		{"a number", `age > 17 && age < 100`, ""},
		{"a missing value", `name == null || answered(age)`, ""},
		{"flags", `authenticated && !draft && language == "sw"`, ""},
		{"a text as a number", `number(count) > 2`, ""},
		{"unknown", `nmae == "x"`, `nothing sets the variable "nmae"; there are authenticated, draft, language, age, caller, count, name`},
		{"secret", `pin == "12345"`, "pin is secret: no condition sees it"},
		{"the title", `app == "x"`, `nothing sets the variable "app"`},
		{"types", `age == "x"`, "(at character"},
		{"no condition", `age + 1`, "(at character 1)"},
		{"not CEL", `age >`, "mismatched input"},
		{"empty", ``, "is empty"},
		{"too long", strings.Repeat("true || ", 300) + "true", "at most 2000"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			text := changed(t, option, `{key: "1", when: '`+tt.when+`', text: {en: Ask, sw: Uliza}, to: ask}`, "  thanks: {",
				"  age: {text: Age, input: {name: age, check: integer, error: No.}, to: thanks}\n  thanks: {")
			_, err := menu.Parse("small.yaml", []byte(text), smallKnown())
			if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want) || !strings.Contains(err.Error(), "nodes.home.options[0].when")) {
				t.Errorf("Parse = %v, want %q", err, tt.want)
			}
		})
	}
}

func TestCases(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, node, want string }{
		{"good", `{cases: [{when: 'name == "x"', to: home, say: Hello.}, {when: authenticated, to: ask}], else: {to: thanks, say: Bye.}}`, ""},
		{"no else", `{cases: [{when: authenticated, to: ask}]}`, "nodes.choose.else: is missing"},
		{"no cases", `{else: ask}`, "nodes.choose.cases: is missing"},
		{"no condition", `{cases: [{to: ask}], else: ask}`, "nodes.choose.cases[0].when: is missing"},
		{"nowhere", `{cases: [{when: authenticated, to: gone}], else: ask}`, `no node has the id "gone"`},
		{"with a text", `{text: x, cases: [{when: authenticated, to: ask}], else: ask}`, "a node of kind cases has no text"},
		{"and an action", `{do: store, results: {ok: ask, no: ask}, cases: [{when: authenticated, to: ask}], else: ask}`, "is do and cases at once"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			text := changed(t, "      no: home", "      no: choose", "  thanks: {", "  choose: "+tt.node+"\n  thanks: {")
			_, err := menu.Parse("small.yaml", []byte(text), smallKnown())
			if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
				t.Errorf("Parse = %v, want %q", err, tt.want)
			}
		})
	}
}

func TestAnswer(t *testing.T) {
	t.Parallel()
	k := smallKnown()
	k.Answers = []string{"store"}
	k.Valid = map[string]func(map[string]string) error{"store": func(with map[string]string) error {
		if with["kind"] != "a" {
			return errors.New("kind is not a")
		}
		return nil
	}}
	for _, tt := range []struct{ name, from, to, want string }{
		{"good", "    clear: [pin]", "    answer: {balance: /data/0/balance}\n    clear: [pin, balance]", ""},
		{"pointer", "    clear: [pin]", "    answer: {balance: data}\n    clear: [pin]", "nodes.save.answer.balance"},
		{"name", "    clear: [pin]", "    answer: {Balance: /data}\n    clear: [pin]", "a variable has the form"},
		{"taken", "    clear: [pin]", "    answer: {caller: /data}\n    clear: [pin]", "caller cannot be set"},
		{"language", "    clear: [pin]", "    answer: {language: /data}\n    clear: [pin]", "language cannot be set by an answer"},
		{"constants", "kind: a", "kind: b", "nodes.save.with: kind is not a"},
		{"another action", "    do: store\n    with: {kind: a, count: 3}", "    do: tell\n    with: {en: x, sw: y}\n    answer: {a: /a}", "tell gives no answer to take values of; store do"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, err := menu.Parse("small.yaml", []byte(changed(t, tt.from, tt.to)), k)
			if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
				t.Errorf("Parse = %v, want %q", err, tt.want)
			}
		})
	}
}

// lists is small with a list, and changes to it.
func lists(t *testing.T, changes ...string) (*menu.Pack, error) {
	t.Helper()
	k := smallKnown()
	k.Answers = []string{"store"}
	text := changed(t, "start: home", "start: home\nvars: {name: 20, code: 4}", "    clear: [pin]", "    answer: {shops: {rows: /items, name: /n, code: /c}}\n    clear: [pin]", "      no: home", "      no: shops", "  thanks: {",
		"  shops:\n    text: Which shop?\n    list: {of: shops, text: \"{name} ({code})\", set: {shop: code}, to: thanks}\n    options: [{key: A, text: None, to: home}]\n    back: home\n  thanks: {")
	for i := 0; i < len(changes); i += 2 {
		if !strings.Contains(text, changes[i]) {
			t.Fatalf("the pack does not have %q", changes[i])
		}
		text = strings.Replace(text, changes[i], changes[i+1], 1)
	}
	return menu.Parse("small.yaml", []byte(text), k)
}

func TestListProblems(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, from, to, want string }{
		{"good", "pack: small", "pack: small", ""},
		{"the chosen one is a variable", "Thanks, {name}.", "Thanks, {shop}.", ""},
		{"unknown list", "of: shops", "of: shop", `no answer gives the list "shop"; there are shops`},
		{"unknown column", "{name} ({code})", "{title}", `the rows of shops have no column "title"; they have name, code`},
		{"unknown column set", "shop: code", "shop: id", `the rows of shops have no column "id"`},
		{"shown as a text", "Thanks, {name}.", "Thanks, {shops}.", "shops is a list; a node with list shows its rows"},
		{"a number beside it", "key: A", `key: "2"`, "which is a row of the list"},
		{"no columns", "{rows: /items, name: /n, code: /c}", "{rows: /items}", "from 1 to 6 columns"},
		{"a text elsewhere", "    input:\n      name: name\n", "    input:\n      name: shops\n", "shops is a list here and a text in another place"},
		{"language", "shop: code", "language: code", "language cannot be set by a row"},
		{"two lines", "{name} ({code})", "{name}\\n{code}", "want one line"},
		{"pointer", "rows: /items", "rows: items", "nodes.save.answer.shops.rows"},
		{"nowhere", "to: thanks}\n    options", "to: gone}\n    options", `no node has the id "gone"`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, err := lists(t, tt.from, tt.to)
			if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
				t.Errorf("Parse = %v, want %q", err, tt.want)
			}
		})
	}
}

// TestListRows: rows are numbered, paged and chosen by their number.
func TestListRows(t *testing.T) {
	t.Parallel()
	p, err := lists(t)
	if err != nil {
		t.Fatal(err)
	}
	if got := menu.Lint(p, menu.LintOptions{}); len(got) > 0 {
		t.Errorf("Lint = %v, want nothing", got)
	}
	var all []map[string]string
	for i := range 12 {
		all = append(all, map[string]string{"name": fmt.Sprintf("Shop {x} number %d", i+1), "code": fmt.Sprint("K", i+1)})
	}
	rows, err := menu.Rows(all)
	if err != nil {
		t.Fatal(err)
	}
	n := p.Node("shops")
	seen := 0
	for page := 0; ; page++ {
		v := &menu.View{Lang: "en", Vars: map[string]string{"shops": rows}, Page: page}
		shown := n.Render(v)
		if shown.Page != page {
			break
		}
		if shown.Units > 182 || !strings.Contains(shown.Text, "0. Back") || strings.Contains(shown.Text, "98. More") != (page < shown.Pages-1) {
			t.Errorf("page %d = %q", page, shown.Text)
		}
		for i := range all {
			if slices.Contains(strings.Split(shown.Text, "\n"), fmt.Sprintf("%d. Shop {x} number %d (K%d)", i+1, i+1, i+1)) {
				seen++
			}
		}
	}
	if seen != len(all) {
		t.Errorf("%d of %d rows are shown once", seen, len(all))
	}
	v := &menu.View{Lang: "en", Vars: map[string]string{"shops": rows}}
	for key, want := range map[string]string{"1": "K1", "12": "K12", "0": "", "13": "", "-1": "", "A": "", "999999999999": ""} {
		if got := n.Row(v, key); got["shop"] != want || (got == nil) != (want == "") {
			t.Errorf("key %s chooses %v, want %q", key, got, want)
		}
	}
	if got := n.Row(&menu.View{Vars: map[string]string{"shops": "no rows"}}, "1"); got != nil {
		t.Errorf("a text has the row %v", got)
	}
}
