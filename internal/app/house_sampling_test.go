package app_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/hearth-dmrv/hearth/internal/auth"
)

// houseDesign draws one of two households in each stratum.
const houseDesign = `{"designId":"%","projectId":"did:ixo:entity:123","confidence":0.95,"precision":0.1,` +
	`"stratification":{"method":"fixed","strata":[{"name":"rural","sampleSize":1},{"name":"urban","sampleSize":1}]}}`

const houseFrame = `{"csv":"household,stratum\ndid:ixo:household/1,rural\ndid:ixo:household/2,rural\ndid:ixo:household/3,urban\ndid:ixo:household/4,urban\n"}`

// houseTable is the same frame as a file.
const houseTable = "household,stratum\ndid:ixo:household/1,rural\ndid:ixo:household/2,rural\ndid:ixo:household/3,urban\ndid:ixo:household/4,urban\n"

// furnishSampling puts sample designs into the house: one with a frame, one that
// is drawn, and one that somebody else has made and committed.
func (h *house) furnishSampling(t *testing.T) {
	t.Helper()
	ctx, err := h.Auth.AsOwner(t.Context(), "default")
	if err != nil {
		t.Fatal(err)
	}
	other, err := h.Auth.Create(ctx, auth.Draft{Name: "office", Principal: "did:ixo:agent/office", Role: "manager"})
	if err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct{ key, id, path, body string }{
		{owner, "zq.design", "/frame", houseFrame},
		{owner, "zq.drawn", "/frame", houseFrame},
		{other.Text, "zq.second", "/frame", strings.Replace(houseFrame, "household/4", "household/5", 1)},
		{other.Text, "zq.second", "/commit", `{"second":{"source":"party"}}`},
	} {
		if step.path == "/frame" {
			if w := h.as(step.key, "POST", "/v1/sampling/designs", strings.Replace(houseDesign, "%", step.id, 1)); w.Code != 201 {
				t.Fatalf("design %s: %d %s", step.id, w.Code, w.Body)
			}
		}
		if w := h.as(step.key, "POST", "/v1/sampling/designs/"+step.id+step.path, step.body); w.Code != 201 {
			t.Fatalf("%s of %s: %d %s", step.path, step.id, w.Code, w.Body)
		}
	}
	for seed := range 100 { // until household 1 is drawn, which the example replaces
		w := h.post("/v1/sampling/designs/zq.drawn/draw", fmt.Sprintf(`{"seed":"%d","reason":"house"}`, seed))
		if w.Code != 201 {
			t.Fatalf("draw: %d %s", w.Code, w.Body)
		}
		h.ids["draw"] = read[struct {
			DrawID string `json:"drawId"`
		}](w).DrawID
		if w := h.as(owner, "GET", "/v1/sampling/designs/zq.drawn/draw/units", ""); strings.Contains(w.Body.String(), `"did:ixo:household/1"`) {
			return
		}
	}
	t.Fatal("household 1 is never drawn")
}

// designPart is the design of the house that a route works on.
func designPart(route string) string {
	last := route[strings.LastIndex(route, "/")+1:]
	switch last {
	case "approve", "contribute", "file":
		return "zq.second"
	case "replacements", "verify", "record", "units", "draw":
		return "zq.drawn"
	}
	return "zq.design"
}
