package twin

import (
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"
)

func TestFlat(t *testing.T) {
	t.Parallel()
	tests := map[string]bool{
		`{}`: true,
		` { "a" : "ü" , "b" : -1.5e3 , "c" : true , "d" : false , "e" : null , "" : 0 } `: true,
		`{"big":9007199254740993,"small":5e-324,"zero":-0}`:                               true,
		`{"a":"\n"}`:      false,
		`{"\u0061":1}`:    false,
		`{"a":{}}`:        false,
		`{"a":[1]}`:       false,
		`{"a":1,"a":2}`:   false,
		`{"a":1e999}`:     false,
		`[]`:              false,
		`null`:            false,
		``:                false,
		`{"a":1}x`:        false,
		`{"a":1,}`:        false,
		`{"a"`:            false,
		`{"a":truth}`:     false,
		`{"a":"b`:         false,
		`{"a":1 "b":2}`:   false,
		`{"a":1}{"b":2}`:  false,
		`{"a":1,"b":tru}`: false,
	}
	for text, want := range tests {
		got, ok := flat([]byte(text))
		if ok != want {
			t.Errorf("%s: decoded is %v; want %v", text, ok, want)
		}
		if ok {
			compare(t, text, got)
		}
	}
}

// FuzzFlat holds flat against the decoder, for what is valid.
func FuzzFlat(f *testing.F) {
	f.Add(`{"serial":"SN-1","power":133,"on":true,"note":null}`)
	f.Add(`{"a":"\u0000","b":[{}],"c":-0.0e+1}`)
	f.Fuzz(func(t *testing.T, text string) {
		got, ok := flat([]byte(text))
		if ok && jsontext.Value(text).IsValid() {
			compare(t, text, got)
		}
	})
}

func compare(t *testing.T, text string, got map[string]any) {
	t.Helper()
	var want map[string]any
	if err := json.Unmarshal([]byte(text), &want); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-decoder +flat):\n%s", text, diff)
	}
}
