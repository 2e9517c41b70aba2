package web

import (
	"net/http"

	"github.com/google/uuid"
)

// requestIDHeader carries the name of a request both ways.
const requestIDHeader = "X-Request-Id"

// WithRequestIDs names every request. An id the client sent is kept when it is
// safe to log and to echo; otherwise a new one is made. The answer carries it
// whatever becomes of the request, so it is set before next runs.
func WithRequestIDs(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		id := requestID(r.Header[requestIDHeader])
		w.Header().Set(requestIDHeader, id)
		next.ServeHTTP(w, r.WithContext(WithRequestID(r.Context(), id)))
	})
}

// requestID takes the client's id when there is exactly one and it is
// well-formed: of two one cannot say which a proxy logged.
func requestID(sent []string) string {
	if len(sent) == 1 && validRequestID(sent[0]) {
		return sent[0]
	}
	// The random source of this Go version never fails, so neither does this.
	return uuid.Must(uuid.NewV7()).String()
}

// validRequestID matches [A-Za-z0-9._-]{1,128}: nothing that could break a log
// line, a header or a shell.
func validRequestID(s string) bool {
	if s == "" || len(s) > 128 {
		return false
	}
	for _, c := range []byte(s) {
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '.', c == '_', c == '-':
		default:
			return false
		}
	}
	return true
}
