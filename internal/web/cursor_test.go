package web_test

import (
	"encoding/base64"
	"net/url"
	"strings"
	"testing"

	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/web"
)

type place struct {
	NID   int64  `json:"nid"`
	Value string `json:"value"`
}

var (
	cursorsUnderTest = web.Cursors{Key: []byte("0123456789abcdef0123456789abcdef")}
	listUnderTest    = web.CursorScope{Workspace: "w1", Route: "GET /v1/entities", Filter: "type=device"}
)

func encodeCursor(t testing.TB, s web.CursorScope) string {
	t.Helper()
	c, err := cursorsUnderTest.Encode(s, place{NID: 1 << 62, Value: "é"})
	if err != nil {
		t.Fatalf("Encode: %v", err)
	}
	return c
}

func TestCursorRoundTrip(t *testing.T) {
	t.Parallel()
	cursor := encodeCursor(t, listUnderTest)
	var got place
	if err := cursorsUnderTest.Decode(listUnderTest, cursor, &got); err != nil {
		t.Fatalf("Decode: %v", err)
	}
	if want := (place{NID: 1 << 62, Value: "é"}); got != want {
		t.Errorf("position = %+v, want %+v", got, want)
	}
	if esc := url.QueryEscape(cursor); esc != cursor {
		t.Errorf("cursor %q needs escaping in a query", cursor)
	}
}

func TestCursorRefused(t *testing.T) {
	t.Parallel()
	good := encodeCursor(t, listUnderTest)
	raw, err := base64.RawURLEncoding.DecodeString(good)
	if err != nil {
		t.Fatal(err)
	}
	flip := func(at int) string {
		b := append([]byte(nil), raw...)
		b[at] ^= 1
		return base64.RawURLEncoding.EncodeToString(b)
	}
	for _, tt := range []struct {
		name   string
		scope  web.CursorScope
		cursor string
	}{
		{"other workspace", web.CursorScope{Workspace: "w2", Route: listUnderTest.Route, Filter: listUnderTest.Filter}, good},
		{"other route", web.CursorScope{Workspace: "w1", Route: "GET /v1/surveys", Filter: listUnderTest.Filter}, good},
		{"other filter", web.CursorScope{Workspace: "w1", Route: listUnderTest.Route}, good},
		{"shifted parts", web.CursorScope{Workspace: "w1G", Route: "ET /v1/entities", Filter: listUnderTest.Filter}, good},
		{"version", listUnderTest, flip(0)},
		{"payload", listUnderTest, flip(8)},
		{"signature", listUnderTest, flip(len(raw) - 1)},
		{"cut", listUnderTest, good[:len(good)-4]},
		{"longer", listUnderTest, good + "AAAA"},
		{"padded", listUnderTest, good + "="},
		{"line break", listUnderTest, good + "\n"},
		{"empty", listUnderTest, ""},
		{"not base64", listUnderTest, "%%%"},
		{"huge", listUnderTest, strings.Repeat("A", 1<<20)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var got place
			err := cursorsUnderTest.Decode(tt.scope, tt.cursor, &got)
			f := fault.As(err)
			if f == nil || f.Kind != fault.Invalid || f.Code != "INVALID_CURSOR" || len(f.Fields) != 1 || f.Fields[0].Pointer != "query/cursor" {
				t.Errorf("Decode = %v, want INVALID_CURSOR for query/cursor", err)
			}
			if got != (place{}) {
				t.Errorf("position = %+v, want it untouched", got)
			}
		})
	}
}

func TestCursorOtherShape(t *testing.T) {
	t.Parallel()
	cursor, err := cursorsUnderTest.Encode(listUnderTest, map[string]string{"old": "x"})
	if err != nil {
		t.Fatal(err)
	}
	if got := fault.CodeOf(cursorsUnderTest.Decode(listUnderTest, cursor, &place{})); got != "INVALID_CURSOR" {
		t.Errorf("cursor of another release: code %q, want INVALID_CURSOR", got)
	}
}

func TestCursorKeyTooShort(t *testing.T) {
	t.Parallel()
	c := web.Cursors{Key: []byte("short")}
	if _, err := c.Encode(listUnderTest, 1); err == nil || fault.As(err) != nil {
		t.Errorf("Encode with a short key = %v, want an internal error", err)
	}
	if err := c.Decode(listUnderTest, "AAAA", new(int)); err == nil || fault.As(err) != nil {
		t.Errorf("Decode with a short key = %v, want an internal error", err)
	}
	if _, err := cursorsUnderTest.Encode(listUnderTest, strings.Repeat("x", 1<<16)); err == nil {
		t.Error("Encode of a huge position succeeded, want an error")
	}
}

func TestFilterOf(t *testing.T) {
	t.Parallel()
	a := web.FilterOf(url.Values{"type": {"x"}, "b": {"1", "2"}, "limit": {"5"}, "cursor": {"c"}})
	b := web.FilterOf(url.Values{"b": {"1", "2"}, "type": {"x"}, "limit": {"9"}})
	if a != b {
		t.Errorf("filters %q and %q differ, want them equal", a, b)
	}
	if c := web.FilterOf(url.Values{"b": {"2", "1"}, "type": {"x"}}); c == a {
		t.Errorf("filter %q equals that of other values", c)
	}
}

// FuzzCursor checks that only what Encode made is ever taken.
func FuzzCursor(f *testing.F) {
	good := encodeCursor(f, listUnderTest)
	for _, s := range []string{good, good[1:], "", "AQ", "AXt9AAAAAAAAAAAAAAAAAAAAAAA"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, cursor string) {
		var got place
		err := cursorsUnderTest.Decode(listUnderTest, cursor, &got)
		if (err == nil) != (cursor == good) {
			t.Fatalf("Decode(%q) = %v", cursor, err)
		}
	})
}
