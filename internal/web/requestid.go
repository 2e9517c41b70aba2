package web

import (
	"encoding/binary"
	"encoding/hex"
	"math/rand/v2"
	"net/http"
	"strings"
	"time"
)

// requestIDHeader carries the name of a request both ways.
const requestIDHeader = "X-Request-Id"

// ownIDs is how the ids begin that this program gives to requests of its own, by
// which it knows them later. No client may use them.
const ownIDs = "demo-"

// WithRequestIDs gives every request an id. One that was made in this process has
// its id in its context. A client's id is kept when it is safe to log and to echo
// and cannot be taken for one of ours; otherwise a new one is made. The answer
// always carries it, so it is set before next runs.
func WithRequestIDs(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		id := RequestID(r.Context())
		if id == "" {
			id = requestID(r.Header[requestIDHeader])
		}
		w.Header()[requestIDHeader] = []string{id}
		next.ServeHTTP(w, r.WithContext(WithRequestID(r.Context(), id)))
	})
}

// requestID takes the client's id when there is exactly one and it is
// well-formed: of two one cannot say which a proxy logged.
func requestID(sent []string) string {
	if len(sent) == 1 && validRequestID(sent[0]) && !strings.HasPrefix(sent[0], ownIDs) {
		return sent[0]
	}
	return newRequestID()
}

// newRequestID makes a UUIDv7. Ids need to be distinct, not secret, so
// math/rand, which the runtime seeds for every process, is enough.
func newRequestID() string {
	var id [16]byte
	binary.BigEndian.PutUint64(id[:8], uint64(time.Now().UnixMilli())<<16|rand.Uint64()&0xfff|0x7000)
	binary.BigEndian.PutUint64(id[8:], rand.Uint64()>>2|1<<63)
	var text [36]byte
	at := 0
	for _, part := range [...][]byte{id[:4], id[4:6], id[6:8], id[8:10], id[10:]} {
		at += hex.Encode(text[at:], part)
		if at < len(text) {
			text[at] = '-'
			at++
		}
	}
	return string(text[:])
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
