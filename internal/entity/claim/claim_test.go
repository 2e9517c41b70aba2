package claim_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
	"github.com/hearth-dmrv/hearth/internal/entity/claim"
)

func TestCID(t *testing.T) {
	t.Parallel()
	if got, want := claim.CID([]byte("{}")), "bafkreicecnx2gvntm6fbcrvnc336qze6st5u7qq7457igegamd3bzkx7ri"; got != want {
		t.Errorf("CID of {} = %s, want %s", got, want)
	}
}

// What was submitted is found by DID and by CID, which anybody can compute, and does
// not change by any route.
func TestSubmittedClaimStays(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		v := newEnv(t, d)
		stove := v.twin(t, "owner", "clean-cooking")
		made := v.want(t, "owner", "POST /v1/claims", claimed(stove, "2026-01-01", "2026-01-31", `,"evidence":["sha256:aa",{"type":"reading","id":"r1"}]`), "201")
		id, cid := made.text("id"), made.text("cid")
		if made.text("status") != "pending" || made.text("subject") != stove || made.text("claimant") != "did:key:owner" {
			t.Errorf("the claim is %v", made.Body)
		}
		for _, name := range []string{id, cid} {
			r := v.want(t, "owner", "GET "+claimAt(name), "", "200")
			raw, err := json.Marshal(r.Body["document"])
			if err != nil {
				t.Fatal(err)
			}
			doc := jsontext.Value(raw)
			if err := doc.Canonicalize(); err != nil || claim.CID(doc) != cid {
				t.Errorf("by %s: the CID of %s is %s, want %s (%v)", name, doc, claim.CID(doc), cid, err)
			}
			v.want(t, "stranger", "GET "+claimAt(name), "", "404 CLAIM_NOT_FOUND")
			v.want(t, "limited did:x:none", "GET "+claimAt(name), "", "404 CLAIM_NOT_FOUND")
		}
		for _, change := range []string{
			`PATCH ` + at(id) + ` {"properties":{"amount":{"value":5000,"unit":"t"}}}`,
			`PUT ` + at(id) + ` {"type":"Claim","protocol":"did:ixo:protocol/claim","properties":{"kind":"fuel-saved"}}`,
			`PUT ` + at(id) + `/properties/amount {"value":5000,"unit":"t"}`,
			`DELETE ` + at(id) + `/properties/periodEnd `,
			`POST ` + at(id) + `/relationships {"role":"producedBy","target":"` + v.twin(t, "owner", "clean-cooking") + `"}`,
		} {
			method, rest, _ := strings.Cut(change, " ")
			path, body, _ := strings.Cut(rest, " ")
			v.want(t, "owner", method+" "+path, body, "409 CLAIM_SUBMITTED")
		}
		batch := v.want(t, "owner", "POST /v1/entities:batch", `{"operations":[{"op":"patch","did":"`+id+`","ifMatch":"*","patch":{"properties":{"kind":"other"}}}]}`, "200")
		if got := fmt.Sprint(batch.Body); !strings.Contains(got, "CLAIM_SUBMITTED") {
			t.Errorf("the batch says %s, want CLAIM_SUBMITTED", got)
		}
		if got := v.want(t, "owner", "GET "+claimAt(id), "", "200"); got.text("cid") != cid {
			t.Errorf("the CID is %s, want %s", got.text("cid"), cid)
		}
	})
}

// A draft is submitted when it becomes active, and is free until then.
func TestDraftIsSubmittedLater(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		v := newEnv(t, d)
		r := v.want(t, "owner", "POST /v1/claims", `{"redemptionId":"r-1","verifiableCredential":{"type":["VoucherCredential"],"proof":{"type":"Ed25519Signature2018"}}}`, "201")
		id := r.text("id")
		if r.text("status") != "draft" || r.text("cid") != "" {
			t.Errorf("a claim about nothing is %v, want a draft", r.Body)
		}
		v.want(t, "owner", "POST /v1/claims", `{"redemptionId":"r-1","verifiableCredential":{}}`, "409 EXTERNAL_ID_EXISTS")
		v.want(t, "owner", "GET "+claimAt(id), "", "404 CLAIM_NOT_FOUND")
		v.want(t, "owner", "PATCH "+at(id), `{"properties":{"kind":"RedemptionClaim"}}`, "200")
		v.want(t, "owner", "POST "+at(id)+"/relationships", `{"role":"producedBy","target":"`+v.twin(t, "owner", "household")+`"}`, "201")
		v.want(t, "owner", "POST "+at(id)+"/transitions", `{"to":"active"}`, "200")
		if got := v.want(t, "owner", "GET "+claimAt(id), "", "200"); got.text("status") != "pending" || got.text("kind") != "RedemptionClaim" {
			t.Errorf("the claim is %v", got.Body)
		}
		v.want(t, "owner", "PATCH "+at(id), `{"properties":{"kind":"other"}}`, "409 CLAIM_SUBMITTED")
	})
}

// Nothing is claimed twice: of a stove, of its household, of what it once was part of.
func TestNothingIsClaimedTwice(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		v := newEnv(t, d)
		home := v.twin(t, "owner", "household")
		stove, other := v.twin(t, "owner", "clean-cooking", "household", home), v.twin(t, "owner", "clean-cooking", "household", home)
		monitor := v.twin(t, "owner", "stove-use-monitor", "stove", stove)
		first := v.submit(t, stove, "2026-01-01", "2026-01-31")
		v.submit(t, other, "2026-01-01", "2026-01-31")
		v.submit(t, stove, "2026-02-01", "2026-02-28")
		refused := func(subject, from, to string) {
			t.Helper()
			v.want(t, "owner", "POST /v1/claims", claimed(subject, from, to), "409 CLAIM_OVERLAPS")
		}
		refused(stove, "2026-01-31", "2026-01-31")
		refused(home, "2026-01-15", "2026-03-15")
		refused(monitor, "2026-01-15", "2026-01-16")
		v.want(t, "owner", "POST /v1/claims", strings.Replace(claimed(monitor, "2026-01-15", "2026-01-16"), "fuel-saved", "FUEL-Saved", 1), "409 CLAIM_OVERLAPS")
		v.want(t, "owner", "POST /v1/claims", `{"kind":"fuel-saved","subject":"`+stove+`"}`, "409 CLAIM_OVERLAPS")
		v.submit(t, home, "2026-03-01", "2026-03-31")
		refused(other, "2026-03-31", "2026-04-30")
		v.want(t, "owner", "POST /v1/claims", strings.Replace(claimed(home, "2026-01-01", "2026-01-31"), "fuel-saved", "household-use", 1), "201")
		v.want(t, "owner", "POST /v1/claims", strings.Replace(claimed(home, "2026-01-01", "2026-01-31"), "fuel-saved", "Household-Use", 1), "409 CLAIM_OVERLAPS")
		unknown := v.want(t, "owner", "POST /v1/claims", strings.Replace(claimed(home, "2026-01-01", "2026-01-31"), "fuel-saved", "fuel_saved", 1), "409 CLAIM_TYPE_UNKNOWN")
		if len(unknown.Fields) != 1 || unknown.Fields[0].Pointer != "/kind" {
			t.Errorf("fields = %v, want the kind", unknown.Fields)
		}
		edges := v.want(t, "owner", "GET "+at(stove)+"/relationships", "", "200")
		edge := edges.Body["items"].([]any)[0].(map[string]any)["id"].(string)
		v.want(t, "owner", "DELETE "+at(stove)+"/relationships/"+edge, "", "200")
		refused(stove, "2026-03-10", "2026-03-11")

		v.want(t, "owner", "POST "+claimAt(first)+"/withdraw", `{"reason":"wrong days"}`, "200")
		if got := v.want(t, "owner", "GET "+claimAt(first), "", "200"); got.text("status") != "withdrawn" {
			t.Errorf("the claim is %v, want withdrawn", got.Body)
		}
		v.submit(t, stove, "2026-01-01", "2026-01-31")
	})
}

// Of many who claim the same at once, one does.
func TestClaimsAtOnce(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		v := newEnv(t, d)
		home := v.twin(t, "owner", "household")
		stove := v.twin(t, "owner", "clean-cooking", "household", home)
		var mu sync.Mutex
		var wg sync.WaitGroup
		got := map[int]int{}
		for i := range 12 {
			subject := []string{home, stove}[i%2]
			wg.Go(func() {
				r := v.do(t, "owner", "POST /v1/claims", claimed(subject, "2026-01-01", "2026-01-31"))
				mu.Lock()
				defer mu.Unlock()
				got[r.Code]++
			})
		}
		wg.Wait()
		if got[201] != 1 || got[409] != 11 {
			t.Errorf("answers = %v, want one 201 and eleven 409", got)
		}
	})
}

// A claim type says what must be unique, and may sum the claims of parts.
func TestClaimTypes(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		v := newEnv(t, d)
		p := v.want(t, "owner", "POST /v1/protocols", `{"type":"Protocol","name":"home","domainType":"household","properties":{"name":"string"},"relationships":{},
			"claimTypes":{"fuel-saved":{"dedupeKey":"data.receipt","aggregates":true}}}`, "201").text("did")
		v.want(t, "owner", "POST /v1/protocols/"+strings.ReplaceAll(p, "/", "%2F")+"/publish", "", "200")
		home := v.want(t, "owner", "POST /v1/entities", `{"type":"home","protocol":"`+p+`"}`, "201").text("did")
		stove := v.twin(t, "owner", "clean-cooking", "household", home)
		part := v.submit(t, stove, "2026-01-01", "2026-01-31")
		v.want(t, "owner", "POST /v1/claims", claimed(home, "2026-02-01", "2026-02-28"), "400 CLAIM_INVALID")
		v.submit(t, home, "2026-02-01", "2026-02-28", `,"data":{"receipt":"7"}`)
		v.want(t, "owner", "POST /v1/claims", claimed(home, "2026-03-01", "2026-03-31", `,"data":{"receipt":"7"}`), "409 CLAIM_DUPLICATE")
		v.want(t, "owner", "POST /v1/claims", strings.Replace(claimed(home, "2026-01-01", "2026-01-31", `,"data":{"receipt":"8"},"claims":["`+part+`"]`), `"value":12`, `"value":13`, 1), "400 CLAIM_NOT_SUMMABLE")
		sum := v.submit(t, home, "2026-01-01", "2026-01-31", `,"data":{"receipt":"8"},"claims":["`+part+`"]`)
		if got := v.want(t, "owner", "GET "+claimAt(part), "", "200"); got.text("summedBy") != sum {
			t.Errorf("the part is %v, want it summed by %s", got.Body, sum)
		}
		v.want(t, "owner", "POST "+claimAt(part)+"/withdraw", `{}`, "409 CLAIM_DECIDED")
		v.want(t, "owner", "POST "+claimAt(sum)+"/withdraw", `{}`, "200")
		v.want(t, "owner", "POST "+claimAt(part)+"/withdraw", `{}`, "200")
	})
}

func TestListClaims(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		v := newEnv(t, d)
		stove, other := v.twin(t, "owner", "clean-cooking"), v.twin(t, "owner", "clean-cooking")
		var all []string
		for i := range 5 {
			day := fmt.Sprintf("2026-01-%02d", i+1)
			all = append(all, v.submit(t, []string{stove, other}[i%2], day, day))
		}
		v.want(t, "owner", "POST "+claimAt(all[4])+"/withdraw", `{}`, "200")
		list := func(who, path string) (out []string) {
			t.Helper()
			for cursor := ""; ; {
				r := v.want(t, who, "GET "+path+cursor, "", "200")
				for _, i := range r.Body["items"].([]any) {
					out = append(out, i.(map[string]any)["id"].(string))
				}
				next, _ := r.Body["page"].(map[string]any)["nextCursor"].(string)
				if next == "" {
					return out
				}
				cursor = map[bool]string{true: "&", false: "?"}[strings.Contains(path, "?")] + "cursor=" + next
			}
		}
		for path, want := range map[string]string{
			"/v1/claims?limit=2":                   "4 3 2 1 0",
			"/v1/claims?status=pending":            "3 2 1 0",
			"/v1/claims?status=withdrawn":          "4",
			"/v1/claims?kind=other":                "",
			"/v1/claims?limit=1&subject=" + stove:  "4 2 0",
			at(other) + "/claims":                  "3 1",
			"/v1/claims?claimant=did:key:stranger": "",
		} {
			var got []string
			for _, id := range list("owner", path) {
				for i := range all {
					if all[i] == id {
						got = append(got, fmt.Sprint(i))
					}
				}
			}
			if strings.Join(got, " ") != want {
				t.Errorf("%s = %v, want %s", path, got, want)
			}
		}
		if got := list("stranger", "/v1/claims"); len(got) != 0 {
			t.Errorf("a stranger sees %v", got)
		}
		v.want(t, "owner", "GET /v1/claims?status=odd", "", "400 INVALID_PARAMETER")
		v.want(t, "stranger", "GET "+at(stove)+"/claims", "", "404 ENTITY_NOT_FOUND")
	})
}

// Whoever says later what a stove is part of gains nothing by it.
func TestJoinedLater(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		v := newEnv(t, d)
		home, stove := v.twin(t, "owner", "household"), v.twin(t, "owner", "clean-cooking")
		monitor := v.twin(t, "owner", "stove-use-monitor", "stove", stove)
		part := v.submit(t, monitor, "2026-01-01", "2026-01-31")
		join := func(what, role, target, more, want string) {
			t.Helper()
			v.want(t, "owner", "POST "+at(what)+"/relationships", `{"role":"`+role+`","target":"`+target+`"`+more+`}`, want)
		}
		join(stove, "household", home, "", "201")
		v.want(t, "owner", "POST /v1/claims", claimed(home, "2026-01-31", "2026-02-28"), "409 CLAIM_OVERLAPS")
		v.submit(t, home, "2026-02-01", "2026-02-28")
		v.want(t, "owner", "POST "+claimAt(part)+"/withdraw", `{}`, "200")
		v.submit(t, home, "2026-01-01", "2026-01-31")

		late := v.twin(t, "owner", "clean-cooking")
		v.submit(t, late, "2026-02-10", "2026-02-11")
		join(late, "household", home, "", "409 CLAIM_OVERLAPS")
		join(late, "household", home, `,"since":"2026-02-12T00:00:00Z"`, "201")
		v.want(t, "owner", "POST /v1/claims", claimed(late, "2026-02-12", "2026-02-13"), "409 CLAIM_OVERLAPS")
		v.submit(t, late, "2026-02-01", "2026-02-02")

		gone := `{"type":"household","did":"did:ixo:household/late","protocol":"did:ixo:protocol/household","relationships":[{"role":"project","target":"` + v.twin(t, "owner", "project") + `"}]}`
		waits := v.twin(t, "owner", "clean-cooking", "household", "did:ixo:household/late")
		v.submit(t, waits, "2026-01-01", "2026-01-31")
		v.want(t, "owner", "POST /v1/entities", gone, "201")
		v.want(t, "owner", "POST /v1/claims", claimed("did:ixo:household/late", "2026-01-01", "2026-01-31"), "409 CLAIM_OVERLAPS")
	})
}

// What no claim can mean is refused by name, and a withdrawal needs no reason.
func TestWrongClaims(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		v := newEnv(t, d)
		stove := v.twin(t, "owner", "clean-cooking")
		good := claimed(stove, "2026-01-01", "2026-01-31")
		for _, e := range []struct{ old, replacement, at string }{
			{"2026-01-01", "0000-01-01", "/periodStart"},
			{"2026-01-31", "9999-12-31", "/periodEnd"},
			{`"value":12`, `"value":1e308`, "/amount/value"},
			{`"value":12`, `"value":-1`, "/amount/value"},
		} {
			r := v.want(t, "owner", "POST /v1/claims", strings.Replace(good, e.old, e.replacement, 1), "400 CLAIM_INVALID")
			if len(r.Fields) != 1 || r.Fields[0].Pointer != e.at || r.Fields[0].Code != "out_of_range" {
				t.Errorf("%s: fields = %v, want %s", e.replacement, r.Fields, e.at)
			}
			body := `{"type":"Claim","protocol":"did:ixo:protocol/claim","properties":{"kind":"a","periodStart":"0000-01-01"},"relationships":[{"role":"producedBy","target":"` + stove + `"}]}`
			v.want(t, "owner", "POST /v1/entities", body, "400 CLAIM_INVALID")
		}
		monitor := v.twin(t, "owner", "stove-use-monitor", "stove", stove) // its protocol names no types
		for _, e := range []struct{ old, replacement, at string }{
			{"fuel-saved", " fuel-saved", "/kind"},
			{"fuel-saved", "fuel-saved\u200b", "/kind"},
			{"fuel-saved", "Mary Wanjiku +254700111222", "/kind"},
			{`"kg"`, `"<img src=x>"`, "/amount/unit"},
			{`"kg"`, `"` + strings.Repeat("é", 25) + `"`, "/amount/unit"},
		} {
			r := v.want(t, "owner", "POST /v1/claims", strings.Replace(claimed(monitor, "2026-01-01", "2026-01-31"), e.old, e.replacement, 1), "400 CLAIM_INVALID")
			if len(r.Fields) != 1 || r.Fields[0].Pointer != e.at {
				t.Errorf("%s: fields = %v, want %s", e.replacement, r.Fields, e.at)
			}
		}
		v.want(t, "owner", "POST "+claimAt(v.submit(t, stove, "2026-01-01", "2026-01-31"))+"/withdraw", "", "200")
	})
}

// The CID binds all that was submitted.
func TestCIDBindsData(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		v := newEnv(t, d)
		id := v.submit(t, v.twin(t, "owner", "clean-cooking"), "2026-01-01", "2026-01-31", `,"data":{"moisture":0.12,"days":[1,2]}`)
		doc := v.want(t, "owner", "GET "+claimAt(id), "", "200").Body["document"].(map[string]any)
		if got := fmt.Sprint(doc["data"]); got != "map[days:[1 2] moisture:0.12]" {
			t.Errorf("the document says %s of data", got)
		}
	})
}

// What was part of two households, one after the other or by a role of any name, is not
// counted in both.
func TestMovedPartCountsOnce(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		v := newEnv(t, d)
		move := func(stove, from, to string) {
			t.Helper()
			for _, r := range v.do(t, "owner", "GET "+at(stove), "").Body["relationships"].([]any) {
				if r := r.(map[string]any); r["target"] == from {
					v.want(t, "owner", "DELETE "+at(stove)+"/relationships/"+r["id"].(string), "", "200")
				}
			}
			v.want(t, "owner", "POST "+at(stove)+"/relationships", `{"role":"household","target":"`+to+`"}`, "201")
		}
		a, b := v.twin(t, "owner", "household"), v.twin(t, "owner", "household")
		stove := v.twin(t, "owner", "clean-cooking", "household", a)
		v.submit(t, a, "2026-01-01", "2026-01-31")
		move(stove, a, b)
		v.want(t, "owner", "POST /v1/claims", claimed(b, "2026-01-01", "2026-01-31"), "409 CLAIM_OVERLAPS")

		a, b = v.twin(t, "owner", "household"), v.twin(t, "owner", "household")
		move(v.twin(t, "owner", "clean-cooking", "household", a), a, b)
		v.submit(t, a, "2026-01-01", "2026-01-31")
		v.want(t, "owner", "POST /v1/claims", claimed(b, "2026-01-01", "2026-01-31"), "409 CLAIM_OVERLAPS")
		v.submit(t, b, "2026-02-01", "2026-02-28")

		for _, role := range []string{"installedIn", "locatedIn", "dwelling"} {
			home := v.twin(t, "owner", "household")
			v.submit(t, v.twin(t, "owner", "clean-cooking", role, home), "2026-01-01", "2026-01-31")
			v.want(t, "owner", "POST /v1/claims", claimed(home, "2026-01-31", "2026-02-10"), "409 CLAIM_OVERLAPS")
		}
		for _, role := range []string{"device", "hasPart"} {
			part := v.twin(t, "owner", "clean-cooking")
			v.submit(t, part, "2026-01-01", "2026-01-31")
			v.want(t, "owner", "POST /v1/claims", claimed(v.twin(t, "owner", "household", role, part), "2026-01-31", "2026-02-10"), "409 CLAIM_OVERLAPS")
		}
	})
}

// Two that had a stove one after the other, and say when, claim their own days.
func TestCoverGoesByTime(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		v := newEnv(t, d)
		a, b, stove := v.twin(t, "owner", "household"), v.twin(t, "owner", "household"), v.twin(t, "owner", "clean-cooking")
		v.want(t, "owner", "POST "+at(stove)+"/relationships", `{"role":"household","target":"`+a+`","until":"2026-02-01T00:00:00Z"}`, "201")
		v.want(t, "owner", "POST "+at(stove)+"/relationships", `{"role":"installedIn","target":"`+b+`","since":"2026-02-01T00:00:00Z"}`, "201")
		v.submit(t, stove, "2026-01-01", "2026-01-31")
		v.submit(t, b, "2026-01-01", "2026-01-31")
		v.want(t, "owner", "POST /v1/claims", claimed(a, "2026-01-31", "2026-02-10"), "409 CLAIM_OVERLAPS")
		v.submit(t, a, "2026-02-01", "2026-02-28")
		v.want(t, "owner", "POST /v1/claims", claimed(b, "2026-01-15", "2026-02-10"), "409 CLAIM_OVERLAPS")
	})
}

// A claim that names no kind counts as one of every kind.
func TestClaimWithoutKind(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		v := newEnv(t, d)
		monitor := func() string { return v.twin(t, "owner", "stove-use-monitor") }
		bare := func(subject string) string {
			return `{"subject":"` + subject + `","periodStart":"2026-01-01","periodEnd":"2026-01-31"}`
		}
		one, other := monitor(), monitor()
		v.submit(t, one, "2026-01-01", "2026-01-31")
		v.want(t, "owner", "POST /v1/claims", bare(one), "409 CLAIM_OVERLAPS")
		v.want(t, "owner", "POST /v1/claims", bare(other), "201")
		v.want(t, "owner", "POST /v1/claims", claimed(other, "2026-01-31", "2026-02-10"), "409 CLAIM_OVERLAPS")
	})
}

// A claim belongs to the project of its subject, and is not about days before that was
// installed.
func TestClaimFitsItsSubject(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		v := newEnv(t, d)
		project := v.twin(t, "owner", "project", "implementedBy", v.twin(t, "owner", "organisation"))
		stove := v.twin(t, "owner", "clean-cooking", "project", project)
		made := v.want(t, "owner", "POST /v1/claims", claimed(stove, "2026-01-01", "2026-01-31"), "201")
		if made.text("project") != project {
			t.Errorf("the claim of a stove of %s is %v", project, made.Body)
		}
		v.want(t, "limited "+project, "GET "+claimAt(made.text("id")), "", "200")
		v.want(t, "owner", "PATCH "+at(stove), `{"properties":{"installedAt":"2026-03-10"}}`, "200")
		v.want(t, "owner", "POST /v1/claims", claimed(stove, "2026-03-09", "2026-03-31"), "409 CLAIM_BEFORE_INSTALLED")
		v.submit(t, stove, "2026-03-10", "2026-03-31")
	})
}

// Whoever evaluates a claim is told that another workspace claims for the same serial
// number and days, and by no field whose that is.
func TestClaimedElsewhere(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		v := newEnv(t, d)
		stove := func(who, serial string) string {
			return v.want(t, who, "POST /v1/entities", `{"type":"Stove","protocol":"did:ixo:protocol/clean-cooking","properties":{"serial":"`+serial+`"}}`, "201").text("did")
		}
		claim := func(who, serial, from, to string) string {
			return v.want(t, who, "POST /v1/claims", claimed(stove(who, serial), from, to), "201").text("id")
		}
		flagged := func(who, id string) bool {
			return v.want(t, who, "GET "+claimAt(id), "", "200").Body["claimedElsewhere"] == true
		}
		ours := claim("owner", "JK-0042", "2026-01-01", "2026-01-31")
		if flagged("owner", ours) {
			t.Error("flagged before anybody else claimed")
		}
		claim("owner", "JK-0043", "2026-01-01", "2026-01-31")
		claim("stranger", "JK-0042", "2026-02-01", "2026-02-28") // other days
		claim("stranger", "", "2026-01-01", "2026-01-31")
		claim("owner", "", "2026-01-01", "2026-01-31")
		if flagged("owner", ours) {
			t.Error("flagged for other days, or another number")
		}
		theirs := claim("stranger", "jk -0042", "2026-01-31", "2026-03-31")
		for who, id := range map[string]string{"owner": ours, "stranger": theirs} {
			if !flagged(who, id) {
				t.Errorf("%s is not told", who)
			}
		}
		if flagged("reader", ours) {
			t.Error("somebody who evaluates nothing is told")
		}
		v.want(t, "stranger", "POST "+claimAt(theirs)+"/withdraw", "", "200")
		if flagged("owner", ours) {
			t.Error("flagged after the other claim was withdrawn")
		}
	})
}
