package entity_test

import (
	"context"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
	"github.com/hearth-dmrv/hearth/internal/entity"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// court is a stove whose protocol says how its claims are verified, and four
// oracles, of a to d, the last of which it does not name. Each is its own
// controller's; both controls the first two.
type court struct {
	*env
	stove string
}

func newCourt(t *testing.T, d *db.DB) *court {
	t.Helper()
	v := newEnv(t, d)
	kind := v.publish(t, "ws", `{"type":"Protocol","name":"stove","domainType":"device","properties":{"name":"string"},"relationships":{},"claimTypes":{
		"fuel-saved":{"verification":{"mode":"manual","quorum":2,"oracles":["did:ixo:oracle/a","did:ixo:oracle/b","did:ixo:oracle/c"],"reasonCodes":["weighed","counted"]}},
		"free":{}}}`)
	for _, name := range []string{"a", "b", "c", "d"} {
		o := draftOf("oracle")
		o.DID, o.Controllers = "did:ixo:oracle/"+name, []string{"did:key:" + name}
		if name == "a" || name == "b" {
			o.Controllers = append(o.Controllers, "did:key:both")
		}
		v.create(t, "ws", o)
	}
	return &court{v, v.create(t, "ws", entity.Draft{Type: "Stove", Protocol: kind}).DID}
}

// claim makes a claim of the stove that oracles are to verify.
func (c *court) claim(t *testing.T, kind string, oracles ...string) string {
	t.Helper()
	d := with(draftOf("claim"), "producedBy", c.stove)
	d.Properties = object(`{"kind":"` + kind + `"}`)
	for _, o := range oracles {
		d = with(d, "verifiedBy", "did:ixo:oracle/"+o)
	}
	return c.create(t, "ws", d).DID
}

// say gives a verdict: "a verified weighed", with an oracle at the end if named.
func (c *court) say(t *testing.T, claim, text string) error {
	t.Helper()
	w := append(strings.Fields(text), "", "")
	v := entity.Verdict{Status: w[1], Reason: w[2]}
	if w[3] != "" {
		v.Oracle = "did:ixo:oracle/" + w[3]
	}
	return second(c.s.Verify(as(t, "ws", w[0]), claim, c.tag(t, "ws", claim), v))
}

// stands wants a verification: its status, how many more must agree, and the
// oracles that do.
func (c *court) stands(t *testing.T, claim, status string, missing int, oracles string) {
	t.Helper()
	v := c.get(t, "ws", claim).Verification
	var by []string
	for _, a := range v.Approvals {
		by = append(by, strings.TrimPrefix(a.Oracle, "did:ixo:oracle/"))
	}
	if v.Status != status || v.Missing != missing || strings.Join(by, " ") != oracles {
		t.Errorf("verification = %s, %d missing, by %v; want %s, %d, by %s", v.Status, v.Missing, by, status, missing, oracles)
	}
}

// A protocol says which oracles verify a claim, how many of them, and why they
// may.
func TestProtocolSaysHowClaimsAreVerified(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		c := newCourt(t, d)
		id := c.claim(t, "fuel-saved", "d")
		want(t, "by an oracle it does not name", c.say(t, id, "d verified weighed"), "MISSING_RELATIONSHIPS")
		for _, o := range []string{"a", "b"} {
			must(t, second(c.relate(t, "ws", id, "verifiedBy", "did:ixo:oracle/"+o)))
		}
		for text, code := range map[string]string{
			"d verified weighed": "VERIFIER_NOT_ORACLE", "second verified weighed": "VERIFIER_NOT_ORACLE", "second rejected weighed": "VERIFIER_NOT_ORACLE",
			"c verified weighed": "VERIFIER_NOT_ORACLE", "a verified weighed b": "VERIFIER_NOT_ORACLE", "a verified": "ENTITY_INVALID", "a rejected because": "ENTITY_INVALID",
		} {
			want(t, text, c.say(t, id, text), code)
		}
		if f := fault.As(c.say(t, id, "a verified")); len(f.Fields) != 1 || f.Fields[0].Pointer != "/reason" || !strings.Contains(f.Fields[0].Detail, "weighed, counted") {
			t.Errorf("fields = %+v, want the reasons there are", f.Fields)
		}
		must(t, c.say(t, id, "a verified weighed"))
		c.stands(t, id, "pending", 1, "a")
		must(t, c.say(t, id, "a verified counted"))
		c.stands(t, id, "pending", 1, "a")
		_, err := c.s.Create(as(t, "ws", "owner"), with(draftOf("credential"), "becameFrom", id))
		want(t, "a credential of half a verdict", err, "CLAIM_NOT_VERIFIED")
		must(t, c.amount(t, id, 12))
		c.stands(t, id, "pending", 0, "")
		must(t, c.say(t, id, "a verified weighed"))
		must(t, c.say(t, id, "b verified weighed"))
		c.stands(t, id, "verified", 0, "a b")

		c.keeps(t, id)
		must(t, c.say(t, id, "b rejected counted"))
		c.stands(t, id, "rejected", 0, "")
		must(t, c.say(t, id, "a verified weighed"))
		c.stands(t, id, "pending", 1, "a")
		c.checkHistory(t, "ws", id, c.get(t, "ws", id).Revision)
	})
}

// keeps tries to take oracles from a verified claim.
func (c *court) keeps(t *testing.T, id string) {
	t.Helper()
	of := func(oracle string) string {
		all := c.get(t, "ws", id).Relationships
		return all[slices.IndexFunc(all, func(r entity.Relationship) bool { return r.Target == "did:ixo:oracle/"+oracle })].ID
	}
	want(t, "without an oracle it rests on", c.unrelate(t, "ws", id, of("a")), "MISSING_RELATIONSHIPS")
	want(t, "without another one", c.unrelate(t, "ws", id, of("d")), "")
}

// As many people as oracles agree.
func TestQuorumIsOfPeople(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		c := newCourt(t, d)
		id := c.claim(t, "fuel-saved", "a", "b", "c")
		must(t, c.say(t, id, "both verified weighed a"))
		must(t, c.say(t, id, "both verified weighed b"))
		c.stands(t, id, "pending", 1, "b")
		must(t, c.say(t, id, "b verified weighed"))
		c.stands(t, id, "pending", 1, "b")
		must(t, c.say(t, id, "both verified weighed")) // for the one that is left
		c.stands(t, id, "verified", 0, "b a")
		c.create(t, "ws", with(draftOf("credential"), "becameFrom", id))
		want(t, "one voice less under a credential", c.say(t, id, "both verified weighed b"), "ACTIVE_DEPENDANTS")
		c.stands(t, id, "verified", 0, "b a")
	})
}

// Where a protocol names types of claims, others cannot be verified.
func TestTypesOfClaims(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		c := newCourt(t, d)
		err := c.say(t, c.claim(t, "other", "a"), "a verified weighed")
		want(t, "of no type", err, "CLAIM_TYPE_UNKNOWN")
		if f := fault.As(err); len(f.Fields) != 1 || f.Fields[0].Pointer != "/properties/kind" || !strings.Contains(f.Fields[0].Detail, "free, fuel-saved") {
			t.Errorf("fields = %+v, want the types there are", f.Fields)
		}
		want(t, "it can be rejected", c.say(t, c.claim(t, "other"), "second rejected"), "")
		typed := with(draftOf("claim"), "producedBy", c.stove, "verifiedBy", "did:ixo:oracle/d")
		typed.Type = "free"
		want(t, "by its own type", c.say(t, c.create(t, "ws", typed).DID, "second verified"), "")
		free := c.claim(t, "free", "d")
		want(t, "of a type without rules", c.say(t, free, "second verified"), "")
		c.stands(t, free, "verified", 0, "")
		want(t, "in the name of an oracle", c.say(t, free, "d verified x d"), "")
		c.stands(t, free, "verified", 0, "d")
		want(t, "in the name of somebody else's", c.say(t, free, "second verified x d"), "VERIFIER_NOT_ORACLE")

		lax := c.create(t, "ws", with(draftOf("claim"), "producedBy", c.create(t, "ws", draftOf("clean-cooking")).DID))
		c.verify(t, "ws", lax.DID)
		_, err = c.relate(t, "ws", lax.DID, "producedBy", c.stove)
		want(t, "verified before the rules were known", err, "CLAIM_ALREADY_VERIFIED")
		must(t, c.judge(t, "ws", lax.DID, "revoked"))
		_, err = c.relate(t, "ws", c.stove, "produces", lax.DID)
		want(t, "before its verdict", err, "")
	})
}

// What produces a claim stays as it was while somebody vouches for it.
func TestVouchedClaimKeepsItsProducers(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		v := newEnv(t, d)
		stove, other := v.create(t, "ws", draftOf("clean-cooking")).DID, v.create(t, "ws", draftOf("clean-cooking")).DID
		claim := v.create(t, "ws", with(draftOf("claim"), "producedBy", stove)).DID
		free, err := v.relate(t, "ws", claim, "producedBy", other)
		must(t, err)
		must(t, v.s.Unrelate(as(t, "ws", "owner"), claim, free.ID, ""))
		v.verify(t, "ws", claim)
		_, err = v.relate(t, "ws", claim, "producedBy", other)
		want(t, "another producer", err, "CLAIM_ALREADY_VERIFIED")
		_, err = v.relate(t, "ws", other, "produces", claim)
		want(t, "another producer, from its side", err, "CLAIM_ALREADY_VERIFIED")
		for _, r := range v.get(t, "ws", claim).Relationships {
			if r.Target == stove {
				want(t, "without its producer", v.s.Unrelate(as(t, "ws", "owner"), claim, r.ID, ""), "CLAIM_ALREADY_VERIFIED")
			}
		}
	})
}

// Who has a part in a claim neither judges it nor takes back what others said.
func TestClaimantsHaveNoSay(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		v := newEnv(t, d)
		asset := draftOf("clean-cooking")
		asset.Controllers = []string{"did:key:keeper"}
		stove := v.create(t, "ws", asset)
		if stove.Owner != "did:key:owner" {
			t.Fatalf("owner = %s", stove.Owner)
		}
		d2 := with(draftOf("claim"), "producedBy", stove.DID)
		claim, err := v.s.Create(as(t, "ws", "keeper"), d2)
		must(t, err)
		id := decode(t, claim.Raw).DID
		want(t, "by the owner of what produces it", v.judgeAs(t, "owner", id, "rejected"), "VERIFIER_IS_CLAIMANT")
		for _, said := range []string{"rejected", "revoked", "expired"} {
			must(t, v.judgeAs(t, "second", id, said))
			for _, status := range []string{"unverified", "pending", "revoked", "expired"} {
				if status != said {
					want(t, said+" back to "+status, v.judgeAs(t, "keeper", id, status), "VERIFIER_IS_CLAIMANT")
				}
			}
			must(t, v.judgeAs(t, "second", id, "unverified"))
			must(t, v.judgeAs(t, "keeper", id, "pending"))
		}
		must(t, v.judgeAs(t, "keeper", id, "revoked"))
		want(t, "what she has withdrawn herself", v.judgeAs(t, "keeper", id, "pending"), "")
	})
}

// No claimant makes a verdict last by giving judges a part in the claim, and
// whoever has said it may take it back.
func TestVerdictsAreTakenBack(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		v := newEnv(t, d)
		id := v.create(t, "ws", with(draftOf("claim"), "producedBy", v.create(t, "ws", draftOf("clean-cooking")).DID, "verifiedBy", v.create(t, "ws", draftOf("oracle")).DID)).DID
		for _, who := range []string{"second", "third"} {
			must(t, v.judgeAs(t, "second", id, "verified"))
			must(t, second(v.s.Patch(as(t, "ws", "owner"), id, "*", entity.Change{Merge: []byte(`{"controllers":["did:key:owner","did:key:second","did:key:third"]}`)})))
			want(t, who+" vouches", v.judgeAs(t, "third", id, "verified"), "VERIFIER_IS_CLAIMANT")
			want(t, who+" takes it back", v.judgeAs(t, who, id, "revoked"), "")
			must(t, second(v.s.Patch(as(t, "ws", "owner"), id, "*", entity.Change{Merge: []byte(`{"controllers":["did:key:owner"]}`)})))
		}
		must(t, v.judgeAs(t, "second", id, "verified"))
		want(t, "its maker takes it back", v.judgeAs(t, "owner", id, "revoked"), "VERIFIER_IS_CLAIMANT")
	})
}

// Who has changed a claim by a relationship has changed it, whoever did since.
func TestRelatingChangesAClaim(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		v := newEnv(t, d)
		id := v.create(t, "ws", with(draftOf("claim"), "producedBy", v.create(t, "ws", draftOf("clean-cooking")).DID, "verifiedBy", v.create(t, "ws", draftOf("oracle")).DID)).DID
		control := func(list string) {
			t.Helper()
			must(t, second(v.s.Patch(as(t, "ws", "owner"), id, "*", entity.Change{Merge: []byte(`{"controllers":[` + list + `]}`)})))
		}
		control(`"did:key:owner","did:key:x"`)
		must(t, second(v.s.Relate(as(t, "ws", "x"), id, entity.RelationDraft{Role: "evidenceOf", Target: v.create(t, "ws", draftOf("clean-cooking")).DID})))
		control(`"did:key:owner"`)
		must(t, second(v.s.Patch(as(t, "ws", "owner"), id, "*", entity.Change{Merge: []byte(`{"metadata":{"a":"b"}}`)})))
		want(t, "who has related it", v.judgeAs(t, "x", id, "verified"), "VERIFIER_IS_CLAIMANT")
		want(t, "somebody else", v.judgeAs(t, "second", id, "verified"), "")
	})
}

// A claim is verified with all that produce it, or not at all; a word against it
// is heard all the same.
func TestClaimOfTooManyProducers(t *testing.T) {
	t.Parallel()
	v := newEnv(t, dbtest.SQLite(t))
	id := v.create(t, "ws", draftOf("claim")).DID
	for range 101 {
		must(t, second(v.relate(t, "ws", id, "producedBy", v.create(t, "ws", draftOf("clean-cooking")).DID)))
	}
	want(t, "101 producers", v.judge(t, "ws", id, "verified"), "TOO_MANY_PRODUCERS")
	want(t, "101 producers", v.judge(t, "ws", id, "rejected"), "")
}

// Who has had a part in a claim has one still: who has changed it, whoever has
// since, and who controlled it, or what produces it, when it was made.
func TestClaimantsAreRemembered(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		var clock atomic.Int64 // nothing happens in the same moment
		clock.Store(time.Now().UnixMilli())
		v := newEnv(t, d, func(c *entity.Config) { c.Now = func() time.Time { return time.UnixMilli(clock.Add(1)) } })
		control := func(id string, names ...string) {
			t.Helper()
			list := `["did:key:owner"`
			for _, n := range names {
				list += `,"did:key:` + n + `"`
			}
			must(t, second(v.s.Patch(as(t, "ws", "owner"), id, "*", entity.Change{Merge: []byte(`{"controllers":` + list + `]}`)})))
		}
		say := func(who, id, text string) {
			t.Helper()
			must(t, second(v.s.Patch(as(t, "ws", who), id, "*", entity.Change{Merge: []byte(`{"properties":{"name":"` + text + `"}}`)})))
		}
		stove := v.create(t, "ws", draftOf("clean-cooking")).DID
		control(stove, "gone-before")
		control(stove, "keeper")
		late := v.create(t, "ws", draftOf("clean-cooking")).DID
		draft := with(draftOf("claim"), "producedBy", stove, "verifiedBy", v.create(t, "ws", draftOf("oracle")).DID)
		draft.Controllers = []string{"did:key:owner", "did:key:silent"}
		id := v.create(t, "ws", draft).DID
		control(stove, "came-after")
		control(stove)
		control(id, "first", "last")
		say("first", id, "a")
		say("last", id, "b")
		say("owner", id, "c")
		control(id)
		control(late, "later")
		must(t, second(v.relate(t, "ws", late, "produces", id)))
		control(late)
		for who, detail := range map[string]string{
			"first": "changed the claim", "last": "changed the claim", "silent": "controlled the claim", "keeper": "controlled what produces it", "later": "controlled what produces it",
		} {
			for _, status := range []string{"verified", "rejected"} {
				err := v.judgeAs(t, who, id, status)
				want(t, who+" says "+status, err, "VERIFIER_IS_CLAIMANT")
				if f := fault.As(err); f != nil && (len(f.Fields) != 1 || !strings.Contains(f.Fields[0].Detail, detail)) {
					t.Errorf("%s: %+v, want that it says %q", who, f.Fields, detail)
				}
			}
		}
		for _, who := range []string{"gone-before", "came-after", "second", "gone-before"} { // a verdict is no part in a claim
			want(t, who, v.judgeAs(t, who, id, "rejected"), "")
		}
		want(t, "its owner hands it over", second(v.s.Transfer(as(t, "ws", "second"), id, "", entity.Transfer{Controller: "did:key:heir"})), "")
		want(t, "who handed it over", v.judgeAs(t, "second", id, "verified"), "")
	})
}

// What its owner or a stranger does to a claim, however often, keeps nobody
// from judging it.
func TestManyRevisionsOfAClaim(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		v := newEnv(t, d)
		id := v.claimed(t)
		_, err := d.Exec(t.Context(), `UPDATE entities SET revision = 5003, body = replace(body, '"revision":', '"revision":500') WHERE ws = 'ws' AND did = $1`, id)
		must(t, err)
		for _, status := range []string{"revoked", "verified", "rejected"} {
			want(t, status, v.judgeAs(t, "second", id, status), "")
		}
	})
}

// Who controlled or owned what was said to produce a claim stays a part of it
// when the edge is gone, and an owner is one through a group, too.
func TestEarlierProducers(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		var clock atomic.Int64
		clock.Store(time.Now().UnixMilli())
		v := newEnv(t, d, func(c *entity.Config) {
			c.Now = func() time.Time { return time.UnixMilli(clock.Add(1)) }
			c.ControlsAs = func(_ context.Context, _ db.Querier, c web.Caller) ([]string, error) {
				member := c.DID
				if member == "did:key:member" {
					return []string{"did:ixo:group/g"}, nil
				}
				return nil, nil
			}
		})
		control := func(id, list string) {
			t.Helper()
			must(t, second(v.s.Patch(as(t, "ws", "owner"), id, "*", entity.Change{Merge: []byte(`{"controllers":` + list + `}`)})))
		}
		stove, other := v.create(t, "ws", draftOf("clean-cooking")).DID, v.create(t, "ws", draftOf("clean-cooking")).DID
		control(stove, `["did:key:owner","did:key:keeper"]`)
		id := v.create(t, "ws", with(draftOf("claim"), "producedBy", stove, "verifiedBy", v.create(t, "ws", draftOf("oracle")).DID)).DID
		must(t, second(v.s.Transfer(as(t, "ws", "owner"), id, "", entity.Transfer{Controller: "did:key:owner", Owner: "did:ixo:group/g"})))
		control(stove, `["did:key:owner"]`)
		must(t, second(v.relate(t, "ws", other, "produces", id)))
		for _, r := range v.get(t, "ws", id).Relationships {
			if r.Role == "producedBy" && r.Target == stove {
				must(t, v.unrelate(t, "ws", stove, r.ID))
			}
		}
		for _, who := range []string{"keeper", "member"} {
			want(t, who, v.judgeAs(t, who, id, "verified"), "VERIFIER_IS_CLAIMANT")
		}
		want(t, "second", v.judgeAs(t, "second", id, "verified"), "")
	})
}
