package menu_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/hearth-dmrv/hearth/internal/ussd/menu"
)

// tail is what menus end with: More where there are pages, and Exit.
func tail(_, pages int) []string {
	if pages > 1 {
		return []string{"98. More", "*. Exit"}
	}
	return []string{"*. Exit"}
}

func words(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "word%d ", i)
	}
	return strings.TrimSpace(b.String())
}

func options(n int) []string {
	var out []string
	for i := range n {
		out = append(out, fmt.Sprintf("%d. Option number %d", i+1, i+1))
	}
	return out
}

func TestPages(t *testing.T) {
	t.Parallel()
	small := menu.Limits{GSM7: 60, UCS2: 40}
	for _, tt := range []struct {
		name   string
		limits menu.Limits
		body   string
		lines  []string
		want   []string
	}{
		{"one page", menu.Limits{}, "Hello", []string{"1. Yes"}, []string{"Hello\n1. Yes\n*. Exit"}},
		{"only a body", menu.Limits{}, "Hello", nil, []string{"Hello\n*. Exit"}},
		{"only options", menu.Limits{}, "", []string{"1. Yes"}, []string{"1. Yes\n*. Exit"}},
		{"nothing", menu.Limits{}, "", nil, []string{"*. Exit"}},
		{
			"few options stand on every page", small, "one two three four five six seven eight nine ten eleven",
			[]string{"1. Yes"},
			[]string{
				"one two three four five six seven\n1. Yes\n98. More\n*. Exit",
				"eight nine ten eleven\n1. Yes\n98. More\n*. Exit",
			},
		},
		{
			"a list is spread", small, "Choose",
			[]string{"1. First of all", "2. Second of all", "3. Third of all", "4. Fourth of all"},
			[]string{
				"Choose\n1. First of all\n2. Second of all\n98. More\n*. Exit",
				"3. Third of all\n4. Fourth of all\n98. More\n*. Exit",
			},
		},
		{
			"a long body and a list", small, "one two three four five six seven eight",
			[]string{"1. First of all", "2. Second of all", "3. Third of all", "4. Fourth of all"},
			[]string{
				"one two three four five six\n1. First of all\n98. More\n*. Exit",
				"seven eight\n1. First of all\n98. More\n*. Exit",
				"2. Second of all\n3. Third of all\n98. More\n*. Exit",
				"4. Fourth of all\n98. More\n*. Exit",
			},
		},
		{
			"a word longer than a page", small, strings.Repeat("x", 60), nil,
			[]string{strings.Repeat("x", 43) + "\n98. More\n*. Exit", strings.Repeat("x", 17) + "\n98. More\n*. Exit"},
		},
		{
			"one strange character shortens its page only", small, "aaaaa bbbbb ccccc ŋ " + strings.Repeat("d", 30), nil,
			[]string{"aaaaa bbbbb ccccc ŋ\n98. More\n*. Exit", strings.Repeat("d", 30) + "\n98. More\n*. Exit"},
		},
		{
			"a page ends with a line when it is nearly full", small, "aaaaa bbbbb ccccc ddddd eeeee fffff\nggg hhhhhhhhhhhhh", nil,
			[]string{"aaaaa bbbbb ccccc ddddd eeeee fffff\n98. More\n*. Exit", "ggg hhhhhhhhhhhhh\n98. More\n*. Exit"},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := menu.Pages(tt.limits, tt.body, tt.lines, tail); !slices.Equal(got, tt.want) {
				t.Errorf("Pages =\n%q\nwant\n%q", got, tt.want)
			}
		})
	}
}

func TestPagesTellTheTailWhereItStands(t *testing.T) {
	t.Parallel()
	got := menu.Pages(menu.Limits{GSM7: 60}, words(40), nil, func(page, pages int) []string {
		return []string{fmt.Sprintf("%d/%d", page+1, pages)}
	})
	for i, page := range got {
		if want := fmt.Sprintf("\n%d/%d", i+1, len(got)); !strings.HasSuffix(page, want) {
			t.Errorf("page %d ends %q, want %q", i, page, want)
		}
	}
}

func TestPagesDropATailWithoutRoom(t *testing.T) {
	t.Parallel()
	limits := menu.Limits{GSM7: 40, UCS2: 40}
	for _, page := range menu.Pages(limits, words(20), nil, func(int, int) []string { return []string{strings.Repeat("t", 39)} }) {
		if !limits.Fits(page) || strings.Contains(page, "t\n") {
			t.Errorf("page %q is too long", page)
		}
	}
}

func TestPagesEndAtAnyLimit(t *testing.T) {
	t.Parallel()
	for limit := 1; limit < 40; limit++ {
		l := menu.Limits{GSM7: limit, UCS2: limit}
		got := menu.Pages(l, "😀 "+words(5), options(5), tail)
		if !strings.Contains(strings.Join(got, ""), "😀") {
			t.Errorf("limit %d: a character is lost: %q", limit, got)
		}
	}
}

// FuzzPages checks what Pages promises: no page above the limit, nothing lost,
// order kept, tails everywhere, a number on every page.
func FuzzPages(f *testing.F) {
	f.Add("Hello", uint8(3), uint8(182), uint8(80))
	f.Add(words(60), uint8(2), uint8(60), uint8(40))
	f.Add(words(60), uint8(12), uint8(60), uint8(40))
	f.Add(strings.Repeat("x", 400), uint8(0), uint8(160), uint8(70))
	f.Add("ŋ"+words(30)+"\n\n😀 [x]", uint8(7), uint8(100), uint8(50))
	f.Add("line\nline\n"+words(20), uint8(40), uint8(60), uint8(60))
	f.Fuzz(func(t *testing.T, body string, count, gsm, ucs uint8) {
		l := menu.Limits{GSM7: 44 + int(gsm)%139, UCS2: 44 + int(ucs)%37}
		lines := options(int(count) % 50)
		pages := menu.Pages(l, body, lines, tail)
		checkSizes(t, l, pages)
		checkOrder(t, pages, body, lines)
	})
}

func checkSizes(t *testing.T, l menu.Limits, pages []string) {
	t.Helper()
	for i, page := range pages {
		if !l.Fits(page) {
			n, wide := menu.Units(page)
			t.Errorf("page %d has %d units (UCS-2: %v), limits %+v:\n%s", i, n, wide, l, page)
		}
		if want := strings.Join(tail(i, len(pages)), "\n"); !strings.HasSuffix(page, want) {
			t.Errorf("page %d does not end with its tail:\n%s", i, page)
		}
	}
}

// checkOrder takes the pages apart again.
func checkOrder(t *testing.T, pages []string, body string, lines []string) {
	t.Helper()
	var text strings.Builder
	var seen []string
	for i, page := range pages {
		page = strings.TrimSuffix(page, strings.Join(tail(i, len(pages)), "\n"))
		numbered := false
		var kept []string
		for line := range strings.SplitSeq(page, "\n") {
			if slices.Contains(lines, line) {
				numbered = true
				if !slices.Contains(seen, line) {
					seen = append(seen, line)
				}
				continue
			}
			kept = append(kept, line)
		}
		text.WriteString(strings.Join(kept, "\n"))
		if len(lines) > 0 && !numbered {
			t.Errorf("page %d has no option:\n%s", i, page)
		}
	}
	if !slices.Equal(seen, lines) {
		t.Errorf("options are %q, want %q", seen, lines)
	}
	bare := strings.NewReplacer(" ", "", "\n", "")
	if got, want := bare.Replace(text.String()), bare.Replace(strings.TrimSpace(body)); got != want {
		t.Errorf("the body became %q, want %q", got, want)
	}
}
