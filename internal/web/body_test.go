package web_test

import (
	"fmt"
	"io"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// TestReadBody: bodies of a known length, of an unknown one, and those that
// are not as long as they say.
func TestReadBody(t *testing.T) {
	t.Parallel()
	const limit = 100_000
	long := strings.Repeat("x", limit)
	for _, tt := range []struct {
		name   string
		body   io.Reader
		length int64
		want   string
		code   string
	}{
		{"empty", strings.NewReader(""), 0, "", ""},
		{"known", strings.NewReader("four"), 4, "four", ""},
		{"byte by byte", iotest.OneByteReader(strings.NewReader("four")), 4, "four", ""},
		{"end with the data", iotest.DataErrReader(strings.NewReader("four")), 4, "four", ""},
		{"unknown", strings.NewReader("four"), -1, "four", ""},
		{"at the limit", strings.NewReader(long), limit, long, ""},
		{"says too much", strings.NewReader(long), limit + 1, "", "BODY_TOO_LARGE"},
		{"is too much", strings.NewReader(long + "x"), -1, "", "BODY_TOO_LARGE"},
		{"longer than it says", strings.NewReader("four"), 2, "", "BODY_UNREADABLE"},
		{"broken", iotest.ErrReader(io.ErrUnexpectedEOF), 4, "", "BODY_UNREADABLE"},
		{"late", iotest.ErrReader(fmt.Errorf("read: %w", os.ErrDeadlineExceeded)), 4, "", "BODY_TOO_SLOW"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := httptest.NewRequest("POST", "/", tt.body)
			r.ContentLength = tt.length
			got, err := web.ReadBody(httptest.NewRecorder(), r, limit)
			if string(got) != tt.want || fault.CodeOf(err) != tt.code {
				t.Errorf("ReadBody() = %d bytes, %v, want %d bytes, code %q", len(got), err, len(tt.want), tt.code)
			}
		})
	}
}
