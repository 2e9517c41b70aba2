package search_test

import (
	"context"
	"math"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/hearth-dmrv/hearth/api"
	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
	"github.com/hearth-dmrv/hearth/internal/entity"
	"github.com/hearth-dmrv/hearth/internal/entity/search"
	"github.com/hearth-dmrv/hearth/internal/event/eventtest"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// home is a household at a place.
func home(t *testing.T, lat, lon float64) entity.Draft {
	return entity.Draft{Type: "Household", Protocol: household, Properties: object(t, map[string]any{
		"name": "Achieng", "location": map[string]any{"district": "Kisumu", "coordinates": map[string]any{"lat": lat, "lon": lon}},
	})}
}

// reader is somebody who reads twins and nothing personal.
func reader(t *testing.T, ws string) context.Context {
	c := eventtest.Caller(ws, "owner")
	c.Scopes = []string{"entities:read"}
	return web.WithCaller(t.Context(), c)
}

// points asks for a map that must be given.
func (v *env) points(t *testing.T, c context.Context, q entity.Query, in *search.Box) api.Points {
	t.Helper()
	p, err := v.s.Points(c, v.d, q, in)
	if err != nil {
		t.Fatalf("Points(%+v, %+v): %v", q, in, err)
	}
	return p
}

// TestPointsOfAWorkspace has places in every way records hold them.
func TestPointsOfAWorkspace(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		v := newEnv(t, d)
		c := ctx(t, "ws")
		project := v.store(t, c, entity.Draft{Type: "Project", Protocol: project})[0].DID
		mine := home(t, -0.09123, 34.76789)
		mine.Relationships = []entity.RelationDraft{{Role: "project", Target: project}}
		stove := entity.Draft{Type: "Stove", Protocol: cooking, Metadata: object(t, map[string]any{"location": map[string]any{"type": "Point", "coordinates": []float64{36.8, -1.28}}})}
		nowhere := entity.Draft{Type: "Household", Protocol: household, Properties: object(t, map[string]any{"location": map[string]any{"district": "Kisumu"}})}
		rows := v.store(t, c, mine, stove, nowhere, home(t, 95, 34), home(t, -17.5, 179.9))
		v.store(t, ctx(t, "other"), home(t, 1, 2))

		all := v.points(t, c, entity.Query{}, nil)
		want := []api.Point{
			{DID: rows[4].DID, Type: "Household", Status: "active", Lat: -17.5, Lon: 179.9},
			{DID: rows[1].DID, Type: "Stove", Status: "active", Lat: -1.28, Lon: 36.8},
			{DID: rows[0].DID, Type: "Household", Status: "active", Lat: -0.09123, Lon: 34.76789},
		}
		if !slices.Equal(all.Items, want) || len(all.Clusters) > 0 || all.Truncated || all.Rounded {
			t.Errorf("all = %+v, want %+v", all, want)
		}
		for name, tt := range map[string]struct {
			c    context.Context
			q    entity.Query
			in   *search.Box
			want []api.Point
		}{
			"type":                 {c: c, q: entity.Query{Type: "Stove"}, want: want[1:2]},
			"status":               {c: c, q: entity.Query{Status: "suspended"}, want: want[:0]},
			"project":              {c: c, q: entity.Query{Project: project}, want: want[2:]},
			"key of a project":     {c: ctx(t, "ws", project), want: want[2:]},
			"key of another":       {c: ctx(t, "ws", "did:ixo:entity:none"), want: want[:0]},
			"box":                  {c: c, in: &search.Box{West: 34, South: -1, East: 35, North: 0}, want: want[2:]},
			"box with a type":      {c: c, q: entity.Query{Type: "Stove"}, in: &search.Box{West: 34, South: -1, East: 35, North: 0}, want: want[:0]},
			"edge of a box":        {c: c, in: &search.Box{West: 36.8, South: -1.28, East: 36.8, North: -1.28}, want: want[1:2]},
			"across the date line": {c: c, in: &search.Box{West: 179, South: -20, East: -179, North: 90}, want: want[:1]},
			"the other way round":  {c: c, in: &search.Box{West: -179, South: -90, East: 179, North: 90}, want: want[1:]},
		} {
			if got := v.points(t, tt.c, tt.q, tt.in); !slices.Equal(got.Items, tt.want) || got.Truncated {
				t.Errorf("%s: %+v, want %+v", name, got, tt.want)
			}
		}
	})
}

// TestPointsAreRounded: whoever may not read where a household is learns it to
// about a kilometre, also by asking for small boxes.
func TestPointsAreRounded(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		v := newEnv(t, d)
		v.store(t, ctx(t, "ws"), home(t, -0.09123, 34.76789))
		c := reader(t, "ws")
		if got := v.points(t, c, entity.Query{}, nil); len(got.Items) != 1 || !got.Rounded || got.Items[0].Lat != -0.09 || got.Items[0].Lon != 34.77 {
			t.Errorf("a reader gets %+v, want -0.09, 34.77", got)
		}
		exact := &search.Box{West: 34.7678, South: -0.0913, East: 34.7680, North: -0.0912}
		if got := v.points(t, c, entity.Query{}, exact); len(got.Items) != 0 {
			t.Errorf("a small box around the place tells a reader that it is there: %+v", got)
		}
		if got := v.points(t, ctx(t, "ws"), entity.Query{}, exact); len(got.Items) != 1 {
			t.Errorf("a small box gives %+v to whoever may see it, want one", got)
		}
		v.s.SetMap(100, 0) // everything is a cluster
		if got := v.points(t, c, entity.Query{}, nil); len(got.Clusters) != 1 || got.Clusters[0] != (api.PointCluster{Lat: -0.09, Lon: 34.77, N: 1}) {
			t.Errorf("clusters for a reader = %+v, want the rounded place", got.Clusters)
		}
	})
}

// TestPointsAreBounded: what is more than a map holds comes as clusters, and what
// is more than may be looked at is said to be missing.
func TestPointsAreBounded(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		v := newEnv(t, d)
		c := ctx(t, "ws")
		var drafts []entity.Draft
		for i := range 60 {
			drafts = append(drafts, home(t, float64(i%6), 177+float64(i%6))) // the last three would be past 180
		}
		for i := range drafts {
			if i%6 > 3 {
				drafts[i] = home(t, float64(i%6), -183+float64(i%6))
			}
		}
		v.store(t, c, drafts...)
		v.s.SetMap(60, 60)
		if got := v.points(t, c, entity.Query{}, nil); len(got.Items) != 60 || got.Truncated {
			t.Errorf("%d points, truncated %v; want all 60 and no more", len(got.Items), got.Truncated)
		}
		v.s.SetMap(60, 59)
		in := &search.Box{West: 170, South: -10, East: -170, North: 10}
		got := v.points(t, c, entity.Query{Type: "Household"}, in)
		if len(got.Items) != 0 || got.Truncated {
			t.Errorf("%d points beside clusters, truncated %v", len(got.Items), got.Truncated)
		}
		sum := 0
		for _, one := range got.Clusters {
			if sum += one.N; one.N != 10 || math.Abs(one.Lon) > 180 {
				t.Errorf("cluster %+v, want 10 on the globe", one)
			}
		}
		if len(got.Clusters) != 6 || sum != 60 {
			t.Errorf("clusters = %+v, want 6 of 10", got.Clusters)
		}
		v.s.SetMap(59, 100)
		for _, q := range []entity.Query{{}, {Type: "Household"}} {
			if got := v.points(t, c, q, nil); len(got.Items) != 59 || !got.Truncated {
				t.Errorf("%+v: %d points, truncated %v; want the newest 59, and truncated", q, len(got.Items), got.Truncated)
			}
		}
	})
}

// TestPointsNameWhatIsWrong reads parameters as clients send them.
func TestPointsNameWhatIsWrong(t *testing.T) {
	t.Parallel()
	v := newEnv(t, dbtest.SQLite(t))
	for box, want := range map[string]string{
		"":           "", // an empty value is nobody's box
		"1,2,3":      "west, south, east and north",
		"x,2,3,4":    "West must be",
		"1,-91,3,4":  "South must be",
		"1,2,181,4":  "East must be",
		"1,2,3,NaN":  "North must be",
		"1,4,3,2":    "South must not be more than north",
		"1,2,3,4,5":  "west, south, east and north",
		"1,2,3,+Inf": "North must be",
	} {
		var got struct {
			Code   string      `json:"code"`
			Errors []api.Field `json:"errors"`
		}
		v.send(t, call{method: "GET", path: "/v1/entities:points?bbox=" + url.QueryEscape(box), ws: "ws", want: 400}, &got)
		if got.Code != "INVALID_PARAMETER" || len(got.Errors) != 1 || got.Errors[0].Pointer != "query/bbox" || !strings.Contains(got.Errors[0].Detail, want) {
			t.Errorf("bbox=%s: %+v, want query/bbox %s", box, got, want)
		}
	}
	for _, query := range []string{"status=sleeping", "project=x", "colour=red"} {
		v.send(t, call{method: "GET", path: "/v1/entities:points?" + query, ws: "ws", want: 400}, nil)
	}
	v.send(t, call{method: "GET", path: "/v1/entities:points?bbox=170,-20,-170,20&type=Household&status=active", ws: "ws", want: 200}, nil)
}
