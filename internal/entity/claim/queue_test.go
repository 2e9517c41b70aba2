package claim_test

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
	"github.com/hearth-dmrv/hearth/internal/entity/claim"
)

// newBench is a court whose oracle a second judge controls too.
func newBench(t testing.TB, d *db.DB) *court {
	t.Helper()
	c := newCourt(t, d)
	c.want(t, "judge", "PATCH "+at(c.oracle), `{"controllers":["did:key:judge","did:key:second"]}`, "200")
	return c
}

// queue are the claims that wait for somebody; one with an asterisk is theirs for a while.
func (c *court) queue(t testing.TB, who, query string) []string {
	t.Helper()
	out := []string{}
	for next := "?limit=2" + query; next != ""; {
		page := c.want(t, who, "GET /v1/claim-queue"+next, "", "200")
		for _, each := range page.Body["items"].([]any) {
			o := each.(map[string]any)
			id := o["id"].(string)
			if o["leasedUntil"] != nil {
				id += "*"
			}
			out = append(out, id)
		}
		more := page.Body["page"].(map[string]any)
		if next = ""; more["hasMore"] == true {
			next = "?limit=2" + query + "&cursor=" + url.QueryEscape(more["nextCursor"].(string))
		}
	}
	return out
}

func (c *court) queued(t testing.TB, who, query string, want ...string) {
	t.Helper()
	if got := c.queue(t, who, query); !slices.Equal(got, want) {
		t.Errorf("for %s wait %v%s, want %v", who, got, query, want)
	}
}

// Claims wait for those who may judge them; one that somebody has taken waits for nobody
// else, and nobody else decides about it, on no way, until the lease ends.
func TestQueue(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		c := newBench(t, d)
		one, two, three := c.claim(t, "fuel-saved"), c.claim(t, "visits"), c.claim(t, "fuel-saved")
		done := c.claim(t, "fuel-saved")
		c.want(t, "judge", "POST "+claimAt(done)+"/evaluations", `{"facts":{"usage":{"value":0.9}}}`, "201")
		c.want(t, "judge", "POST "+claimAt(three)+"/evaluations", `{}`, "201") // flagged

		c.queued(t, "judge", "", one, two, three)
		c.queued(t, "second", "&status=flagged", three)
		c.queued(t, "second", "&kind=visits", two)
		c.queued(t, "second", "&kind=Visits", two)
		c.queued(t, "second", "&projectId=did:ixo:entity:none")
		for _, who := range []string{"owner", "anybody", "stranger", "limited did:ixo:entity:none"} {
			c.queued(t, who, "")
		}

		c.want(t, "judge", "POST "+claimAt(one)+"/lease", "", "200")
		c.queued(t, "judge", "", one+"*", two, three)
		c.queued(t, "second", "", two, three)
		c.want(t, "second", "POST "+claimAt(one)+"/lease", "", "409 CLAIM_LEASED")
		c.want(t, "second", "POST "+claimAt(one)+"/evaluations", `{"facts":{"usage":{"value":0.9}}}`, "409 CLAIM_LEASED")
		c.verdict(t, "second", one, "rejected", "409 CLAIM_LEASED")
		if got, want := c.status(t, one), "pending unverified <nil>"; got != want {
			t.Errorf("the claim is %s, want %s", got, want)
		}
		c.want(t, "second", "DELETE "+claimAt(one)+"/lease", "", "200")
		c.want(t, "second", "POST "+claimAt(one)+"/lease", "", "409 CLAIM_LEASED") // it was not theirs to release
		c.want(t, "owner", "POST "+claimAt(one)+"/lease", "", "403 VERIFIER_IS_CLAIMANT")
		c.want(t, "anybody", "POST "+claimAt(one)+"/lease", "", "403 VERIFIER_NOT_ORACLE")
		c.want(t, "stranger", "POST "+claimAt(one)+"/lease", "", "404 CLAIM_NOT_FOUND")
		c.want(t, "stranger", "DELETE "+claimAt(one)+"/lease", "", "404 CLAIM_NOT_FOUND")
		c.want(t, "judge", "POST "+claimAt(done)+"/lease", "", "409 CLAIM_DECIDED")

		c.late.Add(int64(claim.Lease) * 3 / 4)
		c.want(t, "judge", "POST "+claimAt(one)+"/lease", "", "200") // renewed
		c.late.Add(int64(claim.Lease) * 3 / 4)
		c.want(t, "second", "POST "+claimAt(one)+"/lease", "", "409 CLAIM_LEASED")
		c.late.Add(int64(claim.Lease) / 4)
		c.want(t, "second", "POST "+claimAt(one)+"/lease", "", "200") // it has ended by itself
		c.want(t, "judge", "POST "+claimAt(one)+"/evaluations", `{"facts":{"usage":{"value":0.9}}}`, "409 CLAIM_LEASED")
		c.want(t, "second", "DELETE "+claimAt(one)+"/lease", "", "200")
		c.want(t, "judge", "POST "+claimAt(one)+"/evaluations", `{"facts":{"usage":{"value":0.9}}}`, "201") // nobody has taken it

		c.want(t, "second", "POST "+claimAt(two)+"/lease", "", "200")
		c.verdict(t, "second", two, "verified", "200")
		c.queued(t, "judge", "", three)
		if n := c.leases(t); n != 0 {
			t.Errorf("%d leases are left of claims that were decided", n)
		}
		c.want(t, "judge", "POST "+claimAt(three)+"/lease", "", "200")
		c.want(t, "owner", "POST "+claimAt(three)+"/withdraw", "", "200") // whose it is takes it back all the same
		if n := c.leases(t); n != 0 {
			t.Errorf("%d leases are left of claims that were withdrawn", n)
		}
	})
}

func (c *court) leases(t testing.TB) (n int) {
	t.Helper()
	if err := c.d.QueryRow(t.Context(), `SELECT count(*) FROM claim_leases`).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

// However many reach for a claim at once, one has it.
func TestQueueRace(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		c := newBench(t, d)
		id := c.claim(t, "fuel-saved")
		var all sync.WaitGroup
		var mu sync.Mutex
		won := map[string]int{}
		for i := range 16 {
			who := []string{"judge", "second"}[i%2]
			all.Go(func() {
				r := c.do(t, who, "POST "+claimAt(id)+"/lease", "")
				mu.Lock()
				defer mu.Unlock()
				if won[who] += 0; r.Code == 200 {
					won[who]++
				} else if r.text("code") != "CLAIM_LEASED" {
					t.Errorf("%s: %d %s", who, r.Code, r.text("code"))
				}
			})
		}
		all.Wait()
		if won["judge"]+won["second"] != 8 || won["judge"] != 0 && won["second"] != 0 {
			t.Errorf("the claim was taken %v times, want 8 times by one of them", won)
		}
	})
}

// Nobody keeps more than twenty claims from the others.
func TestQueueMany(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		c := newBench(t, d)
		var ids []string
		for range 21 {
			ids = append(ids, c.claim(t, "visits"))
		}
		for _, id := range ids[:20] {
			c.want(t, "judge", "POST "+claimAt(id)+"/lease", "", "200")
		}
		c.want(t, "judge", "POST "+claimAt(ids[20])+"/lease", "", "409 CLAIM_LEASES_MANY")
		c.want(t, "judge", "POST "+claimAt(ids[0])+"/lease", "", "200") // to renew takes no place
		c.queued(t, "second", "", ids[20])
		c.late.Add(int64(claim.Lease))
		c.want(t, "judge", "POST "+claimAt(ids[20])+"/lease", "", "200")
	})
}

// A claim that the server evaluates by itself waits for people once it has left it to them.
func TestQueueAfterEngine(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		c := newSelf(t, d)
		odd, hybrid := c.amount(t, "auto", 500, c.oracle), c.amount(t, "hybrid", 5, c.oracle)
		c.queued(t, "judge", "")
		c.want(t, "judge", "POST "+claimAt(odd)+"/lease", "", "409 CLAIM_NOT_WAITING")
		c.want(t, "anybody", "POST /v1/claims:process", "", "200")
		c.queued(t, "judge", "", odd, hybrid)
		r := c.want(t, "judge", "POST "+claimAt(hybrid)+"/lease", "", "200")
		if until := fmt.Sprint(r.Body["until"]); !strings.HasSuffix(until, "Z") {
			t.Errorf("the lease ends at %q", until)
		}
	})
}
