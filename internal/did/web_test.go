package did_test

import (
	"net/url"
	"strings"
	"testing"

	"github.com/hearth-dmrv/hearth/internal/did"
)

func TestWebURL(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ did, want string }{
		{"did:web:w3c-ccg.github.io", "https://w3c-ccg.github.io/.well-known/did.json"},
		{"did:web:w3c-ccg.github.io:user:alice", "https://w3c-ccg.github.io/user/alice/did.json"},
		{"did:web:example.com%3A3000", "https://example.com:3000/.well-known/did.json"},
		{"did:web:Example.COM%3a3000:user:alice", "https://example.com:3000/user/alice/did.json"},
		{"did:web:localhost%3A3000", "http://localhost:3000/.well-known/did.json"},
		{"did:web:xn--nxasmq6b.example", "https://xn--nxasmq6b.example/.well-known/did.json"},
		{"did:ixo:x", ""},
		{"did:web:", ""},
		{"did:web:127.0.0.1", ""},
		{"did:web:%5B%3A%3A1%5D", ""},
		{"did:web:2130706433", ""},
		{"did:web:0x7f.1", ""},
		{"did:web:x.0x7f000001", ""},
		{"did:web:example.com%3A", ""},
		{"did:web:example.com%3A99999999", ""},
		{"did:web:example.com%3A80%3A80", ""},
		{"did:web:user%40example.com", ""},
		{"did:web:example.com%2Fx", ""},
		{"did:web:example.com/x", ""},
		{"did:web:example.com:..:x", ""},
		{"did:web:example.com:%2e%2E:x", ""},
		{"did:web:example.com:a%2F..%2F..", ""},
		{"did:web:example.com:a%3Fb", ""},
		{"did:web:example.com:a%5Cb", ""},
		{"did:web:example.com::x", ""},
		{"did:web:example.com:a:", ""},
		{"did:web:-", "https://-/.well-known/did.json"}, // no such name; the client will not find it
		{"did:web:a..b", ""},
		{"did:web:" + strings.Repeat("a", 64) + ".org", ""},
	} {
		got, err := did.DID(tt.did).WebURL()
		if got != tt.want || (err == nil) != (tt.want != "") {
			t.Errorf("WebURL(%s) = %q, %v, want %q", tt.did, got, err, tt.want)
		}
	}
}

func TestFromWeb(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ base, folders, want string }{
		{"https://twins.example.org", "", "did:web:twins.example.org"},
		{"https://Twins.example.org:443/", "", "did:web:twins.example.org"},
		{"https://twins.example.org:8443", "entities 1", "did:web:twins.example.org%3A8443:entities:1"},
		{"https://example.org/twins/v2/", "entities 1", "did:web:example.org:twins:v2:entities:1"},
		{"http://localhost:3000", "", "did:web:localhost%3A3000"},
		{"http://192.0.2.1", "", ""},
		{"http://[::1]:80", "", ""},
		{"https://example.org/%2e%2e/x", "", ""},
		{"https://example.org", "..", ""},
	} {
		u, err := url.Parse(tt.base)
		if err != nil {
			t.Fatal(err)
		}
		got, err := did.FromWeb(u, strings.Fields(tt.folders)...)
		if string(got) != tt.want || (err == nil) != (tt.want != "") {
			t.Errorf("FromWeb(%s, %s) = %q, %v, want %q", tt.base, tt.folders, got, err, tt.want)
		}
	}
}

// FuzzWebURL holds that no did:web leads anywhere but to a did.json on the
// host it names.
func FuzzWebURL(f *testing.F) {
	f.Add("example.com%3A3000:user:alice")
	f.Add("example.com:..:x")
	f.Add("a%40b")
	f.Fuzz(func(t *testing.T, id string) {
		raw, err := did.DID("did:web:" + id).WebURL()
		if err != nil {
			return
		}
		u, err := url.Parse(raw)
		if err != nil || u.User != nil || u.RawQuery != "" || u.Fragment != "" || !strings.HasSuffix(u.Path, "/did.json") || strings.Contains(u.Path, "/../") {
			t.Fatalf("did:web:%s = %s, %v", id, raw, err)
		}
		back, err := did.FromWeb(&url.URL{Scheme: u.Scheme, Host: u.Host})
		if err != nil || !strings.EqualFold(string(back), "did:web:"+strings.SplitN(strings.ReplaceAll(id, "%3a", "%3A"), ":", 2)[0]) && !strings.Contains(id, "%") && u.Port() != "443" {
			t.Fatalf("the host of did:web:%s is %s, %v", id, back, err)
		}
	})
}
