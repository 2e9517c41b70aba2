package app_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/hearth-dmrv/hearth/internal/auth"
	"github.com/hearth-dmrv/hearth/internal/did"
	"github.com/hearth-dmrv/hearth/internal/ucan"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// ask sends a request with a credential: the text of a key, or "ucan " and a
// token. It returns the answer and its body as an object.
func (h *house) ask(t *testing.T, credential, method, path, body string) (*httptest.ResponseRecorder, map[string]any) {
	t.Helper()
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	if token, ok := strings.CutPrefix(credential, "ucan "); ok {
		r.Header.Set("X-Auth-Type", "ucan")
		credential = token
	}
	r.Header.Set("Authorization", "Bearer "+credential)
	r.Header.Set("Content-Type", "application/json")
	if method == http.MethodPatch {
		r.Header.Set("Content-Type", "application/merge-patch+json")
	}
	if method != http.MethodGet {
		r.Header.Set("If-Match", "*")
	}
	w := httptest.NewRecorder()
	h.Handler.ServeHTTP(w, r)
	var out map[string]any
	_ = json.Unmarshal(w.Body.Bytes(), &out) // an answer that is none shows in the status
	return w, out
}

// guest is a caller of the house.
type guest struct {
	*testing.T
	house      *house
	credential string
}

func (h *house) guest(t *testing.T, credential string) guest {
	t.Helper()
	return guest{t, h, credential}
}

// wants sends a request, "GET /v1", and checks the answer, "404 CODE" or "200".
func (g guest) wants(what, line, body, want string) map[string]any {
	g.Helper()
	method, path, _ := strings.Cut(line, " ")
	w, out := g.house.ask(g.T, g.credential, method, path, body)
	code, _ := out["code"].(string)
	if got := strings.TrimSpace(fmt.Sprint(w.Code, " ", code)); got != want {
		g.Errorf("%s: %s = %d %s, want %s", what, line, w.Code, w.Body, want)
	}
	return out
}

// made sends a POST that must succeed and returns the DID of what it made.
func (h *house) made(t *testing.T, credential, path, body string) string {
	t.Helper()
	w, out := h.ask(t, credential, http.MethodPost, path, body)
	id, _ := out["did"].(string)
	if w.Code >= 300 || id == "" {
		t.Fatalf("POST %s %s = %d %s", path, body, w.Code, w.Body)
	}
	return id
}

// keyOf is the text of a new key.
func (h *house) keyOf(t *testing.T, d auth.Draft) string {
	t.Helper()
	ctx, err := h.Auth.AsOwner(t.Context(), auth.OperatorWorkspace)
	if err != nil {
		t.Fatal(err)
	}
	d.Name = "test"
	k, err := h.Auth.Create(ctx, d)
	if err != nil {
		t.Fatal(err)
	}
	return k.Text
}

// by is a fresh token signed by the key of seed, in the name of id.
func (h *house) by(t *testing.T, id, seed string) string {
	t.Helper()
	u, err := signer(t, did.DID(id), seed).Mint(ucan.Draft{
		Audience: h.OracleDID(), Expires: time.Now().Add(time.Minute + time.Duration(h.calls.Add(1))*time.Second), Capabilities: []ucan.Capability{everything},
	})
	if err != nil {
		t.Fatal(err)
	}
	return "ucan " + u.Text()
}

// keyDID is the did:key of seed.
func keyDID(t *testing.T, seed string) string { return signer(t, "", seed).DID().String() }

// entityPath is the path of something of a twin.
func entityPath(id string, more ...string) string {
	path := "/v1/entities/" + url.PathEscape(id)
	for _, m := range more {
		path += "/" + url.PathEscape(m)
	}
	return path
}

// group makes an organisation with one group that gives scopes, and returns both.
func (h *house) group(t *testing.T, scopes ...string) (org, group string) {
	t.Helper()
	org = h.made(t, owner, "/v1/entities", `{"type":"Organisation","protocol":"did:ixo:protocol/organisation","properties":{"name":"Org"}}`)
	list, _ := json.Marshal(scopes) // texts
	return org, h.made(t, owner, entityPath(org, "groups"), `{"name":"g","scopes":`+string(list)+`}`)
}

// person is the draft of a person with keys, and controllers unless its maker.
func person(keys, controllers []string) string {
	draft := map[string]any{"type": "Person", "protocol": "did:ixo:protocol/person", "properties": map[string]string{"name": "x"}, "alsoKnownAs": keys}
	if controllers != nil {
		draft["controllers"] = controllers
	}
	b, _ := json.Marshal(draft) // texts
	return string(b)
}

// managerOfBefore are the scopes of a key that was made with the role manager
// when it could take twins over.
var managerOfBefore = []string{"entities:read", "entities:write", "entities:transfer", "groups:*", "keys:*"}

// TestTransferIsNotIdentity: a key that may take twins over took over the twin
// of an owner, put its own key there, and was that owner.
func TestTransferIsNotIdentity(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	_, all := h.group(t, "*")
	boss := h.made(t, owner, "/v1/entities", person([]string{keyDID(t, "b")}, nil))
	h.guest(t, owner).wants("the owner admits her own", "PUT "+entityPath(all, "members", boss), `{}`, "200")
	h.guest(t, h.by(t, boss, "b")).wants("she is let in", "GET /v1/api-keys", "", "200")

	manager := h.keyOf(t, auth.Draft{Role: "manager"})
	h.guest(t, manager).wants("a manager takes nothing over", "POST "+entityPath(boss, "transfer"), `{"controller":"did:key:evil"}`, "403 SCOPE_MISSING")
	old := h.keyOf(t, auth.Draft{Scopes: managerOfBefore, Principal: "did:ixo:agent/evil"})
	h.guest(t, old).wants("nor who has the scope", "POST "+entityPath(boss, "transfer"), `{"controller":"did:ixo:agent/evil"}`, "403 PRINCIPAL_PROTECTED")
	h.guest(t, h.by(t, boss, "e")).wants("and the key does not count", "GET /v1/api-keys", "", "401 UCAN_INVALID")

	// The way back after a lost phone: somebody with every scope of hers.
	h.guest(t, owner).wants("an owner puts a new key there", "PATCH "+entityPath(boss), `{"alsoKnownAs":["`+keyDID(t, "n")+`"]}`, "200")
	h.guest(t, h.by(t, boss, "n")).wants("which counts", "GET /v1/api-keys", "", "200")
	h.guest(t, h.by(t, boss, "b")).wants("and the old one does not", "GET /v1/api-keys", "", "401 UCAN_INVALID")

	// What stands for nobody changes hands as before.
	twin := h.made(t, owner, "/v1/entities", person(nil, nil))
	h.guest(t, old).wants("any other twin", "POST "+entityPath(twin, "transfer"), `{"controller":"did:ixo:agent/evil"}`, "200")
}

// TestPlantedKey: a clerk who makes the twin of a person could put a key of
// their own there, and had whatever groups the person was given later.
func TestPlantedKey(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	_, all := h.group(t, "*")
	clerk := h.keyOf(t, auth.Draft{Scopes: []string{"entities:read", "entities:write"}, Principal: "did:ixo:agent/clerk"})
	planted, hers := keyDID(t, "p"), keyDID(t, "h")
	boss := h.made(t, clerk, "/v1/entities", person([]string{planted, hers}, nil))
	// To sign with it shows who holds it, not whose it is.
	h.guest(t, h.by(t, boss, "p")).wants("the clerk signs", "GET /v1/memberships", "", "200")
	member := entityPath(all, "members", boss)
	refused := h.guest(t, owner).wants("two keys nobody vouches for", "PUT "+member, `{}`, "409 KEYS_UNCONFIRMED")
	names, _ := refused["keys"].([]any)
	if got := fmt.Sprint(names); len(names) != 2 || !strings.Contains(got, planted) || !strings.Contains(got, hers) {
		t.Errorf("the refusal names %s, want both keys", got)
	}
	h.guest(t, h.by(t, boss, "p")).wants("nothing was stored", "GET /v1/api-keys", "", "403 SCOPE_MISSING")
	h.guest(t, owner).wants("a key she has not", "PUT "+member, `{"keys":["`+keyDID(t, "x")+`"]}`, "400 MEMBER_KEYS_INVALID")
	admitted := h.guest(t, owner).wants("the one she has shown", "PUT "+member, `{"keys":["`+hers+`"]}`, "200")
	if got := fmt.Sprint(admitted["keys"]); got != "["+hers+"]" {
		t.Errorf("admitted %s, want hers", got)
	}
	h.guest(t, h.by(t, boss, "h")).wants("hers counts", "GET /v1/api-keys", "", "200")
	h.guest(t, h.by(t, boss, "p")).wants("the planted one does not", "GET /v1/api-keys", "", "401 UCAN_INVALID")
	h.guest(t, h.by(t, boss, "p")).wants("nor shows it her groups", "GET /v1/memberships", "", "401 UCAN_INVALID")
	if w, _ := h.ask(t, h.by(t, boss, "p"), "GET", "/sessions", ""); w.Code != http.StatusUnauthorized {
		t.Errorf("the planted key with the oracle: %d %s, want 401", w.Code, w.Body)
	}
	for _, patch := range []string{
		`{"alsoKnownAs":["` + hers + `","` + keyDID(t, "q") + `"]}`, `{"alsoKnownAs":["` + planted + `"]}`, `{"controllers":["did:key:evil"]}`,
	} {
		h.guest(t, clerk).wants("and the clerk changes no more", "PATCH "+entityPath(boss), patch, "403 PRINCIPAL_PROTECTED")
	}
	h.guest(t, clerk).wants("nor ends her", "POST "+entityPath(boss, "transitions"), `{"to":"deactivated"}`, "403 PRINCIPAL_PROTECTED")
	h.guest(t, clerk).wants("but writes what is no key", "PATCH "+entityPath(boss), `{"alsoKnownAs":["`+planted+`","`+hers+`","https://example.org/her"]}`, "200")
	listed := h.guest(t, owner).wants("the list of members", "GET "+entityPath(all, "members"), "", "200")
	if got := fmt.Sprint(listed["items"]); !strings.Contains(got, "keys:["+hers+"]") {
		t.Errorf("members = %s, want her key in it", got)
	}
}

// TestOrganisationThatControls: the twin of a person that an organisation
// controls too. Its members change the record, and never who she is.
func TestOrganisationThatControls(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	org, writers := h.group(t, "entities:read", "entities:write")
	_, strong := h.group(t, "entities:*", "keys:read", "groups:read")
	her := h.made(t, owner, "/v1/entities", person([]string{keyDID(t, "1")}, nil))
	h.guest(t, owner).wants("she and her organisation control it", "PATCH "+entityPath(her), `{"controllers":["`+her+`","`+org+`"]}`, "200")
	h.guest(t, owner).wants("she is in the strong group", "PUT "+entityPath(strong, "members", her), ``, "200")
	colleague := signer(t, "", "c").DID().String()
	h.guest(t, owner).wants("a colleague writes for the organisation", "PUT "+entityPath(writers, "members", colleague), `{}`, "200")
	theirs := func() string { return h.by(t, "", "c") }
	h.guest(t, theirs()).wants("what she is called", "PATCH "+entityPath(her), `{"properties":{"name":"y"}}`, "200")
	h.guest(t, theirs()).wants("a key of the colleague", "PATCH "+entityPath(her), `{"alsoKnownAs":["`+keyDID(t, "1")+`","`+colleague+`"]}`, "403 PRINCIPAL_PROTECTED")
	batch := h.guest(t, theirs()).wants("in a batch", "POST /v1/entities:batch", `{"operations":[{"op":"patch","did":"`+her+`","ifMatch":"*","patch":{"alsoKnownAs":["`+colleague+`"]}}]}`, "200")
	if got := fmt.Sprint(batch["results"]); !strings.Contains(got, "PRINCIPAL_PROTECTED") {
		t.Errorf("in a batch = %s, want PRINCIPAL_PROTECTED", got)
	}
	h.guest(t, theirs()).wants("only the organisation", "DELETE "+entityPath(her, "controllers", her), "", "403 PRINCIPAL_PROTECTED")

	// Her own proof: a UCAN of a key she has.
	h.guest(t, h.by(t, her, "1")).wants("a second phone", "PATCH "+entityPath(her), `{"alsoKnownAs":["`+keyDID(t, "1")+`","`+keyDID(t, "2")+`"]}`, "200")
	h.guest(t, h.by(t, her, "2")).wants("has her rights", "GET /v1/api-keys", "", "200")
	h.guest(t, h.by(t, her, "2")).wants("and the first is lost", "PATCH "+entityPath(her), `{"alsoKnownAs":["`+keyDID(t, "2")+`"]}`, "200")
	h.guest(t, h.by(t, her, "1")).wants("so it ends", "GET /v1/api-keys", "", "401 UCAN_INVALID")
	// A key that is limited is not her proof, though it speaks for her.
	limited := h.keyOf(t, auth.Draft{Scopes: []string{"entities:read", "entities:write"}, Principal: her})
	h.guest(t, limited).wants("a limited key of hers", "PATCH "+entityPath(her), `{"alsoKnownAs":["`+colleague+`"]}`, "403 PRINCIPAL_PROTECTED")
}

// TestOwnTwinOfTheOracle: who took over the twin of the server's oracle sent
// its clients to another host.
func TestOwnTwinOfTheOracle(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	id := h.OracleDID().String()
	old := h.keyOf(t, auth.Draft{Scopes: slices.Concat(managerOfBefore, []string{"entities:*"}), Principal: "did:ixo:agent/evil"})
	h.guest(t, old).wants("transfer", "POST "+entityPath(id, "transfer"), `{"controller":"did:ixo:agent/evil"}`, "403 SCOPE_MISSING")
	h.guest(t, owner).wants("an operator", "POST "+entityPath(id, "transfer"), `{"controller":"did:ixo:agent/evil"}`, "200")
	h.guest(t, old).wants("its services", "PATCH "+entityPath(id), `{"services":[{"id":"#api","type":"oracleService","endpoint":"https://evil.example"},{"id":"#ws","type":"wsService","endpoint":"https://evil.example"}]}`, "200")
	w, _ := h.ask(t, owner, "GET", "/1.0/identifiers/"+id, "")
	if strings.Contains(w.Body.String(), "evil.example") || strings.Count(w.Body.String(), `"serviceEndpoint":"https://hearth.example.org"`) != 2 {
		t.Errorf("the document of the oracle = %s, want the address of the server", w.Body)
	}
	h.guest(t, old).wants("its keys", "PATCH "+entityPath(id), `{"alsoKnownAs":["`+keyDID(t, "e")+`"]}`, "403 SCOPE_MISSING")
}

// TestConversationsAreHers: who speaks for a DID reads what it said to the
// oracle, which no scope gives. So only its own key, or an owner, changes that.
func TestConversationsAreHers(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	clerk := h.keyOf(t, auth.Draft{Scopes: []string{"entities:read", "entities:write"}, Principal: "did:ixo:agent/clerk"})
	her := h.made(t, clerk, "/v1/entities", person([]string{keyDID(t, "h")}, nil))
	h.guest(t, clerk).wants("before she talks", "PATCH "+entityPath(her), `{"alsoKnownAs":["`+keyDID(t, "h")+`","`+keyDID(t, "i")+`"]}`, "200")
	if w, _ := h.ask(t, h.by(t, her, "h"), "POST", "/sessions", `{}`); w.Code != http.StatusCreated {
		t.Fatalf("a session: %d %s", w.Code, w.Body)
	}
	h.guest(t, clerk).wants("after", "PATCH "+entityPath(her), `{"alsoKnownAs":["`+keyDID(t, "e")+`"]}`, "403 PRINCIPAL_PROTECTED")
}

// ownerDID is who the owner's key speaks for.
func (h *house) ownerDID(t *testing.T) string {
	t.Helper()
	ctx, err := h.Auth.AsOwner(t.Context(), auth.OperatorWorkspace)
	if err != nil {
		t.Fatal(err)
	}
	return web.CallerFrom(ctx).DID
}

// TestJudgesUnderAnotherName: nobody judges a claim they have made under another
// name: as the did:key they signed with, as the DID it speaks for, or with an API
// key they have made.
func TestJudgesUnderAnotherName(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	_, all := h.group(t, "*")
	k := keyDID(t, "k")
	her := h.made(t, owner, "/v1/entities", person([]string{k}, nil))
	for _, member := range []string{her, k, keyDID(t, "o")} {
		h.guest(t, owner).wants("a member", "PUT "+entityPath(all, "members", member), `{}`, "200")
	}
	claim := func(credential string) (path, verdict string) {
		id := h.made(t, credential, "/v1/entities", `{"type":"Claim","protocol":"did:ixo:protocol/claim","properties":{"name":"x"}}`)
		return "POST " + entityPath(id, "verification"), `{"status":"rejected","reason":"too much","revision":1}`
	}
	path, verdict := claim(h.by(t, her, "k"))
	made := h.guest(t, h.by(t, her, "k")).wants("a key of hers", "POST /v1/api-keys", `{"name":"k","scopes":["*"]}`, "201")
	text, _ := made["key"].(string)
	h.guest(t, h.by(t, "", "k")).wants("as the key itself", path, verdict, "403 VERIFIER_IS_CLAIMANT")
	h.guest(t, text).wants("with a key she made", path, verdict, "403 VERIFIER_IS_CLAIMANT")
	h.guest(t, h.by(t, "", "o")).wants("somebody else, who only lacks an oracle", path, verdict, "403 VERIFIER_NOT_ORACLE")

	path, verdict = claim(h.by(t, "", "k"))
	h.guest(t, h.by(t, her, "k")).wants("as the DID it speaks for", path, verdict, "403 VERIFIER_IS_CLAIMANT")
	path, verdict = claim(text)
	h.guest(t, h.by(t, her, "k")).wants("as who made the key", path, verdict, "403 VERIFIER_IS_CLAIMANT")
	made = h.guest(t, h.by(t, her, "k")).wants("another key of hers", "POST /v1/api-keys", `{"name":"k2","scopes":["*"]}`, "201")
	text, _ = made["key"].(string)
	h.guest(t, text).wants("two whose keys she made are two", path, verdict, "403 VERIFIER_NOT_ORACLE")

	made = h.guest(t, owner).wants("a key of the owner's making", "POST /v1/api-keys", `{"name":"k3","scopes":["*"]}`, "201")
	text, _ = made["key"].(string)
	path, verdict = claim(text)
	h.guest(t, owner).wants("the owner, who made the key", path, verdict, "403 VERIFIER_IS_CLAIMANT")
}

// TestClaimantNamesTheJudge: nobody keeps a judge from judging by writing her
// did:key on a twin of their own. One that signs for it is theirs.
func TestClaimantNamesTheJudge(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	_, writers := h.group(t, "entities:read", "entities:write", "entities:verify")
	claimant := h.made(t, owner, "/v1/entities", person([]string{keyDID(t, "c")}, nil))
	for _, member := range []string{claimant, keyDID(t, "j")} {
		h.guest(t, owner).wants("a member", "PUT "+entityPath(writers, "members", member), `{}`, "200")
	}
	h.guest(t, owner).wants("her own twin", "PATCH "+entityPath(claimant), `{"controllers":["`+claimant+`"]}`, "200")
	id := h.made(t, h.by(t, claimant, "c"), "/v1/entities", `{"type":"Claim","protocol":"did:ixo:protocol/claim","properties":{"name":"x"}}`)
	path, verdict := "POST "+entityPath(id, "verification"), `{"status":"rejected","reason":"too much","revision":1}`
	h.guest(t, h.by(t, claimant, "c")).wants("the claimant names the judge", "PATCH "+entityPath(claimant), `{"alsoKnownAs":["`+keyDID(t, "c")+`","`+keyDID(t, "j")+`"]}`, "200")
	h.guest(t, h.by(t, "", "j")).wants("the judge, who only lacks an oracle", path, verdict, "403 VERIFIER_NOT_ORACLE")
	h.guest(t, h.by(t, claimant, "j")).wants("the judge signs for the claimant", "GET "+entityPath(id), "", "200")
	h.guest(t, h.by(t, "", "j")).wants("and judges again", path, strings.Replace(verdict, "too much", "still", 1), "403 VERIFIER_IS_CLAIMANT")
}

// TestDocumentsOfPrincipals: nobody publishes a document under the DID of a
// principal of another workspace.
func TestDocumentsOfPrincipals(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	made := h.guest(t, owner).wants("a workspace", "POST /v1/workspaces", `{"id":"kitui","name":"Kitui"}`, "201")
	key, _ := made["ownerKey"].(map[string]any)
	id, _ := key["principal"].(string)
	clerk := h.keyOf(t, auth.Draft{Scopes: []string{"entities:read", "entities:write"}})
	draft := `{"did":"` + id + `","type":"Person","protocol":"did:ixo:protocol/person","properties":{"name":"x"}}`
	h.guest(t, clerk).wants("its owner's document", "POST /v1/entities", draft, "409 ENTITY_EXISTS")
	h.guest(t, owner).wants("unless an owner means it", "POST /v1/entities", draft, "201")
}

// TestSleepingKey: a key whose groups are not in force is worth nothing now,
// and what it was worth again with them. Who has less decides nothing about it.
func TestSleepingKey(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	_, all := h.group(t, "*")
	a := keyDID(t, "a")
	h.guest(t, owner).wants("she joins", "PUT "+entityPath(all, "members", a), `{}`, "200")
	made := h.guest(t, h.by(t, "", "a")).wants("she makes a key", "POST /v1/api-keys", `{"name":"k","scopes":["*"]}`, "201")
	id, _ := made["id"].(string)
	manager := h.keyOf(t, auth.Draft{Role: "manager"})
	h.guest(t, owner).wants("she leaves", "DELETE "+entityPath(all, "members", a), "", "200")
	h.guest(t, manager).wants("a manager rotates it", "POST /v1/api-keys/"+id+"/rotate", `{}`, "403 SCOPE_MISSING")
	h.guest(t, manager).wants("and revokes it", "DELETE /v1/api-keys/"+id, "", "403 SCOPE_MISSING")

	her := h.made(t, owner, "/v1/entities", person(nil, nil))
	h.guest(t, owner).wants("a member", "PUT "+entityPath(all, "members", her), `{}`, "200")
	h.guest(t, owner).wants("of a group that sleeps", "POST "+entityPath(all, "transitions"), `{"to":"suspended"}`, "200")
	eraser := h.keyOf(t, auth.Draft{Scopes: []string{"entities:read", "entities:erase", "keys:write"}})
	h.guest(t, eraser).wants("is erased by somebody with less", "POST /v1/erasures", `{"subject":"`+her+`","reason":"asked"}`, "403 SCOPE_MISSING")
}

// TestReplayByAnotherKey: the answer to an Idempotency-Key belongs to the key
// that signed for it, and not to the DID.
func TestReplayByAnotherKey(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	_, all := h.group(t, "keys:write")
	clerk := h.keyOf(t, auth.Draft{Scopes: []string{"entities:write", "entities:transfer", "keys:write"}, Principal: "did:ixo:agent/clerk"})
	her := h.made(t, clerk, "/v1/entities", person([]string{keyDID(t, "1")}, nil))
	h.guest(t, owner).wants("the weak key", "PUT "+entityPath(all, "members", her), `{}`, "200")
	h.guest(t, owner).wants("a group that gives more now", "PUT "+entityPath(all, "properties", "scopes"), `["*"]`, "200")
	h.guest(t, owner).wants("her twin", "POST "+entityPath(her, "transfer"), `{"controller":"`+h.ownerDID(t)+`"}`, "200")
	h.guest(t, owner).wants("the strong key", "PATCH "+entityPath(her), `{"alsoKnownAs":["`+keyDID(t, "1")+`","`+keyDID(t, "2")+`"]}`, "200")
	spare := h.guest(t, owner).wants("a key to rotate", "POST /v1/api-keys", `{"name":"k","scopes":["*"]}`, "201")
	send := func(seed string) *httptest.ResponseRecorder {
		r := httptest.NewRequest(http.MethodPost, fmt.Sprint("/v1/api-keys/", spare["id"], "/rotate"), strings.NewReader(`{}`))
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("X-Auth-Type", "ucan")
		r.Header.Set("Authorization", "Bearer "+strings.TrimPrefix(h.by(t, her, seed), "ucan "))
		r.Header.Set("Idempotency-Key", "r1")
		w := httptest.NewRecorder()
		h.Handler.ServeHTTP(w, r)
		return w
	}
	if w := send("2"); w.Code != http.StatusCreated {
		t.Fatalf("the strong key: %d %s", w.Code, w.Body)
	}
	if w := send("1"); w.Code != http.StatusForbidden {
		t.Errorf("the weak key, again: %d %s, want 403", w.Code, w.Body)
	}
}
