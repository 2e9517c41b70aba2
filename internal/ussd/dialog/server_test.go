package dialog_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/hearth-dmrv/hearth/internal/ussd/dialog"
)

// operator is a server that answers with what is queued.
func operator(t *testing.T, key string, answers ...http.Response) dialog.Server {
	t.Helper()
	return dialog.Server{Base: "http://line.test/", Key: key, Send: func(r *http.Request) (*http.Response, error) {
		if got := r.Header.Get("Authorization"); key != "" && got != "Bearer "+key {
			t.Errorf("Authorization = %q, want the key", got)
		}
		if len(answers) == 0 {
			t.Fatal("one request too many")
		}
		a := answers[0]
		answers = answers[1:]
		return &a, nil
	}}
}

func answer(status int, body string, header ...string) http.Response {
	h := http.Header{}
	for i := 0; i+1 < len(header); i += 2 {
		h.Set(header[i], header[i+1])
	}
	return http.Response{StatusCode: status, Header: h, Body: io.NopCloser(strings.NewReader(body))}
}

const record = `{"sessionId":"a/b","debugInfo":{"state":"login","path":"login.pin","context":{"isAuthenticated":true}},"activeSessions":[]}`

func TestWhere(t *testing.T) {
	t.Parallel()
	got, err := dialog.Where(t.Context(), operator(t, "k1", answer(200, record)), "a/b")
	if want := (dialog.Place{Node: "login.pin", Authenticated: true}); err != nil || got != want {
		t.Errorf("Where() = %+v, %v, want %+v", got, err, want)
	}
	for _, a := range []http.Response{answer(404, record), answer(200, "<html>"), answer(429, "", "Retry-After", "900"), answer(429, "")} {
		if got, err := dialog.Where(t.Context(), operator(t, "", a), "a"); err == nil {
			t.Errorf("Where() with status %d = %+v, want an error", a.StatusCode, got)
		}
	}
	// A moment over the limit is waited for.
	if _, err := dialog.Where(t.Context(), operator(t, "", answer(429, "", "Retry-After", "0"), answer(200, record)), "a"); err != nil {
		t.Errorf("Where() after a pause = %v", err)
	}
}

func TestFetch(t *testing.T) {
	t.Parallel()
	text, err := dialog.Fetch(t.Context(), operator(t, "", answer(200, ">\n@ preMenu\n")), "a")
	if err != nil || string(text) != ">\n@ preMenu\n" {
		t.Errorf("Fetch() = %q, %v", text, err)
	}
	for want, a := range map[string]http.Response{"no live session": answer(404, ""), "status 500": answer(500, ""), "no dialog": answer(200, "<html>")} {
		if _, err := dialog.Fetch(t.Context(), operator(t, "", a), "a"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Fetch() = %v, want %q", err, want)
		}
	}
}
