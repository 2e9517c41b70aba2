package menu_test

import (
	"strings"
	"testing"

	"github.com/hearth-dmrv/hearth/internal/ussd/menu"
)

// The basic table of GSM 03.38 without the escape, row by row.
const basic = "@£$¥èéùìòÇ\nØø\rÅåΔ_ΦΓΛΩΠΨΣΘΞÆæßÉ !\"#¤%&'()*+,-./0123456789:;<=>?" +
	"¡ABCDEFGHIJKLMNOPQRSTUVWXYZÄÖÑÜ§¿abcdefghijklmnopqrstuvwxyzäöñüà"

func TestUnitsOfEveryBasicCharacter(t *testing.T) {
	t.Parallel()
	count := 0
	for _, r := range basic {
		count++
		if n, wide := menu.Units(string(r)); n != 1 || wide {
			t.Errorf("Units(%q) = %d, %v, want 1, false", r, n, wide)
		}
	}
	if count != 127 {
		t.Errorf("the table has %d characters, want 127", count)
	}
}

func TestUnitsOfEveryExtensionCharacter(t *testing.T) {
	t.Parallel()
	for _, r := range "^{}\\[~]|€\f" {
		if n, wide := menu.Units(string(r)); n != 2 || wide {
			t.Errorf("Units(%q) = %d, %v, want 2, false", r, n, wide)
		}
	}
}

func TestUnitsOfAllOtherCharacters(t *testing.T) {
	t.Parallel()
	for r := rune(0); r < 0x3000; r++ {
		if strings.ContainsRune(basic+"^{}\\[~]|€\f", r) {
			continue
		}
		if n, wide := menu.Units(string(r)); n != 1 || !wide {
			t.Errorf("Units(%q) = %d, %v, want 1, true", r, n, wide)
		}
	}
}

func TestUnits(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, in string
		n        int
		wide     bool
	}{
		{"empty", "", 0, false},
		{"newline", "1. Yes\n2. No", 12, false},
		{"extension among others", "a[b]c", 7, false},
		{"euro", "5 €", 4, false},
		{"one strange character turns all", "naïve", 5, true},
		{"extension characters count once in UCS-2", "[ŋ]", 3, true},
		{"backtick", "`", 1, true},
		{"tab", "\t", 1, true},
		{"surrogate pair", "😀", 2, true},
		{"broken byte", "a\xff", 2, true},
		{"curly quote", "don’t", 5, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if n, wide := menu.Units(tt.in); n != tt.n || wide != tt.wide {
				t.Errorf("Units(%q) = %d, %v, want %d, %v", tt.in, n, wide, tt.n, tt.wide)
			}
		})
	}
}

func TestFits(t *testing.T) {
	t.Parallel()
	small := menu.Limits{GSM7: 160, UCS2: 70}
	for _, tt := range []struct {
		name   string
		limits menu.Limits
		in     string
		want   bool
	}{
		{"standard, full", menu.Limits{}, strings.Repeat("a", 182), true},
		{"standard, one more", menu.Limits{}, strings.Repeat("a", 183), false},
		{"standard, full in UCS-2", menu.Limits{}, strings.Repeat("ŋ", 80), true},
		{"standard, one more in UCS-2", menu.Limits{}, strings.Repeat("ŋ", 81), false},
		{"extension characters", menu.Limits{}, strings.Repeat("|", 92), false},
		{"one strange character", menu.Limits{}, strings.Repeat("a", 80) + "ŋ", false},
		{"smaller, full", small, strings.Repeat("a", 160), true},
		{"smaller, one more", small, strings.Repeat("a", 161), false},
		{"smaller, one more in UCS-2", small, strings.Repeat("ŋ", 71), false},
		{"only one is set", menu.Limits{GSM7: 160}, strings.Repeat("ŋ", 80), true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := tt.limits.Fits(tt.in); got != tt.want {
				t.Errorf("Fits(%d bytes) = %v, want %v", len(tt.in), got, tt.want)
			}
		})
	}
}

func TestPlain(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ in, want string }{
		{"", ""},
		{"nothing to do", "nothing to do"},
		{"don’t", "don't"},
		{"a – b — c", "a - b - c"},
		{"wait…", "wait..."},
		{"“so” «they» said", `"so" "they" said`},
		{"a\u00a0b\u202fc", "a b c"},
		{"zero\u200bwidth", "zerowidth"},
		{"`x`", "'x'"},
		{"Ng’ang’a Müller", "Ng'ang'a Müller"},
		{"ŋ and ı stay", "ŋ and ı stay"},
	} {
		if got := menu.Plain(tt.in); got != tt.want {
			t.Errorf("Plain(%q) = %q, want %q", tt.in, got, tt.want)
		}
	}
}

func TestPlainIsFreeForPlainTexts(t *testing.T) { // not parallel: it counts allocations
	if n := testing.AllocsPerRun(100, func() { _ = menu.Plain("1. Know More") }); n != 0 {
		t.Errorf("Plain allocates %v times, want 0", n)
	}
}

func FuzzUnits(f *testing.F) {
	for _, s := range []string{"", "plain", "5 €", "ŋ", "😀", "\xff", "a\nb", "[x]"} {
		f.Add(s, "y")
	}
	f.Fuzz(func(t *testing.T, a, b string) {
		n, wide := menu.Units(a)
		if n < 0 || n > 2*len(a) {
			t.Errorf("Units(%q) = %d", a, n)
		}
		m, other := menu.Units(b)
		sum, both := menu.Units(a + b)
		if wide == other && (sum != n+m || both != wide) && validJoin(a, b) {
			t.Errorf("Units(%q+%q) = %d, %v, want the sum %d", a, b, sum, both, n+m)
		}
		if p := menu.Plain(a); menu.Plain(p) != p {
			t.Errorf("Plain(%q) is not final: %q", a, p)
		}
	})
}

// validJoin reports whether no character arises where a and b meet.
func validJoin(a, b string) bool {
	return strings.ToValidUTF8(a, "") == a && strings.ToValidUTF8(b, "") == b
}

func BenchmarkUnits(b *testing.B) {
	text := strings.Repeat("1. Know More\n", 14)
	b.ReportAllocs()
	for b.Loop() {
		menu.Units(text)
	}
}
