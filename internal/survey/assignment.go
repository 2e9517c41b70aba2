package survey

import (
	"context"
	"fmt"
	"slices"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// checkDuties notes assignments to who does not collect for the campaign, where
// it says who does.
func checkDuties(c *fault.Checks, d *Content) {
	for i, a := range d.Assignments {
		if stranger(a.Collector, d.Collectors) {
			c.Add(fmt.Sprintf("/assignments/%d/collector", i), "unknown", unnamed)
		}
	}
}

// stranger reports whether a campaign names collectors, and not this one.
func stranger(collector string, list []Collector) bool {
	return collector != "" && len(list) > 0 && !slices.ContainsFunc(list, func(one Collector) bool { return one.DID == collector })
}

// checkVisitors checks the collectors that households get. A collector that the
// campaign does not name is refused where only named ones may send responses;
// elsewhere it may be a back-checker or a helper, and there is a warning. The fault
// is HOUSEHOLDS_INVALID.
func checkVisitors(items []HouseholdDraft, held map[string]*Household, v *Survey) (warnings []string, err error) {
	var c fault.Checks
	for i := range items {
		to := items[i].Collector
		if to == nil || !stranger(*to, v.Collectors) {
			continue
		}
		if old := held[items[i].HouseholdID]; old != nil && old.Collector == *to {
			continue
		}
		if v.StrictCollectors {
			c.Add(fmt.Sprintf("/items/%d/collector", i), "unknown", unnamed)
		}
		w := fmt.Sprintf("the survey does not name the collector %s: check the DID, or add it to the survey's collectors", fault.Echo(*to))
		if len(warnings) < MaxFields && !slices.Contains(warnings, w) {
			warnings = append(warnings, w)
		}
	}
	return warnings, Limited(c.Err("HOUSEHOLDS_INVALID", "The list of households is not valid."))
}

// unnamed says what to do about a collector whom a campaign does not name.
const unnamed = "The survey does not name this collector. Add it to the survey's collectors first, or name one of them."

// checkDutyStrata refuses assignments of strata that no household of the list is
// in, where there is a list and nothing else says which strata there are.
func checkDutyStrata(ctx context.Context, q db.Querier, nid int64, v *Survey) error {
	if len(v.Assignments) == 0 || len(v.Sampling.Strata) > 0 {
		return nil
	}
	households, strata, err := listed(ctx, q, nid)
	if err != nil || households == 0 {
		return err
	}
	var c fault.Checks
	for i, a := range v.Assignments {
		for j, name := range a.Strata {
			if !strata[name] {
				c.Add(fmt.Sprintf("/assignments/%d/strata/%d", i, j), "unknown", "No household on the list is in this stratum.")
			}
		}
	}
	return Invalid(&c)
}

// mayNote reports whether the caller may say how an attempt at a household went.
// Faults: COLLECTOR_UNKNOWN, NOT_COLLECTOR.
func (o *Open) mayNote(ctx context.Context, h *Household) error {
	caller := web.CallerFrom(ctx)
	if caller.May("surveys:write") {
		return nil
	}
	if o.StrictCollectors && !o.Collectors[caller.DID] {
		return fault.New(fault.Forbidden, "COLLECTOR_UNKNOWN", "Only the collectors of the survey may note attempts.")
	}
	if to := o.Collector(h); to != "" && to != caller.DID {
		return fault.New(fault.Forbidden, "NOT_COLLECTOR", "Somebody else is to visit this household. Noting an attempt at it needs the scope surveys:write.")
	}
	return nil
}
