package menu_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/hearth-dmrv/hearth/internal/ussd/menu"
)

func TestShippedPacksAreClean(t *testing.T) {
	t.Parallel()
	for _, name := range menu.Shipped() {
		p := open(t, name)
		if p.Name != name || !slices.Equal(p.Languages, []string{"en", "sw"}) {
			t.Errorf("%s is %s in %q", name, p.Name, p.Languages)
		}
		for _, f := range menu.Lint(p, menu.LintOptions{}) {
			t.Errorf("%s: %s", name, f)
		}
	}
}

func TestShippedPacksHoldOnSmallerScreens(t *testing.T) {
	t.Parallel()
	for _, name := range menu.Shipped() {
		for _, f := range menu.Lint(open(t, name), menu.LintOptions{Limits: menu.Limits{GSM7: 100, UCS2: 60}}) {
			if f.Level == menu.LevelError {
				t.Errorf("%s: %s", name, f)
			}
		}
	}
}

func TestOpenOfNothing(t *testing.T) {
	t.Parallel()
	if _, err := menu.Open("heart", known()); err == nil || !strings.Contains(err.Error(), "neither a shipped pack") {
		t.Errorf("Open = %v", err)
	}
}

func TestFirstScreens(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		pack string
		view menu.View
		want string
	}{
		{"hearth", menu.View{Lang: "en"}, "Welcome to Hearth\n1. Know More\n2. Account Menu\n9. Lugha / Language\n*. Exit"},
		{"hearth", menu.View{Lang: "en", Authenticated: true}, "Welcome to Hearth\n1. Know More\n2. Account Menu\n3. My household\n4. Surveys\n9. Lugha / Language\n*. Exit"},
		{"hearth", menu.View{Lang: "sw"}, "Karibu Hearth\n1. Jifunze zaidi\n2. Menyu ya akaunti\n9. Language / Lugha\n*. Toka"},
		{"classic", menu.View{Lang: "en"}, "Welcome to Hearth\n1. Know More\n2. Account Menu\n*. Exit"},
	} {
		p := open(t, tt.pack)
		if got := p.Node(p.Start).Render(&tt.view).Text; got != tt.want {
			t.Errorf("%s %+v:\n%s\nwant\n%s", tt.pack, tt.view, got, tt.want)
		}
	}
}

// TestEveryMenuScreen looks at all screens of all menus, at the usual limits
// and at small ones that need pages: each lists a numbered option and the exit,
// each line on its own, within the limits.
func TestEveryMenuScreen(t *testing.T) {
	t.Parallel()
	vars := map[string]string{
		"customerId": "C1A2B3C4D", "customerName": "Wanjiru Ng'ang'a-Kamau", "district": "Nakuru", "size": "5", "triesLeft": "2",
		"lockedFor": "15", "weakReason": "All digits are the same. Choose another PIN.",
	}
	var err error
	if vars["surveys"], err = menu.Rows([]map[string]string{{"survey": "Stove use", "id": "a"}, {"survey": "Fuel", "id": "b"}}); err != nil {
		t.Fatal(err)
	}
	for _, name := range menu.Shipped() {
		p := open(t, name)
		for _, n := range p.Nodes() {
			for _, limits := range []menu.Limits{{}, {GSM7: 160, UCS2: 70}, {GSM7: 70, UCS2: 50}} {
				for _, lang := range p.Languages {
					checkScreens(t, p, n, menu.View{Lang: lang, Limits: limits, Vars: vars, Authenticated: true})
				}
			}
		}
	}
}

func checkScreens(t *testing.T, p *menu.Pack, n *menu.Node, v menu.View) {
	t.Helper()
	if n.Do != "" {
		return
	}
	pages := n.Render(&v).Pages
	for i := range pages {
		v.Page = i
		got := n.Render(&v)
		lines := strings.Split(got.Text, "\n")
		if !v.Limits.Fits(got.Text) {
			t.Errorf("%s %s %s: %d units", p.Name, n.ID, v.Lang, got.Units)
		}
		if n.End {
			continue
		}
		if last := lines[len(lines)-1]; last != "*. "+p.Navigation.Exit[v.Lang] {
			t.Errorf("%s %s %s page %d ends with %q", p.Name, n.ID, v.Lang, i, last)
		}
		if n.Kind() == menu.KindMenu && !slices.ContainsFunc(lines, func(s string) bool { return numbered(n, s) }) {
			t.Errorf("%s %s %s page %d has no option:\n%s", p.Name, n.ID, v.Lang, i, got.Text)
		}
	}
}

// numbered reports whether a line is an option of n, or a row of its list.
func numbered(n *menu.Node, line string) bool {
	return n.List != nil && (strings.HasPrefix(line, "1. ") || strings.HasPrefix(line, "2. ")) || slices.ContainsFunc(n.Options, func(o menu.Option) bool { return strings.HasPrefix(line, o.Key+". ") })
}

// TestStates wants no state in the packs that is not documented.
func TestStates(t *testing.T) {
	t.Parallel()
	for name, want := range map[string][]string{
		"hearth":  {"preMenu", "knowMore", "accountMenu", "accountCreation", "login", "services", "survey"},
		"classic": {"preMenu", "knowMoreService", "accountMenu", "accountCreation", "login", "error", "closeSession"},
	} {
		var got []string
		for _, n := range open(t, name).Nodes() {
			if !slices.Contains(got, n.State) {
				got = append(got, n.State)
			}
		}
		if slices.Sort(got); !slices.Equal(got, slices.Sorted(slices.Values(want))) {
			t.Errorf("%s has the states %q, want %q", name, got, want)
		}
	}
}

// TestClassicKeys holds the pack against the keys of the server it stands for.
// What a key does is read from the pack in the machine's order.
func TestClassicKeys(t *testing.T) {
	t.Parallel()
	p := open(t, "classic")
	for _, tt := range []struct {
		node string
		keys map[string]string
	}{
		{"preMenu", map[string]string{"1": "knowMoreService.infoMenu", "2": "accountMenu", "0": "closeSession", "*": "closeSession", "7": "again"}},
		{"knowMoreService.infoMenu", map[string]string{
			"1": "knowMoreService.product", "2": "knowMoreService.pricing", "3": "knowMoreService.delivery",
			"7": "knowMoreService.product", "0": "preMenu", "*": "preMenu",
		}},
		{"knowMoreService.sendSMS", map[string]string{"1": "preMenu", "*": "preMenu", "0": "knowMoreService.infoMenu", "7": "again"}},
		{"accountMenu", map[string]string{"1": "login.customerIdEntry", "2": "accountCreation.nameEntry", "0": "preMenu", "*": "preMenu", "7": "again"}},
		{"accountCreation.nameEntry", map[string]string{"0": "accountMenu", "*": "accountMenu"}},
		{"accountCreation.emailEntry", map[string]string{"0": "accountCreation.nameEntry", "*": "accountCreation.cancelled"}},
		{"accountCreation.pinEntry", map[string]string{"0": "accountCreation.emailEntry"}},
		{"accountCreation.confirmPin", map[string]string{"0": "accountCreation.pinEntry"}},
		{"accountCreation.creatingAccount", map[string]string{"1": "accountCreation.accountCreationSuccess", "7": "accountCreation.accountCreationSuccess"}},
		{"accountCreation.accountCreationSuccess", map[string]string{"1": "accountMenu", "0": "accountMenu", "*": "accountMenu", "7": "accountMenu"}},
		{"accountCreation.cancelled", map[string]string{"0": "accountMenu", "*": "accountMenu", "7": "accountMenu"}},
		{"accountCreation.error", map[string]string{"0": "accountMenu", "*": "accountMenu", "7": "accountMenu"}},
		{"login.customerIdEntry", map[string]string{"0": "preMenu", "*": "preMenu"}},
		{"login.verifyingCustomerId", map[string]string{"1": "login.find", "7": "again"}},
		{"login.verifyingPin", map[string]string{"1": "login.check", "7": "again"}},
		{"login.loginSuccess", map[string]string{"1": "preMenu"}},
		{"error.locked", map[string]string{"0": "preMenu", "7": "preMenu"}},
		{"error.blocked", map[string]string{"0": "preMenu", "7": "preMenu"}},
	} {
		for key, want := range tt.keys {
			if got := leads(p.Node(tt.node), key); got != want {
				t.Errorf("%s: key %s leads to %s, want %s", tt.node, key, got, want)
			}
		}
	}
	for node, want := range map[string]string{"accountCreation.nameEntry": "accountCreation.emailEntry", "accountCreation.emailEntry": "accountCreation.pinEntry", "login.customerIdEntry": "login.verifyingCustomerId", "login.pinEntry": "login.verifyingPin"} {
		if got := p.Node(node).To; got != want {
			t.Errorf("%s leads to %s, want %s", node, got, want)
		}
	}
}

func leads(n *menu.Node, key string) string {
	if to, ok := n.Keys[key]; ok {
		return to
	}
	if o := n.Option(&menu.View{}, key); o != nil {
		return o.To
	}
	switch {
	case key == menu.KeyBack && n.Back != "":
		return n.Back
	case key == menu.KeyExit && n.Exit:
		return "exit"
	case n.Any != "":
		return n.Any
	}
	return "again"
}
