package survey

import (
	"context"
	"fmt"
	"slices"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/survey/campaign"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// checkDuties notes assignments to who does not collect for the campaign, where
// it says who does.
func checkDuties(c *fault.Checks, d *campaign.Content) {
	for i, a := range d.Assignments {
		named := slices.ContainsFunc(d.Collectors, func(one campaign.Collector) bool { return one.DID == a.Collector })
		if len(d.Collectors) > 0 && a.Collector != "" && !named {
			c.Add(fmt.Sprintf("/assignments/%d/collector", i), "unknown", "The survey does not name this collector.")
		}
	}
}

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
	return campaign.Invalid(&c)
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
		return fault.New(fault.Forbidden, "NOT_COLLECTOR", "Somebody else is to visit this household. To note an attempt at it needs the scope surveys:write.")
	}
	return nil
}
