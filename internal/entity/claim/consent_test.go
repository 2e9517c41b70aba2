package claim_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
)

func consentAt(oracle string) string { return at(oracle) + "/evaluation-consent" }

// The server speaks only for a controller who has agreed, until they take it back or lose
// control, and then not until they agree anew.
func TestConsent(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		c := newSelf(t, d)
		ends := func(what, want string) {
			t.Helper()
			id := c.amount(t, "auto", 5, c.oracle)
			c.want(t, "anybody", "POST /v1/claims:process", "", "200")
			if got := c.status(t, id); !strings.HasPrefix(got, want) {
				t.Errorf("%s: a claim is %s, want %s", what, got, want)
			}
		}
		ends("agreed", "approved")
		c.want(t, "judge", "POST "+consentAt(c.oracle), "", "200") // again
		list := c.want(t, "owner", "GET "+consentAt(c.oracle), "", "200").Body["items"].([]any)
		if one, _ := list[0].(map[string]any); len(list) != 1 || fmt.Sprint(one["principal"], one["counts"]) != "did:key:judgetrue" {
			t.Errorf("agreed have %v, want the judge alone", list)
		}
		c.want(t, "owner", "DELETE "+consentAt(c.oracle), "", "200")
		ends("somebody else takes theirs back", "approved")
		c.want(t, "judge", "DELETE "+consentAt(c.oracle), "", "200")
		ends("taken back", "pending")
		c.want(t, "judge", "POST "+consentAt(c.oracle), "", "200")
		c.want(t, "judge", "PATCH "+at(c.oracle), `{"controllers":["did:key:second"]}`, "200")
		if list := c.want(t, "owner", "GET "+consentAt(c.oracle), "", "200").Body["items"].([]any); len(list) != 0 {
			t.Errorf("agreed have %v after control has ended, want nobody", list)
		}
		c.want(t, "second", "PATCH "+at(c.oracle), `{"controllers":["did:key:judge"]}`, "200")
		ends("control came back", "pending")
		c.want(t, "second", "POST "+consentAt(c.oracle), "", "403 NOT_CONTROLLER")
		c.want(t, "owner", "POST "+consentAt(c.stove), "", "409 NOT_AN_ORACLE")
		c.want(t, "stranger", "POST "+consentAt(c.oracle), "", "404 ENTITY_NOT_FOUND")
		c.want(t, "judge", "POST "+consentAt(c.oracle), "", "200")
		ends("agreed anew", "approved")
		rows := events(t, d, c.oracle)
		if want := "consented consent_ended consented consent_ended consented"; rows != want {
			t.Errorf("events are %q, want %q", rows, want)
		}
	})
}

func events(t *testing.T, d *db.DB, subject string) string {
	t.Helper()
	rows, err := d.Query(t.Context(), `SELECT type FROM events WHERE subject = $1 AND type LIKE 'claim.consent%' ORDER BY id`, subject)
	all, err := db.Collect(rows, err, "list events", db.Column[string])
	if err != nil {
		t.Fatal(err)
	}
	return strings.ReplaceAll(strings.Join(all, " "), "claim.", "")
}

// Whoever wrote a version of the rules, as little as it was, or published it, or what it
// builds on, does not have the server decide by it about a claim of theirs.
func TestWritersHaveNoPart(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		for what, by := range map[string][3]string{
			"made": {"owner", "author", "author"}, "changed": {"author", "owner", "author"}, "published": {"author", "author", "owner"}, "neither": {"author", "author", "author"},
		} {
			for _, extended := range []bool{false, true} {
				c := newSelf(t, d)
				path := func(p string) string { return "/v1/protocols/" + p }
				p := c.want(t, by[0], "POST /v1/protocols", fmt.Sprintf(self, selfRules, c.oracle, c.mine), "201").text("did")
				c.want(t, by[1], "PATCH "+path(p), `{"name":"other"}`, "200")
				c.want(t, by[2], "POST "+path(p)+"/publish", "", "200")
				if extended {
					p = c.want(t, "author", "POST /v1/protocols", `{"type":"Protocol","name":"x","domainType":"device","properties":{},"relationships":{},"extends":"`+p+`"}`, "201").text("did")
					c.want(t, "author", "POST "+path(p)+"/publish", "", "200")
				}
				c.stove = c.want(t, "owner", "POST /v1/entities", `{"type":"stove","protocol":"`+p+`"}`, "201").text("did")
				id, want := c.amount(t, "auto", 5, c.oracle), "pending"
				if what == "neither" {
					want = "approved"
				}
				c.want(t, "anybody", "POST /v1/claims:process", "", "200")
				if got := c.status(t, id); !strings.HasPrefix(got, want) {
					t.Errorf("the claimant has %s the rules (extended: %v): the claim is %s, want %s", what, extended, got, want)
				}
			}
		}
	})
}
