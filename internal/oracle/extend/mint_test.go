package extend_test

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hearth-dmrv/hearth/internal/did"
	"github.com/hearth-dmrv/hearth/internal/oracle/extend"
	"github.com/hearth-dmrv/hearth/internal/oracle/tool"
	"github.com/hearth-dmrv/hearth/internal/ucan"
	"github.com/hearth-dmrv/hearth/plugin"
)

const (
	mintOracle  did.DID = "did:ixo:ixo1oracle000000000000000000000000000000000"
	mintService did.DID = "did:web:svc.example"
)

func seedKey(b byte) ed25519.PrivateKey {
	return ed25519.NewKeyFromSeed(bytes.Repeat([]byte{b}, ed25519.SeedSize))
}

// household is somebody who delegates, and an oracle.
type household struct {
	t      *testing.T
	me     *ucan.Signer
	svc    *extend.Minter
	now    time.Time
	given  string // what is delegated now; "": nothing
	events []string
}

func newHousehold(t *testing.T, c extend.MintConfig) *household {
	t.Helper()
	h := &household{t: t, now: time.Now()}
	var err error
	if h.me, err = ucan.NewSigner("", seedKey(1)); err != nil {
		t.Fatal(err)
	}
	c.DID, c.Now = mintOracle, func() time.Time { return h.now }
	if h.svc, err = extend.NewMinter(c); err != nil {
		t.Fatal(err)
	}
	return h
}

func (h *household) delegate(ttl time.Duration, can, with string) {
	h.t.Helper()
	u, err := h.me.Mint(ucan.Draft{Audience: mintOracle, Expires: h.now.Add(ttl), Capabilities: []ucan.Capability{{Can: can, With: with}}})
	if err != nil {
		h.t.Fatal(err)
	}
	h.given = u.Text()
}

func (h *household) ctx() context.Context {
	return tool.With(h.t.Context(), tool.Context{
		User: h.me.DID().String(), SessionID: "$1", RequestID: "r",
		Delegation: func(context.Context) (tool.Delegation, bool, error) {
			return tool.Delegation{Token: tool.NewToken(h.given)}, h.given != "", nil
		},
		Emit: func(event string, payload any) {
			r, _ := payload.(extend.DelegationRequired)
			h.events = append(h.events, event+" "+r.Can+" "+r.With)
		},
	})
}

func (h *household) mint(w plugin.Want) (plugin.Invocation, error) {
	if w.Service == "" {
		w.Service = mintService.String()
	}
	return h.svc.Mint(h.ctx(), http.DefaultClient, w)
}

var read = plugin.Want{Can: "memory/read", With: "ixo:memory"}

// check is the service: it takes invocations for itself whose proof is the user's.
func (h *household) check(token string) error {
	keys := ucan.Static{mintOracle: {seedKey(2).Public().(ed25519.PublicKey)}}
	_, err := ucan.New(ucan.Config{DID: mintService, Resolver: keys, Now: func() time.Time { return h.now }}).
		Claim(h.t.Context(), token, ucan.Want{Can: "memory/read", With: "ixo:memory", Roots: []did.DID{h.me.DID()}, MaxTTL: time.Hour})
	return err
}

func TestMint(t *testing.T) {
	t.Parallel()
	h := newHousehold(t, extend.MintConfig{Key: seedKey(2)})
	h.delegate(3*time.Hour, "memory/*", "ixo:memory")
	first, err := h.mint(read)
	if err != nil {
		t.Fatal(err)
	}
	if err := h.check(first.Token); err != nil {
		t.Errorf("the service refuses the invocation: %v", err)
	}
	r := httptest.NewRequest(http.MethodGet, "/", http.NoBody)
	first.Sign(r)
	if r.Header.Get("Authorization") != "Bearer "+first.Token || r.Header.Get("X-Auth-Type") != "ucan" || first.Service != mintService.String() || first.Expires.Sub(h.now).Round(time.Minute) != time.Hour {
		t.Errorf("the invocation is %+v", first)
	}
	if again, err := h.mint(read); err != nil || again != first {
		t.Errorf("a second one = %v, %v, want the first", again, err)
	}
	fresh := read
	fresh.Fresh = true
	if other, err := h.mint(fresh); err != nil || other.Token == first.Token {
		t.Errorf("a fresh one is the first: %v", err)
	}
	h.now = h.now.Add(59*time.Minute + 30*time.Second)
	later, err := h.mint(read)
	if err != nil || later == first {
		t.Errorf("shortly before its end = %v, %v, want another", later, err)
	}
	h.now = h.now.Add(100 * time.Minute)
	if last, err := h.mint(read); err != nil || last.Expires.Sub(h.now) > 21*time.Minute {
		t.Errorf("it outlives the delegation: %v, %v", last.Expires.Sub(h.now), err)
	}
}

// What was not given, was taken back or has ended is refused, also when it is
// remembered.
func TestMintRefuses(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		change func(h *household)
		want   plugin.Want
	}{
		"nothing given": {func(h *household) { h.given = "" }, read},
		"taken back": {func(h *household) {
			if _, err := h.mint(read); err != nil {
				h.t.Error(err)
			}
			h.given = ""
		}, read},
		"replaced by less": {func(h *household) {
			if _, err := h.mint(read); err != nil {
				h.t.Error(err)
			}
			h.delegate(time.Hour, "memory/write", "ixo:memory")
		}, read},
		"another resource": {func(*household) {}, plugin.Want{Can: "memory/read", With: "ixo:files"}},
		"everything":       {func(*household) {}, plugin.Want{With: "ixo:memory"}},
		"ended":            {func(h *household) { h.now = h.now.Add(2 * time.Hour) }, read},
	} {
		h := newHousehold(t, extend.MintConfig{Key: seedKey(2)})
		h.delegate(time.Hour, "memory/*", "ixo:memory")
		tt.change(h)
		_, err := h.mint(tt.want)
		var e *plugin.Error
		if !errors.As(err, &e) || e.Status != http.StatusUnauthorized || len(h.events) != 1 || !strings.HasPrefix(h.events[0], extend.EventDelegation) {
			t.Errorf("%s: Mint() = %v, the pages heard %v", name, err, h.events)
		}
	}
	h := newHousehold(t, extend.MintConfig{})
	if _, err := h.mint(read); err == nil || !strings.Contains(err.Error(), "no key to sign with") {
		t.Errorf("without a key: %v", err)
	}
	h = newHousehold(t, extend.MintConfig{Key: seedKey(2)})
	for _, w := range []plugin.Want{{Service: "svc", With: "x"}, {Service: mintService.String()}, {Service: "https://127.0.0.1", With: "x"}} {
		if _, err := h.svc.Mint(h.ctx(), nil, w); err == nil {
			t.Errorf("Mint(%+v) is accepted", w)
		}
	}
}

// A user is asked once in a while.
func TestAskedOnce(t *testing.T) {
	t.Parallel()
	h := newHousehold(t, extend.MintConfig{Key: seedKey(2), Ask: time.Hour})
	for i, want := range []string{"Tell them to authorise", "Do not ask again", "Tell them to authorise"} {
		if i == 2 {
			h.now = h.now.Add(time.Hour)
		}
		if _, err := h.mint(read); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("question %d: %v, want %q", i, err, want)
		}
	}
	if len(h.events) != 2 {
		t.Errorf("the pages heard %v", h.events)
	}
}

// The DID of an address is what it says itself, and nobody else's.
func TestServiceDID(t *testing.T) {
	t.Parallel()
	var asked atomic.Int32
	var says atomic.Value
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		if r.URL.Path == "/.well-known/did.json" {
			_, _ = w.Write([]byte(`{"id":"` + says.Load().(string) + `"}`))
		}
	}))
	defer srv.Close()
	port := srv.URL[strings.LastIndex(srv.URL, ":")+1:]
	address, own := "http://localhost:"+port, "did:web:localhost%3A"+port
	h := newHousehold(t, extend.MintConfig{Key: seedKey(2)})
	h.delegate(time.Hour, "memory/*", "ixo:memory")
	want := read
	want.Service = address + "/api/v2"
	for _, wrong := range []string{"did:web:bank.example", "", "did:key:z6Mk"} {
		says.Store(wrong)
		if _, err := h.mint(want); err == nil || !strings.Contains(err.Error(), "publishes a different DID") {
			t.Errorf("%q: Mint() = %v", wrong, err)
		}
	}
	says.Store(own)
	before := asked.Load()
	for range 3 {
		if got, err := h.mint(want); err != nil || got.Service != own {
			t.Errorf("Mint() = %+v, %v, want one for %s", got, err, own)
		}
	}
	if asked.Load() != before+1 {
		t.Errorf("the address was asked %d times", asked.Load()-before)
	}
}
