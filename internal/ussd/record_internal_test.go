package ussd

import (
	"bytes"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/hearth-dmrv/hearth/internal/secret"
	"github.com/hearth-dmrv/hearth/internal/ussd/machine"
)

func testBox(t testing.TB) secret.Box {
	k, err := secret.Parse(strings.Repeat("k", 32))
	if err != nil {
		t.Fatal(err)
	}
	return k.Box("ussd-session")
}

func full() *record {
	account := "acc"
	return &record{
		mode: accumulated, resumed: true, code: "*2233#", started: 1_700_000_000_000_001, updated: 1_700_000_000_900_000,
		answer: "Welcome\n1. Know More", draft: "join.name", seen: []mark{{1, 7}, {4, 1 << 63}}, trail: appendStop(nil, stop{typed: "", node: "home"}),
		state: machine.State{
			Pack: "small", Version: "0123456789ab", Node: "join.pin", Page: 2, Notice: "No.", Lang: "sw", Vars: map[string]string{"name": "Zoë", "a": ""},
			Secrets: map[string]string{"pin": "48213"}, Account: "acc", Proof: "proof", Kept: "join.name", Step: 300, Done: true,
		},
		effects: []effect{
			{"k1", machine.Result{Name: "ok", Set: map[string]string{"x": "y"}, Account: &account, Proof: "proof", Lang: "en"}, false},
			{"k2", machine.Result{Name: "off"}, false},
			{"k3", machine.Result{Name: "ok", Set: map[string]string{"balance": "1"}}, true},
		},
	}
}

func TestRecordRoundTrip(t *testing.T) {
	t.Parallel()
	k, moved := newKey("s1", "+254700000001", "hubtel", "*1#"), newKey("s2", "+254700000001", "hubtel", "*1#")
	for name, want := range map[string]*record{"full": full(), "empty": {trail: []byte{}}, "clock set back": {started: 10, updated: 5, trail: []byte{}}} {
		data := want.appendTo(nil, &k, testBox(t))
		got, err := readRecord(data, &k, testBox(t))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s: record = %+v, want %+v", name, got, want)
		}
		if bytes.Contains(data, []byte("48213")) {
			t.Errorf("%s: the PIN is in the stored record", name)
		}
		for i := range data {
			if _, err := readRecord(data[:i], &k, testBox(t)); err == nil {
				t.Errorf("%s: %d of %d bytes are read as a record", name, i, len(data))
			}
		}
	}
	data := full().appendTo(nil, &k, testBox(t))
	if _, err := readRecord(data, &moved, testBox(t)); err == nil {
		t.Error("a record with secrets is read in another session")
	}
}

// FuzzRecord never panics, and reads back what it wrote of what it has read.
func FuzzRecord(f *testing.F) {
	box, k := testBox(f), &key{id: "s1"}
	f.Add(full().appendTo(nil, k, box))
	f.Add((&record{}).appendTo(nil, k, box))
	f.Add([]byte{recordForm, 0xff, 0xff, 0xff, 0xff})
	f.Fuzz(func(t *testing.T, data []byte) {
		readDraft(data)
		r, err := readRecord(data, k, box)
		if err != nil {
			return
		}
		again, err := readRecord(r.appendTo(nil, k, box), k, box)
		if err != nil || again.answer != r.answer || len(again.seen) != len(r.seen) {
			t.Errorf("read again = %+v, %v; want %+v", again, err, r)
		}
	})
}

func TestSplit(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		text string
		from int
		want []string
	}{
		{"1", 0, []string{"1"}},
		{"1*2*3", 0, []string{"1", "2", "3"}},
		{"1*2*3", 2, []string{"2", "3"}},
		{"*", 0, []string{"*"}},
		{"1**", 0, []string{"1", "*"}},
		{"1**", 2, []string{"*"}},
		{"1**", 3, []string{""}},
		{"1***", 0, []string{"1", "", "*"}},
		{"1*", 0, []string{"1", ""}},
		{"1*", 2, []string{""}},
		{"1**1", 0, []string{"1", "", "1"}},
		{"**", 0, []string{"", "*"}},
		{"1***2*1", 0, []string{"1", "", "", "2", "1"}},
	} {
		var got []string
		for _, p := range split(tt.text, tt.from) {
			got = append(got, p.text)
			if !strings.HasSuffix(tt.text[:p.end], p.text) {
				t.Errorf("split(%q, %d): part %q does not end at %d", tt.text, tt.from, p.text, p.end)
			}
		}
		if !reflect.DeepEqual(got, tt.want) {
			t.Errorf("split(%q, %d) = %q, want %q", tt.text, tt.from, got, tt.want)
		}
	}
	for in, want := range map[string]string{"1*2": "1*2", "1 *2": "1*2", "1* 2 * 3": "1*2*3", " *": "*", "a b*c": "a b*c"} {
		if got := tidy(in); got != want {
			t.Errorf("tidy(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestMarks(t *testing.T) {
	t.Parallel()
	m, other := newMarker([]byte("one")), newMarker([]byte("two"))
	k, k2 := &key{id: "s1"}, &key{id: "s2"}
	if a, b := m.mark(k, "1*2"), m.mark(k, "1*2"); a != b {
		t.Errorf("marks of one text = %v, %v; want the same", a, b)
	}
	for name, got := range map[string]mark{"text": m.mark(k, "1*3"), "session": m.mark(k2, "1*2"), "key": other.mark(k, "1*2")} {
		if got == m.mark(k, "1*2") {
			t.Errorf("another %s has the same mark", name)
		}
	}
	seen := map[string]bool{}
	for _, key := range []string{
		m.effect(k, 1, place{text: "1"}, 1), m.effect(k, 1, place{text: "1"}, 2), m.effect(k, 2, place{text: "1"}, 1),
		m.effect(k, 1, place{text: "1*1"}, 1), m.effect(k, 1, place{step: 1}, 1), m.effect(k, 1, place{step: 2}, 1), m.effect(k2, 1, place{step: 1}, 1),
	} {
		if seen[key] {
			t.Errorf("key %s stands for two effects", key)
		}
		seen[key] = true
	}
}

// TestTrail keeps the first stops only.
func TestTrail(t *testing.T) {
	t.Parallel()
	r := &record{}
	for range 3 * maxStops {
		r.trail = appendStop(r.trail, stop{typed: "1", node: "home"})
	}
	if got := bytes.Count(r.dialog(&key{}), []byte("> 1")); got != maxStops {
		t.Errorf("turns = %d, want %d", got, maxStops)
	}
}

// A session that an earlier version has stored is read, but its login proves
// nothing.
func TestRecordWithoutProof(t *testing.T) {
	t.Parallel()
	k := newKey("s1", "+254700000001", "hubtel", "*1#")
	want := full()
	want.state.Proof, want.effects = "", want.effects[:1]
	want.effects[0].result.Proof = ""
	data := want.appendTo(nil, &k, testBox(t))
	old := append([]byte("\x02"), appendText(appendText(nil, "acc"), "")...)
	was := append([]byte("\x01"), appendText(nil, "acc")...)
	if !bytes.HasSuffix(data, old) {
		t.Fatalf("the record ends with %x, want %x", data[len(data)-len(old):], old)
	}
	got, err := readRecord(append(bytes.TrimSuffix(data, old), was...), &k, testBox(t))
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("record = %+v, %v, want %+v", got, err, want)
	}
}

// A new PIN takes the earlier logins of the session with it, and no others.
func TestKeepEffect(t *testing.T) {
	t.Parallel()
	me, other := "acc", "other"
	r := &record{state: machine.State{Account: me, Proof: "1"}}
	r.effects = []effect{
		{"a", machine.Result{Name: "ok", Account: &me, Proof: "1"}, false},
		{"b", machine.Result{Name: "ok", Account: &me, Proof: "0"}, false},
		{"c", machine.Result{Name: "ok", Account: &other, Proof: "1"}, false},
		{"d", machine.Result{Name: "wrong"}, false},
	}
	r.keepEffect("d", machine.Result{Name: "ok", Account: &me, Proof: "2"}, false)
	var got []string
	for _, e := range r.effects {
		got = append(got, e.key+e.result.Proof)
	}
	if want := []string{"a2", "b0", "c1", "d2"}; !reflect.DeepEqual(got, want) {
		t.Errorf("effects = %q, want %q", got, want)
	}
}

// TestAskedIsBounded keeps the newest of what others gave, and all that was done
// here: that must not be done again.
func TestAskedIsBounded(t *testing.T) {
	t.Parallel()
	r := &record{}
	page := machine.Result{Name: "ok", Set: map[string]string{"rows": strings.Repeat("x", 10<<10)}}
	r.keepEffect("here", page, false)
	for i := range 6 {
		r.keepEffect("asked"+strconv.Itoa(i), page, true)
	}
	r.keepEffect("also", page, false)
	var got []string
	for _, e := range r.effects {
		got = append(got, e.key)
	}
	if want := []string{"here", "asked3", "asked4", "asked5", "also"}; !reflect.DeepEqual(got, want) {
		t.Errorf("kept = %q, want %q", got, want)
	}
	r.keepEffect("large", machine.Result{Set: map[string]string{"rows": strings.Repeat("x", maxAsked)}}, true)
	if len(r.effects) != 2 {
		t.Errorf("%d effects are kept with one that is too large, want the two that were done here", len(r.effects))
	}
}
