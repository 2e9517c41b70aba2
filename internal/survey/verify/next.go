package verify

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/hearth-dmrv/hearth/api"
	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/survey/response"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// Lease is how long a response is kept for the verifier who took it.
const Lease = 5 * time.Minute

// maxWaiting is how many responses are looked at for one that the caller may
// decide about.
const maxWaiting = 500

const (
	selectWaiting = `SELECT r.nid, r.response_id, r.collector, r.sender FROM responses r LEFT JOIN response_claims c ON c.response = r.nid
		WHERE r.ws = $1 AND r.vstatus = $2 AND r.nid > $3 AND (c.until IS NULL OR c.until <= $4 OR c.verifier = $5) ORDER BY r.nid LIMIT $6`
	selectWaitingOf = `SELECT r.nid, r.response_id, r.collector, r.sender FROM responses r LEFT JOIN response_claims c ON c.response = r.nid
		WHERE r.survey = $1 AND r.vstatus = $2 AND r.nid > $3 AND (c.until IS NULL OR c.until <= $4 OR c.verifier = $5) ORDER BY r.nid LIMIT $6`
	claim = `INSERT INTO response_claims (response, ws, verifier, until) VALUES ($1, $2, $3, $4)
		ON CONFLICT (response) DO UPDATE SET verifier = excluded.verifier, until = excluded.until
		WHERE response_claims.until <= $5 OR response_claims.verifier = excluded.verifier`
	dropClaims = `DELETE FROM response_claims WHERE ws = $1 AND until <= $2`
)

// Nouns of package api, by their names here.
type (
	Turn  = api.DeskTurn
	Taken = api.DeskTaken
)

// Next takes the oldest response that waits for a decision and that the caller
// may decide about, for a few minutes in which nobody else is given it. Asked
// again before that was decided it gives the same one; after names one to go on
// behind. A decision needs no turn, and one by somebody else counts. Faults:
// SURVEY_NOT_FOUND, RESPONSE_NOT_FOUND.
func (s *Service) Next(ctx context.Context, t Turn) (*Taken, error) {
	c := web.CallerFrom(ctx)
	own, err := s.cfg.ActsFor(ctx)
	if err != nil {
		return nil, err
	}
	own = append(own, c.DID)
	var survey, after int64
	if t.SurveyID != "" {
		o, err := s.cfg.Surveys.Open(ctx, t.SurveyID)
		if err != nil {
			return nil, err
		}
		survey = o.NID
	}
	if t.After != "" {
		r, _, err := s.cfg.Responses.Find(ctx, s.db, t.After)
		if err != nil {
			return nil, err
		}
		after = r.NID
	}
	now := s.cfg.Now()
	for left := maxWaiting; left > 0; {
		list, err := s.waiting(ctx, survey, after, now, min(left, scanPage))
		if err != nil || len(list) == 0 {
			return &Taken{}, err
		}
		for _, w := range list {
			after, left = w.nid, left-1
			if slices.Contains(own, w.collector) || slices.Contains(own, w.sender) {
				continue
			}
			if taken, err := s.take(ctx, w.id, now); err != nil || taken != nil {
				return taken, err
			}
		}
	}
	return &Taken{}, nil
}

type waits struct {
	nid                   int64
	id, collector, sender string
}

// waiting reads responses that nobody else looks at, oldest first: of a survey, or
// of all for 0.
func (s *Service) waiting(ctx context.Context, survey, after int64, now time.Time, limit int) ([]waits, error) {
	c := web.CallerFrom(ctx)
	var rows db.Rows
	var err error
	if survey != 0 {
		rows, err = s.db.Query(ctx, selectWaitingOf, survey, response.Pending, after, now.UnixMilli(), c.DID, limit)
	} else {
		rows, err = s.db.Query(ctx, selectWaiting, c.Workspace, response.Pending, after, now.UnixMilli(), c.DID, limit)
	}
	return db.Collect(rows, err, "list what waits", func(w *waits, row db.Row) error {
		return row.Scan(&w.nid, &w.id, &w.collector, &w.sender)
	})
}

// take claims a response for the caller; nil when it does not see it, may not
// decide about it, or somebody else was faster.
func (s *Service) take(ctx context.Context, id string, now time.Time) (*Taken, error) {
	r, o, err := s.cfg.Responses.Find(ctx, s.db, id)
	if fault.KindOf(err) == fault.NotFound {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	c, until := web.CallerFrom(ctx), now.Add(Lease).UTC().Truncate(time.Millisecond)
	var won bool
	err = s.db.InTx(ctx, func(tx *db.Tx) error {
		if err := mayJudge(ctx, tx, r, []string{c.DID}); fault.KindOf(err) == fault.Forbidden {
			won = false
			return nil
		} else if err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, dropClaims, r.Workspace, now.UnixMilli()); err != nil {
			return fmt.Errorf("drop claims: %w", err)
		}
		n, err := tx.Exec(ctx, claim, r.NID, r.Workspace, c.DID, until.UnixMilli(), now.UnixMilli())
		won = n > 0
		return db.Wrap("claim a response", err)
	})
	if err != nil || !won {
		return nil, err
	}
	state, err := s.state(ctx, s.db, o, r)
	if err != nil {
		return nil, err
	}
	return &Taken{Next: state.Value, Until: until}, nil
}
