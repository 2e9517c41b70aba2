package template

import (
	"context"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/hearth-dmrv/hearth/internal/check"
	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/event"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/once"
	"github.com/hearth-dmrv/hearth/internal/web"
)

func decisions() []string { return []string{"keep", "revise", "retire"} }

func checkReview(d *ReviewDraft, now time.Time) error {
	var c fault.Checks
	c.Require(d.Findings != "", "/findings")
	check.Short(&c, "/findings", d.Findings, maxFindings)
	if !slices.Contains(decisions(), d.Decision) {
		c.Add("/decision", "not_allowed", "The value must be one of keep, revise, retire.")
	}
	if d.Version < 0 {
		c.Add("/version", "out_of_range", "The value must be 1 or more.")
	}
	if d.ReviewedAt.After(now) {
		c.Add("/reviewedAt", "in_future", "The time must not be in the future.")
	}
	if !d.ReviewedAt.IsZero() && d.ReviewedAt.Year() < 2000 {
		c.Add("/reviewedAt", "out_of_range", "The time must be after 1999.")
	}
	if d.NextReviewInDays < 0 || d.NextReviewInDays > maxReviewDays {
		c.Add("/nextReviewInDays", "out_of_range", fmt.Sprintf("The value must be 1 to %d.", maxReviewDays))
	}
	return c.Err("REVIEW_INVALID", "The review is not valid.")
}

// AddReview records a review by the caller. Each workspace reviews bundled
// templates itself. Faults: REVIEW_INVALID, TEMPLATE_NOT_FOUND,
// TEMPLATE_VERSION_NOT_FOUND, TEMPLATE_NOT_PUBLISHED for a draft.
func (s *Service) AddReview(ctx context.Context, id string, d ReviewDraft) (web.Reply[*Review], error) {
	var none web.Reply[*Review]
	ws, err := writer(ctx)
	if err != nil {
		return none, err
	}
	now := s.now()
	if err := checkReview(&d, now); err != nil {
		return none, err
	}
	e, err := s.load(ctx, s.db, cacheKey{ws, id, d.Version})
	if err != nil {
		return none, err
	}
	if e.v.Status == StatusDraft {
		return none, fault.New(fault.Unprocessable, "TEMPLATE_NOT_PUBLISHED", "A draft cannot be reviewed. Publish it first.")
	}
	if d.ReviewedAt.IsZero() {
		d.ReviewedAt = now
	}
	nid := s.db.NewNID()
	r := &Review{
		ReviewID: "rvw_" + strconv.FormatInt(nid, 10), TemplateID: id, Version: e.v.Version, Reviewer: web.CallerFrom(ctx).DID,
		ReviewedAt: d.ReviewedAt.UTC().Truncate(time.Millisecond), Findings: d.Findings, Decision: d.Decision,
		NextReviewInDays: d.NextReviewInDays, Created: now,
	}
	r.NextDue = nextDue(r, e.v.ReviewIntervalDays)
	return once.Do(ctx, s.cfg.Idem, func(tx *db.Tx) (web.Reply[*Review], error) {
		if err := addReview(ctx, tx, ws, nid, r); err != nil {
			return none, err
		}
		err := s.events.Append(ctx, tx, event.Event{
			Workspace: ws, Type: "template.reviewed", Subject: id, Revision: e.v.Revision,
			Data: map[string]any{"version": r.Version, "decision": r.Decision, "reviewId": r.ReviewID},
		})
		return web.Reply[*Review]{Value: r, Status: http.StatusCreated, Location: path(id) + "/reviews"}, err
	})
}

// nextDue is when the review after this one is due, given the interval of the
// template.
func nextDue(r *Review, interval int) time.Time {
	if r.NextReviewInDays > 0 {
		interval = r.NextReviewInDays
	}
	return r.ReviewedAt.AddDate(0, 0, interval)
}

// Review returns when the suitability of a template must be assessed again, and
// whether that is overdue at now. It counts from the publication of the default
// version, or from the last review if that was later; a bundled template counts
// as published when the workspace began. Nothing is due for a template that was
// never published. Faults: TEMPLATE_NOT_FOUND.
func (s *Service) Review(ctx context.Context, q db.Querier, ws, id string, now time.Time) (ReviewState, error) {
	var state ReviewState
	e, err := s.load(ctx, q, cacheKey{ws, id, 0})
	if err != nil {
		return state, err
	}
	begin := e.v.PublishedAt
	if e.v.Shipped {
		if begin, err = s.cfg.Since(ctx, q, ws); err != nil {
			return state, fmt.Errorf("when the workspace began: %w", err)
		}
	}
	if !begin.IsZero() {
		state.Due = begin.AddDate(0, 0, e.v.ReviewIntervalDays)
	}
	last, err := reviews(ctx, q, reviewQuery{ws, id, firstReview(), 1})
	if err != nil {
		return state, err
	}
	if len(last) > 0 {
		r := last[0].review
		state.Last = &r
		if !r.ReviewedAt.Before(begin) {
			state.Due = nextDue(&r, e.v.ReviewIntervalDays)
		}
	}
	state.Overdue = !state.Due.IsZero() && now.After(state.Due)
	return state, nil
}

// reviewSpot is where a list of reviews continues.
type reviewSpot struct {
	At  int64 `json:"a"`
	NID int64 `json:"n"`
}

// firstReview is before every review in the list, which goes back in time.
func firstReview() reviewSpot { return reviewSpot{At: math.MaxInt64, NID: math.MaxInt64} }

// Reviews reads a page of the reviews of a template, the latest first. next is
// nil at the end. The fault is TEMPLATE_NOT_FOUND.
func (s *Service) Reviews(ctx context.Context, id string, at reviewSpot, limit int) (items []Review, next *reviewSpot, err error) {
	ws := web.CallerFrom(ctx).Workspace
	if err := s.known(ctx, ws, id); err != nil {
		return nil, nil, err
	}
	rows, err := reviews(ctx, s.db, reviewQuery{ws, id, at, limit + 1})
	if err != nil {
		return nil, nil, err
	}
	for i, r := range rows {
		if i == limit {
			return items, &reviewSpot{rows[i-1].at, rows[i-1].nid}, nil
		}
		items = append(items, r.review)
	}
	return items, nil, nil
}

// known refuses a template that is not there.
func (s *Service) known(ctx context.Context, ws, id string) error {
	if shipped().find(id, 0) != nil {
		return nil
	}
	_, err := findHead(ctx, s.db, ws, id)
	return err
}
