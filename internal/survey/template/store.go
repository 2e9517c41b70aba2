package template

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
	countTemplates = `SELECT count(*) FROM (SELECT 1 FROM templates WHERE ws = $1 LIMIT $2) AS n`
	insertTemplate = `INSERT INTO templates (ws, template_id, nid, version, latest, revision, updated_at, summary)
		VALUES ($1, $2, $3, 1, 1, 1, $4, $5) ON CONFLICT (ws, template_id) DO NOTHING`
	lockTemplate = `UPDATE templates SET updated_at = $3 WHERE ws = $1 AND template_id = $2
		RETURNING version, latest, revision`
	updateTemplate = `UPDATE templates SET version = $3, latest = $4, revision = $5, summary = $6 WHERE ws = $1 AND template_id = $2`
	deleteTemplate = `DELETE FROM templates WHERE ws = $1 AND template_id = $2`
	selectTemplate = `SELECT version, latest, revision FROM templates WHERE ws = $1 AND template_id = $2`
	selectPage     = `SELECT nid, summary FROM templates WHERE ws = $1 AND nid > $2 ORDER BY nid LIMIT $3`
	insertVersion  = `INSERT INTO template_versions (ws, template_id, version, status, revision, created_at, updated_at, body)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8) ON CONFLICT (ws, template_id, version) DO NOTHING`
	updateVersion = `UPDATE template_versions SET status = $4, revision = $5, updated_at = $6, body = $7
		WHERE ws = $1 AND template_id = $2 AND version = $3`
	deleteVersion = `DELETE FROM template_versions WHERE ws = $1 AND template_id = $2 AND version = $3`
	selectVersion = `SELECT body FROM template_versions WHERE ws = $1 AND template_id = $2 AND version = $3`
	selectSteps   = `SELECT version, status FROM template_versions WHERE ws = $1 AND template_id = $2 ORDER BY version`
	insertReview  = `INSERT INTO template_reviews (ws, template_id, at, nid, body) VALUES ($1, $2, $3, $4, $5)`
	selectReviews = `SELECT at, nid, body FROM template_reviews WHERE ws = $1 AND template_id = $2 AND (at, nid) < ($3, $4)
		ORDER BY at DESC, nid DESC LIMIT $5`
)

// head is the row of a template.
type head struct {
	version, latest int
	revision        int64
}

func findHead(ctx context.Context, q db.Querier, ws, id string) (head, error) {
	var h head
	err := q.QueryRow(ctx, selectTemplate, ws, id).Scan(&h.version, &h.latest, &h.revision)
	return db.Need(h, err, "find template", notFound())
}

// lock reads the row of a template and makes others who change it wait. The
// fault is TEMPLATE_NOT_FOUND.
func lock(ctx context.Context, tx *db.Tx, ws, id string, now int64) (head, error) {
	var h head
	err := tx.QueryRow(ctx, lockTemplate, ws, id, now).Scan(&h.version, &h.latest, &h.revision)
	return db.Need(h, err, "lock template", notFound())
}

func countAll(ctx context.Context, q db.Querier, ws string, most int) (n int, err error) {
	if err = q.QueryRow(ctx, countTemplates, ws, most).Scan(&n); err != nil {
		return 0, fmt.Errorf("count templates: %w", err)
	}
	return n, nil
}

// edition is a version to be stored, rendered.
type edition struct {
	ws   string
	v    *Version
	body []byte
}

// insert stores a template with its first version; false when there is one of
// this identifier.
func insert(ctx context.Context, tx *db.Tx, nid int64, e edition) (bool, error) {
	line, err := web.Encode(summarize(e.v, 1))
	if err != nil {
		return false, err
	}
	n, err := tx.Exec(ctx, insertTemplate, e.ws, e.v.TemplateID, nid, e.v.Created.UnixMilli(), string(line))
	if err != nil {
		return false, fmt.Errorf("insert template: %w", err)
	}
	if n == 0 {
		return false, nil
	}
	return addVersion(ctx, tx, e)
}

// addVersion stores a version; false when there is one of this number.
func addVersion(ctx context.Context, tx *db.Tx, e edition) (bool, error) {
	v := e.v
	n, err := tx.Exec(ctx, insertVersion, e.ws, v.TemplateID, v.Version, string(v.Status), v.Revision, v.Created.UnixMilli(), v.Updated.UnixMilli(), string(e.body))
	return n > 0, db.Wrap("insert template version", err)
}

// putVersion stores a version over the one there is. The template is locked.
func putVersion(ctx context.Context, tx *db.Tx, e edition) error {
	v := e.v
	_, err := tx.Exec(ctx, updateVersion, e.ws, v.TemplateID, v.Version, string(v.Status), v.Revision, v.Updated.UnixMilli(), string(e.body))
	return db.Wrap("update template version", err)
}

// removeVersion deletes a draft, and the template when nothing else is left of
// it.
func removeVersion(ctx context.Context, tx *db.Tx, ws string, v *Version, last bool) error {
	if _, err := tx.Exec(ctx, deleteVersion, ws, v.TemplateID, v.Version); err != nil {
		return fmt.Errorf("delete template version: %w", err)
	}
	if !last {
		return nil
	}
	_, err := tx.Exec(ctx, deleteTemplate, ws, v.TemplateID)
	return db.Wrap("delete template", err)
}

// settle stores which version is shown now, and the line of the list.
func settle(ctx context.Context, tx *db.Tx, ws, id string, revision int64) error {
	all, err := steps(ctx, tx, ws, id)
	if err != nil {
		return err
	}
	best, _ := choose(all)
	last, _ := newest(all)
	v, _, err := find(ctx, tx, ws, id, best.version)
	if err != nil {
		return err
	}
	line, err := web.Encode(summarize(v, last.version))
	if err != nil {
		return err
	}
	_, err = tx.Exec(ctx, updateTemplate, ws, id, best.version, last.version, revision, string(line))
	return db.Wrap("update template", err)
}

// find reads a version. The fault is TEMPLATE_VERSION_NOT_FOUND.
func find(ctx context.Context, q db.Querier, ws, id string, version int) (*Version, []byte, error) {
	var body string
	err := q.QueryRow(ctx, selectVersion, ws, id, version).Scan(&body)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil, noVersion()
	} else if err != nil {
		return nil, nil, fmt.Errorf("find template version: %w", err)
	}
	var v Version
	if err := json.Unmarshal([]byte(body), &v); err != nil {
		return nil, nil, fmt.Errorf("read template version %d: %w", version, err)
	}
	return &v, []byte(body), nil
}

// steps lists the versions of a template, oldest first; none when there is no
// template.
func steps(ctx context.Context, q db.Querier, ws, id string) ([]step, error) {
	rows, err := q.Query(ctx, selectSteps, ws, id)
	return db.Collect(rows, err, "list versions", func(s *step, row db.Row) error {
		return row.Scan(&s.version, &s.status)
	})
}

// line is a line of the list.
type line struct {
	nid     int64
	summary string
}

func list(ctx context.Context, q db.Querier, ws string, after int64, limit int) ([]line, error) {
	rows, err := q.Query(ctx, selectPage, ws, after, limit)
	return db.Collect(rows, err, "list templates", func(l *line, row db.Row) error {
		return row.Scan(&l.nid, &l.summary)
	})
}

func addReview(ctx context.Context, tx *db.Tx, ws string, nid int64, r *Review) error {
	body, err := web.Encode(r)
	if err != nil {
		return err
	}
	_, err = tx.Exec(ctx, insertReview, ws, r.TemplateID, r.ReviewedAt.UnixMilli(), nid, string(body))
	return db.Wrap("insert review", err)
}

// reviewRow is a review with its place in the list.
type reviewRow struct {
	at, nid int64
	review  Review
}

// reviewQuery asks for reviews of a template from a place on.
type reviewQuery struct {
	ws, id string
	before reviewSpot
	limit  int
}

// reviews lists reviews, newest first.
func reviews(ctx context.Context, q db.Querier, of reviewQuery) ([]reviewRow, error) {
	rows, err := q.Query(ctx, selectReviews, of.ws, of.id, of.before.At, of.before.NID, of.limit)
	return db.Collect(rows, err, "list reviews", func(r *reviewRow, row db.Row) error {
		var body string
		if err := row.Scan(&r.at, &r.nid, &body); err != nil {
			return err
		}
		return json.Unmarshal([]byte(body), &r.review)
	})
}
