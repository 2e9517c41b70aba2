package hostile_test

import (
	"flag"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
)

// nasty are strings that have broken programs before.
func nasty() []string {
	list := []string{
		"", " ", "\t", "\n", "\r\n", "\u00a0", "\u200b", "\ufeff", "\u2028", "\x00", "a\x00b", "\x01", "\x1b[31m", "\x7f", "\u0085",
		"null", "NULL", "undefined", "true", "false", "None", "nil", "NaN", "Infinity", "-0", "0", "1", "-1", "00", "1e309", "0x0", "1.7976931348623157e309",
		"2147483648", "9223372036854775808", "-9223372036854775809", "18446744073709551616", strings.Repeat("9", 400), "١٢٣", "１２３", "1/0", "1,5",
		"' OR '1'='1", "'; DROP TABLE keys; --", `" OR ""="`, "1; SELECT pg_sleep(5)", "' UNION SELECT * FROM sqlite_master --", "%' OR 1=1 --", "\\'", "$1", "?1", ":name", "%", "_", "%%", "*", "x'00'",
		"<script>alert(1)</script>", "<img src=x onerror=alert(1)>", "\"><svg/onload=1>", "javascript:alert(1)", "&lt;b&gt;", "<!--", "]]>", "<?php ?>", "<!DOCTYPE x [<!ENTITY y SYSTEM \"file:///etc/passwd\">]>",
		"../../etc/passwd", "..\\..\\windows\\win.ini", "....//....//", "/etc/passwd", "file:///etc/passwd", "C:\\con\\con", "CON", "NUL", "~", ".", "..", "./", ".git/config", "%2e%2e%2f", "%00", "%0d%0aSet-Cookie: x=1", "..%c0%af", "a/b", "a//b", "a;b", "a?b", "a#b", "%zz",
		"{{7*7}}", "${7*7}", "${jndi:ldap://127.0.0.1/a}", "#{7*7}", "<%= 7*7 %>", "$(touch x)", "`id`", "| id", "; id", "&& id", "%s%s%s%n", "%x", "%!d(string=1)", "{0}", "${HOME}",
		"=1+1", "@SUM(1)", "+1", "-1+1|x", "\t=1", "{\"a\":1}", "[1]", "\"", "'", "\\", "\\u0000", "\\", "//", "--", "#", "/*",
		"é", "e\u0301", "ﬁ", "ß", "İ", "ı", "K", "Å", "한글", "田中さん", "الله", "עברית", "ไทย", "हिन्दी", "𝕳𝖊𝖆𝖗𝖙𝖍", "👩‍👩‍👧‍👦", "🏴󠁧󠁢󠁥󠁮󠁧󠁿", "🇰🇪", "Z̡̢͙̮͔͍ͫͭ͐̌ä́͊l̛̟g̷o",
		"\u202eabc\u202c", "\u2066x\u2069", "\u061c", "\U000e0001", "\ue000", "\ufffe", "\uffff", "\U0010ffff", "\ufffd", "\u00ad", "\u034f", "\u180e",
		"did:ixo:entity:", "did:web:127.0.0.1", "http://169.254.169.254/latest", "http://localhost:1/", "https://user:pass@example.org/", "https://example.org:99999/", "https://[::1]/", "http://127.1/", "gopher://x", "data:text/html,x", "https://" + strings.Repeat("a", 300) + ".org/",
		"2026-02-30T00:00:00Z", "0000-00-00", "9999999-01-01T00:00:00Z", "now", "1970-01-01T00:00:60+99:99",
		"key_00000000-0000-0000-0000-000000000000", "W/\"1\"", "\"1\", \"2\"", "\"", "Bearer", "Basic Og==",
		"(((((((((((((((((((((((((((((a+)+)+)+)+)+$", strings.Repeat("a", 1000), strings.Repeat("é", 3000), strings.Repeat("../", 500), strings.Repeat("%41", 700),
	}
	return append(list, "\xff", "\xc0\xaf", "\xed\xa0\x80", "caf\xe9")
}

// shot is one request with a nasty string in one place.
type shot struct {
	o     *operation
	place string
	text  string
	req   *http.Request
}

// all is for a long run: go test ./test/hostile -args -all
var all = flag.Bool("all", false, "put every nasty string into every place")

// TestStrings puts nasty strings into every place the API document names: path
// segments, queries, headers and members of bodies. Each place gets a
// twelfth of them, and each of them a twelfth of the places; with -all it is
// all of both.
func TestStrings(t *testing.T) {
	t.Parallel()
	g := aim(t)
	g.slack += 50 // one for each webhook that is made on the way
	g.objects(t)
	var shots []shot
	for _, o := range g.operations(t) {
		for i, s := range nasty() {
			shots = append(shots, g.shots(t, o, s, i)...)
		}
	}
	volley(shots, func(s shot) {
		types := s.o.types
		if !strings.HasPrefix(s.req.URL.Path, "/v1/") && s.place == "path" {
			types = func(status int) []string { // it may be no route any more
				return append(slices.Clone(s.o.types(status)), "application/json")
			}
		}
		if _, err := g.fire(s.req, types); err != nil {
			t.Errorf("%s with %q in %s: %v", s.o, clip(s.text), s.place, err)
		}
	})
	t.Logf("%d strings, %d requests", len(nasty()), len(shots))
}

func clip(s string) string {
	if len(s) > 60 {
		return s[:60] + "…"
	}
	return s
}

// shots are the requests that carry s in an operation, at the places that are
// string i's turn.
func (g *target) shots(t *testing.T, o *operation, s string, i int) []shot {
	t.Helper()
	var out []shot
	places := 0
	add := func(place string, req func() *http.Request) {
		if *all || (i+places)%12 == 0 {
			out = append(out, shot{o, place, s, req()})
		}
		places++
	}
	for _, p := range o.Parameters {
		switch p.In {
		case "path":
			if seg := segment(s); seg != "" {
				add("path", func() *http.Request {
					return g.request(t, o.Method, strings.Replace(o.Path, "{"+p.Name+"}", seg, 1), g.example(t, o, nil))
				})
			}
		case "query":
			path := strings.NewReplacer("{id}", "none", "{file}", "none").Replace(o.Path)
			add("query "+p.Name, func() *http.Request {
				return g.request(t, o.Method, path+"?"+url.QueryEscape(p.Name)+"="+url.QueryEscape(s), g.example(t, o, nil))
			})
		case "header":
			if strings.ContainsAny(s, "\r\n\x00") {
				continue // the client would refuse; see the tests on raw sockets
			}
			if !sendable(s) {
				continue
			}
			add("header "+p.Name, func() *http.Request {
				req := g.request(t, o.Method, strings.Replace(o.Path, "{id}", "none", 1), g.example(t, o, nil))
				req.Header[p.Name] = []string{s}
				return req
			})
		}
	}
	if o.media() != "" {
		for _, m := range o.members() {
			add("member "+m, func() *http.Request {
				return g.request(t, o.Method, strings.Replace(o.Path, "{id}", "none", 1), g.example(t, o, map[string]any{m: s}))
			})
		}
	}
	return out
}

// segment writes s as one segment of a path. The empty one and the dots are
// other paths; they have a test of their own.
func segment(s string) string {
	if s == "" || s == "." || s == ".." {
		return ""
	}
	return url.PathEscape(s)
}

// sendable reports whether net/http sends s as the value of a header.
func sendable(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f })
}

// example is the documented body with some members replaced, nil when the
// operation has none.
func (g *target) example(t *testing.T, o *operation, with map[string]any) []byte {
	t.Helper()
	if o.media() == "" {
		return nil
	}
	body := o.body()
	if body == nil {
		body = map[string]any{}
	}
	for k, v := range with {
		body[k] = v
	}
	return encode(t, body)
}

// encode writes JSON even when a string in it is not UTF-8: that is sent as it
// is, byte for byte.
func encode(t *testing.T, v map[string]any) []byte {
	t.Helper()
	var b strings.Builder
	b.WriteByte('{')
	for name, val := range v {
		if b.Len() > 1 {
			b.WriteByte(',')
		}
		b.WriteString(`"` + name + `":`)
		if s, ok := val.(string); ok {
			b.WriteString(quote(s))
			continue
		}
		text, err := json.Marshal(val)
		if err != nil {
			t.Fatal(err)
		}
		b.Write(text)
	}
	return []byte(b.String() + "}")
}

// quote escapes what JSON wants escaped and leaves every other byte alone.
func quote(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for i := range len(s) {
		switch c := s[i]; {
		case c == '"' || c == '\\':
			b.Write([]byte{'\\', c})
		case c < ' ':
			b.WriteString(`\u00` + string("0123456789abcdef"[c>>4]) + string("0123456789abcdef"[c&15]))
		default:
			b.WriteByte(c)
		}
	}
	return b.String() + `"`
}

// TestReadBack stores every nasty string and reads it again: it comes back as
// it was, or it was refused.
func TestReadBack(t *testing.T) {
	t.Parallel()
	g := aim(t)
	stored := 0
	for _, s := range nasty() {
		for _, p := range []struct{ path, member, rest string }{
			{"/v1/api-keys", "name", `"scopes":["events:read"]`},
			{"/v1/webhooks", "description", `"url":"https://example.org/hook","events":["*"],"active":false`},
		} {
			body := `{` + p.rest + `,"` + p.member + `":` + quote(s) + `}`
			a, err := g.fire(g.request(t, "POST", p.path, []byte(body)), nil)
			switch {
			case err != nil:
				t.Errorf("store %q at %s: %v", clip(s), p.path, err)
			case a.status == http.StatusCreated:
				stored++
				g.sameText(t, a.header.Get("Location"), p.member, s)
			case problemCode(a) == "":
				t.Errorf("store %q at %s: %d without a code", clip(s), p.path, a.status)
			}
		}
	}
	if stored < 100 {
		t.Errorf("%d strings were stored, want most", stored)
	}
}

// sameText wants the member of a stored object to be s, and removes the
// object: some have a limit on their number.
func (g *target) sameText(t *testing.T, path, member, s string) {
	t.Helper()
	a, err := g.fire(g.request(t, "GET", path, nil), nil)
	if err != nil || a.status != http.StatusOK {
		t.Errorf("read %s back: %+v, %v", path, a, err)
		return
	}
	var got map[string]any
	if err := json.Unmarshal(a.body, &got); err != nil {
		t.Errorf("read %s back: %v", path, err)
	}
	if text, _ := got[member].(string); text != s {
		t.Errorf("%s of %s = %q, want %q", member, path, text, s)
	}
	req := g.request(t, "DELETE", path, nil)
	req.Header.Set("If-Match", a.header.Get("ETag"))
	if a, err := g.fire(req, nil); err != nil || a.status != http.StatusOK {
		t.Errorf("delete %s: %+v, %v; want 200", path, a, err)
	}
}
