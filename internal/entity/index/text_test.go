package index_test

import (
	"math"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/hearth-dmrv/hearth/internal/entity/index"
)

// Texts of the index sort as the values do.
func TestTextSorts(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		a, b := rapid.Float64().Draw(t, "a"), rapid.Float64().Draw(t, "b")
		if math.IsNaN(a) || math.IsNaN(b) {
			t.Skip("JSON has no NaN")
		}
		x, _ := index.Text("number", a)
		y, _ := index.Text("number", b)
		if (a < b) != (x < y) || (a == b) != (x == y) {
			t.Fatalf("%v and %v are %q and %q", a, b, x, y)
		}
		m, n := rapid.Int64Range(0, 4e12).Draw(t, "m"), rapid.Int64Range(0, 4e12).Draw(t, "n")
		early, _ := index.Text("date-time", time.UnixMilli(m).UTC().Format(time.RFC3339Nano))
		late, _ := index.Text("date-time", time.UnixMilli(n).In(time.FixedZone("", 7200)).Format(time.RFC3339Nano))
		if (m < n) != (early < late) || (m == n) != (early == late) {
			t.Fatalf("%d and %d are %q and %q", m, n, early, late)
		}
	})
}

func TestText(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		kind  string
		value any
		want  string
		ok    bool
	}{
		{"string", "SN1", "sSN1", true},
		{"string", "", "s", true},
		{"number", 0.0, "n8000000000000000", true},
		{"number", math.Copysign(0, -1), "n8000000000000000", true},
		{"integer", int64(1), "nbff0000000000000", true},
		{"boolean", true, "b1", true},
		{"boolean", false, "b0", true},
		{"date", "2026-01-01", "s2026-01-01", true},
		{"date-time", "yesterday", "syesterday", true},
		{"object", map[string]any{}, "", false},
		{"array", []any{1.0}, "", false},
		{"string", nil, "", false},
	} {
		if got, ok := index.Text(tt.kind, tt.value); got != tt.want || ok != tt.ok {
			t.Errorf("Text(%s, %v) = %q, %v, want %q, %v", tt.kind, tt.value, got, ok, tt.want, tt.ok)
		}
	}
	for _, long := range []string{strings.Repeat("x", 500), strings.Repeat("€", 100), "x" + strings.Repeat("😀", 100)} {
		got, _ := index.Text("string", long)
		if len(got) > 121 || len(got) < 117 || !utf8.ValidString(got) || !strings.HasPrefix("s"+long, got) {
			t.Errorf("Text(%.10s…) = %q, want its beginning in whole characters", long, got)
		}
	}
}

func TestKeys(t *testing.T) {
	t.Parallel()
	seen := map[int64]string{}
	for _, ws := range []string{"a", "b", "a\x00type"} {
		for _, field := range []string{"type", "status", ""} {
			for _, value := range []string{"x", "", "type\x00x"} {
				k := index.Key(ws, field, value)
				name := strings.Join([]string{ws, field, value}, "|")
				if other, ok := seen[k]; ok && strings.ReplaceAll(other, "|", "\x00") != strings.ReplaceAll(name, "|", "\x00") {
					t.Errorf("%q and %q have one key", other, name)
				}
				if seen[k] = name; k < 0 {
					t.Errorf("Key(%q) = %d, want it positive", name, k)
				}
			}
		}
	}
	if index.PropID("ws", "did:p:1", "a") == index.PropID("ws", "did:p:2", "a") || index.PropID("ws", "did:p:1", "a") == index.PropID("ws2", "did:p:1", "a") {
		t.Error("properties of two protocols or workspaces share a number")
	}
}
