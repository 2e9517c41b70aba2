package app_test

import (
	"strings"
	"testing"
)

// TestEraseWhoIsOnlyListed: a household that is on the list of a survey, and of
// which nothing else is known, can be erased, once.
func TestEraseWhoIsOnlyListed(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	const subject = "did:ixo:household/listed-only"
	if w := h.post("/v1/surveys/zq.responses/households", `{"items":[{"householdId":"`+subject+`"}]}`); w.Code != 200 {
		t.Fatalf("list = %d %s", w.Code, w.Body)
	}
	for i, want := range []int{201, 200} {
		w := h.post("/v1/erasures", `{"subject":"`+subject+`","reason":"asked to"}`)
		if w.Code != want || !strings.Contains(w.Body.String(), `"survey lists":1`) {
			t.Errorf("erasure %d = %d %s, want %d with what was removed", i+1, w.Code, w.Body, want)
		}
	}
}
