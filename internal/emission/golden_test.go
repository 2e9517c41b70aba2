package emission_test

import (
	"math"
	"os"
	"testing"

	"github.com/hearth-dmrv/hearth/api"
)

func golden(t testing.TB, name string) api.EmissionDraft {
	t.Helper()
	text, err := os.ReadFile("testdata/" + name + ".json")
	if err != nil {
		t.Fatal(err)
	}
	return draft(t, string(text))
}

// The public test data of SMEC 4.0: wood meets 90/10, charcoal and the activity
// miss it.
func TestSMEC(t *testing.T) {
	t.Parallel()
	c := calculate(t, golden(t, "smec"))
	wants(t, c, map[string]float64{
		"n_P_wood": 48, "n_P_charcoal": 32,
		"SE_P_wood": 0.21650635094611, "t_P_wood": 1.6779, "MOE_P_wood": 0.36327600625248, "prec_P_wood": 0.08072800138944,
		"SE_P_charcoal": 0.26516504294496, "t_P_charcoal": 1.6955, "MOE_P_charcoal": 0.44958733031317, "prec_P_charcoal": 0.32113380736655,
		"P_charcoal_stat": 0.95041266968683, "P_wood_max": 6.25, "P_charcoal_max": 2, "P_wood_adj": 4.5, "P_charcoal_adj": 0.95041266968683,
		"N_wood": 300, "N_charcoal": 200, "EF_wood": 0.8595, "EF_charcoal": 1.93275,
		"BE_unadj": 1531.3455, "BE_unc": 1374.9363157207, "BE_adj": 1306.18949993466, "BE": 1306.18949993466, "ΔBE": 68.746815786035,
		"SE_P_p": 0.1549193338483, "t_P_p": 1.6711, "MOE_P_p": 0.25888569879389, "prec_P_p": 0.12944284939694, "P_p_stat": 2.25888569879389,
		"AE": 893.09563873214, "HE": 1, "D": 413.09386120252, "LE_embodied": 8.5, "LE_market": 8.26187722405, "LE": 16.76187722405, "ER": 396.33198397847,
	})
	for symbol, want := range map[string]string{"P_wood": "met", "P_charcoal": "lower_bound", "P_p": "upper_bound", "U_b": "not_tested", "U_p": "not_tested"} {
		if got := decided(c, "precision", symbol); got != want {
			t.Errorf("precision of %s: %s, want %s", symbol, got, want)
		}
	}
	if decided(c, "cap", "P_wood") != "" || decided(c, "study", "P_wood") != "required" {
		t.Errorf("decisions: %+v", c.Decisions)
	}
	r := c.Result
	if math.Abs(r.Reductions-396.33198398) > 1e-8 || r.Issued != 396 || math.Abs(*r.Baseline-1306.18949993) > 1e-8 ||
		math.Abs(*r.Activity-893.09563873) > 1e-8 || math.Abs(*r.Leakage-16.76187722) > 1e-8 {
		t.Errorf("result: %+v", r)
	}
}

// With Student's t in full the same data come to a little less.
func TestSMECWithFullT(t *testing.T) {
	t.Parallel()
	d := golden(t, "smec")
	d.Options = &api.EmissionOptions{T: "full"}
	if c := calculate(t, d); math.Abs(c.Result.Reductions-396.33078910) > 1e-8 {
		t.Errorf("reductions %.10f, want 396.33078910", c.Result.Reductions)
	}
	d.Options = &api.EmissionOptions{Tail: "one"}
	c := calculate(t, d)
	if got := value(t, c, "t_P_wood"); got != 1.2998 {
		t.Errorf("one-sided t = %v, want 1.2998", got)
	}
	if c.Result.Reductions <= 396.4 || decided(c, "precision", "P_p") != "upper_bound" && decided(c, "precision", "P_p") != "met" {
		t.Errorf("narrower bounds come to %v", c.Result.Reductions)
	}
}

// The fixture of a verified programme with 1,500 induction stoves.
func TestMECD(t *testing.T) {
	t.Parallel()
	c := calculate(t, golden(t, "mecd"))
	wants(t, c, map[string]float64{
		"EF_wood": 104.4464, "EF_naturalGas": 64.393, "EF_lpg": 69.99, "EF_b": 96.93945, "R": 0.002402 / 0.000276,
		"EG_b": 1.7739 * 0.002402 / 0.000276, "EG_max": 30, "drift": 0, "LE_embodied": 25.5,
	})
	for _, tt := range []struct {
		name      string
		got, want float64
	}{
		{"BE", *c.Result.Baseline, 1496.5581835}, {"AE", *c.Result.Activity, 224.1466533}, {"LE", *c.Result.Leakage, 50.9482306}, {"ER", c.Result.Reductions, 1221.4632995},
	} {
		if math.Abs(tt.got-tt.want) > 5e-8 { // they are published with seven decimals
			t.Errorf("%s = %.10f, want %.7f", tt.name, tt.got, tt.want)
		}
	}
	if c.Result.Issued != 1221 || decided(c, "precision", "R") != "declared_met" || decided(c, "coverage", "c") != "met" || decided(c, "drift", "s_plan") != "stands" {
		t.Errorf("%d tonnes, decisions %+v", c.Result.Issued, c.Decisions)
	}
}

// 30 kg of fuel at 10.94 kg a kilogram.
func TestFactor(t *testing.T) {
	t.Parallel()
	c := calculate(t, draft(t, `{"module":"fuel-factor","period":{"from":"2026-01-01","to":"2026-01-31"},
		"inputs":{"quantity":{"value":30,"unit":"kg"},"factor":{"value":10.94,"unit":"kgCO2e/kg"}}}`))
	if got := value(t, c, "E"); got != 328.2 {
		t.Errorf("E = %v, want exactly 328.2", got)
	}
	if c.Result.Reductions != 0.3282 || c.Result.Issued != 0 || c.Result.Carried != 0.3282 || c.Result.Baseline != nil {
		t.Errorf("result %+v", c.Result)
	}
}

func TestHousehold(t *testing.T) {
	t.Parallel()
	const month = `{"module":"household-use","period":{"from":"2024-02-01","to":"2024-02-29"},"inputs":{"fuel":{"choice":"charcoal"},
		"consumption":{"value":40,"unit":"kg/month"},"observed":{"value":14.5,"unit":"day"},"stoves":{"items":[%]}}}`
	with := func(stoves string) *api.EmissionCalculation {
		t.Helper()
		return calculate(t, draft(t, replace(month, "%", stoves)))
	}
	mass, factor := 40*12*29.0/365, 0.0295*(112*0.3+5.865)
	for _, tt := range []struct {
		name, stoves string
		share        float64
	}{
		{"half of the hours of before", `{"use":{"value":29,"unit":"h"}}`, 0.5},
		{"more than before", `{"use":{"value":100,"unit":"h"}}`, 1},
		{"both are watched", `{"use":{"value":30,"unit":"h"}},{"use":{"value":10,"unit":"h"},"kind":{"choice":"traditional"}}`, 0.75},
		{"the old one alone", `{"use":{"value":10,"unit":"h"},"kind":{"choice":"traditional"}}`, 0},
		{"nobody cooked", `{"use":{"value":0,"unit":"h"}},{"use":{"value":0,"unit":"h"},"kind":{"choice":"traditional"}}`, 0},
	} {
		c := with(tt.stoves)
		wants(t, c, map[string]float64{
			"EF": factor, "M_b": mass, "BE": mass * factor, "s": tt.share, "M_saved": mass * tt.share / 2, "ER": mass * factor * tt.share / 2,
			"AE": mass * factor * (1 - tt.share/2),
		})
		if t.Failed() {
			t.Fatal(tt.name)
		}
	}
}
