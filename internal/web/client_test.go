package web_test

import (
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"

	"github.com/hearth-dmrv/hearth/internal/web"
)

func proxies(t testing.TB, enabled bool, list ...string) web.Proxies {
	t.Helper()
	p, err := web.NewProxies(enabled, list)
	if err != nil {
		t.Fatalf("NewProxies(%v): %v", list, err)
	}
	return p
}

func TestProxiesClient(t *testing.T) {
	t.Parallel()
	off := proxies(t, false)
	private := proxies(t, true)
	listed := proxies(t, true, "203.0.113.0/24", "10.9.9.9")
	many := strings.Repeat("10.0.0.1,", 5000) + "10.0.0.2"
	for _, tt := range []struct {
		name string
		p    web.Proxies
		peer string
		xff  []string
		want string
	}{
		{name: "off", p: off, peer: "127.0.0.1:1", xff: []string{"1.2.3.4"}, want: "127.0.0.1"},
		{name: "no header", p: private, peer: "127.0.0.1:1", want: "127.0.0.1"},
		{name: "loopback proxy", p: private, peer: "127.0.0.1:1", xff: []string{"1.2.3.4"}, want: "1.2.3.4"},
		{name: "private proxy", p: private, peer: "10.0.0.1:1", xff: []string{"1.2.3.4"}, want: "1.2.3.4"},
		{name: "v6 proxy", p: private, peer: "[fd00::1]:1", xff: []string{"2001:db8::7"}, want: "2001:db8::7"},
		{name: "mapped proxy", p: private, peer: "[::ffff:127.0.0.1]:1", xff: []string{"1.2.3.4"}, want: "1.2.3.4"},
		{name: "untrusted peer forges", p: private, peer: "8.8.8.8:1", xff: []string{"1.2.3.4"}, want: "8.8.8.8"},
		{name: "client forges left", p: private, peer: "127.0.0.1:1", xff: []string{"6.6.6.6, 1.2.3.4"}, want: "1.2.3.4"},
		{name: "chain of proxies", p: private, peer: "127.0.0.1:1", xff: []string{"6.6.6.6, 1.2.3.4, 10.0.0.7, 192.168.1.1"}, want: "1.2.3.4"},
		{name: "two headers", p: private, peer: "127.0.0.1:1", xff: []string{"6.6.6.6", "1.2.3.4"}, want: "1.2.3.4"},
		{name: "private client", p: private, peer: "127.0.0.1:1", xff: []string{"10.0.0.7"}, want: "10.0.0.7"},
		{name: "private client forges private", p: private, peer: "127.0.0.1:1", xff: []string{"10.1.1.1, 10.0.0.7"}, want: "10.0.0.7"},
		{name: "with port", p: private, peer: "127.0.0.1:1", xff: []string{"1.2.3.4:5555"}, want: "1.2.3.4"},
		{name: "v6 with port", p: private, peer: "127.0.0.1:1", xff: []string{"[2001:db8::7]:443"}, want: "2001:db8::7"},
		{name: "brackets", p: private, peer: "127.0.0.1:1", xff: []string{"[2001:db8::7]"}, want: "2001:db8::7"},
		{name: "zone", p: private, peer: "127.0.0.1:1", xff: []string{"fe80::1%eth0"}, want: "fe80::1"},
		{name: "mapped client", p: private, peer: "127.0.0.1:1", xff: []string{"::ffff:1.2.3.4"}, want: "1.2.3.4"},
		{name: "tabs", p: private, peer: "127.0.0.1:1", xff: []string{"\t1.2.3.4 "}, want: "1.2.3.4"},
		{name: "garbage", p: private, peer: "127.0.0.1:1", xff: []string{"1.2.3.4, <script>"}, want: "127.0.0.1"},
		{name: "garbage after a hop", p: private, peer: "127.0.0.1:1", xff: []string{"unknown, 10.0.0.7"}, want: "10.0.0.7"},
		{name: "garbage left of the client", p: private, peer: "127.0.0.1:1", xff: []string{"unknown, 1.2.3.4"}, want: "1.2.3.4"},
		{name: "empty", p: private, peer: "127.0.0.1:1", xff: []string{""}, want: "127.0.0.1"},
		{name: "trailing comma", p: private, peer: "127.0.0.1:1", xff: []string{"1.2.3.4,"}, want: "127.0.0.1"},
		{name: "unspecified", p: private, peer: "127.0.0.1:1", xff: []string{"0.0.0.0"}, want: "127.0.0.1"},
		{name: "multicast", p: private, peer: "127.0.0.1:1", xff: []string{"224.0.0.1"}, want: "127.0.0.1"},
		{name: "octal", p: private, peer: "127.0.0.1:1", xff: []string{"010.1.1.1"}, want: "127.0.0.1"},
		{name: "endless", p: private, peer: "127.0.0.1:1", xff: []string{many}, want: "10.0.0.2"},
		{name: "list trusts public", p: listed, peer: "203.0.113.5:1", xff: []string{"1.2.3.4"}, want: "1.2.3.4"},
		{name: "list drops private", p: listed, peer: "10.0.0.1:1", xff: []string{"1.2.3.4"}, want: "10.0.0.1"},
		{name: "list has one address", p: listed, peer: "10.9.9.9:1", xff: []string{"1.2.3.4"}, want: "1.2.3.4"},
		{name: "list stops at private client", p: listed, peer: "10.9.9.9:1", xff: []string{"1.2.3.4, 10.0.0.7"}, want: "10.0.0.7"},
		{name: "list of proxies only", p: listed, peer: "10.9.9.9:1", xff: []string{"203.0.113.8, 203.0.113.9"}, want: "203.0.113.8"},
		{name: "unix socket", p: private, peer: "@", xff: []string{"1.2.3.4"}, want: "invalid IP"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := httptest.NewRequest("GET", "/", nil)
			r.RemoteAddr = tt.peer
			if tt.xff != nil {
				r.Header["X-Forwarded-For"] = tt.xff
			}
			if got := tt.p.Client(r).String(); got != tt.want {
				t.Errorf("Client() = %s, want %s", got, tt.want)
			}
		})
	}
}

func TestProxiesMiddleware(t *testing.T) {
	t.Parallel()
	var got netip.Addr
	h := proxies(t, true).Middleware(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { got = web.ClientAddr(r.Context()) }))
	r := httptest.NewRequest("GET", "/", nil)
	r.RemoteAddr = "127.0.0.1:9"
	r.Header.Set("X-Forwarded-For", "1.2.3.4")
	h.ServeHTTP(httptest.NewRecorder(), r)
	if want := "1.2.3.4"; got.String() != want {
		t.Errorf("ClientAddr = %s, want %s", got, want)
	}
}

func TestParseNetworks(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		in string
		ok bool
	}{
		{"10.0.0.0/8", true},
		{" 10.1.2.3 ", true},
		{"fd00::/8", true},
		{"::1", true},
		{"::ffff:10.0.0.1", true},
		{"10.1.2.3/8", false},
		{"::ffff:10.0.0.0/104", false},
		{"fe80::1%eth0", false},
		{"10.0.0.0/33", false},
		{"proxy.local", false},
		{"", false},
	} {
		if _, err := web.ParseNetworks([]string{tt.in}); (err == nil) != tt.ok {
			t.Errorf("ParseNetworks(%q) error = %v, want ok %v", tt.in, err, tt.ok)
		}
	}
}

func TestIsDirectLoopback(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, peer, host string
		header           map[string]string
		want             bool
	}{
		{"plain", "127.0.0.1:1", "localhost:3000", nil, true},
		{"v6", "[::1]:1", "[::1]:3000", nil, true},
		{"v6 without port", "[::1]:1", "[::1]", nil, true},
		{"mapped", "[::ffff:127.0.0.1]:1", "127.0.0.1:3000", nil, true},
		{"other peer", "10.0.0.1:1", "localhost", nil, false},
		{"no peer", "@", "localhost", nil, false},
		{"forwarded", "127.0.0.1:1", "localhost", map[string]string{"Forwarded": "for=1.2.3.4"}, false},
		{"forwarded for", "127.0.0.1:1", "localhost", map[string]string{"X-Forwarded-For": ""}, false},
		{"forwarded host", "127.0.0.1:1", "localhost", map[string]string{"x-forwarded-host": "a"}, false},
		{"forwarded anything", "127.0.0.1:1", "localhost", map[string]string{"X-Forwarded-Whatever": "a"}, false},
		{"via", "127.0.0.1:1", "localhost", map[string]string{"Via": "1.1 a"}, false},
		{"real ip", "127.0.0.1:1", "localhost", map[string]string{"X-Real-Ip": "1.2.3.4"}, false},
		{"rebound name", "127.0.0.1:1", "evil.test:3000", nil, false},
		{"name that begins like ours", "127.0.0.1:1", "localhost.evil.test", nil, false},
		{"page of another site", "127.0.0.1:1", "localhost:3000", map[string]string{"Origin": "https://evil.test"}, false},
		{"sandboxed page", "127.0.0.1:1", "localhost:3000", map[string]string{"Origin": "null"}, false},
		{"other site without origin", "127.0.0.1:1", "localhost:3000", map[string]string{"Sec-Fetch-Site": "cross-site"}, false},
		{"our own page", "127.0.0.1:1", "localhost:3000", map[string]string{"Origin": "http://localhost:3000", "Sec-Fetch-Site": "same-origin"}, true},
		{"typed in", "127.0.0.1:1", "localhost:3000", map[string]string{"Sec-Fetch-Site": "none"}, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := httptest.NewRequest("GET", "/metrics", nil)
			r.RemoteAddr, r.Host = tt.peer, tt.host
			for k, v := range tt.header {
				r.Header[k] = []string{v}
			}
			if got := web.IsDirectLoopback(r); got != tt.want {
				t.Errorf("IsDirectLoopback = %v, want %v", got, tt.want)
			}
		})
	}
}

// FuzzClient checks that no header makes an untrusted peer somebody else, and
// that what comes out is always an address one can count by.
func FuzzClient(f *testing.F) {
	for _, s := range []string{"1.2.3.4", "a,b", "[::1]:1", "::ffff:10.0.0.1", "fe80::1%\x00", ",,,", "10.0.0.1,10.0.0.2", "\t"} {
		f.Add(s, s, true)
	}
	private, off := proxies(f, true), proxies(f, false)
	f.Fuzz(func(t *testing.T, one, two string, near bool) {
		r := httptest.NewRequest("GET", "/", nil)
		r.Header["X-Forwarded-For"] = []string{one, two}
		r.RemoteAddr = "198.51.100.7:99"
		if near {
			r.RemoteAddr = "127.0.0.1:99"
		}
		peer := netip.MustParseAddrPort(r.RemoteAddr).Addr()
		if got := off.Client(r); got != peer {
			t.Fatalf("off: Client = %s, want the peer %s", got, peer)
		}
		got := private.Client(r)
		if !near && got != peer {
			t.Fatalf("untrusted peer: Client = %s, want %s", got, peer)
		}
		if !got.IsValid() || got.Zone() != "" || got.Is4In6() || got.IsUnspecified() || got.IsMulticast() {
			t.Fatalf("Client = %s, not an address to count by", got)
		}
	})
}
