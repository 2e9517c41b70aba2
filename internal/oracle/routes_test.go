package oracle_test

import (
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
	"github.com/hearth-dmrv/hearth/internal/did"
	"github.com/hearth-dmrv/hearth/internal/oracle"
	"github.com/hearth-dmrv/hearth/internal/oracle/llm"
	"github.com/hearth-dmrv/hearth/internal/oracle/run"
	"github.com/hearth-dmrv/hearth/internal/ucan"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// TestRoutesByCaller is every route against every kind of caller. Somebody
// else's session and run look exactly like those that do not exist.
func TestRoutesByCaller(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		h := newHouse(t, d, llm.Offline{})
		owner, other := newUser(t, 1), newUser(t, 2)
		s := h.session(owner)
		said := h.do(owner, "POST", "/messages/"+s, `{"message":"/echo secret"}`)
		runID := said.header.Get("X-Run-Id")
		if said.status != 200 || runID == "" {
			t.Fatalf("message: %d %s", said.status, said.body)
		}
		deleg := func(u *user) string { return u.delegation(t, oracleDID, time.Now().Add(time.Hour)) }
		for _, tt := range []struct {
			method, path, body string
			owner, other       int
			public             bool
		}{
			{"GET", "/models", "", 200, 200, true},
			{"GET", "/sessions", "", 200, 200, false},
			{"POST", "/sessions", "", 201, 201, false},
			{"GET", "/messages/ID", "", 200, 200, false},
			{"POST", "/messages/ID", `{"message":"/echo hi"}`, 200, 404, false},
			{"POST", "/messages/ID", `{"message":"/echo hi","stream":true}`, 200, 404, false},
			{"POST", "/messages/abort", `{"sessionId":"ID"}`, 200, 200, false},
			{"GET", "/sessions/ID/messages", "", 200, 404, false},
			{"GET", "/sessions/ID/run", "", 200, 404, false},
			{"GET", "/runs/RUN", "", 200, 404, false},
			{"POST", "/delegation", `{"raw":"RAW"}`, 200, 200, false},
			{"GET", "/delegation", "", 200, 200, false},
			{"DELETE", "/delegation", "", 200, 200, false},
			{"DELETE", "/sessions/ID", "", 200, 404, false}, // last: then it is gone
		} {
			path := func(id, run string) string { return strings.NewReplacer("ID", id, "RUN", run).Replace(tt.path) }
			body := func(id string, u *user) string {
				return strings.NewReplacer("ID", id, "RAW", deleg(u)).Replace(tt.body)
			}
			name := tt.method + " " + tt.path + " " + tt.body
			foreign := h.do(other, tt.method, path(s, runID), body(s, other))
			missing := h.do(other, tt.method, path("$nowhere", "run_nowhere"), body("$nowhere", other))
			if foreign.status != tt.other || missing.status != tt.other {
				t.Errorf("%s by somebody else: got %d, on nothing %d, want %d", name, foreign.status, missing.status, tt.other)
			}
			if tt.other >= 400 && foreign.body != missing.body || strings.Contains(foreign.body, "secret") {
				t.Errorf("%s: somebody else's %s differs from nothing %s", name, foreign.body, missing.body)
			}
			bare := h.do(nil, tt.method, path(s, runID), body(s, owner))
			forged := h.do(nil, tt.method, path(s, runID), body(s, owner), "X-Did", owner.did(), "Authorization", "Bearer "+owner.token)
			bad := h.do(nil, tt.method, path(s, runID), body(s, owner), "Authorization", "Bearer x", "X-Auth-Type", "ucan", "X-Ucan-Delegation", deleg(owner))
			for who, g := range map[string]got{"nobody": bare, "an x-did": forged, "a bad invocation": bad} {
				if tt.public && g.status != 200 || !tt.public && g.status != 401 {
					t.Errorf("%s by %s: got %d %s", name, who, g.status, g.body)
				}
			}
			if !tt.public {
				const missing = `{"message":"Missing UCAN authentication: provide Authorization: Bearer <invocation> with X-Auth-Type: ucan, or an x-ucan-delegation header","statusCode":401}`
				if bare.body != missing || bad.body != `{"message":"Invalid UCAN invocation","statusCode":401}` {
					t.Errorf("%s: got %s and %s", name, bare.body, bad.body)
				}
			}
			g := h.do(owner, tt.method, path(s, runID), body(s, owner))
			if g.status != tt.owner || g.body == "" || g.header.Get("X-Request-Id") == "" {
				t.Errorf("%s by its owner: got %d %s, want %d", name, g.status, g.body, tt.owner)
			}
		}
	})
}

func TestDelegationAloneIsEnough(t *testing.T) {
	t.Parallel()
	h, u := small(t, llm.Offline{}), newUser(t, 1)
	token := u.delegation(t, oracleDID, time.Now().Add(time.Hour))
	if g := h.do(nil, "GET", "/sessions", "", "X-Ucan-Delegation", token); g.status != 200 {
		t.Errorf("got %d %s", g.status, g.body)
	}
}

func TestSessions(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		h, u := newHouse(t, d, llm.Offline{}), newUser(t, 1)
		if g := h.do(u, "GET", "/sessions", ""); g.body != `{"sessions":[],"total":0}` {
			t.Errorf("none: got %s", g.body)
		}
		form := regexp.MustCompile(`^\$[A-Za-z0-9_-]{43}$`)
		var all []string
		for _, body := range []string{"", `{"anything":1}`, `[1]`, `{broken`} {
			g := h.do(u, "POST", "/sessions", body)
			var s map[string]any
			if err := json.Unmarshal([]byte(g.body), &s); err != nil || g.status != http.StatusCreated {
				t.Fatalf("POST /sessions %q: %d %s", body, g.status, g.body)
			}
			id, _ := s["sessionId"].(string)
			if !form.MatchString(id) || s["title"] != "Untitled" || s["oracleName"] != "Hearth" || s["oracleDid"] != string(oracleDID) || s["createdAt"] != s["lastUpdatedAt"] {
				t.Errorf("session %s", g.body)
			}
			all = append(all, id)
		}
		if g := h.do(u, "GET", "/sessions?limit=1&offset=3", ""); !strings.Contains(g.body, all[0]) || !strings.Contains(g.body, `"total":4`) {
			t.Errorf("the last page: got %s", g.body)
		}
		if g := h.do(u, "GET", "/sessions?offset=4", ""); g.body != `{"sessions":[],"total":4}` {
			t.Errorf("past the end: got %s", g.body)
		}
		// The session used last comes first.
		h.do(u, "POST", "/messages/"+all[0], `{"message":"/echo hi"}`)
		if g := h.do(u, "GET", "/sessions?limit=1", ""); !strings.Contains(g.body, all[0]) {
			t.Errorf("the first page: got %s", g.body)
		}
		if g := h.do(u, "DELETE", "/sessions/"+all[0], ""); g.status != 200 || g.body != `{"message":"Session deleted successfully"}` {
			t.Errorf("delete: got %d %s", g.status, g.body)
		}
		if g := h.do(u, "DELETE", "/sessions/"+all[0], ""); g.status != 404 || g.body != `{"message":"Session not found","error":"Not Found","statusCode":404}` {
			t.Errorf("delete again: got %d %s", g.status, g.body)
		}
		if g := h.do(u, "GET", "/messages/"+all[0], ""); g.body != `{"messages":[]}` {
			t.Errorf("messages of a deleted session: got %s", g.body)
		}
		if g := h.do(u, "GET", "/sessions", ""); !strings.Contains(g.body, `"total":3`) {
			t.Errorf("after the delete: got %s", g.body)
		}
	})
}

// TestIDsRawAndEncoded: published clients send ids both ways.
func TestIDsRawAndEncoded(t *testing.T) {
	t.Parallel()
	h, u := small(t, llm.Offline{}), newUser(t, 1)
	s := h.session(u)
	for _, id := range []string{s, "%24" + s[1:]} {
		if g := h.do(u, "GET", "/sessions/"+id+"/messages", ""); g.status != 200 {
			t.Errorf("%s: got %d %s", id, g.status, g.body)
		}
		if g := h.do(u, "POST", "/messages/"+id, `{"message":"/echo hi"}`); g.status != 200 {
			t.Errorf("%s: got %d %s", id, g.status, g.body)
		}
	}
}

func TestModelsArePublic(t *testing.T) {
	t.Parallel()
	h := small(t, llm.Offline{})
	g := h.do(nil, "GET", "/models", "", "Authorization", "Bearer nonsense", "X-Auth-Type", "ucan")
	if g.status != 200 || !strings.Contains(g.body, `"default":"first"`) || !strings.Contains(g.body, `"unit"`) {
		t.Errorf("got %d %s", g.status, g.body)
	}
	for _, path := range []string{"/models", "/sessions"} {
		if g := h.do(newUser(t, 1), "HEAD", path, ""); g.status != 200 || g.body != "" {
			t.Errorf("HEAD %s: got %d %q", path, g.status, g.body)
		}
	}
}

// TestRequestID: what the client sends is echoed, on refusals too.
func TestRequestID(t *testing.T) {
	t.Parallel()
	h, u := small(t, llm.Offline{}), newUser(t, 1)
	for _, tt := range []struct {
		who  *user
		path string
	}{{u, "/sessions"}, {nil, "/sessions"}, {u, "/runs/run_x"}} {
		if g := h.do(tt.who, "GET", tt.path, "", "X-Request-Id", "my.id-1"); g.header.Get("X-Request-Id") != "my.id-1" {
			t.Errorf("%s: got %q", tt.path, g.header.Get("X-Request-Id"))
		}
	}
}

// TestDelegation: hole 4. What is stored was checked, is the caller's own, and
// ends when the token says.
func TestDelegation(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		h := newHouse(t, d, llm.Offline{})
		u, other := newUser(t, 1), newUser(t, 2)
		end := time.Now().Add(time.Hour)
		good := u.delegation(t, oracleDID, end)
		status := func(want string) {
			t.Helper()
			if g := h.do(u, "GET", "/delegation", ""); g.status != 200 || g.body != want {
				t.Errorf("status: got %d %s, want %s", g.status, g.body, want)
			}
		}
		status(`{"authorized":false}`)
		for _, tt := range []struct{ name, body, want string }{
			{"somebody else's", `{"raw":"` + other.delegation(t, oracleDID, end) + `"}`, "raw must be issued by the caller"},
			{"for somebody else", `{"raw":"` + u.delegation(t, "did:ixo:ixo1other", end) + `"}`, "raw must be addressed to this oracle"},
			{"expired", `{"raw":"` + u.delegation(t, oracleDID, time.Now().Add(-time.Minute)) + `"}`, "raw has expired"},
			{"never ends", `{"raw":"` + u.delegation(t, oracleDID, time.Time{}) + `"}`, "raw must have an expiration"},
			{"ends too late", `{"raw":"` + u.delegation(t, oracleDID, time.Now().AddDate(3, 0, 0)) + `"}`, "raw must expire sooner"},
			{"cut", `{"raw":"` + good[:len(good)/2] + `"}`, "raw must be a base64 encoded CAR of a UCAN delegation"},
			{"more than its proofs", `{"raw":"` + escalated(t, u, other, end) + `"}`, "raw must be covered by its proofs"},
			{"another issuer in the body", `{"raw":"` + good + `","issuer":"` + other.did() + `"}`, "issuer must be the issuer of the delegation"},
			{"another audience in the body", `{"raw":"` + good + `","audience":"did:ixo:x"}`, "audience must be the audience of the delegation"},
		} {
			g := h.do(u, "POST", "/delegation", tt.body)
			if have := lines(readRefusal(t, g).Message); g.status != 400 || len(have) != 1 || have[0] != tt.want {
				t.Errorf("%s: got %d %s, want %q", tt.name, g.status, g.body, tt.want)
			}
		}
		status(`{"authorized":false}`)
		expires, _ := json.Marshal(end.Unix())
		g := h.do(u, "POST", "/delegation", `{"raw":"`+good+`","issuer":"`+u.did()+`","audience":"`+string(oracleDID)+`","expiration":4102444800}`)
		if g.status != 200 || g.body != `{"ok":true,"expiration":`+string(expires)+`}` {
			t.Errorf("store: got %d %s", g.status, g.body)
		}
		status(`{"authorized":true,"expiration":` + string(expires) + `}`)
		if g := h.do(other, "GET", "/delegation", ""); g.body != `{"authorized":false}` {
			t.Errorf("somebody else: got %s", g.body)
		}
		for range 2 {
			if g := h.do(u, "DELETE", "/delegation", ""); g.status != 200 || g.body != `{"ok":true}` {
				t.Errorf("delete: got %d %s", g.status, g.body)
			}
		}
		status(`{"authorized":false}`)
	})
}

// escalated is a delegation of u that gives more than other gave to u.
func escalated(t *testing.T, u, other *user, end time.Time) string {
	t.Helper()
	proof, err := other.signer.Mint(ucan.Draft{Audience: did.DID(u.did()), Expires: end, Capabilities: []ucan.Capability{{Can: "memory/read", With: "ixo:memory"}}})
	if err != nil {
		t.Fatal(err)
	}
	return u.mint(t, ucan.Draft{Audience: oracleDID, Expires: end, Proofs: []*ucan.Token{proof}, Capabilities: []ucan.Capability{{Can: "*", With: "ixo:memory"}}})
}

// TestThrottle: hole 19. A caller has a limit wherever they call from, an
// address has twice that, and two users behind one address do not share.
func TestThrottle(t *testing.T) {
	t.Parallel()
	h := small(t, llm.Offline{}, func(c *oracle.Config, _ *run.Config) { c.Throttle, c.ThrottleTTL = 5, time.Hour })
	a, b := newUser(t, 1), newUser(t, 2)
	for i := range 6 {
		g := h.do(a, "GET", "/sessions", "")
		if want := map[bool]int{true: 200, false: 429}[i < 5]; g.status != want || g.header.Get("X-Ratelimit-Limit") != "5" {
			t.Errorf("request %d: got %d, want %d; limit %q", i, g.status, want, g.header.Get("X-Ratelimit-Limit"))
		}
		retry, _ := strconv.Atoi(g.header.Get("Retry-After"))
		if i == 5 && (retry < 600 || retry > 720 || g.body != `{"message":"ThrottlerException: Too Many Requests","statusCode":429}`) {
			t.Errorf("refusal: got %s after %q", g.body, g.header.Get("Retry-After"))
		}
	}
	for i := range 4 {
		if g := h.do(b, "GET", "/sessions", ""); g.status != 200 {
			t.Errorf("somebody else, request %d: got %d", i, g.status)
		}
	}
	// Ten requests came from here: that is all of the address.
	if g := h.do(b, "GET", "/sessions", ""); g.status != 429 {
		t.Errorf("the address: got %d %s", g.status, g.body)
	}
	if g := h.do(nil, "GET", "/models", ""); g.status != 429 {
		t.Errorf("a public route: got %d", g.status)
	}
}

// TestReference: every route is in the reference, and says who may call it.
func TestReference(t *testing.T) {
	t.Parallel()
	a := web.NewAPI(web.APIConfig{Name: "oracle", Errors: web.Nest})
	small(t, llm.Offline{}).svc.Routes(a)
	text, err := web.DocumentJSON(web.Document("x", "1", a))
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range a.Routes() {
		if !strings.Contains(string(text), `"`+r.Path+`"`) || r.Path != "/models" && !strings.Contains(r.Doc.Description, "X-Auth-Type: ucan") {
			t.Errorf("%s %s is not described", r.Method, r.Path)
		}
	}
	if len(a.Routes()) != 19 {
		t.Errorf("%d routes, want 19", len(a.Routes()))
	}
}
