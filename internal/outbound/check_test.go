package outbound_test

import (
	"strings"
	"testing"

	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/outbound"
)

func client(t testing.TB, c outbound.Config) *outbound.Client {
	t.Helper()
	cl, err := outbound.New(c)
	if err != nil {
		t.Fatalf("New: %v", err)
	}
	t.Cleanup(cl.Close)
	return cl
}

func TestCheckURL(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		url   string
		allow []string
		ok    bool
	}{
		{"https://hooks.example.org/x?y=z", nil, true},
		{"http://hooks.example.org:8080/", nil, true},
		{"https://xn--bcher-kva.example/", nil, true},
		{"https://1.1.1.1/", nil, true},
		{"https://[2606:4700::1111]/", nil, true},
		{"HTTPS://Hooks.Example.ORG./", nil, true},

		{"ftp://hooks.example.org/", nil, false},
		{"file:///etc/passwd", nil, false},
		{"gopher://hooks.example.org:80/", nil, false},
		{"javascript:alert(1)", nil, false},
		{"https:hooks.example.org", nil, false},
		{"//hooks.example.org/", nil, false},
		{"https:///path", nil, false},
		{"https://:443/", nil, false},
		{"", nil, false},
		{"https://user:secret@hooks.example.org/", nil, false},
		{"https://hooks.example.org@127.0.0.1/", nil, false},
		{"https://hooks.example.org:22/", nil, false},
		{"https://hooks.example.org:0/", nil, false},
		{"https://hooks.example.org:/", nil, false},
		{"https://hooks.example.org:99999/", nil, false},
		{"https://hooks.example.org:443x/", nil, false},
		{"https://hooks..example.org/", nil, false},
		{"https://hooks.example.org\\@127.0.0.1/", nil, false},
		{"https://hooks.example.org\r\nHost:x/", nil, false},
		{"https://１２７.０.０.１/", nil, false},
		{"https://127。0。0。1/", nil, false},
		{"https://bücher.example/", nil, false},
		{"https://a" + strings.Repeat("a", 5000) + ".example/", nil, false},

		{"http://localhost/", nil, false},
		{"http://LOCALHOST./", nil, false},
		{"http://x.localhost/", nil, false},
		{"http://127.0.0.1/", nil, false},
		{"http://127.1/", nil, false},
		{"http://2130706433/", nil, false},
		{"http://0x7f000001/", nil, false},
		{"http://0x7f.0.0.1/", nil, false},
		{"http://0177.0.0.1/", nil, false},
		{"http://017700000001/", nil, false},
		{"http://0/", nil, false},
		{"http://169.254.169.254/latest/meta-data/", nil, false},
		{"http://[::1]/", nil, false},
		{"http://[::]/", nil, false},
		{"http://[::ffff:127.0.0.1]/", nil, false},
		{"http://[::ffff:7f00:1]/", nil, false},
		{"http://[64:ff9b::7f00:1]/", nil, false},
		{"http://[fe80::1%25eth0]/", nil, false},
		{"http://[fd00:ec2::254]/", nil, false},

		{"http://10.0.0.5:9000/", []string{"10.0.0.0/24"}, true},
		{"http://10.0.1.5:9000/", []string{"10.0.0.0/24"}, false},
		{"http://127.0.0.1:11434/", []string{"127.0.0.1:11434"}, true},
		{"http://127.0.0.1:11435/", []string{"127.0.0.1:11434"}, false},
		{"http://[::ffff:127.0.0.1]:11434/", []string{"127.0.0.1:11434"}, true},
		{"http://[::1]:11434/", []string{"[::1]:11434"}, true},
		{"http://[::1]:11434/", []string{"::1"}, true},
		{"http://localhost:11434/", []string{"localhost:11434"}, true},
		{"http://localhost:11434/", []string{"LocalHost."}, true},
		{"http://localhost:11435/", []string{"localhost:11434"}, false},
		{"http://evil.localhost:11434/", []string{"localhost"}, false},
		{"ftp://localhost/", []string{"localhost"}, false},
		{"http://user@localhost/", []string{"localhost"}, false},
	} {
		_, err := client(t, outbound.Config{Allow: tt.allow}).CheckURL(tt.url)
		if (err == nil) != tt.ok {
			t.Errorf("CheckURL(%q) with %v = %v, want ok %v", tt.url, tt.allow, err, tt.ok)
		}
		if f := fault.As(err); err != nil && (f == nil || f.Kind != fault.Invalid || f.Code != "OUTBOUND_REFUSED") {
			t.Errorf("CheckURL(%q) = %v, want the fault OUTBOUND_REFUSED", tt.url, err)
		}
	}
}

func TestNewRefusesAllow(t *testing.T) {
	t.Parallel()
	for _, s := range []string{"", "10.0.0.0/99", "host:0", "host:99999", "host:http", "a b", "http://host", "[::1", "*"} {
		if _, err := outbound.New(outbound.Config{Allow: []string{s}}); err == nil {
			t.Errorf("New with Allow %q succeeded, want an error", s)
		}
	}
}

// FuzzCheckURL checks that what passes is a plain URL of a host that is not
// ours.
func FuzzCheckURL(f *testing.F) {
	for _, s := range []string{"https://a.example/", "http://127.0.0.1", "http://0x7f.1/", "http://[::1]:80", "https://u@h", "http://①.example", "http:\\\\a"} {
		f.Add(s)
	}
	c := client(f, outbound.Config{})
	f.Fuzz(func(t *testing.T, raw string) {
		u, err := c.CheckURL(raw)
		if err != nil {
			if fault.CodeOf(err) != "OUTBOUND_REFUSED" {
				t.Fatalf("CheckURL(%q) = %v, want OUTBOUND_REFUSED", raw, err)
			}
			return
		}
		if u.User != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" {
			t.Fatalf("CheckURL(%q) let %#v through", raw, u)
		}
		for _, c := range u.Hostname() {
			if c > 126 || c <= ' ' {
				t.Fatalf("CheckURL(%q) let the host %q through", raw, u.Hostname())
			}
		}
	})
}
