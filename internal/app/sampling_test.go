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

// TestTargetsComeFromProtocols: a survey for a methodology that is a protocol has
// the precision which that asks for, and no other.
func TestTargetsComeFromProtocols(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	const method = "did:ixo:protocol/smec"
	if w := h.post("/v1/protocols", `{"did":"`+method+`","type":"Protocol","claimTypes":{"fuelUse":{"verification":{"precision":{"confidence":0.9,"precision":2,"onMiss":"both"}}}}}`); w.Code != 400 ||
		!strings.Contains(w.Body.String(), "precision/onMiss") || !strings.Contains(w.Body.String(), "precision/precision") {
		t.Errorf("a precision that cannot be: %d %s", w.Code, w.Body)
	}
	for _, step := range [][2]string{
		{"/v1/protocols", `{"did":"` + method + `","type":"Protocol","claimTypes":{"fuelUse":{"verification":{"precision":
			{"confidence":0.9,"precision":0.1,"parameterType":"mean","onMiss":"lower","limit":0.3}}}}}`},
		{"/v1/protocols/" + strings.ReplaceAll(method, "/", "%2F") + "/publish", `{}`},
	} {
		if w := h.post(step[0], step[1]); w.Code >= 300 {
			t.Fatalf("%s: %d %s", step[0], w.Code, w.Body)
		}
	}
	survey := func(sampling, methodology string) (int, string) {
		w := h.post("/v1/surveys", `{"type":"BaselineSurvey","projectId":"did:ixo:entity:123","template":{"socioEconomicData":true},
			"methodology":`+methodology+`,"sampling":{"method":"simple_random","size":100`+sampling+`}}`)
		return w.Code, w.Body.String()
	}
	of := `{"id":"` + method + `"}`
	code, body := survey("", of)
	for _, want := range []string{`"confidence":0.9`, `"precision":0.1`, `"parameterType":"mean"`, `"onMiss":"lower"`, `"missLimit":0.3`} {
		if code != 201 || !strings.Contains(body, want) {
			t.Errorf("%d %s, want %s", code, body, want)
		}
	}
	for sampling, want := range map[string]string{
		`,"confidence":0.95`: "requires 0.9, but the survey has 0.95", `,"parameterType":"proportion"`: "requires mean, but the survey has proportion", `,"onMiss":"upper"`: "/sampling/onMiss",
	} {
		if code, body := survey(sampling, of); code != 400 || !strings.Contains(body, want) {
			t.Errorf("%s: %d %s, want %s", sampling, code, body, want)
		}
	}
	if code, body := survey("", `{"id":"`+method+`","claimType":"none"}`); code != 400 || !strings.Contains(body, "fuelUse") {
		t.Errorf("another type of claims: %d %s", code, body)
	}
	if code, body := survey("", `{"id":"did:ixo:protocol/elsewhere"}`); code != 201 {
		t.Errorf("a protocol of another registry: %d %s", code, body)
	}
}
