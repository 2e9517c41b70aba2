package entity_test

import (
	"fmt"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
	"github.com/hearth-dmrv/hearth/internal/entity"
	"github.com/hearth-dmrv/hearth/internal/fault"
)

// All that need a twin are named at once, whatever they need it for.
func TestDependantsOfEachKind(t *testing.T) {
	t.Parallel()
	v := newEnv(t, dbtest.SQLite(t))
	org := v.create(t, "ws", draftOf("organisation"))
	kept := v.create(t, "ws", with(entity.Draft{Type: "x", Protocol: v.publish(t, "ws", keeps)}, "keeper", org.DID))
	project := v.create(t, "ws", with(draftOf("project"), "implementedBy", org.DID))
	f := fault.As(v.transit(t, "ws", org.DID, gone))
	if f == nil || f.Code != "ACTIVE_DEPENDANTS" {
		t.Fatalf("to deactivate it = %v, want ACTIVE_DEPENDANTS", f)
	}
	var said []string
	for _, field := range f.Fields {
		said = append(said, field.Detail)
	}
	for _, want := range []string{project.DID + " is active and has no other organisation.", kept.DID + " is active and needs it as keeper."} {
		if !slices.Contains(said, want) {
			t.Errorf("dependants = %q, want %q", said, want)
		}
	}
}

// What fills a required role of an active twin is not deactivated as long as
// nothing else does: not over the API, and not by two callers at once.
func TestFillersStay(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		v := newEnv(t, d)
		kept := v.publish(t, "ws", keeps)
		one, two := v.create(t, "ws", draftOf("organisation")), v.create(t, "ws", draftOf("organisation"))
		made := v.create(t, "ws", with(entity.Draft{Type: "x", Protocol: kept}, "keeper", one.DID))
		if made.Status != entity.StatusActive {
			t.Fatalf("the twin is %s and misses %v, want it active", made.Status, made.MissingRelationships)
		}
		err := v.transit(t, "ws", one.DID, gone)
		want(t, "what fills a required role", err, "ACTIVE_DEPENDANTS")
		if f := fault.As(err); f == nil || len(f.Fields) != 1 || f.Fields[0].Detail != made.DID+" is active and needs it as keeper." {
			t.Errorf("fields = %+v, want the twin and its role named", f)
		}
		if w := v.send(t, "ws owner", "DELETE /v1/entities/"+one.DID, "", "If-Match", "*"); w.Code != 409 {
			t.Errorf("DELETE = %d %s, want 409", w.Code, w.Body)
		}
		want(t, "suspending harms nobody", v.transit(t, "ws", one.DID, entity.StatusSuspended), "")

		_, err = v.relate(t, "ws", made.DID, "keeper", two.DID)
		want(t, "a second one", err, "")
		want(t, "now the first may go", v.transit(t, "ws", one.DID, gone), "")
		want(t, "the second may not", v.transit(t, "ws", two.DID, gone), "ACTIVE_DEPENDANTS")

		want(t, "suspend the twin", v.transit(t, "ws", made.DID, entity.StatusSuspended), "")
		want(t, "the second goes", v.transit(t, "ws", two.DID, gone), "")
		want(t, "the twin cannot come back", v.transit(t, "ws", made.DID, entity.StatusActive), "MISSING_RELATIONSHIPS")
		three, four := v.create(t, "ws", draftOf("organisation")), v.create(t, "ws", draftOf("organisation"))
		for _, o := range []*entity.Entity{three, four} {
			_, err = v.relate(t, "ws", made.DID, "keeper", o.DID)
			want(t, "another", err, "")
		}
		want(t, "and it is back", v.transit(t, "ws", made.DID, entity.StatusActive), "")

		var wg sync.WaitGroup
		ends := make([]error, 2)
		for i, o := range []*entity.Entity{three, four} {
			wg.Go(func() { ends[i] = v.transit(t, "ws", o.DID, gone) })
		}
		wg.Wait()
		if (ends[0] == nil) == (ends[1] == nil) {
			t.Errorf("two at once: %v, %v; want one of them refused", ends[0], ends[1])
		}
	})
}

// keeps is a protocol whose twins need a keeper.
const keeps = `{"type":"Protocol","name":"kept","class":"physical","properties":{},"relationships":{"keeper":"OrganisationEntity"}}`

// step takes a twin to another status as somebody.
func (v *env) step(t testing.TB, who, id string, to entity.Status) error {
	t.Helper()
	return second(v.s.Transition(as(t, "ws", who), id, "", entity.Transition{To: to}))
}

// confirm calls the route that confirms the relationship of a twin to a target.
func (v *env) confirm(t testing.TB, who, id, target string) *httptest.ResponseRecorder {
	t.Helper()
	return v.send(t, who, "POST /v1/entities/"+url.PathEscape(id)+"/relationships/"+v.edgeTo(t, id, target).ID+"/confirm", "")
}

// edgeTo is the relationship a twin shows to a target.
func (v *env) edgeTo(t testing.TB, id, target string) entity.Relationship {
	t.Helper()
	all := v.get(t, "ws", id).Relationships
	i := slices.IndexFunc(all, func(r entity.Relationship) bool { return r.Target == target })
	if i < 0 {
		t.Fatalf("%s has no relationship to %s", id, target)
	}
	return all[i]
}

// lacks wants a twin to be refused as active, for a relationship that waits to be
// confirmed, or for one that is not there.
func (v *env) lacks(t testing.TB, id, target string) {
	t.Helper()
	err := v.step(t, "writer", id, entity.StatusActive)
	want(t, id+" becomes active", err, "MISSING_RELATIONSHIPS")
	code, detail := "missing", ""
	if target != "" {
		code, detail = "unconfirmed", target+", which is not held here and has not been confirmed. Ask a caller with the scope * to send POST /v1/entities/"+
			url.PathEscape(id)+"/relationships/"+v.edgeTo(t, id, target).ID+"/confirm."
	}
	if f := fault.As(err); f == nil || len(f.Fields) != 1 || f.Fields[0].Code != code || !strings.Contains(f.Fields[0].Detail, detail) {
		t.Errorf("%s: fields = %+v, want %s: %s", id, f, code, detail)
	}
}

// A DID that is not held here fills a required role once somebody with every
// scope has said that it does, and not before.
func TestStrangersFillNothingUnconfirmed(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		v := newEnv(t, d)
		kept := entity.Draft{Type: "x", Protocol: v.publish(t, "ws", keeps)}
		const far = "did:ixo:org:far"
		made := v.createAs(t, "ws", "writer", with(kept, "keeper", far))
		if r := made.Relationships[0]; made.Status != entity.StatusDraft || !slices.Equal(made.MissingRelationships, []string{"keeper"}) || !r.External || !r.Unconfirmed {
			t.Fatalf("made by a writer: %s, misses %v, %+v; want a draft", made.Status, made.MissingRelationships, r)
		}
		v.lacks(t, made.DID, far)
		for who, code := range map[string]int{"ws writer": 403, "ws reader": 403, "other owner": 404, "ws limited": 404} {
			if w := v.confirm(t, who, made.DID, far); w.Code != code {
				t.Errorf("%s confirms: %d %s, want %d", who, w.Code, w.Body, code)
			}
		}
		v.lacks(t, made.DID, far)

		// Control of the twin is not asked for, and it happens once.
		for range 2 {
			w := v.confirm(t, "ws second", made.DID, far)
			if w.Code != 200 || !strings.Contains(w.Body.String(), `"external":true`) || strings.Contains(w.Body.String(), "unconfirmed") {
				t.Errorf("confirmed = %d %s", w.Code, w.Body)
			}
		}
		e := v.get(t, "ws", made.DID)
		if e.Revision != made.Revision+1 || len(e.MissingRelationships) != 0 || e.Relationships[0].Unconfirmed || e.Status != entity.StatusDraft {
			t.Errorf("revision %d misses %v, %+v, %s; want one more that misses nothing", e.Revision, e.MissingRelationships, e.Relationships, e.Status)
		}
		if n := v.told(t, "relationship.confirmed"); n != 1 {
			t.Errorf("%d events, want 1", n)
		}
		want(t, "now it can be active", v.step(t, "writer", made.DID, entity.StatusActive), "")

		// Whoever takes it away and adds it again begins anew.
		edge := v.edgeTo(t, made.DID, far)
		want(t, "an active twin needs it", v.s.Unrelate(as(t, "ws", "writer"), made.DID, edge.ID, ""), "MISSING_RELATIONSHIPS")
		must(t, v.step(t, "writer", made.DID, entity.StatusSuspended))
		must(t, v.s.Unrelate(as(t, "ws", "writer"), made.DID, edge.ID, ""))
		must(t, second(v.s.Relate(as(t, "ws", "writer"), made.DID, entity.RelationDraft{Role: "keeper", Target: far})))
		v.lacks(t, made.DID, far)
		if w := v.send(t, "ws second", "POST /v1/entities/"+url.PathEscape(made.DID)+"/relationships/"+edge.ID+"/confirm", ""); w.Code != 404 {
			t.Errorf("the edge that has ended = %d %s, want 404", w.Code, w.Body)
		}

		// Whoever may confirm has, unless they say otherwise.
		if e := v.createAs(t, "ws", "second", with(kept, "keeper", far)); e.Status != entity.StatusActive || e.Relationships[0].Unconfirmed {
			t.Errorf("made by an owner: %s, %+v; want it active", e.Status, e.Relationships)
		}
		open := with(kept, "keeper", far)
		open.Relationships[0].Unconfirmed = true
		if e := v.createAs(t, "ws", "second", open); e.Status != entity.StatusDraft || !e.Relationships[0].Unconfirmed {
			t.Errorf("left open by an owner: %s, %+v; want a draft", e.Status, e.Relationships)
		}

		// A twin that comes to be held here is looked at.
		org := draftOf("organisation")
		org.DID = far
		v.create(t, "ws", org)
		if r := v.edgeTo(t, made.DID, far); r.External || r.Unconfirmed {
			t.Errorf("once it is held here: %+v", r)
		}
		want(t, "and it fills the role", v.step(t, "writer", made.DID, entity.StatusActive), "")
		if w := v.confirm(t, "ws second", made.DID, far); w.Code != 200 || v.told(t, "relationship.confirmed") != 1 {
			t.Errorf("to confirm what is held here = %d %s", w.Code, w.Body)
		}
		must(t, v.step(t, "writer", made.DID, entity.StatusDeactivated))
		if w := v.confirm(t, "ws second", made.DID, far); w.Code != 409 || !strings.Contains(w.Body.String(), "ENTITY_DEACTIVATED") {
			t.Errorf("of a twin that has ended = %d %s", w.Code, w.Body)
		}
	})
}

// told counts events of a type.
func (v *env) told(t testing.TB, typ string) (n int) {
	t.Helper()
	if err := v.d.QueryRow(t.Context(), `SELECT count(*) FROM events WHERE type = $1`, typ).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

// The parents that the domain model asks for are no different, and an unconfirmed
// one does not let the real one go.
func TestStrangersAreNoParents(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		v := newEnv(t, d)
		const far = "did:ixo:org:far"
		for _, tt := range []struct{ kind, word, parent, more string }{
			{"project", "implementedBy", "organisation", "implementedBy"}, {"asset", "generatedBy", "project", "project"}, {"asset", "project", "project", "generatedBy"},
		} {
			made := v.createAs(t, "ws", "writer", with(draftOf(tt.kind), tt.word, far))
			if made.Status != entity.StatusDraft {
				t.Fatalf("%s %s by a writer is %s", tt.kind, tt.word, made.Status)
			}
			v.lacks(t, made.DID, far)
			if w := v.confirm(t, "ws second", made.DID, far); w.Code != 200 {
				t.Errorf("confirmed = %d %s", w.Code, w.Body)
			}
			want(t, tt.kind+" "+tt.word+" confirmed", v.step(t, "writer", made.DID, entity.StatusActive), "")

			parent := draftOf(tt.parent)
			if tt.parent == "project" {
				parent = with(parent, "implementedBy", "did:ixo:org:other")
			}
			parent.Controllers = []string{"did:key:owner", "did:key:writer"}
			held := v.create(t, "ws", parent)
			child := v.createAs(t, "ws", "writer", with(draftOf(tt.kind), tt.word, held.DID))
			must(t, second(v.s.Relate(as(t, "ws", "writer"), child.DID, entity.RelationDraft{Role: tt.more, Target: far})))
			want(t, "the parent of "+tt.kind+" "+tt.word, v.transit(t, "ws", held.DID, gone), "ACTIVE_DEPENDANTS")
			shown := v.edgeTo(t, child.DID, held.DID)
			want(t, "the edge to it", v.s.Unrelate(as(t, "ws", "writer"), child.DID, shown.ID, ""), "MISSING_RELATIONSHIPS")
			want(t, "the other edge gave nothing", v.s.Unrelate(as(t, "ws", "writer"), child.DID, v.edgeTo(t, child.DID, far).ID, ""), "")
			must(t, second(v.s.Relate(as(t, "ws", "writer"), child.DID, entity.RelationDraft{Role: tt.more, Target: far})))
			if w := v.confirm(t, "ws second", child.DID, far); w.Code != 200 {
				t.Errorf("confirmed = %d %s", w.Code, w.Body)
			}
			want(t, "with another the parent may go", v.transit(t, "ws", held.DID, gone), "")
		}
	})
}

// What fills a role may be unconfirmed among more edges than a record shows.
func TestStrangersInACrowd(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		v := newEnv(t, d)
		draft := entity.Draft{Type: "x", Protocol: v.publish(t, "ws", keeps)}
		for i := range 100 {
			draft = with(draft, "peer", fmt.Sprintf("did:ixo:x:%d", i))
		}
		id := v.createAs(t, "ws", "writer", draft).DID
		edge, err := v.s.Relate(as(t, "ws", "writer"), id, entity.RelationDraft{Role: "keeper", Target: "did:ixo:org:far"})
		must(t, err)
		if e := v.get(t, "ws", id); !e.MoreRelationships || !slices.Equal(e.MissingRelationships, []string{"keeper"}) {
			t.Fatalf("misses %v, more is %v", e.MissingRelationships, e.MoreRelationships)
		}
		err = v.step(t, "writer", id, entity.StatusActive)
		want(t, "unconfirmed", err, "MISSING_RELATIONSHIPS")
		if f := fault.As(err); f == nil || !strings.Contains(f.Fields[0].Detail, edge.Value.ID+"/confirm") {
			t.Errorf("fields = %+v, want the edge named", f)
		}
		must(t, second(v.s.Confirm(as(t, "ws", "second"), id, edge.Value.ID)))
		if e := v.get(t, "ws", id); len(e.MissingRelationships) != 0 || v.told(t, "relationship.confirmed") != 1 {
			t.Errorf("misses %v", e.MissingRelationships)
		}
		want(t, "confirmed", v.step(t, "writer", id, entity.StatusActive), "")
		peer, err := v.s.Relate(as(t, "ws", "writer"), id, entity.RelationDraft{Role: "peer", Target: "did:ixo:x:100"})
		must(t, err)
		before := v.get(t, "ws", id).Revision
		must(t, second(v.s.Confirm(as(t, "ws", "second"), id, peer.Value.ID)))
		if e := v.get(t, "ws", id); e.Revision != before || v.told(t, "relationship.confirmed") != 2 {
			t.Errorf("revision %d after %d, want an event and no revision", e.Revision, before)
		}
	})
}

// Of those who confirm at once one does, and of confirming and removing the twin
// shows what was last.
func TestConfirmRace(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		v := newEnv(t, d)
		draft := entity.Draft{Type: "x", Protocol: v.publish(t, "ws", keeps)}
		for range 6 {
			before := v.told(t, "relationship.confirmed")
			e := v.createAs(t, "ws", "writer", with(draft, "keeper", "did:ixo:org:far"))
			var wg sync.WaitGroup
			errs := make([]error, 4)
			for i := range 3 {
				wg.Go(func() { errs[i] = second(v.s.Confirm(as(t, "ws", "second"), e.DID, e.Relationships[0].ID)) })
			}
			wg.Go(func() { errs[3] = v.s.Unrelate(as(t, "ws", "writer"), e.DID, e.Relationships[0].ID, "") })
			wg.Wait()
			must(t, errs[3])
			for _, err := range errs[:3] {
				if err != nil {
					want(t, "after it has gone", err, "RELATIONSHIP_NOT_FOUND")
				}
			}
			got := v.get(t, "ws", e.DID)
			if len(got.Relationships) != 0 || !slices.Equal(got.MissingRelationships, []string{"keeper"}) || v.told(t, "relationship.confirmed") > before+1 {
				t.Errorf("relationships %+v, misses %v", got.Relationships, got.MissingRelationships)
			}
		}
	})
}

// What is completed has done what it was for: it still fills roles and is a
// parent, before and after. Only what is deactivated has gone.
func TestCompletedTwinsStillFill(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		v := newEnv(t, d)
		org := v.create(t, "ws", draftOf("organisation"))
		project := v.create(t, "ws", with(draftOf("project"), "implementedBy", org.DID))
		asset := v.create(t, "ws", with(draftOf("asset"), "generatedBy", project.DID))
		kept := v.create(t, "ws", with(entity.Draft{Type: "x", Protocol: v.publish(t, "ws", keeps)}, "keeper", org.DID))
		for _, id := range []string{project.DID, org.DID} {
			want(t, "complete "+id, v.transit(t, "ws", id, entity.StatusCompleted), "")
		}
		for _, id := range []string{asset.DID, kept.DID} {
			want(t, "suspend "+id, v.transit(t, "ws", id, entity.StatusSuspended), "")
			want(t, "and back", v.transit(t, "ws", id, entity.StatusActive), "")
		}
		want(t, "to deactivate a completed filler", v.transit(t, "ws", org.DID, gone), "ACTIVE_DEPENDANTS")
		want(t, "to deactivate a completed parent", v.transit(t, "ws", project.DID, gone), "ACTIVE_DEPENDANTS")
	})
}
