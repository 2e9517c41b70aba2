package hostile_test

import (
	"bytes"
	"compress/gzip"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
)

// TestContentTypes sends a good body under other names.
func TestContentTypes(t *testing.T) {
	t.Parallel()
	g := aim(t)
	for _, tt := range []struct {
		kind string
		want []int
	}{
		{"application/json", []int{201}},
		{"application/json; charset=utf-8", []int{201}},
		{"APPLICATION/JSON", []int{201}},
		{"application/json; charset=utf-16", []int{201, 415}},
		{"text/plain", []int{415}},
		{"text/html", []int{415}},
		{"application/xml", []int{415}},
		{"application/x-www-form-urlencoded", []int{201}}, // what curl -d sends; the body is JSON all the same
		{"multipart/form-data; boundary=x", []int{415}},
		{"application/jsonx", []int{415}},
		{"application/json, text/plain", []int{400, 415}},
		{"json", []int{400, 415}},
		{"/", []int{400, 415}},
		{";;;", []int{400, 415}},
		{strings.Repeat("a/", 5000), []int{400, 415}},
	} {
		req := g.request(t, "POST", "/v1/api-keys", []byte(body))
		req.Header.Set("Content-Type", tt.kind)
		a, err := g.fire(req, nil)
		if err != nil {
			t.Errorf("%.40s: %v", tt.kind, err)
		} else if !slices.Contains(tt.want, a.status) {
			t.Errorf("%.40s: status %d %.200s, want one of %v", tt.kind, a.status, a.body, tt.want)
		}
	}
}

// bomb is n MB of spaces in gzip, layers deep. A gzip stream may be many in a
// row, so one is enough to make.
func bomb(t *testing.T, n, layers int) []byte {
	t.Helper()
	data := bytes.Repeat(pack(t, bytes.Repeat([]byte(" "), 1<<20)), n)
	for range layers - 1 {
		data = pack(t, data)
	}
	return data
}

func pack(t *testing.T, data []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	if _, err := w.Write(data); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// TestBombs sends bodies that are small on the wire and huge unpacked, and
// bodies past the limit. Memory stays where it is: see survived.
func TestBombs(t *testing.T) {
	t.Parallel()
	g := aim(t)
	big := bomb(t, 512, 1)
	nested := bomb(t, 512, 2)
	for _, tt := range []struct {
		name, coding string
		body         []byte
		want         []int
	}{
		{"gzip", "gzip", big, []int{400, 413, 415}},
		{"gzip twice", "gzip, gzip", nested, []int{400, 413, 415}},
		{"gzip that is none", "gzip", []byte(body), []int{400, 415}},
		{"deflate", "deflate", big, []int{400, 413, 415}},
		{"brotli", "br", big, []int{400, 413, 415}},
		{"unknown", "nonsense", []byte(body), []int{400, 415}},
		{"a coding with no name", " ", []byte(body), []int{201, 400, 415}},
		{"identity", "identity", []byte(body), []int{201, 415}},
		{"one byte past the limit", "", []byte(`{"name":"` + strings.Repeat("a", 1<<20) + `"}`), []int{413}},
		{"eight times the limit", "", bytes.Repeat([]byte(" "), 8<<20), []int{413}},
		{"a million members", "", []byte("{" + strings.Repeat(`"a":1,`, 170_000) + `"b":1}`), []int{400}},
		{"a long list", "", []byte(`{"name":"a","scopes":[` + strings.Repeat(`"events:read",`, 70_000) + `"events:read"]}`), []int{400}},
	} {
		for range 4 {
			req := g.request(t, "POST", "/v1/api-keys", tt.body)
			if tt.coding != "" {
				req.Header.Set("Content-Encoding", tt.coding)
			}
			a, err := g.fire(req, nil)
			if err != nil {
				t.Errorf("%s: %v", tt.name, err)
			} else if !slices.Contains(tt.want, a.status) {
				t.Errorf("%s: status %d %.200s, want one of %v", tt.name, a.status, a.body, tt.want)
			}
		}
	}
}

// endless is a body that never ends by itself.
type endless struct{ sent atomic.Int64 }

// Read gives spaces until the test has seen enough.
func (e *endless) Read(p []byte) (int, error) {
	if e.sent.Load() > 256<<20 {
		return 0, io.EOF
	}
	for i := range p {
		p[i] = ' '
	}
	e.sent.Add(int64(len(p)))
	return len(p), nil
}

// TestEndlessBody sends chunks without end. The server answers and hangs up.
func TestEndlessBody(t *testing.T) {
	t.Parallel()
	g := aim(t)
	src := &endless{}
	req, err := http.NewRequestWithContext(t.Context(), "POST", g.URL+"/v1/api-keys", src)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+g.Key)
	req.Header.Set("Content-Type", "application/json")
	res, err := g.c.Do(req)
	if err == nil {
		defer res.Body.Close()
		if res.StatusCode != http.StatusRequestEntityTooLarge {
			t.Errorf("status %d, want 413", res.StatusCode)
		}
	}
	if n := src.sent.Load(); n > 64<<20 {
		t.Errorf("the server took %d MB of a body, want it to hang up early", n>>20)
	}
}
