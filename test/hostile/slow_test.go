package hostile_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// slowConns is how many slow clients there are at once: fewer than one address
// may have, so that the good client is not refused for coming from there too.
const slowConns = 400

// The limits the server is given, shorter than its defaults to keep the test
// short. A body has 10 seconds before its speed counts.
const (
	headerLimit = 2 * time.Second
	writeLimit  = 3 * time.Second
	bodyLimit   = 10 * time.Second
)

// drip is one kind of slow client: what it says at first, and what it says
// every now and then to look alive. With no drip it does not read either.
type drip struct {
	name   string
	conns  int
	first  string
	every  string
	within time.Duration // the server hangs up this soon
}

func drips(key string) []drip {
	auth := "Host: x\r\nAuthorization: Bearer " + key + "\r\n"
	return []drip{
		{"headers", slowConns - 100, "GET /v1/api-keys HTTP/1.1\r\n" + auth, "X-A: b\r\n", headerLimit + 2*time.Second},
		{"nothing", slowConns - 100, "", "", headerLimit + 2*time.Second},
		{"body", slowConns, "POST /v1/api-keys HTTP/1.1\r\n" + auth + "Content-Type: application/json\r\nContent-Length: 1000000\r\n\r\n", " ", bodyLimit + 3*time.Second},
		// More answers than all buffers on the way can hold.
		{"read", slowConns / 4, strings.Repeat("GET /docs-json HTTP/1.1\r\n"+auth+"\r\n", 400), "", writeLimit + 12*time.Second},
	}
}

// TestSlow runs each kind of slow client against a server that serves a good
// client at the same time. The slow ones are hung up on, and the good one
// hardly notices: its p99 is at most twice the undisturbed one.
//
// It is not parallel: it measures time.
func TestSlow(t *testing.T) {
	g := aim(t, "HEARTH_HEADER_TIMEOUT=2s", "HEARTH_WRITE_TIMEOUT=3s", "HEARTH_BODY_MIN_RATE=64KiB")
	for _, d := range drips(g.Key) {
		t.Run(d.name, func(t *testing.T) {
			// Neighbours on the machine may spoil a measurement, not three.
			for try := range 3 {
				quiet := g.p99(t, 700*time.Millisecond)
				held, p99 := g.attack(t, d)
				quiet = max(quiet, g.p99(t, 700*time.Millisecond))
				if held > 0 {
					t.Errorf("%d of %d slow connections were still open after %s", held, d.conns, d.within)
				}
				t.Logf("p99 %s undisturbed, %s meanwhile", quiet.Round(10*time.Microsecond), p99.Round(10*time.Microsecond))
				if p99 <= 2*quiet+20*time.Millisecond {
					return
				}
				if try == 2 {
					t.Errorf("p99 of a good client = %s meanwhile, want at most twice %s", p99, quiet)
				}
			}
		})
	}
}

// attack lets all slow clients loose and measures a good one until the last is
// gone. It returns how many were not hung up on in time.
func (g *target) attack(t *testing.T, d drip) (held int, p99 time.Duration) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), d.within)
	defer cancel()
	var wg sync.WaitGroup
	results := make(chan error, d.conns)
	for range d.conns {
		c, err := net.Dial("tcp", strings.TrimPrefix(g.URL, "http://"))
		if err != nil {
			t.Fatalf("connect: %v", err)
		}
		if tcp, ok := c.(*net.TCPConn); ok && d.name == "read" {
			if err := tcp.SetReadBuffer(4 << 10); err != nil {
				t.Fatal(err)
			}
		}
		wg.Go(func() { results <- slowly(ctx, c, d) })
	}
	done := make(chan struct{})
	go func() {
		wg.Wait()
		close(done)
	}()
	p99 = g.watch(t, done)
	close(results)
	for err := range results {
		if errors.Is(err, os.ErrDeadlineExceeded) || errors.Is(err, context.DeadlineExceeded) {
			held++
		}
	}
	return held, p99
}

// slowly is one slow client. It returns when the server hangs up, or with a
// deadline error.
func slowly(ctx context.Context, c net.Conn, d drip) error {
	defer c.Close()
	end, _ := ctx.Deadline()
	if err := c.SetDeadline(end); err != nil {
		return err
	}
	if d.name == "read" {
		return writeOnly(ctx, c, d.first)
	}
	if _, err := io.WriteString(c, d.first); err != nil {
		return err
	}
	gone := make(chan error, 1)
	go func() {
		_, err := io.Copy(io.Discard, c) // returns when the server hangs up
		gone <- err
	}()
	tick := time.NewTicker(500 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case err := <-gone:
			return err
		case <-tick.C:
			if _, err := io.WriteString(c, d.every); err != nil {
				return err
			}
		}
	}
}

// writeOnly asks for much and reads nothing, so that the server cannot write.
// Its hanging up shows as an error on our next request.
func writeOnly(ctx context.Context, c net.Conn, text string) error {
	for {
		if _, err := io.WriteString(c, text); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(200 * time.Millisecond):
		}
	}
}

// p99 measures a good client for a while.
func (g *target) p99(t *testing.T, d time.Duration) time.Duration {
	t.Helper()
	done := make(chan struct{})
	timer := time.AfterFunc(d, func() { close(done) })
	defer timer.Stop()
	return g.watch(t, done)
}

// watch measures a good client until done: a request every two milliseconds,
// answered or not.
func (g *target) watch(t *testing.T, done <-chan struct{}) time.Duration {
	t.Helper()
	var took []time.Duration
	for {
		select {
		case <-done:
			if len(took) < 20 {
				t.Fatalf("a good client got %d answers, want more", len(took))
			}
			slices.Sort(took)
			return took[len(took)*99/100]
		case <-time.After(2 * time.Millisecond):
		}
		start := time.Now()
		a, err := g.fire(g.request(t, "GET", "/v1/api-keys/current", nil), nil)
		took = append(took, time.Since(start))
		if err != nil || a.status != http.StatusOK {
			t.Fatalf("a good client among slow ones: %+v, %v; want 200", a, err)
		}
	}
}
