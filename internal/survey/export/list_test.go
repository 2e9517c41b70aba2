package export_test

import (
	"testing"

	"github.com/hearth-dmrv/hearth/internal/job"
	"github.com/hearth-dmrv/hearth/internal/survey/export"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// The exports of a survey are listed newest first. The job of each leads to it,
// and a file with personal data has no address for those who may not read it.
func TestListOfExports(t *testing.T) {
	both(t, func(t *testing.T, r *rig) {
		r.start(t)
		r.answer(t, "r1", 1, `{"size":2}`)
		first := r.export(t, "owner", `{"format":"csv","pii":"full"}`)
		second := r.export(t, "owner", `{"format":"ndjson"}`)
		for role, files := range map[string][2]bool{"owner": {true, true}, "auditor": {true, false}} {
			var p web.Page[export.Export]
			r.do(t, role+" GET /v1/surveys/s/exports", "", 200, &p)
			if len(p.Items) != 2 || p.Items[0].ID != second.ID || p.Items[1].ID != first.ID {
				t.Fatalf("%s: %+v, want %s and %s", role, p.Items, second.ID, first.ID)
			}
			for i, want := range files {
				if got := p.Items[i].Links.File != ""; got != want {
					t.Errorf("%s: file of %s is told: %t, want %t", role, p.Items[i].PII, got, want)
				}
			}
		}
		var jobs web.Page[job.Job]
		r.do(t, "owner GET /v1/jobs?kind=survey.export&limit=1", "", 200, &jobs)
		if got, want := jobs.Items[0].Links.About, "/v1/surveys/s/exports/"+second.ID; got != want {
			t.Errorf("job is about %q, want %q", got, want)
		}
		var none web.Page[export.Export]
		if r.do(t, "owner GET /v1/surveys/s/exports?status=failed", "", 200, &none); len(none.Items) != 0 {
			t.Errorf("failed exports = %+v", none.Items)
		}
		r.do(t, "owner GET /v1/surveys/nothing/exports", "", 404, nil)
		if w := r.h.Send(t, "else owner", "GET /v1/surveys/s/exports", ""); w.Code != 404 {
			t.Errorf("another workspace: %d, want 404", w.Code)
		}
	})
}
