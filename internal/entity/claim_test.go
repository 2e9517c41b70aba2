package entity_test

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
	"github.com/hearth-dmrv/hearth/internal/entity"
	"github.com/hearth-dmrv/hearth/internal/fault"
)

// A claim needs what produced it, an oracle before it is verified, and then
// stays verified as long as an active credential rests on it.
func TestClaims(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		v := newEnv(t, d)
		for _, kind := range []string{"claim", "credential"} {
			word := map[string]string{"claim": "producedBy", "credential": "becameFrom"}[kind]
			bare := v.create(t, "ws", draftOf(kind))
			if bare.Status != entity.StatusDraft || !slices.Equal(bare.MissingRelationships, []string{word}) {
				t.Errorf("a bare %s is %s and misses %v, want a draft that misses %s", kind, bare.Status, bare.MissingRelationships, word)
			}
			want(t, "a bare "+kind, v.transit(t, "ws", bare.DID, entity.StatusActive), "MISSING_RELATIONSHIPS")
		}
		stove := v.create(t, "ws", draftOf("clean-cooking"))
		claim := v.create(t, "ws", with(draftOf("claim"), "producedBy", stove.DID))
		if claim.Status != entity.StatusActive {
			t.Errorf("the claim of a stove is %s, want active", claim.Status)
		}
		err := v.judge(t, "ws", claim.DID, "verified")
		want(t, "verified by nobody", err, "MISSING_RELATIONSHIPS")
		if f := fault.As(err); len(f.Fields) != 1 || !strings.Contains(f.Fields[0].Detail, "verifiedBy") {
			t.Errorf("fields = %+v, want verifiedBy", f.Fields)
		}
		want(t, "rejected without an oracle", v.judge(t, "ws", claim.DID, "rejected"), "")
		oracle := v.create(t, "ws", draftOf("oracle"))
		edge, err := v.relate(t, "ws", claim.DID, "verifiedBy", oracle.DID)
		want(t, "an oracle", err, "")

		credential := with(draftOf("credential"), "becameFrom", claim.DID)
		_, err = v.s.Create(as(t, "ws", "owner"), credential)
		want(t, "of a rejected claim", err, "CLAIM_NOT_VERIFIED")
		if f := fault.As(err); len(f.Fields) != 1 || f.Fields[0].Pointer != "/relationships/0/target" {
			t.Errorf("fields = %+v, want the target", f.Fields)
		}
		early := v.create(t, "ws", draftOf("credential"))
		_, err = v.relate(t, "ws", claim.DID, "becomes", early.DID)
		want(t, "by the other word", err, "CLAIM_NOT_VERIFIED")
		want(t, "verified", v.judge(t, "ws", claim.DID, "verified"), "")
		issued := v.create(t, "ws", credential)
		if issued.Status != entity.StatusActive {
			t.Errorf("the credential is %s, want active", issued.Status)
		}
		v.claimStays(t, claim.DID, issued.DID, edge.ID)
		want(t, "the stove may go all the same", v.transit(t, "ws", stove.DID, gone), "")
		v.consistent(t, "ws", claim.DID, issued.DID, oracle.DID)
	})
}

// claimStays tries to take a claim from under its active credential.
func (v *env) claimStays(t *testing.T, claim, issued, verifies string) {
	t.Helper()
	for _, status := range []string{"unverified", "pending", "rejected", "revoked", "expired"} {
		err := v.judge(t, "ws", claim, status)
		want(t, status+" under an active credential", err, "ACTIVE_DEPENDANTS")
		if f := fault.As(err); len(f.Fields) != 1 || !strings.Contains(f.Fields[0].Detail, issued) {
			t.Errorf("fields = %+v, want the credential named", f.Fields)
		}
	}
	want(t, "another amount under an active credential", v.amount(t, claim, 12_000_000), "ACTIVE_DEPENDANTS")
	want(t, "verified once more", v.judge(t, "ws", claim, "verified"), "")
	want(t, "deactivated under an active credential", v.transit(t, "ws", claim, gone), "ACTIVE_DEPENDANTS")
	want(t, "without its oracle", v.unrelate(t, "ws", claim, verifies), "MISSING_RELATIONSHIPS")
	want(t, "suspend the credential", v.transit(t, "ws", issued, entity.StatusSuspended), "")
	want(t, "now it may be revoked", v.judge(t, "ws", claim, "revoked"), "")
	want(t, "and the credential cannot come back", v.transit(t, "ws", issued, entity.StatusActive), "CLAIM_NOT_VERIFIED")
	want(t, "verified again", v.judge(t, "ws", claim, "verified"), "")
	want(t, "and the credential is back", v.transit(t, "ws", issued, entity.StatusActive), "")
}

// amount changes what a claim says.
func (v *env) amount(t *testing.T, claim string, n int) error {
	t.Helper()
	merge := fmt.Appendf(nil, `{"properties":{"amount":{"value":%d,"unit":"kg"}}}`, n)
	return second(v.s.Patch(as(t, "ws", "owner"), claim, "*", entity.Change{Merge: merge}))
}

// A verdict is about what a twin said then.
func TestVerdictLapses(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		v := newEnv(t, d)
		claim := v.create(t, "ws", with(draftOf("claim"), "producedBy", v.create(t, "ws", draftOf("clean-cooking")).DID))
		must(t, v.amount(t, claim.DID, 12))
		v.verify(t, "ws", claim.DID)
		must(t, v.amount(t, claim.DID, 12))
		if got := v.get(t, "ws", claim.DID).Verification; got.Status != "verified" || got.Verifier == "" {
			t.Errorf("with the same amount the verification is %+v, want it as it was", got)
		}
		must(t, v.amount(t, claim.DID, 12_000_000))
		if got := v.get(t, "ws", claim.DID).Verification; got.Status != "pending" || got.Verifier != "" || !got.Timestamp.IsZero() {
			t.Errorf("with another amount the verification is %+v, want pending", got)
		}
		_, err := v.s.Create(as(t, "ws", "owner"), with(draftOf("credential"), "becameFrom", claim.DID))
		want(t, "a credential of what nobody has verified", err, "CLAIM_NOT_VERIFIED")
	})
}

// The routes of parts change what a twin says as well, of any twin, and in place.
func TestVerdictLapsesByParts(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		v := newEnv(t, d)
		stove := draftOf("clean-cooking")
		stove.Services = []entity.Endpoint{{ID: "#a", Type: "Data", Endpoint: "https://example.org/a"}, {ID: "#b", Type: "Data", Endpoint: "https://example.org/b"}}
		id := v.create(t, "ws", stove).DID
		for _, request := range []string{
			`PUT /services/a {"type":"Data","endpoint":"https://example.org/c"}`, `DELETE /services/a `, `PUT /properties/serial "S1"`, `DELETE /properties/serial `,
		} {
			method, rest, _ := strings.Cut(request, " ")
			path, body, _ := strings.Cut(rest, " ")
			must(t, v.judge(t, "ws", id, "verified"))
			w := v.send(t, "ws owner", method+" /v1/entities/"+url.PathEscape(id)+path, body, "If-Match", "*")
			if got := v.get(t, "ws", id).Verification; w.Code >= 300 || got.Status != "pending" {
				t.Errorf("%s = %d %s, and the verdict is %+v; want it pending", request, w.Code, w.Body, got)
			}
		}
	})
}

// A claim is judged by somebody who has no part in it.
func TestNobodyVerifiesTheirOwnClaim(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		v := newEnv(t, d)
		oracle := v.create(t, "ws", draftOf("oracle"))
		stove := draftOf("clean-cooking")
		stove.Controllers = []string{"did:key:owner", "did:key:operator", "did:ixo:group/of-member"}
		claim := with(draftOf("claim"), "producedBy", v.create(t, "ws", stove).DID, "verifiedBy", oracle.DID)
		claim.Controllers = []string{"did:key:owner", "did:key:editor"}
		id := v.create(t, "ws", claim).DID
		must(t, second(v.s.Patch(as(t, "ws", "editor"), id, "*", entity.Change{Merge: []byte(`{"properties":{"kind":"fuel-saved"}}`)})))
		must(t, second(v.s.Patch(as(t, "ws", "owner"), id, "*", entity.Change{Merge: []byte(`{"controllers":["did:key:keeper"]}`)})))
		if got := v.get(t, "ws", id).StatedBy; got != "did:key:editor" {
			t.Errorf("statedBy = %q, want the editor", got)
		}
		must(t, second(v.s.Transfer(as(t, "ws", "second"), id, "", entity.Transfer{Controller: "did:key:keeper", Owner: "did:key:heir"})))
		for who, detail := range map[string]string{
			"owner": "made", "editor": "changed", "heir": "belongs to you", "keeper": "control the claim", "operator": "control what produces it", "member": "control what produces it",
		} {
			for _, status := range []string{"verified", "rejected"} {
				err := second(v.s.Verify(as(t, "ws", who), id, v.tag(t, "ws", id), entity.Verdict{Status: status}))
				want(t, who+" says "+status, err, "VERIFIER_IS_CLAIMANT")
				if f := fault.As(err); f != nil && (f.Kind != fault.Forbidden || len(f.Fields) != 1 || !strings.Contains(f.Fields[0].Detail, detail)) {
					t.Errorf("%s: %+v, want that it says %q", who, f, detail)
				}
			}
		}
		want(t, "its maker asks for a verdict", v.judgeAs(t, "owner", id, "pending"), "")
		want(t, "somebody else", v.judgeAs(t, "second", id, "verified"), "")
		stoveID := v.create(t, "ws", draftOf("clean-cooking")).DID
		want(t, "what is no claim", v.judgeAs(t, "owner", stoveID, "verified"), "")
	})
}

// judgeAs says something about a twin of ws.
func (v *env) judgeAs(t *testing.T, who, id, status string) error {
	t.Helper()
	return second(v.s.Verify(as(t, "ws", who), id, v.tag(t, "ws", id), entity.Verdict{Status: status}))
}

// A claim is not taken back while its credential comes.
func TestClaimsRace(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		v := newEnv(t, d)
		stove := v.create(t, "ws", draftOf("clean-cooking"))
		for round := range 8 {
			claim := v.create(t, "ws", with(draftOf("claim"), "producedBy", stove.DID))
			v.verify(t, "ws", claim.DID)
			var old string
			if round%2 == 0 { // one that comes back, or a new one
				old = v.create(t, "ws", with(draftOf("credential"), "becameFrom", claim.DID)).DID
				must(t, v.transit(t, "ws", old, entity.StatusSuspended))
			}
			made := make(chan string, 1)
			var wg sync.WaitGroup
			wg.Go(func() { _ = v.judge(t, "ws", claim.DID, "revoked") })
			wg.Go(func() { _ = v.transit(t, "ws", old, entity.StatusActive) })
			wg.Go(func() {
				if r, err := v.s.Create(as(t, "ws", "owner"), with(draftOf("credential"), "becameFrom", claim.DID)); err == nil {
					made <- decode(t, r.Raw).DID
				}
				close(made)
			})
			wg.Wait()
			for _, id := range []string{old, <-made} {
				if id != "" && v.get(t, "ws", id).Status == entity.StatusActive && v.get(t, "ws", claim.DID).Verification.Status != "verified" {
					t.Errorf("round %d: an active credential rests on a claim that is revoked", round)
				}
			}
		}
	})
}

// Edges that have run out, or have not begun, fill no role.
func TestTimesCount(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		var clock time.Duration
		v := newEnv(t, d, func(c *entity.Config) { c.Now = func() time.Time { return time.Now().Add(clock) } })
		org, other := v.create(t, "ws", draftOf("organisation")), v.create(t, "ws", draftOf("organisation"))
		now := time.Now()
		by := func(since, until time.Time) entity.Draft {
			p := draftOf("project")
			p.Relationships = []entity.RelationDraft{{Role: "implementedBy", Target: org.DID, Since: since, Until: until}}
			return p
		}
		for name, p := range map[string]entity.Draft{"past": by(time.Time{}, now.AddDate(-6, 0, 0)), "future": by(now.AddDate(60, 0, 0), time.Time{})} {
			made := v.create(t, "ws", p)
			if made.Status != entity.StatusDraft || !slices.Equal(made.MissingRelationships, []string{"implementedBy"}) {
				t.Errorf("%s: %s, missing %v; want a draft without an organisation", name, made.Status, made.MissingRelationships)
			}
			want(t, name, v.transit(t, "ws", made.DID, entity.StatusActive), "MISSING_RELATIONSHIPS")
		}
		p := v.create(t, "ws", by(now.Add(-time.Hour), now.Add(time.Hour)))
		soon := v.create(t, "ws", by(now.Add(time.Hour), time.Time{}))
		if p.Status != entity.StatusActive || soon.Status != entity.StatusDraft {
			t.Fatalf("%s, %s; want active and draft", p.Status, soon.Status)
		}
		want(t, "it is needed today", v.transit(t, "ws", org.DID, gone), "ACTIVE_DEPENDANTS")
		want(t, "its edge too", v.unrelate(t, "ws", p.DID, p.Relationships[0].ID), "MISSING_RELATIONSHIPS")

		clock = 2 * time.Hour
		want(t, "what has begun counts", v.transit(t, "ws", soon.DID, entity.StatusActive), "")
		_, err := v.s.Patch(as(t, "ws", "owner"), p.DID, "*", entity.Change{Merge: []byte(`{"type":"other"}`)})
		want(t, "a change", err, "")
		if got := v.get(t, "ws", p.DID).MissingRelationships; !slices.Equal(got, []string{"implementedBy"}) {
			t.Errorf("missing = %v, want what has run out", got)
		}
		want(t, "suspend", v.transit(t, "ws", p.DID, entity.StatusSuspended), "")
		want(t, "what has ended does not", v.transit(t, "ws", p.DID, entity.StatusActive), "MISSING_RELATIONSHIPS")
		second, err := v.relate(t, "ws", p.DID, "implementedBy", other.DID)
		want(t, "another organisation", err, "")
		want(t, "it is active again", v.transit(t, "ws", p.DID, entity.StatusActive), "")
		want(t, "the old edge is of no use", v.unrelate(t, "ws", p.DID, p.Relationships[0].ID), "")
		want(t, "the new one is", v.unrelate(t, "ws", p.DID, second.ID), "MISSING_RELATIONSHIPS")
	})
}

// What an edge says about its source only those say who control the source,
// from whichever end.
func TestWhoSpeaksForTheSource(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		v := newEnv(t, d)
		w := v.twins(t, "ws")
		own := func(kind string) string { return v.createAs(t, "ws", "writer", draftOf(kind)).DID }
		ctx := as(t, "ws", "writer")
		for _, tt := range []struct{ name, id, role, target, code string }{
			{"implementedBy", own("project"), "implementedBy", w["organisation"], "NOT_CONTROLLER"},
			{"producedBy", own("claim"), "producedBy", w["device"], "NOT_CONTROLLER"},
			{"verifiedBy", own("claim"), "verifiedBy", w["oracle"], "NOT_CONTROLLER"},
			{"becameFrom", own("credential"), "becameFrom", w["claim"], "NOT_CONTROLLER"},
			{"partOf a group", own("group"), "partOf", w["group"], "NOT_CONTROLLER"},
			{"generatedBy", own("asset"), "generatedBy", w["project"], ""},
			{"partOf a project", own("household"), "partOf", w["project"], ""},
			{"project", own("household"), "project", w["project"], ""},
			{"by one's own", own("claim"), "producedBy", own("clean-cooking"), ""},
		} {
			before := v.get(t, "ws", tt.target).Revision
			_, err := v.s.Relate(ctx, tt.id, entity.RelationDraft{Role: tt.role, Target: tt.target})
			want(t, tt.name, err, tt.code)
			if tt.code == "" {
				continue
			}
			if f := fault.As(err); len(f.Fields) != 1 || f.Fields[0].Pointer != "/target" {
				t.Errorf("%s: fields = %+v, want the target", tt.name, f.Fields)
			}
			if n := v.get(t, "ws", tt.target).Revision; n != before {
				t.Errorf("%s: the source is at revision %d, want %d", tt.name, n, before)
			}
		}
		_, err := v.s.Create(ctx, with(draftOf("project"), "peer", w["device"], "implementedBy", w["organisation"]))
		want(t, "in a draft", err, "NOT_CONTROLLER")
		if f := fault.As(err); len(f.Fields) != 1 || f.Fields[0].Pointer != "/relationships/1/target" {
			t.Errorf("in a draft: fields = %+v, want the second target", f.Fields)
		}
		claim := v.createAs(t, "ws", "second", with(draftOf("claim"), "verifiedBy", w["oracle"])) // has entities:verify
		if len(claim.Relationships) != 1 {
			t.Errorf("relationships = %+v, want the oracle", claim.Relationships)
		}
		shared := draftOf("organisation")
		shared.Controllers = []string{"did:key:owner", "did:ixo:group/of-member"}
		p := v.createAs(t, "ws", "member", with(draftOf("project"), "implementedBy", v.create(t, "ws", shared).DID))
		if p.Status != entity.StatusActive {
			t.Errorf("the project of a member is %s, want active", p.Status)
		}
	})
}
