package app_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/hearth-dmrv/hearth/internal/auth"
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
			if s := r.Doc.Scope; s != web.Public && s != web.Operator && s != web.Signed && !auth.KnownScope(string(s)) {
				t.Errorf("no key can have the scope %s", s)
			}
			nobody, reader, other := h.send(t, r, path, ""), h.send(t, r, path, h.read), h.send(t, r, path, h.other)
			switch {
			case ofOracle(r):
				want(t, "nobody", nobody.Code, is(401))
				return // the rest of it is TestOracleForeign
			case r.Path == "/socket.io/":
				return // who calls is told inside
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

// checkForeign holds promise 3: what belongs to others looks exactly like
// what does not exist, and their lists show nothing of ours.
func (h *house) checkForeign(t *testing.T, r web.Route, path string) {
	t.Helper()
	if sendsPicture(r) {
		return // its name is its content: everybody may send it, and then has it
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

// namesOne tells whether a route is about one object of a workspace.
func namesOne(r web.Route) bool {
	for _, name := range []string{"{id}", "{did}", "{templateId}", "{surveyId}", "{responseId}", "{sha256}"} {
		if strings.Contains(r.Path, name) {
			return true
		}
	}
	return false
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
			strings.HasSuffix(r.Path, "/transfer"),              // or what it gives away
			strings.HasSuffix(r.Path, "/evidence/{sha256}"),     // the corrected response has no file
			r.Path == "/v1/responses/{responseId}/verification": // who has corrected the response does not verify it
			continue // all are tested with the examples
		}
		t.Run(r.Method+r.Path, func(t *testing.T) {
			if got := h.send(t, r, h.path(r), owner); !allowed.ok(got.Code) {
				t.Errorf("owner: got %d %s", got.Code, got.Body)
			}
		})
	}
}
