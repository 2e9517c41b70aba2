package claim_test

import (
	"strings"
	"testing"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
)

// A dispute suspends the credential; dismissed, all is as before; upheld, the claim is
// invalidated and the credential revoked. Nobody decides who has a part in it.
func TestDisputes(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		c := newCourt(t, d)
		id := c.claim(t, "fuel-saved")
		c.want(t, "judge", "POST "+claimAt(id)+"/evaluations", `{"facts":{"usage":{"value":0.9}}}`, "201")
		credential := c.want(t, "judge", "POST /v1/credentials", `{"claim":"`+id+`"}`, "201").text("id")
		state := func(want string) {
			t.Helper()
			if got := c.status(t, id) + " " + c.want(t, "owner", "GET "+at(credential), "", "200").text("status"); got != want {
				t.Errorf("it is %s, want %s", got, want)
			}
		}
		approved := "approved verified map[unit:kg value:12] active"
		state(approved)
		disputes := claimAt(id) + "/disputes"
		c.want(t, "neighbour", "POST "+disputes, `{"reason":""}`, "400 CLAIM_INVALID")
		c.want(t, "stranger", "POST "+disputes, `{"reason":"sold"}`, "404 CLAIM_NOT_FOUND")
		first := c.want(t, "neighbour", "POST "+disputes, `{"reason":"sold"}`, "201").text("id")
		state("disputed pending <nil> suspended")
		c.want(t, "other", "POST "+disputes, `{"reason":"sold"}`, "409 CLAIM_DISPUTED")
		c.want(t, "judge", "POST "+claimAt(id)+"/evaluations", `{"decision":"rejected","reason":"sold"}`, "409 CLAIM_DISPUTED")
		c.want(t, "owner", "POST "+claimAt(id)+"/withdraw", "", "409 CLAIM_DECIDED")

		decide := func(who, dispute, outcome, want string) {
			t.Helper()
			c.want(t, who, "POST "+disputes+"/"+dispute+"/decision", `{"outcome":"`+outcome+`","reason":"heard"}`, want)
		}
		decide("neighbour", first, "upheld", "403 ADJUDICATOR_HAS_PART")
		decide("judge", first, "dismissed", "403 ADJUDICATOR_HAS_PART")
		decide("owner", first, "dismissed", "403 VERIFIER_IS_CLAIMANT")
		decide("stranger", first, "dismissed", "404 CLAIM_NOT_FOUND")
		decide("elder", "disp_1", "dismissed", "404 DISPUTE_NOT_FOUND")
		decide("elder", first, "maybe", "400 CLAIM_INVALID")
		decide("elder", first, "dismissed", "200")
		state(approved)
		decide("elder", first, "upheld", "409 DISPUTE_DECIDED")
		c.want(t, "neighbour", "POST "+disputes, `{"reason":"sold"}`, "409 CLAIM_DISPUTED")

		second := c.want(t, "other", "POST "+disputes, `{"reason":"moved"}`, "201").text("id")
		decide("elder", second, "upheld", "200")
		state("invalidated revoked <nil> deactivated")
		c.want(t, "other", "POST "+disputes, `{"reason":"moved"}`, "409 CLAIM_DECIDED")
		if n := len(c.want(t, "owner", "GET "+disputes, "", "200").Body["items"].([]any)); n != 2 {
			t.Errorf("%d disputes, want 2", n)
		}
		c.want(t, "owner", "POST /v1/claims", claimed(c.stove, "2000-02-01", "2000-02-28", `,"oracle":"`+c.oracle+`"`), "201")

		open := c.claim(t, "fuel-saved")
		third := c.want(t, "neighbour", "POST "+claimAt(open)+"/disputes", `{"reason":"sold"}`, "201").text("id")
		c.want(t, "elder", "POST "+claimAt(open)+"/disputes/"+third+"/decision", `{"outcome":"dismissed","reason":"heard"}`, "200")
		if got, want := c.status(t, open), "pending pending <nil>"; got != want {
			t.Errorf("the pending one is %s, want %s", got, want)
		}
	})
}

// A disputed claim is not summed, and what is approved of no more is in no approved sum.
func TestDisputedPartIsNotSummed(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		c := newSums(t, d)
		by := `,"oracle":"` + c.oracle + `"`
		part := c.submit(t, c.stove, "2026-01-01", "2026-01-31", by)
		c.want(t, "judge", "POST "+claimAt(part)+"/evaluations", `{"decision":"approved","reason":"seen","amount":5}`, "201")
		first := c.want(t, "neighbour", "POST "+claimAt(part)+"/disputes", `{"reason":"sold"}`, "201").text("id")
		whole := claimed(c.stove, "2026-01-01", "2026-02-28", by, `,"claims":["`+part+`"]`)
		if r := c.want(t, "owner", "POST /v1/claims", whole, "409 CLAIM_DISPUTED"); len(r.Fields) != 1 || r.Fields[0].Pointer != "/claims/0" {
			t.Errorf("the refusal names %v", r.Fields)
		}
		decide := func(dispute, outcome, want string) {
			t.Helper()
			c.want(t, "elder", "POST "+claimAt(part)+"/disputes/"+dispute+"/decision", `{"outcome":"`+outcome+`","reason":"heard"}`, want)
		}
		decide(first, "dismissed", "200")
		c.want(t, "owner", "POST /v1/claims", whole, "400 CLAIM_NOT_SUMMABLE") // 12 kg, and 5 were approved

		// A part that was summed while it was disputed.
		second := c.want(t, "other", "POST "+claimAt(part)+"/disputes", `{"reason":"moved"}`, "201").text("id")
		status := func(s string) {
			t.Helper()
			if _, err := d.Exec(t.Context(), `UPDATE claims SET status = $2 WHERE did = $1`, part, s); err != nil {
				t.Fatal(err)
			}
		}
		status("approved")
		sum := c.want(t, "owner", "POST /v1/claims", strings.Replace(whole, `"value":12`, `"value":5`, 1), "201").text("id")
		status("disputed")
		const approve = `{"decision":"approved","reason":"seen"}`
		c.want(t, "judge", "POST "+claimAt(sum)+"/evaluations", approve, "409 CLAIM_NOT_SUMMABLE")
		status("approved")
		c.want(t, "judge", "POST "+claimAt(sum)+"/evaluations", approve, "201")
		status("disputed")
		decide(second, "upheld", "409 CLAIM_DECIDED")
		c.verdict(t, "judge", sum, "revoked", "200")
		decide(second, "upheld", "200")
		if got, want := c.status(t, part), "invalidated revoked <nil>"; got != want {
			t.Errorf("the part is %s, want %s", got, want)
		}

		// One whose sum nobody has approved yet leaves it.
		part = c.submit(t, c.stove, "2026-03-01", "2026-03-31", by)
		third := c.want(t, "other", "POST "+claimAt(part)+"/disputes", `{"reason":"moved"}`, "201").text("id")
		status("pending")
		sum = c.submit(t, c.stove, "2026-03-01", "2026-04-30", by, `,"claims":["`+part+`"]`)
		status("disputed")
		decide(third, "upheld", "200")
		c.want(t, "judge", "POST "+claimAt(sum)+"/evaluations", approve, "409 CLAIM_NOT_SUMMABLE")
	})
}

// Nobody keeps others from upholding a dispute by giving them the claim or the stove: what
// they get that way is a part in the claim only where they would let it stand.
func TestGiftsDoNotStopAnAdjudicator(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		c := newCourt(t, d)
		id := c.approved(t)
		dispute := c.want(t, "neighbour", "POST "+claimAt(id)+"/disputes", `{"reason":"sold"}`, "201").text("id")
		for _, gift := range []string{id, c.stove} {
			c.want(t, "owner", "POST "+at(gift)+"/transfer", `{"controller":"did:key:elder"}`, "200")
		}
		decision := "POST " + claimAt(id) + "/disputes/" + dispute + "/decision"
		c.want(t, "elder", decision, `{"outcome":"dismissed","reason":"heard"}`, "403 VERIFIER_IS_CLAIMANT")
		c.want(t, "owner", decision, `{"outcome":"upheld","reason":"heard"}`, "403 VERIFIER_IS_CLAIMANT")
		c.want(t, "elder", decision, `{"outcome":"upheld","reason":"heard"}`, "200")
	})
}

// What is retired has counted: its claim is disputed no more.
func TestRetiredIsNotDisputed(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		c := newCourt(t, d)
		id := c.claim(t, "fuel-saved")
		c.want(t, "judge", "POST "+claimAt(id)+"/evaluations", `{"facts":{"usage":{"value":0.9}}}`, "201")
		credential := c.want(t, "judge", "POST /v1/credentials", `{"claim":"`+id+`"}`, "201").text("id")
		c.want(t, "judge", "POST "+at(credential)+"/transitions", `{"to":"completed"}`, "200")
		c.want(t, "neighbour", "POST "+claimAt(id)+"/disputes", `{"reason":"sold"}`, "409 CREDENTIAL_RETIRED")
	})
}
