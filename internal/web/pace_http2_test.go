package web_test

import (
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hearth-dmrv/hearth/internal/web"
)

// http2Get asks h, behind Pace and over HTTP/2, for /.
func http2Get(t *testing.T, p web.Pace, h http.HandlerFunc) *http.Response {
	t.Helper()
	return http2Do(t, p, nil, h)
}

func http2Do(t *testing.T, p web.Pace, body io.Reader, h http.HandlerFunc) *http.Response {
	t.Helper()
	var protocols http.Protocols
	protocols.SetUnencryptedHTTP2(true)
	l := newPipeListener()
	s := web.NewServer(web.ServerConfig{Handler: p.Middleware(h)})
	s.Protocols = &protocols
	go func() { _ = s.Serve(l) }()
	tr := &http.Transport{Protocols: &protocols, DialContext: func(context.Context, string, string) (net.Conn, error) {
		return l.dial("198.51.100.1:1"), nil
	}}
	t.Cleanup(func() {
		tr.CloseIdleConnections()
		_ = s.Close()
	})
	req, err := http.NewRequestWithContext(t.Context(), "POST", "http://a/", body)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := tr.RoundTrip(req)
	if err != nil {
		t.Fatalf("round trip: %v", err)
	}
	if resp.ProtoMajor != 2 {
		t.Fatalf("protocol = %s, want HTTP/2", resp.Proto)
	}
	return resp
}

func TestPaceHTTP2LongWork(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		resp := http2Get(t, web.Pace{}, func(w http.ResponseWriter, r *http.Request) {
			for range 3 {
				_, _ = io.WriteString(w, "event\n")
				if err := http.NewResponseController(w).Flush(); err != nil {
					t.Errorf("flush: %v", err)
				}
				select {
				case <-r.Context().Done():
					t.Errorf("the request was cancelled: %v", context.Cause(r.Context()))
				case <-time.After(5 * time.Minute):
				}
			}
		})
		body, err := io.ReadAll(resp.Body)
		if want := "event\nevent\nevent\n"; err != nil || string(body) != want {
			t.Errorf("answer %q, %v, want %q", body, err, want)
		}
	})
}

// TestPaceHTTP2Buffered writes without a flush, and then works on.
func TestPaceHTTP2Buffered(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		resp := http2Get(t, web.Pace{}, func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, "early ")
			time.Sleep(5 * time.Minute)
			_, _ = io.WriteString(w, "late")
		})
		body, err := io.ReadAll(resp.Body)
		if want := "early late"; err != nil || string(body) != want {
			t.Errorf("answer %q, %v, want %q", body, err, want)
		}
	})
}

func TestPaceHTTP2SlowHandler(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const size = 4_000_000 // more than the window, so the body is still coming
		resp := http2Do(t, web.Pace{MinRate: 1 << 20}, bytes.NewReader(make([]byte, size)), func(w http.ResponseWriter, r *http.Request) {
			if err := readSlowly(r.Body, size); err != nil {
				t.Errorf("reading with pauses: %v, want the whole body", err)
			}
		})
		_ = resp.Body.Close()
	})
}

func TestPaceHTTP2SlowReader(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		failed := make(chan time.Duration, 1)
		resp := http2Get(t, web.Pace{WriteBase: 30 * time.Second, MinRate: 1 << 20}, func(w http.ResponseWriter, _ *http.Request) {
			start := time.Now()
			for { // until the window of the client, who never reads, is full
				if _, err := w.Write(make([]byte, 64<<10)); err != nil {
					failed <- time.Since(start)
					return
				}
			}
		})
		if got, want := <-failed, 31*time.Second; got > want {
			t.Errorf("the write failed after %v, want at most %v", got, want)
		}
		_ = resp.Body.Close()
	})
}
