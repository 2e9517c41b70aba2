package answer_test

import (
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/hearth-dmrv/hearth/internal/survey/answer"
)

func TestFilled(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, stored, sent, want string }{
		{"a member that is not sent", `{"a":{"x":1}}`, `{"a":{"y":2}}`, `{"a":{"x":1,"y":2}}`},
		{"what was sent holds", `{"a":{"x":1}}`, `{"a":{"x":2.50}}`, `{"a":{"x":2.50}}`},
		{"null was sent", `{"a":{"x":1}}`, `{"a":{"x":null}}`, `{"a":{"x":null}}`},
		{"a section that is not sent", `{"a":{"x":1}}`, `{"b":{}}`, `{"a":{"x":1},"b":{}}`},
		{"elements by their place", `{"p":[{"n":"k"},{}]}`, `{"p":[{"g":1},{"g":2}]}`, `{"p":[{"g":1,"n":"k"},{"g":2}]}`},
		{"a shorter list", `{"p":[{"n":"k"},{}]}`, `{"p":[{"g":1}]}`, `{"p":[{"g":1}]}`},
		{"something else", `{"p":[{"n":"k"}]}`, `{"p":"x"}`, `{"p":"x"}`},
		{"no object", `{"p":1}`, `[]`, `[]`},
		{"nothing stored", ``, `{"p":1}`, `{"p":1}`},
	} {
		got, err := answer.Filled(jsontext.Value(tt.stored), jsontext.Value(tt.sent))
		if err != nil || string(got) != tt.want {
			t.Errorf("%s: Filled() = %s, %v, want %s", tt.name, got, err, tt.want)
		}
	}
}
