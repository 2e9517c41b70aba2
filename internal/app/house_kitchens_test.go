package app_test

import (
	"strings"
	"testing"
)

// furnishKitchens puts a kitchen performance test into the house, of a household
// on the list of a survey that has not begun, and a survey of another project.
func (h *house) furnishKitchens(t *testing.T) {
	t.Helper()
	const home = "did:ixo:household/kitchen"
	h.ids["kpt"], h.ids["surveyed project"] = "zq.kpt", "did:ixo:entity:zqsurveyed"
	for _, step := range []struct{ path, body string }{
		{"/v1/surveys/zq.survey/households", `{"items":[{"householdId":"` + home + `"}]}`},
		{"/v1/kpt", `{"id":"zq.kpt","projectId":"did:ixo:entity:123","householdId":"` + home + `","testGroup":"reference",
			"testPeriod":{"startDate":"2024-02-01","endDate":"2024-02-04"},"fuelMeasurements":{"total":12,"dailyLogs":[4,4,4]}}`},
		{"/v1/surveys", strings.NewReplacer("%", "zq.elsewhere", "did:ixo:entity:123", h.ids["surveyed project"]).Replace(houseSurvey)},
	} {
		if w := h.post(step.path, step.body); w.Code >= 300 {
			t.Fatalf("POST %s: %d %s", step.path, w.Code, w.Body)
		}
	}
}
