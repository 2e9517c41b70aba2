package intake

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/hearth-dmrv/hearth/internal/check"
	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/once"
	"github.com/hearth-dmrv/hearth/internal/privacy/vault"
	"github.com/hearth-dmrv/hearth/internal/survey"
	"github.com/hearth-dmrv/hearth/internal/survey/form"
	"github.com/hearth-dmrv/hearth/internal/survey/response"
	"github.com/hearth-dmrv/hearth/internal/web"
)

const (
	keepStored = "stored"
	keepSent   = "sent"
	keepMerged = "merged"
)

func checkResolution(r *Resolution) error {
	var c fault.Checks
	switch r.Keep {
	case keepStored, keepSent, keepMerged:
	case "":
		c.Require(false, "/keep")
	default:
		c.Add("/keep", "unknown", "The value must be stored, sent or merged.")
	}
	if r.Keep != keepMerged && len(r.Take) > 0 {
		c.Add("/take", "not_allowed", "Only keep=merged accepts take.")
	}
	for _, pointer := range slices.Sorted(maps.Keys(r.Take)) {
		if side := r.Take[pointer]; side != keepStored && side != keepSent {
			c.Add(taken(pointer), "unknown", "The value must be stored or sent.")
		}
	}
	check.Reason(&c, "/reason", r.Reason, false)
	return c.Err("RESOLUTION_INVALID", "The resolution is not valid.")
}

// taken is the place in a resolution that decides about a question.
func taken(pointer string) string {
	return "/take/" + check.Escape(pointer)
}

// Resolve ends a conflict. Faults: SURVEY_NOT_FOUND, CONFLICT_NOT_FOUND,
// CONFLICT_RESOLVED, RESOLUTION_INVALID, CONTENT_ERASED, STALE_REVISION, and
// those of a correction or of a response that replaces another.
func (s *Batches) Resolve(ctx context.Context, surveyID, id, ifMatch string, res Resolution) (web.Reply[*Clash], error) {
	var none web.Reply[*Clash]
	if err := checkResolution(&res); err != nil {
		return none, err
	}
	o, c, err := s.find(ctx, s.db, surveyID, id)
	if err != nil {
		return none, err
	}
	if ifMatch == "" {
		ifMatch = "*"
	}
	plan, err := s.plan(ctx, o, c, res)
	if err != nil {
		if web.IdempotencyFrom(ctx).Key == "" {
			return none, err
		}
		plan = func(*db.Tx, string) error { return err } // unless it was done before
	}
	return once.Do(ctx, s.cfg.Idem, func(tx *db.Tx) (web.Reply[*Clash], error) {
		now := *c
		now.resolvedAt, now.resolvedBy, now.resolution, now.reason = s.now().UnixMilli(), web.CallerFrom(ctx).DID, res.Keep, res.Reason
		// Before the row of the conflict, which an erasure takes after it.
		if err := vault.HoldErasures(ctx, tx, s.db.Dialect(), c.ws, c.household); err != nil {
			return none, err
		}
		ended, err := resolve(ctx, tx, &now)
		if err == nil && !ended {
			err = alreadyResolved()
		}
		if err == nil {
			err = s.announce(ctx, tx, o.SurveyID, &now)
		}
		if err == nil {
			err = plan(tx, ifMatch)
		}
		if err != nil {
			return none, err
		}
		out, err := s.show(ctx, tx, o, &now)
		return web.Reply[*Clash]{Value: out}, err
	})
}

// checkFor names what is wrong with a resolution for the response it would
// change. It does not reveal whether the contents differ.
func checkFor(r *Resolution, f *form.Form, stored *response.Row) error {
	var c fault.Checks
	questions := questionsOf(f)
	for _, pointer := range slices.Sorted(maps.Keys(r.Take)) {
		if q, ok := questions[pointer]; !ok {
			c.Add(taken(pointer), "unknown", "The survey has no such question.")
		} else if !q.given {
			c.Add(taken(pointer), "not_allowed", "The answer is calculated.")
		}
	}
	if r.Supersedes != "" {
		c.Add("/supersedes", "not_allowed", "Only a response that is held may name one to replace.")
	}
	if r.Keep != keepStored && stored.VStatus == response.Verified && strings.TrimSpace(r.Reason) == "" {
		c.Add("/reason", "required", "The response is verified and would have to be verified again: give a reason.")
	}
	return c.Err("RESOLUTION_INVALID", "The resolution is not valid.")
}

func alreadyResolved() error {
	return fault.New(fault.Conflict, "CONFLICT_RESOLVED", "Somebody already resolved this conflict.")
}

// plan prepares what a resolution changes.
func (s *Batches) plan(ctx context.Context, o *survey.Open, c *kept, res Resolution) (func(tx *db.Tx, ifMatch string) error, error) {
	if c.resolvedAt > 0 {
		return nil, alreadyResolved()
	}
	if c.held() {
		return s.planHeld(ctx, o, c, res)
	}
	r, err := s.stored(ctx, s.db, o, c)
	if err != nil {
		return nil, err
	}
	if err := checkFor(&res, o.Form, r); err != nil {
		return nil, err
	}
	if res.Keep == keepStored {
		return func(_ *db.Tx, ifMatch string) error { return web.CheckMatch(ifMatch, r.Revision) }, response.MayChange(ctx, r)
	}
	a, err := s.open(ctx, s.db, o, c)
	if err != nil {
		return nil, err
	}
	if a == nil {
		return nil, fault.New(fault.Conflict, "CONTENT_ERASED", "The content that was sent can no longer be read: the household was erased. Keep the stored one.")
	}
	if res.Keep == keepSent && c.code == response.DuplicateCode {
		return s.planReplacement(ctx, o, r, a, c.content(a, ""))
	}
	d, hash := &a.Draft, a.Hash
	if res.Keep == keepMerged {
		if d, err = s.mergedDraft(ctx, o, r, a, res.Take); err != nil {
			return nil, err
		}
		hash = nil
	}
	d.Verification = nil
	d.Partial = true // missing answers stay visible and are no obstacle
	p, err := s.cfg.Responses.PrepareCorrection(ctx, o, r, d)
	if err != nil {
		return nil, err
	}
	return func(tx *db.Tx, ifMatch string) error {
		_, err := s.cfg.Responses.CorrectTx(ctx, tx, p, response.Correction{IfMatch: ifMatch, Reason: reason(c, res), Hash: hash})
		return err
	}, nil
}

func reason(c *kept, res Resolution) string {
	if res.Reason != "" {
		return res.Reason
	}
	return "conflict " + nameOf(c.nid) + ": " + res.Keep + " kept"
}

// planReplacement stores the second response of a household in place of the
// first.
func (s *Batches) planReplacement(ctx context.Context, o *survey.Open, r *response.Row, a *aside, l response.Held) (func(*db.Tx, string) error, error) {
	if err := response.MayChange(ctx, r); err != nil {
		return nil, err
	}
	if o.Status == survey.StatusArchived {
		return nil, response.Archived()
	}
	d := a.Draft
	d.Supersedes, d.Verification, d.Round = r.ResponseID, nil, r.Round
	p, err := s.cfg.Responses.PrepareHeld(ctx, o, &d, l)
	if err != nil {
		return nil, err
	}
	return func(tx *db.Tx, ifMatch string) error {
		if err := web.CheckMatch(ifMatch, r.Revision); err != nil {
			return err
		}
		done, err := s.cfg.Responses.StoreTx(ctx, tx, p)
		if err != nil || !done.Fresh {
			return err
		}
		return s.cfg.Surveys.Count(ctx, tx, o, done.Deltas...)
	}, nil
}

// mergedDraft is the stored response with the answers of both. The fault is
// RESOLUTION_INVALID, naming what is undecided.
func (s *Batches) mergedDraft(ctx context.Context, o *survey.Open, r *response.Row, a *aside, take map[string]string) (*response.Draft, error) {
	d, err := s.cfg.Responses.DraftOf(ctx, s.db, o, r)
	if err != nil {
		return nil, err
	}
	two, err := given(o.Form, d.Responses.Value, a.Answers)
	if err != nil {
		return nil, err
	}
	answers, undecided := two.merged(r.Knows(ctx), take)
	if len(undecided) > 0 {
		var c fault.Checks
		how := " differently"
		if !r.Knows(ctx) {
			how = ", alike or not"
		}
		for _, pointer := range undecided {
			c.Add("/take", "required", "Both answer "+pointer+how+": choose stored or sent.")
		}
		return nil, c.Err("RESOLUTION_INVALID", "The resolution does not decide every question.")
	}
	d.Responses = form.Object{Value: answers}
	if d.Location == nil {
		d.Location = a.Location
	}
	for _, f := range a.Head.Attachments {
		if !has(d.Attachments, f.SHA256) {
			d.Attachments = append(d.Attachments, f)
		}
	}
	return d, nil
}

func has(list []response.Attachment, hash string) bool {
	for _, one := range list {
		if one.SHA256 == hash {
			return true
		}
	}
	return false
}
