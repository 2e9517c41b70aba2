package demo

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/hearth-dmrv/hearth/client"
)

// chance is true so many times of a hundred.
func chance(d *rand.Rand, percent int) bool { return d.IntN(100) < percent }

// some picks each of several with a chance, and the first when none came of it.
func some(d *rand.Rand, percent int, of ...string) []string {
	var out []string
	for _, s := range of {
		if chance(d, percent) {
			out = append(out, s)
		}
	}
	if len(out) == 0 {
		out = of[:1:1]
	}
	return out
}

// source is what the answers of a visit are made of: the household that is asked,
// or the one whose answers the copier gives again.
func (p *plan) source(v *visit) (home, *rand.Rand) {
	of := *v
	of.n = v.told
	return p.homes()[v.toldBy], p.dice("answers/" + of.name())
}

// consented are the answers to the first questions of each template.
func consented(d *rand.Rand) map[string]any {
	return map[string]any{"consent_given": true, "respondent_is_main_cook": chance(d, 80), "language": pick(d, "en", "sw", "sw"), "carbon_rights_waiver": chance(d, 90)}
}

// eligible are the answers about eligibility.
func eligible(d *rand.Rand, h *home, owns bool) map[string]any {
	stove := pick(d, "three_stone", "three_stone", "mud_no_grate", "mud_grate")
	if h.fuel == "charcoal" {
		stove = "metal_charcoal"
	}
	fuels := []string{h.fuel}
	if h.fuel == "wood" && chance(d, 45) {
		fuels = append(fuels, "charcoal")
	}
	return map[string]any{
		"current_cooking": fuels, "target_area": true, "household_in_other_programme": chance(d, 12),
		"owns_target_device": owns, "baseline_stove_type": stove, "willing_to_participate": chance(d, 88),
	}
}

// cooking are the answers about how a household cooks. With the stove of the
// programme it needs about half of the fuel.
func cooking(d *rand.Rand, h *home, improved bool) map[string]any {
	weekly, main := h.monthly/4.3, "three_stone"
	if h.fuel == "charcoal" {
		main = "metal_charcoal"
	}
	devices := []any{}
	if improved {
		weekly *= 0.45 + 0.2*d.Float64()
		devices = append(devices, client.Object{"type": "improved", "fuel": h.fuel, "days_per_week": 5 + d.IntN(3), "meals_per_day": 2 + d.IntN(2), "role": "main"})
		if chance(d, 45) {
			devices = append(devices, client.Object{"type": main, "fuel": h.fuel, "days_per_week": 1 + d.IntN(3), "meals_per_day": 1, "role": "secondary"})
		}
	} else {
		devices = append(devices, client.Object{"type": main, "fuel": h.fuel, "days_per_week": 6 + d.IntN(2), "meals_per_day": 2 + d.IntN(2), "role": "main"})
	}
	sources := []string{"bought"}
	if h.fuel == "wood" {
		sources = some(d, 55, "collected", "bought", "own_land")
	}
	out := map[string]any{
		"devices": devices, "kitchen_location": pick(d, "living_space", "separate_room", "separate_building", "separate_building", "outdoors"),
		"fuel_amount_per_week": []any{client.Object{"fuel_type": h.fuel, "amount": client.Object{"value": round(weekly, 1), "unit": "kg"}}},
		"fuel_source":          sources, "fuel_cost_month": 400 + 50*d.IntN(25), "heating_device": pick(d, "none", "cooking_stove"),
		"lighting_source": pick(d, "solar", "solar", "kerosene", "torch", "electric"), "electricity_source": pick(d, "none", "solar_home", "solar_home", "grid"),
	}
	if out["kitchen_location"] != "outdoors" {
		out["ventilation"] = pick(d, "windows", "door", "chimney", "none")
	}
	for _, s := range sources {
		if s == "collected" {
			out["collection_hours"] = 4 + d.IntN(9)
		}
	}
	return out
}

// perceptions are the answers about what people think of a stove, better where it
// is better.
func perceptions(d *rand.Rand, good bool) map[string]any {
	out := map[string]any{
		"satisfaction": 2 + d.IntN(3), "would_recommend": chance(d, 45), "perceived_smoke": pick(d, "some", "much", "very_much"),
		"perceived_savings": pick(d, "same", "more", "less"), "willingness_to_pay": 500 + 100*d.IntN(16), "preferred_device": pick(d, "improved", "improved", "lpg", "electric"),
	}
	if good {
		out["satisfaction"], out["would_recommend"], out["perceived_smoke"] = 3+d.IntN(3), chance(d, 80), pick(d, "none", "little", "little", "some")
		out["perceived_savings"] = pick(d, "much_less", "less", "less", "same")
	}
	return out
}

func baselineAnswers(p *plan, v *visit) client.Answers {
	h, d := p.source(v)
	return client.Answers{
		"consent": consented(d), "eligibility": eligible(d, &h, false),
		"socio_economic": {
			"household_size": h.size, "children_under_5": d.IntN(3), "income_band": pick(d, "lowest", "low", "low", "middle", "middle", "high"),
			"housing_type": pick(d, "mud", "brick", "brick", "iron_sheet", "wood"), "head_education": pick(d, "none", "primary", "primary", "secondary", "vocational"), "density": h.district.density,
		},
		"cooking_patterns": cooking(d, &h, false), "stove_perceptions": perceptions(d, false),
	}
}

// use are the answers about how the stove is used, by so many of a hundred.
func use(d *rand.Rand, percent int) map[string]any {
	used, stacks := chance(d, percent), chance(d, 45)
	out := map[string]any{"used_last_7_days": used, "still_uses_old_device": stacks}
	meals := client.Object{"project_stove": 2 + d.IntN(2), "old_device": 0, "other_device": d.IntN(2)}
	if stacks {
		meals["old_device"] = 1
	}
	if used {
		out["hours_last_day"] = 2 + d.IntN(4)
	} else {
		meals["project_stove"] = 0
		out["reasons_non_use"] = some(d, 40, "no_fuel", "too_small", "away")
	}
	out["meals_yesterday_by_device"] = meals
	return out
}

func followUpAnswers(p *plan, v *visit) client.Answers {
	h, d := p.source(v)
	usage := use(d, 88)
	usage["what_works_well"] = some(d, 50, "saves_fuel", "less_smoke", "saves_time", "easy")
	installation := map[string]any{
		"install_date": p.installed(h.n - 1).Format(time.DateOnly), "installed_by": "The field team", "serial_number": p.homes()[v.home].serial(),
		"condition": pick(d, "good", "good", "good", "minor_damage"), "training_received": chance(d, 90), "problems": some(d, 30, "none"),
	}
	if chance(d, 30) {
		installation["problems"] = some(d, 40, "hard_to_light", "too_small", "fuel_cost")
	}
	if v.photo != "" {
		installation["photo"] = "sha256:" + v.photo
	}
	return client.Answers{"consent": consented(d), "installation": installation, "usage": usage, "stove_perceptions": perceptions(d, true)}
}

func monitoringAnswers(p *plan, v *visit) client.Answers {
	h, d := p.source(v)
	says := 95
	if gaveUp(h.n - 1) {
		says = 45 // of those who gave it up nearly half do not admit it
	}
	usage := use(d, says)
	usage["stove_in_good_condition"], usage["satisfaction"] = chance(d, 85), 3+d.IntN(3)
	if usage["still_uses_old_device"] == false {
		usage["old_device_disposed"] = pick(d, "stored", "stored", "destroyed", "handed_in")
	}
	impact := map[string]any{
		"fuel_cost_month": 200 + 50*d.IntN(17), "hours_saved": 2 + d.IntN(7), "burns": d.IntN(2),
		"respiratory_symptoms": some(d, 35, "none"), "use_of_saved_time": some(d, 40, "farming", "rest", "income", "care"),
	}
	if chance(d, 40) {
		impact["respiratory_symptoms"] = some(d, 50, "cough", "eye_irritation")
	}
	return client.Answers{"consent": consented(d), "eligibility": eligible(d, &h, true), "cooking_patterns": cooking(d, &h, true), "usage": usage, "impact": impact}
}

// mistaken is an answer to a question of a template that differs from one given.
func mistaken(given any) (any, error) {
	switch v := given.(type) {
	case bool:
		return !v, nil
	case int:
		return v + 1, nil
	case int64:
		return v + 1, nil
	}
	return nil, fmt.Errorf("no other answer than %v is known", given)
}
