package emission_test

import (
	"encoding/json"
	"maps"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/hearth-dmrv/hearth/api"
	"github.com/hearth-dmrv/hearth/internal/emission"
	"github.com/hearth-dmrv/hearth/internal/fault"
)

func replace(text, old, now string) string { return strings.Replace(text, old, now, 1) }

// fields lists what is wrong: "pointer code".
func fields(err error) []string {
	var out []string
	if f := fault.As(err); f != nil {
		for _, x := range f.Fields {
			out = append(out, x.Pointer+" "+x.Code)
		}
	}
	slices.Sort(out)
	return out
}

func num(v float64) *float64 { return &v }

func given(v float64, unit string) api.EmissionInput {
	return api.EmissionInput{EmissionMember: api.EmissionMember{Value: &v, Unit: unit}}
}

func chosen(word string) api.EmissionInput {
	return api.EmissionInput{EmissionMember: api.EmissionMember{Choice: word}}
}

// Everything that is wrong is named at once, with its pointer.
func TestInputsAreNamed(t *testing.T) {
	t.Parallel()
	fuel := func(d api.EmissionDraft, i int) map[string]api.EmissionMember { return d.Inputs["fuels"].Items[i] }
	for _, tt := range []struct {
		name   string
		change func(d *api.EmissionDraft)
		want   []string
	}{
		{"a mass for an energy", func(d *api.EmissionDraft) { fuel(*d, 0)["ncv"] = api.EmissionMember{Value: num(15), Unit: "kg/t"} }, []string{"/inputs/fuels/items/0/ncv/unit wrong_dimension"}},
		{"consumption of nobody", func(d *api.EmissionDraft) { d.Inputs["householdSize"] = given(5, "") }, []string{"/inputs/householdSize/unit wrong_dimension"}},
		{"an unknown unit", func(d *api.EmissionDraft) { d.Inputs["disseminated"] = given(5, "furlong") }, []string{"/inputs/disseminated/unit unknown_unit"}},
		{"an estimate of another dimension", func(d *api.EmissionDraft) {
			d.Estimates["project"] = api.EmissionEstimate{Value: num(2), Unit: "kWh/household/yr", N: num(60), SD: num(1)}
		}, []string{"/estimates/project/unit wrong_dimension"}},
		{"no such estimate", func(d *api.EmissionDraft) { delete(d.Estimates, "project") }, []string{"/inputs/activityConsumption/estimate not_found"}},
		{"negative, too much, missing and unknown", func(d *api.EmissionDraft) {
			d.Inputs["baselineUsage"], d.Inputs["downwardAdjustment"], d.Inputs["a/b"] = given(-0.1, ""), given(101, "%"), given(1, "")
			delete(d.Inputs, "lifetime")
		}, []string{"/inputs/a~1b unknown", "/inputs/baselineUsage/value out_of_range", "/inputs/downwardAdjustment/value out_of_range", "/inputs/lifetime required"}},
		{"no number at all", func(d *api.EmissionDraft) {
			d.Inputs["baselineUsage"], d.Inputs["disseminated"] = given(math.NaN(), ""), given(math.Inf(1), "device")
			d.Inputs["householdSize"] = given(0, "person/household")
		}, []string{"/inputs/baselineUsage/value out_of_range", "/inputs/disseminated/value out_of_range", "/inputs/householdSize/value out_of_range"}},
		{"a sample of one", func(d *api.EmissionDraft) {
			m := fuel(*d, 0)["consumption"]
			m.N = num(1)
			fuel(*d, 0)["consumption"] = m
		}, []string{"/inputs/fuels/items/0/consumption/n out_of_range"}},
		{"no sample", func(d *api.EmissionDraft) {
			fuel(*d, 0)["consumption"] = api.EmissionMember{Value: num(4), Unit: "t/household/yr"}
		}, []string{"/inputs/fuels/items/0/consumption sample_required"}},
		{"nobody says how many", func(d *api.EmissionDraft) { delete(d.Inputs, "baselineSampled") }, []string{"/inputs/fuels/items/0/consumption/n required", "/inputs/fuels/items/1/consumption/n required"}},
		{"an interval at 95 %", func(d *api.EmissionDraft) {
			fuel(*d, 0)["consumption"] = api.EmissionMember{Value: num(4), Unit: "t/household/yr", Interval: &api.EmissionInterval{Low: num(5), High: num(6), Confidence: num(0.95)}}
		}, []string{"/inputs/fuels/items/0/consumption/interval out_of_range", "/inputs/fuels/items/0/consumption/interval/confidence out_of_range"}},
		{"shares above 1", func(d *api.EmissionDraft) { fuel(*d, 0)["share"] = api.EmissionMember{Value: num(0.7)} }, []string{"/inputs/fuels out_of_range"}},
		{"one fuel twice", func(d *api.EmissionDraft) { fuel(*d, 1)["fuel"] = api.EmissionMember{Choice: "wood"} }, []string{"/inputs/fuels/items/1/fuel duplicate"}},
		{"a fuel that is not listed", func(d *api.EmissionDraft) {
			d.Inputs["fuels"] = api.EmissionInput{Items: d.Inputs["fuels"].Items[1:]}
		}, []string{"/inputs/activityFuel not_found"}},
		{"no fuels", func(d *api.EmissionDraft) { d.Inputs["fuels"] = api.EmissionInput{} }, []string{"/inputs/fuels/items out_of_range"}},
		{"a list for a number", func(d *api.EmissionDraft) { d.Inputs["baselineUsage"] = d.Inputs["fuels"] }, []string{"/inputs/baselineUsage/items unexpected"}},
		{"a sample for a plain number", func(d *api.EmissionDraft) {
			d.Inputs["disseminated"] = api.EmissionInput{EmissionMember: api.EmissionMember{Value: num(5), Unit: "device", N: num(4)}}
		}, []string{"/inputs/disseminated unexpected"}},
		{"no index", func(d *api.EmissionDraft) { d.Inputs["monitoring"] = chosen("manual") }, []string{"/inputs/hawthorne required"}},
		{"no events", func(d *api.EmissionDraft) { d.Inputs["monitoring"] = chosen("sums") }, []string{"/inputs/eventsObserved required", "/inputs/eventsUnobserved required"}},
		{"a wrong word", func(d *api.EmissionDraft) { d.Inputs["monitoring"] = chosen("guess") }, []string{"/inputs/monitoring/choice invalid"}},
		{"days that are none", func(d *api.EmissionDraft) { d.Period = api.EmissionPeriod{From: "2026-02-30"} }, []string{"/period/from invalid", "/period/to invalid"}},
		{"backwards", func(d *api.EmissionDraft) { d.Period.To = "2026-08-31" }, []string{"/period/to out_of_range"}},
		{"six years", func(d *api.EmissionDraft) { d.Period.To = "2032-08-31" }, []string{"/period/to out_of_range"}},
		{"a tonne carried on", func(d *api.EmissionDraft) { d.Carried = &api.EmissionAmount{Value: num(1), Unit: "tCO2e"} }, []string{"/carried/value out_of_range"}},
		{"carried in kWh", func(d *api.EmissionDraft) { d.Carried = &api.EmissionAmount{Value: num(1), Unit: "kWh"} }, []string{"/carried/unit wrong_dimension"}},
		{"options", func(d *api.EmissionDraft) { d.Options = &api.EmissionOptions{T: "3", Tail: "both"} }, []string{"/options/t invalid", "/options/tail invalid"}},
	} {
		d := golden(t, "smec")
		tt.change(&d)
		c, err := emission.Calculate(d)
		if got := fields(err); fault.CodeOf(err) != "EMISSION_INPUT_INVALID" || !slices.Equal(got, tt.want) || c != nil {
			t.Errorf("%s: %v %q, want %q", tt.name, err, got, tt.want)
		}
	}
	for _, at := range []string{"/module", "/version"} {
		d := golden(t, "smec")
		if at == "/module" {
			d.Module = "x"
		}
		d.Version = "9"
		if _, err := emission.Calculate(d); fault.CodeOf(err) != "EMISSION_MODULE_UNKNOWN" || !slices.Equal(fields(err), []string{at + " not_found"}) {
			t.Errorf("%s: %v", at, err)
		}
	}
}

// Units of one dimension come to the same digits.
func TestConversionsAreExact(t *testing.T) {
	t.Parallel()
	want := calculate(t, golden(t, "mecd"))
	for name, in := range map[string]api.EmissionInput{
		"energy": given(492750, "kWh"), "gridFactor": given(0.412, "kgCO2e/kWh"), "gridLosses": given(10.41, "%"), "specificBaseline": given(2.402, "GJ/test/capita"),
		"specificActivity": given(276, "MJ/test/person"), "meterError": given(0.015, "1"), "consumptionCap": given(5000000.0/365, "kg/person/day"),
	} {
		d := golden(t, "mecd")
		d.Inputs[name] = in
		c, err := emission.Calculate(d)
		if name == "consumptionCap" {
			if !slices.Equal(fields(err), []string{"/inputs/consumptionCap/unit wrong_dimension"}) {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		if err != nil || !reflect.DeepEqual(c.Steps, want.Steps) || !reflect.DeepEqual(c.Result, want.Result) {
			t.Errorf("%s in another unit: %v, %v, want the same steps", name, err, c)
		}
	}
}

// Whole tonnes are issued by calendar year; what is left is carried on, and comes
// back as it was.
func TestYears(t *testing.T) {
	t.Parallel()
	d := draft(t, `{"module":"fuel-factor","period":{"from":"2023-12-31","to":"2024-12-31"},"carried":{"value":0.75,"unit":"tCO2e"},
		"inputs":{"quantity":{"value":1.0001,"unit":"t"},"factor":{"value":10,"unit":"tCO2e/t"}}}`)
	c := calculate(t, d)
	want := []api.EmissionYear{
		{Year: 2023, Days: 1, Amount: 0.02732513, Brought: 0.75, Issued: 0, Carried: 0.77732513},
		{Year: 2024, Days: 366, Amount: 9.97367487, Brought: 0.77732513, Issued: 10, Carried: 0.751},
	}
	if !reflect.DeepEqual(c.Result.Years, want) || c.Result.Issued != 10 || c.Result.Carried != 0.751 {
		t.Errorf("years %+v, issued %d, carried %v, want %+v", c.Result.Years, c.Result.Issued, c.Result.Carried, want)
	}
	// Ten times a tenth of a tonne is one tonne.
	d.Period.From = "2024-01-01"
	d.Inputs["quantity"], d.Carried = given(0.01, "t"), nil
	var issued int64
	for range 10 {
		c = calculate(t, d)
		issued += c.Result.Issued
		d.Carried = &api.EmissionAmount{Value: &c.Result.Carried, Unit: "tCO2e"}
	}
	if issued != 1 || c.Result.Carried != 0 {
		t.Errorf("%d tonnes and %v, want 1 and 0", issued, c.Result.Carried)
	}
}

// What else the rules of SMEC come to.
func TestSMECRules(t *testing.T) {
	t.Parallel()
	t.Run("minimum service level", func(t *testing.T) {
		t.Parallel()
		d := golden(t, "smec")
		d.Inputs["approach"] = chosen("serviceLevel")
		wants(t, calculate(t, d), map[string]float64{"P_wood": 2.5, "P_wood_adj": 2.375, "P_charcoal": 0.65, "P_charcoal_adj": 0.6175})
	})
	t.Run("caps", func(t *testing.T) {
		t.Parallel()
		d := golden(t, "smec")
		d.Inputs["householdSize"] = given(2, "person/household")
		c := calculate(t, d)
		wants(t, c, map[string]float64{"P_wood_adj": 2.5, "P_charcoal_adj": 0.8})
		if decided(c, "cap", "P_wood") != "capped" || decided(c, "cap", "P_charcoal") != "capped" {
			t.Errorf("decisions %+v", c.Decisions)
		}
	})
	t.Run("durable devices, half a year, Hawthorne", func(t *testing.T) {
		t.Parallel()
		d := golden(t, "smec")
		d.Period = api.EmissionPeriod{From: "2026-01-01", To: "2026-03-14"} // 73 days, a fifth of a year
		d.Inputs["lifetime"], d.Inputs["monitoring"] = chosen("durable"), chosen("sums")
		d.Inputs["eventsUnobserved"], d.Inputs["eventsObserved"] = given(2, "event/day"), given(2.5, "event/day")
		c := calculate(t, d)
		diff := 413.09386120252 / 5
		wants(t, c, map[string]float64{"LE_embodied": 0.34, "HE": 0.8, "D": diff, "ER": diff*0.8 - 0.34 - diff*0.02})
	})
	t.Run("intervals", func(t *testing.T) {
		t.Parallel()
		d := golden(t, "smec")
		d.Estimates["project"] = api.EmissionEstimate{Value: num(2), Unit: "t/household/yr", Interval: &api.EmissionInterval{Low: num(1.9), High: num(2.4), Confidence: num(0.9)}}
		d.Inputs["activityUsage"] = api.EmissionInput{EmissionMember: api.EmissionMember{Value: num(0.92), Interval: &api.EmissionInterval{Low: num(0.7), High: num(1.1), Confidence: num(0.9)}}}
		d.Inputs["baselineUsage"] = api.EmissionInput{EmissionMember: api.EmissionMember{Value: num(0), N: num(10), SD: num(0)}}
		c := calculate(t, d)
		wants(t, c, map[string]float64{"prec_P_p": 0.125, "P_p_stat": 2.4, "U_p_max": 1, "BE": 0, "D": 0, "ER": 0})
		if decided(c, "difference", "D") != "none" || decided(c, "reductions", "ER") != "none" || c.Result.Issued != 0 {
			t.Errorf("decisions %+v", c.Decisions)
		}
	})
	t.Run("too large for the methodology", func(t *testing.T) {
		t.Parallel()
		d := golden(t, "smec")
		d.Inputs["baselineHouseholds"], d.Inputs["activityHouseholds"] = given(50_000, "household"), given(50_000, "household")
		if c := calculate(t, d); decided(c, "scale", "ER") != "exceeded" {
			t.Errorf("decisions %+v", c.Decisions)
		}
	})
}

// What else the rules of MECD come to.
func TestMECDRules(t *testing.T) {
	t.Parallel()
	base := calculate(t, golden(t, "mecd"))
	for _, tt := range []struct {
		name    string
		change  func(d *api.EmissionDraft)
		golden  map[string]float64
		decided [3]string
	}{
		{"cap", func(d *api.EmissionDraft) { d.Inputs["users"] = given(600, "person") }, map[string]float64{"EG_adj": 3, "BE_unc": 3 * 96.93945}, [3]string{"cap", "EG_b", "capped"}},
		{"meter error", func(d *api.EmissionDraft) { d.Inputs["meterError"] = given(3, "%") }, map[string]float64{"EG_p_adj": 1.7739 * 1.03, "AE": 224.1466533 * 1.03}, [3]string{"meter", "EG_p", "raised"}},
		{"business as usual", func(d *api.EmissionDraft) { d.Inputs["businessAsUsual"] = given(1000, "tCO2e") }, map[string]float64{"BE": 1000}, [3]string{"businessAsUsual", "BE", "capped"}},
		{"fNRB of before", func(d *api.EmissionDraft) {
			d.Inputs["fuels"].Items[0]["nonRenewableBefore"] = api.EmissionMember{Value: num(0.8)}
		}, map[string]float64{"EF_wood": 112*0.8 + 10.96}, [3]string{"fNRB", "fNRB_wood", "capped"}},
		{"drift", func(d *api.EmissionDraft) { d.Inputs["surveyedShare"] = given(0.7, "") }, map[string]float64{"drift": 0.125}, [3]string{"drift", "s_plan", "recalculate"}},
		{"few report", func(d *api.EmissionDraft) { d.Inputs["coverage"] = given(94, "%") }, nil, [3]string{"coverage", "c", "not_met"}},
		{"de minimis", func(d *api.EmissionDraft) { d.Inputs["marketLeakage"] = chosen("deMinimis") }, map[string]float64{"LE": 25.5}, [3]string{"leakage", "LE_market", "de_minimis"}},
		{"declared as missed", func(d *api.EmissionDraft) {
			d.Inputs["ratioPrecision"], d.Inputs["ratioLow"] = chosen("missed"), given(8, "")
		}, map[string]float64{"R_stat": 8}, [3]string{"precision", "R", "lower_bound"}},
		{"tested", func(d *api.EmissionDraft) { sampled(d, 0.0002, 0.00003) }, map[string]float64{
			"se_R": math.Sqrt(math.Pow(0.0002/0.002402, 2)/30 + math.Pow(0.00003/0.000276, 2)/30), "t_R": 1.6991,
		}, [3]string{"precision", "R", "met"}},
		{"declared as met, and missed by the samples", func(d *api.EmissionDraft) {
			sampled(d, 0.0006, 0.0001)
			d.Inputs["ratioPrecision"] = chosen("met")
		}, nil, [3]string{"precision", "R", "lower_bound"}},
		{"tested and missed", func(d *api.EmissionDraft) { sampled(d, 0.0006, 0.0001) }, nil, [3]string{"precision", "R", "lower_bound"}},
	} {
		d := golden(t, "mecd")
		tt.change(&d)
		c := calculate(t, d)
		if got := decided(c, tt.decided[0], tt.decided[1]); got != tt.decided[2] {
			t.Errorf("%s: %s, want %s", tt.name, got, tt.decided[2])
		}
		for symbol, want := range tt.golden {
			if got := value(t, c, symbol); math.Abs(got-want) > 1e-6 {
				t.Errorf("%s: %s = %v, want %v", tt.name, symbol, got, want)
			}
		}
		if c.Result.Reductions > base.Result.Reductions+1e-9 && tt.name != "de minimis" {
			t.Errorf("%s: %v, more than without the rule", tt.name, c.Result.Reductions)
		}
	}
	d := golden(t, "mecd")
	d.Inputs["ratioPrecision"] = chosen("sampled")
	delete(d.Inputs, "users")
	delete(d.Inputs, "surveyedShare")
	if _, err := emission.Calculate(d); !slices.Equal(fields(err), []string{"/inputs/surveyedShare required", "/inputs/users required"}) {
		t.Errorf("halves of pairs: %v", fields(err))
	}
}

func sampled(d *api.EmissionDraft, sdBaseline, sdActivity float64) {
	d.Inputs["ratioPrecision"] = chosen("sampled")
	for name, sd := range map[string]float64{"specificBaseline": sdBaseline, "specificActivity": sdActivity} {
		in := d.Inputs[name]
		in.N, in.SD = num(30), num(sd)
		d.Inputs[name] = in
	}
}

// The tables say what is read: each unit and each choice of the inputs is one.
func TestModulesAreDescribed(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, m := range emission.Modules() {
		if seen[m.Module+m.Version] || m.Title == "" || m.Methodology == "" || m.About == "" || len(m.Not) == 0 || len(m.Units) == 0 || len(m.Inputs) == 0 {
			t.Errorf("%s %s is not described", m.Module, m.Version)
		}
		seen[m.Module+m.Version] = true
		for _, c := range m.Constants {
			if c.Source == "" || c.About == "" || c.Value <= 0 {
				t.Errorf("%s: constant %+v", m.Module, c)
			}
		}
		for _, f := range m.Inputs {
			if f.About == "" || f.Kind == "list" && len(f.Items) == 0 || f.Kind == "choice" && len(f.Choices) < 2 {
				t.Errorf("%s: input %+v", m.Module, f)
			}
		}
	}
	if len(seen) < 4 {
		t.Errorf("%d modules", len(seen))
	}
}

// FuzzCalculate: whatever comes in, what comes out is finite and not negative, or
// a fault that names fields.
func FuzzCalculate(f *testing.F) {
	for _, name := range []string{"smec", "mecd"} {
		f.Add(name == "smec", uint8(0), 0.0, 0.0, 0.0, "")
		f.Add(name == "smec", uint8(3), math.Inf(1), 1e-300, -1.0, "kg")
		f.Add(name == "smec", uint8(7), 1e15, 1.0, 2.0, "%")
	}
	f.Fuzz(func(t *testing.T, first bool, at uint8, v, n, sd float64, unit string) {
		name := map[bool]string{true: "smec", false: "mecd"}[first]
		d := golden(t, name)
		names := slices.Sorted(maps.Keys(d.Inputs))
		key := names[int(at)%len(names)]
		in := d.Inputs[key]
		switch {
		case in.Items != nil:
			item := in.Items[int(at)%len(in.Items)]
			inner := slices.Sorted(maps.Keys(item))
			k := inner[int(at/3)%len(inner)]
			m := item[k]
			m.Value, m.N, m.SD = &v, orNil(n), orNil(sd)
			if unit != "" {
				m.Unit = unit
			}
			item[k] = m
		default:
			in.Value, in.N, in.SD = &v, orNil(n), orNil(sd)
			if unit != "" {
				in.Unit = unit
			}
			d.Inputs[key] = in
		}
		d.Inputs["disseminated"] = given(math.Abs(sd), "device")
		c, err := emission.Calculate(d)
		if err != nil {
			if len(fields(err)) == 0 {
				t.Fatalf("%v names nothing", err)
			}
			return
		}
		sound(t, c)
	})
}

func orNil(v float64) *float64 {
	if v == 0 {
		return nil
	}
	return &v
}

// sound wants every number of an answer to be finite and not negative.
func sound(t *testing.T, c *api.EmissionCalculation) {
	t.Helper()
	text, err := json.Marshal(c) // refuses what is no number
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range c.Steps {
		if !(s.Value >= 0) || math.IsInf(s.Value, 0) {
			t.Errorf("%s = %v in %s", s.Symbol, s.Value, text)
		}
	}
	sum := 0.0
	for _, y := range c.Result.Years {
		sum += y.Amount
		if y.Amount < 0 || y.Issued < 0 || !(y.Carried >= 0 && y.Carried < 1) {
			t.Errorf("year %+v", y)
		}
	}
	if r := c.Result.Reductions; sum > r*(1+1e-12) || r-sum > 1e-7+1e-12*r {
		t.Errorf("years make %v of %v", sum, r)
	}
}
