package survey

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/once"
	"github.com/hearth-dmrv/hearth/internal/survey/form"
	"github.com/hearth-dmrv/hearth/internal/survey/template"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// move is a step in the life of a campaign.
type move struct {
	action, event string
	from          []Status
	to            Status
	starts        bool // every precondition must hold
	window        bool // the window must not be over
	reason        bool // why must be said
}

// moves are all steps, by the last part of their route.
var moves = map[string]move{
	"ready":    {action: "ready", event: "survey.ready", from: []Status{StatusDraft}, to: StatusReady, starts: true},
	"activate": {action: "activated", event: "survey.activated", from: []Status{StatusDraft, StatusReady}, to: StatusActive, starts: true},
	"pause":    {action: "paused", event: "survey.paused", from: []Status{StatusActive}, to: StatusPaused},
	"resume":   {action: "resumed", event: "survey.resumed", from: []Status{StatusPaused}, to: StatusActive, window: true},
	"close":    {action: "closed", event: "survey.closed", from: []Status{StatusActive, StatusPaused}, to: StatusClosed},
	"reopen":   {action: "reopened", event: "survey.reopened", from: []Status{StatusClosed}, to: StatusActive, window: true, reason: true},
	"archive":  {action: "archived", event: "survey.archived", from: []Status{StatusClosed}, to: StatusArchived},
}

// Move says why a campaign takes a step.
type Move struct {
	Reason string `json:"reason,omitzero" doc:"Why, for the record. Needed to reopen, and to start while the review of the template is overdue."`
}

const transitionCode = "STATE_TRANSITION_INVALID"

// Move takes a campaign a step further: ready, activate, pause, resume, close,
// reopen or archive. ifMatch may be empty. Faults: SURVEY_NOT_FOUND,
// STATE_TRANSITION_INVALID with every precondition that does not hold, and
// those of web.CheckMatch.
func (s *Service) Move(ctx context.Context, id, name, ifMatch string, m Move) (web.Reply[*Survey], error) {
	var none web.Reply[*Survey]
	mv := moves[name]
	if err := CheckReason("/reason", m.Reason, mv.reason); err != nil {
		return none, err
	}
	return again(func() (web.Reply[*Survey], error) {
		r, old, err := read(ctx, s.db, id)
		if err == nil && ifMatch != "" {
			err = web.CheckMatch(ifMatch, r.Revision)
		}
		if err == nil {
			err = mv.allows(old.Status)
		}
		if err != nil {
			return once.Refuse[*Survey](ctx, s.cfg.Idem, err)
		}
		return s.move(ctx, r, old, mv, m.Reason)
	})
}

func (m move) allows(from Status) error {
	if slices.Contains(m.from, from) {
		return nil
	}
	return fault.New(fault.Conflict, transitionCode, fmt.Sprintf("A survey that is %s cannot become %s.", from, m.to)).With(wrongStatus(from))
}

// wrongStatus says that the status of a campaign does not allow something.
func wrongStatus(status Status) fault.Field {
	return fault.Field{Pointer: "/status", Code: "wrong_status", Detail: "The survey is " + string(status) + "."}
}

// move stores the step.
func (s *Service) move(ctx context.Context, r *Row, old *Survey, m move, reason string) (web.Reply[*Survey], error) {
	var none web.Reply[*Survey]
	v := *old
	v.Status, v.StatusReason = m.to, reason
	if v.Activated.IsZero() && m.to == StatusActive {
		v.Activated = s.now()
	}
	if v.Closed = old.Closed; m.to == StatusClosed {
		v.Closed = s.now()
	} else if m.to == StatusActive {
		v.Closed = time.Time{}
	}
	var c fault.Checks
	if m.starts || m.window {
		v.checkWindow(&c, s.now())
	}
	if m.starts {
		if err := s.checkStart(ctx, r.Workspace, old, reason, &c); err != nil {
			return none, err
		}
	}
	body, err := s.next(ctx, r, &v)
	if err != nil {
		return none, err
	}
	st := step{change: change{m.action, reason}, event: m.event, body: body, check: func(tx *db.Tx) error {
		all := c // a copy: this may run twice
		var err error
		if m.starts {
			err = checkSample(ctx, tx, r.NID, old.Sampling, &all)
		} else if m.to == StatusArchived {
			err = checkWaiting(ctx, tx, r.NID, r.SurveyID, &all)
		}
		if err != nil {
			return err
		}
		return unmet(&all, m.to)
	}}
	return once.Do(ctx, s.cfg.Idem, func(tx *db.Tx) (web.Reply[*Survey], error) {
		return s.storeTx(ctx, tx, r, &v, st)
	})
}

// unmet is the fault that names all preconditions which do not hold.
func unmet(c *fault.Checks, to Status) error {
	if c.OK() {
		return nil
	}
	return Limited(fault.New(fault.Conflict, transitionCode, fmt.Sprintf("The survey cannot become %s yet.", to)).With(c.Fields()...))
}

func (s *Survey) checkWindow(c *fault.Checks, now time.Time) {
	if end := s.openWindow().End; !end.IsZero() && !now.Before(end) {
		c.Add("/window/end", "window_over", "The window is over. Change its end.")
	}
}

// checkStart notes what stands in the way of a campaign, all that needs no
// transaction.
func (s *Service) checkStart(ctx context.Context, ws string, v *Survey, reason string, c *fault.Checks) error {
	f, err := s.startForm(ctx, ws, v, c)
	if err != nil {
		return err
	}
	if f != nil && !f.HasConsent() {
		c.Add("/sections", "consent_missing", "None of the selected sections has a consent question. Add a section such as {\"id\":\"consent\",\"questions\":[{\"id\":\"agreed\",\"type\":\"consent\"}]} to the template, publish it and use its version with {\"templateVersion\": 2, \"sections\": null}, or select the section that has one.")
	}
	v.CheckServed(c, s.cfg.served(ws), nil)
	checkAskable(c, f, v.Modes)
	if len(v.Collectors) == 0 && !v.SelfService() {
		c.Add("/collectors", "collectors_missing", "Name at least one collector, or allow a mode in which households answer themselves: ussd, web or chat.")
	}
	if v.Training != nil && v.Training.Required {
		for i := range v.Collectors {
			if !v.Collectors[i].Trained() {
				c.Add(fmt.Sprintf("/collectors/%d/training", i), "training_missing", "The collector has not completed the training.")
			}
		}
	}
	if reason != "" || f == nil {
		return nil
	}
	state, err := s.cfg.Templates.Review(ctx, s.db, ws, v.TemplateID, s.now())
	if err != nil {
		return fmt.Errorf("look for review of template: %w", err)
	}
	if state.Overdue {
		c.Add("/templateId", "review_overdue", "The suitability review of the template is overdue. Review it, or give a reason.")
	}
	return nil
}

// startForm returns the form a campaign is to start with, and notes what is
// wrong with it.
func (s *Service) startForm(ctx context.Context, ws string, v *Survey, c *fault.Checks) (*form.Form, error) {
	f, _, err := s.cfg.Templates.Form(ctx, s.db, ws, template.Ref{ID: v.TemplateID, Version: v.TemplateVersion, Sections: v.Sections})
	if noted, err := noteTemplate(c, err); noted || err != nil {
		return nil, err
	}
	return f, nil
}

// checkSample notes what the sample lacks.
func checkSample(ctx context.Context, q db.Querier, nid int64, s *Sampling, c *fault.Checks) error {
	list, err := cells(ctx, q, nid, 0)
	if err != nil {
		return err
	}
	households, strata, none := int64(0), 0, int64(0)
	for _, one := range list {
		if one.listed == 0 {
			continue
		}
		if households += one.listed; one.stratum == "" {
			none += one.listed
			continue
		}
		if strata++; !s.Has(one.stratum) { // it had that name when they were uploaded
			c.Add("/sampling/strata", "strata_unknown", "Households on the list are in the stratum "+one.stratum+", which the sampling does not have.")
		}
	}
	if !s.Enrols() && households == 0 {
		c.Add("/sampling", "households_missing", "Upload the households with POST /v1/surveys/{surveyId}/households, or choose a census or open enrolment.")
	}
	if !s.Stratified() {
		return nil
	}
	if len(s.Strata) == 0 && strata == 0 {
		c.Add("/sampling/strata", "strata_missing", "Give the strata, or upload households with their strata.")
	} else if none > 0 {
		c.Add("/sampling/strata", "strata_missing", fmt.Sprintf("%d households on the list have no stratum.", none))
	}
	return nil
}

// checkWaiting notes data of a survey that wait for a decision, as a reason not
// to archive the survey: after that nobody could accept them any more. These
// are interviews that came while the survey accepted none, and contents that
// clash with stored responses (package offline).
func checkWaiting(ctx context.Context, q db.Querier, nid int64, surveyID string, c *fault.Checks) error {
	n, err := countWaiting(ctx, q, nid)
	if err != nil || n == 0 {
		return err
	}
	number := fmt.Sprint(n)
	if n > maxWaiting {
		number = fmt.Sprintf("more than %d", maxWaiting)
	}
	c.Add("/status", "conflicts_waiting", fmt.Sprintf("Contents that wait for a decision, held or in conflict: %s. Accept or refuse each: see GET /v1/surveys/%s/conflicts?resolved=false.", number, surveyID))
	return nil
}
