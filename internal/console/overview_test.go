package console_test

import (
	"net/http"
	"slices"
	"testing"

	"github.com/hearth-dmrv/hearth/api"
	"github.com/hearth-dmrv/hearth/internal/auth"
	"github.com/hearth-dmrv/hearth/internal/console"
	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
	"github.com/hearth-dmrv/hearth/internal/entity"
	"github.com/hearth-dmrv/hearth/internal/entity/protocol"
	"github.com/hearth-dmrv/hearth/internal/entity/search"
	"github.com/hearth-dmrv/hearth/internal/event"
	"github.com/hearth-dmrv/hearth/internal/event/eventtest"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// served is an overview over real areas, and their routes.
func served(t *testing.T, d *db.DB) (*event.Log, http.Handler) {
	t.Helper()
	l := event.New(event.Config{DB: d, Cursors: eventtest.Cursors()})
	p := protocol.New(protocol.Config{DB: d, Events: l, Cursors: eventtest.Cursors()})
	f := search.New(search.Config{DB: d, Protocols: p, Cursors: eventtest.Cursors()})
	e := entity.New(entity.Config{DB: d, Protocols: p, Events: l, Cursors: eventtest.Cursors(), Fields: f.Fields, Expand: f.Expand})
	k := auth.New(auth.Config{DB: d, Cursors: eventtest.Cursors()})
	o := console.NewOverview(console.OverviewConfig{
		DB:      d,
		Names:   []console.Namer{f.Names, p.Names, k.Names},
		Finders: []console.Finder{f.Starting, k.Starting},
	})
	return l, eventtest.Serve(t, p.Routes, e.Routes, f.Routes, o.Routes)
}

// TestNamesOfKeys: whoever may read keys learns what principals are called, all
// others what they themselves are.
func TestNamesOfKeys(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		k := auth.New(auth.Config{DB: d, Cursors: eventtest.Cursors()})
		if _, err := k.Bootstrap(t.Context(), "owner-key-of-the-tests-0123456789"); err != nil {
			t.Fatal(err)
		}
		ctx, err := k.AsOwner(t.Context(), auth.OperatorWorkspace)
		if err != nil {
			t.Fatal(err)
		}
		made := map[string]string{}
		for _, name := range []string{"tablet 4", "tablet 5"} {
			one, err := k.Create(ctx, auth.Draft{Name: name, Scopes: []string{"entities:read"}})
			if err != nil {
				t.Fatal(err)
			}
			made[name] = one.Principal
		}
		ids := []string{made["tablet 4"], made["tablet 5"], "did:ixo:entity:nobody"}
		o := console.NewOverview(console.OverviewConfig{Names: []console.Namer{k.Names}})
		for who, tt := range map[string]struct {
			caller web.Caller
			want   []api.Name
		}{
			"a reader of keys":  {web.Caller{Workspace: auth.OperatorWorkspace, DID: "did:x:y", Scopes: []string{"keys:read"}}, []api.Name{{DID: ids[0], Kind: "key", Name: "tablet 4"}, {DID: ids[1], Kind: "key", Name: "tablet 5"}}},
			"one of them":       {web.Caller{Workspace: auth.OperatorWorkspace, DID: ids[1]}, []api.Name{{DID: ids[1], Kind: "key", Name: "tablet 5"}}},
			"a key of projects": {web.Caller{Workspace: auth.OperatorWorkspace, DID: ids[0], Scopes: []string{"keys:read"}, Projects: []string{"did:x:p"}}, []api.Name{{DID: ids[0], Kind: "key", Name: "tablet 4"}}},
			"another workspace": {web.Caller{Workspace: "else", DID: "did:x:y", Scopes: []string{"*"}}, []api.Name{}},
		} {
			got, err := o.Names(web.WithCaller(t.Context(), tt.caller), ids)
			if err != nil || !slices.Equal(got.Items, tt.want) {
				t.Errorf("%s: %v, %v; want %v", who, got.Items, err, tt.want)
			}
		}
	})
}

func TestRoutes(t *testing.T) {
	t.Parallel()
	for _, file := range []string{"names.json", "search.json", "counts.json"} { // each in a store of its own
		dbtest.Each(t, func(t *testing.T, d *db.DB) {
			l, h := served(t, d)
			eventtest.Cases(t, file, d, l, h)
		})
	}
}
