package app_test

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/hearth-dmrv/hearth/internal/app"
)

// chain is a server with people, oracles and protocols, and the sequence that is walked
// on it.
type chain struct {
	b          *app.Built
	keys       map[string]string // of people, by name
	oracles    []string          // of ann and bob
	org        string
	kinds      map[string]string // protocol by what it is for
	collection []string          // of the stoves: the first version, and the newest
	walked     int
	*sequence
}

// sequence is what one walk has made.
type sequence struct {
	t           testing.TB
	rand        *rand.Rand
	mark        int64 // numbers from here on are of this walk
	stoves      []string
	homes       []string
	site        string
	claims      []string
	drafts      []string
	credentials []string
	disputes    [][2]string       // claim, dispute
	judges      map[string]string // whose oracle verifies a claim
	last        *ledgerNow
	documents   map[string]string // what was signed or submitted, by DID
	sent        []string
	broken      string
	tried, did  map[string]int
}

// people of a chain. carl claims, ann and bob have an oracle each, dan
// decides disputes, eve has nothing.
var people = []string{"carl", "ann", "bob", "dan", "eve"}

// chainTypes are the claim types of all three protocols: by facts, by the amount with and
// without people, by two oracles, by people alone. TestChain decides by rules of its own,
// see expected.
const chainTypes = `{"fuel":{"aggregates":true,"verification":{"facts":[{"id":"usage","type":"number"},{"id":"sold","type":"boolean"}],"rubric":[%[1]s]}},
	"self":{"issue":"approval","verification":{"mode":"auto","oracles":["%[2]s","%[3]s"],"rubric":[` + selfRubric + `]}},
	"half":{"verification":{"mode":"hybrid","oracles":["%[2]s","%[3]s"],"rubric":[` + selfRubric + `]}},
	"two":{"verification":{"quorum":2}},"visits":{}}`

const (
	fuelRubric = `{"id":"sold","stage":"veto","when":{"fact":"sold","equals":true},"then":{"outcome":"rejected","reasonCode":"SOLD"}},
		{"id":"unknown","stage":"missing_evidence","when":"facts.usage == null","then":{"outcome":"flagged","reasonCode":"NO_USAGE"}},
		{"id":"odd","stage":"manual_review","when":"facts.usage > 1.0","then":{"outcome":"manual_review_required","reasonCode":"ODD"}},
		{"id":"some","stage":"partial","when":"facts.usage < 0.8","then":{"outcome":"partial_success","reasonCode":"LOW_USE","amount":"claim.amount * facts.usage"}},
		{"id":"rest","stage":"approval","when":"true","then":{"outcome":"approved","reasonCode":"IN_USE"}}`
	laxRubric  = `{"id":"all","stage":"approval","when":"true","then":{"outcome":"approved","reasonCode":"LAX"}}`
	selfRubric = `{"id":"none","stage":"veto","when":"claim.amount > 1000.0","then":{"outcome":"rejected","reasonCode":"TOO_MUCH"}},
		{"id":"odd","stage":"manual_review","when":"claim.amount > 100.0","then":{"outcome":"manual_review_required","reasonCode":"ODD"}},
		{"id":"some","stage":"partial","when":"claim.amount > 10.0","then":{"outcome":"partial_success","reasonCode":"CAPPED","amount":"10.0"}},
		{"id":"rest","stage":"approval","when":"true","then":{"outcome":"approved","reasonCode":"SMALL"}}`
)

// newChain builds a server with what all sequences share; nil when that fails.
func newChain(t *testing.T, on string) *chain {
	c := &chain{b: chainServer(t, on), keys: map[string]string{"root": owner}, kinds: map[string]string{}, sequence: &sequence{}}
	for _, name := range people {
		c.keys[name] = c.must(t, "root", "POST /v1/api-keys", `{"name":"`+name+`","principal":"did:ixo:agent/`+name+`","scopes":["*"]}`, "key")
	}
	for _, name := range []string{"ann", "bob"} {
		c.oracles = append(c.oracles, c.must(t, name, "POST /v1/entities", `{"type":"oracle","protocol":"did:ixo:protocol/oracle"}`, "did"))
	}
	c.must(t, "ann", "POST "+at(c.oracles[0], "evaluation-consent"), "", "oracle")
	c.must(t, "bob", "POST "+at(c.oracles[1], "evaluation-consent"), "", "oracle")
	for kind, domain := range map[string]string{"stove": "device", "home": "household", "site": "project"} {
		types := fmt.Sprintf(chainTypes, fuelRubric, c.oracles[0], c.oracles[1])
		c.kinds[kind] = c.must(t, "eve", "POST /v1/protocols", `{"type":"Protocol","name":"`+kind+`","domainType":"`+domain+`","properties":{"name":"string"},"relationships":{},"claimTypes":`+types+`}`, "did")
		c.must(t, "eve", "POST /v1/protocols/"+c.kinds[kind]+"/publish", "", "")
	}
	stove := c.kinds["stove"]
	draft := `{"name":"pinned","protocol":"` + stove + `"}`
	c.collection = append(c.collection, c.must(t, "carl", "POST /v1/collections", draft, "id"))
	c.must(t, "carl", "POST /v1/protocols/"+stove+"/versions", `{"version":"2.0.0","claimTypes":`+fmt.Sprintf(chainTypes, laxRubric, c.oracles[0], c.oracles[1])+`}`, "")
	c.must(t, "carl", "POST /v1/protocols/"+stove+"/publish", "", "")
	c.collection = append(c.collection, c.must(t, "carl", "POST /v1/collections", draft, "id"))
	if t.Failed() {
		return nil
	}
	return c
}

// found makes the twins of a sequence: three stoves in two homes, which are in a project.
func (c *chain) found(t *testing.T) {
	if c.walked%50 == 0 { // whose record grows with its projects
		c.org = c.must(t, "carl", "POST /v1/entities", `{"type":"organisation","protocol":"did:ixo:protocol/organisation"}`, "did")
	}
	c.walked++
	c.mark = c.b.DB.NewNID()
	role := func(role, target string) string { return `{"role":"` + role + `","target":"` + target + `"}` }
	create := func(kind string, roles ...string) string {
		version := ""
		if kind == "stove" {
			version = `,"protocolVersion":"` + []string{"1.0.0", "1.0.0", "2.0.0"}[c.rand.IntN(3)] + `"`
		}
		return `{"op":"create","entity":{"type":"` + kind + `","protocol":"` + c.kinds[kind] + `"` + version + `,"relationships":[` + strings.Join(roles, ",") + `]}}`
	}
	r := c.send("carl", "POST /v1/entities:batch", `{"atomic":true,"operations":[`+strings.Join([]string{
		create("site", role("implementedBy", c.org)), create("home", role("project", "$0")), create("home"),
		create("stove", role("household", "$1")), create("stove", role("household", "$2")), create("stove"),
	}, ",")+`]}`)
	made := read[struct {
		Results []struct {
			DID string `json:"did"`
		} `json:"results"`
	}](r).Results
	if len(made) != 6 {
		t.Fatalf("found: %d %s", r.Code, r.Body)
	}
	c.site, c.homes, c.stoves = made[0].DID, []string{made[1].DID, made[2].DID}, []string{made[3].DID, made[4].DID, made[5].DID}
}

// must sends a request that cannot be refused and gives a member of the answer.
func (c *chain) must(t *testing.T, who, line, body, member string) string {
	r := c.send(who, line, body)
	if !done(r) {
		t.Errorf("%s by %s of %s = %d %s", line, who, body, r.Code, r.Body)
	}
	s, _ := read[object](r)[member].(string)
	return s
}

// send sends a request, "POST /v1/claims", as somebody.
func (c *chain) send(who, line, body string) *httptest.ResponseRecorder {
	method, path, _ := strings.Cut(line, " ")
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	r.RemoteAddr = address(false)
	r.Header.Set("Authorization", "Bearer "+c.keys[who])
	switch {
	case method == http.MethodPatch:
		r.Header.Set("Content-Type", "application/merge-patch+json")
	case strings.HasPrefix(path, "/v1/imports"):
		r.Header.Set("Content-Type", "application/x-ndjson")
	case body != "":
		r.Header.Set("Content-Type", "application/json")
	}
	if method != http.MethodPost {
		r.Header.Set("If-Match", "*")
	}
	w := httptest.NewRecorder()
	c.b.Handler.ServeHTTP(w, r)
	if method != http.MethodGet {
		c.sent = append(c.sent, fmt.Sprintf("%-4s %s %s = %d %s", who, line, body, w.Code, read[struct {
			Code string `json:"code"`
		}](w).Code))
	}
	if w.Code >= 500 && w.Code != http.StatusServiceUnavailable && c.broken == "" { // which stores nothing
		c.broken = fmt.Sprintf("%s by %s of %s answers %d %s", line, who, body, w.Code, w.Body)
	}
	return w
}

// answered holds that no call broke down.
func (c *chain) answered(*ledgerNow) string { return c.broken }

// carry imports rows, and reports whether any was stored.
func (c *chain) carry(who, mode string, rows ...object) bool {
	var file strings.Builder
	for _, row := range rows {
		file.WriteString(text(row) + "\n")
	}
	r := c.send(who, "POST /v1/imports?format=ndjson&mode="+mode, file.String())
	if !done(r) {
		return false
	}
	ok, err := imported(c.t.Context(), c.b, operators, read[issued](r).ID)
	if err != nil {
		c.broken = fmt.Sprintf("wait for an import: %v", err)
	}
	return ok
}

// pick draws one; "" of none.
func (s *sequence) pick(of ...string) string {
	if len(of) == 0 {
		return ""
	}
	return of[s.rand.IntN(len(of))]
}

// one reports whether something happens that does so once in n times.
func (s *sequence) one(n int) bool { return s.rand.IntN(n) == 0 }
