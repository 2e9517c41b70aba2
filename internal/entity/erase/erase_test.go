package erase_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/go-json-experiment/json"

	"github.com/hearth-dmrv/hearth/internal/auth"
	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
	"github.com/hearth-dmrv/hearth/internal/entity"
	"github.com/hearth-dmrv/hearth/internal/entity/erase"
	"github.com/hearth-dmrv/hearth/internal/entity/group"
	"github.com/hearth-dmrv/hearth/internal/entity/protocol"
	"github.com/hearth-dmrv/hearth/internal/entity/relationship"
	"github.com/hearth-dmrv/hearth/internal/event"
	"github.com/hearth-dmrv/hearth/internal/event/eventtest"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/web"
)

func TestRoutes(t *testing.T) {
	t.Parallel()
	for _, file := range []string{"post-erasures", "get-erasures", "get-erasures-id"} {
		t.Run(file, func(t *testing.T) {
			t.Parallel()
			dbtest.Each(t, func(t *testing.T, d *db.DB) {
				r := newRig(t, d)
				eventtest.Cases(t, file+".json", d, r.events, eventtest.Serve(t, r.entities.Routes, r.erase.Routes))
			})
		})
	}
}

func TestDraft(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		in   erase.Draft
		want string
	}{
		{"ok", erase.Draft{Subject: amina, Reason: "asked for"}, ""},
		{"nothing", erase.Draft{}, "/subject required, /reason required"},
		{"words", erase.Draft{Subject: "amina", Reason: " "}, "/subject not_a_did, /reason required"},
		{"long", erase.Draft{Subject: amina, Reason: strings.Repeat("x", 1001)}, "/reason too_long"},
		{"two lines", erase.Draft{Subject: amina, Reason: "a\nb"}, "/reason control_character"},
	} {
		var got []string
		if f := fault.As(tt.in.Validate()); f != nil {
			for _, field := range f.Fields {
				got = append(got, field.Pointer+" "+field.Code)
			}
		}
		if s := strings.Join(got, ", "); s != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, s, tt.want)
		}
	}
}

// TestErase: what is left of a household, and of what it was part of.
func TestErase(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		r := newRig(t, d)
		ctx := r.owner(t)
		id := r.live(ctx, t, 1)
		before, _ := r.record(ctx, t, id)
		org := r.create(ctx, t, `{"type":"x","protocol":"did:ixo:protocol/organisation","properties":{"name":"x"}}`)
		g, err := r.groups.Create(ctx, org, group.Draft{Name: "x", Scopes: []string{"entities:read"}, Members: []string{id, amina}})
		if err != nil {
			t.Fatal(err)
		}
		seen := newest(t, r)
		c, text, fresh := r.run(ctx, t, id)
		if !fresh || c.Subject != id || c.By != web.CallerFrom(ctx).DID || c.Reason != "asked for" || c.ErasedAt.IsZero() || strings.Contains(text, canary) {
			t.Errorf("certificate = %s, fresh %v", text, fresh)
		}
		want := map[string]int64{"revisions": before.Revision, "relationships": 2, "memberships": 1, "keys": 1}
		for name, n := range want {
			if c.Counts[name] != n {
				t.Errorf("counts of %s = %d, want %d", name, c.Counts[name], n)
			}
		}
		row, e := r.record(ctx, t, id)
		if e.Status != entity.StatusDeactivated || e.Revision != before.Revision+1 || row.Action != "erase" || string(e.Properties.Value) != "{}" || e.DID != id {
			t.Errorf("record = %s", row.Body)
		}
		members, _, err := r.groups.Members(ctx, g.Value.DID, "", 10)
		if err != nil || len(members) != 1 || members[0].Member != amina {
			t.Errorf("members = %+v, %v, want the other one", members, err)
		}
		if got, want := since(t, r, seen), []string{"entity.erased", "member.removed", "key.revoked"}; !slices.Equal(got, want[:2]) && !slices.Equal(got, want) {
			t.Errorf("events = %q, want %q", got, want)
		}
		// Asking again gives the same bytes and changes nothing.
		seen = newest(t, r)
		_, again, fresh := r.run(ctx, t, id)
		if fresh || again != text || len(since(t, r, seen)) != 0 {
			t.Errorf("the second time: %s, fresh %v, want the first certificate %s", again, fresh, text)
		}
		if body, err := r.erase.Get(ctx, c.ID); err != nil || string(body) != text {
			t.Errorf("Get() = %s, %v", body, err)
		}
		// The names are free again, the DID is not.
		r.create(ctx, t, household(1))
		_, err = r.entities.Create(ctx, entity.Draft{DID: id, Type: "x", Protocol: "did:ixo:protocol/household"})
		wantCode(t, "the same DID", err, "ENTITY_EXISTS")
	})
}

func newest(t *testing.T, r *rig) int64 {
	t.Helper()
	held, err := r.events.Range(t.Context(), auth.OperatorWorkspace)
	if err != nil {
		t.Fatal(err)
	}
	return held.Newest
}

// since lists the types of events after a number; none may hold data of the
// household.
func since(t *testing.T, r *rig, after int64) []string {
	t.Helper()
	b, err := r.events.Read(t.Context(), event.Query{Workspace: auth.OperatorWorkspace, After: after, Limit: 100})
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, it := range b.Items {
		out = append(out, it.Type)
		if strings.Contains(string(it.Data.Value), canary) || it.Type == "entity.erased" && !it.Data.IsZero() {
			t.Errorf("%s says %s", it.Type, it.Data.Value)
		}
	}
	return out
}

// TestWhom: who can be erased, and who cannot be reached.
func TestWhom(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		r := newRig(t, d)
		ctx := r.owner(t)
		if _, err := r.auth.CreateWorkspace(ctx, auth.WorkspaceDraft{ID: "kitui", Name: "x"}); err != nil {
			t.Fatal(err)
		}
		tenant, err := r.auth.AsOwner(t.Context(), "kitui")
		if err != nil {
			t.Fatal(err)
		}
		home := r.create(ctx, t, household(1))
		project := web.WithCaller(ctx, web.Caller{Workspace: "default", DID: amina, Scopes: []string{"*"}, Projects: []string{"did:ixo:entity:1"}})
		for _, tt := range []struct {
			name, id string
			ctx      context.Context
			code     string
		}{
			{"a device", r.create(ctx, t, `{"type":"x","protocol":"did:ixo:protocol/template"}`), ctx, "NOT_PERSONAL"},
			{"an organisation", r.create(ctx, t, `{"type":"x","protocol":"did:ixo:protocol/organisation","properties":{"name":"x"}}`), ctx, "NOT_PERSONAL"},
			{"nothing", amina, ctx, "ENTITY_NOT_FOUND"},
			{"from another workspace", home, tenant, "ENTITY_NOT_FOUND"},
			{"from another project", home, project, "ENTITY_NOT_FOUND"},
			{"a person", r.create(ctx, t, `{"type":"x","protocol":"did:ixo:protocol/person","properties":{"name":"A"}}`), ctx, ""},
			{"a household", home, ctx, ""},
		} {
			_, _, err := r.erase.Erase(tt.ctx, erase.Draft{Subject: tt.id, Reason: "x"})
			wantCode(t, tt.name, err, tt.code)
		}
		_, _, err = r.erase.List(project, 0, 10)
		wantCode(t, "list of a project", err, "KEY_RESTRICTED")
		list, next, err := r.erase.List(ctx, 0, 1)
		if err != nil || len(list) != 1 || next == 0 {
			t.Fatalf("List() = %+v, %d, %v, want one and more", list, next, err)
		}
		if list, next, err = r.erase.List(ctx, next, 1); err != nil || len(list) != 1 || next != 0 || list[0].Subject != home {
			t.Errorf("List() = %+v, %d, %v, want the last one", list, next, err)
		}
		if list, _, err = r.erase.List(tenant, 0, 10); err != nil || len(list) != 0 {
			t.Errorf("List() of another workspace = %+v, %v", list, err)
		}
	})
}

// TestRegistry: other parts are asked, once more each time, and a failure
// leaves no certificate.
func TestRegistry(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		var mu sync.Mutex
		answers, calls := int64(2), 0
		var trouble error
		r := newRig(t, d, erase.Eraser{Name: "answers", Erase: func(_ context.Context, _ *db.Tx, ws, id string) (int64, error) {
			mu.Lock()
			defer mu.Unlock()
			calls++
			if ws != "default" || id == "" {
				t.Errorf("asked for %q in %q", id, ws)
			}
			return answers, trouble
		}})
		ctx := r.owner(t)
		id := r.create(ctx, t, household(1))
		trouble = errors.New("no")
		if _, _, err := r.erase.Erase(ctx, erase.Draft{Subject: id, Reason: "x"}); !errors.Is(err, trouble) {
			t.Errorf("Erase() = %v, want the trouble of a part", err)
		}
		if list, _, err := r.erase.List(ctx, 0, 10); err != nil || len(list) != 0 {
			t.Errorf("certificates = %+v, %v, want none", list, err)
		}
		trouble = nil
		first, _, fresh := r.run(ctx, t, id)
		if !fresh || first.Counts["answers"] != 2 {
			t.Errorf("certificate = %+v, want 2 answers", first)
		}
		answers = 0
		if c, _, fresh := r.run(ctx, t, id); fresh || c.ID != first.ID {
			t.Errorf("certificate = %+v, want the first again", c)
		}
		answers = 1 // something came in since
		if c, _, fresh := r.run(ctx, t, id); !fresh || c.ID == first.ID || c.Counts["answers"] != 1 {
			t.Errorf("certificate = %+v, want one of its own", c)
		}
	})
}

// TestLongHistory: more revisions than one transaction takes.
func TestLongHistory(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		r := newRig(t, d)
		ctx := r.owner(t)
		id := r.create(ctx, t, household(1))
		for n := range 230 {
			r.patch(ctx, t, id, fmt.Sprintf(`{"properties":{"size":%d}}`, n), canary)
		}
		if c, _, _ := r.run(ctx, t, id); c.Counts["revisions"] != 231 {
			t.Errorf("revisions = %d, want 231", c.Counts["revisions"])
		}
		row, _ := r.record(ctx, t, id)
		var left int
		if err := d.QueryRow(ctx, `SELECT count(*) FROM entity_history WHERE nid = $1 AND (body <> '' OR reason <> '')`, row.NID).Scan(&left); err != nil || left != 0 {
			t.Errorf("%d revisions are left, %v", left, err)
		}
	})
}

// TestMany: the same household by many at once leaves one certificate.
func TestMany(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		r := newRig(t, d)
		ctx := r.owner(t)
		id := r.live(ctx, t, 1)
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() {
				if _, _, err := r.erase.Erase(ctx, erase.Draft{Subject: id, Reason: "x"}); err != nil && fault.CodeOf(err) != "STALE_REVISION" {
					t.Errorf("Erase() = %v", err)
				}
			})
		}
		wg.Wait()
		_, _, fresh := r.run(ctx, t, id)
		row, _ := r.record(ctx, t, id)
		var left int
		if err := d.QueryRow(ctx, `SELECT count(*) FROM entity_history WHERE nid = $1 AND body <> ''`, row.NID).Scan(&left); err != nil || left != 0 || fresh {
			t.Errorf("%d revisions are left, %v, fresh %v", left, err, fresh)
		}
	})
}

// TestCallerLeaves: what has begun is finished.
func TestCallerLeaves(t *testing.T) {
	t.Parallel()
	var leave context.CancelFunc
	r := newRig(t, dbtest.SQLite(t), erase.Eraser{Name: "x", Erase: func(context.Context, *db.Tx, string, string) (int64, error) {
		leave()
		return 0, nil
	}})
	ctx, cancel := context.WithCancel(r.owner(t))
	leave = cancel
	id := r.create(ctx, t, household(1))
	if _, _, err := r.erase.Erase(ctx, erase.Draft{Subject: id, Reason: "x"}); err != nil {
		t.Errorf("Erase() = %v, want it finished", err)
	}
}

// A project whose protocol has personal properties is not erased from under its
// active assets: nothing of it is touched, and later it goes.
func TestNeeded(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		r := newRig(t, d)
		ctx := r.owner(t)
		const kind = "did:ixo:kind/sponsored"
		var draft protocol.Draft
		err := json.Unmarshal([]byte(`{"did":"`+kind+`","type":"Protocol","name":"x","extends":"did:ixo:protocol/project","properties":{"sponsor":{"type":"string","pii":true}}}`), &draft)
		if err == nil {
			_, err = r.protocols.Create(ctx, draft)
		}
		if err == nil {
			_, err = r.protocols.Publish(ctx, kind, "", protocol.Change{})
		}
		if err != nil {
			t.Fatal(err)
		}
		project := r.create(ctx, t, `{"type":"x","protocol":"`+kind+`","properties":{"sponsor":"Amina"},"relationships":[{"role":"implementedBy","target":"did:ixo:org/out"}]}`)
		asset := r.create(ctx, t, `{"type":"x","protocol":"did:ixo:protocol/asset","relationships":[{"role":"generatedBy","target":"`+project+`"}]}`)
		_, _, err = r.erase.Erase(ctx, erase.Draft{Subject: project, Reason: "x"})
		wantCode(t, "a project with an active asset", err, "ACTIVE_DEPENDANTS")
		if _, e := r.record(ctx, t, project); e.Status != entity.StatusActive || !strings.Contains(string(e.Properties.Value), "Amina") {
			t.Errorf("project = %s %s, want it untouched", e.Status, e.Properties.Value)
		}
		r.tx(ctx, t, func(tx *db.Tx) error {
			_, err := r.entities.TransitionTx(ctx, tx, asset, "", entity.Transition{To: entity.StatusCompleted})
			return err
		})
		_, _, err = r.erase.Erase(ctx, erase.Draft{Subject: project, Reason: "x"})
		wantCode(t, "a project without", err, "")
	})
}

// Who lived with whom has ended; in what project, and with which devices, has
// not.
func TestEdgesEnd(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		r := newRig(t, d)
		ctx := r.owner(t)
		org := r.create(ctx, t, `{"type":"x","protocol":"did:ixo:protocol/organisation","properties":{"name":"x"}}`)
		project := r.create(ctx, t, `{"type":"x","protocol":"did:ixo:protocol/project","properties":{"name":"x"},"relationships":[{"role":"implementedBy","target":"`+org+`"}]}`)
		home := r.create(ctx, t, `{"type":"x","protocol":"did:ixo:protocol/household","relationships":[{"role":"partOf","target":"`+project+`"}]}`)
		someone := func() string {
			t.Helper()
			return r.create(ctx, t, `{"type":"x","protocol":"did:ixo:protocol/person","properties":{"name":"A"},"controller":"did:x:else","relationships":[{"role":"household","target":"`+home+`"},{"role":"friend","target":"did:web:elsewhere.example"}]}`)
		}
		person, other := someone(), someone()
		stove := r.create(ctx, t, `{"type":"x","protocol":"did:ixo:protocol/clean-cooking","relationships":[{"role":"household","target":"`+home+`"}]}`)
		edges := func(id string) string {
			t.Helper()
			row, e := r.record(ctx, t, id)
			var out []string
			for _, rel := range e.Relationships {
				out = append(out, rel.Role)
			}
			for _, side := range []relationship.Side{relationship.Out, relationship.In} {
				list, err := side.List(ctx, d, row.NID, 0, 10)
				if err != nil {
					t.Fatal(err)
				}
				out = append(out, fmt.Sprint(len(list)))
			}
			return strings.Join(out, " ")
		}
		if c, _, _ := r.run(ctx, t, person); c.Counts["relationships"] != 2 {
			t.Errorf("counts of the person = %v, want 2 relationships", c.Counts)
		}
		c, text, _ := r.run(ctx, t, home)
		if c.Counts["relationships"] != 1 {
			t.Errorf("counts of the household = %v, want 1 relationship", c.Counts)
		}
		for id, want := range map[string]string{person: "0 0", home: "partOf 0 2", other: "friend 1 0", stove: "household 1 0"} {
			if got := edges(id); got != want {
				t.Errorf("edges of %s = %q, want %q", id, got, want)
			}
		}
		if row, e := r.record(ctx, t, home); row.Project != project || e.Status != entity.StatusDeactivated {
			t.Errorf("household = %s", row.Body)
		}
		if _, again, fresh := r.run(ctx, t, home); fresh || again != text {
			t.Errorf("again = %s", again)
		}
	})
}

// An active twin that cannot do without keeps what it needs, as parents do: the
// erasure is refused and leaves all as it was.
func TestNeededEdgeStays(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		r := newRig(t, d)
		ctx := r.owner(t)
		const kind = "did:ixo:kind/housed"
		var draft protocol.Draft
		err := json.Unmarshal([]byte(`{"did":"`+kind+`","type":"Protocol","domainType":"person","relationships":{"household":"HouseholdEntity"}}`), &draft)
		if err == nil {
			_, err = r.protocols.Create(ctx, draft)
		}
		if err == nil {
			_, err = r.protocols.Publish(ctx, kind, "", protocol.Change{})
		}
		if err != nil {
			t.Fatal(err)
		}
		home := r.create(ctx, t, `{"type":"x","protocol":"did:ixo:protocol/household"}`)
		guest := r.create(ctx, t, `{"type":"x","protocol":"`+kind+`","relationships":[{"role":"household","target":"`+home+`"}]}`)
		if _, _, err := r.erase.Erase(ctx, erase.Draft{Subject: home, Reason: "asked for"}); fault.CodeOf(err) != "ACTIVE_DEPENDANTS" {
			t.Errorf("Erase() = %v, want ACTIVE_DEPENDANTS", err)
		}
		if _, e := r.record(ctx, t, home); e.Status != entity.StatusActive {
			t.Errorf("household = %s", e.Status)
		}
		if _, e := r.record(ctx, t, guest); e.Status != entity.StatusActive || len(e.Relationships) != 1 {
			t.Errorf("guest = %s with %v", e.Status, e.Relationships)
		}
	})
}

// TestPrincipal: entities:erase alone takes nobody's keys or groups away, and a
// refusal leaves everything as it is, also of somebody without a twin.
func TestPrincipal(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		r := newRig(t, d)
		ctx := r.owner(t)
		person := `{"type":"x","protocol":"did:ixo:protocol/person","properties":{"name":"A"}}`
		holder, member, outside := r.create(ctx, t, person), r.create(ctx, t, person), "did:ixo:entity:outside"
		for _, id := range []string{holder, outside} {
			if _, err := r.auth.Create(ctx, auth.Draft{Name: "x", Role: "device", Principal: id}); err != nil {
				t.Fatal(err)
			}
		}
		org := r.create(ctx, t, `{"type":"x","protocol":"did:ixo:protocol/organisation","properties":{"name":"x"}}`)
		if _, err := r.groups.Create(ctx, org, group.Draft{Name: "x", Scopes: []string{"entities:read"}, Members: []string{member}}); err != nil {
			t.Fatal(err)
		}
		clerk := func(scopes ...string) context.Context {
			return web.WithCaller(ctx, web.Caller{Workspace: auth.OperatorWorkspace, DID: amina, Scopes: append(scopes, "entities:erase")})
		}
		for _, id := range []string{holder, member, outside} {
			seen := newest(t, r)
			_, _, err := r.erase.Erase(clerk("keys:write"), erase.Draft{Subject: id, Reason: "x"})
			wantCode(t, id, err, "SCOPE_MISSING")
			if got := since(t, r, seen); len(got) != 0 {
				t.Errorf("a refused erasure of %s has done %q", id, got)
			}
			_, _, err = r.erase.Erase(clerk("keys:write", "devices:*", "entities:read"), erase.Draft{Subject: id, Reason: "x"})
			wantCode(t, id, err, "")
		}
		_, _, err := r.erase.Erase(ctx, erase.Draft{Subject: web.CallerFrom(ctx).DID, Reason: "x"})
		wantCode(t, "the owner", err, "LAST_OWNER")
	})
}
