package device

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/hearth-dmrv/hearth/api"
	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/emission"
	"github.com/hearth-dmrv/hearth/internal/entity"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/web"
)

const (
	maxAnalysis = 366    // days
	maxDayRows  = 20_000 // days of devices one analysis looks at
	hourMS      = 60 * 60 * 1000
)

const daysInHome = `SELECT day, device, part, stove, readings, expected, cooking FROM device_days
	WHERE ws = $1 AND household = $2 AND household <> '' AND day >= $3 AND day <= $4 ORDER BY day, device, part LIMIT $5`

// analyses calculates what households have saved.
type analyses struct{ *Service }

func (s analyses) serve(ctx context.Context, in *struct{ Body api.HouseholdAnalysisDraft }) (*api.HouseholdAnalysis, error) {
	return s.Analyse(ctx, in.Body)
}

// Analyse calculates what a household has saved in a period: from what it burnt
// before, and the days of its devices. Faults: ANALYSIS_INVALID, ENTITY_NOT_FOUND,
// BASELINE_MISSING, READINGS_MISSING.
func (s analyses) Analyse(ctx context.Context, d api.HouseholdAnalysisDraft) (*api.HouseholdAnalysis, error) {
	from, to, err := analysed(d)
	if err != nil {
		return nil, err
	}
	t, err := s.find(ctx, s.db, d.HouseholdID, householdIs)
	if err != nil {
		return nil, err
	}
	if err := s.cfg.Entities.See(ctx).Entity(ctx, s.db, t.e); err != nil {
		return nil, err
	}
	ask, err := asked(householdOf(t.e).Baseline)
	if err != nil {
		return nil, err
	}
	u, err := s.uses(ctx, t, from, to)
	if err != nil {
		return nil, err
	}
	first, last := moment(from*dayMS).Format(time.DateOnly), moment(to*dayMS).Format(time.DateOnly)
	ask.Period = api.EmissionPeriod{From: first, To: last}
	u.fill(ask)
	c, err := emission.Calculate(*ask)
	if err != nil {
		return nil, err
	}
	out := &api.HouseholdAnalysis{HouseholdID: t.DID, Period: api.HouseholdPeriod{Start: first, End: last}}
	out.Analysis = u.reductions(c, to-from+1)
	return out, nil
}

// analysed reads the days of an analysis, both included.
func analysed(d api.HouseholdAnalysisDraft) (from, to int64, err error) {
	var c fault.Checks
	c.Require(d.HouseholdID != "", "/householdId")
	checkDID(&c, "/householdId", d.HouseholdID)
	read := func(pointer, text string) int64 {
		var i Instant
		if err := i.UnmarshalText([]byte(text)); err != nil || !i.given || i.ms < earliest || i.ms > latestDay {
			c.Add(pointer, "invalid", "The value is a day such as 2024-02-20, or a time such as 2024-02-20T08:15:00Z.")
		}
		return day(i.ms)
	}
	from, to = read("/periodStart", d.PeriodStart), read("/periodEnd", d.PeriodEnd)
	switch {
	case !c.OK():
	case to < from:
		c.Add("/periodEnd", "out_of_range", "The end must not be before the start.")
	case to-from >= maxAnalysis:
		c.Add("/periodEnd", "out_of_range", "The period is at most 366 days.")
	}
	return from, to, c.Err("ANALYSIS_INVALID", "The analysis is not valid.")
}

// latestDay is the last moment an analysis may be about.
const latestDay = 7_000_000_000_000 // in the year 2191

// asked begins the calculation with the household's earlier consumption.
func asked(baseline entity.Object) (*api.EmissionDraft, error) {
	have := members(baseline)
	word, _ := have["fuelType"].(string)
	fuel := emission.KnownFuel(word)
	burnt, known := have["monthlyConsumption"].(float64)
	if fuel == "" || !known {
		missing := fault.New(fault.Unprocessable, "BASELINE_MISSING",
			"The household does not record which fuel it burnt before: its property baseline needs fuelType (wood, charcoal, kerosene or lpg) and monthlyConsumption in kg.")
		for name, is := range map[string]bool{"fuelType": fuel == "", "monthlyConsumption": !known} {
			if is {
				missing = missing.With(fault.Field{Pointer: "/householdId", Code: "required", Detail: "baseline." + name + " of the household is missing, or not known."})
			}
		}
		return nil, missing
	}
	out := &api.EmissionDraft{Module: emission.HouseholdUse, Version: "1.0", Inputs: map[string]api.EmissionInput{
		"fuel":        {EmissionMember: api.EmissionMember{Choice: fuel}},
		"consumption": number(burnt, "kg/month"),
	}}
	if v, ok := have["fNRB"].(float64); ok && v >= 0 && v <= 1 {
		out.Inputs["nonRenewable"] = number(v, "")
	}
	if v, ok := have["cookingHours"].(float64); ok && v > 0 && v <= 24 {
		out.Inputs["hours"] = number(v, "h/day")
	}
	return out, nil
}

func number(v float64, unit string) api.EmissionInput {
	return api.EmissionInput{EmissionMember: api.EmissionMember{Value: &v, Unit: unit}}
}

// stoveHours is what one device saw of a stove.
type stoveHours struct {
	did         string
	traditional bool
	days        int
	last        int64 // the day counted last
	cooking     int64 // ms that count
	seen        int64 // ms in all
}

// homeUse is what the devices of a household saw in a period.
type homeUse struct {
	devices  []*stoveHours
	observed int
	covered  float64 // days, each by the part of it that readings cover
}

// uses reads the days of the devices of a household. Of two monitors on one
// stove, each day counts the one that saw more.
func (s analyses) uses(ctx context.Context, home *subject, from, to int64) (*homeUse, error) {
	c := web.CallerFrom(ctx)
	rows, err := s.db.Query(ctx, daysInHome, home.Workspace, home.DID, from, to, maxDayRows+1)
	found, err := db.Collect(rows, err, "list days of a household", func(r *dayRow, row db.Row) error {
		return row.Scan(&r.day, &r.device, &r.part, &r.place.stove, &r.readings, &r.expected, &r.cooking)
	})
	if err != nil {
		return nil, err
	}
	if len(found) > maxDayRows {
		var wrong fault.Checks
		wrong.Add("/periodEnd", "too_many", "The period holds too many days of devices. Ask for a shorter one.")
		return nil, wrong.Err("ANALYSIS_INVALID", "The analysis is not valid.")
	}
	known, err := s.known(ctx, c, found)
	if err != nil {
		return nil, err
	}
	found = slices.DeleteFunc(found, func(d dayRow) bool {
		t := known[d.device]
		return t == nil || !visible(c, t) || d.readings == 0
	})
	if len(found) == 0 {
		return nil, fault.New(fault.Unprocessable, "READINGS_MISSING", "No device of the household has readings in the period.").
			With(fault.Field{Pointer: "/periodStart", Code: "no_readings", Detail: "There are no readings from this day to the end of the period."})
	}
	types, err := s.kinds(ctx, c.Workspace, found)
	if err != nil {
		return nil, err
	}
	u := &homeUse{}
	u.count(found, known, types)
	return u, nil
}

// kinds reads the types of the stoves of days.
func (s analyses) kinds(ctx context.Context, ws string, list []dayRow) (map[string]typed, error) {
	var stoves []string
	for _, d := range list {
		if d.place.stove != "" && !slices.Contains(stoves, d.place.stove) {
			stoves = append(stoves, d.place.stove)
		}
	}
	out := map[string]typed{}
	for part := range slices.Chunk(stoves, perLook) {
		types, err := typesOf(ctx, s.db, ws, part)
		if err != nil {
			return nil, err
		}
		for id, t := range types {
			out[id] = t
		}
	}
	return out, nil
}

// traditional reports whether a type is one of the stoves that clean ones replace.
func traditional(typ string) bool {
	typ = strings.NewReplacer("-", "", "_", "", " ", "").Replace(strings.ToLower(typ))
	return slices.ContainsFunc([]string{"traditional", "threestone", "openfire", "baseline"}, func(word string) bool { return strings.Contains(typ, word) })
}

// count sums up days, which come in order.
func (u *homeUse) count(list []dayRow, known map[int64]*entity.Row, types map[string]typed) {
	type place struct {
		device int64
		old    bool
	}
	at := map[place]*stoveHours{}
	for len(list) > 0 {
		n := 1
		for n < len(list) && list[n].day == list[0].day {
			n++
		}
		most, readings, expected := map[string]int{}, int64(0), int64(0)
		for i, d := range list[:n] {
			readings, expected = readings+min(d.readings, d.expected), expected+d.expected
			if j, ok := most[d.place.stove]; d.place.stove != "" && (!ok || list[j].cooking < d.cooking) {
				most[d.place.stove] = i
			}
		}
		for i, d := range list[:n] {
			p := place{d.device, traditional(types[d.place.stove].typ)}
			h := at[p]
			if h == nil {
				h = &stoveHours{did: known[d.device].DID, traditional: p.old, last: -1}
				at[p] = h
				u.devices = append(u.devices, h)
			}
			if h.last != d.day {
				h.days, h.last = h.days+1, d.day
			}
			h.seen += d.cooking
			if d.place.stove == "" || most[d.place.stove] == i {
				h.cooking += d.cooking
			}
		}
		u.observed++
		u.covered += float64(readings) / float64(max(1, expected))
		list = list[n:]
	}
}

// hours sums up the hours that count on stoves of one kind.
func (u *homeUse) hours(old bool) (ms int64, any bool) {
	for _, h := range u.devices {
		if h.traditional == old {
			ms, any = ms+h.cooking, true
		}
	}
	return ms, any
}

// fill enters the observations into a calculation.
func (u *homeUse) fill(d *api.EmissionDraft) {
	d.Inputs["observed"] = number(float64(u.observed), "day")
	var stoves []map[string]api.EmissionMember
	for _, old := range []bool{false, true} {
		ms, any := u.hours(old)
		if old && !any {
			continue
		}
		item := map[string]api.EmissionMember{"use": number(float64(ms)/hourMS, "h").EmissionMember, "kind": {Choice: "clean"}}
		if old {
			item["kind"] = api.EmissionMember{Choice: "traditional"}
		}
		stoves = append(stoves, item)
	}
	d.Inputs["stoves"] = api.EmissionInput{Items: stoves}
}

// reductions divides the outcome among the devices by their hours.
func (u *homeUse) reductions(c *api.EmissionCalculation, days int64) api.HouseholdReductions {
	out := api.HouseholdReductions{
		Unit: "kgCO2e", Confidence: round(u.covered/float64(days), 10_000), Module: c.Module, Version: c.Version,
		Steps: c.Steps, Decisions: c.Decisions, InputHash: c.InputHash, TraceHash: c.TraceHash, DeviceContributions: []api.DeviceContribution{},
	}
	values := map[string]float64{}
	for _, s := range c.Steps {
		values[s.Symbol] = s.Value
	}
	out.BaselineEmissions, out.ActualEmissions, out.Reductions = values["BE"], values["AE"], values["ER"]
	clean, _ := u.hours(false)
	for _, h := range u.devices {
		d := api.DeviceContribution{DeviceID: h.did, Evidence: api.DeviceEvidence{UsageHours: round(float64(h.seen)/hourMS, 100), Days: h.days, Traditional: h.traditional}}
		if !h.traditional && clean > 0 && values["M_saved"] > 0 {
			d.ReductionShare = float64(h.cooking) / float64(clean)
			d.Evidence.FuelSaved = round(values["M_saved"]*d.ReductionShare, 1000)
		}
		out.DeviceContributions = append(out.DeviceContributions, d)
	}
	return out
}
