package web_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/hearth-dmrv/hearth/internal/web"
)

func TestRequestIDs(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		sent []string
		keep bool
	}{
		{"none", nil, false},
		{"good", []string{"abc-DEF_1.2"}, true},
		{"longest", []string{strings.Repeat("a", 128)}, true},
		{"too long", []string{strings.Repeat("a", 129)}, false},
		{"empty", []string{""}, false},
		{"line break", []string{"a\r\nSet-Cookie: x"}, false},
		{"space", []string{"a b"}, false},
		{"not ASCII", []string{"é"}, false},
		{"two", []string{"a", "b"}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var inside string
			h := web.WithRequestIDs(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				inside = web.RequestID(r.Context())
				http.Error(w, "no", http.StatusTeapot)
			}))
			r := httptest.NewRequest("GET", "/", nil)
			r.Header["X-Request-Id"] = tt.sent
			w := httptest.NewRecorder()
			h.ServeHTTP(w, r)
			got := w.Header().Get("X-Request-Id")
			if got != inside {
				t.Errorf("header %q, context %q, want them equal", got, inside)
			}
			if tt.keep {
				if got != tt.sent[0] {
					t.Errorf("id = %q, want the client's %q", got, tt.sent[0])
				}
				return
			}
			if id, err := uuid.Parse(got); err != nil || id.Version() != 7 {
				t.Errorf("id = %q, want a UUIDv7", got)
			}
		})
	}
}
