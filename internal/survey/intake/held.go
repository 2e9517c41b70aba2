package intake

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/privacy"
	"github.com/hearth-dmrv/hearth/internal/survey"
	"github.com/hearth-dmrv/hearth/internal/survey/form"
	"github.com/hearth-dmrv/hearth/internal/survey/response"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// Why a response is held.
const (
	closedCode = "SURVEY_CLOSED"
	pausedCode = "SURVEY_PAUSED"
)

// maxNamed is how many surveys are listed for a sender who must choose one of
// them.
const maxNamed = 20

// holds reports whether responses for a survey are held: it accepted responses
// once, and may again.
func holds(o *survey.Open) bool {
	return o.Status == survey.StatusClosed || o.Status == survey.StatusPaused
}

// pick finds the survey of an item. One that names a template whose surveys have
// all ended is for the one there is.
func (s *Batches) pick(ctx context.Context, d *response.Draft) (*survey.Open, error) {
	o, err := s.cfg.Responses.Pick(ctx, "", d)
	if fault.CodeOf(err) != "SURVEY_NOT_FOUND" {
		return o, err
	}
	ids, wrong := listLate(ctx, s.db, web.CallerFrom(ctx).Workspace, d.SurveyID)
	if wrong != nil {
		return nil, wrong
	}
	var found []*survey.Open
	for _, id := range ids {
		o, wrong := s.cfg.Surveys.Open(ctx, id)
		if fault.KindOf(wrong) == fault.NotFound {
			continue // of another project
		} else if wrong != nil {
			return nil, wrong
		}
		if holds(o) {
			found = append(found, o)
		}
		if len(found) > maxNamed {
			break
		}
	}
	switch len(found) {
	case 0:
		return nil, err
	case 1:
		return found[0], nil
	}
	return nil, response.Ambiguous(found)
}

// held reports whether a content waits because of its survey, not of a response.
func (c *kept) held() bool { return c.response < 0 }

// content is how it came.
func (c *kept) content(a *aside, reason string) response.Held {
	return response.Held{Sender: c.sender, At: time.UnixMilli(c.at).UTC(), Hash: a.Hash, Reason: reason}
}

// hold keeps a response that came while its survey took none. It is kept once,
// however often it is sent.
func (s *Batches) hold(ctx context.Context, tx *db.Tx, p *response.Prepared, r *Result) error {
	o := p.Open()
	known, err := findSame(ctx, tx, -o.NID, name(ctx, p))
	if err != nil {
		return err
	}
	if known != nil && known.resolvedAt > 0 {
		r.Status, r.ConflictID = Replayed, nameOf(known.nid)
		return nil
	}
	why := fault.New(fault.Conflict, closedCode, "The survey is closed. The response is kept until a manager accepts or refuses it.")
	if o.Status == survey.StatusPaused {
		why = fault.New(fault.Conflict, pausedCode, "The survey is paused. The response is kept until a manager accepts or refuses it.")
	}
	refuse(r, Held, why)
	r.Missing = p.Sent().Head.Missing
	if known != nil {
		r.ConflictID, r.Code = nameOf(known.nid), known.code
		return nil
	}
	return s.keep(ctx, tx, obstacle{p: p}, &kept{response: -o.NID, code: r.Code}, r)
}

// Reasons why a held content no longer needs a decision.
const (
	nowStored   = "It was sent again when the survey accepted responses, and is stored."
	seeConflict = "It was sent again when the survey accepted responses: see "
)

// Settle is settle for a response that was sent separately and is stored.
func (s *Batches) Settle(ctx context.Context, tx *db.Tx, p *response.Prepared) error {
	return s.settle(ctx, tx, p, nowStored)
}

// settle resolves a held content whose sender has sent it again when the survey
// accepted it: nothing is left to decide.
func (s *Batches) settle(ctx context.Context, tx *db.Tx, p *response.Prepared, reason string) error {
	o := p.Open()
	c, err := findSame(ctx, tx, -o.NID, name(ctx, p))
	if err != nil || c == nil || c.resolvedAt > 0 {
		return err
	}
	c.resolvedAt, c.resolvedBy, c.resolution, c.reason = s.now().UnixMilli(), c.sender, keepSent, reason
	if ended, err := resolve(ctx, tx, c); err != nil || !ended {
		return err
	}
	return s.announce(ctx, tx, o.SurveyID, c)
}

// sent fills in the content that was sent, for callers who may read all of it.
func (r *Clash) sent(x privacy.Sight, a *aside) error {
	if !x.All() {
		return nil
	}
	text, err := json.Marshal(&a.Draft)
	if err != nil {
		return fmt.Errorf("encode what was sent: %w", err)
	}
	r.Sent = form.Object{Value: text}
	return nil
}

// planHeld takes or refuses a held response. A manager decides.
func (s *Batches) planHeld(ctx context.Context, o *survey.Open, c *kept, res Resolution) (func(*db.Tx, string) error, error) {
	if !web.CallerFrom(ctx).May("surveys:write") {
		return nil, fault.New(fault.Forbidden, "SCOPE_MISSING", "Deciding about a response that is held needs the scope surveys:write.")
	}
	var wrong fault.Checks
	if res.Keep == keepMerged {
		wrong.Add("/keep", "not_allowed", "There is no stored response to merge it with.")
	}
	if res.Keep == keepStored && strings.TrimSpace(res.Reason) == "" {
		wrong.Add("/reason", "required", "Give the reason for refusing the answers of a household.")
	}
	if err := wrong.Err("RESOLUTION_INVALID", "The resolution is not valid."); err != nil {
		return nil, err
	}
	a, err := s.open(ctx, s.db, o, c)
	if err != nil {
		return nil, err
	}
	nothing := func(*db.Tx, string) error { return nil }
	if there, err := s.isStored(ctx, o, c, a); err != nil {
		return nil, err
	} else if there && res.Keep == keepStored {
		wrong.Add("/keep", "not_allowed", "Its sender sent it again, and it is stored: keep must be sent. Decide about the response itself.")
		return nil, wrong.Err("RESOLUTION_INVALID", "The resolution is not valid.")
	} else if there || res.Keep == keepStored {
		return nothing, nil
	}
	if o.Status == survey.StatusArchived {
		return nil, response.Archived()
	}
	if a == nil {
		return nil, fault.New(fault.Conflict, "CONTENT_ERASED", "The content that was sent can no longer be read: the household was erased. Refuse it.")
	}
	d := a.Draft
	if res.Supersedes != "" {
		d.Supersedes = res.Supersedes
	}
	p, err := s.cfg.Responses.PrepareHeld(ctx, o, &d, c.content(a, reason(c, res)))
	if err != nil {
		return nil, err
	}
	return func(tx *db.Tx, _ string) error {
		done, err := s.cfg.Responses.StoreTx(ctx, tx, p)
		if err != nil || !done.Fresh {
			return err
		}
		return s.cfg.Surveys.Count(ctx, tx, o, done.Deltas...)
	}, nil
}

// isStored reports whether who has sent a held content has sent it once more, not
// in a batch, when the survey took it.
func (s *Batches) isStored(ctx context.Context, o *survey.Open, c *kept, a *aside) (bool, error) {
	if a == nil {
		return false, nil
	}
	r, _, err := s.cfg.Responses.Find(ctx, s.db, c.sentID)
	if fault.KindOf(err) == fault.NotFound {
		return false, nil
	} else if err != nil {
		return false, err
	}
	return r.Survey == o.NID && r.Sender == c.sender && bytes.Equal(r.FirstHash, a.Hash), nil
}
