package bulk_test

import (
	"net/url"
	"testing"
	"time"

	"github.com/hearth-dmrv/hearth/internal/entity/bulk"
	"github.com/hearth-dmrv/hearth/internal/job"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// ids are those of all items of a list, a page of two at a time.
func listed[T any](t *testing.T, r *rig, c call, id func(T) string) []string {
	t.Helper()
	out, path, cursor := []string{}, c.path, ""
	for {
		var p web.Page[T]
		c.path = path + "&limit=2" + cursor
		r.do(t, c, 200, &p)
		for _, one := range p.Items {
			out = append(out, id(one))
		}
		if !p.Page.HasMore {
			return out
		}
		cursor = "&cursor=" + p.Page.NextCursor
	}
}

// Imports and exports are listed newest first, by status, and to those only who
// may know of them. Their jobs lead to them.
func TestLists(t *testing.T) {
	both(t, func(t *testing.T, r *rig) {
		r.start(t)
		var imports, exports []string
		for i := range 5 {
			file := "type,protocol,properties.name\nHousehold," + household + ",A\n"
			if i == 3 {
				file = "type,type\n" // broken as a whole
			}
			id := r.upload(t, url.Values{}, csvType, file)
			r.wait(t, id)
			imports = append([]string{id}, imports...)
			exports = append([]string{r.export(t, bulk.ExportDraft{Format: "csv"}).ID}, exports...)
		}
		idOf := func(i bulk.Import) string { return i.ID }
		same(t, "imports", listed(t, r, call{path: "/v1/imports?"}, idOf), imports)
		same(t, "failed imports", listed(t, r, call{path: "/v1/imports?status=failed"}, idOf), imports[1:2])
		same(t, "running imports", listed(t, r, call{path: "/v1/imports?status=running"}, idOf), []string{})
		same(t, "imports of another workspace", listed(t, r, call{path: "/v1/imports?", ws: "else"}, idOf), []string{})
		same(t, "exports", listed(t, r, call{path: "/v1/exports?"}, func(e bulk.Export) string {
			if e.Links.File == "" || e.ExpiresAt.IsZero() || e.Rows == 0 {
				t.Errorf("export in a list = %+v, want its file", e)
			}
			return e.ID
		}), exports)
		same(t, "exports of another workspace", listed(t, r, call{path: "/v1/exports?", ws: "else"}, func(e bulk.Export) string { return e.ID }), []string{})
		same(t, "jobs", listed(t, r, call{path: "/v1/jobs?kind=entity.import"}, func(j job.Job) string { return j.Links.About }), prefixed("/v1/imports/", imports))
		same(t, "jobs of exports", listed(t, r, call{path: "/v1/jobs?kind=entity.export"}, func(j job.Job) string { return j.Links.About }), prefixed("/v1/exports/", exports))
		r.forward(25 * time.Hour)
		var p web.Page[bulk.Export]
		if r.do(t, call{path: "/v1/exports?limit=1"}, 200, &p); p.Items[0].Links.File != "" {
			t.Errorf("export after a day = %+v, want no file", p.Items[0])
		}
		r.do(t, call{path: "/v1/imports?status=over"}, 400, nil)
		r.do(t, call{path: "/v1/exports?cursor=x"}, 400, nil)
	})
}

func prefixed(with string, all []string) []string {
	out := make([]string, len(all))
	for i, one := range all {
		out[i] = with + one
	}
	return out
}

func same(t *testing.T, what string, got, want []string) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s: %d, want %d", what, len(got), len(want))
	}
	for i := range got {
		if got[i] != want[i] {
			t.Errorf("%s: number %d is %q, want %q", what, i, got[i], want[i])
		}
	}
}
