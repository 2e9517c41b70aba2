package survey

import (
	"context"
	"fmt"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/idem"
	"github.com/hearth-dmrv/hearth/internal/survey/alias"
	"github.com/hearth-dmrv/hearth/internal/survey/plan"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// Household finds a household on the list of a campaign, nil when it is not
// there. q may be the transaction of the caller.
func (s *Service) Household(ctx context.Context, q db.Querier, o *Open, did string) (*Household, error) {
	if !o.Listed {
		return nil, nil
	}
	h, err := findHousehold(ctx, q, o.NID, did)
	if h != nil {
		h.Outcome, h.AssignedTo = h.in(o.Round), o.Collector(h)
	}
	return h, err
}

// complete makes the outcome of a household completed when a response of it is
// counted.
func (s *Service) complete(ctx context.Context, tx *db.Tx, o *Open, d *Delta) error {
	h := d.Household
	if h == nil || d.Completed+d.Partial <= 0 || d.Round != o.Round {
		return nil
	}
	was, err := s.setOutcome(ctx, tx, o, h, OutcomeCompleted)
	if err != nil || was.Stratum != d.Stratum || was.Group != d.Group {
		return err
	}
	d.add(outcomeDelta(was.in(o.Round), -1))
	return nil
}

// outcomeDelta is what an outcome counts; completed and listed count nothing.
func outcomeDelta(outcome string, n int) (d Delta) {
	switch outcome {
	case OutcomeContacted:
		d.Contacted = n
	case OutcomeRefused:
		d.Refused = n
	case OutcomeUnreachable:
		d.Unreachable = n
	}
	return d
}

// setOutcome stores an outcome in the open round and returns the household as
// it was just before. h may be out of date.
func (s *Service) setOutcome(ctx context.Context, tx *db.Tx, o *Open, h *Household, outcome string) (*Household, error) {
	for range maxTries {
		n, err := tx.Exec(ctx, setOutcome, o.NID, h.HouseholdID, h.Revision, outcomeCode(outcome), o.Round, s.now().UnixMilli())
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
			return nil, plan.ErasedFault("", h.HouseholdID)
		}
		h = now
	}
	return nil, fault.New(fault.Unavailable, "STORE_BUSY", "Others change this household all the time. Try again.")
}

// OutcomeChange tells how an attempt went.
type OutcomeChange struct {
	Outcome string `json:"outcome" enum:"listed,contacted,refused,unreachable" doc:"completed comes with the response." example:"contacted"`
}

// SetOutcome stores how an attempt to interview a household went, in the open
// round of an active campaign. Faults: SURVEY_NOT_FOUND, HOUSEHOLD_NOT_LISTED,
// HOUSEHOLDS_INVALID, HOUSEHOLD_ERASED, SURVEY_NOT_ACTIVE.
func (s *Service) SetOutcome(ctx context.Context, id, did string, ch OutcomeChange) (web.Reply[*Household], error) {
	var none web.Reply[*Household]
	var c fault.Checks
	plan.OneOf(&c, "/outcome", ch.Outcome, []string{OutcomeListed, OutcomeContacted, OutcomeRefused, OutcomeUnreachable}, true)
	if err := c.Err("HOUSEHOLDS_INVALID", "The outcome is not valid."); err != nil {
		return none, err
	}
	o, err := s.Open(ctx, id)
	if err != nil {
		return none, err
	}
	if !o.Active() {
		return none, fault.New(fault.Conflict, "SURVEY_NOT_ACTIVE", "The survey is "+string(o.Status)+".")
	}
	return idem.Once(ctx, s.cfg.Idem, func(tx *db.Tx) (web.Reply[*Household], error) {
		h, err := findHousehold(ctx, tx, o.NID, did)
		if err == nil && h == nil {
			err = notListed()
		} else if err == nil && h.Erased {
			err = plan.ErasedFault("", did)
		}
		if err != nil {
			return none, err
		}
		if now := h.in(o.Round); now != ch.Outcome && now != OutcomeCompleted {
			was, err := s.setOutcome(ctx, tx, o, h, ch.Outcome)
			if err != nil {
				return none, err
			}
			d := outcomeDelta(ch.Outcome, 1)
			d.add(outcomeDelta(was.in(o.Round), -1))
			d.Round, d.Stratum, d.Group = o.Round, was.Stratum, was.Group
			if err := s.countAll(ctx, tx, o.NID, []Delta{d}); err != nil {
				return none, err
			}
			if h, err = findHousehold(ctx, tx, o.NID, did); err != nil || h == nil {
				return none, err
			}
		}
		return s.reply(ctx, o, h), nil
	})
}

func notListed() error {
	return fault.New(fault.NotFound, "HOUSEHOLD_NOT_LISTED", "The household is not on the list of the survey.")
}

// reply shows a household.
func (s *Service) reply(ctx context.Context, o *Open, h *Household) web.Reply[*Household] {
	present(s.sight(ctx, o.Workspace, o.Project), o, h)
	return web.Reply[*Household]{Value: h, ETag: web.ETag(h.Revision)}
}

// present fills in what follows from the campaign, and hides where people live
// and who they are from those who only look at results.
func present(x alias.Sight, o *Open, h *Household) {
	h.Outcome, h.AssignedTo = h.in(o.Round), o.Collector(h)
	if h.OutcomeRound = h.round; h.Outcome == OutcomeListed {
		h.OutcomeRound = 0
	}
	if !x.All() {
		h.Masked = h.Location != nil || !h.Attributes.IsZero()
		h.Location, h.Attributes.Value = nil, nil
		h.HouseholdID, h.Collector, h.AssignedTo = x.Household(h.HouseholdID), x.Person(h.Collector), x.Person(h.AssignedTo)
	}
}

// sight is how a caller sees the households of a campaign: whoever collects or
// manages must know them.
func (s *Service) sight(ctx context.Context, ws, project string) alias.Sight {
	return alias.See(web.CallerFrom(ctx), s.cfg.Vault.Pseudonyms(ws, project), "responses:write", "surveys:write")
}

// veiled is a campaign as the caller sees it.
func (s *Service) veiled(ctx context.Context, v *Survey) (*Survey, bool) {
	x := s.sight(ctx, web.CallerFrom(ctx).Workspace, v.ProjectID)
	if x.All() || len(v.Assignments) == 0 {
		return v, false
	}
	out := *v
	out.Assignments = plan.Veiled(v.Assignments, x)
	return &out, true
}
