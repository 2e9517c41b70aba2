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

// TestErasedStaysErased: surveys take nobody who was erased, also of whom they
// knew nothing; whose erasure was refused they take.
func TestErasedStaysErased(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	const list = "/v1/surveys/zq.responses/households"
	made := h.post("/v1/households", `{"did":"did:ixo:entity:0123456789abcdef0123456789abcdef","location":{"district":"XYZ"}}`)
	if made.Code != 201 {
		t.Fatalf("household = %d %s", made.Code, made.Body)
	}
	for _, tt := range []struct {
		subject     string
		erased, add int
	}{
		{"did:ixo:entity:0123456789abcdef0123456789abcdef", 201, 409},
		{"did:ixo:household/nobody", 404, 200},
	} {
		if w := h.post("/v1/erasures", `{"subject":"`+tt.subject+`","reason":"asked to"}`); w.Code != tt.erased {
			t.Errorf("erasure of %s = %d %s, want %d", tt.subject, w.Code, w.Body, tt.erased)
		}
		if w := h.post(list, `{"items":[{"householdId":"`+tt.subject+`"}]}`); w.Code != tt.add {
			t.Errorf("list of %s = %d %s, want %d", tt.subject, w.Code, w.Body, tt.add)
		}
	}
}
