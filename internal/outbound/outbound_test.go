package outbound_test

import (
	"compress/gzip"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/outbound"
)

// names is a resolver of our own. Each list is one answer; the last repeats.
type names map[string][][]string

func (n names) lookup() (outbound.Lookup, *atomic.Int64) {
	var asked atomic.Int64
	return func(_ context.Context, host string) ([]netip.Addr, error) {
		answers := n[host]
		if len(answers) == 0 {
			return nil, &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
		}
		at := min(int(asked.Add(1)), len(answers)) - 1
		var out []netip.Addr
		for _, a := range answers[at] {
			out = append(out, netip.MustParseAddr(a))
		}
		return out, nil
	}, &asked
}

func one(addrs ...string) [][]string { return [][]string{addrs} }

// target is a local server that counts its requests.
func target(t *testing.T, h http.HandlerFunc) (port string, hits *atomic.Int64) {
	t.Helper()
	hits = &atomic.Int64{}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		hits.Add(1)
		h(w, r)
	}))
	t.Cleanup(s.Close)
	u, err := url.Parse(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	return u.Port(), hits
}

func hello(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "hello") }

// get fetches a URL and its body.
func get(t *testing.T, c *outbound.Client, rawURL string) (string, error) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), "GET", rawURL, nil)
	if err != nil {
		t.Fatal(err)
	}
	return do(t, c, req)
}

func do(t *testing.T, c *outbound.Client, req *http.Request) (string, error) {
	t.Helper()
	resp, err := c.Do(req)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	return string(body), err
}

func wantRefused(t *testing.T, err error) {
	t.Helper()
	if fault.CodeOf(err) != "OUTBOUND_REFUSED" {
		t.Errorf("error = %v, want OUTBOUND_REFUSED", err)
	}
}

func TestNameResolvesInside(t *testing.T) {
	t.Parallel()
	port, hits := target(t, hello)
	for _, addr := range []string{"127.0.0.1", "::ffff:127.0.0.1", "::1", "10.1.2.3", "169.254.169.254", "64:ff9b::7f00:1", "0.0.0.0"} {
		lookup, _ := names{"evil.test": one(addr)}.lookup()
		// The port itself is allowed; only the address is not.
		c := client(t, outbound.Config{Lookup: lookup, Ports: []int{atoi(t, port)}})
		_, err := get(t, c, "http://evil.test:"+port+"/")
		wantRefused(t, err)
		if !outbound.HostTrouble(err) {
			t.Errorf("%v is not about the host, want it like an unknown name", err)
		}
		if f := fault.As(err); f != nil && strings.Contains(f.Message, addr) {
			t.Errorf("message %q tells the address", f.Message)
		}
	}
	if got := hits.Load(); got != 0 {
		t.Errorf("the server inside got %d requests, want 0", got)
	}
}

func atoi(t *testing.T, s string) int {
	t.Helper()
	ap, err := netip.ParseAddrPort("0.0.0.0:" + s)
	if err != nil {
		t.Fatal(err)
	}
	return int(ap.Port())
}

// TestAnswerChanges: the first look-up is harmless, the second leads inside.
// Whatever was checked before, the dialled address decides.
func TestAnswerChanges(t *testing.T) {
	t.Parallel()
	port, hits := target(t, hello)
	lookup, asked := names{"evil.test": {{"93.184.216.34"}, {"127.0.0.1"}}}.lookup()
	c := client(t, outbound.Config{Lookup: lookup, Ports: []int{atoi(t, port)}, DialTimeout: time.Second})
	if _, err := c.CheckURL("http://evil.test:" + port); err != nil {
		t.Fatalf("CheckURL: %v", err)
	}
	if _, err := lookup(t.Context(), "evil.test"); err != nil { // somebody checks by resolving
		t.Fatal(err)
	}
	_, err := get(t, c, "http://evil.test:"+port+"/")
	wantRefused(t, err)
	if hits.Load() != 0 || asked.Load() != 2 {
		t.Errorf("%d requests inside and %d look-ups, want 0 and one per dial", hits.Load(), asked.Load())
	}
}

func TestAllowedByName(t *testing.T) {
	t.Parallel()
	port, _ := target(t, hello)
	lookup, _ := names{"model.test": one("127.0.0.1"), "evil.test": one("127.0.0.1")}.lookup()
	c := client(t, outbound.Config{Lookup: lookup, Allow: []string{"model.test:" + port}})
	for _, tt := range []struct {
		url string
		ok  bool
	}{
		{"http://model.test:" + port + "/", true},
		{"http://MODEL.test.:" + port + "/", true},
		{"http://evil.test:" + port + "/", false},
		{"http://127.0.0.1:" + port + "/", false},
		{"http://model.test:9/", false},
	} {
		body, err := get(t, c, tt.url)
		if tt.ok && (err != nil || body != "hello") {
			t.Errorf("GET %s = %q, %v, want hello", tt.url, body, err)
		}
		if !tt.ok {
			wantRefused(t, err)
		}
	}
}

func TestSkipsRefusedAddresses(t *testing.T) {
	t.Parallel()
	port, _ := target(t, hello)
	lookup, _ := names{"mixed.test": one("10.0.0.1", "169.254.169.254", "127.0.0.1")}.lookup()
	c := client(t, outbound.Config{Lookup: lookup, Allow: []string{"127.0.0.1"}})
	if body, err := get(t, c, "http://mixed.test:"+port+"/"); err != nil || body != "hello" {
		t.Errorf("GET = %q, %v, want hello from the one allowed address", body, err)
	}
}

func TestUnknownName(t *testing.T) {
	t.Parallel()
	lookup, _ := names{"empty.test": {{}}}.lookup()
	c := client(t, outbound.Config{Lookup: lookup})
	for _, host := range []string{"gone.test", "empty.test"} {
		_, err := get(t, c, "http://"+host+"/")
		var dns *net.DNSError
		if !errors.As(err, &dns) || fault.As(err) != nil {
			t.Errorf("GET %s = %v, want a DNS error that is no refusal", host, err)
		}
		if !outbound.HostTrouble(err) {
			t.Errorf("%v is not about the host, want it like a refused one", err)
		}
	}
}

func TestSizeCap(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		h    http.HandlerFunc
		want int // bytes; -1: too large
	}{
		{"exactly", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(make([]byte, 1000)) }, 1000},
		{"declared", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(make([]byte, 1001)) }, -1},
		{"chunked", func(w http.ResponseWriter, _ *http.Request) {
			for range 11 {
				_, _ = w.Write(make([]byte, 100))
				w.(http.Flusher).Flush()
			}
		}, -1},
		{"packed", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			z := gzip.NewWriter(w)
			_, _ = z.Write(make([]byte, 1<<20))
			_ = z.Close()
		}, -1},
		{"empty", func(http.ResponseWriter, *http.Request) {}, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			port, _ := target(t, tt.h)
			c := client(t, outbound.Config{Allow: []string{"127.0.0.1"}, MaxBytes: 1000})
			body, err := get(t, c, "http://127.0.0.1:"+port+"/")
			if tt.want >= 0 && (err != nil || len(body) != tt.want) {
				t.Errorf("%d bytes, %v, want %d", len(body), err, tt.want)
			}
			if tt.want < 0 && (!errors.Is(err, outbound.ErrTooLarge) || len(body) > 1000) {
				t.Errorf("%d bytes, %v, want ErrTooLarge", len(body), err)
			}
		})
	}
}

// TestSizeCapHolds: a reader that ignores the error gets nothing more.
func TestSizeCapHolds(t *testing.T) {
	t.Parallel()
	port, _ := target(t, func(w http.ResponseWriter, _ *http.Request) {
		w.(http.Flusher).Flush() // no Content-Length
		_, _ = w.Write(make([]byte, 1000))
	})
	req, err := http.NewRequestWithContext(t.Context(), "GET", "http://127.0.0.1:"+port+"/", nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := client(t, outbound.Config{Allow: []string{"127.0.0.1"}, MaxBytes: 10}).Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	read, buf := 0, make([]byte, 7)
	for range 20 {
		n, err := resp.Body.Read(buf)
		if read += n; read == 10 && n == 0 && !errors.Is(err, outbound.ErrTooLarge) {
			t.Errorf("read past the limit: %v, want ErrTooLarge", err)
		}
	}
	if read != 10 {
		t.Errorf("read %d bytes, want 10", read)
	}
}

func TestTimeCaps(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		cfg  outbound.Config
		h    http.HandlerFunc
	}{
		{"slow body", outbound.Config{Timeout: 100 * time.Millisecond}, func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.WriteString(w, "a")
			w.(http.Flusher).Flush()
			<-r.Context().Done()
		}},
		{"slow headers", outbound.Config{HeaderTimeout: 100 * time.Millisecond}, func(_ http.ResponseWriter, r *http.Request) {
			<-r.Context().Done()
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			port, _ := target(t, tt.h)
			tt.cfg.Allow = []string{"127.0.0.1"}
			_, err := get(t, client(t, tt.cfg), "http://127.0.0.1:"+port+"/")
			var late net.Error
			if !errors.As(err, &late) || !late.Timeout() {
				t.Errorf("error = %v, want a time-out", err)
			}
		})
	}
}

func TestNoProxyFromEnvironment(t *testing.T) {
	for _, name := range []string{"HTTP_PROXY", "http_proxy", "ALL_PROXY"} {
		t.Setenv(name, "http://127.0.0.1:1")
	}
	if os.Getenv("NO_PROXY") != "" {
		t.Setenv("NO_PROXY", "")
	}
	port, _ := target(t, hello)
	lookup, _ := names{"model.test": one("127.0.0.1")}.lookup()
	c := client(t, outbound.Config{Lookup: lookup, Allow: []string{"model.test"}})
	if body, err := get(t, c, "http://model.test:"+port+"/"); err != nil || body != "hello" {
		t.Errorf("GET = %q, %v, want hello without a proxy", body, err)
	}
}

func TestOldTLS(t *testing.T) {
	t.Parallel()
	s := httptest.NewUnstartedServer(http.HandlerFunc(hello))
	s.TLS = &tls.Config{MinVersion: tls.VersionTLS10, MaxVersion: tls.VersionTLS11} //nolint:gosec // what is refused
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.StartTLS()
	t.Cleanup(s.Close)
	c := client(t, outbound.Config{Allow: []string{"127.0.0.1"}, TLS: &tls.Config{InsecureSkipVerify: true, MinVersion: tls.VersionTLS10}}) //nolint:gosec // the version is under test
	if _, err := get(t, c, s.URL); err == nil {
		t.Error("TLS 1.1 was accepted")
	}
}
