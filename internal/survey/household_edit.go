package survey

import (
	"context"
	"fmt"

	"github.com/go-json-experiment/json"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/event"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// GetHousehold reads a household of the list. Faults: SURVEY_NOT_FOUND,
// HOUSEHOLD_NOT_LISTED.
func (l *lists) GetHousehold(ctx context.Context, id, did string) (web.Reply[*Household], error) {
	o, err := l.Open(ctx, id)
	if err != nil {
		return web.Reply[*Household]{}, err
	}
	x := l.view(ctx, o)
	h, err := findHousehold(ctx, l.db, o.NID, did)
	if err != nil {
		return web.Reply[*Household]{}, err
	}
	if h != nil {
		x.present(h)
	}
	if !x.All() && (h == nil || !x.back || !x.visits(h)) { // the answer would reveal its real name, or that it is listed
		return web.Reply[*Household]{}, fault.New(fault.Invalid, "INVALID_PARAMETER", "A parameter is not valid.").
			With(fault.Field{Pointer: "path/did", Code: "scope_missing", Detail: "This key sees households only by name. Asking by DID needs one of the scopes responses:pii, responses:write, surveys:assign and surveys:write, or responses:check for a household that is assigned to you."})
	}
	if h == nil || !x.sees(h) {
		return web.Reply[*Household]{}, notListed()
	}
	return web.Reply[*Household]{Value: h, ETag: web.ETag(h.Revision)}, nil
}

// PatchHousehold changes a household of the list by a merge patch, or the JSON
// patch that the request has instead. Faults are those of AddHouseholds,
// HOUSEHOLD_NOT_LISTED, and those of web.CheckMatch, web.MergePatch and
// web.JSONPatch.
func (l *lists) PatchHousehold(ctx context.Context, id, did, ifMatch string, patch []byte) (web.Reply[*Household], error) {
	var none web.Reply[*Household]
	r, v, err := read(ctx, l.db, id)
	if err != nil {
		return none, err
	}
	o, err := l.Open(ctx, id)
	if err != nil {
		return none, err
	}
	var reply web.Reply[*Household]
	err = l.db.InTx(ctx, func(tx *db.Tx) error {
		if _, _, err := touch(ctx, tx, r.NID); err != nil {
			return err
		}
		h, err := findMatched(ctx, tx, r.NID, did, ifMatch)
		if err != nil {
			return err
		}
		d, err := h.patched(ctx, patch)
		if err == nil {
			err = mayMerge(ctx, h, &d)
		}
		if err != nil {
			return err
		}
		one := []HouseholdDraft{d}
		if err := CheckHouseholds(one, v.Sampling); err != nil {
			return onlyItem(err)
		}
		merged, err := l.merge(ctx, tx, r, v, one)
		if err != nil {
			return onlyItem(err)
		}
		if h, err = findListed(ctx, tx, r.NID, did); err != nil {
			return err
		}
		h.Warnings = merged.Warnings
		reply = l.reply(ctx, o, h)
		return nil
	})
	return reply, err
}

// mayMerge holds callers who have surveys:assign and not surveys:write to the
// collector. The fault is SCOPE_MISSING.
func mayMerge(ctx context.Context, h *Household, d *HouseholdDraft) error {
	if web.CallerFrom(ctx).May("surveys:write") {
		return nil
	}
	next, _ := h.merge(d)
	next.Collector = h.Collector
	if _, changed := h.merge(next.whole()); changed {
		return fault.New(fault.Forbidden, "SCOPE_MISSING", "With the scope surveys:assign you may change the collector of a household. Anything else needs surveys:write.")
	}
	return nil
}

// onlyItem removes the index in the list from the pointers of a fault.
func onlyItem(err error) error {
	return repoint(repoint(err, "/items/0", ""), "/items", "")
}

// whole is a draft of all that the household says.
func (h *Household) whole() *HouseholdDraft {
	return &HouseholdDraft{
		HouseholdID: h.HouseholdID, Stratum: &h.Stratum, Group: &h.Group, Area: &h.Area, Cluster: &h.Cluster, Collector: &h.Collector, Location: h.Location, Attributes: &h.Attributes,
		Whole: true,
	}
}

// patched is the household with a patch applied, as a draft.
func (h *Household) patched(ctx context.Context, patch []byte) (HouseholdDraft, error) {
	var d HouseholdDraft
	doc, err := json.Marshal(h.whole())
	if err != nil {
		return d, fmt.Errorf("encode household: %w", err)
	}
	if doc, err = applied(ctx, doc, patch); err != nil {
		return d, err
	}
	if err := web.DecodeStrict(doc, &d, false); err != nil {
		return d, err
	}
	if d.HouseholdID != h.HouseholdID {
		return d, fault.New(fault.Invalid, "HOUSEHOLDS_INVALID", "The household is not valid.").
			With(fault.Field{Pointer: "/householdId", Code: "read_only", Detail: "This cannot change."})
	}
	d.Whole = true
	return d, nil
}

// findMatched finds a household at the revision that ifMatch names. Lock its
// campaign with touch first, so that it does not change. Faults:
// HOUSEHOLD_NOT_LISTED, and those of web.CheckMatch.
func findMatched(ctx context.Context, tx *db.Tx, survey int64, did, ifMatch string) (*Household, error) {
	h, err := findListed(ctx, tx, survey, did)
	if err != nil {
		return nil, err
	}
	return h, web.CheckMatch(ifMatch, h.Revision)
}

// RemoveHousehold takes a household off the list of a campaign that has not
// started; later its responses may count. Faults: SURVEY_NOT_FOUND,
// HOUSEHOLD_NOT_LISTED, SURVEY_LOCKED, and those of web.CheckMatch.
func (l *lists) RemoveHousehold(ctx context.Context, id, did, ifMatch string) (*Household, error) {
	r, _, err := read(ctx, l.db, id)
	if err != nil {
		return nil, err
	}
	o, err := l.Open(ctx, id)
	if err != nil {
		return nil, err
	}
	var h *Household
	err = l.db.InTx(ctx, func(tx *db.Tx) error {
		status, revision, err := touch(ctx, tx, r.NID)
		if err != nil {
			return err
		}
		if h, err = findMatched(ctx, tx, r.NID, did, ifMatch); err != nil {
			return err
		}
		if status != StatusDraft && status != StatusReady {
			return lockedFault(fault.Field{Pointer: "/status", Code: "locked", Detail: "The survey is " + string(status) + ". Set the outcome of the household instead."})
		}
		if h.sampled() {
			return lockedFault(fault.Field{Pointer: "/source", Code: "locked", Detail: "The household was drawn, so it stays on the list. Set its outcome, or have it replaced."})
		}
		n, err := tx.Exec(ctx, removeHousehold, r.NID, did, h.Revision)
		if err != nil {
			return fmt.Errorf("remove household: %w", err)
		}
		if n == 0 {
			return web.Overtaken()
		}
		if err := l.countAll(ctx, tx, r.NID, []Delta{{Stratum: h.Stratum, Group: h.Group, listed: -1}}); err != nil {
			return err
		}
		l.changed(tx, r.Workspace)
		return l.events.Append(ctx, tx, event.Event{
			Workspace: r.Workspace, Type: "survey.households_changed", Subject: r.SurveyID, Revision: revision, Data: map[string]int{"removed": 1},
		})
	})
	if err != nil {
		return nil, err
	}
	l.view(ctx, o).present(h)
	return h, nil
}
