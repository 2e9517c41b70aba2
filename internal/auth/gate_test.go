package auth_test

import (
	"net/http"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/hearth-dmrv/hearth/internal/auth"
	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/web"
)

func TestAdmit(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		h := newHouse(t, d)
		h.make(t, "inside", "default", auth.Draft{Name: "x", Role: "owner", Networks: []string{"10.0.0.0/8", "2001:db8::/32"}})
		device := h.keys["device"]
		head := func(pairs ...string) map[string]string {
			m := map[string]string{}
			for i := 0; i < len(pairs); i += 2 {
				m[pairs[i]] = pairs[i+1]
			}
			return m
		}
		for _, tt := range []struct {
			name   string
			in     call
			status int
			code   string
		}{
			{"public needs nothing", call{path: "/v1/public"}, 200, ""},
			{"public ignores a wrong key", call{path: "/v1/public", key: "wrong"}, 200, ""},
			{"none", call{path: "/v1/signed"}, 401, "KEY_MISSING"},
			{"bearer", call{path: "/v1/signed", key: device}, 200, ""},
			{"own header", call{path: "/v1/signed", header: head("X-API-Key", device)}, 200, ""},
			{"any case", call{path: "/v1/signed", header: head("Authorization", "bEARER  "+device)}, 200, ""},
			{"both equal", call{path: "/v1/signed", key: device, header: head("X-API-Key", device)}, 200, ""},
			{"both different", call{path: "/v1/signed", key: device, header: head("X-API-Key", ownerText)}, 401, "KEY_AMBIGUOUS"},
			{"other header empty", call{path: "/v1/signed", key: device, header: head("X-API-Key", "")}, 200, ""},
			{"a proxy's password beside it", call{path: "/v1/signed", header: head("Authorization", "Basic eDp5", "X-API-Key", device)}, 200, ""},
			{"password only", call{path: "/v1/signed", header: head("Authorization", "Basic eDp5")}, 401, "KEY_MISSING"},
			{"no text", call{path: "/v1/signed", header: head("Authorization", "Bearer ")}, 401, "KEY_MISSING"},
			{"in the query", call{path: "/v1/signed?key=" + device + "&api_key=" + device}, 401, "KEY_MISSING"},
			{"unknown", call{path: "/v1/signed", key: "hearth_aaaaaaaaaa_" + strings.Repeat("a", 43)}, 401, "KEY_INVALID"},
			{"half", call{path: "/v1/signed", key: device[:len(device)-1]}, 401, "KEY_INVALID"},
			{"huge", call{path: "/v1/signed", key: strings.Repeat("a", 9000)}, 401, "KEY_INVALID"},
			{"chosen text with spaces", call{path: "/v1/signed", key: ownerText}, 200, ""},
			{"right scope", call{path: "/v1/entities", key: h.keys["manager"]}, 200, ""},
			{"wrong scope", call{path: "/v1/entities", key: device}, 403, "SCOPE_MISSING"},
			{"tenant's owner", call{path: "/v1/entities", key: h.keys["tenant"]}, 200, ""},
			{"tenant's owner on an operator's scope", call{path: "/v1/operate", key: h.keys["tenant"]}, 403, "SCOPE_MISSING"},
			{"from outside", call{path: "/v1/signed", key: h.keys["inside"]}, 403, "KEY_NETWORK_FORBIDDEN"},
			{"from inside", call{path: "/v1/signed", key: h.keys["inside"], from: "10.2.3.4:5"}, 200, ""},
			{"mapped", call{path: "/v1/signed", key: h.keys["inside"], from: "[::ffff:10.2.3.4]:5"}, 200, ""},
			{"other family", call{path: "/v1/signed", key: h.keys["inside"], from: "[2001:db8::1]:5"}, 200, ""},
			{"claims to be inside", call{path: "/v1/signed", key: h.keys["inside"], header: head("X-Forwarded-For", "10.2.3.4")}, 403, "KEY_NETWORK_FORBIDDEN"},
			{"ucan", call{path: "/v1/signed", key: device, header: head("X-Auth-Type", "ucan")}, 401, "UCAN_NOT_ACCEPTED"},
		} {
			t.Run(tt.name, func(t *testing.T) {
				w := h.do(tt.in)
				want(t, w, tt.status, tt.code)
				if got := w.Header().Get("WWW-Authenticate"); (got == `Bearer realm="hearth"`) != (tt.status == 401) {
					t.Errorf("WWW-Authenticate = %q", got)
				}
			})
		}
		w := h.do(call{path: "/v1/entities", key: device})
		if m := read[answer](t, w).Message; !strings.Contains(m, "entities:write") {
			t.Errorf("message %q does not name the scope", m)
		}
	})
}

// TestRefusalsTellNothing: a revoked key and one that never was get the same
// bytes.
func TestRefusalsTellNothing(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		h := newHouse(t, d)
		if _, err := h.svc.Revoke(h.as(t, "default"), h.ids["device"], ""); err != nil {
			t.Fatal(err)
		}
		id := map[string]string{"X-Request-Id": "same"}
		revoked := h.do(call{path: "/v1/signed", key: h.keys["device"], header: id})
		unknown := h.do(call{path: "/v1/signed", key: "hearth_aaaaaaaaaa_" + strings.Repeat("b", 43), header: id})
		if revoked.Code != unknown.Code || revoked.Body.String() != unknown.Body.String() {
			t.Errorf("revoked: %d %s\nunknown: %d %s", revoked.Code, revoked.Body, unknown.Code, unknown.Body)
		}
	})
}

// TestOperatorRoutes: to anyone else they do not exist.
func TestOperatorRoutes(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		h := newHouse(t, d)
		h.make(t, "ops", "default", auth.Draft{Name: "x", Scopes: []string{"operations:read"}})
		forwarded := map[string]string{"X-Forwarded-For": "203.0.113.9"}
		for _, tt := range []struct {
			name string
			in   call
			ok   bool
		}{
			{"loopback", call{from: "127.0.0.1:9"}, true},
			{"loopback with a wrong key", call{from: "127.0.0.1:9", key: "wrong"}, true},
			{"loopback six", call{from: "[::1]:9"}, true},
			{"loopback through a proxy", call{from: "127.0.0.1:9", header: forwarded}, false},
			{"loopback through a proxy with the right key", call{from: "127.0.0.1:9", header: forwarded, key: h.keys["ops"]}, true},
			{"from afar", call{}, false},
			{"with the scope", call{key: h.keys["ops"]}, true},
			{"owner", call{key: h.keys["owner"]}, true},
			{"manager", call{key: h.keys["manager"]}, false},
			{"tenant's owner", call{key: h.keys["tenant"]}, false},
			{"wrong key", call{key: "wrong"}, false},
			{"two keys", call{key: "wrong", header: map[string]string{"X-API-Key": h.keys["ops"]}}, false},
		} {
			tt.in.path = "/v1/metrics"
			w := sendHost(h.handler, tt.in, "127.0.0.1:3000")
			if tt.ok {
				want(t, w, 200, "")
				continue
			}
			tt.in.path = "/v1/nowhere"
			nowhere := sendHost(h.handler, tt.in, "127.0.0.1:3000")
			got := strings.ReplaceAll(w.Body.String(), "/v1/metrics", "/v1/nowhere")
			if w.Code != 404 || mask(got) != mask(nowhere.Body.String()) || headerNames(w) != headerNames(nowhere) {
				t.Errorf("%s: got %d %s\n%s\nwant as an unknown route: %s\n%s", tt.name, w.Code, got, headerNames(w), nowhere.Body, headerNames(nowhere))
			}
		}
	})
}

func TestExpiryFromTheCache(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		h := newHouse(t, d)
		h.make(t, "brief", "default", auth.Draft{Name: "x", Role: "device", ExpiresAt: epoch.Add(10 * time.Second)})
		use := func() *http.Response { return h.do(call{path: "/v1/signed", key: h.keys["brief"]}).Result() }
		if got := use().StatusCode; got != 200 {
			t.Fatalf("status = %d, want 200", got)
		}
		h.pass(10*time.Second - time.Millisecond)
		if got := use().StatusCode; got != 200 {
			t.Errorf("status = %d just before the end, want 200", got)
		}
		h.pass(time.Millisecond)
		for range 2 { // from the cache, then from the store
			want(t, h.do(call{path: "/v1/signed", key: h.keys["brief"]}), 401, "KEY_EXPIRED")
		}
	})
}

// TestRevokeAtOnce: in this process, and in another on the same folder.
func TestRevokeAtOnce(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		path := filepath.Join(t.TempDir(), "keys.stamp")
		stamped := func(c *auth.Config) { c.Stamp = path }
		h := newHouse(t, d, stamped)
		cli := h.service(stamped)
		for round, s := range []*auth.Service{h.svc, cli, cli} {
			k := h.make(t, "x", "default", auth.Draft{Name: "x", Role: "device"})
			for range 3 {
				want(t, h.do(call{path: "/v1/signed", key: k.Text}), 200, "")
			}
			if _, err := s.Revoke(h.as(t, "default"), k.ID, ""); err != nil {
				t.Fatal(err)
			}
			if w := h.do(call{path: "/v1/signed", key: k.Text}); w.Code != 401 {
				t.Errorf("round %d: %d after the revocation, want 401", round, w.Code)
			}
		}
	})
}

// TestMissedNews: without a stamp and a bus, a change is seen when the cache
// gets old.
func TestMissedNews(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		h := newHouse(t, d)
		want(t, h.do(call{path: "/v1/signed", key: h.keys["device"]}), 200, "")
		if _, err := h.service().Revoke(h.as(t, "default"), h.ids["device"], ""); err != nil {
			t.Fatal(err)
		}
		h.pass(time.Minute)
		want(t, h.do(call{path: "/v1/signed", key: h.keys["device"]}), 401, "KEY_INVALID")
	})
}

func TestWrongKeysAreThrottled(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		h := newHouse(t, d)
		want(t, h.do(call{path: "/v1/signed", key: h.keys["device"]}), 200, "") // a neighbour behind the same address
		for i := range 20 {
			want(t, h.do(call{path: "/v1/signed", key: "wrong" + strconv.Itoa(i)}), 401, "KEY_INVALID")
		}
		for range 3 {
			w := h.do(call{path: "/v1/signed", key: "wrong"})
			want(t, w, 429, "TOO_MANY_FAILURES")
			if got := w.Header().Get("Retry-After"); got != "3" {
				t.Errorf("Retry-After = %q, want 3", got)
			}
		}
		// A right key is served, also one that was never seen: only what fails
		// is held up.
		want(t, h.do(call{path: "/v1/signed", key: h.keys["reader"]}), 200, "")
		// So is the neighbour when the cache was dropped.
		want(t, h.do(call{path: "/v1/signed", key: h.keys["device"]}), 200, "")
		h.svc.Flush()
		want(t, h.do(call{path: "/v1/signed", key: h.keys["device"]}), 200, "")
		want(t, h.do(call{path: "/v1/signed", key: "wrong", from: "203.0.113.5:1"}), 401, "KEY_INVALID")
		want(t, h.do(call{path: "/v1/signed"}), 401, "KEY_MISSING")
		h.pass(3 * time.Second)
		want(t, h.do(call{path: "/v1/signed", key: h.keys["reader"]}), 200, "")
		want(t, h.do(call{path: "/v1/signed", key: "wrong"}), 401, "KEY_INVALID")
		want(t, h.do(call{path: "/v1/signed", key: "wrong"}), 429, "TOO_MANY_FAILURES")
	})
}

// TestKeyLimit counts requests by key. The caller is told what is left once
// half is spent.
func TestKeyLimit(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		h := newHouse(t, d, func(c *auth.Config) { c.KeyLimit = 3 })
		for left := 2; left >= 0; left-- {
			w := h.do(call{path: "/v1/signed", key: h.keys["device"]})
			want(t, w, 200, "")
			remaining, limit := strconv.Itoa(left), "3"
			if left == 2 {
				remaining, limit = "", ""
			}
			if got := w.Header().Get("X-Ratelimit-Remaining"); got != remaining || w.Header().Get("X-Ratelimit-Limit") != limit {
				t.Errorf("%d left: %q of %q left, want %q of %q", left, got, w.Header().Get("X-Ratelimit-Limit"), remaining, limit)
			}
		}
		w := h.do(call{path: "/v1/signed", key: h.keys["device"]})
		want(t, w, 429, "RATE_LIMITED")
		if got := w.Header().Get("Retry-After"); got != "20" {
			t.Errorf("Retry-After = %q, want 20", got)
		}
		want(t, h.do(call{path: "/v1/signed", key: h.keys["reader"]}), 200, "")
		h.pass(20 * time.Second)
		want(t, h.do(call{path: "/v1/signed", key: h.keys["device"]}), 200, "")
	})
}

func TestUCANSeam(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		var caller web.Caller
		var refusal error
		h := newHouse(t, d, func(c *auth.Config) {
			c.UCAN = func(*http.Request) (web.Caller, error) { return caller, refusal }
		})
		ucan := map[string]string{"X-Auth-Type": "ucan"}
		caller = web.Caller{Workspace: "kitui", DID: "did:key:z1", Scopes: []string{"*"}} // more than its groups can give
		want(t, h.do(call{path: "/v1/entities", header: ucan}), 200, "")
		want(t, h.do(call{path: "/v1/operate", header: ucan}), 403, "SCOPE_MISSING")
		want(t, h.do(call{path: "/v1/metrics", header: ucan}), 404, "ROUTE_NOT_FOUND")
		want(t, h.do(call{path: "/v1/api-keys/current", header: ucan}), 404, "KEY_NOT_FOUND")
		refusal = fault.New(fault.Unauthenticated, "UCAN_INVALID", "No.")
		want(t, h.do(call{path: "/v1/entities", header: ucan}), 401, "UCAN_INVALID")
	})
}

// TestStoreDown: trouble with the store is never taken for a wrong key.
func TestStoreDown(t *testing.T) {
	t.Parallel()
	h := newHouse(t, dbtest.SQLite(t))
	if err := h.db.Close(); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"/v1/signed", "/v1/metrics"} {
		if w := h.do(call{path: path, key: h.keys["device"]}); w.Code != 503 {
			t.Errorf("%s: %d %s, want 503", path, w.Code, w.Body)
		}
	}
}
