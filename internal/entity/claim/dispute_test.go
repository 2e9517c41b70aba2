package claim_test

import (
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
