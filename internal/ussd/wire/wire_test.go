package wire_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/ussd/wire"
)

const (
	jsonType = "application/json"
	formType = "application/x-www-form-urlencoded"
)

// post is a request to the documented route.
func post(contentType, body string) *http.Request {
	r := httptest.NewRequest("POST", "/api/ussd", strings.NewReader(body))
	r.Header.Set("Content-Type", contentType)
	return r
}

func read(contentType, body string) (wire.Request, error) {
	return wire.Read(post(contentType, body), []byte(body), nil)
}

// body is a documented body with one member replaced; raw is its JSON.
func body(name, raw string) string {
	members := [][2]string{{"sessionId", `"s1"`}, {"serviceCode", `"*2233#"`}, {"phoneNumber", `"+254700000001"`}, {"text", `""`}}
	var parts []string
	for _, m := range members {
		if m[0] == name {
			m[1] = raw
		}
		if m[1] != "" {
			parts = append(parts, `"`+m[0]+`":`+m[1])
		}
	}
	return "{" + strings.Join(parts, ",") + "}"
}

func TestReadGood(t *testing.T) {
	t.Parallel()
	want := wire.Request{SessionID: "s1", ServiceCode: "*2233#", Phone: "+254700000001"}
	with := func(f func(*wire.Request)) wire.Request { w := want; f(&w); return w }
	for _, tt := range []struct {
		name, contentType, body string
		want                    wire.Request
	}{
		{"first dial", jsonType, body("", ""), want},
		{"spaces between", jsonType, " {\n\"sessionId\" : \"s1\" ,\t\"serviceCode\":\"*2233#\",\r\n\"phoneNumber\":\"+254700000001\",\"text\":\"\" }\n", want},
		{"other order", jsonType, `{"text":"","phoneNumber":"+254700000001","sessionId":"s1","serviceCode":"*2233#"}`, want},
		{"charset", "application/json; charset=UTF-8", body("", ""), want},
		{"upper-case type", "Application/JSON", body("", ""), want},
		{"suffix type", "application/vnd.x+json", body("", ""), want},
		{"more members", jsonType, `{"networkCode":"63902","extra":{"a":[1]},` + body("", "")[1:], want},
		{"escapes", jsonType, body("sessionId", `"\u0073\u0031"`), want},
		{"number", jsonType, body("text", `5`), with(func(r *wire.Request) { r.Text = "5" })},
		{"accumulated", jsonType, body("text", `"1*2*3"`), with(func(r *wire.Request) { r.Text = "1*2*3" })},
		{"two groups", jsonType, body("serviceCode", `"*384*96#"`), with(func(r *wire.Request) { r.ServiceCode = "*384*96#" })},
		{"trimmed", jsonType, body("text", `"  Amina  Odhiambo "`), with(func(r *wire.Request) { r.Text = "Amina  Odhiambo" })},
		{"trimmed wide", jsonType, body("text", `"\u00a0Amina\u2003"`), with(func(r *wire.Request) { r.Text = "Amina" })},
		{"NFC", jsonType, body("text", `"Jose\u0301"`), with(func(r *wire.Request) { r.Text = "José" })},
		{"name", jsonType, body("text", `"1*Ng'ang'a-Müller Ọlá"`), with(func(r *wire.Request) { r.Text = "1*Ng'ang'a-Müller Ọlá" })},
		{"182 wide characters", jsonType, body("text", `"`+strings.Repeat("ŋ", 182)+`"`), with(func(r *wire.Request) { r.Text = strings.Repeat("ŋ", 182) })},
		{"100 wide characters", jsonType, body("sessionId", `"`+strings.Repeat("é", 100)+`"`), with(func(r *wire.Request) { r.SessionID = strings.Repeat("é", 100) })},
		{"session of a gateway", jsonType, body("sessionId", `"ATUid_a:b.c/1 2"`), with(func(r *wire.Request) { r.SessionID = "ATUid_a:b.c/1 2" })},
		{"code as first input", jsonType, body("text", `"*2233#"`), want},
		{"form", formType, "sessionId=s1&serviceCode=%2A2233%23&phoneNumber=%2B254700000001&text=", want},
		{"form of a tired script", formType, "sessionId=s1&serviceCode=*2233%23&phoneNumber=+254700000001&text=", want},
		{
			"form of Africa's Talking", formType, "sessionId=s1&networkCode=63902&serviceCode=*2233%23&phoneNumber=%2B254700000001&text=1*2",
			with(func(r *wire.Request) { r.Text, r.Mode = "1*2", wire.Accumulated }),
		},
		{"form with a charset", formType + "; charset=utf-8", "sessionId=s1&serviceCode=*2233%23&phoneNumber=%2B254700000001&text=Jos%C3%A9", with(func(r *wire.Request) { r.Text = "José" })},
		{"long number", jsonType, body("phoneNumber", `"+123456789012345"`), with(func(r *wire.Request) { r.Phone = "+123456789012345" })},
		{"short number", jsonType, body("phoneNumber", `"+12345678"`), with(func(r *wire.Request) { r.Phone = "+12345678" })},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := read(tt.contentType, tt.body)
			if err != nil || !same(got, tt.want) {
				t.Errorf("Read() = %+v, %v, want %+v", got, err, tt.want)
			}
		})
	}
}

func same(a, b wire.Request) bool {
	return a.Gateway == b.Gateway && a.SessionID == b.SessionID && a.ServiceCode == b.ServiceCode && a.Phone == b.Phone &&
		a.Text == b.Text && a.Kind == b.Kind && a.Mode == b.Mode
}

// badBodies are JSON bodies that must be refused.
func badBodies() map[string]string {
	out := map[string]string{
		"nothing": "", "space": " \n", "word": "hello", "null": "null", "list": "[]", "string": `"a"`, "empty object": "{}",
		"cut": body("", "")[:40], "trailing": body("", "") + "{}", "trailing word": body("", "") + " x",
		"comma": strings.Replace(body("", ""), "}", ",}", 1), "single quotes": strings.ReplaceAll(body("", ""), `"`, "'"),
		"twice":                  `{"text":"1",` + body("", "")[1:],
		"wrong case":             `{"Text":"1",` + body("", "")[1:],
		"deep":                   `{"x":` + strings.Repeat("[", 40) + strings.Repeat("]", 40) + `,` + body("", "")[1:],
		"invalid UTF-8":          body("text", "\"\xff\""),
		"overlong UTF-8":         body("text", "\"\xc0\xaf\""),
		"half of a pair":         body("text", `"\ud800"`),
		"NUL":                    body("text", `"\u0000"`),
		"comment":                "/* */" + body("", ""),
		"byte order mark":        "\ufeff" + body("", ""),
		"text absent":            body("text", ""),
		"session absent":         body("sessionId", ""),
		"code absent":            body("serviceCode", ""),
		"phone absent":           body("phoneNumber", ""),
		"183 characters":         body("text", `"`+strings.Repeat("1", 183)+`"`),
		"183 wide characters":    body("text", `"`+strings.Repeat("ŋ", 183)+`"`),
		"183 with spaces":        body("text", `"`+strings.Repeat(" ", 183)+`"`),
		"101 of session":         body("sessionId", `"`+strings.Repeat("a", 101)+`"`),
		"101 wide of session":    body("sessionId", `"`+strings.Repeat("é", 101)+`"`),
		"blank session":          body("sessionId", `"   "`),
		"session of wide spaces": body("sessionId", `"\u2003\u00a0"`),
	}
	for _, v := range []string{"null", "true", "{}", "[]", `["1"]`} {
		out["text "+v] = body("text", v)
	}
	for _, v := range []string{`""`, "1", "null", "{}"} {
		out["session "+v] = body("sessionId", v)
	}
	for _, v := range []string{
		"", "254700000001", "0700000001", "+0700000001", "+1234567", "+1234567890123456", "+2547000 00001", " +254700000001",
		"+254700000001 ", "+25470000000a", "++25470000001", "+", "+٢٥٤٧٠٠٠٠٠٠٠١", "tel:+254700000001",
	} {
		out["phone "+v] = body("phoneNumber", `"`+v+`"`)
	}
	for _, v := range []string{
		"", "*", "#", "*#", "**#", "2233", "*2233", "2233#", "*2233##", "**2233#", "*2233*#", "*22*33*44#", "*22a#", " *2233#", "*2233# ", "*22 33#",
		"*٢٢#", "*" + strings.Repeat("1", 200) + "#",
	} {
		out["code "+v] = body("serviceCode", `"`+v+`"`)
	}
	for _, c := range []string{
		`\n`, `\r`, `\t`, `\u0007`, `\u001b`, `\u007f`, `\u0085`, `\u009f`, `\u061c`, `\u200e`, `\u200f`, `\u202a`, `\u202e`, `\u2066`, `\u2069`,
		`\u2028`, `\u2029`, `\ufeff`, `\ufff9`, `\ufdd0`, `\uffff`, `\udb40\udc41`,
	} {
		out["text with "+c] = body("text", `"1`+c+`2"`)
		out["text at the end "+c] = body("text", `"1`+c+`"`)
		out["session with "+c] = body("sessionId", `"a`+c+`b"`)
	}
	return out
}

func TestReadBad(t *testing.T) {
	t.Parallel()
	for name, body := range badBodies() {
		got, err := read(jsonType, body)
		if fault.KindOf(err) != fault.Invalid || fault.CodeOf(err) != "USSD_INVALID_INPUT" {
			t.Errorf("%s: Read(%q) = %+v, %v, want one invalid fault", name, body, got, err)
		}
	}
	_, err := read(jsonType, body("phoneNumber", `"0712345678"`))
	if f := fault.As(err); f == nil || !strings.Contains(f.Fields[0].Detail, "numbers.country") {
		t.Errorf("a local number = %v, want what to do about it", err)
	}
	form := "sessionId=s1&serviceCode=*2233%23&phoneNumber=%2B254700000001&text="
	for name, c := range map[string][2]string{
		"no type":          {"", body("", "")},
		"text":             {"text/plain", body("", "")},
		"XML":              {"application/xml", "<a/>"},
		"multipart":        {"multipart/form-data; boundary=x", "--x--"},
		"broken type":      {"application/json; charset", body("", "")},
		"latin-1":          {"application/json; charset=iso-8859-1", body("", "")},
		"form as JSON":     {jsonType, form},
		"JSON as form":     {formType, body("", "")},
		"empty form":       {formType, ""},
		"bad escape":       {formType, form + "%zz"},
		"half an escape":   {formType, form + "%4"},
		"twice in a form":  {formType, form + "&text=1"},
		"form bad UTF-8":   {formType, form + "%ff"},
		"form control":     {formType, form + "%0a"},
		"form without":     {formType, "sessionId=s1&serviceCode=*2233%23&phoneNumber=%2B254700000001"},
		"form no plus":     {formType, "sessionId=s1&serviceCode=*2233%23&phoneNumber=254700000001&text="},
		"form two spaces":  {formType, "sessionId=s1&serviceCode=*2233%23&phoneNumber=++254700000001&text="},
		"two content type": {"application/json, application/json", body("", "")},
	} {
		got, err := read(c[0], c[1])
		if fault.KindOf(err) != fault.Invalid {
			t.Errorf("%s: Read() = %+v, %v, want invalid", name, got, err)
		}
	}
	r := httptest.NewRequest("GET", "/api/ussd?"+form, nil)
	if _, err := wire.Read(r, nil, nil); fault.KindOf(err) != fault.Invalid {
		t.Errorf("Read() of a GET = %v, want invalid", err)
	}
}

// No fault repeats what was sent: it may be a PIN.
func TestFaultHidesValue(t *testing.T) {
	t.Parallel()
	for _, b := range []string{body("text", `"48213\n"`), body("sessionId", `"48213\t"`), body("phoneNumber", `"48213"`), body("serviceCode", `"48213"`), `{"text":48213`} {
		_, err := read(jsonType, b)
		if f := fault.As(err); f == nil || strings.Contains(f.Error(), "48213") || len(f.Fields) == 0 || strings.Contains(f.Fields[0].Detail, "48213") {
			t.Errorf("Read(%s) = %v, want a fault without the value", b, err)
		}
	}
}

func TestClean(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		in, want string
		ok       bool
	}{
		{"", "", true},
		{"  ", "", true},
		{"a b", "a b", true},
		{"O'Brien", "O'Brien", true},
		{"O’Brien", "O’Brien", true},
		{"Anne-Marie", "Anne-Marie", true},
		{"é", "é", true},
		{"\u00a0x\u3000", "x", true},
		{"\u200dx", "\u200dx", true},
		{"عائشة", "عائشة", true},
		{"a\u202eb", "", false},
		{"a\x00", "", false},
		{"\xff", "", false},
		{"\u2028", "", false},
		{"😀", "😀", true},
	} {
		if got, ok := wire.Clean(tt.in); got != tt.want || ok != tt.ok {
			t.Errorf("Clean(%q) = %q, %v, want %q, %v", tt.in, got, ok, tt.want, tt.ok)
		}
	}
}
