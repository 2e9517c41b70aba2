package entity_test

import (
	"fmt"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
	"github.com/hearth-dmrv/hearth/internal/entity"
	"github.com/hearth-dmrv/hearth/internal/event/eventtest"
	"github.com/hearth-dmrv/hearth/internal/web"
)

func TestRoutesOfParts(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		v := newEnv(t, d)
		eventtest.Cases(t, "parts.json", d, v.l, v.h)
	})
}

// page reads one page of a list.
func (v *env) page(t testing.TB, path string) web.Page[entity.ListedRelationship] {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), "GET", path, nil)
	r.Header.Set("Authorization", "Bearer ws owner")
	w := httptest.NewRecorder()
	v.h.ServeHTTP(w, r)
	var p web.Page[entity.ListedRelationship]
	if err := json.Unmarshal(w.Body.Bytes(), &p); err != nil || w.Code != 200 {
		t.Fatalf("%s = %d %s, %v", path, w.Code, w.Body, err)
	}
	return p
}

// walk follows a list to its end.
func (v *env) walk(t testing.TB, path string) (items []entity.ListedRelationship, pages int) {
	t.Helper()
	cursor := ""
	for {
		p := v.page(t, path+cursor)
		items, pages = append(items, p.Items...), pages+1
		if !p.Page.HasMore {
			return items, pages
		}
		cursor = "&cursor=" + p.Page.NextCursor
	}
}

// Every page size and filter gives every relationship once, oldest first, from both
// sides at once.
func TestListOfRelationships(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		v := newEnv(t, d)
		ctx := web.WithCaller(t.Context(), web.Caller{Workspace: "ws", DID: "did:key:owner", Scopes: []string{"*"}})
		create := func(id string, rel ...entity.RelationDraft) {
			t.Helper()
			if _, err := v.s.Create(ctx, entity.Draft{DID: id, Type: "x", Protocol: "did:ixo:protocol/template", Relationships: rel}); err != nil {
				t.Fatal(err)
			}
		}
		create("did:ixo:hub:1")
		const edges = 120
		for i := range edges {
			if i%3 == 0 {
				create(fmt.Sprintf("did:ixo:x:%d", i), entity.RelationDraft{Role: "likes", Target: "did:ixo:hub:1"})
				continue
			}
			_, err := v.s.Relate(ctx, "did:ixo:hub:1", entity.RelationDraft{Role: fmt.Sprintf("role%d", i%2), Target: fmt.Sprintf("did:ixo:y:%d", i)})
			if err != nil {
				t.Fatal(err)
			}
		}
		for _, tt := range []struct {
			query string
			want  int
		}{
			{"?limit=1000", edges},
			{"?limit=7", edges},
			{"?limit=1", edges},
			{"?limit=40", edges},
			{"?direction=out&limit=9", 80},
			{"?direction=in&limit=9", 40},
			{"?role=likes&limit=7", 40},
			{"?role=role1&limit=40", 40},
			{"?role=role1&direction=in", 0},
			{"?role=none&limit=1", 0},
		} {
			items, _ := v.walk(t, "/v1/entities/did:ixo:hub:1/relationships"+tt.query)
			if len(items) != tt.want {
				t.Errorf("%s gives %d edges, want %d", tt.query, len(items), tt.want)
			}
			if !slices.IsSortedFunc(items, func(a, b entity.ListedRelationship) int { return strings.Compare(a.ID, b.ID) }) {
				t.Errorf("%s is not in order", tt.query)
			}
			ids := map[string]bool{}
			for _, it := range items {
				ids[it.ID] = true
			}
			if len(ids) != len(items) {
				t.Errorf("%s repeats edges", tt.query)
			}
		}
	})
}
