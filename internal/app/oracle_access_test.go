package app_test

import (
	"crypto/ed25519"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/hearth-dmrv/hearth/internal/did"
	"github.com/hearth-dmrv/hearth/internal/ucan"
)

// signer is a key of seed, speaking as id.
func signer(t *testing.T, id did.DID, seed string) *ucan.Signer {
	t.Helper()
	s, err := ucan.NewSigner(id, ed25519.NewKeyFromSeed([]byte(strings.Repeat(seed, 32))))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// everything is what an invocation says.
var everything = ucan.Capability{Can: "*", With: ucan.DefaultResource}

// asksWith lists the keys with a token and returns the status.
func (h *house) asksWith(t *testing.T, s *ucan.Signer, header string, c ucan.Capability, ttl time.Duration) int {
	t.Helper()
	u, err := s.Mint(ucan.Draft{Audience: h.OracleDID(), Expires: time.Now().Add(ttl), Capabilities: []ucan.Capability{c}})
	if err != nil {
		t.Fatal(err)
	}
	r := httptest.NewRequest(http.MethodGet, "/v1/api-keys", nil)
	r.Header.Set("X-Auth-Type", "ucan")
	if header == "Authorization" {
		r.Header.Set(header, "Bearer "+u.Text())
	} else {
		r.Header.Set(header, u.Text())
	}
	w := httptest.NewRecorder()
	h.Handler.ServeHTTP(w, r)
	return w.Code
}

// member puts a DID into a group that gives everything.
func (h *house) member(t *testing.T, id string) {
	t.Helper()
	w := h.post("/v1/entities", `{"type":"Organisation","protocol":"did:ixo:protocol/organisation","properties":{"name":"N"},"groups":[{"name":"all","scopes":["*"]}]}`)
	var org struct {
		Relationships []struct {
			Target string `json:"target"`
		} `json:"relationships"`
	}
	if err := json.Unmarshal(w.Body.Bytes(), &org); err != nil || w.Code != 201 || len(org.Relationships) == 0 {
		t.Fatalf("make an organisation: %d %s %v", w.Code, w.Body, err)
	}
	path := fmt.Sprintf("/v1/entities/%s/members/%s", strings.ReplaceAll(org.Relationships[0].Target, "/", "%2F"), strings.ReplaceAll(id, "/", "%2F"))
	if w := h.put(path, `{}`); w.Code >= 300 {
		t.Fatalf("PUT %s: %d %s", path, w.Code, w.Body)
	}
}

// TestTokensAreRefusedWithReasons: on /v1 a caller learns what is wrong with a
// token. Area D says what published clients know.
func TestTokensAreRefusedWithReasons(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	ask := func(path string, s *ucan.Signer, d ucan.Draft, kind string) string {
		u, err := s.Mint(d)
		if err != nil {
			t.Fatal(err)
		}
		r := httptest.NewRequest(http.MethodGet, path, nil)
		r.Header.Set("Authorization", "Bearer "+u.Text())
		if kind != "" {
			r.Header.Set("X-Auth-Type", kind)
		}
		w := httptest.NewRecorder()
		h.Handler.ServeHTTP(w, r)
		return fmt.Sprint(w.Code, " ", w.Body)
	}
	draft := func(ttl time.Duration) ucan.Draft {
		return ucan.Draft{Audience: h.OracleDID(), Expires: time.Now().Add(ttl), Capabilities: []ucan.Capability{everything}}
	}
	amina, other := signer(t, "", "a"), draft(time.Minute)
	other.Audience = "did:ixo:entity:0123456789abcdef0123456789abcdef"
	for _, tt := range []struct {
		signer *ucan.Signer
		draft  ucan.Draft
		kind   string
		want   string
	}{
		{amina, draft(time.Hour), "ucan", "Invalid UCAN invocation: it lives 3600 s, at most 900 s."},
		{amina, draft(-time.Minute), "ucan", "Invalid UCAN invocation: it, or a proof in it, has expired."},
		{amina, other, "ucan", "Invalid UCAN invocation: its audience is " + string(other.Audience) + ", not " + string(h.OracleDID()) + "."},
		{signer(t, other.Audience, "a"), draft(time.Minute), "ucan", "Invalid UCAN invocation: it is not signed with a key of its issuer that counts here."},
		{signer(t, h.OracleDID(), "a"), draft(time.Minute), "ucan", "Invalid UCAN invocation: it is not signed with a key of its issuer that counts here."},
		{amina, draft(time.Minute), "", "A UCAN needs the header X-Auth-Type: ucan."},
	} {
		if got := ask("/v1/api-keys", tt.signer, tt.draft, tt.kind); !strings.HasPrefix(got, "401 ") || !strings.Contains(got, tt.want) {
			t.Errorf("/v1 answers %s, want 401 with %q", got, tt.want)
		}
	}
	if got := ask("/sessions", amina, draft(time.Hour), "ucan"); !strings.HasPrefix(got, "401 ") || !strings.Contains(got, `"Invalid UCAN invocation"`) {
		t.Errorf("/sessions answers %s, want 401 and no reason", got)
	}
	if got := ask("/v1/api-keys/current", amina, draft(time.Minute), "ucan"); !strings.Contains(got, "You call with a UCAN, not a key.") {
		t.Errorf("the key of a UCAN: %s, want where to look", got)
	}
}

// TestTokensOnV1 holds who is let into areas A and B with a UCAN: the holder of
// a key whose DID is in a group, with an invocation or with a delegation of
// everything. Nobody becomes somebody by making a twin of that name.
func TestTokensOnV1(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	amina := signer(t, "", "a")
	if got := h.asksWith(t, amina, "Authorization", everything, time.Minute); got != 403 {
		t.Errorf("a DID without a group: %d, want 403", got)
	}
	h.member(t, amina.DID().String())
	for _, tt := range []struct {
		name, header string
		says         ucan.Capability
		ttl          time.Duration
		want         int
	}{
		{"an invocation", "Authorization", everything, time.Minute, 200},
		{"a delegation of everything", "X-Ucan-Delegation", everything, time.Hour, 200},
		{"a delegation of one thing", "X-Ucan-Delegation", ucan.Capability{Can: "memory/read", With: "ixo:memory"}, 8000 * time.Hour, 401},
	} {
		if got := h.asksWith(t, amina, tt.header, tt.says, tt.ttl); got != tt.want {
			t.Errorf("%s: %d, want %d", tt.name, got, tt.want)
		}
	}

	const boss = "did:ixo:agent/boss"
	h.member(t, boss)
	evil := signer(t, boss, "e")
	alias := did.FromEd25519(ed25519.NewKeyFromSeed([]byte(strings.Repeat("e", 32))).Public().(ed25519.PublicKey))
	w := h.post("/v1/entities", `{"did":"`+boss+`","type":"Person","protocol":"did:ixo:protocol/person","properties":{"name":"x"},"alsoKnownAs":["`+alias.String()+`"]}`)
	if w.Code != 201 {
		t.Fatalf("make a twin with a chosen DID: %d %s", w.Code, w.Body)
	}
	if got := h.asksWith(t, evil, "Authorization", everything, time.Minute); got != 401 {
		t.Errorf("the key of a twin whose DID was chosen: %d, want 401", got)
	}
}

// TestTwinKeys holds that a twin whose DID was made here has the keys it is also
// known by, and loses one that is taken away.
func TestTwinKeys(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	alias := did.FromEd25519(ed25519.NewKeyFromSeed([]byte(strings.Repeat("k", 32))).Public().(ed25519.PublicKey))
	w := h.post("/v1/entities", `{"type":"Person","protocol":"did:ixo:protocol/person","properties":{"name":"x"},"alsoKnownAs":["`+alias.String()+`"]}`)
	var twin struct {
		DID string `json:"did"`
	}
	if err := json.Unmarshal(w.Body.Bytes(), &twin); err != nil || w.Code != 201 {
		t.Fatalf("make a twin: %d %s", w.Code, w.Body)
	}
	h.member(t, twin.DID)
	s := signer(t, did.DID(twin.DID), "k")
	if got := h.asksWith(t, s, "Authorization", everything, time.Minute); got != 200 {
		t.Errorf("with its key: %d, want 200", got)
	}
	r := httptest.NewRequest(http.MethodPatch, "/v1/entities/"+twin.DID, strings.NewReader(`{"alsoKnownAs":[]}`))
	r.Header.Set("Authorization", "Bearer "+owner)
	r.Header.Set("Content-Type", "application/merge-patch+json")
	r.Header.Set("If-Match", "*")
	out := httptest.NewRecorder()
	h.Handler.ServeHTTP(out, r)
	if out.Code != 200 {
		t.Fatalf("take the key away: %d %s", out.Code, out.Body)
	}
	if got := h.asksWith(t, s, "Authorization", everything, 2*time.Minute); got != 401 {
		t.Errorf("a new token with a key that was taken away: %d, want 401", got)
	}
}
