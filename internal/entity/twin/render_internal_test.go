package twin

import (
	"testing"
	"time"
)

// TestWriter: what a whole record looks like is compared with web.Encode where
// records are.
func TestWriter(t *testing.T) {
	t.Parallel()
	var w writer
	w.Open()
	w.Text(`"a":`, "x\"y")
	w.Some(`"b":`, "")
	w.Mark(`"c":`, false)
	w.Moment(`"d":`, time.Time{})
	w.Texts(`"e":`, nil)
	each(&w, `"f":`, []int64{1, 2}, func(n *int64) { w.Number(`"n":`, *n) })
	w.Object(`"g":`, []byte(` {"z" : 1.0} `))
	w.Object(`"h":`, nil)
	w.Shut()
	if want := `{"a":"x\"y","e":[],"f":[{"n":1},{"n":2}],"g":{"z":1.0},"h":null}`; string(w.B) != want || w.Failed {
		t.Errorf("got %s, failed %v, want %s", w.B, w.Failed, want)
	}
	for name, write := range map[string]func(w *writer){
		"no text": func(w *writer) { w.Text(`"a":`, "\xff") },
		"no JSON": func(w *writer) { w.Object(`"a":`, []byte("{")) },
	} {
		w := writer{}
		w.Open()
		if write(&w); !w.Failed {
			t.Errorf("%s: not failed, want it to be", name)
		}
	}
}
