package export_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hearth-dmrv/hearth/internal/survey/export"
)

// stataFile is what a file of Stata says, read by its published layout.
type stataFile struct {
	names, formats, labelNames, labels []string
	types                              []uint16
	rows                               []map[string]any // numbers, texts, and ".d" for a missing value
	values                             map[string]map[int32]string
	notes                              map[string]string // by variable and name
}

// stataReader walks through a file. It knows the places that the map of the
// file states, and wants each part to begin there.
type stataReader struct {
	t   testing.TB
	b   []byte
	at  int
	out stataFile
}

func (r *stataReader) want(text string) {
	r.t.Helper()
	if got := string(r.take(len(text))); got != text {
		r.t.Fatalf("at %d stands %q, want %q", r.at-len(text), got, text)
	}
}

func (r *stataReader) take(n int) []byte {
	r.t.Helper()
	if n < 0 || r.at+n > len(r.b) {
		r.t.Fatalf("the file ends at %d, want %d bytes more", r.at, n)
	}
	r.at += n
	return r.b[r.at-n : r.at]
}

func (r *stataReader) u16() uint16 { return binary.LittleEndian.Uint16(r.take(2)) }
func (r *stataReader) u32() uint32 { return binary.LittleEndian.Uint32(r.take(4)) }
func (r *stataReader) u64() uint64 { return binary.LittleEndian.Uint64(r.take(8)) }

// text is a text of fixed size.
func (r *stataReader) text(room int) string {
	s, _, _ := strings.Cut(string(r.take(room)), "\x00")
	return s
}

// readStata reads a file whole.
func readStata(t testing.TB, b []byte) *stataFile {
	t.Helper()
	r := &stataReader{t: t, b: b}
	r.want("<stata_dta><header><release>118</release><byteorder>LSF</byteorder><K>")
	vars := int(r.u16())
	r.want("</K><N>")
	rows := int(r.u64())
	r.want("</N><label>")
	r.take(int(r.u16()))
	r.want("</label><timestamp>")
	r.take(int(r.take(1)[0]))
	r.want("</timestamp></header>")
	places := []int{r.at}
	r.want("<map>")
	var stated []int
	for range 14 {
		stated = append(stated, int(r.u64()))
	}
	r.want("</map>")
	part := func(name string, read func()) {
		places = append(places, r.at)
		r.want("<" + name + ">")
		read()
		r.want("</" + name + ">")
	}
	list := func(into *[]string, room int) func() {
		return func() {
			for range vars {
				*into = append(*into, r.text(room))
			}
		}
	}
	part("variable_types", func() {
		for range vars {
			r.out.types = append(r.out.types, r.u16())
		}
	})
	part("varnames", list(&r.out.names, 129))
	part("sortlist", func() { r.take(2 * (vars + 1)) })
	part("formats", list(&r.out.formats, 57))
	part("value_label_names", list(&r.out.labelNames, 129))
	part("variable_labels", list(&r.out.labels, 321))
	part("characteristics", r.characteristics)
	long := map[[2]uint64]*string{}
	part("data", func() {
		for range rows {
			r.row(long)
		}
	})
	part("strls", func() { r.longTexts(long) })
	part("value_labels", r.valueLabels)
	places = append(places, r.at)
	r.want("</stata_dta>")
	if r.at != len(b) {
		t.Errorf("%d bytes after the end", len(b)-r.at)
	}
	if diff := cmp.Diff(append([]int{0}, append(places, r.at)...), stated); diff != "" {
		t.Errorf("map (-want +got):\n%s", diff)
	}
	for _, row := range r.out.rows {
		for name, v := range row {
			if s, ok := v.(*string); ok {
				row[name] = *s
			}
		}
	}
	return &r.out
}

func (r *stataReader) characteristics() {
	r.out.notes = map[string]string{}
	for bytes.HasPrefix(r.b[r.at:], []byte("<ch>")) {
		r.want("<ch>")
		n := int(r.u32())
		of, name := r.text(129), r.text(129)
		r.out.notes[of+" "+name] = r.text(n - 258)
		r.want("</ch>")
	}
}

// row reads a row; its long texts are found later.
func (r *stataReader) row(long map[[2]uint64]*string) {
	row := map[string]any{}
	for i, typ := range r.out.types {
		switch {
		case typ == 65526:
			bits := r.u64()
			row[r.out.names[i]] = math.Float64frombits(bits)
			if bits >= 0x7fe0000000000000 && bits < 0x7ff0000000000000 {
				row[r.out.names[i]] = strings.TrimSuffix("."+string(rune('a'-1+(bits-0x7fe0000000000000)>>40)), "`")
			}
		case typ == 32768:
			ref := r.u64()
			text := new(string)
			if key := [2]uint64{ref & 0xffff, ref >> 16}; key[1] > 0 {
				long[key] = text
			}
			row[r.out.names[i]] = text
		case typ <= 2045:
			row[r.out.names[i]] = r.text(int(typ))
		default:
			r.t.Fatalf("type %d", typ)
		}
	}
	r.out.rows = append(r.out.rows, row)
}

func (r *stataReader) longTexts(long map[[2]uint64]*string) {
	for bytes.HasPrefix(r.b[r.at:], []byte("GSO")) {
		r.want("GSO")
		key := [2]uint64{uint64(r.u32()), r.u64()}
		if kind := r.take(1)[0]; kind != 130 {
			r.t.Errorf("a long text of kind %d", kind)
		}
		text := r.text(int(r.u32()))
		if long[key] == nil {
			r.t.Fatalf("nothing refers to the long text %v", key)
		}
		*long[key] = text
		delete(long, key)
	}
	if len(long) > 0 {
		r.t.Errorf("%d long texts are missing", len(long))
	}
}

func (r *stataReader) valueLabels() {
	r.out.values = map[string]map[int32]string{}
	for bytes.HasPrefix(r.b[r.at:], []byte("<lbl>")) {
		r.want("<lbl>")
		size := int(r.u32())
		name := r.text(129)
		r.take(3)
		end := r.at + size
		n, length := int(r.u32()), int(r.u32())
		var offsets, numbers []uint32
		for range n {
			offsets = append(offsets, r.u32())
		}
		for range n {
			numbers = append(numbers, r.u32())
		}
		texts := string(r.take(length))
		labels := map[int32]string{}
		for i, at := range offsets {
			labels[int32(numbers[i])], _, _ = strings.Cut(texts[at:], "\x00")
		}
		r.out.values[name] = labels
		if r.at != end {
			r.t.Errorf("labels %s end at %d, want %d", name, r.at, end)
		}
		r.want("</lbl>")
	}
}

// TestStata writes every kind of question and reads the file by its layout.
func TestStata(t *testing.T) {
	t.Parallel()
	f := compile(t, strings.Replace(document, `{"id":"words","type":"text"}`, `{"id":"words","type":"text"},{"id":"score","type":"single_choice","options":[{"value":"1","label":{"en":"Low","sw":"Chini"}},{"value":"5"}],"dontKnow":true},
		{"id":"a_question_with_a_name_that_is_too_long_a","type":"integer"},{"id":"a_question_with_a_name_that_is_too_long_b","type":"integer"},{"id":"at","type":"datetime"}`, 1))
	long := strings.Repeat("é", 2000)
	first := answeredBy(t, f, strings.Replace(answered, `"size":5`, `"size":5,"score":"1","a_question_with_a_name_that_is_too_long_a":1,"a_question_with_a_name_that_is_too_long_b":2,"at":"1960-01-01T03:00:01+03:00"`, 1), export.Full)
	second := answeredBy(t, f, fmt.Sprintf(`{"a":{"best":{"noAnswer":"refused"}},"z":{"size":{"noAnswer":"dont_know"},"score":{"noAnswer":"dont_know"},"words":%q}}`, long), export.Full)
	got := readStata(t, fileOf(t, f, export.LayoutConfig{Level: export.Full, Shape: export.Wide, Language: "sw"}, export.Stata, first, second))
	wants := []map[string]any{
		{
			"responseId": "amina-1", "round": 2.0, "timestamp": 1_700_000_000_000.0 + 315_619_200_000, "consent": 1.0, "z_size": 5.0, "z_words": "a \"b\",\nc", "z_score": 1.0,
			"a_fuels": "wood;other", "a_fuels_wood": 1.0, "a_fuels_gas": 0.0, "a_best": "other", "a_best_other": "=cmd()", "a_where_lat": -1.2921, "a_weight": 12.5, "a_weight_unit": "kg",
			"a_grid_r1": "good", "a_grid_r__2": "bad", "a_double": 10.0, "a_g_day": 24137.0, "a_g_yes": 1.0, "eligible": ".", "z_at": 1000.0,
			"z_a_question_with_a_name_that_is": 1.0, "z_a_question_with_a_name_that__2": 2.0,
		},
		{"z_size": ".d", "z_score": ".d", "a_best": "refused", "z_words": long, "a_fuels": "", "a_fuels_wood": ".", "a_g_day": ".", "z_at": "."},
	}
	for i, want := range wants {
		for name, v := range want {
			if diff := cmp.Diff(v, got.rows[i][name]); diff != "" {
				t.Errorf("row %d: %s (-want +got):\n%s", i, name, diff)
			}
		}
	}
	at := map[string]int{}
	for i, name := range got.names {
		at[name] = i
	}
	if i := at["z_size"]; got.labels[i] != "Wangapi?" || got.notes["z_size column"] != "z.size" || got.formats[at["a_g_day"]] != "%tdCCYY-NN-DD" {
		t.Errorf("z_size: label %q, note %q", got.labels[i], got.notes["z_size column"])
	}
	if diff := cmp.Diff(map[int32]string{1: "Chini", 5: "5"}, got.values[got.labelNames[at["z_score"]]]); diff != "" {
		t.Errorf("labels of z_score (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[int32]string{0: "no", 1: "yes"}, got.values[got.labelNames[at["a_g_yes"]]]); diff != "" {
		t.Errorf("labels of a_g_yes (-want +got):\n%s", diff)
	}
}
