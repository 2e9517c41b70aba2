package menu_test

import (
	"strings"
	"testing"

	"github.com/hearth-dmrv/hearth/internal/ussd/menu"
)

func TestRender(t *testing.T) {
	t.Parallel()
	p := parse(t)
	for _, tt := range []struct {
		name, node string
		view       menu.View
		want       string
	}{
		{"menu", "home", menu.View{Lang: "en"}, "Welcome to Demo\n1. Ask\n9. Kiswahili\n*. Exit"},
		{"other language", "home", menu.View{Lang: "sw"}, "Karibu Onyesho\n1. Uliza\n9. Kiswahili\n*. Toka"},
		{"unknown language", "home", menu.View{Lang: "fr"}, "Welcome to Demo\n1. Ask\n9. Kiswahili\n*. Exit"},
		{"guard", "home", menu.View{Lang: "en", Authenticated: true}, "Welcome to Demo\n1. Ask\n3. Own\n9. Kiswahili\n*. Exit"},
		{"notice", "home", menu.View{Lang: "en", Notice: "No such key."}, "No such key.\nWelcome to Demo\n1. Ask\n9. Kiswahili\n*. Exit"},
		{"input", "ask", menu.View{Lang: "en"}, "Your name?\n00. Skip\n0. Back\n*. Exit"},
		{"variable and brace", "thanks", menu.View{Lang: "en", Vars: map[string]string{"name": "Ana"}}, "Thanks, Ana. {done}"},
		{"a value is not looked into", "thanks", menu.View{Lang: "en", Vars: map[string]string{"name": "{pin}", "pin": "1"}}, "Thanks, {pin}. {done}"},
		{"a value loses typography", "thanks", menu.View{Lang: "en", Vars: map[string]string{"name": "Ng’ang’a"}}, "Thanks, Ng'ang'a. {done}"},
		{"no value", "thanks", menu.View{Lang: "en"}, "Thanks, . {done}"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := p.Node(tt.node).Render(&tt.view)
			if got.Text != tt.want {
				t.Errorf("Render =\n%s\nwant\n%s", got.Text, tt.want)
			}
			if n, wide := menu.Units(got.Text); got.Units != n || got.UCS2 != wide || got.Pages != 1 || got.Page != 0 {
				t.Errorf("Render = %+v, want %d units on one page", got, n)
			}
		})
	}
}

func TestRenderPages(t *testing.T) {
	t.Parallel()
	long := strings.TrimSpace(strings.Repeat("word ", 60))
	p := parse(t, "Welcome to {app}", long)
	n := p.Node("home")
	first := n.Render(&menu.View{Lang: "en"})
	if first.Pages < 2 {
		t.Fatalf("Render = %+v, want pages", first)
	}
	shown := 0
	for i := range first.Pages {
		got := n.Render(&menu.View{Lang: "en", Page: i})
		if got.Page != i || got.Pages != first.Pages || !p.Limits.Fits(got.Text) {
			t.Errorf("page %d = %+v", i, got)
		}
		if last := i == got.Pages-1; strings.HasSuffix(got.Text, "\n1. Ask\n9. Kiswahili\n98. More\n*. Exit") == last || !strings.Contains(got.Text, "\n1. Ask\n9. Kiswahili\n") {
			t.Errorf("page %d does not repeat its options:\n%s", i, got.Text)
		}
		shown += strings.Count(got.Text, "word")
	}
	if shown != 60 {
		t.Errorf("the pages show %d words, want 60", shown)
	}
	if got := n.Render(&menu.View{Lang: "en", Page: first.Pages}); got.Text != first.Text {
		t.Errorf("the page after the last is\n%s\nwant the first", got.Text)
	}
	if got := n.Render(&menu.View{Lang: "sw", Page: 7}); got.Pages != 1 || got.Page != 0 {
		t.Errorf("a page of a screen that has one = %+v", got)
	}
}

func TestRenderKeepsToTheSmallerLimits(t *testing.T) {
	t.Parallel()
	p := parse(t, "gsm7: 182", "gsm7: 100", "Welcome to {app}", strings.Repeat("word ", 12))
	for _, tt := range []struct {
		gateway int
		want    int
	}{{0, 100}, {182, 100}, {60, 60}, {100, 100}, {99, 99}} {
		got := p.Node("home").Render(&menu.View{Lang: "en", Limits: menu.Limits{GSM7: tt.gateway}})
		if got.Units > tt.want {
			t.Errorf("gateway of %d: %d units, want at most %d", tt.gateway, got.Units, tt.want)
		}
	}
}

func TestRenderOfALongEnd(t *testing.T) {
	t.Parallel()
	p := parse(t, "Thanks, {name}. {{done}", strings.Repeat("word ", 60))
	n := p.Node("thanks")
	pages := n.Render(&menu.View{Lang: "en"}).Pages
	for i := range pages {
		got := n.Render(&menu.View{Lang: "en", Page: i}).Text
		if last := i == pages-1; strings.HasSuffix(got, "\n98. More") == last {
			t.Errorf("page %d of %d ends:\n%s", i, pages, got)
		}
	}
}

func TestOption(t *testing.T) {
	t.Parallel()
	n := parse(t).Node("home")
	for _, tt := range []struct {
		name string
		view menu.View
		key  string
		want bool
	}{
		{"there", menu.View{}, "1", true},
		{"not there", menu.View{}, "2", false},
		{"hidden", menu.View{}, "3", false},
		{"shown", menu.View{Authenticated: true}, "3", true},
		{"empty", menu.View{}, "", false},
	} {
		if got := n.Option(&tt.view, tt.key); (got != nil) != tt.want {
			t.Errorf("%s: Option(%q) = %v, want one: %v", tt.name, tt.key, got, tt.want)
		}
	}
}

func TestGuards(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, guard string
		view        menu.View
		want        bool
	}{
		{"draft", "draft", menu.View{Draft: true}, true},
		{"no draft", "draft", menu.View{}, false},
		{"not", `"!authenticated"`, menu.View{}, true},
		{"not, but is", `"!authenticated"`, menu.View{Authenticated: true}, false},
		{"variable", "name", menu.View{Vars: map[string]string{"name": "x"}}, true},
		{"empty variable", "name", menu.View{Vars: map[string]string{"name": ""}}, false},
		{"no variable", `"!name"`, menu.View{}, true},
		{"both", "[authenticated, name]", menu.View{Authenticated: true, Vars: map[string]string{"name": "x"}}, true},
		{"one of both", "[authenticated, name]", menu.View{Authenticated: true}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			n := parse(t, "if: authenticated", "if: "+tt.guard).Node("home")
			if got := n.Options[1].If.Holds(&tt.view); got != tt.want {
				t.Errorf("Holds = %v, want %v", got, tt.want)
			}
			tt.view.Lang = "en"
			if got := strings.Contains(n.Render(&tt.view).Text, "3. Own"); got != tt.want {
				t.Errorf("shown = %v, want %v", got, tt.want)
			}
		})
	}
}

func TestFillAndGoodbye(t *testing.T) {
	t.Parallel()
	p := parse(t, "{en: Demo, sw: Onyesho}", `"{{De}mo"`)
	v := &menu.View{Lang: "sw", Vars: map[string]string{"name": "Ana"}}
	if got := p.Fill(menu.Text{"en": "{app} {name} {language} {{x}"}, v); got != "{De}mo Ana sw {x}" {
		t.Errorf("Fill = %q", got)
	}
	if got := p.Goodbye(v); got.Text != "Kwaheri ya {De}mo." || got.Units != 20 {
		t.Errorf("Goodbye = %+v", got)
	}
}

// TestRenderCosts is not parallel: it counts allocations.
func TestRenderCosts(t *testing.T) {
	p := parse(t)
	for _, tt := range []struct {
		name string
		node string
		view menu.View
		most float64
	}{
		{"fixed screen", "home", menu.View{Lang: "en"}, 0},
		{"fixed screen, smaller limits", "home", menu.View{Lang: "sw", Limits: menu.Limits{GSM7: 160, UCS2: 70}}, 0},
		{"fixed screen behind a guard", "home", menu.View{Lang: "en", Authenticated: true}, 0},
		{"notice", "home", menu.View{Lang: "en", Notice: "No such key."}, 1},
		{"variable", "thanks", menu.View{Lang: "en", Vars: map[string]string{"name": "Ana"}}, 1},
	} {
		n, view := p.Node(tt.node), tt.view
		if got := testing.AllocsPerRun(100, func() { n.Render(&view) }); got > tt.most {
			t.Errorf("%s: %v allocations, want at most %v", tt.name, got, tt.most)
		}
	}
}

func BenchmarkRender(b *testing.B) {
	p := open(b, "hearth")
	for _, bb := range []struct {
		name, node string
		view       menu.View
	}{
		{"fixed", "preMenu", menu.View{Lang: "en"}},
		{"notice", "preMenu", menu.View{Lang: "en", Notice: "Please choose one of the numbers shown."}},
		{"variable", "accountCreation.done", menu.View{Lang: "en", Vars: map[string]string{"customerId": "C1A2B3C4D"}}},
		{"paged", "services.details", menu.View{Lang: "sw", Limits: menu.Limits{GSM7: 60}, Vars: map[string]string{"district": strings.Repeat("Kasama ", 8), "size": "4"}}},
	} {
		b.Run(bb.name, func(b *testing.B) {
			n := p.Node(bb.node)
			b.ReportAllocs()
			for b.Loop() {
				n.Render(&bb.view)
			}
		})
	}
}

// The arguments of an action show variables, in the language of the caller.
func TestArguments(t *testing.T) {
	t.Parallel()
	p := parse(t, "kind: a, count: 3", `kind: "{name} of {app}, {language}", count: "{{3}"`)
	got := p.Node("save").Arguments(&menu.View{Lang: "sw", Vars: map[string]string{"name": "Asha {pin}"}})
	if want := "Asha {pin} of Onyesho, sw"; got["kind"] != want || got["count"] != "{3}" {
		t.Errorf("Arguments() = %q, want %q", got, want)
	}
}
