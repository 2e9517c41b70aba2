package verify

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/survey/response"
)

const (
	selectDecisions = `SELECT nid, from_st, to_st, verifier, at, reason, notes, imported, revision, reviews, judged
		FROM response_decisions WHERE response = $1 AND nid < $2 ORDER BY nid DESC LIMIT $3`
	selectDecided = `SELECT to_st, reason, notes, reviews FROM response_decisions WHERE response = $1 AND verifier = $2 AND judged = $3 ORDER BY nid DESC LIMIT 1`
	selectInState = `SELECT nid, response_id, round, collector, flags, revision FROM responses WHERE survey = $1 AND vstatus = $2 AND nid > $3 ORDER BY nid LIMIT $4`
	selectNID     = `SELECT nid FROM responses WHERE ws = $1 AND response_id = $2 AND survey = $3`
	selectName    = `SELECT response_id FROM responses WHERE nid = $1 AND survey = $2`
	selectHasFlag = `SELECT response FROM response_flags WHERE response = $1 AND rule = $2 LIMIT 1`
	// A content that clashed may have become that of the response.
	selectWriters = `SELECT actor FROM response_history WHERE response = $1 AND action = 'corrected'
		UNION SELECT sender FROM response_conflicts WHERE response = $1 AND resolution IN ('sent', 'merged')`
)

// decisionName begins the id of a decision; its number follows.
const decisionName = "dec_"

// listDecisions reads decisions about a response, newest first.
func listDecisions(ctx context.Context, q db.Querier, response, before int64, limit int) ([]Decision, error) {
	rows, err := q.Query(ctx, selectDecisions, response, before, limit)
	return db.Collect(rows, err, "list decisions", func(d *Decision, row db.Row) error {
		var nid, at, imported int64
		err := row.Scan(&nid, &d.From, &d.To, &d.Verifier, &at, &d.Reason, &d.Notes, &imported, &d.Revision, &d.Reviews, &d.Judged)
		d.DecisionID, d.Timestamp, d.Imported = decisionName+strconv.FormatInt(nid, 10), time.UnixMilli(at).UTC(), imported != 0
		return err
	})
}

// decided reports whether the last decision of a verifier about a revision is this
// one: it was sent twice.
func decided(ctx context.Context, q db.Querier, nid int64, by Decision, d Draft) (bool, error) {
	var to, reason, notes string
	var reviews int64
	err := q.QueryRow(ctx, selectDecided, nid, by.Verifier, by.Judged).Scan(&to, &reason, &notes, &reviews)
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	} else if err != nil {
		return false, fmt.Errorf("find decision: %w", err)
	}
	if reviews > 0 {
		to = response.Verified // and yet in review, while a second reviewer is missing
	}
	return to == d.Status && reason == d.Reason && notes == d.Notes, nil
}

// candidate is a response that a filter may choose.
type candidate struct {
	nid       int64
	id        string
	round     int
	collector string
	flags     int64
	revision  *int64 // that is judged
	changed   bool   // since the list that was read
}

// inState reads responses of a survey in one state, oldest first.
func inState(ctx context.Context, q db.Querier, survey int64, state string, after int64) ([]candidate, error) {
	rows, err := q.Query(ctx, selectInState, survey, state, after, scanPage)
	return db.Collect(rows, err, "list responses in a state", func(c *candidate, row db.Row) error {
		c.revision = new(int64)
		return row.Scan(&c.nid, &c.id, &c.round, &c.collector, &c.flags, c.revision)
	})
}

// nidOf finds a response of a survey by its id; 0 when there is none.
func nidOf(ctx context.Context, q db.Querier, ws string, survey int64, id string) (int64, error) {
	var nid int64
	err := q.QueryRow(ctx, selectNID, ws, id, survey).Scan(&nid)
	return db.Found(nid, err, "find response")
}

// nameOf finds the id of a response of a survey; "" when there is none.
func nameOf(ctx context.Context, q db.Querier, survey, nid int64) (string, error) {
	var id string
	err := q.QueryRow(ctx, selectName, nid, survey).Scan(&id)
	return db.Found(id, err, "find response")
}

// hasFlag reports whether a check has flagged a response.
func hasFlag(ctx context.Context, q db.Querier, response int64, rule string) (bool, error) {
	return db.Exists(q.QueryRow(ctx, selectHasFlag, response, rule), "find flag")
}

// listWriters lists those who have corrected a response, or sent content that a
// correction used.
func listWriters(ctx context.Context, q db.Querier, response int64) ([]string, error) {
	rows, err := q.Query(ctx, selectWriters, response)
	return db.Collect(rows, err, "list writers of a response", db.Column[string])
}
