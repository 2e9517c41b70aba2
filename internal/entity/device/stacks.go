package device

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/web"
)

const (
	maxStoves   = 20   // devices of a household that are compared
	maxOverlaps = 1000 // overlaps in one answer
)

// StackingQuery says what to compare.
type StackingQuery struct {
	From, To   int64 // ms
	StoveTypes []string
	Ask
}

// Stacking compares the cooking events of the devices of a household: what each
// saw while it was there. The range must not hold more readings than one request
// looks at.
func (s *Service) Stacking(ctx context.Context, id string, q StackingQuery) (*Stacking, error) {
	t, err := s.find(ctx, s.db, id, householdIs)
	if err != nil {
		return nil, err
	}
	found, next, err := s.devicesIn(ctx, t.DID, place{newest, maxStoves}, span{from: q.From, to: q.To})
	if err != nil {
		return nil, err
	}
	visits, err := s.visits(ctx, t.DID, found, q)
	if err != nil {
		return nil, err
	}
	types, err := s.stoveTypes(ctx, visits)
	if err != nil {
		return nil, err
	}
	out := &Stacking{HouseholdID: t.DID, From: moment(q.From), To: moment(q.To), Devices: []StoveUse{}, Overlaps: []Overlap{}, MoreDevices: next != 0}
	w := &stackWalk{q: q, budget: s.cfg.ScanBudget, observed: map[int64]bool{}}
	err = db.Look(ctx, s.db, func(qr db.Querier) error {
		w.uses, w.devices, w.left = nil, nil, w.budget
		for _, v := range visits {
			typ := types[v.stove].typ
			if len(q.StoveTypes) > 0 && !slices.ContainsFunc(q.StoveTypes, func(want string) bool { return strings.EqualFold(want, typ) }) {
				continue
			}
			if err := w.add(ctx, qr, v, typ); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	out.Devices = append(out.Devices, w.devices...)
	w.count(out)
	return out, nil
}

// visit is a time that a device was in the household on one stove.
type visit struct {
	*subject
	placement
}

// visits lists when devices were in a household, within a range.
func (s *Service) visits(ctx context.Context, household string, devices []*subject, q StackingQuery) ([]visit, error) {
	var out []visit
	for _, d := range devices {
		all, err := placementsOf(ctx, s.db, d.NID)
		if err != nil {
			return nil, err
		}
		for _, p := range all {
			if _, ok := p.within(q.From, q.To); ok && p.household == household {
				out = append(out, visit{d, p})
			}
		}
	}
	return out, nil
}

// stoveTypes reads the types of the stoves of devices, where they are held here
// and the caller may know them.
func (s *Service) stoveTypes(ctx context.Context, visits []visit) (map[string]typed, error) {
	c := web.CallerFrom(ctx)
	var stoves []string
	for _, v := range visits {
		if v.stove != "" && !slices.Contains(stoves, v.stove) {
			stoves = append(stoves, v.stove)
		}
	}
	types, err := typesOf(ctx, s.db, c.Workspace, stoves)
	for id, t := range types {
		if !c.Sees(t.project) {
			delete(types, id)
		}
	}
	return types, err
}

// stackWalk gathers the uses of several stoves.
type stackWalk struct {
	q            StackingQuery
	budget, left int // readings in all, and still to look at
	observed     map[int64]bool
	uses         []use
	devices      []StoveUse
}

// add looks at the readings of one device in one place.
func (w *stackWalk) add(ctx context.Context, q db.Querier, v visit, typ string) error {
	in, _ := v.within(w.q.From, w.q.To)
	sc := newScan(w.q.apply(configurationOf(v.e).rules()), in.from, in.to, w.budget)
	sc.earlier, sc.first, sc.last = true, v.from, v.to
	sc.saw = func(x sample) {
		if x.at >= in.from && x.at < in.to {
			w.observed[day(x.at)] = true
		}
	}
	looked, next, err := walk(ctx, q, v.NID, sc, w.left)
	if err != nil {
		return err
	}
	if next != 0 || looked == w.left {
		var c fault.Checks
		c.Add("query/to", "too_many", fmt.Sprintf("The range holds more than %d readings. Ask for a shorter one.", w.budget))
		return c.Err("INVALID_PARAMETER", "A parameter is not valid.")
	}
	w.left -= looked
	u := StoveUse{DID: v.DID, StoveID: v.stove, StoveType: typ, Events: len(sc.events), Readings: looked}
	stove := u.StoveID
	if stove == "" {
		stove = u.DID
	}
	for _, e := range sc.events {
		x := use{device: u.DID, stove: stove, start: max(e.Start.UnixMilli(), in.from), end: min(e.End.UnixMilli(), in.to)}
		u.CookingMinutes += float64(x.end-x.start) / 60_000
		w.uses = append(w.uses, x)
	}
	u.CookingMinutes = round(u.CookingMinutes, 100)
	w.devices = append(w.devices, u)
	return nil
}

// count adds the results to the answer.
func (w *stackWalk) count(out *Stacking) {
	all := overlaps(w.uses)
	stacked := map[int64]bool{}
	for _, o := range all {
		out.OverlapMinutes += o.Minutes
		daysOf(stacked, o.Start.UnixMilli(), o.End.UnixMilli())
	}
	out.OverlapMinutes = round(out.OverlapMinutes, 100)
	out.Overlaps = append(out.Overlaps, all[:min(len(all), maxOverlaps)]...)
	out.MoreOverlaps = len(all) > maxOverlaps
	out.Days = StackedDays{Observed: len(w.observed), Stacking: len(stacked), Several: daysOfSeveral(w.uses)}
	if len(w.observed) > 0 {
		out.Days.Share = round(float64(len(stacked))/float64(len(w.observed)), 10_000)
	}
}
