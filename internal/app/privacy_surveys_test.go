package app_test

import (
	"strings"
	"testing"

	"github.com/hearth-dmrv/hearth/internal/auth"
)

// TestAuditorLearnsNobody: a key with the role auditor reads what there is of a
// survey and learns of no household and no collector; whoever asks to be
// forgotten gets a certificate, though nothing personal was said.
func TestAuditorLearnsNobody(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	ctx, err := h.Auth.AsOwner(t.Context(), "default")
	if err != nil {
		t.Fatal(err)
	}
	auditor, err := h.Auth.Create(ctx, auth.Draft{Name: "audit", Principal: "did:ixo:agent/900", Role: "auditor"})
	if err != nil {
		t.Fatal(err)
	}
	const base = "/v1/surveys/zq.responses"
	for _, path := range []string{
		"/v1/responses/zq.answer", "/v1/responses/zq.answer/history", "/v1/responses/zq.answer/verification", "/v1/responses/zq.answer/verification/history",
		base + "/responses", base + "/households", base + "/flags", base + "/quality", base + "/back-checks", base + "/conflicts", base + "/progress",
	} {
		w := h.as(auditor.Text, "GET", path, "")
		for _, who := range []string{"did:ixo:household", "did:ixo:agent/123"} {
			if w.Code != 200 || strings.Contains(w.Body.String(), who) {
				t.Errorf("GET %s = %d with %s: %s", path, w.Code, who, w.Body)
			}
		}
	}
	const subject = "did:ixo:household/7"
	if w := h.post("/v1/erasures", `{"subject":"`+subject+`","reason":"asked to"}`); w.Code != 201 || !strings.Contains(w.Body.String(), `"answers":`) {
		t.Errorf("erase = %d %s, want a certificate", w.Code, w.Body)
	}
	if w := h.post("/v1/erasures", `{"subject":"`+subject+`","reason":"asked to"}`); w.Code != 200 {
		t.Errorf("erase again = %d %s, want the same certificate", w.Code, w.Body)
	}
	if w := h.post("/v1/erasures", `{"subject":"did:ixo:household/nobody","reason":"asked to"}`); w.Code != 404 {
		t.Errorf("erase of nobody = %d %s, want 404", w.Code, w.Body)
	}
}
