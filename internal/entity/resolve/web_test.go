package resolve_test

import (
	"context"
	"errors"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
	"github.com/hearth-dmrv/hearth/internal/entity/resolve"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/outbound"
)

// hosts are the servers of others: documents by address, and who was asked.
type hosts struct {
	mu    sync.Mutex
	pages map[string]string
	asked []string
	hold  chan struct{} // when set, an answer waits until it closes
}

func (h *hosts) get(ctx context.Context, address string) ([]byte, error) {
	h.mu.Lock()
	h.asked = append(h.asked, address)
	text, ok := h.pages[address]
	hold := h.hold
	h.mu.Unlock()
	if hold != nil {
		<-hold
	}
	if _, bounded := ctx.Deadline(); !bounded {
		return nil, errors.New("asked without a limit of time")
	}
	if !ok {
		return nil, errors.New("the host answers 404 at 10.0.0.7")
	}
	return []byte(text), nil
}

func (h *hosts) count() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.asked)
}

func TestResolveWeb(t *testing.T) {
	t.Parallel()
	const at = "https://example.com/user/alice/did.json"
	for _, tt := range []struct{ name, did, address, page, code, want string }{
		{"found", "did:web:example.com:user:alice", at, ` {"id": "did:web:example.com:user:alice", "x": [1.0]} `, "", `{"id":"did:web:example.com:user:alice","x":[1.0]}`},
		{"root with a port", "did:web:example.com%3A8443", "https://example.com:8443/.well-known/did.json", `{"id":"did:web:example.com%3A8443"}`, "", `{"id":"did:web:example.com%3A8443"}`},
		{"not there", "did:web:example.com:user:bob", "https://example.com/user/bob/did.json", "", "DID_NOT_FOUND", ""},
		{"about another", "did:web:example.com:user:alice", at, `{"id":"did:web:example.com:user:mallory"}`, "DID_NOT_FOUND", ""},
		{"without an id", "did:web:example.com:user:alice", at, `{}`, "DID_NOT_FOUND", ""},
		{"a list", "did:web:example.com:user:alice", at, `[]`, "DID_NOT_FOUND", ""},
		{"a page", "did:web:example.com:user:alice", at, `<html>`, "DID_NOT_FOUND", ""},
		{"a member twice", "did:web:example.com:user:alice", at, `{"id":"x","id":"did:web:example.com:user:alice"}`, "DID_NOT_FOUND", ""},
		{"deep", "did:web:example.com:user:alice", at, `{"id":"did:web:example.com:user:alice","x":` + strings.Repeat("[", 70) + strings.Repeat("]", 70) + `}`, "DID_NOT_FOUND", ""},
		{"large", "did:web:example.com:user:alice", at, `{"id":"did:web:example.com:user:alice","x":"` + strings.Repeat("x", 70_000) + `"}`, "DID_NOT_FOUND", ""},
		{"an address", "did:web:10.0.0.7", "", "", "DID_INVALID", ""},
		{"out of its folder", "did:web:example.com:..:x", "", "", "DID_INVALID", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			h := &hosts{pages: map[string]string{}}
			if tt.page != "" {
				h.pages[tt.address] = tt.page
			}
			e := newEnv(t, dbtest.SQLite(t), func(c *resolve.Config) { c.Web = h.get })
			for range 3 {
				got, err := e.dids.Resolve(owner(t.Context(), "alpha"), tt.did, resolve.Version{})
				if fault.CodeOf(err) != tt.code || (err == nil) != (tt.code == "") {
					t.Fatalf("Resolve(%s) = %v, want code %q", tt.did, err, tt.code)
				}
				if err != nil && strings.Contains(err.Error(), "10.0.0.7") && tt.address != "" {
					t.Errorf("the fault tells about our network: %v", err)
				}
				if err == nil && string(got.DIDDocument.Value) != tt.want {
					t.Errorf("document = %s, want %s", got.DIDDocument.Value, tt.want)
				}
			}
			want := 1 // good or bad, an answer is kept
			if tt.address == "" {
				want = 0
			}
			if h.count() != want || want == 1 && h.asked[0] != tt.address {
				t.Errorf("asked %q, want %s once", h.asked, tt.address)
			}
		})
	}
}

func TestResolveWebVersions(t *testing.T) {
	t.Parallel()
	h := &hosts{}
	e := newEnv(t, dbtest.SQLite(t), func(c *resolve.Config) { c.Web = h.get })
	_, err := e.dids.Resolve(owner(t.Context(), "alpha"), "did:web:example.com", resolve.Version{ID: "1"})
	if fault.CodeOf(err) != "DID_OPTIONS_INVALID" || h.count() != 0 {
		t.Errorf("Resolve = %v after %d questions, want DID_OPTIONS_INVALID after none", err, h.count())
	}
}

// TestResolveWebAgain asks once more when the answer is old, and keeps no more
// answers than it may.
func TestResolveWebAgain(t *testing.T) {
	t.Parallel()
	h := &hosts{pages: map[string]string{"https://example.com/.well-known/did.json": `{"id":"did:web:example.com"}`}}
	now := clock()
	e := newEnv(t, dbtest.SQLite(t), func(c *resolve.Config) { c.Web = h.get; c.Now = func() time.Time { return now } })
	ask := func(id string) {
		t.Helper()
		if _, err := e.dids.Resolve(owner(t.Context(), "alpha"), id, resolve.Version{}); err != nil && fault.CodeOf(err) != "DID_NOT_FOUND" {
			t.Fatal(err)
		}
	}
	ask("did:web:example.com")
	now = now.Add(59 * time.Second)
	ask("did:web:example.com")
	if h.count() != 1 {
		t.Errorf("asked %d times in a minute, want 1", h.count())
	}
	now = now.Add(2 * time.Second)
	ask("did:web:example.com")
	if h.count() != 2 {
		t.Errorf("asked %d times after a minute, want 2", h.count())
	}
	for i := range 1000 {
		ask("did:web:h" + strings.Repeat("x", i%50) + ".example" + strings.Repeat("y", i/50) + ".org")
	}
	if h.count() != 1002 {
		t.Errorf("asked %d times, want 1002", h.count())
	}
}

// TestResolveWebBusy holds that slow hosts cannot take everything.
func TestResolveWebBusy(t *testing.T) {
	t.Parallel()
	h := &hosts{hold: make(chan struct{})}
	e := newEnv(t, dbtest.SQLite(t), func(c *resolve.Config) { c.Web = h.get })
	const callers = 40
	codes := make(chan string, callers)
	for i := range callers {
		go func() {
			_, err := e.dids.Resolve(owner(t.Context(), "alpha"), "did:web:h"+strings.Repeat("x", i)+".org", resolve.Version{})
			codes <- fault.CodeOf(err)
		}()
	}
	for range callers - 16 {
		if got := <-codes; got != "DID_RESOLVER_BUSY" {
			t.Errorf("code = %q, want DID_RESOLVER_BUSY", got)
		}
	}
	close(h.hold)
	for range 16 {
		if got := <-codes; got != "DID_NOT_FOUND" {
			t.Errorf("code = %q, want DID_NOT_FOUND", got)
		}
	}
	if h.count() != 16 {
		t.Errorf("%d hosts asked at once, want 16", h.count())
	}
}

// TestStrangersMakeUsCallNobody sends every public route the names of others.
func TestStrangersMakeUsCallNobody(t *testing.T) {
	t.Parallel()
	h := &hosts{}
	e := newEnv(t, dbtest.SQLite(t), func(c *resolve.Config) { c.Web = h.get })
	handler := e.handler(t)
	for _, id := range []string{"did:web:example.com", "did:web:169.254.169.254", "did:web:localhost%3A3000", "did:web:twins.example.org.evil.example", "did:web:twins.example.org:other"} {
		if w := ask(handler, "/1.0/identifiers/"+url.PathEscape(id)); w.Code != 400 {
			t.Errorf("%s = %d %s, want 400", id, w.Code, w.Body)
		}
	}
	if h.count() != 0 {
		t.Errorf("strangers made us ask %q", h.asked)
	}
}

// TestWebMeetsTheGuard shows that an address which did:web allows and the
// outbound guard does not is refused as one that is not there.
func TestWebMeetsTheGuard(t *testing.T) {
	t.Parallel()
	guard, err := outbound.New(outbound.Config{})
	if err != nil {
		t.Fatal(err)
	}
	e := newEnv(t, dbtest.SQLite(t), func(c *resolve.Config) {
		c.Web = func(_ context.Context, address string) ([]byte, error) {
			_, err := guard.CheckURL(address)
			if err == nil {
				t.Errorf("the guard lets %s pass", address)
			}
			return nil, err
		}
	})
	for _, id := range []string{"did:web:localhost", "did:web:localhost%3A3000:x", "did:web:example.com%3A22"} {
		if _, err := e.dids.Resolve(owner(t.Context(), "alpha"), id, resolve.Version{}); fault.CodeOf(err) != "DID_NOT_FOUND" {
			t.Errorf("Resolve(%s) = %v, want DID_NOT_FOUND", id, err)
		}
	}
}
