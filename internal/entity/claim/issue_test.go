package claim_test

import (
	"fmt"
	"math/rand/v2"
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
		c.want(t, "owner", issue, `{"claim":"`+claim+`"}`, "403 NOT_CONTROLLER")
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

// Whatever is done in whatever order, a credential has an approved claim and says what
// that says, an approval is one the rubric gives, and nothing is claimed twice.
func TestChainHolds(t *testing.T) {
	t.Parallel()
	sequences := 200
	if dbtest.Everything() {
		sequences = 2500 // on each database
	}
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		c := newCourt(t, d)
		r := rand.New(rand.NewPCG(7, 11)) //nolint:gosec // a test draws the same again
		for n := range sequences {
			c.month = n // its claims are of one month, and meet
			c.play(t, r)
			if t.Failed() {
				t.Fatalf("in sequence %d", n)
			}
		}
		if c.issued < sequences/20 {
			t.Errorf("%d credentials in %d sequences: too few to say anything", c.issued, sequences)
		}
	})
}

// play does a few things in a random order, and looks at what came of it.
func (c *court) play(t *testing.T, r *rand.Rand) {
	t.Helper()
	month, claims, credentials := c.month, []string{}, []string{}
	pick := func(of []string) string {
		if len(of) == 0 {
			return "did:x:none"
		}
		return of[r.IntN(len(of))]
	}
	who := func() string { return []string{"owner", "judge", "judge", "other"}[r.IntN(4)] }
	for range 10 {
		claim, credential := pick(claims), pick(credentials)
		switch r.IntN(10) {
		case 0, 1:
			day := fmt.Sprintf("%d-%02d-", 2000+month/12, month%12+1)
			made := c.do(t, "owner", "POST /v1/claims", claimed(c.stove, day+fmt.Sprintf("%02d", 1+r.IntN(20)), day+"25", `,"oracle":"`+c.oracle+`"`))
			if made.Code != 201 && made.Code != 409 {
				t.Fatalf("a claim: %v", made.Body)
			}
			if made.Code == 201 {
				claims = append(claims, made.text("id"))
			}
		case 2, 3:
			c.do(t, who(), "POST "+claimAt(claim)+"/evaluations", fmt.Sprintf(`{"facts":{"usage":{"value":%v},"sold":{"value":%v}}}`, []float64{0.5, 0.9, 2}[r.IntN(3)], r.IntN(4) == 0))
		case 4:
			c.do(t, who(), "POST "+at(claim)+"/verification", fmt.Sprintf(`{"status":"%s","reason":"so","revision":%d}`, []string{"verified", "rejected", "revoked", "pending"}[r.IntN(4)], 1+r.IntN(4)))
		case 5:
			c.do(t, who(), "PATCH "+at(pick(slices.Concat(claims, credentials))), `{"properties":{"amount":{"value":9000,"unit":"t"}}}`)
		case 6:
			c.do(t, who(), "POST "+at(pick(slices.Concat(claims, credentials)))+"/transitions", fmt.Sprintf(`{"to":"%s"}`, []string{"active", "suspended", "completed", "deactivated"}[r.IntN(4)]))
		case 7:
			c.do(t, "owner", "POST "+at(claim)+"/transfer", `{"controller":"did:key:`+who()+`"}`)
		case 8:
			c.do(t, who(), "POST /v1/entities:batch", `{"operations":[{"op":"create","entity":{"type":"credential","protocol":"did:ixo:protocol/credential","relationships":[{"role":"becameFrom","target":"`+claim+`"}]}},
				{"op":"relate","did":"`+claim+`","relationship":{"role":"becomes","target":"`+credential+`"}},{"op":"patch","did":"`+credential+`","ifMatch":"*","patch":{"metadata":{"claim":"x"}}}]}`)
		case 9:
			if made := c.do(t, "judge", "POST /v1/credentials", `{"claim":"`+claim+`"}`); made.Code == 201 {
				credentials = append(credentials, made.text("id"))
			}
		}
	}
	c.check(t, claims, credentials)
}

// check looks at the claims of one month and their credentials.
func (c *court) check(t *testing.T, claims, credentials []string) {
	t.Helper()
	live := 0
	for _, id := range claims {
		r := c.want(t, "owner", "GET "+claimAt(id), "", "200")
		if s := r.text("status"); s == "pending" || s == "flagged" || s == "approved" {
			live++
		}
		if again := c.want(t, "owner", "POST "+claimAt(id)+"/evaluations:recompute", "", "200"); again.Body["same"] != (len(again.Body["items"].([]any)) > 0) {
			t.Errorf("%s is recomputed as %v", id, again.Body)
		}
		if r.text("status") != "approved" {
			continue
		}
		last := c.want(t, "owner", "GET "+claimAt(id)+"/evaluations?limit=1", "", "200").Body["items"].([]any)[0].(map[string]any)
		if o := last["outcome"]; o == "rejected" || o == "flagged" {
			t.Errorf("%s is approved, and the rubric says %v", id, o)
		}
	}
	if live > 1 {
		t.Errorf("%d claims of the same days live", live)
	}
	for _, id := range credentials {
		e := c.want(t, "judge", "GET "+at(id), "", "200")
		claim := e.Body["metadata"].(map[string]any)["claim"].(string)
		r := c.want(t, "owner", "GET "+claimAt(claim), "", "200")
		if e.text("status") == "active" && r.text("status") != "approved" {
			t.Errorf("%s is active, and its claim is %s", id, r.text("status"))
		}
		if r.text("status") == "approved" && fmt.Sprint(e.Body["properties"].(map[string]any)["amount"]) != fmt.Sprint(r.Body["approvedAmount"]) {
			t.Errorf("%s says %v, and its claim %v", id, e.Body["properties"], r.Body["approvedAmount"])
		}
	}
	if n := c.countTwins(t, "credential"); n < len(credentials) {
		t.Errorf("%d credentials, want %d at least", n, len(credentials))
	} else if c.issued += len(credentials); n != c.issued {
		t.Errorf("%d credentials, and %d were issued", n, c.issued)
	}
}

// countTwins counts the twins of a domain type.
func (c *court) countTwins(t testing.TB, domain string) (n int) {
	t.Helper()
	if err := c.d.QueryRow(t.Context(), `SELECT count(*) FROM entities WHERE ws = 'ws' AND domain_type = $1`, domain).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}
