package sampling_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
	"github.com/hearth-dmrv/hearth/internal/survey/surveytest"
)

// TestDryRun has a size computed for those who may make designs, and nothing kept.
func TestDryRun(t *testing.T) {
	t.Parallel()
	v := newEnv(t, dbtest.SQLite(t))
	mux := http.NewServeMux()
	v.api.Mount(mux)
	const body = `{"projectId":"` + project + `","population":5000,"confidence":0.95,"precision":0.05,"expectedMean":0.8,"dropoutRate":0.15}`
	for _, tt := range []struct {
		who, body string
		status    int
		want      string
	}{
		{"ws manager", body, 200, `"calculatedSize":357,"adjustedSize":420`},
		{"ws manager", strings.Replace(body, `0.95`, `95`, 1), 400, "/confidence"},
		{"ws manager", strings.Replace(body, `"population":5000,`, "", 1), 422, "/population"},
		{"ws collector", body, 403, "SCOPE_MISSING"},
	} {
		w := surveytest.Server{Handler: mux}.Send(t, tt.who, "POST /v1/sampling?dryRun=true", tt.body)
		if w.Code != tt.status || !strings.Contains(w.Body.String(), tt.want) {
			t.Errorf("%s as %s = %d %s, want %d %s", tt.body, tt.who, w.Code, w.Body, tt.status, tt.want)
		}
	}
	if kept, _, err := v.s.List(manager(t), "", 0, 10); err != nil || len(kept) != 0 {
		t.Errorf("%d designs are kept, %v", len(kept), err)
	}
}
