package claim_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
)

// stoves is a protocol whose rubric decides about claims by how a stove was used.
const stoves = `{"type":"Protocol","name":"stove","domainType":"device","properties":{"name":"string"},"relationships":{},"claimTypes":{
	"fuel-saved":{"verification":{"facts":[{"id":"usage","type":"number"},{"id":"sold","type":"boolean"}],"rubric":[
		{"id":"sold","stage":"veto","when":{"fact":"sold","equals":true},"then":{"outcome":"rejected","reasonCode":"SOLD"}},
		{"id":"unknown","stage":"missing_evidence","when":"facts.usage == null","then":{"outcome":"flagged","reasonCode":"NO_USAGE"}},
		{"id":"odd","stage":"manual_review","when":"facts.usage > 1.0","then":{"outcome":"manual_review_required","reasonCode":"ODD"}},
		{"id":"some","stage":"partial","when":"facts.usage < 0.8","then":{"outcome":"partial_success","reasonCode":"LOW_USE","amount":"claim.amount * facts.usage"}},
		{"id":"rest","stage":"approval","when":"true","then":{"outcome":"approved","reasonCode":"IN_USE"}}]}},
	"visits":{}}}`

// court is a stove under a rubric and an oracle whose controller is the judge.
type court struct {
	mine string // an oracle of the claimant
	*env
	stove, oracle string
	month         int
}

func newCourt(t testing.TB, d *db.DB) *court {
	t.Helper()
	v := newEnv(t, d)
	p := v.want(t, "owner", "POST /v1/protocols", stoves, "201").text("did")
	v.want(t, "owner", "POST /v1/protocols/"+p+"/publish", "", "200")
	return &court{
		env: v, stove: v.want(t, "owner", "POST /v1/entities", `{"type":"stove","protocol":"`+p+`"}`, "201").text("did"), oracle: v.twin(t, "judge", "oracle"),
	}
}

// claim submits a claim for a month of its own that the oracle verifies.
func (c *court) claim(t testing.TB, kind string) string {
	t.Helper()
	c.month++
	day := fmt.Sprintf("%d-%02d-", 2000+c.month/12, c.month%12+1)
	return c.want(t, "owner", "POST /v1/claims", strings.Replace(claimed(c.stove, day+"01", day+"28", `,"oracle":"`+c.oracle+`"`), "fuel-saved", kind, 1), "201").text("id")
}

func (c *court) status(t testing.TB, id string) string {
	t.Helper()
	r := c.want(t, "owner", "GET "+claimAt(id), "", "200")
	verified := c.want(t, "owner", "GET "+at(id), "", "200").Body["verification"].(map[string]any)["status"]
	return fmt.Sprint(r.text("status"), " ", verified, " ", r.Body["approvedAmount"])
}

func (c *court) verdict(t testing.TB, who, id, status, want string) {
	t.Helper()
	revision := c.want(t, who, "GET "+at(id), "", "200").Body["revision"]
	c.want(t, who, "POST "+at(id)+"/verification", fmt.Sprintf(`{"status":"%s","reason":"looked at it","revision":%v}`, status, revision), want)
}

// TestRolesMeet: with the shipped roles a claimant brings a claim to the oracle of an
// evaluator, who decides, and neither does the other's part.
func TestRolesMeet(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		c := newCourt(t, d)
		protocol := c.want(t, "owner", "GET "+at(c.stove), "", "200").text("protocol")
		stove := c.want(t, "manager", "POST /v1/entities", `{"type":"stove","protocol":"`+protocol+`"}`, "201").text("did")
		oracle := c.want(t, "owner", "POST /v1/entities", `{"type":"oracle","protocol":"did:ixo:protocol/oracle","controller":"did:key:evaluator"}`, "201").text("did")
		id := c.want(t, "manager", "POST /v1/claims", claimed(stove, "2026-01-01", "2026-01-31", `,"oracle":"`+oracle+`"`), "201").text("id")
		c.want(t, "manager", "POST "+claimAt(id)+"/evaluations", `{"facts":{"usage":{"value":0.9}}}`, "403 SCOPE_MISSING")
		c.want(t, "evaluator", "POST "+claimAt(id)+"/evaluations", `{"facts":{"usage":{"value":0.9}}}`, "201")
		if got := c.status(t, id); got != "approved verified map[unit:kg value:12]" {
			t.Errorf("the claim is %s", got)
		}
		later := c.want(t, "manager", "POST /v1/claims", claimed(stove, "2026-02-01", "2026-02-28"), "201").text("id")
		c.want(t, "manager", "POST "+at(later)+"/relationships", `{"role":"verifiedBy","target":"`+oracle+`"}`, "201")
		c.want(t, "evaluator", "POST "+claimAt(later)+"/evaluations", `{"facts":{"usage":{"value":0.9}}}`, "201")
	})
}

// The rubric decides by facts, on every way to a verdict.
func TestRubricDecides(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		c := newCourt(t, d)
		for _, e := range []struct{ body, want, status string }{
			{`{"facts":{"usage":{"value":0.9}}}`, "approved IN_USE", "approved verified map[unit:kg value:12]"},
			{`{"facts":{"usage":{"value":0.5}}}`, "partial_success LOW_USE", "approved verified map[unit:kg value:6]"},
			{`{"facts":{"usage":{"value":0.9},"sold":{"value":true}}}`, "rejected SOLD", "rejected rejected <nil>"},
			{`{}`, "flagged NO_USAGE", "flagged unverified <nil>"},
			{`{"facts":{"usage":{"value":2}}}`, "manual_review_required ODD", "pending unverified <nil>"},
			{`{"facts":{"usage":{"value":2}},"decision":"approved","amount":7,"reason":"two pots"}`, "manual_review_required ODD", "approved verified map[unit:kg value:7]"},
			{`{"facts":{"usage":{"value":2}},"decision":"rejected","reason":"two pots"}`, "manual_review_required ODD", "rejected rejected <nil>"},
		} {
			id := c.claim(t, "fuel-saved")
			r := c.want(t, "judge", "POST "+claimAt(id)+"/evaluations", e.body, "201")
			if got := r.text("outcome") + " " + r.text("reasonCode"); got != e.want || c.status(t, id) != e.status {
				t.Errorf("%s = %s, and the claim is %s; want %s, %s", e.body, got, c.status(t, id), e.want, e.status)
			}
			if r.text("evaluator") != "did:key:judge" || r.text("oracle") != c.oracle || len(r.text("rubricHash")) != 64 {
				t.Errorf("%s = %v, want who decided as whom by which rubric", e.body, r.Body)
			}
			if again := c.want(t, "owner", "POST "+claimAt(id)+"/evaluations:recompute", "", "200"); again.Body["same"] != true {
				t.Errorf("%s: recomputed %v, want the same", e.body, again.Body)
			}
		}
	})
}

// What the rubric does not give nobody gets, and what is final stays.
func TestRubricIsObeyed(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		c := newCourt(t, d)
		id := c.claim(t, "fuel-saved")
		evaluate := "POST " + claimAt(id) + "/evaluations"
		c.verdict(t, "judge", id, "verified", "409 RUBRIC_DECIDES")
		c.verdict(t, "judge", id, "rejected", "409 RUBRIC_DECIDES")
		c.want(t, "judge", evaluate, `{"decision":"approved","reason":"I know them"}`, "409 RUBRIC_DECIDES")
		c.want(t, "judge", evaluate, `{"facts":{"usage":{"value":0.9}},"decision":"rejected","reason":"no"}`, "409 RUBRIC_DECIDES")
		c.want(t, "judge", evaluate, `{"facts":{"usage":{"value":"much"}}}`, "400 CLAIM_FACTS_INVALID")
		c.want(t, "judge", evaluate, `{"facts":{"usage":{"value":0.9,"confidence":-1}}}`, "400 CLAIM_FACTS_INVALID")
		c.want(t, "judge", evaluate, `{"facts":{"love":{"value":1}}}`, "400 CLAIM_FACTS_INVALID")
		c.want(t, "owner", evaluate, `{"facts":{"usage":{"value":0.9}}}`, "403 VERIFIER_IS_CLAIMANT")
		c.want(t, "other", evaluate, `{"facts":{"usage":{"value":0.9}}}`, "403 VERIFIER_NOT_ORACLE")
		c.want(t, "other", evaluate, `{}`, "403 VERIFIER_NOT_ORACLE")
		c.want(t, "stranger", evaluate, `{}`, "404 CLAIM_NOT_FOUND")
		if got := c.status(t, id); got != "pending unverified <nil>" {
			t.Fatalf("the claim is %s, want it pending: what is refused leaves no facts", got)
		}
		c.verdict(t, "judge", id, "verified", "409 RUBRIC_DECIDES")
		c.want(t, "judge", evaluate, `{"facts":{"usage":{"value":0.9}}}`, "201")
		for _, status := range []string{"rejected", "pending", "unverified", "expired"} {
			c.verdict(t, "judge", id, status, "409 CLAIM_DECIDED")
		}
		c.want(t, "judge", evaluate, `{"facts":{"sold":{"value":true}}}`, "409 CLAIM_DECIDED")
		c.want(t, "owner", "POST "+claimAt(id)+"/withdraw", `{}`, "409 CLAIM_DECIDED")
		c.verdict(t, "other", id, "revoked", "403 VERIFIER_NOT_ORACLE") // whoever approves for no oracle takes no approval back
		c.verdict(t, "judge", id, "revoked", "200")
		if got := c.status(t, id); got != "invalidated revoked <nil>" {
			t.Errorf("the claim is %s, want it invalidated", got)
		}
		c.verdict(t, "judge", id, "verified", "409 CLAIM_DECIDED")
	})
}

// Where no rubric speaks, people who control an oracle of the claim decide.
func TestPeopleDecide(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		c := newCourt(t, d)
		id := c.claim(t, "visits")
		evaluate := "POST " + claimAt(id) + "/evaluations"
		c.verdict(t, "other", id, "verified", "403 VERIFIER_NOT_ORACLE")
		c.verdict(t, "other", id, "rejected", "403 VERIFIER_NOT_ORACLE")
		c.want(t, "judge", evaluate, `{"decision":"approved"}`, "400 CLAIM_INVALID")
		c.want(t, "judge", evaluate, `{"decision":"approved","reason":"seen","amount":13}`, "400 CLAIM_INVALID")
		c.want(t, "judge", evaluate, `{"facts":{"usage":{"value":1}}}`, "400 CLAIM_FACTS_INVALID")
		c.want(t, "judge", evaluate, `{"decision":"flagged","reason":"who was there?"}`, "201")
		if got := c.status(t, id); got != "flagged unverified <nil>" {
			t.Errorf("the claim is %s, want it flagged", got)
		}
		c.verdict(t, "judge", id, "verified", "200")
		if got := c.status(t, id); got != "approved verified map[unit:kg value:12]" {
			t.Errorf("the claim is %s, want it approved", got)
		}
		r := c.want(t, "owner", "GET "+claimAt(id)+"/evaluations?limit=1", "", "200")
		if items := r.Body["items"].([]any); len(items) != 1 || items[0].(map[string]any)["status"] != "approved" || r.Body["page"].(map[string]any)["hasMore"] != true {
			t.Errorf("evaluations = %v, want the approval, and more", r.Body)
		}
		draft := c.want(t, "owner", "POST /v1/claims", `{"kind":"visits"}`, "201").text("id")
		c.want(t, "owner", "POST "+at(draft)+"/relationships", `{"role":"verifiedBy","target":"`+c.oracle+`"}`, "201")
		c.verdict(t, "judge", draft, "verified", "409 CLAIM_NOT_SUBMITTED")
	})
}

// Nobody agrees to more than they have said: of several voices the smallest counts.
func TestSmallestAmountCounts(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		v := newEnv(t, d)
		p := v.want(t, "owner", "POST /v1/protocols", strings.Replace(stoves, `"verification":{`, `"verification":{"quorum":2,`, 1), "201").text("did")
		v.want(t, "owner", "POST /v1/protocols/"+p+"/publish", "", "200")
		c := &court{env: v, stove: v.want(t, "owner", "POST /v1/entities", `{"type":"stove","protocol":"`+p+`"}`, "201").text("did"), oracle: v.twin(t, "judge", "oracle")}
		second := v.twin(t, "other", "oracle")
		for _, e := range []struct{ one, two, want string }{
			{`{"facts":{"usage":{"value":0.5}}}`, `{"facts":{"usage":{"value":0.9}}}`, "6"},
			{`{"facts":{"usage":{"value":0.9}}}`, `{"facts":{"usage":{"value":0.5}}}`, "6"},
			{`{"facts":{"usage":{"value":2}},"decision":"approved","amount":7,"reason":"a"}`, `{"decision":"approved","reason":"b"}`, "7"},
			{`{"facts":{"usage":{"value":2}},"decision":"approved","reason":"a"}`, `{"decision":"approved","amount":5,"reason":"b"}`, "5"},
		} {
			id := c.claim(t, "fuel-saved")
			v.want(t, "owner", "POST "+at(id)+"/relationships", `{"role":"verifiedBy","target":"`+second+`"}`, "201")
			c.want(t, "judge", "POST "+claimAt(id)+"/evaluations", e.one, "201")
			if got := c.status(t, id); got != "pending pending <nil>" {
				t.Fatalf("after one voice the claim is %s", got)
			}
			c.want(t, "other", "POST "+claimAt(id)+"/evaluations", e.two, "201")
			if got := c.status(t, id); got != "approved verified map[unit:kg value:"+e.want+"]" {
				t.Errorf("%s, then %s: the claim is %s, want %s", e.one, e.two, got, e.want)
			}
			if again := c.want(t, "owner", "POST "+claimAt(id)+"/evaluations:recompute", "", "200"); again.Body["same"] != true {
				t.Errorf("%s, then %s: recomputed %v", e.one, e.two, again.Body)
			}
		}
	})
}

// What is decided again is compared with what was noted, amounts too.
func TestRecomputeCompares(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		c := newCourt(t, d)
		same := func(id string, want bool, why string) {
			t.Helper()
			if r := c.want(t, "owner", "POST "+claimAt(id)+"/evaluations:recompute", "", "200"); r.Body["same"] != want {
				t.Errorf("%s: recomputed %v, want %t", why, r.Body, want)
			}
		}
		same(c.claim(t, "fuel-saved"), false, "nobody has evaluated it")
		for why, change := range map[string]string{
			"another amount": `UPDATE claim_evaluations SET amount = 11 WHERE claim = (SELECT nid FROM claims WHERE did = $1)`,
			"more approved":  `UPDATE claims SET approved = 11 WHERE did = $1`,
			"other facts":    `UPDATE claim_evaluations SET facts = '{"usage":{"value":0.9}}' WHERE claim = (SELECT nid FROM claims WHERE did = $1)`,
			"another text":   `UPDATE claims SET document = replace(document, '12', '13') WHERE did = $1`,
		} {
			id := c.approved(t)
			same(id, true, "as it was")
			if _, err := d.Exec(t.Context(), change, id); err != nil {
				t.Fatal(err)
			}
			same(id, false, why)
		}
	})
}

// newSums is a court for a stove whose claims sum others, and about which people decide.
func newSums(t testing.TB, d *db.DB) *court {
	t.Helper()
	v := newEnv(t, d)
	p := v.want(t, "owner", "POST /v1/protocols", `{"type":"Protocol","name":"stove","domainType":"device","properties":{},"relationships":{},"claimTypes":{"fuel-saved":{"aggregates":true}}}`, "201").text("did")
	v.want(t, "owner", "POST /v1/protocols/"+p+"/publish", "", "200")
	return &court{env: v, oracle: v.twin(t, "judge", "oracle"), stove: v.want(t, "owner", "POST /v1/entities", `{"type":"stove","protocol":"`+p+`"}`, "201").text("did")}
}

// A part that is invalidated leaves its sum, which nobody approves then.
func TestInvalidatedPartLeavesItsSum(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		c := newSums(t, d)
		v, stove, by := c.env, c.stove, `,"oracle":"`+c.oracle+`"`
		const approve = `{"decision":"approved","reason":"seen"}`
		part := v.submit(t, stove, "2026-01-01", "2026-01-31", by)
		c.want(t, "judge", "POST "+claimAt(part)+"/evaluations", approve, "201")
		sum := v.submit(t, stove, "2026-01-01", "2026-02-28", by, `,"claims":["`+part+`"]`)
		c.verdict(t, "judge", part, "revoked", "200")
		c.want(t, "judge", "POST "+claimAt(sum)+"/evaluations", approve, "409 CLAIM_NOT_SUMMABLE")
		c.want(t, "judge", "POST "+claimAt(sum)+"/evaluations", strings.Replace(approve, "approved", "rejected", 1), "201")

		part = v.submit(t, stove, "2026-01-01", "2026-01-31", by)
		c.want(t, "judge", "POST "+claimAt(part)+"/evaluations", approve, "201")
		sum = v.submit(t, stove, "2026-01-01", "2026-02-28", by, `,"claims":["`+part+`"]`)
		c.want(t, "judge", "POST "+claimAt(sum)+"/evaluations", approve, "201")
		c.verdict(t, "judge", part, "revoked", "409 CLAIM_DECIDED")
		c.verdict(t, "judge", sum, "revoked", "200")
		c.verdict(t, "judge", part, "revoked", "200")
	})
}

// The version that decides is the one of the subject when the claim was submitted:
// nobody escapes a rubric by a migration.
func TestVersionIsFixed(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		c := newCourt(t, d)
		claim := c.claim(t, "fuel-saved")
		if _, err := d.Exec(t.Context(), `UPDATE entities SET protocol = $2, protocol_version = $3 WHERE did = $1`, c.stove, "did:ixo:protocol/clean-cooking", "1.0.0"); err != nil {
			t.Fatal(err)
		}
		c.verdict(t, "judge", claim, "verified", "409 RUBRIC_DECIDES")
		c.want(t, "judge", "POST "+claimAt(claim)+"/evaluations", `{"facts":{"usage":{"value":0.5}}}`, "201")
		if got, want := c.status(t, claim), "approved verified map[unit:kg value:6]"; got != want {
			t.Errorf("the claim is %s, want %s", got, want)
		}
	})
}
