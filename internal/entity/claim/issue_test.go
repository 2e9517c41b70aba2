package claim_test

import (
	"fmt"
	"net/url"
	"slices"
	"testing"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
)

// approved is a claim of 12 kg of which the judge has approved 6.
func (c *court) approved(t testing.TB) string {
	t.Helper()
	id := c.claim(t, "fuel-saved")
	c.want(t, "judge", "POST "+claimAt(id)+"/evaluations", `{"facts":{"usage":{"value":0.5}}}`, "201")
	return id
}

// Whoever is overtaken while a credential is made cannot help it: the answer is what the
// claim has become, and not that a revision they never named is an old one.
func TestIssueIsOvertaken(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		c := newCourt(t, d)
		disputed := c.approved(t)
		dispute := func() { c.want(t, "other", "POST "+claimAt(disputed)+"/disputes", `{"reason":"sold"}`, "201") }
		c.then.Store(&dispute)
		r := c.want(t, "judge", "POST /v1/credentials", `{"claim":"`+disputed+`"}`, "409 CLAIM_NOT_APPROVED")
		if got := fmt.Sprint(r.Fields); got != "[{/claim not_approved The claim is disputed.}]" {
			t.Errorf("fields = %s", got)
		}

		cleared := c.approved(t)
		dispute = func() {
			id := c.want(t, "other", "POST "+claimAt(cleared)+"/disputes", `{"reason":"sold"}`, "201").text("id")
			c.want(t, "elder", "POST "+claimAt(cleared)+"/disputes/"+id+"/decision", `{"outcome":"dismissed","reason":"it was not"}`, "200")
		}
		c.then.Store(&dispute)
		c.want(t, "judge", "POST /v1/credentials", `{"claim":"`+cleared+`"}`, "201")
	})
}

// A verified claim of 12 kg does not become 5,000 t of somebody else, by no route, and
// what it became does not change.
func TestCredentialSaysWhatItsClaimSays(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		c := newCourt(t, d)
		claim := c.approved(t)
		const rich = `"type":"credential","protocol":"did:ixo:protocol/credential","properties":{"kind":"fuel-saved","issuer":"did:x:registry","amount":{"value":5000,"unit":"t"}}`
		c.want(t, "owner", "POST /v1/entities", `{`+rich+`,"relationships":[{"role":"becameFrom","target":"`+claim+`"}]}`, "403 CREDENTIAL_NEEDS_CLAIM")
		c.want(t, "owner", "POST /v1/entities", `{`+rich+`}`, "403 CREDENTIAL_NEEDS_CLAIM")
		c.want(t, "owner", "POST /v1/entities:batch", `{"atomic":true,"operations":[{"op":"create","entity":{`+rich+`}}]}`, "403 CREDENTIAL_NEEDS_CLAIM")
		const issue = "POST /v1/credentials"
		c.want(t, "judge", issue, `{"type":["VerifiableCredential"],"issuer":"did:x:registry"}`, "403 CREDENTIAL_NEEDS_CLAIM")
		if r := c.want(t, "owner", issue, `{"claim":"`+claim+`"}`, "403 NOT_CONTROLLER"); len(r.Fields) != 1 || r.Fields[0].Detail != "The oracle is "+c.oracle+"." {
			t.Errorf("without control of the oracle: %v", r.Body)
		}
		c.want(t, "stranger", issue, `{"claim":"`+claim+`"}`, "404 CLAIM_NOT_FOUND")
		c.want(t, "judge", issue, `{"claim":"`+c.claim(t, "fuel-saved")+`"}`, "409 CLAIM_NOT_APPROVED")
		r := c.want(t, "judge", issue, `{"claim":"`+claim+`","issuer":"did:x:registry","type":["GoldCredential"],"credentialSubject":{"id":"`+c.stove+`","amount":{"value":12,"unit":"kg"},"co":1}}`, "409 CREDENTIAL_DISAGREES")
		if got := fmt.Sprint(r.Fields); len(r.Fields) != 4 {
			t.Errorf("fields = %s, want issuer, type, amount and co", got)
		}
		made := c.want(t, "judge", issue, `{"claim":"`+claim+`","issuer":"`+c.oracle+`","type":["VerifiableCredential","Credential"],"credentialSubject":{"id":"`+c.stove+`","amount":{"value":6,"unit":"kg"}}}`, "201")
		id := made.text("id")
		if made.text("issuer") != c.oracle || made.text("subject") != c.stove || fmt.Sprint(made.Body["amount"]) != "map[unit:kg value:6]" || made.text("status") != "active" {
			t.Errorf("the credential is %v", made.Body)
		}
		for _, who := range []string{"judge", "owner"} {
			if r := c.do(t, who, "PATCH "+at(id), `{"properties":{"amount":{"value":9000,"unit":"t"}}}`); r.Code != 409 && r.Code != 403 {
				t.Errorf("a change by %s = %d", who, r.Code)
			}
		}
		c.want(t, "judge", "PATCH "+at(id), `{"properties":{"amount":{"value":9000,"unit":"t"}}}`, "409 CREDENTIAL_FIXED")
		c.want(t, "judge", "PUT "+at(id)+"/properties/issuer", `"did:x:registry"`, "409 CREDENTIAL_FIXED")
		c.want(t, "judge", issue, `{"claim":"`+claim+`"}`, "409 CLAIM_ALREADY_CREDENTIAL")
		c.want(t, "judge", "POST "+at(id)+"/transitions", `{"to":"deactivated"}`, "200")
		id = c.want(t, "judge", issue, `{"claim":"`+claim+`"}`, "201").text("id")
		c.want(t, "judge", "POST "+at(id)+"/transitions", `{"to":"completed"}`, "200")
		c.want(t, "judge", "POST "+at(id)+"/transitions", `{"to":"deactivated"}`, "409 CREDENTIAL_RETIRED")
		c.want(t, "judge", issue, `{"claim":"`+claim+`"}`, "409 CLAIM_ALREADY_CREDENTIAL")
	})
}

// A claim shows what it became, and how, by one new revision with one event; what
// produces it shows the credential by another.
func TestCredentialRevisesItsClaimOnce(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		c := newCourt(t, d)
		claim := c.approved(t)
		revision := func(id string) (float64, reply) {
			r := c.want(t, "owner", "GET "+at(id), "", "200")
			n, _ := r.Body["revision"].(float64)
			return n, r
		}
		wasClaim, _ := revision(claim)
		wasStove, _ := revision(c.stove)
		id := c.want(t, "judge", "POST /v1/credentials", `{"claim":"`+claim+`"}`, "201").text("id")
		for _, twin := range []struct {
			did string
			was float64
		}{{claim, wasClaim}, {c.stove, wasStove}} {
			n, r := revision(twin.did)
			shown, _ := r.Body["verifiableCredential"].([]any)
			first, _ := slices.Concat(shown, []any{nil})[0].(map[string]any)
			if n != twin.was+1 || len(shown) != 1 || first["id"] != id || first["status"] != "active" {
				t.Errorf("revision %v after %v shows %v", n, twin.was, shown)
			}
		}
		var edges, updates int
		err := d.QueryRow(t.Context(), `SELECT count(CASE WHEN type = 'relationship.added' THEN 1 END), count(CASE WHEN type = 'entity.updated' THEN 1 END) FROM events
			WHERE subject = $1 AND revision = $2`, claim, int64(wasClaim)+1).Scan(&edges, &updates)
		if err != nil || edges != 1 || updates != 0 {
			t.Errorf("events of the revision: %d of relationships, %d others, %v", edges, updates, err)
		}
	})
}

// A step that a credential cannot take is refused in the words of credentials, with what
// can be done instead.
func TestStepsAreRefusedInWords(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		c := newCourt(t, d)
		claim := c.approved(t)
		issue := func() string {
			return "POST /v1/credentials/" + url.PathEscape(c.want(t, "judge", "POST /v1/credentials", `{"claim":"`+claim+`"}`, "201").text("id"))
		}
		id, dispute := issue(), ""
		const invalid = "409 STATE_TRANSITION_INVALID"
		if r := c.want(t, "owner", id+"/revoke", `{}`, "403 NOT_CONTROLLER"); r.text("detail") != "Only a controller of the oracle that issued the credential changes its state. GET /v1/credentials/{credentialId} names it as issuer." {
			t.Errorf("without control of the oracle: %v", r.Body)
		}
		for _, tt := range []struct{ step, want, words string }{
			{"/reinstate", invalid, "It is active: suspend, revoke or retire it."},
			{"/suspend", "200", ""},
			{"/suspend", invalid, "It is suspended: reinstate or revoke it."},
			{"/retire", invalid, "It is suspended: reinstate or revoke it."},
			{"dispute", "201", ""},
			{"/reinstate", "409 CREDENTIAL_DISPUTED", ""},
			{"dismiss", "200", ""},
			{"/revoke", "200", ""},
			{"/suspend", invalid, "It is revoked, which is final. Its claim can become another credential."},
			{"issue", "", ""},
			{"/retire", "200", ""},
			{"/suspend", invalid, "It is retired, which is final: it has been counted."},
		} {
			switch tt.step {
			case "dispute":
				dispute = c.want(t, "neighbour", "POST "+claimAt(claim)+"/disputes", `{"reason":"sold"}`, tt.want).text("id")
				continue
			case "dismiss":
				c.want(t, "elder", "POST "+claimAt(claim)+"/disputes/"+dispute+"/decision", `{"outcome":"dismissed","reason":"seen there"}`, tt.want)
				continue
			case "issue":
				id = issue()
				continue
			}
			r := c.want(t, "judge", id+tt.step, `{}`, tt.want)
			if tt.words != "" && (len(r.Fields) != 1 || r.Fields[0].Detail != tt.words || r.Fields[0].Pointer != "") {
				t.Errorf("%s: %v, want %s", tt.step, r.Fields, tt.words)
			}
		}
		gone := c.claim(t, "fuel-saved")
		c.want(t, "owner", "POST "+claimAt(gone)+"/withdraw", "", "200")
		if r := c.want(t, "owner", "POST "+claimAt(gone)+"/withdraw", "", "409 CLAIM_DECIDED"); len(r.Fields) != 1 || r.Fields[0].Detail != "The claim is withdrawn, which is final." {
			t.Errorf("withdrawn again: %v", r.Fields)
		}
	})
}
