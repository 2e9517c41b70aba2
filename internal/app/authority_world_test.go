package app_test

import (
	"crypto/ed25519"
	"crypto/sha256"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/hearth-dmrv/hearth/internal/app"
	"github.com/hearth-dmrv/hearth/internal/did"
	"github.com/hearth-dmrv/hearth/internal/ucan"
)

// step is one call of a sequence. Things are called by names, so that a step
// means the same when others are taken out before it.
type step struct {
	Who  string   // a key, or twin/hand for a UCAN
	Do   string   // what, see doers
	On   string   // the twin, group or key it is about
	New  string   // the name of what it makes
	To   string   // another one
	List []string // scopes, or names of hands or members
	How  string   // a variant
}

func (s step) String() string {
	out := fmt.Sprintf("%-14s %s", s.Who, s.Do)
	for _, part := range []struct{ word, text string }{
		{"", s.On}, {"to ", s.To}, {"with ", strings.Join(s.List, ",")}, {"by ", s.How}, {"= ", s.New},
	} {
		if part.text != "" {
			out += " " + part.word + part.text
		}
	}
	return out
}

// world is a sequence on its way: a server, the model, and the second
// workspace, which nobody else has.
type world struct {
	ledger
	t      testing.TB
	h      *app.Built
	salt   string // makes names unique on the server
	second string // id of the second workspace
	steps  []step // those that were sent
	did    []bool // which of them were done
	wrong  string // the first thing that broke a rule
	tokens map[string]string
	sent   map[string]sentOnce // requests with an Idempotency-Key, by the key they made

	watching []watched
}

type sentOnce struct {
	body, once string
	asked      rights
}

const (
	publicURL  = "https://hearth.example.org"
	insideNet  = "2001:db8:1::/48"
	insideHost = 1 // third part of the addresses of requests
	otherHost  = 2
)

// hands are who has a private key.
var hands = []string{"ann", "bob", "eve", "mal"}

func newWorld(t testing.TB, h *app.Built, salt string) *world {
	w := &world{t: t, h: h, salt: salt, second: "w" + salt, tokens: map[string]string{}, sent: map[string]sentOnce{}, ledger: ledger{
		keys: map[string]*modelKey{}, twins: map[string]*modelTwin{}, groups: map[string]*modelGroup{}, hands: map[string]string{}, names: map[string]string{},
	}}
	for _, name := range hands {
		id := did.FromEd25519(w.private(name).Public().(ed25519.PublicKey)).String()
		w.hands[name], w.names[id] = id, name
	}
	root := &modelKey{name: "root", ws: operators, text: owner, given: scopesOf("*")}
	root.principal = read[issued](w.send(caller{key: root}, request{method: "GET", path: "/v1/api-keys/current"})).Principal
	w.keys["root"] = root
	return w
}

// private is the private key of a hand.
func (w *world) private(hand string) ed25519.PrivateKey {
	seed := sha256.Sum256([]byte(w.salt + "/" + hand))
	return ed25519.NewKeyFromSeed(seed[:])
}

// who finds a caller by its name; false when it is not there.
func (w *world) who(name string) (caller, bool) {
	if k := w.keys[name]; k != nil {
		return caller{key: k}, true
	}
	twin, hand, ok := strings.Cut(name, "/")
	id := w.idOf(twin)
	return caller{as: id, hand: hand}, ok && id != "" && w.hands[hand] != ""
}

// idOf is the DID a name stands for: of a twin, a group, a hand, or of whom a
// key speaks for.
func (w *world) idOf(name string) string {
	switch {
	case w.twins[name] != nil:
		return w.twins[name].did
	case w.groups[name] != nil:
		return w.groups[name].did
	case w.hands[name] != "":
		return w.hands[name]
	case w.keys[name] != nil && name != "root":
		return w.keys[name].principal
	}
	return ""
}

// request is what a step sends.
type request struct {
	method, path, body, media, once string
	outside                         bool // sent from another network
}

// token is what a hand sends to be a DID.
func (w *world) token(c caller) string {
	name := c.as + "/" + c.hand
	if w.tokens[name] == "" {
		s, err := ucan.NewSigner(did.DID(c.as), w.private(c.hand))
		if err != nil {
			w.tokens[name] = "none"
			return "none"
		}
		u, err := s.Mint(ucan.Draft{Audience: w.h.OracleDID(), Expires: time.Now().Add(10 * time.Minute), Capabilities: []ucan.Capability{everything}})
		if err != nil {
			panic(err) // a signer with a key can sign
		}
		w.tokens[name] = u.Text()
	}
	return w.tokens[name]
}

// request is what somebody sends.
func (w *world) request(c caller, r request) *http.Request {
	req := httptest.NewRequest(r.method, r.path, strings.NewReader(r.body))
	req.RemoteAddr = address(r.outside)
	if r.method != http.MethodPost {
		req.Header.Set("If-Match", "*")
	}
	if req.Header.Set("Content-Type", "application/json"); r.media != "" {
		req.Header.Set("Content-Type", r.media)
	}
	if r.once != "" {
		req.Header.Set("Idempotency-Key", r.once)
	}
	if c.key != nil {
		req.Header.Set("Authorization", "Bearer "+c.key.text)
	} else if req.Header.Set("X-Auth-Type", "ucan"); c.hand == "bob" { // who sends delegations
		req.Header.Set("X-Ucan-Delegation", w.token(c))
	} else {
		req.Header.Set("Authorization", "Bearer "+w.token(c))
	}
	return req
}

// send sends a request as somebody.
func (w *world) send(c caller, r request) *httptest.ResponseRecorder {
	out := httptest.NewRecorder()
	w.h.Handler.ServeHTTP(out, w.request(c, r))
	if out.Code >= 500 && out.Code != http.StatusServiceUnavailable { // which stores nothing
		w.fail("%s %s answers %d %s", r.method, r.path, out.Code, out.Body)
	}
	return out
}

// address is one that nobody else has: failures count by address, and guesses
// of others are not what is looked at here.
func address(outside bool) string {
	host, n := insideHost, calls.Add(1)
	if outside {
		host = otherHost
	}
	return fmt.Sprintf("[2001:db8:%d:%x::%x]:1234", host, n>>8&0xffff, n&0xff|1)
}

var calls atomic.Int64

// fail notes that a rule was broken.
func (w *world) fail(format string, args ...any) {
	if w.wrong == "" {
		w.wrong = fmt.Sprintf(format, args...)
	}
}

// do carries a step out. It is false when there is nothing to do it with, or
// when it was refused.
func (w *world) do(s step) bool {
	c, ok := w.who(s.Who)
	if !ok || doers[s.Do] == nil {
		return false
	}
	has := w.has(c)
	need, done := doers[s.Do](w, c, s)
	if !done {
		return false
	}
	if !has.covers(need) {
		w.fail("%s has done what takes %s", s, need.less(has))
	}
	return true
}

// doers are the steps there are. Each sends its request and, when it was done,
// notes what was given, and tells what it takes to be allowed that.
var doers = map[string]func(w *world, c caller, s step) (need rights, done bool){
	"workspace": (*world).doWorkspace, "key": (*world).doKey, "rotate": (*world).doRotate, "revoke": (*world).doRevoke, "again": (*world).doAgain,
	"twin": (*world).doTwin, "keys": (*world).doKeys, "control": (*world).doControl, "transfer": (*world).doTransfer, "status": (*world).doStatus,
	"erase": (*world).doErase, "copy": (*world).doCopy, "service": (*world).doService,
	"group": (*world).doGroup, "scopes": (*world).doScopes, "move": (*world).doMove, "join": (*world).doJoin, "leave": (*world).doLeave,
	"look": (*world).doLook, "watch": (*world).doWatch, "oracle": (*world).doOracle,
}

// text is a value as JSON.
func text(v any) string {
	b, err := json.Marshal(v, json.Deterministic(true))
	if err != nil {
		panic(err) // maps of texts can be written
	}
	return string(b)
}

// at is the address of a twin.
func at(id string, more ...string) string {
	out := "/v1/entities/" + url.PathEscape(id)
	for _, m := range more {
		out += "/" + url.PathEscape(m)
	}
	return out
}

type object = map[string]any

// ok reports whether a call did what it was asked to.
func done(r *httptest.ResponseRecorder) bool { return r.Code >= 200 && r.Code < 300 }

// read decodes an answer.
func read[T any](r *httptest.ResponseRecorder) T {
	var out T
	_ = json.Unmarshal(r.Body.Bytes(), &out) // what is missing shows at its use
	return out
}
