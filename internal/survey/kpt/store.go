package kpt

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/web"
)

const (
	insertTest = `INSERT INTO kpt_tests (nid, ws, kpt_id, project, household, grp, fuel, unit, starts, ends, days, total, heads, adults, documented, status, revision, actor, created_at, updated_at, reason, body)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22) ON CONFLICT (ws, kpt_id) DO NOTHING`
	updateTest = `UPDATE kpt_tests SET grp = $3, fuel = $4, unit = $5, starts = $6, ends = $7, days = $8, total = $9, heads = $10, adults = $11, documented = $12, status = $13, revision = $14,
		updated_at = $15, reason = $16, body = $17 WHERE nid = $1 AND revision = $2`
	insertHistory = `INSERT INTO kpt_history (test, revision, at, actor, reason, status, body) VALUES ($1, $2, $3, $4, $5, $6, $7)`
	listHistory   = `SELECT revision, at, actor, reason, status, body FROM kpt_history WHERE test = $1 AND revision < $2 ORDER BY revision DESC LIMIT $3`

	selectTest = `SELECT nid, kpt_id, project, household, grp, starts, ends, status, revision, actor, created_at, updated_at, reason, body FROM kpt_tests WHERE ws = $1 AND kpt_id = $2`
	listTests  = `SELECT nid, kpt_id, project, household, grp, starts, ends, status, revision, actor, created_at, updated_at, reason, body FROM kpt_tests
		WHERE ws = $1 AND nid < $2 ORDER BY nid DESC LIMIT $3`
	listProject = `SELECT nid, kpt_id, project, household, grp, starts, ends, status, revision, actor, created_at, updated_at, reason, body FROM kpt_tests
		WHERE ws = $1 AND project = $2 AND nid < $3 ORDER BY nid DESC LIMIT $4`
	listHousehold = `SELECT nid, kpt_id, project, household, grp, starts, ends, status, revision, actor, created_at, updated_at, reason, body FROM kpt_tests
		WHERE ws = $1 AND household = $2 AND nid < $3 ORDER BY nid DESC LIMIT $4`

	// Whoever records in a project waits for others who do: two tests of one
	// household never come to be at the same time.
	touchProject  = `INSERT INTO kpt_projects (ws, project, changes) VALUES ($1, $2, 1) ON CONFLICT (ws, project) DO UPDATE SET changes = kpt_projects.changes + 1`
	selectOverlap = `SELECT kpt_id, actor FROM kpt_tests WHERE ws = $1 AND project = $2 AND household = $3 AND fuel = $4 AND status = 'recorded' AND ends - days < $6 AND ends > $5 AND nid <> $7 LIMIT 1`
	selectListed  = `SELECT 1 FROM survey_households h JOIN surveys s ON s.nid = h.survey WHERE h.household = $3 AND s.ws = $1 AND s.project = $2 LIMIT 1`
	listProjects  = `SELECT DISTINCT s.project FROM survey_households h JOIN surveys s ON s.nid = h.survey WHERE h.household = $2 AND s.ws = $1 LIMIT 2`

	selectMeasured = `SELECT household, grp, unit, starts, ends, days, total, heads, adults, documented FROM kpt_tests
		WHERE ws = $1 AND project = $2 AND fuel = $3 AND status = 'recorded' AND starts >= $4 AND starts <= $5 ORDER BY starts LIMIT $6`

	removeHistory = `DELETE FROM kpt_history WHERE test IN (SELECT nid FROM kpt_tests WHERE ws = $1 AND project = $2)`
	removeTests   = `DELETE FROM kpt_tests WHERE ws = $1 AND project = $2`
	removeProject = `DELETE FROM kpt_projects WHERE ws = $1 AND project = $2`
	selectNames   = `SELECT kpt_id FROM kpt_tests WHERE ws = $1 AND project = $2`

	eraseTests   = `UPDATE kpt_tests SET status = 'erased', unit = '', days = 0, total = 0, heads = 0, adults = 0, documented = 0, reason = '', body = '', revision = revision + 1 WHERE ws = $1 AND household = $2 AND status <> 'erased'`
	eraseHistory = `UPDATE kpt_history SET reason = '', body = '' WHERE test IN (SELECT nid FROM kpt_tests WHERE ws = $1 AND household = $2)`
)

// row is a stored test.
type row struct {
	nid                int64
	project, household string
	grp, status, actor string
	reason             string
	period
	id               string
	revision         int64
	created, updated int64
	draft            Draft
}

func (r *row) scan(from db.Row) error {
	var body string
	if err := from.Scan(&r.nid, &r.id, &r.project, &r.household, &r.grp, &r.start, &r.end, &r.status, &r.revision, &r.actor, &r.created, &r.updated, &r.reason, &body); err != nil {
		return err
	}
	return r.read(body)
}

func (r *row) read(body string) error {
	if body == "" {
		return nil
	}
	if err := json.Unmarshal([]byte(body), &r.draft); err != nil {
		return fmt.Errorf("read kitchen test: %w", err)
	}
	return nil
}

// body is the stored part of a draft without the household and the place, which
// are columns.
func (r *row) body() (string, error) {
	d := r.draft
	d.ID, d.ProjectID, d.HouseholdID = "", "", ""
	text, err := json.Marshal(d)
	return string(text), db.Wrap("encode kitchen test", err)
}

// find reads a test the caller sees. The fault is KPT_NOT_FOUND.
func find(ctx context.Context, q db.Querier, id string) (*row, error) {
	c, r := web.CallerFrom(ctx), new(row)
	err := r.scan(q.QueryRow(ctx, selectTest, c.Workspace, id))
	if errors.Is(err, sql.ErrNoRows) || err == nil && !c.Sees(r.project) {
		return nil, fault.New(fault.NotFound, "KPT_NOT_FOUND", "No kitchen performance test has this id.")
	}
	return r, db.Wrap("find kitchen test", err)
}

// insert stores a new test; false when its id is taken.
func (r *row) insert(ctx context.Context, tx *db.Tx, ws string) (bool, error) {
	body, err := r.body()
	if err != nil {
		return false, err
	}
	d := &r.draft
	f := d.FuelMeasurements
	n, err := tx.Exec(ctx, insertTest, r.nid, ws, r.id, r.project, r.household, r.grp, f.Fuel, f.Unit, r.start, r.end, len(f.DailyLogs), f.Total, heads(d.People), adults(d.People),
		db.Bit(documented(d.Selection)), r.status, r.revision, r.actor, r.created, r.updated, r.reason, body)
	if err != nil || n == 0 {
		return false, db.Wrap("insert kitchen test", err)
	}
	return true, r.keep(ctx, tx, r.actor, body)
}

// update stores a new revision in place of the one before it.
func (r *row) update(ctx context.Context, tx *db.Tx, actor string) error {
	body, err := r.body()
	if err != nil {
		return err
	}
	d := &r.draft
	f := d.FuelMeasurements
	n, err := tx.Exec(ctx, updateTest, r.nid, r.revision-1, r.grp, f.Fuel, f.Unit, r.start, r.end, len(f.DailyLogs), f.Total, heads(d.People), adults(d.People),
		db.Bit(documented(d.Selection)), r.status, r.revision, r.updated, r.reason, body)
	if err != nil {
		return db.Wrap("update kitchen test", err)
	}
	if n == 0 {
		return web.Overtaken()
	}
	return r.keep(ctx, tx, actor, body)
}

// keep stores the revision for the history.
func (r *row) keep(ctx context.Context, tx *db.Tx, actor, body string) error {
	_, err := tx.Exec(ctx, insertHistory, r.nid, r.revision, r.updated, actor, r.reason, r.status, body)
	return db.Wrap("keep revision of a kitchen test", err)
}

func timeOf(ms int64) time.Time { return time.UnixMilli(ms).UTC() }

// measured is a test as figures need it.
type measured struct {
	household, grp, unit string
	total, heads, adults float64
	days, documented     int64
	period
}

func (m *measured) scan(from db.Row) error {
	return from.Scan(&m.household, &m.grp, &m.unit, &m.start, &m.end, &m.days, &m.total, &m.heads, &m.adults, &m.documented)
}

// Remove removes all tests of a project, with their history.
func Remove(ctx context.Context, tx *db.Tx, ws, project string) error {
	var failed [3]error
	_, failed[0] = tx.Exec(ctx, removeHistory, ws, project)
	_, failed[1] = tx.Exec(ctx, removeTests, ws, project)
	_, failed[2] = tx.Exec(ctx, removeProject, ws, project)
	return db.Wrap("remove kitchen tests", errors.Join(failed[:]...))
}

// Names returns the ids of all tests of a project, by which events name them.
func Names(ctx context.Context, q db.Querier, ws, project string) ([]string, error) {
	rows, err := q.Query(ctx, selectNames, ws, project)
	return db.Collect(rows, err, "list kitchen tests", func(id *string, row db.Row) error { return row.Scan(id) })
}
