package app_test

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/hearth-dmrv/hearth/internal/app"
	"github.com/hearth-dmrv/hearth/internal/config"
	"github.com/hearth-dmrv/hearth/internal/did"
	"github.com/hearth-dmrv/hearth/internal/socketio/clienttest"
	"github.com/hearth-dmrv/hearth/internal/ucan"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// minted is a token of a user: of everything on the oracle.
func minted(t *testing.T, user byte, audience did.DID, expires time.Time) string {
	t.Helper()
	u, err := signer(t, "", string(rune(user))).Mint(ucan.Draft{Audience: audience, Expires: expires, Capabilities: []ucan.Capability{everything}})
	if err != nil {
		t.Fatal(err)
	}
	return u.Text()
}

// sendAs calls a route with headers, given in pairs.
func (h *house) sendAs(t *testing.T, r web.Route, headers []string) *httptest.ResponseRecorder {
	t.Helper()
	req := h.request(t, r, h.path(r))
	for i := 0; i+1 < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	return h.answer(r, req)
}

// TestOracleRoutesTimesCallers is made from the table of routes: every route of
// the oracle refuses every kind of caller whose tokens are not good, in the two
// texts clients know. A new route is in it by itself; who is let in, and to
// what, is TestOracleForeign.
func TestOracleRoutesTimesCallers(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	now, us := time.Now(), h.OracleDID()
	soon := now.Add(10 * time.Minute)
	good, deleg := minted(t, 'a', us, soon), minted(t, 'a', us, now.Add(time.Hour))
	bearer := func(token string) []string {
		return []string{"Authorization", "Bearer " + token, "X-Auth-Type", "ucan"}
	}
	const missing, invalid = ucan.TextMissing, ucan.TextInvalid
	callers := []struct {
		name    string
		headers []string
		text    string
	}{
		{"nobody", nil, missing},
		{"x-did", []string{"X-Did", signer(t, "", "a").DID().String()}, missing},
		{"x-did with a selector", []string{"X-Did", signer(t, "", "a").DID().String(), "X-Auth-Type", "ucan"}, missing},
		{"an API key of the owner", []string{"Authorization", "Bearer " + owner}, missing},
		{"an API key called a UCAN", bearer(owner), invalid},
		{"an invocation without its selector", []string{"Authorization", "Bearer " + good}, missing},
		{"a selector in capitals", []string{"Authorization", "Bearer " + good, "X-Auth-Type", "UCAN"}, missing},
		{"an invocation that has ended", bearer(minted(t, 'a', us, now.Add(-time.Second))), invalid},
		{"an invocation that ends too late", bearer(minted(t, 'a', us, now.Add(time.Hour))), invalid},
		{"an invocation without an end", bearer(minted(t, 'a', us, time.Time{})), invalid},
		{"an invocation for another oracle", bearer(minted(t, 'a', "did:ixo:ixo1another", soon)), invalid},
		{"an invocation that was changed", bearer(good[:len(good)/2] + "AAAA" + good[len(good)/2+4:]), invalid},
		{"a bad invocation beside a good delegation", append(bearer("x"), "X-Ucan-Delegation", deleg), invalid},
		{"a delegation that has ended", []string{"X-Ucan-Delegation", minted(t, 'a', us, now.Add(-time.Second))}, missing},
		{"a delegation without an end", []string{"X-Ucan-Delegation", minted(t, 'a', us, time.Time{})}, missing},
		{"a delegation for another oracle", []string{"X-Ucan-Delegation", minted(t, 'a', "did:ixo:ixo1another", soon)}, missing},
	}
	n := 0
	for _, r := range h.Routes {
		if !ofOracle(r) {
			continue
		}
		n++
		for _, c := range callers {
			w := h.sendAs(t, r, c.headers)
			if want := `{"message":"` + c.text + `","statusCode":401}`; w.Code != 401 || strings.TrimSpace(w.Body.String()) != want {
				t.Errorf("%s %s by %s: got %d %s, want 401 %s", r.Method, r.Path, c.name, w.Code, w.Body, want)
			}
		}
	}
	if n < 12 {
		t.Errorf("the table has %d routes of the oracle", n)
	}
	for _, r := range h.Routes { // after the others: it deletes
		if ofOracle(r) && r.Method == http.MethodGet && !strings.Contains(r.Doc.Produces, "event-stream") {
			for name, headers := range map[string][]string{"a delegation": {"X-Ucan-Delegation", deleg}, "both": append(bearer(good), "X-Ucan-Delegation", deleg)} {
				if w := h.sendAs(t, r, headers); w.Code != 200 {
					t.Errorf("%s %s by %s: got %d %s, want 200", r.Method, r.Path, name, w.Code, w.Body)
				}
			}
		}
	}
}

// TestSocketEndsWithItsToken: a socket of the built server does not outlive the
// token it came with, unless an own delegation came beside it.
func TestSocketEndsWithItsToken(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	server := httptest.NewServer(h.Handler)
	t.Cleanup(server.Close)
	address := server.URL + "/socket.io/?sessionId=" + url.QueryEscape(h.ids["chat"])
	join := func(auth map[string]string) *clienttest.Client {
		t.Helper()
		c, err := clienttest.Join(t.Context(), address, auth)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Cut() })
		if _, err := c.Event("connected"); err != nil {
			t.Fatal(err)
		}
		return c
	}
	short := func() string { return minted(t, 'a', h.OracleDID(), time.Now().Add(2*time.Second)) }
	bare := join(map[string]string{"invocation": short()})
	stays := join(map[string]string{"invocation": short(), "ucanDelegation": minted(t, 'a', h.OracleDID(), time.Now().Add(time.Hour))})
	foreign := join(map[string]string{"invocation": short(), "ucanDelegation": minted(t, 'b', h.OracleDID(), time.Now().Add(time.Hour))})
	for name, c := range map[string]*clienttest.Client{"alone": bare, "with somebody else's delegation": foreign} {
		for text := ""; text != "41"; {
			var err error
			if text, err = c.Text(); err != nil {
				t.Fatalf("an invocation %s: %v, want 41", name, err)
			}
		}
	}
	if err := stays.Emit("ping"); err != nil {
		t.Fatal(err)
	}
	if _, err := stays.Event("pong"); err != nil {
		t.Errorf("with an own delegation: %v, want a pong", err)
	}
	join(map[string]string{"invocation": minted(t, 'a', h.OracleDID(), time.Now().Add(time.Minute))})
}

// TestSocketOrigins: hole 9. Pages of origins that are not listed get no socket
// of the built server, over either transport, and no answer says what runs here.
func TestSocketOrigins(t *testing.T) {
	t.Parallel()
	const site = "https://app.example.org"
	b := app.Build(t, owner, func(c *config.Config) { c.Data.Dir, c.Server.CORSOrigin = t.TempDir(), site })
	server := httptest.NewServer(b.Handler)
	t.Cleanup(server.Close)
	for origin, allowed := range map[string]bool{site: true, "https://evil.example": false, "null": false, "http://app.example.org": false} {
		c, err := clienttest.Dial(t.Context(), server.URL+"/socket.io/", http.Header{"Origin": {origin}})
		if (err == nil) != allowed {
			t.Errorf("websocket from %s: %v, want allowed %v", origin, err, allowed)
		}
		if c != nil {
			_ = c.Cut()
		}
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL+"/socket.io/?EIO=4&transport=polling", nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Origin", origin)
		res, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		_ = res.Body.Close()
		if (res.StatusCode == 200) != allowed || (res.Header.Get("Access-Control-Allow-Origin") == origin) != allowed {
			t.Errorf("polling from %s: %d with %q, want allowed %v", origin, res.StatusCode, res.Header.Get("Access-Control-Allow-Origin"), allowed)
		}
		if got := res.Header.Get("X-Powered-By") + res.Header.Get("Server"); got != "" {
			t.Errorf("the answer says what runs here: %q", got)
		}
	}
}
