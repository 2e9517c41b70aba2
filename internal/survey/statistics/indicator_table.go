package statistics

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hearth-dmrv/hearth/internal/cel"
	"github.com/hearth-dmrv/hearth/internal/emission"
	"github.com/hearth-dmrv/hearth/internal/survey/answer"
	"github.com/hearth-dmrv/hearth/internal/survey/form"
)

// definition is one indicator: its name, the questions it is computed from, and
// the value of a household.
type definition struct {
	id, title, sdg, unit string
	formula              string
	statistic            string
	roles                []role
	fuels                bool // a figure for each fuel
	burns                bool // all fuels together, each by its factor
	change               bool // a group, or an earlier survey, minus the present value
	value                func(h *home) (v counted)
}

// role is a question that an indicator needs. A template names it with the mark
// "indicator.role"; without one, a question of these ids or with one of these
// marks is taken.
type role struct {
	name  string
	ids   []string
	marks []string
	kind  kind
	again bool // it may be asked several times in one interview
}

// kind is which questions can have a role.
type kind struct {
	fits  func(c *form.Column) bool
	types string // for people who choose one
}

var (
	yesNo  = kind{func(c *form.Column) bool { return c.Kind.CEL == cel.Boolean }, "boolean"}
	amount = kind{func(c *form.Column) bool { return c.Kind.CEL == cel.Number || c.Kind.Units }, "number, integer or quantity"}
	choice = kind{func(c *form.Column) bool { return c.Kind.Options && !c.Kind.Ordered }, "single_choice or multiple_choice"}
)

// unfit says why a question cannot have the role; "" when it can.
func (r role) unfit(c *form.Column) string {
	at := strings.Join(c.Path, "/")
	switch {
	case !r.kind.fits(c):
		return fmt.Sprintf("The question %s has the type %s, and %s needs %s.", at, c.Type, r.name, r.kind.types)
	case c.Repeat && !r.again:
		return fmt.Sprintf("The question %s is asked several times in one interview, and %s needs one that is asked once.", at, r.name)
	}
	return ""
}

// counted is what a household counts for.
type counted struct {
	y, x    float64
	ok      bool
	outside bool // the figure is not about it
	unit    bool // it gave an amount in a unit that cannot be added
}

func is(ok bool) counted {
	if ok {
		return counted{y: 1, ok: true}
	}
	return counted{ok: true}
}

// home is what a household says, by the roles of an indicator.
type home struct {
	given func(role string) []answer.Row
	none  func(role string) bool // the answer was none of what is asked next
	fuel  string                 // that a figure is of
	per   map[string]float64     // t CO2 for each t of a fuel
}

// one is the answer to a question with one; false without any.
func (h *home) one(role string) (answer.Row, bool) {
	rows := h.given(role)
	if len(rows) == 0 {
		return answer.Row{}, false
	}
	return rows[0], true
}

// ofCook is a value of the home that is about main cooks.
func (h *home) ofCook(v counted) counted {
	cook, ok := h.one("mainCook")
	if !ok {
		return counted{}
	}
	if cook.Code != "true" {
		return counted{outside: true}
	}
	return v
}

// kilos are the kg of each fuel that counts, in a week. What a household was asked
// for and does not name is 0. Nothing is known of one that skipped the question,
// named a fuel without its amount, or an amount of no fuel or of several; unit says
// that some of it is in another unit.
func (h *home) kilos(counts func(fuel string) bool) (all map[string]float64, v counted) {
	named := map[int64][]string{}
	for _, r := range h.given("fuel") {
		named[r.Item] = append(named[r.Item], r.Code)
	}
	given := h.given("amount")
	all, v.ok = map[string]float64{}, len(named)+len(given) > 0 || h.none("amount")
	for _, r := range given {
		fuels := named[r.Item]
		delete(named, r.Item)
		switch {
		case len(fuels) == 0, len(fuels) > 1 && slices.ContainsFunc(fuels, counts):
			v.ok = false
		case !counts(fuels[0]):
		case r.Code != "" && r.Code != "kg":
			v.unit = true
		default:
			all[fuels[0]] += r.Num
		}
	}
	for _, fuels := range named {
		v.ok = v.ok && !slices.ContainsFunc(fuels, counts)
	}
	return all, v
}

// weekly is the fuel of a household in a week.
func weekly(h *home) counted {
	all, v := h.kilos(func(fuel string) bool { return fuel == h.fuel })
	v.y = all[h.fuel]
	return v
}

func symptoms(h *home) (sick, ok bool) {
	rows := h.given("symptoms")
	for _, r := range rows {
		sick = sick || r.Code != "none"
	}
	return sick, len(rows) > 0
}

// modern are the stoves that count as modern devices.
var modern = map[string]bool{"improved": true, "lpg": true, "electric": true, "ethanol": true, "biogas": true, "pellets": true, "solar": true}

const weeksPerYear = 365.25 / 7

// factors are t CO2 for each t of a fuel. Of what grows again only the share that
// does not counts.
func factors(fnrb float64) map[string]float64 {
	out := map[string]float64{}
	for _, f := range emission.UsualFuels() {
		out[f.Name] = f.NCV * f.CO2
		if f.Grows {
			out[f.Name] *= fnrb
		}
	}
	return out
}

// Roles that several indicators have.
var (
	mainCook = role{name: "mainCook", ids: []string{"respondent_is_main_cook"}, kind: yesNo}
	amounts  = role{name: "amount", ids: []string{"amount", "fuel_amount_per_week"}, marks: []string{"fuel_per_capita"}, kind: amount, again: true}
	kinds    = role{name: "fuel", ids: []string{"fuel_type"}, marks: []string{"fuel_per_capita"}, kind: choice, again: true}
	people   = role{name: "people", ids: []string{"household_size"}, kind: amount}
	cost     = role{name: "cost", ids: []string{"fuel_cost_month"}, marks: []string{"SDG1.4.1"}, kind: amount}
	sick     = role{name: "symptoms", ids: []string{"respiratory_symptoms"}, kind: choice}
	burnt    = role{name: "burns", ids: []string{"burns"}, kind: amount}
)

// definitions are all indicators, in the order they are answered.
var definitions = []definition{
	{
		id: "usage", title: "Households that use the project stove", unit: "share of households", statistic: proportion,
		formula: "households whose answer to used is yes / households that answered it",
		roles:   []role{{name: "used", ids: []string{"used_last_7_days"}, marks: []string{"usage_rate"}, kind: yesNo}},
		value:   yes("used"),
	},
	{
		id: "stacking", title: "Households that still use their old stove", unit: "share of households", statistic: proportion,
		formula: "households whose answer to old is yes / households that answered it",
		roles:   []role{{name: "old", ids: []string{"still_uses_old_device"}, marks: []string{"stacking_rate"}, kind: yesNo}},
		value:   yes("old"),
	},
	{
		id: "fuelPerHead", title: "Fuel for each person", unit: "kg per person and week", statistic: ratio, fuels: true,
		formula: "Σ kg of the fuel in a week / Σ people, over households; a household that does not name the fuel counts with 0, and one that names it without its kg is left out",
		roles:   []role{amounts, kinds, people},
		value: func(h *home) counted {
			v := weekly(h)
			n, ok := h.one("people")
			v.x, v.ok = n.Num, v.ok && ok
			return v
		},
	},
	{
		id: "fuelPerHousehold", title: "Fuel for each household", unit: "kg per household and week", statistic: mean, fuels: true,
		formula: "mean over households of the kg of the fuel in a week; a household that does not name the fuel counts with 0, and one that names it without its kg is left out",
		roles:   []role{amounts, kinds}, value: weekly,
	},
	{
		id: "fuelCost", title: "What households spend on fuel", unit: "currency of the survey per household and month", statistic: mean,
		formula: "mean over households of cost", roles: []role{cost}, value: times("cost", 1),
	},
	{
		id: "sdg1", title: "Fuel costs saved in a year", sdg: "SDG1", unit: "currency of the survey per household and year", statistic: mean, change: true,
		formula: "12 × (mean cost of the comparison group, or of the baseline − mean cost of adopters now)", roles: []role{cost}, value: times("cost", 12),
	},
	{
		id: "sdg3", title: "Main cooks with respiratory symptoms or burns", sdg: "SDG3", unit: "share of main cooks", statistic: proportion,
		formula: "interviews with the main cook that name a symptom other than none, or a burn, in the last month / interviews with the main cook",
		roles:   []role{mainCook, sick, burnt},
		value: func(h *home) counted {
			ill, asked := symptoms(h)
			n, ok := h.one("burns")
			v := is(ill || n.Num > 0)
			v.ok = ok && asked
			return h.ofCook(v)
		},
	},
	{
		id: "sdg3Symptoms", title: "Main cooks with respiratory symptoms", sdg: "SDG3", unit: "share of main cooks", statistic: proportion,
		formula: "interviews with the main cook that name a symptom other than none in the last month / interviews with the main cook",
		roles:   []role{mainCook, sick},
		value: func(h *home) counted {
			ill, asked := symptoms(h)
			v := is(ill)
			v.ok = asked
			return h.ofCook(v)
		},
	},
	{
		id: "sdg3Burns", title: "Main cooks with burns in the household", sdg: "SDG3", unit: "share of main cooks", statistic: proportion,
		formula: "interviews with the main cook that name a burn in the last month / interviews with the main cook",
		roles:   []role{mainCook, burnt},
		value: func(h *home) counted {
			n, ok := h.one("burns")
			v := is(n.Num > 0)
			v.ok = ok
			return h.ofCook(v)
		},
	},
	{
		id: "sdg5", title: "Hours that main cooks save", sdg: "SDG5", unit: "hours per main cook and week", statistic: mean,
		formula: "mean of hours over interviews with the main cook",
		roles:   []role{mainCook, {name: "hours", ids: []string{"hours_saved"}, kind: amount}},
		value:   func(h *home) counted { return h.ofCook(times("hours", 1)(h)) },
	},
	{
		id: "sdg7", title: "Households that cook mainly with a modern device", sdg: "SDG7", unit: "share of households", statistic: proportion,
		formula: "households whose main stove is one of improved, lpg, electric, ethanol, biogas, pellets and solar / households that named it",
		roles:   []role{{name: "stove", ids: []string{"main_stove_type", "baseline_stove_type"}, kind: choice}},
		value: func(h *home) counted {
			r, ok := h.one("stove")
			v := is(modern[r.Code])
			v.ok = ok
			return v
		},
	},
	{
		id: "sdg13", title: "Emissions saved in a year", sdg: "SDG13", unit: "t CO2 per household and year", statistic: mean, change: true, burns: true,
		roles: []role{amounts, kinds},
		value: func(h *home) counted {
			all, v := h.kilos(func(fuel string) bool { return h.per[fuel] > 0 })
			for fuel, kg := range all {
				v.y += kg / 1000 * weeksPerYear * h.per[fuel]
			}
			return v
		},
	},
}

// emissions is the formula of SDG 13 with its numbers.
func emissions(fnrb float64) string {
	var fuels, grown []string
	for _, f := range emission.UsualFuels() {
		fuels = append(fuels, fmt.Sprintf("%s %g × %g", f.Name, f.NCV, f.CO2))
		if f.Grows {
			grown = append(grown, f.Name)
		}
	}
	return fmt.Sprintf("mean of e of the comparison group, or of the baseline − mean of e of adopters now; e = Σ over fuels of kg a week / 1000 × %.4f × NCV × EF × f; "+
		"NCV × EF in t CO2/t: %s (IPCC 2006); f = %g (fnrb) of %s, else 1; other fuels count as 0", weeksPerYear, strings.Join(fuels, ", "), fnrb, strings.Join(grown, " and "))
}

// yes is a household that says yes to a question.
func yes(role string) func(h *home) counted {
	return func(h *home) counted {
		r, ok := h.one(role)
		v := is(r.Code == "true")
		v.ok = ok
		return v
	}
}

// times is the number a household gives, times another one.
func times(role string, by float64) func(h *home) counted {
	return func(h *home) counted {
		r, ok := h.one(role)
		return counted{y: by * r.Num, ok: ok}
	}
}

// criterion is something that households of the programme have in common.
type criterion struct {
	id, met string
	role
}

// criteria are looked at round by round. Their marks begin with "inclusion.".
var criteria = []criterion{
	{"targetArea", "true", role{name: "targetArea", ids: []string{"target_area"}, kind: yesNo}},
	{"otherProgramme", "false", role{name: "otherProgramme", ids: []string{"household_in_other_programme"}, kind: yesNo}},
	{"willing", "true", role{name: "willing", ids: []string{"willing_to_participate"}, kind: yesNo}},
}
