package hostile_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
)

// raw is a request written by hand, and the statuses it may get. 0 is a closed
// connection without an answer. %KEY is the owner key.
type raw struct {
	name string
	text string
	want []int
}

const (
	start = "GET /v1/api-keys/current HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %KEY\r\n"
	draft = "POST /v1/api-keys HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %KEY\r\nContent-Type: application/json\r\n"
	body  = `{"name":"wire","scopes":["events:read"]}` // 40 bytes
)

// malformed are requests that are no HTTP, or HTTP of a kind that has split
// and smuggled requests elsewhere.
func malformed() []raw {
	bad := []int{400}
	gone := []int{0, 400}
	return []raw{
		{"good", start + "\r\n", []int{200}},
		{"good post", draft + "Content-Length: 40\r\n\r\n" + body, []int{201}},
		{"no host", "GET / HTTP/1.1\r\n\r\n", bad},
		{"two hosts", "GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", bad},
		{"bad host", "GET / HTTP/1.1\r\nHost: a b\r\n\r\n", bad},
		{"no version", "GET /\r\n\r\n", bad},
		{"version 9", "GET / HTTP/9.9\r\nHost: x\r\n\r\n", []int{400, 505}},
		{"version 0.9", "GET / HTTP/0.9\r\nHost: x\r\n\r\n", []int{400, 505}},
		{"lower-case protocol", "GET / http/1.1\r\nHost: x\r\n\r\n", bad},
		{"garbage", "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n", gone},
		{"only newlines", "\r\n\r\n\r\n\r\n", gone},
		{"HTTP/2 preface", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", []int{0, 400, 404, 405, 505}},
		{"space in the path", "GET /a b HTTP/1.1\r\nHost: x\r\n\r\n", bad},
		{"control character in the path", "GET /a\x01b HTTP/1.1\r\nHost: x\r\n\r\n", bad},
		{"NUL in the path", "GET /a\x00b HTTP/1.1\r\nHost: x\r\n\r\n", bad},
		{"bad escape", "GET /%zz HTTP/1.1\r\nHost: x\r\n\r\n", bad},
		{"path without slash", "GET v1 HTTP/1.1\r\nHost: x\r\n\r\n", []int{400, 404}},
		{"space before the colon", start + "X-A : 1\r\n\r\n", bad},
		{"folded header", start + "X-A: 1\r\n 2\r\n\r\n", []int{200, 400}},
		{"header without a name", start + ": 1\r\n\r\n", bad},
		{"header without a colon", start + "nonsense\r\n\r\n", bad},
		{"NUL in a header", start + "X-A: a\x00b\r\n\r\n", bad},
		{"lone CR in a header", start + "X-A: a\rX-B: b\r\n\r\n", bad},
		{"lone LF as line end", "GET / HTTP/1.1\nHost: x\n\n", []int{200, 400}},
		{"CRLF in a request id", start + "X-Request-Id: a\r\nX-Evil: b\r\n\r\n", []int{200}},
		{"bytes that are no text in a request id", start + "X-Request-Id: \xff\xfe\r\n\r\n", []int{200, 400}},
		{"two lengths that differ", draft + "Content-Length: 40\r\nContent-Length: 41\r\n\r\n" + body, bad},
		{"two lengths in one line", draft + "Content-Length: 40, 41\r\n\r\n" + body, bad},
		{"negative length", draft + "Content-Length: -1\r\n\r\n", bad},
		{"length with a sign", draft + "Content-Length: +40\r\n\r\n" + body, bad},
		{"hexadecimal length", draft + "Content-Length: 0x28\r\n\r\n" + body, bad},
		{"length that is no number", draft + "Content-Length: forty\r\n\r\n" + body, bad},
		{"length past all numbers", draft + "Content-Length: 99999999999999999999\r\n\r\n" + body, bad},
		{"huge length", draft + "Content-Length: 1000000000000\r\n\r\n" + body, []int{413}},
		{"length and chunks", draft + "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n28\r\n" + body + "\r\n0\r\n\r\n", []int{201, 400}},
		{"unknown transfer coding", draft + "Transfer-Encoding: gzip\r\n\r\n", []int{400, 501}},
		{"transfer coding in disguise", draft + "Transfer-Encoding: xchunked\r\n\r\n28\r\n" + body + "\r\n0\r\n\r\n", []int{400, 501}},
		{"transfer coding with a tab", draft + "Transfer-Encoding:\tchunked\r\nContent-Length: 40\r\n\r\n" + body + "\r\n\r\n", []int{400, 501}},
		{"transfer coding twice", draft + "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n0\r\n\r\n", []int{400, 501}},
		{"chunks with a bad size", draft + "Transfer-Encoding: chunked\r\n\r\nzz\r\n" + body + "\r\n0\r\n\r\n", bad},
		{"chunks with a negative size", draft + "Transfer-Encoding: chunked\r\n\r\n-5\r\n" + body + "\r\n0\r\n\r\n", bad},
		{"chunks with a huge size", draft + "Transfer-Encoding: chunked\r\n\r\nffffffffffffffffff\r\n" + body, bad},
		{"chunks in HTTP/1.0", strings.Replace(draft, "1.1", "1.0", 1) + "Transfer-Encoding: chunked\r\n\r\n28\r\n" + body + "\r\n0\r\n\r\n", []int{201, 400, 501}},
		{"expects nonsense", draft + "Expect: 200-maybe\r\nContent-Length: 40\r\n\r\n" + body, []int{201, 417}},
		{"huge header", start + "X-A: " + strings.Repeat("a", 1<<20) + "\r\n\r\n", []int{431}},
		{"huge path", "GET /" + strings.Repeat("a", 1<<20) + " HTTP/1.1\r\nHost: x\r\n\r\n", []int{431}},
		{"very many headers", start + strings.Repeat("X-A: b\r\n", 200_000) + "\r\n", []int{431}},
		{"many headers", start + strings.Repeat("X-A: b\r\n", 500) + "\r\n", []int{200}},
		{"long key", "GET /v1/api-keys/current HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer " + strings.Repeat("k", 20_000) + "\r\n\r\n", []int{401}},
		{"two keys", start + "Authorization: Bearer other\r\n\r\n", []int{200, 400, 401}},
	}
}

// TestMalformedHTTP sends them over sockets. Those that net/http refuses by
// itself have no request id; all others have one.
func TestMalformedHTTP(t *testing.T) {
	t.Parallel()
	g := aim(t)
	for _, r := range malformed() {
		got, header, err := g.wire(strings.ReplaceAll(r.text, "%KEY", g.Key))
		if err != nil {
			t.Errorf("%s: %v", r.name, err)
			continue
		}
		if !slices.Contains(r.want, got) {
			t.Errorf("%s: status %d, want one of %v", r.name, got, r.want)
		}
		if got != 0 && header.Get("X-Request-Id") == "" && !ownRefusal(header) {
			t.Errorf("%s: status %d without X-Request-Id: %v", r.name, got, header)
		}
		if header.Get("X-Evil") != "" {
			t.Errorf("%s: a header came back from a request id", r.name)
		}
	}
}

// TestLargeRefusals sends bodies whole, before anything is read, to routes that
// refuse them unread: the answer is there all the same.
func TestLargeRefusals(t *testing.T) {
	t.Parallel()
	g := aim(t)
	large := "Content-Type: application/json\r\nContent-Length: 10485760\r\n\r\n" + strings.Repeat(" ", 10<<20)
	for _, tt := range []struct {
		path, auth string
		want       int
	}{
		{"/v1/api-keys", "", 401},
		{"/v1/entities", "Authorization: Bearer hearth_wrong\r\n", 401},
		{"/v1/imports?type=Household", "Authorization: Bearer hearth_wrong\r\n", 401},
		{"/sessions", "", 401},
		{"/v1/nowhere", "Authorization: Bearer " + g.Key + "\r\n", 404},
	} {
		// Many clients give up when they cannot send all of it, so wire will not do.
		c, err := net.Dial("tcp", strings.TrimPrefix(g.URL, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(c, "POST "+tt.path+" HTTP/1.1\r\nHost: x\r\n"+tt.auth+large); err != nil {
			t.Errorf("10 MiB to %s: sent in part: %v", tt.path, err)
		} else if res, err := http.ReadResponse(bufio.NewReader(c), nil); err != nil || res.StatusCode != tt.want {
			t.Errorf("10 MiB to %s = %v (%v), want %d", tt.path, res, err, tt.want)
		}
		_ = c.Close()
	}
}

// ownRefusal reports whether net/http answered before any handler ran.
func ownRefusal(h http.Header) bool {
	return h.Get("Connection") == "close" && h.Get("Content-Security-Policy") == ""
}

// wire sends bytes on a connection of its own and reads the first answer.
func (g *target) wire(text string) (status int, header http.Header, err error) {
	c, err := net.Dial("tcp", strings.TrimPrefix(g.URL, "http://"))
	if err != nil {
		return 0, nil, err
	}
	defer c.Close()
	if err := c.SetDeadline(time.Now().Add(maxAnswer)); err != nil {
		return 0, nil, err
	}
	// The server may answer and close before all is written.
	_, werr := io.WriteString(c, text)
	res, err := http.ReadResponse(bufio.NewReader(c), nil)
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		return 0, nil, fmt.Errorf("no answer within %s", maxAnswer)
	case err != nil && werr == nil && !closed(err):
		return 0, nil, err
	case err != nil:
		return 0, http.Header{}, nil
	}
	defer res.Body.Close()
	if res.Close { // ReadResponse has taken the header away
		res.Header.Set("Connection", "close")
	}
	return res.StatusCode, res.Header, nil
}

func closed(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || strings.Contains(err.Error(), "reset")
}

// TestPaths tries other spellings of paths without a key. None may reach
// anything, be it by a redirect.
func TestPaths(t *testing.T) {
	t.Parallel()
	g := aim(t)
	for _, path := range []string{
		"//v1/api-keys", "/v1//api-keys", "/v1/./api-keys", "/./v1/api-keys", "/v1/api-keys/.", "/docs/../v1/api-keys", "/v1/x/../api-keys", "/%2e/v1/api-keys", "/docs/%2e%2e/v1/api-keys",
		"/docs/%2E%2E%2Fv1%2Fapi-keys", "/docs/..%2f..%2fetc%2fpasswd", "/docs/%2e%2e/%2e%2e/%2e%2e/etc/passwd", "/docs/....//etc/passwd", "/docs/%252e%252e/x", "/docs/..%5c..%5cx", "/docs/%00", "/docs/.git/config",
		"/V1/API-KEYS", "/v1/Api-Keys", "/v1/api-keys/", "/v1/api-keys%00", "/v1/api-keys%20", "/v1/api-keys;a=b", "/v1/api%2dkeys", "/%76%31/api-keys", "/v1/api-keys/current/", "/v1/api-keys/current%2f", "/v1\\api-keys", "/v1/api-keys/%2e%2e/webhooks",
		"/v1/", "/api", "/api/", "/metrics/", "/METRICS", "//metrics", "/metrics%00", "/debug/pprof/", "/debug/vars", "/.env", "/server.key", "/hearth.db", "/wp-login.php", "/favicon.ico", "/robots.txt", "/v1/../../hearth.db",
	} {
		req := g.request(t, "GET", path, nil)
		req.Header.Del("Authorization")
		// Operators' routes are open to the machine itself, not past a proxy.
		req.Header.Set("X-Forwarded-For", "203.0.113.9")
		a, err := g.fire(req, nil)
		if err != nil {
			t.Errorf("%s: %v", path, err)
			continue
		}
		if a.status < 400 && !strings.HasPrefix(path, "/docs/") || a.status >= 300 && a.status < 400 {
			t.Errorf("%s: status %d %.100s, want it refused", path, a.status, a.body)
		}
		if strings.Contains(string(a.body), "root:") {
			t.Errorf("%s: a file of the machine came back", path)
		}
	}
}

// TestMethods tries methods no route has.
func TestMethods(t *testing.T) {
	t.Parallel()
	g := aim(t)
	for _, method := range []string{"TRACE", "PROPFIND", "PUT", "PATCH", "LINK", "get", "G", "X-Y!", "OPTIONS", "SEARCH", "DELETE", strings.Repeat("A", 2000)} {
		a, err := g.fire(g.request(t, method, "/v1/api-keys", nil), nil)
		if err != nil {
			t.Errorf("%.20s: %v", method, err)
			continue
		}
		if method != "OPTIONS" && a.status < 400 {
			t.Errorf("%.20s: status %d, want it refused", method, a.status)
		}
		if a.status == http.StatusMethodNotAllowed && a.header.Get("Allow") == "" {
			t.Errorf("%.20s: 405 without Allow", method)
		}
	}
	id := g.create(t, "/v1/api-keys", body, "id")
	req := g.request(t, "POST", "/v1/api-keys/"+id, []byte(`{}`))
	req.Header.Set("X-HTTP-Method-Override", "DELETE")
	if _, err := g.fire(req, nil); err != nil {
		t.Error(err)
	}
	if a, err := g.fire(g.request(t, "GET", "/v1/api-keys/"+id, nil), nil); err != nil || !strings.Contains(string(a.body), `"active"`) {
		t.Errorf("after a method in a header: %+v, %v; want the key active", a, err)
	}
}
