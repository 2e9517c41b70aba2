package survey

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/go-json-experiment/json"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/web"
)

const (
	insertSurvey = `INSERT INTO surveys (nid, ws, survey_id, project, stage, template_id, status, revision, touched, created_at, updated_at,
			rev_action, rev_actor, rev_request, rev_reason, body)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, 0, $9, $9, $10, $11, $12, $13, $14) ON CONFLICT (ws, survey_id) DO NOTHING`
	selectSurvey = `SELECT nid, ws, survey_id, project, status, revision, body FROM surveys WHERE ws = $1 AND survey_id = $2`
	keepRevision = `INSERT INTO survey_history (survey, revision, at, action, actor, request, reason, body)
		SELECT nid, revision, updated_at, rev_action, rev_actor, rev_request, rev_reason, body FROM surveys WHERE nid = $1 AND revision = $2
		ON CONFLICT (survey, revision) DO NOTHING`
	updateSurvey = `UPDATE surveys SET project = $3, stage = $4, template_id = $5, status = $6, revision = revision + 1, updated_at = $7,
			rev_action = $8, rev_actor = $9, rev_request = $10, rev_reason = $11, body = $12
		WHERE nid = $1 AND revision = $2`
	selectState   = `SELECT status, revision FROM surveys WHERE nid = $1`
	touchSurvey   = `UPDATE surveys SET touched = touched + 1 WHERE nid = $1 RETURNING status, revision`
	removeSurvey  = `DELETE FROM surveys WHERE nid = $1 AND revision = $2`
	removeHistory = `DELETE FROM survey_history WHERE survey = $1`
	removeCounts  = `DELETE FROM survey_counts WHERE survey = $1`
	selectPage    = `SELECT nid, ws, survey_id, project, status, revision, body FROM surveys WHERE ws = $1 AND nid < $2 ORDER BY nid DESC LIMIT $3`
	selectOf      = `SELECT nid, ws, survey_id, project, status, revision, body FROM surveys
		WHERE ws = $1 AND project = $2 AND nid < $3 ORDER BY nid DESC LIMIT $4`
	selectActive = `SELECT survey_id FROM surveys WHERE ws = $1 AND template_id = $2 AND status = 'active' ORDER BY nid LIMIT $3`
)

// Row is a stored campaign.
type Row struct {
	NID       int64
	Workspace string
	SurveyID  string
	Project   string
	Status    Status
	Revision  int64
	Body      []byte // the record as it is sent, without its progress
}

// Survey reads the record.
func (r *Row) Survey() (*Survey, error) {
	v := new(Survey)
	if err := json.Unmarshal(r.Body, v); err != nil {
		return nil, fmt.Errorf("read survey %s: %w", r.SurveyID, err)
	}
	return v, nil
}

func (r *Row) scan(row db.Row) error {
	var body string
	if err := row.Scan(&r.NID, &r.Workspace, &r.SurveyID, &r.Project, &r.Status, &r.Revision, &body); err != nil {
		return err
	}
	r.Body = []byte(body)
	return nil
}

// find reads a campaign of a workspace. The fault is SURVEY_NOT_FOUND.
func find(ctx context.Context, q db.Querier, ws, id string) (*Row, error) {
	r := new(Row)
	err := r.scan(q.QueryRow(ctx, selectSurvey, ws, id))
	if errors.Is(err, sql.ErrNoRows) {
		return nil, notFound()
	} else if err != nil {
		return nil, fmt.Errorf("find survey: %w", err)
	}
	return r, nil
}

// change is what makes a revision, for the history.
type change struct{ action, reason string }

// insert stores a new campaign; false when its id is taken.
func insert(ctx context.Context, tx *db.Tx, r *Row, v *Survey, ch change) (bool, error) {
	n, err := tx.Exec(ctx, insertSurvey, r.NID, r.Workspace, r.SurveyID, v.ProjectID, v.Stage, v.TemplateID, string(v.Status), v.Revision,
		v.Created.UnixMilli(), ch.action, v.UpdatedBy, web.RequestID(ctx), ch.reason, string(r.Body))
	return n > 0, db.Wrap("insert survey", err)
}

// update stores the revision after old; false when another change was first.
func update(ctx context.Context, tx *db.Tx, old *Row, v *Survey, st step) (bool, error) {
	n, err := tx.Exec(ctx, keepRevision, old.NID, old.Revision)
	if err != nil {
		return false, fmt.Errorf("keep revision: %w", err)
	}
	if n == 0 {
		return false, nil
	}
	n, err = tx.Exec(ctx, updateSurvey, old.NID, old.Revision, v.ProjectID, v.Stage, v.TemplateID, string(v.Status), v.Updated.UnixMilli(),
		st.action, v.UpdatedBy, web.RequestID(ctx), st.reason, string(st.body))
	return n > 0, db.Wrap("update survey", err)
}

// touch locks a campaign and returns its status and revision.
func touch(ctx context.Context, tx *db.Tx, nid int64) (status Status, revision int64, err error) {
	err = tx.QueryRow(ctx, touchSurvey, nid).Scan(&status, &revision)
	if errors.Is(err, sql.ErrNoRows) {
		return "", 0, notFound()
	} else if err != nil {
		return "", 0, fmt.Errorf("lock survey: %w", err)
	}
	return status, revision, nil
}

// list reads a page of campaigns, newest first.
func list(rows db.Rows, err error) ([]*Row, error) {
	return db.Collect(rows, err, "list surveys", func(r **Row, row db.Row) error {
		*r = new(Row)
		return (*r).scan(row)
	})
}

// listActive lists the active campaigns of a template, oldest first.
func listActive(ctx context.Context, q db.Querier, ws, template string) ([]string, error) {
	rows, err := q.Query(ctx, selectActive, ws, template, maxExamined)
	return db.Collect(rows, err, "list surveys of a template", db.Column[string])
}

// remove deletes a campaign and all but its households, which are gone by
// then. The fault is STALE_REVISION when it was changed meanwhile.
func remove(ctx context.Context, tx *db.Tx, r *Row) error {
	n, err := tx.Exec(ctx, removeSurvey, r.NID, r.Revision)
	if err != nil {
		return fmt.Errorf("remove survey: %w", err)
	}
	if n == 0 {
		return web.Overtaken()
	}
	if _, err := tx.Exec(ctx, removeHistory, r.NID); err != nil {
		return fmt.Errorf("remove history: %w", err)
	}
	if _, err := tx.Exec(ctx, removeCounts, r.NID); err != nil {
		return fmt.Errorf("remove counters: %w", err)
	}
	if _, err := tx.Exec(ctx, removeDays, r.NID); err != nil {
		return fmt.Errorf("remove days: %w", err)
	}
	_, err = tx.Exec(ctx, removeLengths, r.NID)
	return db.Wrap("remove lengths", err)
}

const (
	addCounts = `INSERT INTO survey_counts (survey, round, stratum, grp, shard, listed, contacted, refused, unreachable, completed, partial, verified, rejected, flagged, ineligible)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15)
		ON CONFLICT (survey, round, stratum, grp, shard) DO UPDATE SET
			listed = survey_counts.listed + excluded.listed, contacted = survey_counts.contacted + excluded.contacted,
			refused = survey_counts.refused + excluded.refused, unreachable = survey_counts.unreachable + excluded.unreachable,
			completed = survey_counts.completed + excluded.completed, partial = survey_counts.partial + excluded.partial,
			verified = survey_counts.verified + excluded.verified, rejected = survey_counts.rejected + excluded.rejected,
			flagged = survey_counts.flagged + excluded.flagged, ineligible = survey_counts.ineligible + excluded.ineligible`
	// addCompleted is for the most frequent count, a response: half the work.
	addCompleted = `UPDATE survey_counts SET completed = completed + $6 WHERE survey = $1 AND round = $2 AND stratum = $3 AND grp = $4 AND shard = $5`
	selectCounts = `SELECT stratum, grp, CAST(sum(listed) AS BIGINT), CAST(sum(contacted) AS BIGINT), CAST(sum(refused) AS BIGINT), CAST(sum(unreachable) AS BIGINT),
			CAST(sum(completed) AS BIGINT), CAST(sum(partial) AS BIGINT), CAST(sum(verified) AS BIGINT), CAST(sum(rejected) AS BIGINT), CAST(sum(flagged) AS BIGINT),
			CAST(sum(ineligible) AS BIGINT)
		FROM survey_counts WHERE survey = $1 AND round = $2 GROUP BY stratum, grp ORDER BY stratum, grp`
)

func (c *counters) count(ctx context.Context, tx *db.Tx, survey int64, d *Delta) error {
	if d.zero() {
		return nil
	}
	if d.Completed != 0 && d.only() && tx.Dialect() == db.SQLite {
		n, err := tx.Exec(ctx, addCompleted, survey, d.Round, d.Stratum, groupCode(d.Group), tx.Shard(), d.Completed)
		if err != nil {
			return fmt.Errorf("count: %w", err)
		}
		if n > 0 {
			return nil
		}
	}
	err := tx.Send(ctx, addCounts, survey, d.Round, d.Stratum, groupCode(d.Group), tx.Shard(), d.listed, d.Contacted, d.Refused, d.Unreachable,
		d.Completed, d.Partial, d.Verified, d.Rejected, d.Flagged, d.Ineligible)
	return db.Wrap("count", err)
}

// cell is the sums of one stratum and group.
type cell struct {
	stratum, group string
	listed, contacted, refused, unreachable,
	completed, partial, verified, rejected, flagged, ineligible int64
}

// cells reads the counters of a round; round 0 has listed.
func cells(ctx context.Context, q db.Querier, survey int64, round int) ([]cell, error) {
	rows, err := q.Query(ctx, selectCounts, survey, round)
	return db.Collect(rows, err, "read counters", func(c *cell, row db.Row) error {
		var group int
		err := row.Scan(&c.stratum, &group, &c.listed, &c.contacted, &c.refused, &c.unreachable, &c.completed, &c.partial, &c.verified,
			&c.rejected, &c.flagged, &c.ineligible)
		c.group = groupName(group)
		return err
	})
}

// maxWaiting is how far countWaiting counts.
const maxWaiting = 1000

const selectWaiting = `SELECT count(*) FROM (SELECT nid FROM response_conflicts WHERE survey = $1 AND resolved_at = 0 LIMIT $2) AS n`

// countWaiting counts what of a survey waits for a decision; one more than
// maxWaiting for all that is beyond.
func countWaiting(ctx context.Context, q db.Querier, survey int64) (n int, err error) {
	if err := q.QueryRow(ctx, selectWaiting, survey, maxWaiting+1).Scan(&n); err != nil {
		return 0, fmt.Errorf("count what waits: %w", err)
	}
	return n, nil
}
