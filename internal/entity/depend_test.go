package entity_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
	"github.com/hearth-dmrv/hearth/internal/entity"
	"github.com/hearth-dmrv/hearth/internal/fault"
)

const gone = entity.StatusDeactivated

// An organisation and a project stay as long as active twins have no other.
func TestParentsStay(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		v := newEnv(t, d)
		org, other := v.create(t, "ws", draftOf("organisation")), v.create(t, "ws", draftOf("organisation"))
		project := v.create(t, "ws", with(draftOf("project"), "implementedBy", org.DID))
		made := v.create(t, "ws", with(draftOf("asset"), "generatedBy", project.DID))
		if project.Status != entity.StatusActive || made.Status != entity.StatusActive {
			t.Fatalf("%s, %s; want both active", project.Status, made.Status)
		}
		err := v.transit(t, "ws", org.DID, gone)
		want(t, "the organisation of an active project", err, "ACTIVE_DEPENDANTS")
		if f := fault.As(err); len(f.Fields) != 1 || !strings.Contains(f.Fields[0].Detail, project.DID) {
			t.Errorf("fields = %+v, want the project named", f.Fields)
		}
		want(t, "the project of an active asset", v.transit(t, "ws", project.DID, gone), "ACTIVE_DEPENDANTS")
		want(t, "suspending harms nobody", v.transit(t, "ws", org.DID, entity.StatusSuspended), "")

		second, err := v.relate(t, "ws", other.DID, "implements", project.DID)
		want(t, "a second organisation", err, "")
		want(t, "now the first may go", v.transit(t, "ws", org.DID, gone), "")
		want(t, "the second may not", v.transit(t, "ws", other.DID, gone), "ACTIVE_DEPENDANTS")
		want(t, "nor may its edge", v.unrelate(t, "ws", other.DID, second.ID), "MISSING_RELATIONSHIPS")

		want(t, "suspend the asset", v.transit(t, "ws", made.DID, entity.StatusSuspended), "")
		want(t, "the project goes", v.transit(t, "ws", project.DID, gone), "")
		want(t, "the asset cannot come back", v.transit(t, "ws", made.DID, entity.StatusActive), "MISSING_RELATIONSHIPS")
		want(t, "the organisation goes", v.transit(t, "ws", other.DID, gone), "")

		next := v.create(t, "ws", with(draftOf("project"), "implementedBy", "did:ixo:org/elsewhere"))
		_, err = v.relate(t, "ws", made.DID, "project", next.DID)
		want(t, "another project", err, "")
		want(t, "and the asset is back", v.transit(t, "ws", made.DID, entity.StatusActive), "")
		want(t, "its new project is needed", v.transit(t, "ws", next.DID, gone), "ACTIVE_DEPENDANTS")
		want(t, "the asset goes", v.transit(t, "ws", made.DID, gone), "")
		want(t, "then the project may", v.transit(t, "ws", next.DID, gone), "")
	})
}

// The list of what is in the way is short, and names what the caller can see.
func TestDependantsAreNamed(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		v := newEnv(t, d)
		org := v.create(t, "ws", draftOf("organisation"))
		var all []string
		for i := range 12 {
			p := with(draftOf("project"), "implementedBy", org.DID)
			p.DID = fmt.Sprintf("did:ixo:project/%02d", i)
			all = append(all, v.create(t, "ws", p).DID)
		}
		w := v.send(t, "ws owner", "DELETE /v1/entities/"+org.DID, "", "If-Match", "*")
		if w.Code != http.StatusConflict || !strings.Contains(w.Body.String(), "ACTIVE_DEPENDANTS") {
			t.Fatalf("%d %s, want 409 ACTIVE_DEPENDANTS", w.Code, w.Body)
		}
		named := slices.DeleteFunc(slices.Clone(all), func(p string) bool { return !strings.Contains(w.Body.String(), p) })
		if len(named) != 10 || !strings.Contains(w.Body.String(), "More entities need it.") {
			t.Errorf("names %d: %s, want 10 and that there are more", len(named), w.Body)
		}
		if w := v.send(t, "ws second", "DELETE /v1/entities/"+org.DID, "", "If-Match", "*"); w.Code != http.StatusForbidden {
			t.Errorf("another = %d %s, want 403", w.Code, w.Body)
		}
		if w := v.send(t, "ws owner", "DELETE /v1/entities/"+org.DID, "", "If-Match", `"1"`); w.Code != http.StatusPreconditionFailed {
			t.Errorf("an old revision = %d %s, want 412", w.Code, w.Body)
		}
		if w := v.send(t, "other owner", "DELETE /v1/entities/"+org.DID, "", "If-Match", "*"); w.Code != http.StatusNotFound {
			t.Errorf("another workspace = %d, want 404", w.Code)
		}
	})
}

// Whoever is first, an active twin keeps a parent: two parents that go at once,
// a parent that goes while its child comes, or while the other edge ends.
func TestParentsRace(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		v := newEnv(t, d)
		for round := range 8 {
			a, b := v.create(t, "ws", draftOf("organisation")), v.create(t, "ws", draftOf("organisation"))
			both := v.create(t, "ws", with(draftOf("project"), "implementedBy", a.DID, "implementedBy", b.DID))
			draft := v.create(t, "ws", with(draftOf("project"), "implementedBy", a.DID))
			must(t, v.transit(t, "ws", draft.DID, entity.StatusSuspended))
			var wg sync.WaitGroup
			for _, f := range []func() error{
				func() error { return v.transit(t, "ws", a.DID, gone) },
				func() error { return v.transit(t, "ws", b.DID, gone) },
				func() error { return v.transit(t, "ws", draft.DID, entity.StatusActive) },
				func() error { return v.unrelate(t, "ws", b.DID, relationTo(b, both, v, t)) },
			} {
				wg.Go(func() {
					if err := f(); err != nil && fault.KindOf(err) != fault.Conflict && fault.KindOf(err) != fault.NotFound {
						t.Errorf("round %d: %v", round, err)
					}
				})
			}
			wg.Wait()
			alive := func(id string) bool { return v.get(t, "ws", id).Status != gone }
			kept := slices.ContainsFunc(v.get(t, "ws", both.DID).Relationships, func(r entity.Relationship) bool {
				return r.Role == "implementedBy" && alive(r.Target)
			})
			if !kept {
				t.Errorf("round %d: an active project has lost its last organisation", round)
			}
			if v.get(t, "ws", draft.DID).Status == entity.StatusActive && !alive(a.DID) {
				t.Errorf("round %d: a project became active while its organisation went", round)
			}
		}
	})
}

// relationTo is the id of the edge by which org implements project.
func relationTo(org, project *entity.Entity, v *env, t *testing.T) string {
	for _, r := range v.get(t, "ws", org.DID).Relationships {
		if r.Role == "implements" && r.Target == project.DID {
			return r.ID
		}
	}
	return "rel_1"
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// The assets that come while their project goes: by either word, all or none.
func TestAssetsComeWhileTheirProjectGoes(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		v := newEnv(t, d)
		for range 6 {
			project := v.create(t, "ws", with(draftOf("project"), "implementedBy", "did:ixo:org/elsewhere"))
			var wg sync.WaitGroup
			made := make(chan string, 2)
			for _, word := range []string{"project", "generatedBy"} {
				wg.Go(func() {
					r, err := v.s.Create(as(t, "ws", "owner"), with(draftOf("asset"), word, project.DID))
					if err == nil {
						made <- decode(t, r.Raw).DID
					} else if fault.CodeOf(err) != "ENTITY_DEACTIVATED" {
						t.Errorf("create: %v", err)
					}
				})
			}
			wg.Go(func() { _ = v.transit(t, "ws", project.DID, gone) })
			wg.Wait()
			close(made)
			for id := range made {
				if v.get(t, "ws", project.DID).Status == gone && v.get(t, "ws", id).Status == entity.StatusActive {
					t.Errorf("%s is active and its project has gone", id)
				}
			}
		}
	})
}
