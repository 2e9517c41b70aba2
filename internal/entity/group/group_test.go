package group_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/hearth-dmrv/hearth/internal/auth"
	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
	"github.com/hearth-dmrv/hearth/internal/entity"
	"github.com/hearth-dmrv/hearth/internal/entity/group"
	"github.com/hearth-dmrv/hearth/internal/event/eventtest"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/web"
)

func TestRoutes(t *testing.T) {
	t.Parallel()
	files := []string{"post-groups", "get-groups", "get-members", "put-member", "delete-member", "get-memberships"}
	for _, file := range files {
		t.Run(file, func(t *testing.T) {
			t.Parallel()
			dbtest.Each(t, func(t *testing.T, d *db.DB) {
				r := newRig(t, d)
				eventtest.Cases(t, file+".json", d, r.events, eventtest.Serve(t, r.entities.Routes, r.groups.Routes))
			})
		})
	}
}

func TestDraft(t *testing.T) {
	t.Parallel()
	many := slices.Repeat([]string{"entities:read"}, 101)
	for _, tt := range []struct {
		name string
		in   group.Draft
		want string
	}{
		{"ok", group.Draft{Name: "x", Scopes: []string{"entities:*", "*"}, Members: []string{amina}}, ""},
		{"nothing", group.Draft{}, "/name required"},
		{"spaces", group.Draft{Name: "  "}, "/name required"},
		{"long", group.Draft{Name: strings.Repeat("é", 201)}, "/name too_long"},
		{"two lines", group.Draft{Name: "a\nb"}, "/name control_character"},
		{"words", group.Draft{Name: "x", Scopes: []string{"entities:read", "member", "entities:fly"}}, "/scopes/1 invalid, /scopes/2 invalid"},
		{"too many", group.Draft{Name: "x", Scopes: many, Members: many}, "/scopes too_many, /members too_many"},
		{"members", group.Draft{Name: "x", Members: []string{"amina"}}, "/members/0 invalid"},
	} {
		err := tt.in.Validate()
		var got []string
		if f := fault.As(err); f != nil {
			for _, field := range f.Fields {
				got = append(got, field.Pointer+" "+field.Code)
			}
		}
		if strings.Join(got, ", ") != tt.want {
			t.Errorf("%s: %v, want %q", tt.name, err, tt.want)
		}
	}
}

// TestScopes: what a member has, through every state of its groups.
func TestScopes(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		r := newRig(t, d)
		org, other := r.organisation(t), r.organisation(t)
		want := func(what, scopes string) {
			t.Helper()
			if got := r.scopes(t, amina); got != scopes {
				t.Errorf("%s: scopes = %q, want %q", what, got, scopes)
			}
		}
		want("nobody", "")
		readers := r.make(t, org, group.Draft{Name: "readers", Scopes: []string{"entities:read", "devices:read"}, Members: []string{amina, amina}})
		want("one group", "devices:read entities:read")
		writers := r.make(t, other, group.Draft{Name: "writers", Scopes: []string{"entities:write", "entities:read"}})
		r.add(t, writers, amina)
		r.add(t, writers, amina)
		want("two groups", "devices:read entities:read entities:write")
		inner := r.make(t, writers, group.Draft{Name: "inner", Scopes: []string{"claims:read"}, Members: []string{amina}})
		want("a group in a group", "claims:read devices:read entities:read entities:write")
		r.move(t, writers, entity.StatusSuspended)
		want("suspended with all in it", "devices:read entities:read")
		r.move(t, writers, entity.StatusActive)
		r.move(t, other, entity.StatusSuspended)
		want("organisation suspended", "devices:read entities:read")
		r.move(t, other, entity.StatusActive)
		r.move(t, inner, entity.StatusDeactivated)
		want("the inner one ended", "devices:read entities:read entities:write")
		if _, err := r.groups.Remove(r.owner(t), readers, amina); err != nil {
			t.Fatal(err)
		}
		want("taken out", "entities:read entities:write")
		if s, err := group.ScopesOf(t.Context(), d, web.Caller{Workspace: "kitui", DID: amina}); err != nil || len(s) != 0 {
			t.Errorf("scopes in another workspace = %q, %v, want none", s, err)
		}
	})
}

// TestControlsAs: whose twins a member may change.
func TestControlsAs(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		r := newRig(t, d)
		org := r.organisation(t)
		readers := r.make(t, org, group.Draft{Name: "readers", Scopes: []string{"entities:read"}, Members: []string{amina}})
		get := func() []string {
			t.Helper()
			as, err := group.ControlsAs(t.Context(), d, web.Caller{Workspace: auth.OperatorWorkspace, DID: amina})
			if err != nil {
				t.Fatal(err)
			}
			return as
		}
		if as := get(); len(as) != 0 {
			t.Errorf("a reader controls as %q, want nobody", as)
		}
		writers := r.make(t, org, group.Draft{Name: "writers", Scopes: []string{"entities:*"}, Members: []string{amina}})
		want := []string{org, writers}
		slices.Sort(want)
		if as := get(); !slices.Equal(as, want) {
			t.Errorf("a writer controls as %q, want %q and not %s", as, want, readers)
		}
		twin := r.create(r.owner(t), t, entity.Draft{
			Type: "Device", Protocol: "did:ixo:protocol/template", Controller: org, Properties: object(`{"metricOne":"a"}`),
		})
		row, err := r.entities.Find(r.owner(t), d, twin)
		if err != nil {
			t.Fatal(err)
		}
		wantCode(t, "member of the organisation", r.entities.MayUpdate(r.as(t, amina, "entities:write"), d, row), "")
		wantCode(t, "somebody", r.entities.MayUpdate(r.as(t, baraka, "entities:write"), d, row), "NOT_CONTROLLER")
		r.move(t, writers, entity.StatusSuspended)
		wantCode(t, "of a suspended group", r.entities.MayUpdate(r.as(t, amina, "entities:write"), d, row), "NOT_CONTROLLER")
	})
}

// TestLimits: counts hold through additions, repetitions and removals.
func TestLimits(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		r := newRig(t, d)
		ctx, org := r.owner(t), r.organisation(t)
		g := r.make(t, org, group.Draft{Name: "x"})
		set := func(kind, id string, n int) {
			t.Helper()
			_, err := d.Exec(ctx, `INSERT INTO group_counts(ws, kind, did, n) VALUES ('default', $1, $2, $3)
				ON CONFLICT (ws, kind, did) DO UPDATE SET n = excluded.n`, kind, id, n)
			if err != nil {
				t.Fatal(err)
			}
		}
		set("group", g, 99_999)
		r.add(t, g, amina)
		r.add(t, g, amina) // counts once
		_, err := r.groups.Add(ctx, g, baraka, nil)
		wantCode(t, "one too many", err, "GROUP_FULL")
		for range 2 {
			if _, err := r.groups.Remove(ctx, g, amina); err != nil {
				t.Fatal(err)
			}
		}
		r.add(t, g, baraka) // there is one place again
		set("member", amina, 100)
		_, err = r.groups.Add(ctx, r.make(t, org, group.Draft{Name: "y"}), amina, nil)
		wantCode(t, "in too many groups", err, "TOO_MANY_GROUPS")
		_, err = r.groups.Create(ctx, org, group.Draft{Name: "z", Members: []string{amina}})
		wantCode(t, "made with somebody in too many", err, "TOO_MANY_GROUPS")
	})
}

// TestRaces: many add and remove the same members while the group is closed.
// Counts stay right, and a closed group gives nothing.
func TestRaces(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		r := newRig(t, d)
		ctx, org := r.owner(t), r.organisation(t)
		g := r.make(t, org, group.Draft{Name: "x", Scopes: []string{"entities:read"}})
		var wg sync.WaitGroup
		start := make(chan struct{})
		for i := range 6 {
			wg.Go(func() {
				<-start
				for n := range 8 {
					member := fmt.Sprintf("did:example:m%d", n%3)
					_, err := r.groups.Add(ctx, g, member, nil)
					if i%2 == 1 && err == nil {
						_, err = r.groups.Remove(ctx, g, member)
					}
					if c := fault.CodeOf(err); err != nil && c != "GROUP_CLOSED" {
						t.Errorf("change of members: %v", err)
					}
				}
			})
		}
		wg.Go(func() {
			<-start
			if err := r.tryMove(ctx, g, entity.StatusDeactivated); err != nil {
				t.Errorf("close the group: %v", err)
			}
		})
		close(start)
		wg.Wait()
		_, err := r.groups.Add(ctx, g, amina, nil)
		wantCode(t, "after the end", err, "GROUP_CLOSED")
		members, _, err := r.groups.Members(ctx, g, "", 10)
		if err != nil {
			t.Fatal(err)
		}
		groups, _, err := r.groups.List(ctx, org, "", 10)
		if err != nil {
			t.Fatal(err)
		}
		for _, found := range groups {
			if found.DID == g && found.Members != int64(len(members)) {
				t.Errorf("the group counts %d members, want %d", found.Members, len(members))
			}
		}
		for _, m := range members {
			if got := r.scopes(t, m.Member); got != "" {
				t.Errorf("%s has %q from a closed group", m.Member, got)
			}
		}
	})
}

func TestPages(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		r := newRig(t, d)
		ctx, org := r.owner(t), r.organisation(t)
		g := r.make(t, org, group.Draft{Name: "x"})
		var want []string
		for i := range 7 {
			want = append(want, fmt.Sprintf("did:example:m%d", i))
			r.add(t, g, want[i])
			r.make(t, org, group.Draft{Name: fmt.Sprint("g", i)})
		}
		var got []string
		for after, more := "", true; more; {
			var page []group.Member
			var err error
			if page, more, err = r.groups.Members(ctx, g, after, 3); err != nil {
				t.Fatal(err)
			}
			for _, m := range page {
				got, after = append(got, m.Member), m.Member
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("members = %q, want %q", got, want)
		}
		names := map[string]bool{}
		for after, more := "", true; more; {
			var page []group.Group
			var err error
			if page, more, err = r.groups.List(ctx, org, after, 2); err != nil {
				t.Fatal(err)
			}
			for _, g := range page {
				names[g.Name], after = true, g.DID
			}
		}
		if len(names) != 9 { // members, x and g0 to g6
			t.Errorf("groups = %v, want 9", names)
		}
	})
}

// TestForget: somebody who is erased leaves all groups and the counts.
func TestForget(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		r := newRig(t, d)
		ctx, org := r.owner(t), r.organisation(t)
		for i := range 3 {
			r.make(t, org, group.Draft{Name: fmt.Sprint(i), Scopes: []string{"entities:read"}, Members: []string{amina, baraka}})
		}
		for _, want := range []int64{3, 0} {
			var n int64
			err := d.InTx(ctx, func(tx *db.Tx) (err error) {
				n, err = r.groups.Forget(ctx, tx, auth.OperatorWorkspace, amina)
				return err
			})
			if err != nil || n != want {
				t.Fatalf("Forget() = %d, %v, want %d", n, err, want)
			}
		}
		if a, b := r.scopes(t, amina), r.scopes(t, baraka); a != "" || b != "entities:read" {
			t.Errorf("scopes = %q and %q, want none and entities:read", a, b)
		}
		var left int
		err := d.QueryRow(ctx, `SELECT (SELECT count(*) FROM group_members WHERE member = $1) + (SELECT count(*) FROM group_counts WHERE did = $1)`, amina).Scan(&left)
		if err != nil || left != 0 {
			t.Errorf("%d rows name her, %v", left, err)
		}
	})
}

// A deactivated group stays in the list, told apart by its status.
func TestListTellsStatus(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		r := newRig(t, d)
		org := r.organisation(t)
		old := r.make(t, org, group.Draft{Name: "old"})
		r.move(t, old, entity.StatusDeactivated)
		list, _, err := r.groups.List(r.owner(t), org, "", 10)
		if err != nil || len(list) != 2 {
			t.Fatalf("List() = %+v, %v, want two", list, err)
		}
		for _, g := range list {
			want := entity.StatusActive
			if g.DID == old {
				want = entity.StatusDeactivated
			}
			if g.Status != want {
				t.Errorf("%s is %s, want %s", g.Name, g.Status, want)
			}
		}
	})
}
