package claim_test

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
)

// simulate has a job try a rubric as somebody and gives the path of what came out.
func (c *court) simulate(t testing.TB, who, body string) string {
	t.Helper()
	id := c.want(t, who, "POST /v1/claims:simulate", body, "202").text("id")
	if typ := <-c.ended; typ != "job.finished" {
		t.Fatalf("the simulation of %s ended with %s", body, typ)
	}
	return "/v1/claim-simulations/" + id
}

// outcomes are the counts of a simulation, a line a pair of outcomes.
func outcomes(r reply) string {
	n := r.Body["counts"].(map[string]any)
	var out []string
	for _, each := range n["outcomes"].([]any) {
		o := each.(map[string]any)
		out = append(out, fmt.Sprintf("%v>%v %v/%v", o["before"], o["after"], o["changed"], o["claims"]))
	}
	slices.Sort(out)
	return fmt.Sprintf("%v of %v: %s", n["changed"], n["claims"], strings.Join(out, ", "))
}

const stricter = `{"facts":[{"id":"usage","type":"number"}],"rubric":[
	{"id":"unknown","stage":"missing_evidence","when":"facts.usage == null","then":{"outcome":"rejected","reasonCode":"NO_USAGE"}},
	{"id":"some","stage":"partial","when":"facts.usage < 0.95","then":{"outcome":"partial_success","reasonCode":"LOW_USE","amount":"claim.amount * 0.5"}},
	{"id":"rest","stage":"approval","when":"true","then":{"outcome":"approved","reasonCode":"IN_USE"}}]}`

// A rubric is tried on claims that were decided; what would differ is counted and listed,
// and nothing is written to the claims.
func TestSimulate(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		c := newCourt(t, d)
		c.work(t)
		p := c.want(t, "owner", "GET "+at(c.stove), "", "200").text("protocol")
		var ids []string
		for _, body := range []string{
			`{"facts":{"usage":{"value":0.99}}}`,
			`{"facts":{"usage":{"value":0.9}}}`,
			`{"facts":{"usage":{"value":0.5}}}`,
			`{"facts":{"usage":{"value":0.6}}}`,
			`{"facts":{"usage":{"value":0.9},"sold":{"value":true}}}`,
			`{}`,
			`{"facts":{"usage":{"value":2}},"decision":"approved","amount":7,"reason":"two pots"}`,
			"",
		} {
			id := c.claim(t, "fuel-saved")
			if ids = append(ids, id); body != "" {
				c.want(t, "judge", "POST "+claimAt(id)+"/evaluations", body, "201")
			}
		}
		c.want(t, "owner", "POST "+claimAt(c.claim(t, "fuel-saved"))+"/withdraw", "", "200")
		c.claim(t, "visits")
		before := c.rows(t)

		same := c.simulate(t, "judge", `{"kind":"Fuel-Saved","protocol":"`+p+`"}`)
		if got, want := outcomes(c.want(t, "judge", "GET "+same, "", "200")), "0 of 8: approved>approved 0/2, flagged>flagged 0/1, manual_review_required>manual_review_required 0/1, not_evaluated>flagged 0/1, partial_success>partial_success 0/2, rejected>rejected 0/1"; got != want {
			t.Errorf("the rubric itself: %s, want %s", got, want)
		}
		at := c.simulate(t, "judge", `{"kind":"fuel-saved","verification":`+stricter+`}`)
		r := c.want(t, "judge", "GET "+at, "", "200")
		if got, want := outcomes(r), "5 of 8: approved>approved 0/1, approved>partial_success 1/1, flagged>rejected 1/1, manual_review_required>approved 1/1, not_evaluated>rejected 0/1, partial_success>partial_success 1/2, rejected>partial_success 1/1"; got != want {
			t.Errorf("a stricter one: %s, want %s", got, want)
		}
		if r.text("status") != "succeeded" || len(r.text("rubricHash")) != 64 {
			t.Errorf("the simulation is %v", r.Body)
		}
		want := [][]string{
			{ids[1], "approved IN_USE 12", "partial_success LOW_USE 6"},
			{ids[3], "partial_success LOW_USE 7.2", "partial_success LOW_USE 6"},
			{ids[4], "rejected SOLD 0", "partial_success LOW_USE 6"},
			{ids[5], "flagged NO_USAGE 0", "rejected NO_USAGE 0"},
			{ids[6], "manual_review_required ODD 7", "approved IN_USE 12"},
		}
		var got [][]string
		for next := at + "/claims?limit=2"; next != ""; {
			page := c.want(t, "judge", "GET "+next, "", "200")
			for _, each := range page.Body["items"].([]any) {
				o := each.(map[string]any)
				got = append(got, []string{fmt.Sprint(o["claim"]), fmt.Sprint(o["before"], " ", o["beforeReason"], " ", o["beforeAmount"]), fmt.Sprint(o["after"], " ", o["afterReason"], " ", o["afterAmount"])})
			}
			more := page.Body["page"].(map[string]any)
			if next = ""; more["hasMore"] == true {
				next = at + "/claims?limit=2&cursor=" + url.QueryEscape(more["nextCursor"].(string))
			}
		}
		if !slices.EqualFunc(got, want, slices.Equal) {
			t.Errorf("they differ: %q, want %q", got, want)
		}
		if after := c.rows(t); after != before {
			t.Errorf("claims and evaluations are\n%s\nafter a simulation, want\n%s", after, before)
		}

		c.want(t, "stranger", "GET "+at, "", "404 SIMULATION_NOT_FOUND")
		c.want(t, "stranger", "GET "+at+"/claims", "", "404 SIMULATION_NOT_FOUND")
		c.want(t, "limited did:ixo:entity:none", "GET "+at+"/claims", "", "404 SIMULATION_NOT_FOUND")
		limited := c.simulate(t, "limited did:ixo:entity:none", `{"kind":"fuel-saved","verification":`+stricter+`}`)
		if got := outcomes(c.want(t, "limited did:ixo:entity:none", "GET "+limited, "", "200")); got != "0 of 0: " {
			t.Errorf("a key of another project learns %s", got)
		}
		if got := outcomes(c.want(t, "stranger", "GET "+c.simulate(t, "stranger", `{"kind":"fuel-saved","verification":`+stricter+`}`), "", "200")); got != "0 of 0: " {
			t.Errorf("another workspace learns %s", got)
		}
	})
}

// A rubric that asks for evidence is told how much there is.
func TestSimulateEvidence(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		c := newCourt(t, d)
		c.work(t)
		c.claim(t, "fuel-saved")
		c.want(t, "owner", "POST /v1/claims", claimed(c.stove, "2020-01-01", "2020-01-31", `,"evidence":["a photo","a reading"]`), "201")
		at := c.simulate(t, "judge", `{"kind":"fuel-saved","verification":{"rubric":[
			{"id":"none","stage":"missing_evidence","when":"claim.evidence < 2.0","then":{"outcome":"flagged","reasonCode":"LITTLE"}},
			{"id":"rest","stage":"approval","when":"true","then":{"outcome":"approved","reasonCode":"ENOUGH"}}]}}`)
		if got, want := outcomes(c.want(t, "judge", "GET "+at, "", "200")), "0 of 2: not_evaluated>approved 0/1, not_evaluated>flagged 0/1"; got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	})
}

// rows are the claims with their evaluations, as they are stored.
func (c *court) rows(t testing.TB) string {
	t.Helper()
	var out strings.Builder
	rows, err := c.d.Query(t.Context(), `SELECT c.did, c.status, c.approved, c.facts, c.due, (SELECT count(*) FROM claim_evaluations e WHERE e.claim = c.nid) FROM claims c ORDER BY c.nid`)
	err = db.Each(rows, err, "read rows", func(from db.Row) error {
		var did, status, facts string
		var approved float64
		var due, n int64
		err := from.Scan(&did, &status, &approved, &facts, &due, &n)
		fmt.Fprintln(&out, did, status, approved, facts, due, n)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// What is wrong with a simulation is said at once, where it is.
func TestSimulateRefused(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		c := newCourt(t, d)
		p := c.want(t, "owner", "GET "+at(c.stove), "", "200").text("protocol")
		for _, e := range []struct{ body, want, at string }{
			{`{"kind":"fuel-saved"}`, "400 SIMULATION_INVALID", "/verification"},
			{`{"protocol":"` + p + `"}`, "400 SIMULATION_INVALID", "/kind"},
			{`{"kind":"fuel-saved","protocol":"` + p + `","version":"1.0.0","verification":` + stricter + `}`, "400 SIMULATION_INVALID", "/version"},
			{`{"kind":"fuel-saved","verification":` + stricter + `,"collection":"x"}`, "400 SIMULATION_INVALID", "/collection"},
			{`{"kind":"fuel-saved","verification":{"rubric":[]}}`, "400 SIMULATION_INVALID", "/verification/rubric"},
			{`{"kind":"fuel-saved","verification":` + strings.Replace(stricter, "facts.usage < 0.95", "facts.used < 0.95", 1) + `}`, "400 SIMULATION_INVALID", "/verification/rubric/1/when"},
			{`{"kind":"visits","protocol":"` + p + `"}`, "404 RUBRIC_NOT_FOUND", "/kind It names these types of claims: fuel-saved, visits."},
			{`{"kind":"fuel-saved","protocol":"did:ixo:protocol/clean-cooking","version":"1.0.0"}`, "404 RUBRIC_NOT_FOUND", "/kind This version names no types of claims. Give a version that does."},
			{`{"kind":"fuel-saved","protocol":"did:ixo:protocol/none"}`, "404 PROTOCOL_NOT_FOUND", "/protocol"},
		} {
			r := c.want(t, "judge", "POST /v1/claims:simulate", e.body, e.want)
			at, words, _ := strings.Cut(e.at, " ")
			if len(r.Fields) == 0 || r.Fields[0].Pointer != at || words != "" && r.Fields[0].Detail != words {
				t.Errorf("%s is wrong at %v, want %s", e.body, r.Fields, e.at)
			}
		}
	})
}

// Claims of many pages are all asked about, once each.
func TestSimulateMany(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		c := newCourt(t, d)
		c.work(t)
		id := c.claim(t, "fuel-saved")
		c.want(t, "judge", "POST "+claimAt(id)+"/evaluations", `{"facts":{"usage":{"value":0.9}}}`, "201")
		const more = 1200
		for _, sql := range []string{
			`WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < %d) INSERT INTO claims (nid, ws, did, cid, project, type, kind, subject, subject_did, claimant, starts, ends, amount, unit, status, approved, submitted_at, document, facts, protocol, version)
				SELECT nid + i, ws, did || 'x' || i, cid || i, project, type, kind, subject, subject_did, claimant, starts, ends, amount, unit, status, approved, submitted_at, document, facts, protocol, version FROM claims, n WHERE did = '%s'`,
			`WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < %d) INSERT INTO claim_evaluations (nid, ws, claim, at, evaluator, oracle, protocol, version, rubric_hash, facts, outcome, reason_code, rule, amount, status, reason, automatic)
				SELECT e.nid + i, e.ws, claim + i, at, evaluator, oracle, e.protocol, e.version, rubric_hash, e.facts, outcome, reason_code, rule, e.amount, e.status, reason, automatic FROM claim_evaluations e, n WHERE e.claim = (SELECT nid FROM claims WHERE did = '%s')`,
		} {
			if _, err := d.Exec(t.Context(), fmt.Sprintf(sql, more, id)); err != nil {
				t.Fatal(err)
			}
		}
		at := c.simulate(t, "judge", `{"kind":"fuel-saved","verification":`+stricter+`}`)
		r := c.want(t, "judge", "GET "+at, "", "200")
		if got, want := outcomes(r), fmt.Sprintf("%[1]d of %[1]d: approved>partial_success %[1]d/%[1]d", more+1); got != want {
			t.Errorf("%d claims: %s, want %s", more+1, got, want)
		}
		if listed := r.Body["counts"].(map[string]any)["listed"]; listed != float64(more+1) {
			t.Errorf("%v are listed, want %d", listed, more+1)
		}
	})
}

// A kind is found in whatever case it was claimed and is asked for, also where no protocol
// spells it.
func TestSimulateKindsInAnyCase(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		c := newCourt(t, d)
		c.work(t)
		free := c.want(t, "owner", "POST /v1/entities", `{"type":"stove","protocol":"did:ixo:protocol/asset","protocolVersion":"1.0.0"}`, "201").text("did")
		for month, kind := range []string{"Soil-Carbon", "soil-carbon", "SOIL-CARBON", "soil-carbon-2"} {
			day := fmt.Sprintf("2026-%02d-", month+1)
			c.want(t, "owner", "POST /v1/claims", strings.Replace(claimed(free, day+"01", day+"28", ""), "fuel-saved", kind, 1), "201")
		}
		const rule = `{"rubric":[{"id":"all","stage":"approval","when":"true","then":{"outcome":"approved","reasonCode":"IN_USE"}}]}`
		for _, kind := range []string{"soil-carbon", "Soil-Carbon", "soil-CARBON"} {
			at := c.simulate(t, "judge", `{"kind":"`+kind+`","verification":`+rule+`}`)
			if got, want := outcomes(c.want(t, "judge", "GET "+at, "", "200")), "0 of 3: not_evaluated>approved 0/3"; got != want {
				t.Errorf("%s: %s, want %s", kind, got, want)
			}
		}
	})
}
