package web_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/hearth-dmrv/hearth/internal/web"
)

func TestSurvey(t *testing.T) {
	t.Parallel()
	tests := []struct {
		body    string
		deepest int
		nul     bool
	}{
		{``, 0, false},
		{`{"a":[{"b":1}]}`, 3, false},
		{`{"a":"}}{{[["}`, 1, false},
		{`{"a":"\"{[","b":[]}`, 2, false},
		{`{"a":"\\","b":[[]]}`, 3, false},
		{`{"a":"\\\"{[","b":"\""}`, 1, false},
		{`"\u0000"`, 0, true},
		{`"\\u0000"`, 0, false},
		{`"\\\u0000"`, 0, true},
		{`["a","b\"c\u0000d"]`, 1, true},
		{`["u0000\\"]`, 1, false},
		{`["\"`, 1, false},
		{`["\`, 1, false},
		{`"`, 0, false},
	}
	for _, tt := range tests {
		if deepest, nul := web.Survey([]byte(tt.body)); deepest != tt.deepest || nul != tt.nul {
			t.Errorf("%s: %d, %v; want %d, %v", tt.body, deepest, nul, tt.deepest, tt.nul)
		}
	}
}

// FuzzSurvey holds Survey against a walk over each byte, for bodies whose
// strings end.
func FuzzSurvey(f *testing.F) {
	f.Add(`{"a":["\u0000\"",{"b\\":"}"}]}`)
	f.Add(strings.Repeat(`"\"`, 9))
	f.Fuzz(func(t *testing.T, body string) {
		want, wantNUL, open := surveySlowly([]byte(body))
		if deepest, nul := web.Survey([]byte(body)); !open && (deepest != want || nul != wantNUL) {
			t.Errorf("%q: %d, %v; want %d, %v", body, deepest, nul, want, wantNUL)
		}
	})
}

func surveySlowly(b []byte) (deepest int, nul, open bool) {
	level := 0
	for i := 0; i < len(b); i++ {
		switch c := b[i]; {
		case open && c == '\\':
			i++
			nul = nul || i < len(b) && bytes.HasPrefix(b[i:], []byte("u0000"))
		case c == '"':
			open = !open
		case open:
		case c == '{' || c == '[':
			level++
			deepest = max(deepest, level)
		case c == '}' || c == ']':
			level--
		}
	}
	return deepest, nul, open
}
