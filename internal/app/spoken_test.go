package app_test

import (
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/hearth-dmrv/hearth/internal/auth"
)

// selfServing are claim types by which a claimant lets the server approve everything.
const selfServing = `{"type":"Protocol","name":"stove","domainType":"device","properties":{"name":"string"},"relationships":{},"claimTypes":{"fuel-saved":{
	"issue":"approval","verification":{"mode":"auto","oracles":["%s"],"rubric":[{"id":"rest","stage":"approval","when":"true","then":{"outcome":"approved","reasonCode":"OK"}}]}}}}`

const evaluatorDID = "did:ixo:agent/evaluator"

// TestSpokenForUnasked: a manager wrote a protocol that approves everything, bound an
// oracle to an evaluator who was never asked, and had the server approve and sign in that
// person's name.
func TestSpokenForUnasked(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	key := func(role, name string) string {
		return h.keyOf(t, auth.Draft{Role: role, Principal: "did:ixo:agent/" + name})
	}
	manager, other, evaluator := h.guest(t, key("manager", "manager")), h.guest(t, key("manager", "other")), h.guest(t, key("evaluator", "evaluator"))

	n := 0
	verifying := func(oracle, controller string, claims ...string) {
		var all []object
		for _, c := range claims {
			all = append(all, object{"role": "verifies", "target": c})
		}
		h.made(t, manager.credential, "/v1/entities", text(object{"type": "oracle", "protocol": "did:ixo:protocol/oracle", "did": oracle, "controller": controller, "relationships": all}))
	}
	claimed := func(by guest, oracle string) string {
		n++
		p := h.made(t, by.credential, "/v1/protocols", fmt.Sprintf(selfServing, oracle))
		by.wants("it is published", "POST /v1/protocols/"+url.PathEscape(p)+"/publish", "", "200")
		stove := h.made(t, manager.credential, "/v1/entities", `{"type":"stove","protocol":"`+p+`"}`)
		c := manager.wants("the manager claims", "POST /v1/claims", `{"kind":"fuel-saved","subject":"`+stove+`","periodStart":"2025-01-01","periodEnd":"2025-01-28","amount":{"value":12,"unit":"kg"}}`, "201")
		id, _ := c["id"].(string)
		return id
	}
	ends := func(what, claim, want string) {
		path := "/v1/claims/" + url.PathEscape(claim)
		status := h.guest(t, owner).wants(what, "GET "+path, "", "200")["status"]
		out := h.guest(t, owner).wants(what, "GET "+path+"/explanation", "", "200")
		e, _ := out["evaluation"].(map[string]any)
		if got := fmt.Sprint(status, " ", e["evaluator"], " ", out["words"]); !strings.HasPrefix(got, want[:strings.Index(want, "…")]) || !strings.Contains(got, want[strings.Index(want, "…")+len("…"):]) {
			t.Errorf("%s: %s, want %s", what, got, want)
		}
	}
	for name, bind := range map[string]func(oracle string, claims ...string){
		"bound from the start": func(oracle string, claims ...string) { verifying(oracle, evaluatorDID, claims...) },
		"bound afterwards": func(oracle string, claims ...string) {
			verifying(oracle, "did:ixo:agent/manager", claims...)
			manager.wants("the oracle is handed over", "PATCH "+entityPath(oracle), `{"controllers":["`+evaluatorDID+`"]}`, "200")
		},
	} {
		for _, asked := range []bool{false, true} {
			oracle := fmt.Sprintf("did:ixo:entity:%032x", n+1)
			theirs, fair := claimed(manager, oracle), claimed(other, oracle)
			bind(oracle, theirs, fair)
			consent := "POST " + entityPath(oracle) + "/evaluation-consent"
			manager.wants("a manager agrees for the evaluator", consent, "", "403 SCOPE_MISSING")
			h.guest(t, owner).wants("so does the owner", consent, "", "403 NOT_CONTROLLER")
			if asked {
				evaluator.wants("the evaluator agrees", consent, "", "200")
			}
			h.guest(t, owner).wants("the server works", "POST /v1/claims:process", "", "200")
			if asked {
				ends(name+", by rules of the claimant", theirs, "pending "+evaluatorDID+" …has a part in the claim")
				ends(name+", by rules of others", fair, "approved "+evaluatorDID+" …12 of 12 kg are approved")
			} else {
				ends(name+", unasked, by rules of the claimant", theirs, "pending  …has agreed")
				ends(name+", unasked, by rules of others", fair, "pending  …has agreed")
			}
		}
	}
}
