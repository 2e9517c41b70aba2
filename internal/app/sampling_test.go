package app_test

import (
	"strings"
	"testing"
	"time"
)

// TestFramesHoldNothingPersonal: a frame is published, so that a query cannot make
// what a protocol marks as personal the stratum or cluster of households.
func TestFramesHoldNothingPersonal(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	startProgramme(t, h.Built)
	h.post("/v1/entities", `{"type":"Household","protocol":"did:ixo:protocol/household","properties":{"name":"Amina Canary","district":"Kitui"}}`)
	const design = "/v1/sampling/designs/frames"
	if w := h.post("/v1/sampling/designs", `{"designId":"frames","projectId":"did:ixo:project/elsewhere","confidence":0.9,"precision":0.1,"expectedMean":0.8}`); w.Code != 201 {
		t.Fatalf("design: %d %s", w.Code, w.Body)
	}
	if w := h.post(design+"/frame", `{"registry":{"filter":"eq(domainType"}}`); w.Code != 400 || !strings.Contains(w.Body.String(), `"/registry/filter"`) {
		t.Errorf("a bad filter: %d %s", w.Code, w.Body)
	}
	for property, want := range map[string]string{"name": "FRAME_INVALID: The property name is personal", "district": `"state":"frozen"`} {
		if w := h.post(design+"/frame", `{"registry":{"cluster":"`+property+`"}}`); w.Code != 202 {
			t.Fatalf("frame by %s: %d %s", property, w.Code, w.Body)
		}
		frame := func() string { return h.as(owner, "GET", design+"/frame", "").Body.String() }
		tick := time.NewTicker(20 * time.Millisecond)
		for strings.Contains(frame(), `"state":"building"`) {
			<-tick.C
		}
		tick.Stop()
		if got := frame(); !strings.Contains(got, want) || strings.Contains(got, "Amina") {
			t.Errorf("frame by %s: %s, want %s", property, got, want)
		}
	}
}
