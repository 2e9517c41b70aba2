package web_test

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// refusing has a route of each kind, with bodies of at most 1,000 bytes: one
// that reads a body as a whole, and one that reads it as it comes.
func refusing(write web.ErrorWriter) http.Handler {
	a := web.NewAPI(web.APIConfig{Name: "things", Errors: write, Gate: gate{}, MaxBody: 1000})
	web.Post(a, "/typed", func(context.Context, *struct{ Body draft }) (string, error) { return "", nil }, web.Doc{Summary: "Typed", Scope: web.Public})
	a.Handle("POST", "/plain", func(w http.ResponseWriter, r *http.Request) error {
		if _, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 1000)); err != nil {
			return fault.New(fault.TooLarge, "BODY_TOO_LARGE", "Too large.").Wrap(err)
		}
		return nil
	}, web.Doc{Summary: "Plain", Scope: web.Public})
	for path, scope := range map[string]web.Scope{"/unsigned": "things:write", "/forbidden": "others:write"} {
		web.Post(a, path, func(context.Context, *struct{ Body draft }) (string, error) { return "", nil }, web.Doc{Summary: "Refused", Scope: scope})
	}
	mux := http.NewServeMux()
	a.Mount(mux)
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		write(w, r, fault.New(fault.NotFound, "ROUTE_NOT_FOUND", "There is no such route."))
	})
	return mux
}

const upload = "POST %s HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n"

// A client that sends all of a body before it reads is answered in every
// dialect, whether it says how long the body is or not.
func TestTooLargeIsAnswered(t *testing.T) {
	t.Parallel()
	large := strings.Repeat("x", 8<<20)
	known := "Content-Length: 8388608\r\n\r\n" + large
	chunked := "Transfer-Encoding: chunked\r\n\r\n800000\r\n" + large + "\r\n0\r\n\r\n"
	for name, dialect := range map[string]struct {
		write  web.ErrorWriter
		status int
		text   string
	}{
		"problem": {web.Problem, 413, "BODY_TOO_LARGE"}, "nest": {web.Nest, 413, `"statusCode":413`}, "end": {web.End, 200, "END Invalid input."},
	} {
		for _, path := range []string{"/typed", "/plain"} {
			for what, body := range map[string]string{"known": known, "chunked": chunked} {
				if name == "end" && path == "/typed" && what == "known" {
					continue // the line has no such routes
				}
				synctest.Test(t, func(t *testing.T) {
					c := served(t, web.Pace{}, refusing(dialect.write).ServeHTTP)
					if _, err := io.WriteString(c, strings.Replace(upload, "%s", path, 1)+body); err != nil {
						t.Errorf("%s %s %s: the body cannot be sent: %v", name, path, what, err)
						return
					}
					answer, err := http.ReadResponse(bufio.NewReader(c), nil)
					if err != nil {
						t.Errorf("%s %s %s: no answer: %v", name, path, what, err)
						return
					}
					text, err := io.ReadAll(answer.Body)
					if err != nil || answer.StatusCode != dialect.status || !strings.Contains(string(text), dialect.text) {
						t.Errorf("%s %s %s = %d %s (%v), want %d %s", name, path, what, answer.StatusCode, text, err, dialect.status, dialect.text)
					}
				})
			}
		}
	}
}

// A client is answered too when its request is refused, or needs no body, before
// a byte of it is read.
func TestUnreadIsAnswered(t *testing.T) {
	t.Parallel()
	large := strings.Repeat("x", 8<<20)
	for _, tt := range []struct {
		method, path, key string
		write             web.ErrorWriter
		status            int
	}{
		{"POST", "/unsigned", "bad", web.Problem, 401},
		{"POST", "/unsigned", "bad", web.Nest, 401},
		{"POST", "/unsigned", "bad", web.End, 200},
		{"POST", "/forbidden", "good", web.Problem, 403},
		{"POST", "/nowhere", "good", web.Problem, 404},
		{"PUT", "/typed", "good", web.Problem, 404},
	} {
		for _, body := range []string{"Content-Length: 8388608\r\n\r\n" + large, "Transfer-Encoding: chunked\r\n\r\n800000\r\n" + large + "\r\n0\r\n\r\n"} {
			synctest.Test(t, func(t *testing.T) {
				c := served(t, web.Pace{}, refusing(tt.write).ServeHTTP)
				in := bufio.NewReader(c)
				for range 2 { // the connection is good for another request
					if _, err := io.WriteString(c, tt.method+" "+tt.path+" HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer "+tt.key+"\r\n"+body); err != nil {
						t.Errorf("%s %s: the body cannot be sent: %v", tt.method, tt.path, err)
						return
					}
					answer, err := http.ReadResponse(in, nil)
					if err != nil {
						t.Errorf("%s %s: no answer: %v", tt.method, tt.path, err)
						return
					}
					if _, err := io.Copy(io.Discard, answer.Body); err != nil || answer.StatusCode != tt.status {
						t.Errorf("%s %s = %d (%v), want %d", tt.method, tt.path, answer.StatusCode, err, tt.status)
					}
				}
			})
		}
	}
}

// What is dropped has an end: 16 MiB, or 5 s. A client that waits to be asked
// for its body is not asked.
func TestLittleIsDropped(t *testing.T) {
	t.Parallel()
	for path, status := range map[string]int{"/plain": 413, "/unsigned": 401, "/nowhere": 404} {
		synctest.Test(t, func(t *testing.T) { stalls(t, path, status) })
		synctest.Test(t, func(t *testing.T) { floods(t, path, status) })
	}
	for path, status := range map[string]int{"/typed": 413, "/unsigned": 401, "/nowhere": 404} {
		synctest.Test(t, func(t *testing.T) {
			c := served(t, web.Pace{}, refusing(web.Problem).ServeHTTP)
			start := time.Now()
			send(t, c, strings.Replace(upload, "%s", path, 1)+"Expect: 100-continue\r\nContent-Length: 1000000000\r\n\r\n")
			answer, err := http.ReadResponse(bufio.NewReader(c), nil)
			if err != nil || answer.StatusCode != status || time.Since(start) != 0 {
				t.Errorf("a client that waits to be asked is answered %v (%v) after %v, want %d at once", answer, err, time.Since(start), status)
			}
		})
	}
}

// stalls says that a huge body comes, and sends little of it.
func stalls(t *testing.T, path string, status int) {
	c := served(t, web.Pace{}, refusing(web.Problem).ServeHTTP)
	send(t, c, strings.Replace(upload, "%s", path, 1)+"Content-Length: 1000000000\r\n\r\n"+strings.Repeat("x", 2000))
	start, in := time.Now(), bufio.NewReader(c)
	answer, err := http.ReadResponse(in, nil)
	if err != nil || answer.StatusCode != status || time.Since(start) != 0 {
		t.Errorf("%s: a client that stalls is answered %v (%v) after %v, want %d at once: it would never be all", path, answer, err, time.Since(start), status)
	}
	if _, err := io.Copy(io.Discard, in); err != nil || time.Since(start) != 5*time.Second {
		t.Errorf("%s: the connection ends after %v (%v), want 5 s", path, time.Since(start), err)
	}
}

// floods sends a body without end.
func floods(t *testing.T, path string, status int) {
	c := served(t, web.Pace{}, refusing(web.Problem).ServeHTTP)
	send(t, c, strings.Replace(upload, "%s", path, 1)+"Content-Length: 1000000000\r\n\r\n")
	sent, piece := 0, make([]byte, 64<<10)
	got := make(chan int)
	go func() {
		answer, err := http.ReadResponse(bufio.NewReader(c), nil)
		if err != nil {
			t.Errorf("%s: no answer: %v", path, err)
			got <- 0
			return
		}
		got <- answer.StatusCode
	}()
	for {
		n, err := c.Write(piece)
		if sent += n; err != nil {
			break
		}
	}
	if got := <-got; got != status || sent < 16<<20 || sent > 17<<20 {
		t.Errorf("%s: %d after %d bytes, want %d after 16 MiB and what is in buffers", path, got, sent, status)
	}
}
