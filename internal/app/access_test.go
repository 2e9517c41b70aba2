package app_test

import (
	"crypto/ed25519"
	"crypto/sha256"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hearth-dmrv/hearth/internal/auth"
	"github.com/hearth-dmrv/hearth/internal/survey/openrosa"
	"github.com/hearth-dmrv/hearth/internal/ucan"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// TestRoutesTimesCallers is made from the table of routes: every route is
// called by its owner, by another workspace, by a key that may only read and
// by nobody. A new route is in it by itself.
func TestRoutesTimesCallers(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	if len(h.Routes) < 20 {
		t.Fatalf("the table has %d routes", len(h.Routes))
	}
	for _, r := range h.Routes {
		t.Run(r.Method+r.Path, func(t *testing.T) {
			path := h.path(r)
			if s := r.Doc.Scope; s != web.Public && s != web.Operator && s != web.Signed && slices.ContainsFunc(s.Names(), func(name string) bool { return !auth.KnownScope(name) }) {
				t.Errorf("no key can have the scope %s", s)
			}
			nobody, reader, other := h.send(t, r, path, ""), h.send(t, r, path, h.read), h.send(t, r, path, h.other)
			switch {
			case ofOracle(r):
				want(t, "nobody", nobody.Code, is(401))
				return // the rest of it is TestOracleForeign
			case r.Path == "/socket.io/":
				return // who calls is told inside
			case r.Doc.Page:
				return // for browsers: test/console
			}
			switch r.Doc.Scope {
			case web.Public:
				want(t, "nobody", nobody.Code, allowed)
				return
			case web.Operator:
				post := r
				post.Method = http.MethodPost
				want(t, "another method", h.send(t, post, path, "").Code, is(404))
				want(t, "nobody", nobody.Code, is(404))
				want(t, "other workspace", other.Code, is(404))
				want(t, "reader", reader.Code, allowed)
				return
			}
			want(t, "nobody", nobody.Code, is(401))
			if nobody.Header().Get("WWW-Authenticate") == "" {
				t.Error("401 without WWW-Authenticate")
			}
			want(t, "wrong key", h.send(t, r, path, "hearth_wrongwrong_key").Code, is(401))
			if isWrite(r) {
				want(t, "reader", reader.Code, is(403))
			} else {
				want(t, "reader", reader.Code, allowed)
			}
			h.checkForeign(t, r, path)
		})
	}
}

// TestRoutesTimesTokens is made from the same table: every route of areas A and
// B is called with UCANs of callers whose rights have ended, were taken away or
// are all but the one it takes.
func TestRoutesTimesTokens(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	g := &tokenGroups{h: h, path: "/v1/entities/" + h.ids["organisation"] + "/groups"}
	full := g.member(t, "full", "*")
	soon, past := time.Now().Add(10*time.Minute), time.Now().Add(-time.Second)
	ended := g.token(t, full, everything, past)
	narrow := g.token(t, full, ucan.Capability{Can: "entities/read", With: "ixo:entities"}, soon)
	wide := g.token(t, full, everything, soon)
	removed := g.member(t, "removed", "*")
	gone := g.token(t, removed, everything, soon)
	suspended := g.token(t, g.member(t, "suspended", "*"), everything, soon)
	for _, token := range []string{gone, suspended} { // known before they lose what they have
		if w := h.sendAs(t, web.Route{Method: "GET", Path: "/v1/api-keys"}, bearerToken(token)); w.Code != http.StatusOK {
			t.Fatalf("a member: %d %s", w.Code, w.Body)
		}
	}
	if w := h.as(owner, "DELETE", "/v1/entities/"+g.dids["removed"]+"/members/"+removed.DID().String(), ""); w.Code != http.StatusOK {
		t.Fatalf("remove: %d %s", w.Code, w.Body)
	}
	if w := h.post("/v1/entities/"+g.dids["suspended"]+"/transitions", `{"to":"suspended"}`); w.Code != http.StatusOK {
		t.Fatalf("suspend: %d %s", w.Code, w.Body)
	}
	n := 0
	for _, r := range h.Routes {
		scope := string(r.Doc.Scope)
		if ofOracle(r) || r.Doc.Scope == web.Public || strings.HasPrefix(r.Path, openrosa.Path) { // a phone has a key, and nothing else
			continue
		}
		n++
		refused, lost := is(401), is(403)
		if r.Doc.Scope == web.Operator {
			refused, lost, scope = is(404), is(404), "operations:read"
		}
		t.Run(r.Method+r.Path, func(t *testing.T) {
			want(t, "ended", h.sendAs(t, r, bearerToken(ended)).Code, refused)
			want(t, "a delegation that has ended", h.sendAs(t, r, []string{"X-Ucan-Delegation", ended, "X-Auth-Type", "ucan"}).Code, refused)
			want(t, "a delegation of one thing", h.sendAs(t, r, []string{"X-Ucan-Delegation", narrow, "X-Auth-Type", "ucan"}).Code, refused)
			if r.Doc.Scope == web.Signed {
				want(t, "removed", h.sendAs(t, r, bearerToken(gone)).Code, rule{"known", func(got int) bool { return got != 401 && got < 500 }})
				return
			}
			want(t, "removed", h.sendAs(t, r, bearerToken(gone)).Code, lost)
			want(t, "suspended", h.sendAs(t, r, bearerToken(suspended)).Code, lost)
			want(t, "all but "+scope, h.sendAs(t, r, bearerToken(g.allBut(t, scope, soon))).Code, lost)
			if r.Method == http.MethodGet && !strings.HasSuffix(r.Path, "/drafts/{responseId}") { // nobody else's draft is there
				want(t, "a member", h.sendAs(t, r, bearerToken(wide)).Code, allowed)
			}
		})
	}
	if n < 150 {
		t.Errorf("%d routes were called", n)
	}
}

// tokenGroups are the groups of callers by UCAN, each with one member.
type tokenGroups struct {
	h      *house
	path   string
	dids   map[string]string // of groups, by name
	tokens map[string]string // of whoever has all but a scope
}

// member makes a group that gives scopes, and its member.
func (g *tokenGroups) member(t *testing.T, name string, scopes ...string) *ucan.Signer {
	t.Helper()
	seed := sha256.Sum256([]byte(name))
	s, err := ucan.NewSigner("", ed25519.NewKeyFromSeed(seed[:]))
	if err != nil {
		t.Fatal(err)
	}
	w := g.h.post(g.path, text(object{"name": "tokens of " + name, "scopes": scopes, "members": []string{s.DID().String()}}))
	if w.Code != http.StatusCreated {
		t.Fatalf("make a group: %d %s", w.Code, w.Body)
	}
	if g.dids == nil {
		g.dids, g.tokens = map[string]string{}, map[string]string{}
	}
	g.dids[name] = read[struct {
		DID string `json:"did"`
	}](w).DID
	return s
}

func (g *tokenGroups) token(t *testing.T, s *ucan.Signer, c ucan.Capability, expires time.Time) string {
	t.Helper()
	u, err := s.Mint(ucan.Draft{Audience: g.h.OracleDID(), Expires: expires, Capabilities: []ucan.Capability{c}})
	if err != nil {
		t.Fatal(err)
	}
	return u.Text()
}

// short names a set by wildcards where it has all of an area: a group lists 64 scopes.
func short(r rights) (out []string) {
	for _, name := range names(r) {
		area, _, _ := strings.Cut(name, ":")
		if r.covers(scopesOf(area + ":*")) {
			name = area + ":*"
		}
		if !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	return out
}

// allBut is the token of somebody who has every scope but one.
func (g *tokenGroups) allBut(t *testing.T, scope string, expires time.Time) string {
	t.Helper()
	if g.tokens[scope] == "" {
		g.tokens[scope] = g.token(t, g.member(t, "all but "+scope, short(scopesOf("*").less(scopesOf(web.Scope(scope).Names()...)))...), everything, expires)
	}
	return g.tokens[scope]
}

// bearerToken are the headers of an invocation.
func bearerToken(token string) []string {
	return []string{"Authorization", "Bearer " + token, "X-Auth-Type", "ucan"}
}

// checkForeign holds promise 3: what belongs to others looks exactly like
// what does not exist, and their lists show nothing of ours.
func (h *house) checkForeign(t *testing.T, r web.Route, path string) {
	t.Helper()
	if sendsPicture(r) {
		return // its name is its content: everybody may send it, and then has it
	}
	if r.Method == http.MethodPut && (r.Path == "/v1/oracle/mcp-servers/{name}" || r.Path == "/v1/oracle/credits/{did}") {
		return // a name is the caller's to choose: another workspace makes one of its own
	}
	if r.Path == "/v1/oracle/credits/{did}/entries" {
		return // and then has the account it made: whose entries are whose is tested with credits
	}
	foreign := h.send(t, r, path, h.other)
	if !namesOne(r) {
		for kind, id := range h.ids {
			if id != "default" && strings.Contains(foreign.Body.String(), id) {
				t.Errorf("%s of another workspace shown: %s", kind, id)
			}
		}
		return
	}
	if foreign.Code == http.StatusForbidden {
		return // a right no owner of a workspace has, such as workspaces:write
	}
	missing := h.send(t, r, strings.ReplaceAll(path, h.idIn(path), nothing(r)), h.other)
	want(t, "other workspace", foreign.Code, is(404))
	want(t, "missing", missing.Code, is(404))
	if a, b := h.neutral(foreign.Body.String(), path), h.neutral(missing.Body.String(), path); a != b {
		t.Errorf("foreign and missing differ:\n%s\n%s", a, b)
	}
}

// namesOne reports whether a route is about one object of a workspace.
func namesOne(r web.Route) bool {
	for _, name := range []string{"{id}", "{did}", "{templateId}", "{surveyId}", "{responseId}", "{sha256}", "{drawId}", "{kptId}", "{claimId}", "{collectionId}", "{voucherId}", "{credentialId}", "{reportId}", "{simulationId}"} {
		if strings.Contains(r.Path, name) {
			return true
		}
	}
	return strings.HasPrefix(r.Path, "/v1/oracle/mcp-servers/{name}")
}

// noHash is that of no file.
const noHash = "0000000000000000000000000000000000000000000000000000000000000000"

const noKey = "key_00000000-0000-7000-8000-000000000000"

// nothing is an id of the right form that nobody has.
func nothing(r web.Route) string {
	if strings.Contains(r.Path, "{did}") {
		return noTwin
	}
	if strings.Contains(r.Path, "{sha256}") {
		return noHash
	}
	return noKey
}

// idIn is the first id of the house in a path.
func (h *house) idIn(path string) string {
	first, at := "-", len(path)
	for _, id := range h.ids {
		if i := strings.Index(path, "/"+id); i >= 0 && i < at {
			first, at = id, i
		}
	}
	return first
}

// neutral takes out of a problem what differs by nature: the path the caller
// sent and the id of the request.
func (h *house) neutral(body, path string) string {
	for _, id := range h.ids {
		body = strings.ReplaceAll(body, id, "ID")
	}
	body = strings.ReplaceAll(body, noKey, "ID")
	body = strings.ReplaceAll(body, noHash, "ID")
	body = strings.ReplaceAll(body, noTwin, "ID")
	before, rest, ok := strings.Cut(body, `"requestId":"`)
	if !ok {
		return body
	}
	_, after, _ := strings.Cut(rest, `"`)
	return before + after
}

type rule struct {
	text string
	ok   func(int) bool
}

func is(status int) rule {
	return rule{http.StatusText(status), func(got int) bool { return got == status }}
}

// allowed is any answer but a refusal for who the caller is, and no 5xx: some
// examples meet a state in which the route rightly says no.
var allowed = rule{"not refused", func(got int) bool {
	return got < 500 && got != 401 && got != 403 && got != 404
}}

func want(t *testing.T, who string, got int, r rule) {
	t.Helper()
	if !r.ok(got) {
		t.Errorf("%s: got %d, want %s", who, got, r.text)
	}
}

// TestOwnerReaches shows that the matrix above refuses because of the caller,
// not because everything is refused. It runs on a house of its own: its calls
// change things.
func TestOwnerReaches(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	for _, r := range h.Routes {
		switch {
		case r.Method == http.MethodDelete, // others need what it removes
			r.Doc.Page,                                                  // for browsers: test/console
			strings.HasSuffix(r.Path, "/transfer"),                      // or what it gives away
			strings.HasSuffix(r.Path, "/replacements"),                  // of a draw that another one has followed
			strings.HasSuffix(r.Path, "/drafts/{responseId}"),           // the response was sent
			strings.HasSuffix(r.Path, "/evidence/{sha256}"),             // the corrected response has no file
			strings.HasSuffix(r.Path, "/evaluations"),                   // who has made a claim does not judge it
			strings.HasSuffix(r.Path, "/disputes/{disputeId}/decision"), // nor decides what is held against it
			r.Path == "/v1/credentials",                                 // nobody has approved the claim
			r.Path == "/v1/responses/{responseId}/verification":         // who has corrected the response does not verify it
			continue // all are tested with the examples
		}
		t.Run(r.Method+r.Path, func(t *testing.T) {
			if got := h.send(t, r, h.path(r), owner); !allowed.ok(got.Code) {
				t.Errorf("owner: got %d %s", got.Code, got.Body)
			}
		})
	}
}
