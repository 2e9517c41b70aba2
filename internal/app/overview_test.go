package app_test

import (
	"strings"
	"testing"
)

// TestSearchReachesAllAreas: one search finds what every area has, each as far as
// its reader may know.
func TestSearchReachesAllAreas(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	if w := h.put("/v1/entities/"+h.ids["group"]+"/members/did:ixo:person%2Famina", `{}`); w.Code != 200 {
		t.Fatalf("add a member: %d %s", w.Code, w.Body)
	}
	for _, tt := range []struct{ key, q, kind, id string }{
		{owner, "ZQ.RES", "survey", "zq.responses"},
		{owner, "zq.", "response", "zq."},
		{owner, "SPARE", "key", "did:"},
		{owner, "stov", "twin", h.ids["organisation"]},
		{owner, amina, "member", amina},
		{h.read, "zq.res", "survey", "zq.responses"},
	} {
		w := h.as(tt.key, "GET", "/v1/search?q="+tt.q, "")
		if got := w.Body.String(); w.Code != 200 || !strings.Contains(got, `"kind":"`+tt.kind+`","id":"`+tt.id) {
			t.Errorf("%s = %d %s, want the %s %s", tt.q, w.Code, got, tt.kind, tt.id)
		}
		if got := h.as(h.other, "GET", "/v1/search?q="+tt.q, "").Body.String(); !strings.Contains(got, `"items":[]`) {
			t.Errorf("%s elsewhere = %s", tt.q, got)
		}
	}
}
