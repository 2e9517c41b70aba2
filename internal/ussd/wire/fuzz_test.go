package wire_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
	"golang.org/x/text/unicode/norm"

	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/ussd/wire"
)

var (
	phoneRule = regexp.MustCompile(`^\+[1-9][0-9]{7,14}$`)
	codeRule  = regexp.MustCompile(`^\*[0-9]+(\*[0-9]+)?#$`)
	anyCode   = regexp.MustCompile(`^\*[0-9]+(\*[0-9]+)*#$`)
)

// broken says which promise of a read request does not hold.
func broken(q wire.Request, code *regexp.Regexp, maxText int) string {
	switch {
	case !phoneRule.MatchString(q.Phone):
		return "phone"
	case !code.MatchString(q.ServiceCode):
		return "code"
	case q.SessionID == "" || utf8.RuneCountInString(q.SessionID) > 3*wire.MaxSessionID:
		return "length of the session id"
	case utf8.RuneCountInString(q.Text) > 3*maxText: // NFC makes three of a few characters
		return "length of the text"
	}
	for _, s := range []string{q.SessionID, q.Text} {
		if !utf8.ValidString(s) || !norm.NFC.IsNormalString(s) || s != strings.TrimSpace(s) || strings.ContainsFunc(s, unicode.IsControl) {
			return "characters"
		}
		if strings.ContainsAny(s, "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u200e\u200f\u061c") {
			return "direction"
		}
	}
	return ""
}

func FuzzRead(f *testing.F) {
	for _, b := range badBodies() {
		f.Add(jsonType, []byte(b))
	}
	f.Add(jsonType, []byte(body("", "")))
	f.Add(jsonType, []byte(body("text", `"1*Ng'ang'a"`)))
	f.Add(formType, []byte("sessionId=s1&serviceCode=*2233%23&phoneNumber=%2B254700000001&text=1*2&networkCode=1"))
	f.Fuzz(func(t *testing.T, contentType string, b []byte) {
		r := &http.Request{Method: "POST", Header: http.Header{"Content-Type": {contentType}}}
		q, err := wire.Read(r, b, nil)
		if err != nil {
			if fault.KindOf(err) != fault.Invalid {
				t.Fatalf("Read() = %v, want an invalid fault", err)
			}
			return
		}
		if what := broken(q, codeRule, wire.MaxText); what != "" {
			t.Fatalf("Read(%q) = %+v: %s", b, q, what)
		}
		// What the quick reader took must be what the strict one takes: a
		// member it does not know sends the same body the other way.
		if contentType == jsonType {
			strict := append([]byte(`{"zz":0,`), strings.TrimLeft(string(b), " \r\n\t{")...)
			if again, err := wire.Read(r, strict, nil); err == nil && !same(q, again) {
				t.Fatalf("Read(%q) = %+v, strictly %+v", b, q, again)
			}
		}
	})
}

func FuzzGateways(f *testing.F) {
	set, err := wire.Open("")
	if err != nil {
		f.Fatal(err)
	}
	f.Add("hubtel", []byte(`{"Type":"Initiation","Message":"*713*1#","ServiceCode":"713","Mobile":"233200000001","SessionId":"a"}`), "")
	f.Add("nalo", []byte(`{"USERID":"x","MSISDN":"233200000001","USERDATA":"*920#","MSGTYPE":true}`), "")
	f.Add("get", []byte(nil), "session_id=1&mobile_number=254700000001&message=1&service_code=384")
	f.Add("africastalking", []byte("sessionId=s1&serviceCode=*2233%23&phoneNumber=%2B254700000001&text=1*2&status=Success"), "")
	f.Fuzz(func(t *testing.T, name string, b []byte, query string) {
		g := set.Get(name)
		if g == nil || name == "" {
			return
		}
		for _, r := range []*http.Request{
			{Method: "GET", URL: httptest.NewRequest("GET", "/", nil).URL},
			{Method: "POST", Header: http.Header{"Content-Type": {jsonType}}, URL: httptest.NewRequest("GET", "/", nil).URL},
			{Method: "POST", Header: http.Header{"Content-Type": {formType}}, URL: httptest.NewRequest("GET", "/", nil).URL},
		} {
			r.URL.RawQuery = query
			if q, err := wire.Read(r, b, g); err == nil {
				if what := broken(q, anyCode, g.MaxText); what != "" {
					t.Fatalf("Read(%q, %q) = %+v: %s", b, query, q, what)
				}
				checkAnswer(t, g, q)
			}
			if e, err := wire.ReadEvent(r, b, g); err == nil && (e.SessionID == "" || e.Duration < 0 || e.Hops < 0) {
				t.Fatalf("ReadEvent(%q) = %+v", b, e)
			}
		}
	})
}

// checkAnswer wants framing or valid JSON of any answer.
func checkAnswer(t *testing.T, g *wire.Gateway, q wire.Request) {
	t.Helper()
	out := g.Append(nil, q, wire.Reply{Text: "a\n\"b\" \xff"})
	if strings.HasPrefix(g.ContentType(), jsonType) {
		d := jsontext.NewDecoder(strings.NewReader(string(out)))
		if _, err := d.ReadValue(); err != nil {
			t.Fatalf("answer %q: %v", out, err)
		}
		if _, err := d.ReadToken(); err != io.EOF {
			t.Fatalf("answer %q has more than one value", out)
		}
	} else if !strings.HasPrefix(string(out), "CON ") {
		t.Fatalf("answer %q has no framing", out)
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte("gateway: x\nrequest: {format: json, session: a, phone: b, code: c, text: d}\nreply: {format: text}\n"))
	f.Add([]byte("gateway: x\nreply: {format: json, continue: 1, end: 0, body: {a: \"{text}{next}\"}}\n---\ngateway: y\n"))
	f.Add([]byte("gateway: &a x\nrequest: {<<: *a, ? b : c}\nreply: !!str\n? [a]\n: b\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		list, err := wire.Parse("f", data)
		if err == nil && len(list) == 0 {
			t.Fatal("Parse() gave nothing and no problem")
		}
		if p, ok := err.(wire.Problems); err != nil && (!ok || len(p) == 0 || p[0].Line < 1) {
			t.Fatalf("Parse() = %v, want problems with places", err)
		}
	})
}

func BenchmarkRead(b *testing.B) {
	for name, c := range map[string][2]string{
		"json":   {jsonType, `{"sessionId":"ATUid_5b2f9c","serviceCode":"*2233#","phoneNumber":"+254700000001","text":"2*1*C1A2B3C4D"}`},
		"wide":   {jsonType, `{"sessionId":"ATUid_5b2f9c","serviceCode":"*2233#","phoneNumber":"+254700000001","text":"2*1*José"}`},
		"strict": {jsonType, `{"sessionId":"ATUid_5b2f9c","serviceCode":"*2233#","phoneNumber":"+254700000001","text":"2*1*Jos\u00e9"}`},
		"form":   {formType, "sessionId=ATUid_5b2f9c&serviceCode=*2233%23&phoneNumber=%2B254700000001&text=2*1*C1A2B3C4D&networkCode=63902"},
	} {
		b.Run(name, func(b *testing.B) {
			r := post(c[0], c[1])
			data := []byte(c[1])
			b.ReportAllocs()
			for b.Loop() {
				if _, err := wire.Read(r, data, nil); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkAppend(b *testing.B) {
	g := wire.Plain()
	dst := make([]byte, 0, 512)
	b.ReportAllocs()
	for b.Loop() {
		dst = g.Append(dst[:0], wire.Request{}, wire.Reply{Text: "Welcome to Hearth\n1. Know More\n2. Account Menu\n*. Exit"})
	}
}
