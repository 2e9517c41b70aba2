package entity_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
	"github.com/hearth-dmrv/hearth/internal/entity"
	"github.com/hearth-dmrv/hearth/internal/entity/relationship"
	"github.com/hearth-dmrv/hearth/internal/fault"
)

// Every word of the domain model between every pair of domain types, from both
// ends, against real twins: what the matrix allows is stored and shown at both
// ends, anything else is refused and leaves nothing behind.
func TestMatrix(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		v := newEnv(t, d)
		twins := v.twins(t, "ws")
		for _, rule := range relationship.Rules() {
			if rule.Role == relationship.Produces { // what produces a verified claim does not change
				must(t, v.judge(t, "ws", twins["claim"], "revoked"))
			} else if rule.Role == relationship.Becomes {
				must(t, v.judge(t, "ws", twins["claim"], "verified"))
			}
			for from, src := range twins {
				for to, dst := range twins {
					if from == to || to == "group" || from == "project" && to == "asset" || from == "organisation" && to == "project" {
						continue // they are joined already, or it would be a circle
					}
					v.joinBothWays(t, rule, [2]string{src, dst}, rule.Joins(from, to))
				}
			}
		}
		for _, id := range twins {
			v.consistent(t, "ws", id)
		}
	})
}

// joinBothWays adds an edge by either word and removes it again.
func (v *env) joinBothWays(t testing.TB, rule relationship.Rule, ends [2]string, allowed bool) {
	t.Helper()
	for _, try := range []struct{ id, word, target, back string }{
		{ends[0], rule.Role, ends[1], rule.Inverse}, {ends[1], rule.Inverse, ends[0], rule.Role},
	} {
		what := fmt.Sprintf("%s %s %s", try.id, try.word, try.target)
		before := v.newest(t, "ws")
		r, err := v.relate(t, "ws", try.id, try.word, try.target)
		if !allowed {
			want(t, what, err, "RELATIONSHIP_CLASS_MISMATCH")
			if n := v.newest(t, "ws"); n != before {
				t.Errorf("%s: refused, and yet there are %d events", what, n-before)
			}
			continue
		}
		if err != nil {
			t.Fatalf("%s = %v", what, err)
		}
		if r.Role != try.word || r.Target != try.target {
			t.Errorf("%s is shown as %+v", what, r)
		}
		far := v.get(t, "ws", try.target).Relationships
		if last := far[len(far)-1]; last.ID != r.ID || last.Role != try.back || last.Target != try.id {
			t.Errorf("%s is shown at the other end as %+v", what, last)
		}
		sources := map[bool]string{true: "declared", false: "derived"}
		if got, want := r.Source, sources[try.word == rule.Role]; got != want {
			t.Errorf("%s: source = %s, want %s", what, got, want)
		}
		want(t, what+" again", second(v.relate(t, "ws", try.target, try.back, try.id)), "RELATIONSHIP_EXISTS")
		if err := v.unrelate(t, "ws", try.target, r.ID); err != nil {
			t.Errorf("remove %s from the other end: %v", what, err)
		}
		want(t, "remove it again", v.unrelate(t, "ws", try.id, r.ID), "RELATIONSHIP_NOT_FOUND")
	}
}

func second[T any](_ T, err error) error { return err }

func TestRelateRules(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		v := newEnv(t, d)
		w := v.twins(t, "ws")
		foreign := v.create(t, "other", draftOf("organisation")).DID
		template := v.create(t, "ws", draftOf("template")).DID
		stove := v.publish(t, "ws", `{"type":"Protocol","name":"stove","extends":"did:ixo:protocol/clean-cooking","properties":{},
			"relationships":{"twin":{"class":"did:ixo:protocol/clean-cooking","min":0},"any":{"class":"Entity","min":0}}}`)
		first := v.create(t, "ws", entity.Draft{Type: "Stove", Protocol: stove}).DID
		gone := v.create(t, "ws", draftOf("person")).DID
		if err := v.transit(t, "ws", gone, entity.StatusDeactivated); err != nil {
			t.Fatal(err)
		}
		for _, tt := range []struct {
			name, id, role, target, code string
		}{
			{"no role", template, "", w["oracle"], "ENTITY_INVALID"},
			{"no target", template, "verifier", "", "ENTITY_INVALID"},
			{"target is no DID", template, "verifier", "oracle", "ENTITY_INVALID"},
			{"role is no word", template, "The Verifier", w["oracle"], "ENTITY_INVALID"},
			{"role with a line break", template, "a\nb", w["oracle"], "ENTITY_INVALID"},
			{"itself", template, "peer", template, "ENTITY_INVALID"},
			{"group in itself", w["group"], "contains", w["group"], "ENTITY_INVALID"},
			{"role of the protocol", template, "verifier", w["oracle"], ""},
			{"role of the protocol, wrong class", template, "operator", w["oracle"], "RELATIONSHIP_CLASS_MISMATCH"},
			{"role of the protocol, not held here", template, "operator", "did:ixo:org/elsewhere", ""},
			{"role of the protocol, other workspace's twin looks like none", template, "operator", foreign, ""},
			{"free role", template, "neighbour", w["household"], ""},
			{"free role, not held here", template, "neighbour", "did:ixo:household/9", ""},
			{"twice", template, "neighbour", "did:ixo:household/9", "RELATIONSHIP_EXISTS"},
			{"class is a protocol, made from it", first, "twin", w["device"], ""},
			{"class is a protocol, made from another", first, "twin", template, "RELATIONSHIP_CLASS_MISMATCH"},
			{"any class", first, "any", w["claim"], ""},
			{"project that is none", w["person"], "project", w["household"], "RELATIONSHIP_CLASS_MISMATCH"},
			{"unknown twin", "did:ixo:entity:unknown", "peer", template, "ENTITY_NOT_FOUND"},
			{"twin of another workspace", foreign, "peer", template, "ENTITY_NOT_FOUND"},
			{"deactivated target", template, "peer", gone, "ENTITY_DEACTIVATED"},
			{"deactivated twin", gone, "peer", template, "ENTITY_DEACTIVATED"},
			{"model, source not held here", w["claim"], "verifiedBy", "did:ixo:oracle/x", "RELATIONSHIP_TARGET_NOT_FOUND"},
			{"model, target not held here", w["organisation"], "implements", "did:ixo:project/x", "RELATIONSHIP_TARGET_NOT_FOUND"},
			{"model, other workspace's twin", w["project"], "implementedBy", foreign, ""},
			{"model, parent not held here", w["project"], "implementedBy", "did:ixo:org/x", ""},
			{"second parent of a group", w["group"], "partOf", v.create(t, "ws", draftOf("organisation")).DID, "RELATIONSHIP_EXISTS"},
		} {
			_, err := v.relate(t, "ws", tt.id, tt.role, tt.target)
			want(t, tt.name, err, tt.code)
		}
		for _, r := range v.get(t, "ws", template).Relationships {
			if held := strings.HasPrefix(r.Target, "did:ixo:entity:") && r.Target != foreign; r.External == held {
				t.Errorf("%s %s: external = %v", r.Role, r.Target, r.External)
			}
			if fromProtocol := r.Role == "verifier" || r.Role == "operator"; (r.Source == "protocol") != fromProtocol {
				t.Errorf("%s: source = %s", r.Role, r.Source)
			}
		}
		v.consistent(t, "ws", template, first, w["project"], w["device"])
		if e := v.get(t, "other", foreign); e.Revision != 1 {
			t.Errorf("the foreign twin is at revision %d, want it untouched", e.Revision)
		}
	})
}

func TestStrictReferences(t *testing.T) {
	t.Parallel()
	v := newEnv(t, dbtest.SQLite(t), func(c *entity.Config) { c.StrictRefs = true })
	device := v.create(t, "ws", draftOf("clean-cooking"))
	want(t, "free role", second(v.relate(t, "ws", device.DID, "peer", "did:ixo:x:1")), "REFERENCE_NOT_FOUND")
	want(t, "role of the protocol", second(v.relate(t, "ws", device.DID, "household", "did:ixo:x:1")), "REFERENCE_NOT_FOUND")
	want(t, "model", second(v.relate(t, "ws", device.DID, "generatedBy", "did:ixo:x:1")), "REFERENCE_NOT_FOUND")
	_, err := v.s.Create(as(t, "ws", "owner"), with(draftOf("clean-cooking"), "project", "did:ixo:x:1"))
	want(t, "draft", err, "REFERENCE_NOT_FOUND")
	if f := fault.As(err); f == nil || f.Fields[0].Pointer != "/relationships/0/target" {
		t.Errorf("draft: fields = %+v, want the pointer of the target", f)
	}
}

func TestTimesOfAnEdge(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		v := newEnv(t, d)
		device := v.create(t, "ws", draftOf("clean-cooking"))
		ctx := as(t, "ws", "owner")
		since := time.Date(2025, 3, 1, 10, 0, 0, 123456789, time.UTC)
		r, err := v.s.Relate(ctx, device.DID, entity.RelationDraft{Role: "peer", Target: "did:ixo:x:1", Since: since, Until: since.Add(time.Hour)})
		if err != nil {
			t.Fatal(err)
		}
		if got := v.get(t, "ws", device.DID).Relationships[0]; !got.Since.Equal(since.Truncate(time.Millisecond)) || got.Until.Sub(got.Since) != time.Hour {
			t.Errorf("edge = %+v, want since %v and an hour", got, since)
		}
		if r.Location != "/v1/entities/"+device.DID+"/relationships/"+v.get(t, "ws", device.DID).Relationships[0].ID {
			t.Errorf("location = %s", r.Location)
		}
		_, err = v.s.Relate(ctx, device.DID, entity.RelationDraft{Role: "peer", Target: "did:ixo:x:2", Since: since, Until: since.Add(-time.Hour)})
		want(t, "ends before it begins", err, "ENTITY_INVALID")
	})
}

func TestCircles(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		v := newEnv(t, d)
		var chain []string
		for i := range 30 {
			chain = append(chain, v.create(t, "ws", draftOf("network")).DID)
			if i > 0 {
				if _, err := v.relate(t, "ws", chain[i-1], "contains", chain[i]); err != nil {
					t.Fatal(err)
				}
			}
		}
		want(t, "circle of all", second(v.relate(t, "ws", chain[29], "contains", chain[0])), "RELATIONSHIP_CYCLE")
		want(t, "by the other word", second(v.relate(t, "ws", chain[3], "partOf", chain[7])), "RELATIONSHIP_CYCLE")
		want(t, "short cut", second(v.relate(t, "ws", chain[0], "contains", chain[9])), "")
		// A new twin in the middle closes one too.
		_, err := v.s.Create(as(t, "ws", "owner"), with(draftOf("network"), "contains", chain[2], "partOf", chain[5]))
		want(t, "new twin", err, "RELATIONSHIP_CYCLE")
		// Groups in groups.
		draft := draftOf("organisation")
		draft.Groups = []entity.GroupDraft{{Name: "a"}}
		top := v.create(t, "ws", draft).Relationships[0].Target
		sub := v.create(t, "ws", with(draftOf("group"), "partOf", top)).DID
		want(t, "group in its own sub-group", second(v.relate(t, "ws", top, "partOf", sub)), "RELATIONSHIP_EXISTS")
		if got := v.get(t, "ws", sub); got.Status != entity.StatusActive {
			t.Errorf("a group in a group is %s, want active", got.Status)
		}
	})
}

// A hub shows its first hundred edges; what comes on top is stored, listed and
// told, and costs no revision.
func TestHub(t *testing.T) {
	t.Parallel()
	const edges = 110
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		v := newEnv(t, d)
		project := v.create(t, "ws", draftOf("project"))
		var ids []string
		for i := range edges {
			if i%2 == 0 {
				ids = append(ids, v.create(t, "ws", with(draftOf("clean-cooking"), "generatedBy", project.DID)).DID)
			} else {
				ids = append(ids, v.create(t, "ws", draftOf("clean-cooking")).DID)
				if _, err := v.relate(t, "ws", project.DID, "generates", ids[i]); err != nil {
					t.Fatal(err)
				}
			}
		}
		e := v.get(t, "ws", project.DID)
		if len(e.Relationships) != 100 || !e.MoreRelationships || e.Revision != 102 {
			t.Errorf("the hub shows %d edges, more %v, at revision %d", len(e.Relationships), e.MoreRelationships, e.Revision)
		}
		// It misses its organisation, so it still looks at every edge; with one
		// it does not.
		org := v.create(t, "ws", draftOf("organisation"))
		if _, err := v.relate(t, "ws", project.DID, "implementedBy", org.DID); err != nil {
			t.Fatal(err)
		}
		if e = v.get(t, "ws", project.DID); len(e.MissingRelationships) > 0 {
			t.Fatalf("missing = %v, want none", e.MissingRelationships)
		}
		if err := v.transit(t, "ws", project.DID, entity.StatusActive); err != nil {
			t.Fatal(err)
		}
		settled := v.get(t, "ws", project.DID).Revision
		extra := v.create(t, "ws", with(draftOf("clean-cooking"), "generatedBy", project.DID))
		if e = v.get(t, "ws", project.DID); e.Revision != settled || extra.Project != project.DID {
			t.Errorf("revision %d, want %d: a crowded hub does not change", e.Revision, settled)
		}
		v.consistent(t, "ws", project.DID)
		v.drainHub(t, project.DID, ids)
		want(t, "the organisation of an active project", v.unrelate(t, "ws", project.DID, v.get(t, "ws", org.DID).Relationships[1].ID), "MISSING_RELATIONSHIPS")
	})
}

// drainHub takes edges away until the list is short again, in a mixed order.
func (v *env) drainHub(t testing.TB, hub string, ids []string) {
	t.Helper()
	for i, id := range ids {
		if i%7 == 3 {
			continue
		}
		for _, r := range v.get(t, "ws", id).Relationships {
			end, rel := []string{id, hub}[i%2], r.ID
			if err := v.unrelate(t, "ws", end, rel); err != nil {
				t.Fatalf("remove edge %d: %v", i, err)
			}
		}
		if i%20 == 0 || i > 95 {
			v.consistentList(t, hub)
		}
	}
	v.consistent(t, "ws", hub)
	if e := v.get(t, "ws", hub); e.MoreRelationships {
		t.Errorf("the hub shows %d edges and says there are more", len(e.Relationships))
	}
}

// consistentList is consistent without the history.
func (v *env) consistentList(t testing.TB, id string) {
	t.Helper()
	row, err := v.s.Find(as(t, "ws", "owner"), v.d, id)
	if err != nil {
		t.Fatal(err)
	}
	e, stored := decode(t, row.Body), v.stored(t, row)
	if len(e.Relationships) != min(len(stored), 100) || e.MoreRelationships != (len(stored) > 100) {
		t.Errorf("shown %d, more %v, stored %d", len(e.Relationships), e.MoreRelationships, len(stored))
	}
	if !slices.IsSortedFunc(e.Relationships, func(a, b entity.Relationship) int { return strings.Compare(a.ID, b.ID) }) {
		t.Error("the edges are not shown oldest first")
	}
}

// The events of an edge: one at each end that changes, none for nothing.
func TestEventsOfEdges(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		v := newEnv(t, d)
		org, project := v.create(t, "ws", draftOf("organisation")), v.create(t, "ws", draftOf("project"))
		mark := v.newest(t, "ws")
		r, err := v.relate(t, "ws", project.DID, "implementedBy", org.DID)
		if err != nil {
			t.Fatal(err)
		}
		if err := v.unrelate(t, "ws", org.DID, r.ID); err != nil {
			t.Fatal(err)
		}
		if _, err := v.relate(t, "ws", project.DID, "peer", org.DID); err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, it := range v.events(t, "ws", mark) {
			got = append(got, fmt.Sprint(it.Type, " ", map[string]string{org.DID: "org", project.DID: "project"}[it.Subject], " ", it.Revision))
		}
		wanted := []string{
			"relationship.added project 2", "relationship.added org 2", "relationship.removed org 3", "relationship.removed project 3", "relationship.added project 4",
		}
		if !slices.Equal(got, wanted) {
			t.Errorf("events = %q, want %q", got, wanted)
		}
	})
}

// From the organisation to the credential, with what a fresh server has: every
// kind of edge of the domain model, in either direction, and the invariants.
func TestFromAssetToCredential(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		v := newEnv(t, d)
		org := v.create(t, "ws", draftOf("organisation"))
		project := v.create(t, "ws", with(draftOf("project"), "implementedBy", org.DID))
		asset := v.create(t, "ws", with(draftOf("asset"), "generatedBy", project.DID))
		oracle := v.create(t, "ws", draftOf("oracle"))
		draft := with(draftOf("claim"), "producedBy", asset.DID, "project", project.DID)
		draft.Properties = object(`{"kind":"fuel-saved","amount":{"value":12,"unit":"kg"},"periodStart":"2026-01-01","periodEnd":"2026-03-31","evidence":["ipfs://bafy"]}`)
		claim := v.create(t, "ws", draft)
		if claim.Status != entity.StatusActive || claim.DomainType != "claim" || claim.Project != project.DID {
			t.Fatalf("claim: %s %s of %q, want active, of the project", claim.Status, claim.DomainType, claim.Project)
		}
		_, err := v.relate(t, "ws", asset.DID, "verifies", claim.DID)
		want(t, "an asset that verifies", err, "RELATIONSHIP_CLASS_MISMATCH")
		_, err = v.relate(t, "ws", oracle.DID, "verifies", claim.DID)
		want(t, "the oracle verifies", err, "")
		credential := draftOf("credential")
		credential.Properties = object(`{"kind":"fuel-saved","issuer":"did:key:owner","subject":"` + asset.DID + `","issuedAt":"2026-04-02"}`)
		_, err = v.s.Create(as(t, "ws", "owner"), with(credential, "becameFrom", claim.DID))
		want(t, "a credential of a claim that is not verified", err, "CLAIM_NOT_VERIFIED")
		want(t, "verify the claim", v.judge(t, "ws", claim.DID, "verified"), "")
		issued := v.create(t, "ws", with(credential, "becameFrom", claim.DID))
		_, err = v.relate(t, "ws", issued.DID, "becomes", claim.DID)
		want(t, "a credential that becomes a claim", err, "RELATIONSHIP_CLASS_MISMATCH")

		var words []string
		for _, r := range v.get(t, "ws", claim.DID).Relationships {
			words = append(words, r.Role+" "+r.Target)
		}
		wanted := []string{"producedBy " + asset.DID, "project " + project.DID, "verifiedBy " + oracle.DID, "becomes " + issued.DID}
		if !slices.Equal(words, wanted) {
			t.Errorf("the claim shows %q, want %q", words, wanted)
		}
	})
}
