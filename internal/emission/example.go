package emission

import "github.com/hearth-dmrv/hearth/api"

// Example is the calculation of the public test data of SMEC 4.0: a baseline of
// wood and charcoal, of which the charcoal misses 90/10, compared with wood
// stoves.
func Example() api.EmissionDraft {
	return api.EmissionDraft{
		Module: "gs-smec", Version: "4.0", Period: api.EmissionPeriod{From: "2026-09-01", To: "2027-08-31"},
		Inputs: map[string]api.EmissionInput{
			"approach":            word("kpt"),
			"baselineHouseholds":  value(500, "household"),
			"baselineUsage":       value(0.9, ""),
			"householdSize":       value(5, "person/household"),
			"baselineSampled":     value(80, "household"),
			"downwardAdjustment":  value(5, "%"),
			"fuels":               {Items: fuels()},
			"activityHouseholds":  value(500, "household"),
			"activityUsage":       value(0.92, ""),
			"activityFuel":        word("wood"),
			"activityConsumption": {EmissionMember: api.EmissionMember{Estimate: "project test"}},
			"disseminated":        value(500, "device"),
			"lifetime":            word("short"),
			"monitoring":          word("dmrv"),
		},
		Estimates: map[string]api.EmissionEstimate{
			"project test": {Value: to(2), Unit: "t/household/yr", N: to(60), SD: to(1.2), Source: "Project kitchen performance test, 2027"},
		},
	}
}

func fuels() []map[string]api.EmissionMember {
	return []map[string]api.EmissionMember{
		{
			"fuel": {Choice: "wood"}, "share": {Value: to(0.6)}, "consumption": {Value: to(4.5), Unit: "t/household/yr", SD: to(1.5)},
			"co2": {Value: to(119.5), Unit: "tCO2e/TJ"}, "nonCO2": {Value: to(9.5), Unit: "tCO2e/TJ"}, "ncv": {Value: to(15), Unit: "GJ/t"}, "nonRenewable": {Value: to(0.4)},
		},
		{
			"fuel": {Choice: "charcoal"}, "share": {Value: to(0.4)}, "consumption": {Value: to(1400), Unit: "kg/household/yr", SD: to(1500)},
			"co2": {Value: to(116.5), Unit: "tCO2e/TJ"}, "nonCO2": {Value: to(12), Unit: "tCO2e/TJ"}, "ncv": {Value: to(0.03), Unit: "TJ/t"}, "nonRenewable": {Value: to(0.45)},
		},
	}
}

func to(v float64) *float64 { return &v }

func value(v float64, unit string) api.EmissionInput {
	return api.EmissionInput{EmissionMember: api.EmissionMember{Value: &v, Unit: unit}}
}

func word(choice string) api.EmissionInput {
	return api.EmissionInput{EmissionMember: api.EmissionMember{Choice: choice}}
}
