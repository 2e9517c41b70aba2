package web_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hearth-dmrv/hearth/internal/web"
)

// served runs h behind Pace and NewServer, in memory, on the test's clock.
func served(t *testing.T, p web.Pace, h http.HandlerFunc) net.Conn {
	t.Helper()
	l := newPipeListener()
	s := web.NewServer(web.ServerConfig{Handler: p.Middleware(h)})
	go func() { _ = s.Serve(l) }()
	c := l.dial("198.51.100.1:1")
	t.Cleanup(func() {
		_ = c.Close()
		_ = s.Close()
	})
	return c
}

func send(t *testing.T, c net.Conn, text string) {
	t.Helper()
	if _, err := io.WriteString(c, text); err != nil {
		t.Fatalf("send: %v", err)
	}
}

func head(length int) string {
	return fmt.Sprintf("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n", length)
}

func TestServerSlowHeader(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := served(t, web.Pace{}, func(http.ResponseWriter, *http.Request) { t.Error("the handler ran") })
		start := time.Now()
		var wg sync.WaitGroup
		wg.Go(func() {
			for _, b := range []byte("GET / HTTP/1.1\r\nX: " + strings.Repeat("a", 100)) {
				if _, err := c.Write([]byte{b}); err != nil {
					return
				}
				time.Sleep(time.Second)
			}
		})
		_, _ = io.Copy(io.Discard, c)
		if got, want := time.Since(start), 5*time.Second; got != want {
			t.Errorf("the connection was cut after %v, want %v", got, want)
		}
		wg.Wait()
	})
}

func TestServerIdle(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := served(t, web.Pace{}, func(http.ResponseWriter, *http.Request) {})
		send(t, c, "GET / HTTP/1.1\r\nHost: a\r\n\r\n")
		start := time.Now()
		_, _ = io.Copy(io.Discard, c)
		if got, want := time.Since(start), 120*time.Second; got != want {
			t.Errorf("the idle connection was cut after %v, want %v", got, want)
		}
	})
}

func TestPaceSlowBody(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		chunk int           // bytes sent at once
		every time.Duration // between chunks
		size  int
		cut   time.Duration // 0: read to the end
	}{
		{"nothing", 0, time.Second, 100_000, 10 * time.Second},
		{"a byte a second", 1, time.Second, 100_000, 10 * time.Second},
		{"half the rate", 512, time.Second, 100_000, 20*time.Second - 500*time.Millisecond},
		{"at the rate", 1024, time.Second, 100_000, 0},
		{"late but small", 100, 9 * time.Second, 100, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				type result struct {
					err  error
					took time.Duration
				}
				got := make(chan result, 1)
				c := served(t, web.Pace{ReadBase: 10 * time.Second, MinRate: 1024}, func(_ http.ResponseWriter, r *http.Request) {
					start := time.Now()
					_, err := io.ReadAll(r.Body)
					got <- result{err, time.Since(start)}
				})
				send(t, c, head(tt.size))
				var wg sync.WaitGroup
				wg.Go(func() { _, _ = io.Copy(io.Discard, c) })
				wg.Go(func() {
					for sent := 0; sent < tt.size; sent += tt.chunk {
						time.Sleep(tt.every)
						if _, err := c.Write(make([]byte, min(tt.chunk, tt.size-sent))); err != nil {
							return
						}
					}
				})
				res := <-got
				if tt.cut == 0 && res.err != nil {
					t.Errorf("body: %v after %v, want it read", res.err, res.took)
				}
				if tt.cut != 0 && (!errors.Is(res.err, os.ErrDeadlineExceeded) || res.took > tt.cut+time.Second || res.took < tt.cut-time.Second) {
					t.Errorf("body: %v after %v, want a time-out after about %v", res.err, res.took, tt.cut)
				}
				_ = c.Close()
				wg.Wait()
			})
		})
	}
}

// TestPaceSilence: a body that came fast may not be silent for as long as its bytes would
// have taken at the least rate.
func TestPaceSilence(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		got := make(chan time.Duration, 1)
		c := served(t, web.Pace{}, func(_ http.ResponseWriter, r *http.Request) {
			_, _ = io.ReadFull(r.Body, make([]byte, 1<<20))
			start := time.Now()
			_, _ = io.ReadAll(r.Body)
			got <- time.Since(start)
		})
		send(t, c, head(2<<20))
		if _, err := c.Write(make([]byte, 1<<20)); err != nil {
			t.Fatal(err)
		}
		if took := <-got; took > 61*time.Second {
			t.Errorf("a silent body was waited for %v, want a minute", took)
		}
		_ = c.Close()
	})
}

// TestPaceUnreadBody: a handler that does not want the body must not wait for
// it longer than one that does.
func TestPaceUnreadBody(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := served(t, web.Pace{ReadBase: 10 * time.Second}, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(404) })
		send(t, c, head(100))
		start := time.Now()
		_, _ = io.Copy(io.Discard, c)
		if got, want := time.Since(start), 11*time.Second; got > want {
			t.Errorf("the connection stayed for %v, want at most %v", got, want)
		}
	})
}

// TestPaceLongWork: neither deadline may outlive its read or write, or it
// would cancel a handler that thinks for a while.
func TestPaceLongWork(t *testing.T) {
	t.Parallel()
	for _, read := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			c := served(t, web.Pace{}, func(w http.ResponseWriter, r *http.Request) {
				if read {
					_, _ = io.ReadAll(r.Body)
				}
				for range 3 {
					select {
					case <-r.Context().Done():
						t.Errorf("read %v: the request was cancelled: %v", read, context.Cause(r.Context()))
					case <-time.After(5 * time.Minute):
					}
					_, _ = io.WriteString(w, "event\n")
					if err := http.NewResponseController(w).Flush(); err != nil {
						t.Errorf("read %v: flush: %v", read, err)
					}
				}
			})
			send(t, c, head(4)+"body")
			resp, err := http.ReadResponse(bufio.NewReader(c), nil)
			if err != nil {
				t.Fatal(err)
			}
			body, err := io.ReadAll(resp.Body)
			if want := "event\nevent\nevent\n"; err != nil || string(body) != want {
				t.Errorf("read %v: answer %q, %v, want %q", read, body, err, want)
			}
		})
	}
}

// TestPaceSlowHandler: the time a handler takes between two reads is not the
// client's.
func TestPaceSlowHandler(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		got := make(chan error, 1)
		c := served(t, web.Pace{}, func(_ http.ResponseWriter, r *http.Request) { got <- readSlowly(r.Body, 10_000) })
		send(t, c, head(10_000))
		var wg sync.WaitGroup
		wg.Go(func() { _, _ = c.Write(make([]byte, 10_000)) })
		if err := <-got; err != nil {
			t.Errorf("reading with pauses: %v, want the whole body", err)
		}
		wg.Wait()
	})
}

// readSlowly reads a body of size bytes in ten parts, a minute apart.
func readSlowly(r io.Reader, size int) error {
	for range 10 {
		if _, err := io.ReadFull(r, make([]byte, size/10)); err != nil {
			return err
		}
		time.Sleep(time.Minute)
	}
	return nil
}

func TestPaceSlowReader(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		failed := make(chan time.Duration, 1)
		c := served(t, web.Pace{WriteBase: 30 * time.Second, MinRate: 1 << 20}, func(w http.ResponseWriter, _ *http.Request) {
			start := time.Now()
			for {
				if _, err := w.Write(make([]byte, 64<<10)); err != nil {
					failed <- time.Since(start)
					return
				}
			}
		})
		send(t, c, "GET / HTTP/1.1\r\nHost: a\r\n\r\n")
		if got, want := <-failed, 31*time.Second; got > want {
			t.Errorf("the write failed after %v, want at most %v", got, want)
		}
	})
}

func TestPaceSteadyReader(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const size = 1 << 20
		c := served(t, web.Pace{WriteBase: 10 * time.Second, MinRate: 1 << 10}, func(w http.ResponseWriter, _ *http.Request) {
			if _, err := w.Write(make([]byte, size)); err != nil {
				t.Errorf("write: %v", err)
			}
		})
		send(t, c, "GET / HTTP/1.1\r\nHost: a\r\n\r\n")
		start := time.Now()
		resp, err := http.ReadResponse(bufio.NewReader(slowReader{c}), nil)
		if err != nil {
			t.Fatal(err)
		}
		n, err := io.Copy(io.Discard, resp.Body)
		if err != nil || n != size {
			t.Errorf("read %d bytes, %v after %v, want %d", n, err, time.Since(start), size)
		}
	})
}

// slowReader takes 4 KiB a second at most.
type slowReader struct{ io.Reader }

func (r slowReader) Read(p []byte) (int, error) {
	time.Sleep(time.Second)
	return r.Reader.Read(p[:min(len(p), 4<<10)])
}

func TestPaceHijack(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := served(t, web.Pace{}, func(w http.ResponseWriter, _ *http.Request) {
			conn, _, err := w.(http.Hijacker).Hijack()
			if err != nil {
				t.Errorf("hijack: %v", err)
				return
			}
			go func() {
				time.Sleep(time.Hour) // far past every deadline
				if _, err := io.WriteString(conn, "late"); err != nil {
					t.Errorf("write: %v", err)
				}
				_ = conn.Close()
			}()
		})
		send(t, c, "GET / HTTP/1.1\r\nHost: a\r\n\r\n")
		got, err := io.ReadAll(c)
		if err != nil || string(got) != "late" {
			t.Errorf("socket gave %q, %v, want late", got, err)
		}
	})
}

// TestPaceContinue: a deadline that was set for the last answer and has passed
// must not cut the "100 Continue" of the next request.
func TestPaceContinue(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := served(t, web.Pace{WriteBase: 30 * time.Second}, func(w http.ResponseWriter, r *http.Request) {
			body, err := io.ReadAll(r.Body)
			_, _ = fmt.Fprintf(w, "%s %v", body, err)
		})
		in := bufio.NewReader(c)
		send(t, c, head(1)+"a")
		for i, want := range []string{"a <nil>", "b <nil>"} {
			resp, err := http.ReadResponse(in, nil)
			if err == nil && resp.StatusCode == http.StatusContinue {
				send(t, c, "b")
				resp, err = http.ReadResponse(in, nil)
			}
			if err != nil {
				t.Fatalf("answer %d: %v", i, err)
			}
			if got, err := io.ReadAll(resp.Body); err != nil || string(got) != want {
				t.Errorf("answer %d: %q, %v, want %q", i, got, err, want)
			}
			if i == 0 {
				time.Sleep(time.Minute)
				send(t, c, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nExpect: 100-continue\r\n\r\n")
			}
		}
	})
}

// TestPaceLateWrite: a deadline that was set for one write does not count for
// a later one.
func TestPaceLateWrite(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := served(t, web.Pace{WriteBase: 30 * time.Second}, func(w http.ResponseWriter, _ *http.Request) {
			for range 3 {
				_, _ = io.WriteString(w, strings.Repeat("x", 8<<10))
				time.Sleep(time.Minute)
			}
		})
		send(t, c, "GET / HTTP/1.1\r\nHost: a\r\n\r\n")
		resp, err := http.ReadResponse(bufio.NewReader(c), nil)
		if err != nil {
			t.Fatal(err)
		}
		n, err := io.Copy(io.Discard, resp.Body)
		if want := int64(24 << 10); err != nil || n != want {
			t.Errorf("read %d bytes, %v, want %d", n, err, want)
		}
	})
}
