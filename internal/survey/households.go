package survey

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/event"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/idem"
	"github.com/hearth-dmrv/hearth/internal/survey/plan"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// Upload is households for the list.
type Upload struct {
	Items []plan.HouseholdDraft `json:"items" doc:"At most 1,000."`
}

// Merged tells what an upload did.
type Merged struct {
	Added     int   `json:"added"`
	Changed   int   `json:"changed"`
	Unchanged int   `json:"unchanged"`
	Listed    int64 `json:"listed" doc:"Households on the list now."`
}

// AddHouseholds merges households into the list of a campaign, all or none:
// what a draft leaves out stays as it is. Doing it again changes nothing.
// Faults: SURVEY_NOT_FOUND, HOUSEHOLDS_INVALID, HOUSEHOLD_ERASED, SURVEY_LOCKED
// when the campaign is over, or runs and a household would change its stratum or
// group.
func (s *Service) AddHouseholds(ctx context.Context, id string, up Upload) (web.Reply[*Merged], error) {
	var none web.Reply[*Merged]
	r, v, err := s.read(ctx, s.db, id)
	if err == nil {
		err = plan.CheckHouseholds(up.Items, v.Sampling)
	}
	if err != nil {
		return refuse[*Merged](ctx, s, err)
	}
	items := slices.Clone(up.Items)
	slices.SortFunc(items, func(a, b plan.HouseholdDraft) int { return strings.Compare(a.HouseholdID, b.HouseholdID) })
	ids := make([]string, len(items))
	for i := range items {
		ids[i] = items[i].HouseholdID
	}
	text, err := json.Marshal(ids)
	if err != nil {
		return none, fmt.Errorf("encode households: %w", err)
	}
	return idem.Once(ctx, s.cfg.Idem, func(tx *db.Tx) (web.Reply[*Merged], error) {
		m, err := s.merge(ctx, tx, r, items, string(text))
		return web.Reply[*Merged]{Value: m}, err
	})
}

// merge does an upload in its transaction.
func (s *Service) merge(ctx context.Context, tx *db.Tx, r *Row, items []plan.HouseholdDraft, ids string) (*Merged, error) {
	status, revision, err := touch(ctx, tx, r.NID)
	if err != nil {
		return nil, err
	}
	if status == StatusClosed || status == StatusArchived {
		return nil, lockedFault(fault.Field{Pointer: "/status", Code: "locked", Detail: "The survey is " + string(status) + "; its list does not change any more."})
	}
	held, err := s.findMany(ctx, tx, r.NID, ids)
	if err != nil {
		return nil, err
	}
	p, err := planned(items, held, status)
	if err != nil {
		return nil, err
	}
	before, strata, err := listed(ctx, tx, r.NID)
	if err != nil {
		return nil, err
	}
	if err := checkStrata(p.store, strata); err != nil {
		return nil, err
	}
	if err := s.upsert(ctx, tx, r.NID, p.store); err != nil {
		return nil, err
	}
	if err := s.countAll(ctx, tx, r.NID, p.deltas); err != nil {
		return nil, err
	}
	p.Listed = before + int64(p.Added)
	if len(p.store) == 0 {
		return &p.Merged, nil
	}
	if before == 0 { // from now on there is a list to look into
		s.changed(tx, r.Workspace)
	}
	return &p.Merged, s.events.Append(ctx, tx, event.Event{
		Workspace: r.Workspace, Type: "survey.households_changed", Subject: r.SurveyID, Revision: revision,
		Data: map[string]int{"added": p.Added, "changed": p.Changed},
	})
}

// work is what a merge has to do.
type work struct {
	Merged
	store  []Household
	deltas []Delta
}

func planned(items []plan.HouseholdDraft, held map[string]*Household, status Status) (*work, error) {
	p := &work{}
	var locked []fault.Field
	var erased []string
	for i := range items {
		old, known := held[items[i].HouseholdID]
		if !known {
			h, _ := Household{HouseholdID: items[i].HouseholdID}.merge(&items[i])
			p.Added++
			p.store, p.deltas = append(p.store, h), append(p.deltas, Delta{Stratum: h.Stratum, Group: h.Group, listed: 1})
			continue
		}
		h, changed := old.merge(&items[i])
		if !changed {
			p.Unchanged++
			continue
		}
		if old.Erased {
			erased = append(erased, h.HouseholdID)
		}
		p.Changed++
		p.store = append(p.store, h)
		if h.moved(old) {
			if status != StatusDraft && status != StatusReady && len(locked) < plan.MaxFields {
				locked = append(locked, fault.Field{Pointer: "/items", Code: "locked", Detail: "The stratum or group of " + h.HouseholdID + " cannot change any more: responses may count there."})
			}
			p.deltas = append(p.deltas, Delta{Stratum: old.Stratum, Group: old.Group, listed: -1}, Delta{Stratum: h.Stratum, Group: h.Group, listed: 1})
		}
	}
	if len(erased) > 0 {
		return nil, plan.ErasedFault("/items", erased...)
	}
	if len(locked) > 0 {
		return nil, lockedFault(locked...)
	}
	return p, nil
}

// listed tells how many households are on the list, and their strata.
func listed(ctx context.Context, q db.Querier, survey int64) (int64, map[string]bool, error) {
	list, err := cells(ctx, q, survey, 0)
	if err != nil {
		return 0, nil, err
	}
	n, strata := int64(0), map[string]bool{}
	for _, c := range list {
		n += c.listed
		strata[c.stratum] = true
	}
	return n, strata, nil
}

// checkStrata keeps the number of strata small: each has counters.
func checkStrata(list []Household, strata map[string]bool) error {
	for i := range list {
		strata[list[i].Stratum] = true
	}
	delete(strata, "")
	if len(strata) > plan.MaxStrata {
		return fault.New(fault.Invalid, "HOUSEHOLDS_INVALID", "The list of households is not valid.").
			With(fault.Field{Pointer: "/items", Code: "too_many", Detail: fmt.Sprintf("A survey may have at most %d strata.", plan.MaxStrata)})
	}
	return nil
}
