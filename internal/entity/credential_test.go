package entity_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
	"github.com/hearth-dmrv/hearth/internal/entity"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/web"
)

const taken = "CLAIM_ALREADY_CREDENTIAL"

// claimed is a verified claim of a new stove.
func (v *env) claimed(t testing.TB) string {
	t.Helper()
	id := v.create(t, "ws", with(draftOf("claim"), "producedBy", v.create(t, "ws", draftOf("clean-cooking")).DID)).DID
	v.verify(t, "ws", id)
	return id
}

// becomeAgain stores an edge that the rule refuses, as older stores have them.
func (v *env) becomeAgain(t *testing.T, claim, credential string) {
	t.Helper()
	_, err := v.d.Exec(t.Context(), `INSERT INTO relationships (nid, ws, src, src_did, dst, dst_did, role, mirror, since, until, source, added_at, added_by, removed_at, removed_by, reason)
		SELECT $1, c.ws, c.nid, c.did, k.nid, k.did, 'becomes', k.nid, NULL, NULL, 'declared', 1, '', NULL, '', ''
		FROM entities c JOIN entities k ON k.ws = c.ws AND k.did = $3 WHERE c.ws = 'ws' AND c.did = $2`, v.d.NewNID(), claim, credential)
	must(t, err)
}

// What a claim says counts once: in one credential, until that is deactivated.
func TestClaimBecomesOneCredential(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		v := newEnv(t, d)
		claim := v.claimed(t)
		draft := with(draftOf("credential"), "becameFrom", claim)
		spare := v.create(t, "ws", draftOf("credential")).DID
		first := v.create(t, "ws", draft).DID
		refused := func(name string) {
			t.Helper()
			err := second(v.s.Create(as(t, "ws", "owner"), draft))
			want(t, name, err, taken)
			if f := fault.As(err); f != nil && (f.Kind != fault.Conflict || len(f.Fields) != 1 || f.Fields[0].Pointer != "/relationships/0/target" || !strings.Contains(f.Fields[0].Detail, first)) {
				t.Errorf("%s: %+v, want the first credential named at the target", name, f)
			}
			_, err = v.relate(t, "ws", claim, "becomes", spare)
			want(t, name+", by the other word", err, taken)
			_, err = v.relate(t, "ws", spare, "becameFrom", claim)
			want(t, name+", an old one", err, taken)
		}
		refused("active")
		_, err := v.relate(t, "ws", first, "becameFrom", claim)
		want(t, "the same once more", err, "RELATIONSHIP_EXISTS")
		must(t, v.transit(t, "ws", first, entity.StatusSuspended))
		refused("suspended")
		must(t, v.transit(t, "ws", first, entity.StatusActive))
		must(t, v.judge(t, "ws", first, "revoked"))
		refused("revoked")
		must(t, v.transit(t, "ws", first, entity.StatusCompleted))
		refused("completed")
		must(t, v.transit(t, "ws", first, gone))
		_, err = v.relate(t, "ws", claim, "becomes", spare)
		want(t, "after the first is deactivated", err, "")
		first, spare = spare, v.create(t, "ws", draftOf("credential")).DID
		refused("a draft")
		must(t, v.transit(t, "ws", first, entity.StatusActive))
		v.consistent(t, "ws", claim, first, spare)
		if n := v.count(t, `SELECT count(*) FROM entities WHERE ws = $1 AND domain_type = 'credential'`); n != 3 {
			t.Errorf("%d credentials, want 3: what is refused is not stored", n)
		}
	})
}

// A key for other projects learns that there is a credential, not which.
func TestCredentialIsNotNamedToOthers(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		v := newEnv(t, d)
		w := v.twins(t, "ws")
		claim := v.create(t, "ws", with(draftOf("claim"), "producedBy", w["asset"], "project", w["project"])).DID
		v.verify(t, "ws", claim)
		first := v.create(t, "ws", with(draftOf("credential"), "becameFrom", claim)).DID
		_, err := d.Exec(t.Context(), `UPDATE entities SET project = 'did:x:elsewhere' WHERE ws = 'ws' AND did = $1`, first)
		must(t, err)
		caller := callerOf("ws", "owner")
		caller.Projects = []string{w["project"]}
		err = second(v.s.Create(web.WithCaller(t.Context(), caller), with(draftOf("credential"), "becameFrom", claim, "project", w["project"])))
		want(t, "by a key for one project", err, taken)
		if f := fault.As(err); f != nil && (len(f.Fields) != 1 || strings.Contains(f.Fields[0].Detail, first)) {
			t.Errorf("fields = %+v, want no name", f.Fields)
		}
	})
}

// Of two credentials that an older store has of one claim, neither becomes
// active before the other is deactivated.
func TestCredentialDoesNotComeBackBesideAnother(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		v := newEnv(t, d)
		claim := v.claimed(t)
		first := v.create(t, "ws", with(draftOf("credential"), "becameFrom", claim)).DID
		other := v.create(t, "ws", with(draftOf("credential"), "becameFrom", v.claimed(t))).DID
		must(t, v.transit(t, "ws", first, entity.StatusSuspended))
		v.becomeAgain(t, claim, other)
		err := v.transit(t, "ws", first, entity.StatusActive)
		want(t, "beside another", err, taken)
		if f := fault.As(err); f != nil && (len(f.Fields) != 1 || !strings.Contains(f.Fields[0].Detail, other)) {
			t.Errorf("fields = %+v, want the other named", f.Fields)
		}
		must(t, v.transit(t, "ws", other, gone))
		want(t, "alone", v.transit(t, "ws", first, entity.StatusActive), "")
	})
}

// One claim and a crowd that makes credentials of it, by either word: one wins,
// also where the record of the claim has no room for more edges.
func TestOneCredentialInACrowd(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		v := newEnv(t, d)
		for round := range 6 {
			claim := v.claimed(t)
			if round%2 == 1 {
				_, err := d.Exec(t.Context(), `UPDATE entities SET crowded = 1 WHERE ws = 'ws' AND did = $1`, claim)
				must(t, err)
			}
			var spare []string
			for range 4 {
				spare = append(spare, v.create(t, "ws", draftOf("credential")).DID)
			}
			got := crowd(t, 8, func(i int) error {
				switch {
				case i >= 4:
					return second(v.s.Create(as(t, "ws", "owner"), with(draftOf("credential"), "becameFrom", claim)))
				case i%2 == 0:
					_, err := v.relate(t, "ws", claim, "becomes", spare[i])
					return err
				}
				_, err := v.relate(t, "ws", spare[i], "becameFrom", claim)
				return err
			})
			if got[""] != 1 || got[taken] != 7 {
				t.Errorf("round %d: outcomes = %v, want one credential", round, got)
			}
			n := v.count(t, fmt.Sprintf(`SELECT count(*) FROM relationships WHERE ws = $1 AND src_did = '%s' AND role = 'becomes' AND removed_at IS NULL`, claim))
			if n != 1 {
				t.Errorf("round %d: the claim became %d credentials, want 1", round, n)
			}
		}
	})
}

// A credential may rest on several claims, each of which must be free.
func TestCredentialOfTwoClaims(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		v := newEnv(t, d)
		one, two := v.claimed(t), v.claimed(t)
		v.create(t, "ws", with(draftOf("credential"), "becameFrom", two))
		err := second(v.s.Create(as(t, "ws", "owner"), with(draftOf("credential"), "becameFrom", one, "becameFrom", two)))
		want(t, "of a claim that is free and one that is not", err, taken)
		if f := fault.As(err); f != nil && !slices.ContainsFunc(f.Fields, func(f fault.Field) bool { return f.Pointer == "/relationships/1/target" }) {
			t.Errorf("fields = %+v, want the second target", f.Fields)
		}
		v.create(t, "ws", with(draftOf("credential"), "becameFrom", one))
	})
}

// edgeOf is the id of the edge by which a claim became a credential.
func (v *env) edgeOf(t *testing.T, claim, credential string) string {
	t.Helper()
	all := v.get(t, "ws", claim).Relationships
	i := slices.IndexFunc(all, func(r entity.Relationship) bool { return r.Role == "becomes" && r.Target == credential })
	if i < 0 {
		t.Fatalf("%s shows no edge to %s", claim, credential)
	}
	return all[i].ID
}

// What a claim has become keeps it, whatever its status is, until it is
// deactivated. A draft has become nothing yet.
func TestOnlyDeactivatedCredentialsFreeTheirClaims(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		v := newEnv(t, d)
		one, two := v.claimed(t), v.claimed(t)
		early := v.create(t, "ws", draftOf("credential")).DID
		wrong, err := v.relate(t, "ws", one, "becomes", early)
		must(t, err)
		want(t, "a draft of the wrong claim", v.unrelate(t, "ws", early, wrong.ID), "")

		id := v.create(t, "ws", with(draftOf("credential"), "becameFrom", one, "becameFrom", two)).DID
		refused := func(name string) {
			t.Helper()
			for _, from := range []string{one, id} {
				err := v.unrelate(t, "ws", from, v.edgeOf(t, one, id))
				want(t, name+", from "+from, err, taken)
				if f := fault.As(err); f != nil && (f.Kind != fault.Conflict || len(f.Fields) != 1 || !strings.Contains(f.Fields[0].Detail, name)) {
					t.Errorf("%s: %+v, want its status named", name, f)
				}
			}
			_, err := v.relate(t, "ws", one, "becomes", early)
			want(t, name+": another", err, taken)
		}
		refused("active") // though the other claim is left
		must(t, v.transit(t, "ws", id, entity.StatusSuspended))
		refused("suspended")
		must(t, v.transit(t, "ws", id, entity.StatusActive))
		must(t, v.transit(t, "ws", id, entity.StatusCompleted))
		refused("completed")
		_, err = d.Exec(t.Context(), `UPDATE relationships SET until = 1 WHERE ws = 'ws' AND src_did = $1 AND role = 'becomes'`, one)
		must(t, err)
		refused("completed") // what has run out has counted
		must(t, v.transit(t, "ws", id, gone))
		want(t, "deactivated", v.unrelate(t, "ws", one, v.edgeOf(t, one, id)), "")
		must(t, second(v.relate(t, "ws", one, "becomes", early)))
		v.consistent(t, "ws", one, two, id, early)
	})
}
