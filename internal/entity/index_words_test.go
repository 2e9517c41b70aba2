package entity

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

func TestWordsOf(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("ü", 150)
	for _, c := range []struct {
		about  string
		name   string
		values map[string]any
		want   string
	}{
		{"nothing", "", nil, ""},
		{"a name", "Amina Atieno-Otieno (Mrs, RN)/2", nil, "-1 amina, -1 atieno, -1 otieno, -1 mrs, -1 rn), -1 2"},
		{"only letters A to Z are folded", "ÉCOLE Ä", nil, "-1 École, -1 Ä"},
		{"a number of a country", "", map[string]any{"phone": "+254 712-345678"}, "-2 254712345678, -2 712345678"},
		{"a number with a zero", "", map[string]any{"phone": "0712 345 678"}, "-2 712345678, -2 712345678"},
		{"no number", "", map[string]any{"phone": 712345678.0}, ""},
		{"only zeros", "", map[string]any{"phone": "000"}, ""},
		{"places", "", map[string]any{"district": "Homa Bay", "village": "Mbita", "location": map[string]any{"district": "Busia", "village": 7.0}}, "-3 homa bay, -3 bay, -4 mbita, -5 busia"},
		{"a place that is no text", "", map[string]any{"location": "Mbita"}, ""},
		{"a long word", long, nil, "-1 " + long[:200]},
		{"many words", strings.Repeat("a ", 30), nil, strings.TrimSuffix(strings.Repeat("-1 a, ", 20), ", ")},
		{"twenty with the empty ones", strings.Repeat("- ", 10) + "late", nil, ""},
	} {
		var got []string
		for _, p := range wordsOf("ws", c.name, c.values) {
			word, ok := strings.CutPrefix(p.Val, "ws\x1f")
			if !ok {
				t.Errorf("%s: %q lacks its workspace", c.about, p.Val)
			}
			got = append(got, fmt.Sprint(p.PID, " ", word))
		}
		if want := strings.Split(c.want, ", "); c.want == "" && len(got) > 0 || c.want != "" && !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", c.about, got, want)
		}
	}
}
