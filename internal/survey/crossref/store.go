package crossref

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/survey/response"
)

const (
	selectResponses = `SELECT nid, household, round, status, vstatus, unfit, typed, submitted_at FROM responses WHERE survey = $1 AND nid > $2 ORDER BY nid LIMIT $3`

	keepRound = `INSERT INTO cross_rounds (survey, round, question, run, job) VALUES ($1, $2, $3, 0, '')
		ON CONFLICT (survey, round, question) DO UPDATE SET job = cross_rounds.job RETURNING job`
	noteJob    = `UPDATE cross_rounds SET job = $4 WHERE survey = $1 AND round = $2 AND question = $3`
	claimRound = `UPDATE cross_rounds SET run = $4 WHERE survey = $1 AND round = $2 AND question = $3`
	holdRound  = `UPDATE cross_rounds SET run = $4 WHERE survey = $1 AND round = $2 AND question = $3 AND run = $4`

	// A pair says what its answer says, and is stored while that stands.
	insertPair = `INSERT INTO cross_pairs (run, response, said, measured, days, mismatch)
		SELECT CAST($1 AS BIGINT), nid, CAST($3 AS DOUBLE PRECISION), CAST($4 AS DOUBLE PRECISION), CAST($5 AS BIGINT), CAST($6 AS BIGINT) FROM responses WHERE nid = $2 AND typed = 1
		ON CONFLICT (run, response) DO UPDATE SET said = excluded.said, measured = excluded.measured, days = excluded.days, mismatch = excluded.mismatch`
	deletePairs = `DELETE FROM cross_pairs WHERE run = $1 AND response IN (SELECT response FROM cross_pairs WHERE run = $1 ORDER BY response LIMIT 100)`
	selectPairs = `SELECT p.response, r.household, p.said, p.measured, p.days, p.mismatch FROM cross_pairs p JOIN responses r ON r.nid = p.response
		WHERE p.run = $1 AND p.response > $2 ORDER BY p.response LIMIT $3`

	upsertResult = `INSERT INTO cross_references (nid, survey, round, question, actor, at, body) VALUES ($1, $2, $3, $4, $5, $6, $7)
		ON CONFLICT (nid) DO UPDATE SET at = excluded.at, body = excluded.body`
	selectResult  = `SELECT nid, actor, at, body FROM cross_references WHERE nid = $1 AND survey = $2`
	selectResults = `SELECT nid, actor, at, body FROM cross_references WHERE survey = $1 AND nid < $2 ORDER BY nid DESC LIMIT $3`
	selectEarlier = `SELECT nid FROM cross_references WHERE survey = $1 AND round = $2 AND question = $3 AND nid < $4 ORDER BY nid DESC LIMIT 20`

	dropResults = `DELETE FROM cross_references WHERE survey = $1`
	dropRounds  = `DELETE FROM cross_rounds WHERE survey = $1`
)

// readPage is how many responses are read at once.
const readPage = 1000

// stated is a response as far as it matters here.
type stated struct {
	response.Unit
	nid       int64
	household string
	round     int
	at        int64
}

// listResponses reads responses of a survey in the order they came.
func listResponses(ctx context.Context, q db.Querier, survey, after int64) ([]stated, error) {
	rows, err := q.Query(ctx, selectResponses, survey, after, readPage)
	return db.Collect(rows, err, "read responses", func(r *stated, row db.Row) error {
		var unfit int64
		err := row.Scan(&r.nid, &r.household, &r.round, &r.Status, &r.VStatus, &unfit, &r.Typed, &r.at)
		r.Responded, r.Unfit = true, unfit != 0
		return err
	})
}

// row is a stored result.
type row struct {
	nid, at int64
	actor   string
	body    string
}

func (r *row) scan(from db.Row) error { return from.Scan(&r.nid, &r.actor, &r.at, &r.body) }

const prefix = "xrf_"

func nameOf(nid int64) string { return prefix + strconv.FormatInt(nid, 10) }

// find reads a result of a survey. The fault is CROSS_REFERENCE_NOT_FOUND.
func find(ctx context.Context, q db.Querier, survey int64, id string) (*row, error) {
	gone := fault.New(fault.NotFound, "CROSS_REFERENCE_NOT_FOUND", "The survey has no cross-reference with this id.")
	digits, ok := strings.CutPrefix(id, prefix)
	nid, err := strconv.ParseInt(digits, 10, 64)
	if !ok || err != nil || nameOf(nid) != id {
		return nil, gone
	}
	r := &row{}
	err = r.scan(q.QueryRow(ctx, selectResult, nid, survey))
	if errors.Is(err, sql.ErrNoRows) {
		return nil, gone
	}
	return r, db.Wrap("find cross-reference", err)
}

func list(ctx context.Context, q db.Querier, survey, before int64, limit int) ([]row, error) {
	rows, err := q.Query(ctx, selectResults, survey, before, limit)
	return db.Collect(rows, err, "list cross-references", func(r *row, from db.Row) error { return r.scan(from) })
}

// keep stores a result.
func (r *runner) keep(ctx context.Context, tx *db.Tx, v *Result) error {
	text, err := json.Marshal(v, json.Deterministic(true))
	if err != nil {
		return fmt.Errorf("encode cross-reference: %w", err)
	}
	_, err = tx.Exec(ctx, upsertResult, r.nid, r.o.NID, r.Round, r.Question, r.by, r.s.cfg.Now().UnixMilli(), string(text))
	return db.Wrap("store cross-reference", err)
}

// removePairs removes the pairs of a run, some at a time.
func removePairs(ctx context.Context, d *db.DB, run int64) error {
	for {
		var n int64
		err := d.InTx(ctx, func(tx *db.Tx) (err error) {
			n, err = tx.Exec(ctx, deletePairs, run)
			return err
		})
		if err != nil || n == 0 {
			return db.Wrap("remove pairs", err)
		}
	}
}

// Remove removes all results of a survey, before the survey itself is removed.
// Pairs are removed with the responses.
func Remove(ctx context.Context, tx *db.Tx, survey int64) error {
	_, err := tx.Exec(ctx, dropResults, survey)
	if err == nil {
		_, err = tx.Exec(ctx, dropRounds, survey)
	}
	return db.Wrap("remove cross-references", err)
}
