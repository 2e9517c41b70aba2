package codec_test

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/hearth-dmrv/hearth/internal/ucan/codec"
)

func TestDecodeText(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		in, want string
		ok       bool
	}{
		{"", "", true},
		{"YQ==", "a", true},
		{"YQ", "a", true},
		{"YWI=", "ab", true},
		{"YWJj", "abc", true},
		{" Y W\r\nJ\tj \n", "abc", true},
		{"+/+/", "\xfb\xff\xbf", true},
		{"-_-_", "\xfb\xff\xbf", true},
		{"+_-/", "\xfb\xff\xbf", true},
		{"Y", "", false},
		{"YR==", "", false}, // bits left over
		{"YQ=", "", false},
		{"YQ===", "", false},
		{"YWJj=", "", false},
		{"YQ==YQ==", "", false},
		{"YW.j", "", false},
		{"é", "", false},
		{"=", "", false},
	} {
		got, err := codec.DecodeText(tt.in)
		if (err == nil) != tt.ok || string(got) != tt.want {
			t.Errorf("DecodeText(%q) = %q, %v, want %q, ok %v", tt.in, got, err, tt.want, tt.ok)
		}
	}
}

func TestCBOR(t *testing.T) {
	t.Parallel()
	link := codec.Sum(codec.DagCBOR, []byte("x"))
	for _, tt := range []struct {
		hex  string
		want any
	}{
		{"00", int64(0)},
		{"17", int64(23)},
		{"1818", int64(24)},
		{"190100", int64(256)},
		{"1a00010000", int64(65536)},
		{"1b0000000100000000", int64(1) << 32},
		{"1bffffffffffffffff", uint64(math.MaxUint64)},
		{"20", int64(-1)},
		{"3b7fffffffffffffff", int64(math.MinInt64)},
		{"40", []byte{}},
		{"420102", []byte{1, 2}},
		{"60", ""},
		{"62c3a9", "é"},
		{"80", []any{}},
		{"8201f6", []any{int64(1), nil}},
		{"a0", codec.Map{}},
		{"a2616201626161f5", codec.Map{{"b", int64(1)}, {"aa", true}}},
		{"f4", false},
		{"fb3ff8000000000000", 1.5},
		{"fb4415af1d78b58c40", 1e20},
		{"d82a582500" + hex.EncodeToString([]byte(link)), link},
	} {
		raw, _ := hex.DecodeString(tt.hex)
		got, err := codec.DecodeCBOR(raw)
		if err != nil || !reflect.DeepEqual(got, tt.want) {
			t.Errorf("DecodeCBOR(%s) = %#v, %v, want %#v", tt.hex, got, err, tt.want)
			continue
		}
		if again, err := codec.EncodeCBOR(got); err != nil || !bytes.Equal(again, raw) {
			t.Errorf("EncodeCBOR(%#v) = %x, %v, want %s", got, again, err, tt.hex)
		}
	}
}

func TestCBORRefuses(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"nothing":              "",
		"more behind":          "0000",
		"number too long":      "1817",
		"16 bits too long":     "1900ff",
		"32 bits too long":     "1a0000ffff",
		"64 bits too long":     "1b00000000ffffffff",
		"number cut":           "19ff",
		"negative too small":   "3b8000000000000000",
		"indefinite bytes":     "5f4100ff",
		"indefinite text":      "7f6161ff",
		"indefinite list":      "9fff",
		"indefinite map":       "bfff",
		"text cut":             "6261",
		"text huge":            "7bffffffffffffffff",
		"text not UTF-8":       "61ff",
		"surrogate":            "63eda080",
		"list cut":             "8201",
		"list huge":            "9bffffffffffffffff",
		"map huge":             "bbffffffffffffffff",
		"map cut":              "a16161",
		"key twice":            "a2616101616102",
		"keys out of order":    "a2626161016162f5",
		"keys out of order 2":  "a2616201616101",
		"key no text":          "a10101",
		"undefined":            "f7",
		"simple":               "e0",
		"simple of two bytes":  "f820",
		"half float":           "f93e00",
		"single float":         "fa3fc00000",
		"whole float":          "fb4059000000000000",
		"minus zero":           "fb8000000000000000",
		"not a number":         "fb7ff8000000000000",
		"infinity":             "fb7ff0000000000000",
		"float cut":            "fb3ff8",
		"tag":                  "c100",
		"link of text":         "d82a6100",
		"link without zero":    "d82a450171122000",
		"link empty":           "d82a40",
		"link cut":             "d82a4500017112ff",
		"link to CIDv0":        "d82a5823001220" + strings.Repeat("00", 32),
		"link with more":       "d82a45000155000000",
		"break":                "ff",
		"reserved information": "1c",
	} {
		raw, err := hex.DecodeString(text)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if v, err := codec.DecodeCBOR(raw); !errors.Is(err, codec.ErrSyntax) {
			t.Errorf("%s: DecodeCBOR(%s) = %#v, %v, want ErrSyntax", name, text, v, err)
		}
	}
	for depth, ok := range map[int]bool{32: true, 33: false} {
		_, err := codec.DecodeCBOR(append(bytes.Repeat([]byte{0x81}, depth), 0))
		if (err == nil) != ok {
			t.Errorf("%d lists in each other: got %v, want ok %v", depth, err, ok)
		}
	}
}

// TestJSON has texts that JavaScript's dag-json encoder writes.
func TestJSON(t *testing.T) {
	t.Parallel()
	link := codec.Sum(codec.Raw, []byte{1, 2, 3})
	for _, tt := range []struct {
		in   any
		want string
	}{
		{nil, `null`},
		{true, `true`},
		{int64(-7), `-7`},
		{uint64(math.MaxUint64), `18446744073709551615`},
		{1.25e-7, `1.25e-7`},
		{1e-6 * 1.5, `0.0000015`},
		{5e-324, `5e-324`},
		{1e20, `100000000000000000000.0`},
		{1e21, `1e+21`},
		{-1.7976931348623157e308, `-1.7976931348623157e+308`},
		{0.1, `0.1`},
		{"<>&\u2028\u2029/\x7f", "\"<>&\u2028\u2029/\x7f\""},
		{"\"\\\b\f\n\r\t\x00\x1f", `"\"\\\b\f\n\r\t\u0000\u001f"`},
		{[]byte{0, 255}, `{"/":{"bytes":"AP8"}}`},
		{[]byte{}, `{"/":{"bytes":""}}`},
		{link, `{"/":"` + link.String() + `"}`},
		{[]any{}, `[]`},
		{codec.Map{{"b", int64(1)}, {"aa", codec.Map{}}}, `{"aa":{},"b":1}`},
		{codec.Map{{"\ufb01", int64(1)}, {"\U0001F600", int64(2)}}, "{\"\U0001F600\":2,\"\ufb01\":1}"},
		{codec.Map{{"x\ud7ff", int64(1)}, {"x\U0001F600", int64(2)}}, "{\"x\ud7ff\":1,\"x\U0001F600\":2}"},
		{codec.Map{{"é", int64(1)}, {"éa", int64(2)}, {"éb", int64(3)}}, `{"é":1,"éa":2,"éb":3}`},
	} {
		got, err := codec.AppendJSON(nil, tt.in)
		if err != nil || string(got) != tt.want {
			t.Errorf("AppendJSON(%#v) = %s, %v, want %s", tt.in, got, err, tt.want)
			continue
		}
		back, err := codec.DecodeJSON(got)
		if err != nil || !reflect.DeepEqual(back, tt.in) {
			t.Errorf("DecodeJSON(%s) = %#v, %v, want %#v", got, back, err, tt.in)
		}
	}
	for _, v := range []any{math.NaN(), math.Inf(1), 3, codec.Map{{"/", "x"}}, []any{struct{}{}}, codec.Map{{"x", 'x'}}} {
		if got, err := codec.AppendJSON(nil, v); err == nil {
			t.Errorf("AppendJSON(%#v) = %s, want an error", v, got)
		}
	}
}

func TestJSONRefuses(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		``, ` `, `nul`, `{`, `[1`, `[1,]`, `[1]]`, `1 2`, `01`, `1.0`, `1e3`, `-0`, `1E+21`, `100000000000000000000`, `1e999`,
		`"a`, `"\u0061"`, `"\/"`, "\"\xff\"", `"\ud800"`, `{"b":1,"a":2}`, `{"a":1,"a":1}`, `{"a" :1}`, `{"a":1}` + "\n", `{1:2}`, `]`,
		`{"/":"x"}`, `{"/":1}`, `{"/":{}}`, `{"/":{"bytes":1}}`, `{"/":{"bytes":"A"}}`, `{"/":{"bytes":"AP9="}}`, `{"/":{"bytes":"AA","x":1}}`,
		strings.Repeat("[", 40) + strings.Repeat("]", 40),
	} {
		if v, err := codec.DecodeJSON([]byte(text)); !errors.Is(err, codec.ErrSyntax) {
			t.Errorf("DecodeJSON(%s) = %#v, %v, want ErrSyntax", text, v, err)
		}
	}
}

func TestFrom(t *testing.T) {
	t.Parallel()
	in := map[string]any{
		"int": 1, "float": 100.0, "half": 0.5, "big": uint64(math.MaxUint64), "small": uint64(7),
		"list": []any{map[string]any{"a": nil}}, "maps": []map[string]any{{}}, "map": codec.Map{{"aa", int64(1)}, {"b", int64(2)}},
	}
	got, err := codec.From(in)
	want := map[string]any{
		"int": int64(1), "float": int64(100), "half": 0.5, "big": uint64(math.MaxUint64), "small": int64(7),
		"list": []any{map[string]any{"a": nil}}, "maps": []any{map[string]any{}}, "map": map[string]any{"aa": int64(1), "b": int64(2)},
	}
	if err != nil || !reflect.DeepEqual(codec.Plain(got), want) {
		t.Errorf("From() = %#v, %v, want %#v", codec.Plain(got), err, want)
	}
	raw, err := codec.EncodeCBOR(got)
	if err != nil {
		t.Fatal(err)
	}
	if back, err := codec.DecodeCBOR(raw); err != nil || !reflect.DeepEqual(back, got) {
		t.Errorf("it does not survive dag-cbor: %#v, %v", back, err)
	}
	for _, v := range []any{struct{}{}, []any{int32(1)}, map[string]any{"x": math.NaN()}, codec.Map{{"x", func() {}}}} {
		if got, err := codec.From(v); !errors.Is(err, codec.ErrSyntax) {
			t.Errorf("From(%#v) = %#v, %v, want ErrSyntax", v, got, err)
		}
	}
}

func TestCID(t *testing.T) {
	t.Parallel()
	// The CID of dag-cbor {} in every IPLD implementation.
	const want = "bafyreigbtj4x7ip5legnfznufuopl4sg4knzc2cof6duas4b3q2fy6swua"
	c := codec.Sum(codec.DagCBOR, []byte{0xa0})
	if c.String() != want || c.Codec() != codec.DagCBOR || !c.Matches([]byte{0xa0}) || c.Matches([]byte{0xa1}) {
		t.Errorf("Sum() = %s, want %s", c, want)
	}
	if back, err := codec.ParseCID(want); err != nil || back != c {
		t.Errorf("ParseCID() = %s, %v", back, err)
	}
	for _, text := range []string{"", "b", "z" + want[1:], strings.ToUpper(want), want + "a", want[:20], "b!", "baaaa", want + "\n"} {
		if got, err := codec.ParseCID(text); err == nil {
			t.Errorf("ParseCID(%q) = %s, want an error", text, got)
		}
	}
}

func TestCAR(t *testing.T) {
	t.Parallel()
	one, two := codec.Block{CID: codec.Sum(codec.Raw, []byte("1")), Data: []byte("1")}, codec.Block{CID: codec.Sum(0x0129, []byte("2")), Data: []byte("2")}
	a := codec.Archive{Root: two.CID}
	a.Add(one)
	a.Add(two)
	a.Add(one)
	raw, err := a.Encode()
	if err != nil {
		t.Fatal(err)
	}
	got, err := codec.DecodeCAR(raw)
	if err != nil || !reflect.DeepEqual(got, &a) || len(got.Blocks) != 2 {
		t.Errorf("DecodeCAR() = %#v, %v, want %#v", got, err, a)
	}
	for cut := range len(raw) {
		// Cuts between blocks leave a shorter archive, which is one.
		if got, err := codec.DecodeCAR(raw[:cut]); err == nil && len(got.Blocks) == 2 {
			t.Errorf("cut at %d: no error", cut)
		}
	}
	false1 := append([]byte(nil), raw...)
	false1[len(false1)-1] ^= 1
	wide := codec.Archive{Root: one.CID}
	for i := range byte(65) {
		wide.Add(codec.Block{CID: codec.Sum(codec.Raw, []byte{i}), Data: []byte{i}})
	}
	tooMany, err := wide.Encode()
	if err != nil {
		t.Fatal(err)
	}
	for name, b := range map[string][]byte{
		"false CID": false1, "a block of nothing": append(raw, 0), "65 blocks": tooMany, "long number": append([]byte{0x80, 0}, raw...),
		"no header": {0}, "header no map": {1, 0}, "version 2": header(t, []any{one.CID}, 2), "no root": header(t, []any{}, 1),
		"two roots": header(t, []any{one.CID, two.CID}, 1), "root no link": header(t, []any{"x"}, 1),
	} {
		if got, err := codec.DecodeCAR(b); !errors.Is(err, codec.ErrSyntax) {
			t.Errorf("%s: DecodeCAR() = %#v, %v, want ErrSyntax", name, got, err)
		}
	}
}

func header(t *testing.T, roots []any, version int64) []byte {
	t.Helper()
	b, err := codec.EncodeCBOR(codec.Map{{"roots", roots}, {"version", version}})
	if err != nil {
		t.Fatal(err)
	}
	return append([]byte{byte(len(b))}, b...)
}

// FuzzCBOR: what is read is written the same, so a value has one spelling.
func FuzzCBOR(f *testing.F) {
	for _, text := range []string{"a2616201626161f5", "8201f6", "fb3ff8000000000000", "3b7fffffffffffffff", "d82a4500015500"} {
		raw, _ := hex.DecodeString(text)
		f.Add(raw)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		v, err := codec.DecodeCBOR(b)
		if err != nil {
			return
		}
		if again, err := codec.EncodeCBOR(v); err != nil || !bytes.Equal(again, b) {
			t.Errorf("%x is written as %x (%v)", b, again, err)
		}
		text, err := codec.AppendJSON(nil, v)
		if err != nil {
			return // a reserved key
		}
		if back, err := codec.DecodeJSON(text); err == nil && !reflect.DeepEqual(back, v) {
			t.Errorf("%s is read as %#v, want %#v", text, back, v)
		}
	})
}

// FuzzJSON: the reader takes only what the writer writes.
func FuzzJSON(f *testing.F) {
	for _, text := range []string{`{"a":[1,2.5,null,true,"x"]}`, `{"/":{"bytes":"AP8"}}`, `{"b":{"/":"bafkqaaa"}}`, `1e+21`} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		v, err := codec.DecodeJSON(b)
		if err != nil {
			return
		}
		if again, err := codec.AppendJSON(nil, v); err != nil || !bytes.Equal(again, b) {
			t.Errorf("%s is written as %s (%v)", b, again, err)
		}
	})
}

// FuzzDecodeText: what is read is what Go's own decoder reads, spelled its way.
func FuzzDecodeText(f *testing.F) {
	f.Add("YWJj")
	f.Add("-_\n=")
	clean := strings.NewReplacer("-", "+", "_", "/", " ", "", "\t", "", "\r", "", "\n", "", "=", "")
	f.Fuzz(func(t *testing.T, text string) {
		got, err := codec.DecodeText(text)
		if err != nil {
			return
		}
		want, err := base64.RawStdEncoding.Strict().DecodeString(clean.Replace(text))
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("DecodeText(%q) = %x, want %x (%v)", text, got, want, err)
		}
	})
}
