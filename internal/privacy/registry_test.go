package privacy_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/hearth-dmrv/hearth/internal/privacy"
)

func TestJoin(t *testing.T) {
	t.Parallel()
	table := func(name string, rules ...privacy.Rule) privacy.Table { return privacy.Table{Name: name, Rules: rules} }
	for _, tt := range []struct {
		name   string
		tables []privacy.Table
		want   string
	}{
		{"erased here, kept there", []privacy.Table{table("a", privacy.Erased("p", "x y"), privacy.Kept("", "X stays.", "x"))}, ""},
		{"beside tables", []privacy.Table{table("", privacy.Kept("", "X stays.", "")), table("", privacy.Kept("", "Y stays.", ""))}, ""},
		{"twice", []privacy.Table{table("a", privacy.None("w", "x")), table("a", privacy.None("w", "y"))}, "declared twice"},
		{"nothing said", []privacy.Table{table("a", privacy.None("", "x"))}, "say one thing"},
		{"no columns", []privacy.Table{table("a", privacy.None("w", ""))}, "name columns"},
		{"columns of no table", []privacy.Table{table("", privacy.None("w", "x"))}, "name columns"},
		{"nothing and something", []privacy.Table{table("a", privacy.None("w", "x"), privacy.Erased("p", "x"))}, "contradict"},
		{"the same again", []privacy.Table{table("a", privacy.Erased("p", "x"), privacy.Erased("p", "x"))}, "contradict"},
	} {
		_, err := privacy.Join(tt.tables)
		if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
			t.Errorf("%s: Join() = %v, want %q", tt.name, err, tt.want)
		}
	}
}

func TestRegistry(t *testing.T) {
	t.Parallel()
	r, err := privacy.Join(
		[]privacy.Table{{Name: "a", Rules: []privacy.Rule{privacy.Kept("", "Always.", "x"), privacy.Erased("lists", "y z"), privacy.Kept("lists", "Lists.", "y")}}},
		[]privacy.Table{{Name: "b", Rules: []privacy.Rule{privacy.Kept("keys", "Keys.", "x"), privacy.Kept("", "Always.", "y"), privacy.None("w", "z")}}},
	)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := r.Columns(), [][2]string{{"a", "x"}, {"a", "y"}, {"a", "z"}, {"b", "x"}, {"b", "y"}, {"b", "z"}}; !slices.Equal(got, want) {
		t.Errorf("Columns() = %v, want %v", got, want)
	}
	if !r.Knows("b", "z") || r.Knows("b", "w") || r.Knows("c", "x") {
		t.Error("Knows() does not tell what was declared")
	}
	if got, want := r.Parts(), []string{"keys", "lists"}; !slices.Equal(got, want) {
		t.Errorf("Parts() = %q, want %q", got, want)
	}
	for part, want := range map[string][]string{"": {"Always."}, "lists": {"Lists.", "Always."}, "keys": {"Keys.", "Always."}} {
		if got := r.Stays(func(p, _ string) bool { return p == part }); !slices.Equal(got, want) {
			t.Errorf("Stays() with %q = %q, want %q", part, got, want)
		}
	}
	if got := r.Stays(func(_, sentence string) bool { return sentence == "Keys." }); !slices.Equal(got, []string{"Keys.", "Always."}) {
		t.Errorf("Stays() after a certificate = %q", got)
	}
}
