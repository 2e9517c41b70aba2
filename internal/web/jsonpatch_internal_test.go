package web

import (
	"testing"

	"github.com/hearth-dmrv/hearth/internal/fault"
)

// The tables of whole patches stand with web.JSONPatch, which everybody calls.

// TestNumbers compares numbers by value, far past what any number type holds,
// without making them.
func TestNumbers(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		a, b string
		same bool
	}{
		{"1", "1.0", true},
		{"1", "10e-1", true},
		{"100", "1E2", true},
		{"0.001", "1e-3", true},
		{"-0", "0", true},
		{"0e9", "0.000", true},
		{"-1.50", "-15e-1", true},
		{"12345678901234567890123", "1.2345678901234567890123e22", true},
		{"12345678901234567890123", "12345678901234567890124", false},
		{"0.1", "0.10000000000000000000000000000001", false},
		{"1", "-1", false},
		{"1e2", "1e3", false},
		{"1e999999999", "1e999999999", true},
		{"1e999999999999999999999", "1e999999999999999999999", true},
		{"1e999999999999999999999", "1e999999999999999999998", false},
		{"1e-999999999999999999999", "1e999999999999999999999", false},
	} {
		ops, err := parsePatch([]byte(`[{"op":"test","path":"","value":` + tt.b + `}]`))
		if err != nil {
			t.Fatal(err)
		}
		got, err := applyPatch([]byte(tt.a), ops)
		if same := err == nil; same != tt.same || err != nil && fault.CodeOf(err) != "JSON_PATCH_TEST_FAILED" {
			t.Errorf("%s and %s: %s, %v, want same %v", tt.a, tt.b, got, err, tt.same)
		}
	}
}

func TestApplyChangesNeitherArgument(t *testing.T) {
	t.Parallel()
	doc, patch := []byte(`{"a":[1,{"b":2}]}`), []byte(`[{"op":"add","path":"/a/0","value":[9]},{"op":"add","path":"/a/0/0","value":8},{"op":"remove","path":"/a/2/b"}]`)
	before, text := string(doc), string(patch)
	ops, err := parsePatch(patch)
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"a":[[8,9],1,{}]}`
	for range 2 { // the operations can be applied again
		got, err := applyPatch(doc, ops)
		if err != nil || string(got) != want {
			t.Errorf("Apply = %s, %v, want %s", got, err, want)
		}
	}
	if string(doc) != before || string(patch) != text {
		t.Errorf("the arguments are %s and %s now", doc, patch)
	}
}

func TestParseSaysWhatTheDecoderSays(t *testing.T) {
	t.Parallel()
	for _, text := range []string{``, `[`, `{}`, `[{"op":1}]`} {
		if _, err := parsePatch([]byte(text)); err == nil || fault.As(err) != nil {
			t.Errorf("Parse(%s) = %v, want the error of the decoder", text, err)
		}
	}
}
