package entity_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
	"github.com/hearth-dmrv/hearth/internal/entity"
	"github.com/hearth-dmrv/hearth/internal/entity/relationship"
	"github.com/hearth-dmrv/hearth/internal/event/eventtest"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/job"
)

func called(d entity.Draft, id string) entity.Draft {
	d.DID = id
	return d
}

// only is the one edge of a role that a twin shows.
func only(t testing.TB, e *entity.Entity, role string) entity.Relationship {
	t.Helper()
	var found []entity.Relationship
	for _, r := range e.Relationships {
		if r.Role == role {
			found = append(found, r)
		}
	}
	if len(found) != 1 {
		t.Fatalf("%s shows %+v, want one %s", e.DID, e.Relationships, role)
	}
	return found[0]
}

// A twin that was named before it came is joined to those that named it.
func TestLateTwin(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		v := newEnv(t, d)
		const late, lateProject = "did:ixo:org/late", "did:ixo:project/late"
		project := v.create(t, "ws", with(draftOf("project"), "implementedBy", late, "funder", late))
		dead := v.create(t, "ws", with(draftOf("project"), "implementedBy", late))
		must(t, v.transit(t, "ws", dead.DID, gone))
		foreign := v.create(t, "other", with(draftOf("project"), "implementedBy", late))
		asset := v.create(t, "ws", with(draftOf("asset"), "generatedBy", lateProject))
		home := v.create(t, "ws", with(draftOf("household"), "project", lateProject))
		if e := only(t, project, "implementedBy"); !e.External || project.Status != entity.StatusActive {
			t.Fatalf("%s with %+v, want active and external", project.Status, e)
		}
		mark := v.newest(t, "ws")
		org := v.create(t, "ws", called(draftOf("organisation"), late))
		if e := only(t, org, "implements"); e.Target != project.DID || e.External || e.Source != "declared" {
			t.Errorf("the organisation shows %+v", e)
		}
		got := v.get(t, "ws", project.DID)
		if e := only(t, got, "implementedBy"); e.External || e.Source != "derived" || e.ID != only(t, org, "implements").ID || e.ID != only(t, project, "implementedBy").ID {
			t.Errorf("the project shows %+v", e)
		}
		if e := only(t, got, "funder"); e.External || e.Target != late {
			t.Errorf("the project shows %+v", e)
		}
		var told []string
		for _, it := range v.events(t, "ws", mark) {
			if it.Subject == project.DID || it.Subject == late {
				told = append(told, fmt.Sprint(it.Type, " ", map[string]string{late: "org", project.DID: "project"}[it.Subject], " ", it.Revision))
			}
		}
		wanted := []string{
			"entity.created org 1", "relationship.added org 1", "relationship.added org 1", "relationship.added project 2", "relationship.added project 3",
		}
		if !slices.Equal(told, wanted) {
			t.Errorf("events = %q, want %q", told, wanted)
		}
		if v.get(t, "ws", dead.DID).Revision != 2 || v.get(t, "other", foreign.DID).Revision != 1 {
			t.Error("a deactivated twin or one of another workspace has changed")
		}
		want(t, "it is needed now", v.transit(t, "ws", late, gone), "ACTIVE_DEPENDANTS")
		want(t, "the edge is there once", second(v.relate(t, "ws", late, "implements", project.DID)), "RELATIONSHIP_EXISTS")

		// A draft may name those that wait for it.
		p := v.create(t, "ws", called(with(draftOf("project"), "generates", asset.DID, "implementedBy", late), lateProject))
		if e := only(t, p, "generates"); e.Target != asset.DID || p.Status != entity.StatusActive {
			t.Errorf("%s with %+v, want an active project of the asset", p.Status, e)
		}
		if h := v.get(t, "ws", home.DID); only(t, h, "project").External || h.Project != lateProject || h.Revision != 2 {
			t.Errorf("the household is %+v", h)
		}
		v.consistent(t, "ws", late, lateProject, project.DID, asset.DID, home.DID)
	})
}

// A twin that is not what others wait for is refused, whatever the route.
func TestLateTwinOfTheWrongClass(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		v := newEnv(t, d)
		const late = "did:ixo:x:late"
		project := v.create(t, "ws", with(draftOf("project"), "implementedBy", late))
		_, err := v.s.Create(as(t, "ws", "owner"), called(draftOf("clean-cooking"), late))
		want(t, "a device", err, "RELATIONSHIP_CLASS_MISMATCH")
		f := fault.As(err).Fields
		if len(f) != 1 || f[0].Pointer != "/did" || !strings.Contains(f[0].Detail, project.DID) || !strings.Contains(f[0].Detail, "implementedBy") ||
			!strings.Contains(f[0].Detail, "organisation") {
			t.Errorf("fields = %+v, want who waits for what", f)
		}
		_, err = v.s.Create(as(t, "ws", "limited"), called(with(draftOf("clean-cooking"), "project", projectOne), late))
		want(t, "by one who cannot see it", err, "RELATIONSHIP_CLASS_MISMATCH")
		if f := fault.As(err).Fields; strings.Contains(f[0].Detail, project.DID) {
			t.Errorf("fields = %+v name a twin of another project", f)
		}
		ctx := as(t, "ws", "owner")
		made, err := v.s.Prepare(ctx, called(draftOf("clean-cooking"), late))
		must(t, err)
		err = d.InTx(ctx, func(tx *db.Tx) error { return second(v.s.StoreAllTx(ctx, tx, []*entity.Prepared{made})) })
		want(t, "among many", err, "RELATIONSHIP_CLASS_MISMATCH")
		if w := v.send(t, "ws owner", "PUT /v1/entities/"+late, `{"type":"x","protocol":"did:ixo:protocol/network"}`, "If-None-Match", "*"); w.Code != 422 {
			t.Errorf("PUT = %d %s, want 422", w.Code, w.Body)
		}
		stove := v.create(t, "ws", with(draftOf("stove-use-monitor"), "household", "did:ixo:household/late"))
		_, err = v.s.Create(ctx, called(draftOf("person"), "did:ixo:household/late"))
		want(t, "a role of a protocol", err, "RELATIONSHIP_CLASS_MISMATCH")
		if v.get(t, "ws", project.DID).Revision != 1 || v.get(t, "ws", stove.DID).Revision != 1 {
			t.Error("what was refused has left something behind")
		}
		// What was taken for a project and is none.
		device := v.create(t, "ws", with(draftOf("clean-cooking"), "partOf", "did:ixo:net/late"))
		v.create(t, "ws", called(draftOf("network"), "did:ixo:net/late"))
		if e := v.get(t, "ws", device.DID); e.Project != "" || only(t, e, "partOf").External {
			t.Errorf("device = %+v, want it in the network and in no project", e)
		}
	})
}

// Many twins at once: those that are waited for are joined, in their order.
func TestLateTwinsTogether(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		v := newEnv(t, d)
		ctx := as(t, "ws", "owner")
		id := func(i int) string { return fmt.Sprintf("did:ixo:household/%02d", i) }
		var list []*entity.Prepared
		for i := range 25 {
			made, err := v.s.Prepare(ctx, called(draftOf("household"), id(i)))
			must(t, err)
			must(t, v.s.Ready(ctx, made))
			list = append(list, made)
		}
		stoves := map[int]string{}
		for _, i := range []int{0, 7, 8, 24} {
			stoves[i] = v.create(t, "ws", with(draftOf("clean-cooking"), "household", id(i))).DID
		}
		var rows []*entity.Row
		must(t, d.InTx(ctx, func(tx *db.Tx) (err error) {
			rows, err = v.s.StoreAllTx(ctx, tx, list)
			return err
		}))
		for i, r := range rows {
			if r.DID != id(i) {
				t.Errorf("row %d is %s", i, r.DID)
			}
		}
		for i, stove := range stoves {
			if e := only(t, v.get(t, "ws", stove), "household"); e.External {
				t.Errorf("the stove of household %d shows %+v", i, e)
			}
		}
	})
}

// Very many edges are joined by a job.
// apart refuses to join one twin, as claims of both ends for the same days would.
type apart struct {
	entity.Claims
	did string
}

func (a *apart) Joined(_ context.Context, _ *db.Tx, _ string, l *relationship.Row) error {
	if l.SrcDID == a.did || l.DstDID == a.did {
		return fault.New(fault.Conflict, "CLAIM_OVERLAPS", "Both were claimed.")
	}
	return nil
}

func TestLateHub(t *testing.T) {
	t.Parallel()
	const many = 230
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		ended := make(chan string, 1)
		jobs := job.New(job.Config{DB: d, Cursors: eventtest.Cursors(), Record: func(_ context.Context, tx *db.Tx, typ, _ string, _ int64) error {
			tx.AfterCommit(func() { ended <- typ })
			return nil
		}})
		claims := &apart{}
		v := newEnv(t, d, func(c *entity.Config) { c.Jobs, c.Claims = jobs, claims })
		ctx := as(t, "ws", "owner")
		const late = "did:ixo:project/late"
		word := func(i int) string { return []string{"generatedBy", "project"}[i%2] }
		var ids []string
		for i := range many {
			ids = append(ids, v.create(t, "ws", with(draftOf("asset"), word(i), late)).DID)
		}
		claims.did = ids[many-1]
		v.create(t, "ws", called(draftOf("project"), late))
		all, _, err := jobs.List(ctx, job.Filter{}, 0, 10)
		if err != nil || len(all) != 1 || all[0].Kind != "entity.join" {
			t.Fatalf("jobs = %+v, %v, want one", all, err)
		}
		runner, err := jobs.NewRunner(job.RunnerConfig{Handlers: v.s.Handlers()})
		must(t, err)
		running, stop := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		wg.Go(func() { runner.Run(running) })
		if typ := <-ended; typ != "job.finished" {
			t.Errorf("the job ends with %s, want job.finished", typ)
		}
		stop()
		wg.Wait()
		for i, id := range ids {
			if external := only(t, v.get(t, "ws", id), word(i)).External; external != (id == claims.did) {
				t.Errorf("asset %d is not joined: %v", i, external)
			}
		}
		if e := v.get(t, "ws", late); len(e.Relationships) != 100 || !e.MoreRelationships {
			t.Errorf("the project shows %d, more %v", len(e.Relationships), e.MoreRelationships)
		}
		v.consistentList(t, late)
	})
}

// A twin and the edges that name it come at the same moment.
func TestLateTwinRace(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		v := newEnv(t, d)
		for round := range 12 {
			late := fmt.Sprintf("did:ixo:org/race%d", round)
			early := v.create(t, "ws", with(draftOf("project"), "implementedBy", late)).DID
			mine := v.create(t, "ws", draftOf("project")).DID
			made := make(chan string, 8)
			var wg sync.WaitGroup
			wg.Go(func() { v.create(t, "ws", called(draftOf("organisation"), late)) })
			wg.Go(func() {
				if r := v.get(t, "ws", early).Relationships; len(r) == 1 {
					_, _ = v.relate(t, "ws", early, "peer", late)
				}
			})
			for range 4 {
				wg.Go(func() { made <- v.create(t, "ws", with(draftOf("project"), "implementedBy", late)).DID })
			}
			wg.Go(func() {
				_, _ = v.s.Relate(as(t, "ws", "owner"), mine, entity.RelationDraft{Role: "implementedBy", Target: late})
			})
			wg.Wait()
			close(made)
			all := []string{early, mine}
			for id := range made {
				all = append(all, id)
			}
			for _, id := range all {
				if e := only(t, v.get(t, "ws", id), "implementedBy"); e.External {
					t.Errorf("round %d: %s still waits", round, id)
				}
			}
			v.consistent(t, "ws", append(all, late)...)
		}
	})
}
