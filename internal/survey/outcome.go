package survey

import (
	"context"
	"fmt"

	"github.com/hearth-dmrv/hearth/internal/check"
	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/event"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/once"
	"github.com/hearth-dmrv/hearth/internal/privacy/vault"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// Household finds a household on the list of a campaign, nil when it is not
// there. q may be the transaction of the caller.
func (op *opened) Household(ctx context.Context, q db.Querier, o *Open, did string) (*Household, error) {
	if !o.Listed {
		return nil, nil
	}
	h, err := findHousehold(ctx, q, o.NID, did)
	if h != nil {
		h.Outcome, h.AssignedTo = h.in(o.Round), o.Collector(h)
	}
	return h, err
}

// follow gives the household of a delta the outcome that its responses imply,
// and returns what that changes in the counters of the household itself, if it
// is listed.
func (c *counters) follow(ctx context.Context, tx *db.Tx, o *Open, d *Delta) (Delta, error) {
	if d.Household == nil || d.Standing == Unchanged || d.Round != o.Round {
		return Delta{}, nil
	}
	was, err := c.setOutcome(ctx, tx, o, d.Household, int(d.Standing))
	if err != nil {
		return Delta{}, err
	}
	more := outcomeDelta(int(d.Standing), 1)
	more.add(outcomeDelta(was.code(o.Round), -1))
	more.Round, more.Stratum, more.Group = d.Round, was.Stratum, was.Group
	return more, nil
}

// outcomeDelta is what a stored outcome counts for the household; listed and
// those that come with a response count nothing.
func outcomeDelta(outcome, n int) (d Delta) {
	if responded(outcome) {
		return d
	}
	switch outcomeName(outcome) {
	case OutcomeContacted:
		d.Contacted = n
	case OutcomeRefused:
		d.Refused = n
	case OutcomeUnreachable:
		d.Unreachable = n
	case OutcomeIneligible:
		d.Contacted, d.Ineligible = n, n
	}
	return d
}

// setOutcome stores an outcome in the open round and returns the household as it
// was just before. An outcome from an earlier round is kept separately, so that
// the figures of that round stay. h may be out of date. Faults: HOUSEHOLD_ERASED
// of /householdId, STORE_BUSY.
func (c *counters) setOutcome(ctx context.Context, tx *db.Tx, o *Open, h *Household, outcome int) (*Household, error) {
	for range maxTries {
		if h.outcome != 0 && h.round < o.Round {
			if err := tx.Send(ctx, keepOutcome, o.NID, h.HouseholdID, h.Revision); err != nil {
				return nil, fmt.Errorf("keep outcome: %w", err)
			}
		}
		n, err := tx.Exec(ctx, setOutcome, o.NID, h.HouseholdID, h.Revision, outcome, o.Round, c.clock().UnixMilli())
		if err != nil {
			return nil, fmt.Errorf("store outcome: %w", err)
		}
		if n > 0 {
			return h, nil
		}
		now, err := findHousehold(ctx, tx, o.NID, h.HouseholdID)
		if err != nil {
			return nil, err
		}
		if now == nil {
			return h, nil // taken off the list
		}
		if now.Erased && !h.Erased { // since it was read
			return nil, vault.ErasedFault(vault.ErasedField("/householdId", h.HouseholdID))
		}
		h = now
	}
	return nil, fault.New(fault.Unavailable, "STORE_BUSY", "This household is being changed by many at once. Try again shortly.")
}

// OutcomeChange says how an attempt went.
type OutcomeChange struct {
	Outcome string `json:"outcome" enum:"listed,contacted,refused,ineligible,unreachable" doc:"The response sets completed and partial, and also refused when the answer to the consent question is no, and ineligible when the eligibility rule says so." example:"contacted"`
}

// SetOutcome stores how an attempt to interview a household went, in the open
// round of an active campaign. Faults: SURVEY_NOT_FOUND, HOUSEHOLD_NOT_LISTED,
// HOUSEHOLDS_INVALID, HOUSEHOLD_ERASED, SURVEY_NOT_ACTIVE, those of mayNote.
func (l *lists) SetOutcome(ctx context.Context, id, did string, ch OutcomeChange) (web.Reply[*Household], error) {
	var none web.Reply[*Household]
	var c fault.Checks
	c.Require(ch.Outcome != "", "/outcome")
	check.OneOf(&c, "/outcome", ch.Outcome, OutcomeListed, OutcomeContacted, OutcomeRefused, OutcomeIneligible, OutcomeUnreachable)
	if err := c.Err("HOUSEHOLDS_INVALID", "The outcome is not valid."); err != nil {
		return none, err
	}
	o, err := l.Open(ctx, id)
	if err == nil && !o.Active() {
		o, err = l.Again(ctx, o)
	}
	if err != nil {
		return none, err
	}
	if !o.Active() {
		return none, fault.New(fault.Conflict, "SURVEY_NOT_ACTIVE", "Attempts can be noted only while the survey is active.").
			With(fault.Field{Pointer: "path/surveyId", Code: "not_active", Detail: "The survey is " + string(o.Status) + "."})
	}
	return once.Do(ctx, l.idem, func(tx *db.Tx) (web.Reply[*Household], error) {
		h, err := findListed(ctx, tx, o.NID, did)
		if err == nil && h.Erased {
			err = vault.ErasedFault(vault.ErasedField("path/did", did))
		}
		if err == nil {
			err = o.mayNote(ctx, h)
		}
		if err != nil {
			return none, err
		}
		outcome, now := outcomeCode(ch.Outcome), h.code(o.Round)
		if now != outcome && !responded(now) {
			was, err := l.setOutcome(ctx, tx, o, h, outcome)
			if err != nil {
				return none, repoint(err, "/householdId", "path/did")
			}
			d := outcomeDelta(outcome, 1)
			d.add(outcomeDelta(was.code(o.Round), -1))
			d.Round, d.Stratum, d.Group = o.Round, was.Stratum, was.Group
			if err := l.countAll(ctx, tx, o.NID, []Delta{d}); err != nil {
				return none, err
			}
			if err := l.noted(ctx, tx, o, was, ch.Outcome); err != nil {
				return none, err
			}
			if h, err = findListed(ctx, tx, o.NID, did); err != nil {
				return none, err
			}
		}
		return l.reply(ctx, o, h), nil
	})
}

// notedData is what the event of an attempt says about it. Events name no
// households: it has the name of pseudonymised exports.
type notedData struct {
	Household string `json:"household"`
	Round     int    `json:"round"`
	From      string `json:"from"`
	To        string `json:"to"`
}

// noted appends the event that the outcome of an attempt was noted.
func (l *lists) noted(ctx context.Context, tx *db.Tx, o *Open, was *Household, outcome string) error {
	name := l.vault.Pseudonyms(o.Workspace, o.Project)(was.HouseholdID)
	return l.events.Append(ctx, tx, event.Event{
		Workspace: o.Workspace, Type: "survey.outcome_set", Subject: o.SurveyID, Revision: o.Revision, Data: notedData{name, o.Round, was.in(o.Round), outcome},
	})
}

// reply shows a household.
func (l *lists) reply(ctx context.Context, o *Open, h *Household) web.Reply[*Household] {
	l.view(ctx, o).present(h)
	return web.Reply[*Household]{Value: h, ETag: web.ETag(h.Revision)}
}
