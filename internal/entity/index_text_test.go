package entity_test

import (
	"math"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/hearth-dmrv/hearth/internal/entity"
	"github.com/hearth-dmrv/hearth/internal/rql"
)

// Texts of the index sort as the values do.
func TestTextSorts(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		a, b := rapid.Float64().Draw(t, "a"), rapid.Float64().Draw(t, "b")
		if math.IsNaN(a) || math.IsNaN(b) {
			t.Skip("JSON has no NaN")
		}
		x, _ := entity.IndexText(rql.Number, a)
		y, _ := entity.IndexText(rql.Number, b)
		if (a < b) != (x < y) || (a == b) != (x == y) {
			t.Fatalf("%v and %v are %q and %q", a, b, x, y)
		}
		m, n := rapid.Int64Range(0, 4e12).Draw(t, "m"), rapid.Int64Range(0, 4e12).Draw(t, "n")
		early, _ := entity.IndexText(rql.Time, time.UnixMilli(m).UTC().Format(time.RFC3339Nano))
		late, _ := entity.IndexText(rql.Time, time.UnixMilli(n).In(time.FixedZone("", 7200)).Format(time.RFC3339Nano))
		if (m < n) != (early < late) || (m == n) != (early == late) {
			t.Fatalf("%d and %d are %q and %q", m, n, early, late)
		}
	})
}

func TestText(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		kind  rql.Kind
		value any
		want  string
		ok    bool
	}{
		{rql.Text, "SN1", "sSN1", true},
		{rql.Text, "", "s", true},
		{rql.Number, 0.0, "n8000000000000000", true},
		{rql.Number, math.Copysign(0, -1), "n8000000000000000", true},
		{rql.Number, int64(1), "nbff0000000000000", true},
		{rql.Bool, true, "b1", true},
		{rql.Bool, false, "b0", true},
		{rql.Text, "2026-01-01", "s2026-01-01", true},
		{rql.Time, "yesterday", "syesterday", true},
		{rql.Object, map[string]any{}, "", false},
		{rql.Any, []any{1.0}, "", false},
		{rql.Text, nil, "", false},
	} {
		if got, ok := entity.IndexText(tt.kind, tt.value); got != tt.want || ok != tt.ok {
			t.Errorf("Text(%s, %v) = %q, %v, want %q, %v", tt.kind, tt.value, got, ok, tt.want, tt.ok)
		}
	}
	for _, long := range []string{strings.Repeat("x", 500), strings.Repeat("€", 100), "x" + strings.Repeat("😀", 100)} {
		got, _ := entity.IndexText(rql.Text, long)
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
				k := entity.Key(ws, field, value)
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
	if entity.PropID("ws", "did:p:1", "a") == entity.PropID("ws", "did:p:2", "a") || entity.PropID("ws", "did:p:1", "a") == entity.PropID("ws2", "did:p:1", "a") {
		t.Error("properties of two protocols or workspaces share a number")
	}
}
