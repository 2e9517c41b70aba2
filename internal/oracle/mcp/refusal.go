package mcp

import (
	"bytes"
	"net/http"
	"regexp"
	"strings"

	"github.com/hearth-dmrv/hearth/internal/fault"
)

// maxRefusal limits how much of a refusal is passed on.
const maxRefusal = 300

// inside matches our decoder's messages about what it could not read: types of
// this program, which mean nothing to a client.
var inside = regexp.MustCompile(`(?:unmarshaling|json: cannot unmarshal) .*?Go (?:value|struct field [\w.]+) of type [\w.*\[\]]+`)

// wordless removes those messages from a refusal.
func wordless(p []byte) []byte {
	if !bytes.Contains(p, []byte("Go value of type")) && !bytes.Contains(p, []byte("Go struct field")) {
		return p
	}
	return inside.ReplaceAll(p, []byte("a member is not of the type that is wanted"))
}

// refusals passes an answer on but for refusals in plain text: clients of this
// server get those as they get every other, and they are kept back for that.
type refusals struct {
	http.ResponseWriter
	status int // of a refusal; 0 without one
	text   bytes.Buffer
}

// WriteHeader begins the answer, or keeps a refusal back.
func (w *refusals) WriteHeader(status int) {
	if status >= 400 && strings.HasPrefix(w.Header().Get("Content-Type"), "text/plain") {
		w.status = status
		for _, name := range []string{"Content-Type", "X-Content-Type-Options", "Content-Length"} {
			w.Header().Del(name)
		}
		return
	}
	w.ResponseWriter.WriteHeader(status)
}

// Write passes a piece of the answer on.
func (w *refusals) Write(p []byte) (int, error) {
	if w.status == 0 && bytes.Contains(p, []byte(`"error":{"code":`)) {
		_, err := w.ResponseWriter.Write(wordless(p))
		return len(p), err
	} else if w.status == 0 {
		return w.ResponseWriter.Write(p)
	}
	w.text.Write(p[:min(len(p), maxRefusal-min(maxRefusal, w.text.Len()))])
	return len(p), nil
}

// Unwrap lets writes reach the client at once.
func (w *refusals) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// Flush does the same for callers of the old interface.
func (w *refusals) Flush() {
	if w.status == 0 {
		_ = http.NewResponseController(w.ResponseWriter).Flush() // the client is gone when this fails
	}
}

// err is the refusal that was kept back, if there was one.
func (w *refusals) err() error {
	text := strings.ToValidUTF8(strings.TrimSpace(string(wordless(w.text.Bytes()))), "\uFFFD")
	switch {
	case w.status == 0:
		return nil
	case w.status == http.StatusRequestEntityTooLarge:
		return fault.New(fault.TooLarge, "BODY_TOO_LARGE", "The body is larger than this route takes.")
	case w.status == http.StatusUnsupportedMediaType:
		return fault.New(fault.Unsupported, "UNSUPPORTED_MEDIA_TYPE", "Send application/json.")
	case w.status >= 500:
		return fault.New(fault.Internal, "INTERNAL", "Internal error.")
	}
	return fault.New(fault.Invalid, "MCP_REQUEST_INVALID", "The request is not one of MCP: "+text)
}
