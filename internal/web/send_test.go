package web_test

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	"github.com/hearth-dmrv/hearth/internal/web"
)

var lines = strings.Repeat("did:ixo:household/1,Kitui,charcoal\n", 1000)

// sent is an answer with lines, to a request with some headers.
func sent(t *testing.T, method, media string, headers ...string) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequest(method, "/file", nil)
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	w.Header().Set("Content-Type", media)
	if err := web.SendContent(w, r, `"tag"`, strings.NewReader(lines)); err != nil {
		t.Fatal(err)
	}
	return w
}

func TestSendContent(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, media string
		headers     []string
		status      int
		body, etag  string
	}{
		{"all", "text/csv", nil, 200, lines, `"tag"`},
		{"a part", "text/csv", []string{"Range", "bytes=4-7"}, 206, "ixo:", `"tag"`},
		{"the rest", "text/csv", []string{"Range", "bytes=34990-", "If-Range", `"tag"`, "Accept-Encoding", "gzip"}, 206, lines[34990:], `"tag"`},
		{"of a packed one", "text/csv", []string{"Range", "bytes=34990-", "If-Range", `"tag-gzip"`}, 200, lines, `"tag"`},
		{"many parts", "text/csv", []string{"Range", "bytes=0-0,-1,0-0,-1"}, 200, lines, `"tag"`},
		{"past the end", "text/csv", []string{"Range", "bytes=99999-"}, 416, "invalid range: failed to overlap\n", `"tag"`},
		{"not changed", "text/csv", []string{"If-None-Match", `"tag"`}, 304, "", `"tag"`},
		{"packed not changed", "text/csv", []string{"If-None-Match", `"tag-gzip"`, "Accept-Encoding", "gzip"}, 304, "", `"tag-gzip"`},
		{"a picture", "image/jpeg", []string{"Accept-Encoding", "gzip"}, 200, lines, `"tag"`},
	} {
		w := sent(t, "GET", tt.media, tt.headers...)
		if w.Code != tt.status || w.Body.String() != tt.body || w.Header().Get("ETag") != tt.etag && tt.status != 416 || w.Header().Get("Content-Encoding") != "" {
			t.Errorf("%s: %d with %d bytes, %v", tt.name, w.Code, w.Body.Len(), w.Header())
		}
	}
	head := sent(t, "HEAD", "text/csv", "Accept-Encoding", "gzip")
	if head.Body.Len() > 0 || head.Header().Get("Content-Length") != strconv.Itoa(len(lines)) || head.Header().Get("Accept-Ranges") != "bytes" {
		t.Errorf("HEAD: %v", head.Header())
	}
	w := sent(t, "GET", "text/csv", "Accept-Encoding", "br, gzip;q=0.5")
	z, err := gzip.NewReader(w.Body)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := io.ReadAll(z); err != nil || string(got) != lines || w.Header().Get("Content-Encoding") != "gzip" || w.Header().Get("Vary") != "Accept-Encoding" {
		t.Errorf("packed: %d bytes, %v, %v", len(got), err, w.Header())
	}
}

// broken cannot be read from a place on.
type broken struct {
	*bytes.Reader
	from int64
}

func (b broken) ReadAt(p []byte, off int64) (int, error) {
	if off >= b.from {
		return 0, errors.New("the disk is gone")
	}
	return b.Reader.ReadAt(p[:min(int64(len(p)), b.from-off)], off)
}

// TestSendBroken: what cannot be read at all is an error before the headers are
// sent, and what breaks off is told too.
func TestSendBroken(t *testing.T) {
	t.Parallel()
	for from, status := range map[int64]int{0: 0, 5000: 200} {
		w := httptest.NewRecorder()
		w.Code = 0
		err := web.SendContent(w, httptest.NewRequest("GET", "/file", nil), `"tag"`, broken{bytes.NewReader([]byte(lines)), from})
		if err == nil || w.Code != status {
			t.Errorf("broken at %d: %d, %v", from, w.Code, err)
		}
	}
}

func TestPacked(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		accepts string
		body    string
		packed  bool
	}{
		{"gzip", lines, true},
		{"GZIP ; q=0.1, br", lines, true},
		{"gzip;q=0", lines, false},
		{"gzip;q=0.0", lines, false},
		{"br", lines, false},
		{"", lines, false},
		{"gzip", lines[:8191], false},
	} {
		r := httptest.NewRequest("GET", "/", nil)
		r.Header.Set("Accept-Encoding", tt.accepts)
		h := http.Header{}
		got := web.Packed(h, r, []byte(tt.body))
		if (len(got) < len(tt.body)) != tt.packed || (h.Get("Content-Encoding") == "gzip") != tt.packed {
			t.Errorf("%q: %d of %d bytes, %v", tt.accepts, len(got), len(tt.body), h)
		}
	}
}
