package verify

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hearth-dmrv/hearth/api"
	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/event"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/once"
	"github.com/hearth-dmrv/hearth/internal/privacy"
	"github.com/hearth-dmrv/hearth/internal/survey"
	"github.com/hearth-dmrv/hearth/internal/survey/media"
	"github.com/hearth-dmrv/hearth/internal/survey/response"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// Config configures a Service. Idem, ActsFor and Now have defaults.
type Config struct {
	DB        *db.DB
	Surveys   *survey.Service
	Responses *response.Service
	Media     *media.Store
	Events    *event.Log
	Idem      *once.Store // keeps the answers to Idempotency-Keys; none by default
	Cursors   web.Cursors
	ActsFor   survey.ActsFor
	Now       func() time.Time
}

// Service holds the use cases of verification.
type Service struct {
	cfg Config
	db  *db.DB
}

// New makes a Service over a migrated store.
func New(cfg Config) *Service {
	cfg.Idem = cmp.Or(cfg.Idem, once.Plain(cfg.DB))
	cfg.Now = db.Clock(cfg.DB, cfg.Now)
	return &Service{cfg: cfg, db: cfg.DB}
}

// Decide stores the caller's decision about the named content of a response.
// Later decisions of others are no obstacle: of two concurrent decisions the
// second applies to the result of the first. The same decision again changes
// nothing. Faults: VERIFICATION_INVALID, RESPONSE_NOT_FOUND, SURVEY_ARCHIVED,
// those of decide, and those of web.Judged.
func (s *Service) Decide(ctx context.Context, id string, about web.Judged, d Draft) (web.Reply[*State], error) {
	var none web.Reply[*State]
	var c fault.Checks
	checkDraft(&d, &c)
	if err := c.Err(invalidCode, "The decision is not valid."); err != nil {
		return none, err
	}
	found, o, err := s.cfg.Responses.Find(ctx, s.db, id)
	if err != nil {
		return none, err
	}
	as, err := s.cfg.ActsFor.Selves(ctx)
	if err != nil {
		return none, err
	}
	return once.Do(ctx, s.cfg.Idem, func(tx *db.Tx) (web.Reply[*State], error) {
		r, deltas, err := s.decideTx(ctx, tx, o, order{id: found.ResponseID, about: about, as: as, Draft: d})
		if err != nil {
			return none, err
		}
		out, err := s.state(ctx, tx, o, r)
		if err != nil || len(deltas) == 0 {
			return out, err
		}
		return out, s.cfg.Surveys.Count(ctx, tx, o, deltas...)
	})
}

// order is a decision to be about one response.
type order struct {
	id    string
	about web.Judged
	as    []string // all that the verifier acts as
	Draft
}

// decideTx makes a decision. The counters are the caller's: they come last.
// Without any the decision was made before.
func (s *Service) decideTx(ctx context.Context, tx *db.Tx, o *survey.Open, want order) (*response.Row, []survey.Delta, error) {
	r, err := s.cfg.Responses.FindForUpdate(ctx, tx, o, want.id)
	if err != nil {
		return nil, nil, err
	}
	if o.Status == survey.StatusArchived {
		return r, nil, response.Archived()
	}
	judged, err := want.about.Check(r.Stated, r.Revision)
	if err != nil {
		return r, nil, err
	}
	verifier := web.CallerFrom(ctx).DID
	if again, err := decided(ctx, tx, r.NID, Decision{Verifier: verifier, Judged: judged}, want.Draft); err != nil || again {
		return r, nil, err
	}
	m, err := decide(r, want.Draft, want.as, o.Policy.MinReviewers)
	if err != nil {
		return r, nil, err
	}
	m.Judged = judged
	if err := mayJudge(ctx, tx, r, want.as); err != nil {
		return r, nil, err
	}
	return s.cfg.Responses.MoveTx(ctx, tx, o, r, m)
}

// mayJudge refuses a verifier who has corrected the response, under any name.
// The fault is VERIFIER_IS_COLLECTOR.
func mayJudge(ctx context.Context, tx *db.Tx, r *response.Row, verifier []string) error {
	own := r.Action == "corrected" && slices.Contains(verifier, r.Actor)
	if !own && r.Revision > 1 {
		writers, err := listWriters(ctx, tx, r.NID)
		if err != nil {
			return err
		}
		own = slices.ContainsFunc(writers, func(who string) bool { return slices.Contains(verifier, who) })
	}
	if own {
		return response.OwnWork()
	}
	return nil
}

// Get returns the verification state of a response. The fault is
// RESPONSE_NOT_FOUND.
func (s *Service) Get(ctx context.Context, id string) (web.Reply[*State], error) {
	var out web.Reply[*State]
	r, o, err := s.cfg.Responses.Find(ctx, s.db, id)
	if err != nil {
		return out, err
	}
	return s.state(ctx, s.db, o, r)
}

func (s *Service) state(ctx context.Context, q db.Querier, o *survey.Open, r *response.Row) (web.Reply[*State], error) {
	path := response.Path(r.ResponseID)
	v := &State{
		ResponseID: r.ResponseID, RecordID: privacy.RecordName(r.NID), SurveyID: o.SurveyID, Revision: r.Revision, Verification: r.Verification(), Allowed: []string{},
		MinReviewers: max(1, o.Policy.MinReviewers), Links: api.VerificationLinks{Response: path, History: path + "/verification/history", Evidence: evidencePath(r)},
	}
	if r.Status != response.Redacted && o.Status != survey.StatusArchived {
		v.Allowed = append(v.Allowed, moves[r.VStatus]...)
	}
	var err error
	if v.Decisions, err = listDecisions(ctx, q, r.NID, math.MaxInt64, maxShown+1); err != nil {
		return web.Reply[*State]{}, err
	}
	if len(v.Decisions) > maxShown {
		v.Decisions, v.MoreDecisions = v.Decisions[:maxShown], true
	}
	if !r.Knows(ctx) {
		x := s.cfg.Responses.Sight(ctx, o)
		v.Verification.Verifier, v.Verification.ImportedBy = r.Person(x, r.Verifier), r.Person(x, r.ImportedBy)
		veil(v.Decisions, r, x)
	}
	return web.Reply[*State]{Value: v, ETag: web.ETag(r.Revision)}, nil
}

// veil names the people who decided as the caller may know them: the list also
// contains corrections by the collector of a response.
func veil(list []Decision, r *response.Row, x privacy.Sight) {
	for i := range list {
		list[i].Verifier = r.Person(x, list[i].Verifier)
	}
}

// History reads a page of the decisions about a response, newest first. next is
// 0 at the end. The fault is RESPONSE_NOT_FOUND.
func (s *Service) History(ctx context.Context, id string, before int64, limit int) (items []Decision, next int64, err error) {
	r, o, err := s.cfg.Responses.Find(ctx, s.db, id)
	if err != nil {
		return nil, 0, err
	}
	if before == 0 {
		before = math.MaxInt64
	}
	if items, err = listDecisions(ctx, s.db, r.NID, before, limit+1); err != nil {
		return nil, 0, err
	}
	if !r.Knows(ctx) {
		veil(items, r, s.cfg.Responses.Sight(ctx, o))
	}
	if len(items) <= limit {
		return items, 0, nil
	}
	if next, err = strconv.ParseInt(strings.TrimPrefix(items[limit-1].DecisionID, decisionName), 10, 64); err != nil {
		return nil, 0, fmt.Errorf("read decision id: %w", err)
	}
	return items[:limit], next, nil
}
