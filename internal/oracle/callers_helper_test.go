package oracle_test

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/hearth-dmrv/hearth/internal/did"
	"github.com/hearth-dmrv/hearth/internal/ucan"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// userDID is somebody whose keys must be looked up.
const userDID did.DID = "did:ixo:ixo1user00000000000000000000000000000000000"

func seedKey(b byte) ed25519.PrivateKey {
	return ed25519.NewKeyFromSeed(bytes.Repeat([]byte{b}, ed25519.SeedSize))
}

func public(b byte) ed25519.PublicKey { return seedKey(b).Public().(ed25519.PublicKey) }

// signer speaks as id with the key of a seed; without an id as its did:key.
func signer(t testing.TB, id did.DID, seed byte) *ucan.Signer {
	t.Helper()
	s, err := ucan.NewSigner(id, seedKey(seed))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func mint(t testing.TB, s *ucan.Signer, d ucan.Draft) string {
	t.Helper()
	token, err := s.Mint(d)
	if err != nil {
		t.Fatal(err)
	}
	return token.Text()
}

func invocation(aud did.DID, expires time.Time) ucan.Draft {
	return ucan.Draft{Audience: aud, Expires: expires, Capabilities: []ucan.Capability{{Can: "*", With: "ixo:oracle"}}}
}

func delegation(aud did.DID, expires time.Time) ucan.Draft {
	return ucan.Draft{Audience: aud, Expires: expires, Capabilities: []ucan.Capability{{Can: "memory/*", With: "ixo:memory"}}}
}

// narrow is a delegation of less than delegation gives.
func narrow(t testing.TB, s *ucan.Signer, aud did.DID, expires time.Time) *ucan.Token {
	t.Helper()
	token, err := s.Mint(ucan.Draft{Audience: aud, Expires: expires, Capabilities: []ucan.Capability{{Can: "memory/read", With: "ixo:memory"}}})
	if err != nil {
		t.Fatal(err)
	}
	return token
}

// from makes a request from an address with headers given in pairs.
func from(t testing.TB, addr string, headers ...string) *http.Request {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/sessions", nil)
	r.RemoteAddr = addr + ":4000"
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Add(headers[i], headers[i+1])
	}
	var seen *http.Request
	web.Proxies{}.Middleware(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { seen = r })).ServeHTTP(httptest.NewRecorder(), r)
	return seen
}

// at is a context that comes from an address.
func at(t testing.TB, addr string) context.Context {
	t.Helper()
	return from(t, addr).Context()
}
