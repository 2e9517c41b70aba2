package socketio_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hearth-dmrv/hearth/internal/socketio"
)

func TestParse(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		in   string
		want socketio.Parsed
	}{
		{"0", socketio.Parsed{Kind: "0", Namespace: "/", ID: -1}},
		{`0{"token":"1,2"}`, socketio.Parsed{Kind: "0", Namespace: "/", ID: -1, Auth: `{"token":"1,2"}`}},
		{"0/custom", socketio.Parsed{Kind: "0", Namespace: "/custom", ID: -1}},
		{"0/custom,", socketio.Parsed{Kind: "0", Namespace: "/custom", ID: -1}},
		{`0/custom,{"a":1}`, socketio.Parsed{Kind: "0", Namespace: "/custom", ID: -1, Auth: `{"a":1}`}},
		{"1", socketio.Parsed{Kind: "1", Namespace: "/", ID: -1}},
		{"1/custom", socketio.Parsed{Kind: "1", Namespace: "/custom", ID: -1}},
		{`2["a"]`, socketio.Parsed{Kind: "2", Namespace: "/", ID: -1, Name: "a"}},
		{`2["a",1, "x,]" ,{"b":[1,{"c":"\",["}]},null]`, socketio.Parsed{Kind: "2", Namespace: "/", ID: -1, Name: "a", Args: []string{"1", `"x,]"`, `{"b":[1,{"c":"\",["}]}`, "null"}}},
		{`212["a"]`, socketio.Parsed{Kind: "2", Namespace: "/", ID: 12, Name: "a"}},
		{`2/admin,456["a",[]]`, socketio.Parsed{Kind: "2", Namespace: "/admin", ID: 456, Name: "a", Args: []string{"[]"}}},
		{`2["\u0061\n"]`, socketio.Parsed{Kind: "2", Namespace: "/", ID: -1, Name: "a\n"}},
		{"312[]", socketio.Parsed{Kind: "3", Namespace: "/", ID: 12}},
		{`3/a,0[1,"b"]`, socketio.Parsed{Kind: "3", Namespace: "/a", ID: 0, Args: []string{"1", `"b"`}}},
		{`52-["a",{"_placeholder":true,"num":0}]`, socketio.Parsed{Kind: "2", Attachments: 2, Namespace: "/", ID: -1, Name: "a", Args: []string{`{"_placeholder":true,"num":0}`}}},
		{`50-["a"]`, socketio.Parsed{Kind: "2", Namespace: "/", ID: -1, Name: "a"}},
		{`61-/a,9[{"_placeholder":true,"num":0}]`, socketio.Parsed{Kind: "3", Attachments: 1, Namespace: "/a", ID: 9, Args: []string{`{"_placeholder":true,"num":0}`}}},
	} {
		got, err := socketio.Parse(tt.in)
		if diff := cmp.Diff(tt.want, got); err != nil || diff != "" {
			t.Errorf("Parse(%q) error = %v, -want +got:\n%s", tt.in, err, diff)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	t.Parallel()
	for _, in := range []string{
		"", "7", "a", "abc", "2", "2{}", `2"a"`, "2[]", "2[1]", "2[null]", `2[["a"]]`, `2["a"`, `2["a"]]`, `2["a"],`, `2abc["a"]`,
		`2-1["a"]`, `21234567890123456789["a"]`, `212345678901234567["a"]`, `2["connect"]`, `2["disconnect",1]`, `2["connect_error"]`,
		`2["disconnecting"]`, `2["newListener"]`, `2["removeListener"]`, "0[]", "0x", `0"a"`, "1{}", "1[]", "3[]", "31", "31{}",
		`4{"message":"no"}`, "4", `5["a"]`, `5-["a"]`, `5x-["a"]`, `511-["a"]`, `5999-["a"]`, "61-[]", "2/" + strings.Repeat("x", 300) + `,["a"]`, " 2", `2 ["a"]`,
	} {
		if got, err := socketio.Parse(in); err == nil {
			t.Errorf("Parse(%q) = %+v, want an error", in, got)
		}
	}
}

func TestAssemble(t *testing.T) {
	t.Parallel()
	hold := func(n string) string { return `{"_placeholder":true,"num":` + n + `}` }
	for _, tt := range []struct{ in, want string }{
		{`["a",` + hold("0") + `,` + hold("1") + `]`, `[` + hold("0") + `,` + hold("1") + `]`},
		{`["a",` + hold("1") + `,` + hold("0") + `]`, `[` + hold("0") + `,` + hold("1") + `]`},
		{`["a",{"x":[` + hold("1") + `],"n":12345678901234567890.5}]`, `[{"n":12345678901234567890.5,"x":[` + hold("0") + `]}]`},
		{`["a",{"_placeholder":false,"num":9}]`, `[{"_placeholder":false,"num":9}]`},
		{`["a",` + hold("2") + `]`, ""},
		{`["a",` + hold("-1") + `]`, ""},
		{`["a",` + hold("0.5") + `]`, ""},
		{`["a",` + hold(`"0"`) + `]`, ""},
		{`["a",{"deep":[[` + hold("2") + `]]}]`, ""},
		{`["a",{"_placeholder":true}]`, ""},
	} {
		got, _, err := socketio.Assemble("52-"+tt.in, []byte{1}, []byte{2})
		if got != tt.want || (err != nil) != (tt.want == "") {
			t.Errorf("Assemble(%s) = %s, %v, want %q", tt.in, got, err, tt.want)
		}
	}
	_, binary, err := socketio.Assemble(`52-["a",`+hold("1")+`,`+hold("0")+`]`, []byte{1}, []byte{2})
	if err != nil || len(binary) != 2 || binary[0][0] != 2 || binary[1][0] != 1 {
		t.Errorf("binary = %v, %v, want the second first", binary, err)
	}
}

func TestEncode(t *testing.T) {
	t.Parallel()
	type record struct {
		A string `json:"a"`
	}
	b := socketio.Binary{1, 2}
	deep := any("x")
	for range 200 {
		deep = []any{deep}
	}
	for _, tt := range []struct {
		name   string
		args   []any
		want   string // "" for an error
		binary int
	}{
		{"none", nil, "[]", 0},
		{"no HTML escapes", []any{"<b>&"}, `["<b>&"]`, 0},
		{"values", []any{1, nil, true, record{"x"}, []int{1}}, `[1,null,true,{"a":"x"},[1]]`, 0},
		{"raw", []any{json.RawMessage(`{"z":1,"a":2}`)}, `[{"z":1,"a":2}]`, 0},
		{"raw that is not JSON", []any{json.RawMessage(`]`)}, "", 0},
		{"empty raw", []any{json.RawMessage(nil)}, "", 0},
		{"bytes are JSON", []any{[]byte{1}}, `["AQ=="]`, 0},
		{"binary", []any{b, "x", b}, `[{"_placeholder":true,"num":0},"x",{"_placeholder":true,"num":1}]`, 2},
		{"nested binary", []any{map[string]any{"b": []any{b}, "a": 1}}, `[{"a":1,"b":[{"_placeholder":true,"num":0}]}]`, 1},
		{"no JSON form", []any{make(chan int)}, "", 0},
		{"no JSON form inside", []any{[]any{map[string]any{"x": make(chan int)}}}, "", 0},
		{"too deep", []any{deep}, "", 0},
		{"too many binary values", []any{b, b, b, b, b, b, b, b, b, b, b}, "", 0},
	} {
		got, binary, err := socketio.Encode(tt.args...)
		if got != tt.want || len(binary) != tt.binary || (err != nil) != (tt.want == "") {
			t.Errorf("%s: Encode() = %s, %d, %v, want %q, %d", tt.name, got, len(binary), err, tt.want, tt.binary)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, in := range []string{`0{"a":1}`, `2/a,12["x",{"y":[1,"\\\""]}]`, `52-["a",{"_placeholder":true,"num":1}]`, `61-9[[{"_placeholder":true,"num":0}]]`, "3/,1[]", "1/x"} {
		f.Add(in)
	}
	f.Fuzz(func(t *testing.T, in string) {
		p, err := socketio.Parse(in)
		if err != nil {
			return
		}
		for _, arg := range p.Args {
			if !json.Valid([]byte(arg)) {
				t.Errorf("Parse(%q): argument %q is not JSON", in, arg)
			}
		}
		if p.Attachments > 0 {
			_, _, _ = socketio.Assemble(in, []byte("x")) // must not panic
		}
	})
}

func FuzzSplit(f *testing.F) {
	for _, in := range []string{"[]", "[ ]", `[1,2]`, `["a,b",{"c":[1,2]}]`, `[[],[[]],"\\",""]`} {
		f.Add(in)
	}
	f.Fuzz(func(t *testing.T, in string) {
		var want []json.RawMessage
		if json.Unmarshal([]byte(in), &want) != nil || !strings.HasPrefix(in, "[") {
			return
		}
		got := socketio.Split(in)
		if len(got) != len(want) {
			t.Fatalf("Split(%q) = %d elements, want %d", in, len(got), len(want))
		}
		for i := range got {
			if strings.TrimSpace(string(want[i])) != string(got[i]) {
				t.Errorf("Split(%q)[%d] = %q, want %q", in, i, got[i], want[i])
			}
		}
	})
}
