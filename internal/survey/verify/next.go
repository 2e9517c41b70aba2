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

// Lease is how long a response is reserved for the verifier who took it.
const Lease = 5 * time.Minute

// Limits of one look for the next response.
const (
	maxWaiting = 500 // responses looked at for one that the caller may decide about
	firstLook  = 20  // responses in the first statement: mostly the first of them will do
	maxQueues  = 100 // surveys in which something waits, for a caller who sees some projects only
	maxClaims  = 5   // responses one verifier keeps from the others
)

// For each waiting response the statements say whether it is free for the
// verifier: not reserved for somebody else, and not the verifier's own work.
const (
	free = `CASE WHEN (c.until IS NULL OR c.until <= $4 OR c.verifier = $5)
			AND NOT EXISTS (SELECT 1 FROM response_history h WHERE h.response = r.nid AND h.action = 'corrected' AND h.actor = $5)
			AND NOT EXISTS (SELECT 1 FROM response_conflicts x WHERE x.response = r.nid AND x.sender = $5 AND x.resolution IN ('sent', 'merged')) THEN 1 ELSE 0 END`
	selectWaiting = `SELECT r.nid, r.response_id, r.collector, r.sender, ` + free + ` FROM responses r LEFT JOIN response_claims c ON c.response = r.nid
		WHERE r.ws = $1 AND r.vstatus = $2 AND r.nid > $3 ORDER BY r.nid LIMIT $6`
	selectWaitingOf = `SELECT r.nid, r.response_id, r.collector, r.sender, ` + free + ` FROM responses r LEFT JOIN response_claims c ON c.response = r.nid
		WHERE r.survey = $1 AND r.vstatus = $2 AND r.nid > $3 ORDER BY r.nid LIMIT $6`
	selectQueues = `SELECT s.nid FROM surveys s WHERE s.ws = $1 AND s.project = $2 AND s.nid >= $3
		AND EXISTS (SELECT 1 FROM responses r WHERE r.survey = s.nid AND r.vstatus = $4) ORDER BY s.nid LIMIT $5`
	claim = `INSERT INTO response_claims (response, ws, verifier, until) VALUES ($1, $2, $3, $4)
		ON CONFLICT (response) DO UPDATE SET verifier = excluded.verifier, until = excluded.until
		WHERE response_claims.until <= $5 OR response_claims.verifier = excluded.verifier`
	dropClaims  = `DELETE FROM response_claims WHERE ws = $1 AND until <= $2`
	dropSurplus = `DELETE FROM response_claims WHERE ws = $1 AND verifier = $2 AND until < (SELECT min(until) FROM (
		SELECT until FROM response_claims WHERE ws = $1 AND verifier = $2 ORDER BY until DESC LIMIT $3) AS newest)`
)

// Nouns of package api, by their names here.
type (
	Turn  = api.DeskTurn
	Taken = api.DeskTaken
)

// Next takes the oldest response that waits for a decision and that the caller
// may decide about, and reserves it for a few minutes. Asked again before the
// decision it returns the same one; after names one to continue behind. For a
// caller limited to some projects, surveys come one after the other. A decision
// needs no reservation, and one by somebody else counts. Faults:
// SURVEY_NOT_FOUND, RESPONSE_NOT_FOUND.
func (s *Service) Next(ctx context.Context, t Turn) (*Taken, error) {
	own, err := s.cfg.ActsFor.Selves(ctx)
	if err != nil {
		return nil, err
	}
	l := line{own: own, now: s.cfg.Now(), left: maxWaiting, look: firstLook}
	queues, err := s.queues(ctx, t, &l)
	if err != nil {
		return nil, err
	}
	for _, survey := range queues {
		if taken, err := s.first(ctx, survey, &l); taken != nil || err != nil {
			return taken, err
		}
		if l.left <= 0 {
			return &Taken{After: l.last}, nil
		}
		l.after = 0
	}
	return &Taken{}, nil
}

// line is a look for the next response.
type line struct {
	own   []string // DIDs of the caller and its groups
	now   time.Time
	after int64  // where the search continues in a survey
	last  string // response that was looked at last
	left  int    // responses that may still be looked at
	look  int    // responses in the next statement
}

// queues are the surveys to search, in order; 0 means all of them.
func (s *Service) queues(ctx context.Context, t Turn, l *line) ([]int64, error) {
	var survey, from int64
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
		l.after, from = r.NID, r.Survey
	}
	c := web.CallerFrom(ctx)
	if survey != 0 || len(c.Projects) == 0 {
		return []int64{survey}, nil
	}
	var out []int64
	for _, project := range c.Projects {
		rows, err := s.db.Query(ctx, selectQueues, c.Workspace, project, from, response.Pending, maxQueues)
		some, err := db.Collect(rows, err, "list surveys in which something waits", db.Column[int64])
		if err != nil {
			return nil, err
		}
		out = append(out, some...)
	}
	slices.Sort(out)
	if len(out) > 0 && out[0] != from {
		l.after = 0 // nothing more waits in the survey it was in
	}
	return out, nil
}

// first takes the first free response of a survey, or of all for 0; nil when
// there is none among those that may be looked at.
func (s *Service) first(ctx context.Context, survey int64, l *line) (*Taken, error) {
	for l.left > 0 {
		list, err := s.waiting(ctx, survey, l)
		if err != nil || len(list) == 0 {
			return nil, err
		}
		for _, w := range list {
			l.after, l.last, l.left = w.nid, w.id, l.left-1
			if !w.free || slices.Contains(l.own, w.collector) || slices.Contains(l.own, w.sender) {
				continue
			}
			if taken, err := s.take(ctx, w.id, l.now); err != nil || taken != nil {
				return taken, err
			}
		}
		if len(list) < l.look {
			return nil, nil
		}
		l.look = scanPage
	}
	return nil, nil
}

type waits struct {
	nid                   int64
	id, collector, sender string
	free                  bool
}

// waiting reads responses that wait, oldest first: of a survey, or of all for 0.
func (s *Service) waiting(ctx context.Context, survey int64, l *line) ([]waits, error) {
	c := web.CallerFrom(ctx)
	l.look = min(l.look, l.left)
	var rows db.Rows
	var err error
	if survey != 0 {
		rows, err = s.db.Query(ctx, selectWaitingOf, survey, response.Pending, l.after, l.now.UnixMilli(), c.DID, l.look)
	} else {
		rows, err = s.db.Query(ctx, selectWaiting, c.Workspace, response.Pending, l.after, l.now.UnixMilli(), c.DID, l.look)
	}
	return db.Collect(rows, err, "list what waits", func(w *waits, row db.Row) error {
		var free int64
		err := row.Scan(&w.nid, &w.id, &w.collector, &w.sender, &free)
		w.free = free != 0
		return err
	})
}

// take reserves a response for the caller; nil when the caller does not see it
// or may not decide about it, or somebody else was faster.
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
		if won = n > 0; err != nil || !won {
			return db.Wrap("claim a response", err)
		}
		_, err = tx.Exec(ctx, dropSurplus, r.Workspace, c.DID, maxClaims)
		return db.Wrap("drop claims", err)
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
