package oracle_test

import (
	"context"
	"crypto/ed25519"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hearth-dmrv/hearth/internal/did"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/oracle"
	"github.com/hearth-dmrv/hearth/internal/ucan"
)

func local(keys map[did.DID]byte) oracle.KeyLookup {
	return func(_ context.Context, id did.DID) ([]ed25519.PublicKey, error) {
		if seed, ok := keys[id]; ok {
			return []ed25519.PublicKey{public(seed)}, nil
		}
		return nil, ucan.ErrUnknownDID
	}
}

// TestChain: who is asked for keys, and in which order.
func TestChain(t *testing.T) {
	t.Parallel()
	static := ucan.Static{userDID: {public(1)}}
	for _, tt := range []struct {
		name string
		cfg  oracle.CallersConfig
		id   did.DID
		seed byte
		ok   bool
	}{
		{"own key", oracle.CallersConfig{Key: public(7)}, oracleDID, 7, true},
		{"own key wins", oracle.CallersConfig{Key: public(7), Local: local(map[did.DID]byte{oracleDID: 8})}, oracleDID, 8, false},
		{"own DID without its key", oracle.CallersConfig{Local: local(map[did.DID]byte{oracleDID: 8})}, oracleDID, 8, true},
		{"known beforehand", oracle.CallersConfig{Static: static}, userDID, 1, true},
		{"known beforehand wins", oracle.CallersConfig{Static: static, Local: local(map[did.DID]byte{userDID: 2})}, userDID, 2, false},
		{"a twin", oracle.CallersConfig{Local: local(map[did.DID]byte{userDID: 2})}, userDID, 2, true},
		{"a twin with another key", oracle.CallersConfig{Local: local(map[did.DID]byte{userDID: 2})}, userDID, 3, false},
		{"nobody", oracle.CallersConfig{}, userDID, 2, false},
		{"did:web is never looked up", oracle.CallersConfig{Local: local(map[did.DID]byte{"did:web:svc.example": 2})}, "did:web:svc.example", 2, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			tt.cfg.DID = oracleDID
			token := mint(t, signer(t, tt.id, tt.seed), invocation(oracleDID, time.Now().Add(time.Minute)))
			who, err := oracle.NewCallers(tt.cfg).Handshake(t.Context(), token, "")
			if (err == nil) != tt.ok || err == nil && who.DID != string(tt.id) {
				t.Errorf("got %v, %v, want ok %v", who, err, tt.ok)
			}
		})
	}
}

// TestIndexer asks a GraphQL server as the original does.
func TestIndexer(t *testing.T) {
	t.Parallel()
	multibase := strings.TrimPrefix(string(did.FromEd25519(public(1))), "did:key:")
	good := `{"data":{"iids":{"nodes":[{"id":"` + string(userDID) + `","verificationMethod":[{"id":"x#signing","type":"Multikey","controller":"x","publicKeyMultibase":"` + multibase + `"}]}]}}}`
	for _, tt := range []struct {
		name   string
		status int
		body   string
		code   string
	}{
		{"found", 200, good, ""},
		{"no such document", 200, `{"data":{"iids":{"nodes":[]}}}`, "UCAN_INVALID"},
		{"somebody else's document", 200, strings.ReplaceAll(good, string(userDID), "did:ixo:ixo1other"), "UCAN_INVALID"},
		{"no keys", 200, `{"data":{"iids":{"nodes":[{"id":"` + string(userDID) + `","verificationMethod":[]}]}}}`, "UCAN_INVALID"},
		{"it has failed", 200, `{"errors":[{"message":"secret table"}],"data":{"iids":{"nodes":[]}}}`, "UCAN_KEYS_UNAVAILABLE"},
		{"status", 502, good, "UCAN_KEYS_UNAVAILABLE"},
		{"not JSON", 200, "<html>", "UCAN_KEYS_UNAVAILABLE"},
		{"endless", 200, good + strings.Repeat(" ", 300<<10), "UCAN_KEYS_UNAVAILABLE"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var asked atomic.Int32
			srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				asked.Add(1)
				body, _ := io.ReadAll(r.Body)
				if !strings.Contains(string(body), `"variables":{"id":"`+string(userDID)+`"}`) || r.Method != http.MethodPost {
					t.Errorf("asked %s %s", r.Method, body)
				}
				w.WriteHeader(tt.status)
				_, _ = io.WriteString(w, tt.body)
			}))
			defer srv.Close()
			s := oracle.NewCallers(oracle.CallersConfig{DID: oracleDID, Indexer: srv.URL, Client: srv.Client(), Local: local(nil)})
			for range 3 {
				token := mint(t, signer(t, userDID, 1), ucan.Draft{
					Audience: oracleDID, Expires: time.Now().Add(time.Minute), Nonce: time.Now().String(),
					Capabilities: []ucan.Capability{{Can: "*", With: "ixo:oracle"}},
				})
				if _, err := s.Handshake(t.Context(), token, ""); fault.CodeOf(err) != tt.code {
					t.Errorf("got %v, want code %q", err, tt.code)
				}
			}
			if asked.Load() != 1 {
				t.Errorf("the indexer was asked %d times, want once", asked.Load())
			}
		})
	}
}

// TestIndexerIsAskedForIxoAlone: other methods never leave the house.
func TestIndexerIsAskedForIxoAlone(t *testing.T) {
	t.Parallel()
	srv := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("asked") }))
	defer srv.Close()
	s := oracle.NewCallers(oracle.CallersConfig{DID: oracleDID, Indexer: srv.URL, Client: srv.Client()})
	for _, id := range []did.DID{"did:web:svc.example", "did:x:abc"} {
		token := mint(t, signer(t, id, 1), invocation(oracleDID, time.Now().Add(time.Minute)))
		if _, err := s.Handshake(t.Context(), token, ""); fault.CodeOf(err) != "UCAN_INVALID" {
			t.Errorf("%s: got %v", id, err)
		}
	}
}
