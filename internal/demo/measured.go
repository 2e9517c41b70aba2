package demo

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/hearth-dmrv/hearth/client"
)

// Kitchen tests at full scale: so many in each group, all on the same days.
const (
	tests     = 12
	testFirst = 26 // days before the load
	testDays  = 4
)

// kitchens are the indexes of the households whose fuel is weighed, who cook with
// wood. Those with the stove are among the first ones, which have monitors; those
// asked to keep the old one are among the last.
func (p *plan) kitchens() (with, without []int) {
	homes := p.homes()
	for i := range homes {
		j := len(homes) - 1 - i
		if homes[i].fuel == "wood" && !gaveUp(i) && len(with) < p.size(tests) && i < j {
			with = append(with, i)
		}
		if homes[j].fuel == "wood" && len(without) < p.size(tests) && i < j {
			without = append(without, j)
		}
	}
	return with, without
}

// isTested reports whether fuel is weighed in a household on a day before the load.
func (p *plan) isTested(i, day int) bool {
	if day > testFirst || day <= testFirst-testDays {
		return false
	}
	with, _ := p.kitchens()
	return slices.Contains(with, i)
}

// weigher adds measurements to what households say.
type weigher struct{ *loader }

// kitchenTests records the measurements.
func (l weigher) kitchenTests(ctx context.Context) error {
	manager, err := l.as(ctx, managerID)
	if err != nil {
		return err
	}
	l.counts.KitchenTests = 0
	with, without := l.kitchens()
	for _, group := range []struct {
		name  string
		homes []int
		share float64 // of the fuel of before
	}{{"intervention", with, 0.55}, {"reference", without, 1}} {
		for _, i := range group.homes {
			if _, err := manager.KitchenTests.Record(ctx, l.kitchenTest(i, group.name, group.share), l.once("kpt/%d", i)); err != nil && !isCode(err, "KPT_EXISTS") {
				return fmt.Errorf("kitchen test %d: %w", i, err)
			}
			l.counts.KitchenTests++
		}
	}
	return nil
}

// kitchenTest is the test of a household.
func (l weigher) kitchenTest(i int, group string, share float64) client.KitchenTestDraft {
	h, d := &l.homes[i], l.dice(fmt.Sprint("kpt/", i))
	out := client.KitchenTestDraft{
		ID: fmt.Sprintf("demo-kpt-%04d", h.n), ProjectID: l.dids[project], HouseholdID: l.dids[h.external()], TestGroup: group,
		TestPeriod:      client.KitchenTestPeriod{StartDate: l.day(testFirst).Format(time.DateOnly), EndDate: l.day(testFirst - testDays + 1).Format(time.DateOnly)},
		People:          &client.KitchenTestPeople{Children: float64(h.size / 2), Women: 1, Men: float64(h.size - h.size/2 - 1)},
		Selection:       &client.KitchenTestChoice{Method: "simple_random", Document: "Demo: drawn by lot at the field office."},
		ExternalFactors: &client.KitchenTestFactors{Season: "dry"},
	}
	usual := share * h.monthly / 30
	for range testDays {
		kg := round(usual*(0.85+0.3*d.Float64()), 2)
		out.FuelMeasurements.DailyLogs = append(out.FuelMeasurements.DailyLogs, kg)
		out.FuelMeasurements.Total = round(out.FuelMeasurements.Total+kg, 2)
	}
	return out
}

// crossReference holds what households say against what their monitors have
// measured: whether the stove is used, and for how long.
func (l weigher) crossReference(ctx context.Context) error {
	verifier, err := l.as(ctx, verifierID(1))
	if err != nil {
		return err
	}
	for _, question := range []string{"usage/used_last_7_days", "usage/hours_last_day"} {
		j, err := verifier.Quality.CrossReference(ctx, "demo-monitoring", client.CrossReferenceDraft{Question: question}, l.once("cross/%s", question))
		if err == nil {
			err = l.wait(ctx, verifier, j)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", question, err)
		}
	}
	return nil
}
