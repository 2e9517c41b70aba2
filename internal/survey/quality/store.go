package quality

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/hearth-dmrv/hearth/api"
	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/privacy"
	"github.com/hearth-dmrv/hearth/internal/survey/flag"
	"github.com/hearth-dmrv/hearth/internal/survey/response"
)

const flagPage = 500

const (
	selectFlags = `SELECT f.rule, f.response, f.question, f.source, f.at, f.data, r.response_id, r.collector, r.round, r.status, r.vstatus, ` + flag.SettledColumns + `
		FROM response_flags f JOIN responses r ON r.nid = f.response` + flag.SettledJoin + `
		WHERE f.survey = $1 AND (f.rule, f.response, f.question) > ($2, $3, $4) ORDER BY f.rule, f.response, f.question LIMIT $5`
	selectRuleFlags = `SELECT f.rule, f.response, f.question, f.source, f.at, f.data, r.response_id, r.collector, r.round, r.status, r.vstatus, ` + flag.SettledColumns + `
		FROM response_flags f JOIN responses r ON r.nid = f.response` + flag.SettledJoin + `
		WHERE f.survey = $1 AND f.rule = $2 AND (f.response, f.question) > ($3, $4) ORDER BY f.response, f.question LIMIT $5`
	selectOneFlag = `SELECT f.rule, f.response, f.question, f.source, f.at, f.data, r.response_id, r.collector, r.round, r.status, r.vstatus, ` + flag.SettledColumns + `
		FROM response_flags f JOIN responses r ON r.nid = f.response` + flag.SettledJoin + `
		WHERE f.response = $1 AND f.rule = $2 AND f.question = $3`
	selectNewest = `SELECT nid FROM responses WHERE survey = $1 ORDER BY nid DESC LIMIT 1`
	countSome    = `SELECT count(*) FROM (SELECT 1 FROM responses WHERE survey = $1 LIMIT $2) AS n`
	selectName   = `SELECT response_id FROM responses WHERE nid = $1`
	selectAll    = `SELECT nid, response_id, collector, round, status, vstatus FROM responses WHERE survey = $1 AND nid > $2 ORDER BY nid LIMIT $3`
	selectActive = `SELECT nid, ws, survey_id, template_id FROM surveys WHERE status = 'active' AND (ws, template_id, nid) > ($1, $2, $3)
		ORDER BY ws, template_id, nid LIMIT $4`
)

// flagRow is a stored flag and the response it is on.
type flagRow struct {
	rule, question, source, data string
	response, at                 int64
	responseID, collector        string
	round                        int
	status                       response.Status
	vstatus                      string
	settled                      flag.Settled
}

func (f *flagRow) spot() flagSpot { return flagSpot{f.rule, f.response, f.question} }

// counts reports whether the response counts.
func (f *flagRow) counts() bool { return counts(f.status, f.vstatus) }

// counts reports whether a response in this state is one of the survey.
func counts(status response.Status, vstatus string) bool {
	return status != response.Redacted && vstatus != response.Superseded && vstatus != response.Invalidated
}

// flagSpot is where a list of flags continues.
type flagSpot struct {
	Rule     string `json:"r"`
	Response int64  `json:"n"`
	Question string `json:"q"`
}

// listFlags reads flags of a survey by check and response.
func listFlags(ctx context.Context, q db.Querier, survey int64, at flagSpot, limit int) ([]flagRow, error) {
	return flagRows(q.Query(ctx, selectFlags, survey, at.Rule, at.Response, at.Question, limit))
}

// listRuleFlags reads those of one check.
func listRuleFlags(ctx context.Context, q db.Querier, survey int64, at flagSpot, limit int) ([]flagRow, error) {
	return flagRows(q.Query(ctx, selectRuleFlags, survey, at.Rule, at.Response, at.Question, limit))
}

func flagRows(rows db.Rows, err error) ([]flagRow, error) {
	return db.Collect(rows, err, "list flags", func(f *flagRow, row db.Row) error {
		to := []any{&f.rule, &f.response, &f.question, &f.source, &f.at, &f.data, &f.responseID, &f.collector, &f.round, &f.status, &f.vstatus}
		return row.Scan(append(to, f.settled.To()...)...)
	})
}

// absent turns the error of a missing row into nil.
func absent(doing string, err error) error {
	if errors.Is(err, sql.ErrNoRows) {
		return nil
	}
	return db.Wrap(doing, err)
}

// newestOf is the nid of the newest response of a survey; 0 when there is none.
func newestOf(ctx context.Context, q db.Querier, survey int64) (int64, error) {
	var nid int64
	err := q.QueryRow(ctx, selectNewest, survey).Scan(&nid)
	return nid, absent("find newest response", err)
}

// hasAtMost reports whether a survey has no more responses than most.
func hasAtMost(ctx context.Context, q db.Querier, survey int64, most int) (bool, error) {
	var n int
	if err := q.QueryRow(ctx, countSome, survey, most+1).Scan(&n); err != nil {
		return false, fmt.Errorf("count responses: %w", err)
	}
	return n <= most, nil
}

// nameOf is the id of a response.
func nameOf(ctx context.Context, q db.Querier, nid int64) (string, error) {
	var id string
	err := q.QueryRow(ctx, selectName, nid).Scan(&id)
	return id, absent("find response", err)
}

// listed is the little of a response that a draw looks at.
type listed struct {
	nid           int64
	id, collector string
	round         int
	status        response.Status
	vstatus       string
}

func (r *listed) counts() bool { return counts(r.status, r.vstatus) }

const listPage = 1_000

// list reads responses of a survey in the order they came.
func list(ctx context.Context, q db.Querier, survey, after int64) ([]listed, error) {
	rows, err := q.Query(ctx, selectAll, survey, after, listPage)
	return db.Collect(rows, err, "list responses", func(r *listed, row db.Row) error {
		return row.Scan(&r.nid, &r.id, &r.collector, &r.round, &r.status, &r.vstatus)
	})
}

// active is a survey that takes responses.
type active struct {
	nid              int64
	ws, id, template string
}

func listActive(ctx context.Context, q db.Querier, at active, limit int) ([]active, error) {
	rows, err := q.Query(ctx, selectActive, at.ws, at.template, at.nid, limit)
	return db.Collect(rows, err, "list active surveys", func(a *active, row db.Row) error {
		return row.Scan(&a.nid, &a.ws, &a.id, &a.template)
	})
}

const (
	selectRound = `SELECT run, job, newest, looked, started_at, finished_at, data FROM quality_rounds WHERE survey = $1 AND round = $2`
	insertRound = `INSERT INTO quality_rounds (survey, round, run, job, newest, looked, started_at, finished_at, data) VALUES ($1, $2, 0, $3, 0, 0, 0, 0, '')
		ON CONFLICT (survey, round) DO UPDATE SET job = excluded.job`
	keepRound = `INSERT INTO quality_rounds (survey, round, run, job, newest, looked, started_at, finished_at, data) VALUES ($1, $2, 0, '', 0, 0, 0, 0, '')
		ON CONFLICT (survey, round) DO UPDATE SET job = quality_rounds.job`
	claimRound = `INSERT INTO quality_rounds (survey, round, run, job, newest, looked, started_at, finished_at, data) VALUES ($1, $2, $3, $4, 0, 0, 0, 0, '')
		ON CONFLICT (survey, round) DO UPDATE SET run = excluded.run`
	holdRound   = `UPDATE quality_rounds SET run = $3 WHERE survey = $1 AND round = $2 AND run = $3`
	finishRound = `UPDATE quality_rounds SET newest = $4, looked = $5, started_at = $6, finished_at = $7, data = $8 WHERE survey = $1 AND round = $2 AND run = $3`
)

// roundRow is what runs have left of a round.
type roundRow struct {
	run, newest, looked   int64
	startedAt, finishedAt int64
	job, data             string
}

// findRound reads it; all is zero when nothing ran yet.
func findRound(ctx context.Context, q db.Querier, survey int64, round int) (roundRow, error) {
	var r roundRow
	err := q.QueryRow(ctx, selectRound, survey, round).Scan(&r.run, &r.job, &r.newest, &r.looked, &r.startedAt, &r.finishedAt, &r.data)
	return r, absent("find round", err)
}

// lockRound is findRound for a round that is about to get a run: on PostgreSQL
// others who want one wait until tx has ended.
func lockRound(ctx context.Context, tx *db.Tx, survey int64, round int) (roundRow, error) {
	if _, err := tx.Exec(ctx, keepRound, survey, round); err != nil {
		return roundRow{}, fmt.Errorf("lock round: %w", err)
	}
	return findRound(ctx, tx, survey, round)
}

// record is a flag as the caller of ctx sees it.
func (f *flagRow) record(ctx context.Context) (FlagRecord, error) {
	out := FlagRecord{
		ResponseID: f.responseID, RecordID: privacy.RecordName(f.response), Collector: f.collector, Round: f.round, Source: f.source, At: timeOf(f.at), Verification: f.vstatus,
		Links: api.FlagLinks{Response: response.Path(f.responseID), Verification: response.Path(f.responseID) + "/verification"},
	}
	read, err := flag.Read(ctx, f.data)
	out.Rule, out.Question, out.Detail, out.Value, out.Limit = read.Rule, read.Question, read.Detail, read.Value, read.Limit
	out.Settled = f.settled.Settlement()
	return out, err
}
