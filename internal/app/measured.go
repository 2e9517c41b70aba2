package app

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/hearth-dmrv/hearth/internal/entity/device"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/privacy"
	"github.com/hearth-dmrv/hearth/internal/survey/crossref"
	"github.com/hearth-dmrv/hearth/internal/survey/kpt"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// daysAtOnce is how many days of devices are read at once.
const daysAtOnce = 500

// measured is what area A knows of households that surveys ask about. It is made
// after area B.
type measured struct{ a *App }

// crossings makes what holds answers against measurements.
func crossings(a *App, s *surveys) *crossref.Service {
	m := measured{a}
	return crossref.New(crossref.Config{
		DB: a.DB, Surveys: s.surveys, Responses: s.responses, Jobs: a.Jobs, Idem: a.Idem, Cursors: a.cursors, Weigh: s.figures.Weigh, Settings: s.rules.Settings,
		Days: m.days, Tests: m.tests,
	})
}

// days passes the days of the devices of a project to visit, as its usage lists
// them; none for a project that is not held here. They include readings that
// arrived a moment ago; otherwise a client that uploads a batch and then asks
// would find nothing.
func (m measured) days(ctx context.Context, project, from, to string, visit func(crossref.Day) error) error {
	if _, err := m.a.twins.devices.Catch(ctx); err != nil {
		return err
	}
	q := device.FleetQuery{Project: project, Limit: daysAtOnce}
	var err, wrong error
	q.From, err = time.Parse(time.DateOnly, from)
	if q.To, wrong = time.Parse(time.DateOnly, to); err != nil || wrong != nil {
		return fmt.Errorf("read days of a project: %w", errors.Join(err, wrong))
	}
	for {
		days, next, err := m.a.twins.devices.Fleet(ctx, q)
		if fault.KindOf(err) == fault.NotFound {
			return nil
		} else if err != nil {
			return err
		}
		for _, d := range days {
			err := visit(crossref.Day{
				Date: d.Day, Device: d.DeviceID, Household: d.HouseholdID, Readings: d.Readings, Events: d.Events, Completeness: d.Completeness, Minutes: d.CookingMinutes,
			})
			if err != nil {
				return err
			}
		}
		if next == "" {
			return nil
		}
		q.After = next
	}
}

// tests passes the recorded kitchen tests of a project to visit. A run pairs
// households by their DIDs, whoever has asked for it, and shows none.
func (m measured) tests(ctx context.Context, project string, visit func(crossref.Test) error) error {
	c := web.CallerFrom(ctx)
	c.Scopes = append(slices.Clone(c.Scopes), privacy.PII)
	ctx = web.WithCaller(ctx, c)
	for before := int64(0); ; {
		items, next, err := m.a.surveys.kitchens.List(ctx, kpt.Filter{Project: project, Status: "recorded"}, before, daysAtOnce)
		if err != nil {
			return err
		}
		for _, t := range items {
			if t.PerDay == nil {
				continue
			}
			err := visit(crossref.Test{
				ID: t.ID, Household: t.HouseholdID, Start: t.TestPeriod.StartDate, End: t.TestPeriod.EndDate,
				Fuel: t.FuelMeasurements.Fuel, Unit: t.FuelMeasurements.Unit, PerDay: *t.PerDay, Days: t.Days,
			})
			if err != nil {
				return err
			}
		}
		if next == 0 {
			return nil
		}
		before = next
	}
}
