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
		{"ws manager", strings.Replace(body, `5000`, `1e10`, 1), 400, "from 1 to 1000000000."},
		{"ws manager", extreme(`"expectedMean":1e-300,"expectedSD":1e90,"precision":0.1`), 400, `"/precision"`},
		{"ws manager", extreme(`"expectedMean":5,"expectedSD":1e200,"precision":0.1`), 400, `"/expectedSD"`},
		{"ws manager", extreme(`"expectedSD":1,"marginOfError":1e-200`), 200, `"calculatedSize":5000`},
		{"ws collector", body, 403, "SCOPE_MISSING"},
	} {
		w := surveytest.Server{Handler: mux}.Send(t, tt.who, "POST /v1/sampling?dryRun=true", tt.body)
		if w.Code != tt.status || !strings.Contains(w.Body.String(), tt.want) {
			t.Errorf("%s as %s = %d %s, want %d %s", tt.body, tt.who, w.Code, w.Body, tt.status, tt.want)
		}
	}
	for _, target := range []string{`"precision":1e-300`, `"marginOfError":1e-12`} { // without a population
		w := surveytest.Server{Handler: mux}.Send(t, "ws manager", "POST /v1/sampling/designs", `{"projectId":"`+project+`","confidence":0.9,`+target+`}`)
		if w.Code != 400 || !strings.Contains(w.Body.String(), "No population is large enough") {
			t.Errorf("%s = %d %s, want it refused", target, w.Code, w.Body)
		}
	}
	if kept, _, err := v.s.List(manager(t), "", 0, 10); err != nil || len(kept) != 0 {
		t.Errorf("%d designs are kept, %v", len(kept), err)
	}
}

// extreme is a design for a mean of 5,000 households.
func extreme(target string) string {
	return `{"projectId":"` + project + `","population":5000,"confidence":0.9,"parameterType":"mean",` + target + `}`
}
