package app_test

import (
	"fmt"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/hearth-dmrv/hearth/internal/auth"
	"github.com/hearth-dmrv/hearth/internal/event/eventtest"
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

// TestLogNamesNoCollector: with the id of a response the log of events would
// tell an auditor who is behind the name of its collector. Who has verified it
// is no secret.
func TestLogNamesNoCollector(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	ctx, err := h.Auth.AsOwner(t.Context(), "default")
	if err != nil {
		t.Fatal(err)
	}
	const collector, verifier = "did:ixo:agent/123", "did:ixo:agent/800"
	keys := map[string]string{}
	for role, who := range map[string]string{"auditor": "did:ixo:agent/900", "collector": collector, "verifier": verifier} {
		k, err := h.Auth.Create(ctx, auth.Draft{Name: role, Principal: who, Role: role})
		if err != nil {
			t.Fatal(err)
		}
		keys[role] = k.Text
	}
	for path, done := range map[string][2]string{
		"/v1/surveys/zq.outcome/households/" + url.PathEscape(listed) + "/outcome": {"collector", `{"outcome":"contacted"}`},
		"/v1/responses/zq.answer/verification":                                     {"verifier", fmt.Sprintf(`{"status":"rejected","reason":"the picture is of another stove","revision":%v}`, h.record(t, "/v1/responses/zq.answer")["revision"])},
	} {
		if w := h.as(keys[done[0]], "POST", path, done[1]); w.Code >= 300 {
			t.Fatalf("POST %s = %d %s", path, w.Code, w.Body)
		}
	}
	const types = "/v1/changes?limit=1000&types=response.submitted,survey.outcome_set"
	if w := h.as(owner, "GET", types, ""); strings.Count(w.Body.String(), `"actor":"`+collector) != 2 {
		t.Errorf("owner: GET %s = %s, want the collector twice", types, w.Body)
	}
	for path, want := range map[string]string{
		types: `"actor":"withheld"`, "/v1/changes?limit=1000": verifier, "/v1/audit?limit=1000": verifier, "/v1/audit?subject=zq.answer": verifier,
		"/v1/audit?actor=" + collector: `"items":[]`, "/v1/changes?filter=eq(actor," + url.QueryEscape(collector) + ")": `"items":[]`,
	} {
		if w := h.as(keys["auditor"], "GET", path, ""); w.Code != 200 || strings.Contains(w.Body.String(), collector) || !strings.Contains(w.Body.String(), want) {
			t.Errorf("auditor: GET %s = %d %s, want %s and no collector", path, w.Code, w.Body, want)
		}
	}
	srv := httptest.NewServer(h.Handler)
	t.Cleanup(srv.Close)
	s := eventtest.Open(t, srv.URL+"/v1/events?after=0&types=response.submitted", "", "", map[string]string{"Authorization": "Bearer " + keys["auditor"]})
	if f, ok := s.Next(t); !ok || !strings.Contains(f.Data, `"actor":"withheld"`) || strings.Contains(f.Data, collector) {
		t.Errorf("stream = %+v, %v, want no collector", f, ok)
	}
	s.Cut()
}
