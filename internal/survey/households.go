package survey

import (
	"context"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/event"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/once"
	"github.com/hearth-dmrv/hearth/internal/order"
	"github.com/hearth-dmrv/hearth/internal/privacy/vault"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// Upload is households for the list.
type Upload struct {
	Items []HouseholdDraft `json:"items" doc:"At most 1,000."`
}

// AddHouseholds merges households into the list of a campaign, all or none:
// members missing in a draft stay unchanged. Repeating it changes nothing.
// Faults: SURVEY_NOT_FOUND, HOUSEHOLDS_INVALID, HOUSEHOLD_ERASED, SURVEY_LOCKED
// when the campaign is over, or runs and a household would change its stratum or
// group.
func (l *lists) AddHouseholds(ctx context.Context, id string, up Upload) (web.Reply[*Merged], error) {
	var none web.Reply[*Merged]
	r, v, err := read(ctx, l.db, id)
	if err == nil {
		err = CheckHouseholds(up.Items, v.Sampling)
	}
	if err != nil {
		return once.Refuse[*Merged](ctx, l.idem, err)
	}
	return once.Do(ctx, l.idem, func(tx *db.Tx) (web.Reply[*Merged], error) {
		if err := vault.HoldErasures(ctx, tx, l.db.Dialect(), r.Workspace, idsOf(up.Items)...); err != nil {
			return none, err
		}
		m, err := l.merge(ctx, tx, r, v, up.Items)
		return web.Reply[*Merged]{Value: m}, err
	})
}

// idsOf are the households of drafts.
func idsOf(items []HouseholdDraft) []string {
	ids := make([]string, len(items))
	for i := range items {
		ids[i] = items[i].HouseholdID
	}
	return ids
}

// merge does an upload in its transaction.
func (l *lists) merge(ctx context.Context, tx *db.Tx, r *Row, v *Survey, items []HouseholdDraft) (*Merged, error) {
	status, revision, err := touch(ctx, tx, r.NID)
	if err != nil {
		return nil, err
	}
	if status == StatusClosed || status == StatusArchived {
		return nil, lockedFault(fault.Field{Pointer: "/status", Code: "locked", Detail: "The survey is " + string(status) + "; its list can no longer change."})
	}
	now := *r
	now.Status = status // it may have changed until it was locked
	p, err := l.plan(ctx, tx, &now, v, items)
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
	named := false
	if p.named {
		if named, err = anyNamed(ctx, tx, r.NID); err != nil {
			return nil, err
		}
	}
	if err := l.upsert(ctx, tx, r.NID, v.Round, p.store); err != nil {
		return nil, err
	}
	if err := l.countAll(ctx, tx, r.NID, p.deltas); err != nil {
		return nil, err
	}
	p.Listed = before + int64(p.Added)
	if len(p.store) == 0 {
		return &p.Merged, nil
	}
	if before == 0 { // from now on there is a list to look into
		l.changed(tx, r.Workspace)
	} else if p.named {
		if now, err := anyNamed(ctx, tx, r.NID); err != nil {
			return nil, err
		} else if now != named { // collectors see less from now on, or more
			l.changed(tx, r.Workspace)
		}
	}
	return &p.Merged, l.events.Append(ctx, tx, event.Event{
		Workspace: r.Workspace, Type: "survey.households_changed", Subject: r.SurveyID, Revision: revision,
		Data: map[string]int{"added": p.Added, "changed": p.Changed},
	})
}

// plan finds out what a merge has to do.
func (l *lists) plan(ctx context.Context, tx *db.Tx, r *Row, v *Survey, items []HouseholdDraft) (*work, error) {
	text, err := json.Marshal(idsOf(items))
	if err != nil {
		return nil, fmt.Errorf("encode households: %w", err)
	}
	held, err := l.findMany(ctx, tx, r.NID, string(text))
	if err != nil {
		return nil, err
	}
	gone, err := vault.ErasedAmong(ctx, tx, l.db.Dialect(), r.Workspace, string(text))
	if err != nil {
		return nil, err
	}
	p, err := planned(items, held, gone, r.Status, handSource(r.Status, v.Sampling))
	if err != nil {
		return nil, err
	}
	p.Warnings, err = checkVisitors(items, held, v)
	return p, err
}

// work is what a merge has to do.
type work struct {
	Merged
	store  []Household
	deltas []Delta
	named  bool // some household names another collector than before
}

// handSource is the source recorded for households that are listed by hand:
// drawn elsewhere if the sampling records such a draw, until the survey starts.
func handSource(status Status, s *Sampling) string {
	if s != nil && s.DrawnElsewhere != nil && (status == StatusDraft || status == StatusReady) {
		return SourceElsewhere
	}
	return SourceListed
}

// planned computes what to do. gone are the erased households: an upload may
// repeat what the list says about them, and nothing else.
func planned(items []HouseholdDraft, held map[string]*Household, gone map[string]bool, status Status, source string) (*work, error) {
	p := &work{}
	var locked, erased []fault.Field
	for i := range items {
		id := items[i].HouseholdID
		old, known := held[id]
		if !known {
			old = &Household{HouseholdID: id}
		}
		h, changed := old.merge(&items[i])
		if open := status == StatusDraft || status == StatusReady; !known || open && !old.sampled() && old.Source != source {
			h.Source, changed = source, true
		}
		switch {
		case known && !changed:
			p.Unchanged++
			continue
		case gone[id]:
			erased = append(erased, vault.ErasedField(fmt.Sprintf("/items/%d/householdId", i), id))
			continue
		case !known:
			p.Added++
			p.deltas = append(p.deltas, Delta{Stratum: h.Stratum, Group: h.Group, listed: 1})
		default:
			p.Changed++
		}
		if known && old.sampled() && (h.Stratum != old.Stratum || h.Cluster != old.Cluster) {
			locked = append(locked, fault.Field{Pointer: fmt.Sprintf("/items/%d", i), Code: "locked", Detail: "The stratum and cluster of " + id + " are those of the draw."})
			continue
		}
		p.store = append(p.store, h)
		p.named = p.named || h.Collector != old.Collector
		if known && h.moved(old) {
			if status != StatusDraft && status != StatusReady {
				locked = append(locked, fault.Field{Pointer: fmt.Sprintf("/items/%d", i), Code: "locked", Detail: "The stratum or group of " + id + " can no longer change: responses may count there."})
			}
			p.deltas = append(p.deltas, Delta{Stratum: old.Stratum, Group: old.Group, listed: -1}, Delta{Stratum: h.Stratum, Group: h.Group, listed: 1})
		}
	}
	if len(erased) > 0 {
		return nil, Limited(vault.ErasedFault(erased...))
	}
	if len(locked) > 0 {
		return nil, Limited(lockedFault(locked...))
	}
	// Uploads that meet take their rows in one order.
	order.Sort(p.store, func(a, b Household) int { return strings.Compare(a.HouseholdID, b.HouseholdID) })
	return p, nil
}

// listed returns how many households are on the list, and their strata.
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
	if len(strata) > MaxStrata {
		return fault.New(fault.Invalid, "HOUSEHOLDS_INVALID", "The list of households is not valid.").
			With(fault.Field{Pointer: "/items", Code: "too_many", Detail: fmt.Sprintf("A survey may have at most %d strata.", MaxStrata)})
	}
	return nil
}
