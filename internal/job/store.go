package job

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// row is a job as stored.
type row struct {
	nid                int64
	id, ws, kind       string
	status             Status
	errors, result     *string
	progress           Progress
	attempts, max      int
	due                *int64
	cancel             bool
	revision           int64
	createdBy          string
	caller             string // JSON of owner
	about              string // path; "" for none
	created            int64
	started, finished  *int64
	payload, requestID string // not in lists
	state, dedupe      *string
}

// owner is the stored part of the caller besides workspace and DID, so that the
// job may do what the caller may, and no more.
type owner struct {
	Key      string   `json:"key,omitzero"`
	Signer   string   `json:"signer,omitzero"`
	Through  []string `json:"through,omitempty"`
	Scopes   []string `json:"scopes,omitempty"`
	Projects []string `json:"projects,omitempty"`
}

func (r *row) asCaller() (web.Caller, error) {
	var o owner
	if err := json.Unmarshal([]byte(r.caller), &o); err != nil {
		return web.Caller{}, fmt.Errorf("decode caller of job %s: %w", r.id, err)
	}
	return web.Caller{Workspace: r.ws, DID: r.createdBy, Key: o.Key, Signer: o.Signer, Through: o.Through, Scopes: o.Scopes, Projects: o.Projects, Later: true}, nil
}

// job is the row as readers see it.
func (r *row) job() (Job, error) {
	j := Job{
		ID: r.id, Kind: r.kind, Status: r.status, Progress: r.progress, Attempts: min(r.attempts, r.max), MaxAttempts: r.max,
		CancelRequested: r.cancel, CreatedBy: r.createdBy, CreatedAt: *timeOf(&r.created), Revision: r.revision,
		Links: Links{Self: Path(r.id), About: r.about},
	}
	if r.errors != nil {
		if err := json.Unmarshal([]byte(*r.errors), &j.Errors); err != nil {
			return Job{}, fmt.Errorf("decode errors of job %s: %w", r.id, err)
		}
	}
	if r.result != nil {
		j.Result = jsontext.Value(*r.result)
	}
	if t := timeOf(r.started); t != nil {
		j.StartedAt = *t
	}
	if t := timeOf(r.finished); t != nil {
		j.FinishedAt = *t
	}
	if t := timeOf(r.due); t != nil && r.status == Queued {
		j.RunAt = *t
	}
	if !r.status.Final() && !r.cancel {
		j.Links.Cancel = Path(r.id) + "/cancel"
	}
	return j, nil
}

func timeOf(ms *int64) *time.Time {
	if ms == nil {
		return nil
	}
	t := time.UnixMilli(*ms).UTC()
	return &t
}

const (
	listColumns = `nid, id, ws, kind, status, errors, done, total, note, attempts, max_attempts, due_at, cancel, revision, created_by, caller, about, created_at, started_at, finished_at`
	findByID    = `SELECT ` + listColumns + `, result, payload FROM jobs WHERE id = $1 AND ws = $2`
	listAll     = `SELECT ` + listColumns + ` FROM jobs WHERE ws = $1 AND nid < $2 ORDER BY nid DESC LIMIT $3`
	listStatus  = `SELECT ` + listColumns + ` FROM jobs WHERE ws = $1 AND status = $4 AND nid < $2 ORDER BY nid DESC LIMIT $3`
	// The ids are a JSON array: $2.
	amongSQLite   = `SELECT ` + listColumns + ` FROM jobs WHERE ws = $1 AND id IN (SELECT value FROM json_each($2))`
	amongPostgres = `SELECT ` + listColumns + ` FROM jobs WHERE ws = $1 AND id = ANY (ARRAY(SELECT jsonb_array_elements_text($2::jsonb)))`
	listKind      = `SELECT ` + listColumns + ` FROM jobs WHERE ws = $1 AND kind = $4 AND nid < $2 ORDER BY nid DESC LIMIT $3`
)

// fields are the places of listColumns, in their order.
func (r *row) fields(more ...any) []any {
	return append([]any{
		&r.nid, &r.id, &r.ws, &r.kind, &r.status, &r.errors, &r.progress.Done, &r.progress.Total, &r.progress.Note,
		&r.attempts, &r.max, &r.due, &r.cancel, &r.revision, &r.createdBy, &r.caller, &r.about, &r.created, &r.started, &r.finished,
	}, more...)
}

// insert stores a new job. It returns false when one of the kind has its key.
func insert(ctx context.Context, tx *db.Tx, r *row) (bool, error) {
	n, err := tx.Exec(ctx, `INSERT INTO jobs(nid, id, ws, kind, dedupe, status, payload, max_attempts, due_at, created_by, caller, request_id, created_at, about)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14) ON CONFLICT (ws, kind, dedupe) WHERE dedupe IS NOT NULL DO NOTHING`,
		r.nid, r.id, r.ws, r.kind, r.dedupe, r.status, r.payload, r.max, r.due, r.createdBy, r.caller, r.requestID, r.created, r.about)
	return n > 0, db.Wrap("insert job", err)
}

func findByKey(ctx context.Context, q db.Querier, ws, kind, key string) (string, error) {
	var id string
	err := q.QueryRow(ctx, `SELECT id FROM jobs WHERE ws = $1 AND kind = $2 AND dedupe = $3`, ws, kind, key).Scan(&id)
	return id, db.Wrap("find job by key", err)
}

// find reads a job. A foreign one is missing.
func find(ctx context.Context, q db.Querier, c web.Caller, id string) (*row, error) {
	r, err := findAny(ctx, q, c.Workspace, id)
	if err == nil && !visible(c, r) {
		return nil, notFound()
	}
	return r, err
}

// findAny reads a job of a workspace, for any caller.
func findAny(ctx context.Context, q db.Querier, ws, id string) (*row, error) {
	r := &row{}
	err := q.QueryRow(ctx, findByID, id, ws).Scan(r.fields(&r.result, &r.payload)...)
	if errors.Is(err, sql.ErrNoRows) || err == nil && r.ws == "" {
		return nil, notFound()
	} else if err != nil {
		return nil, fmt.Errorf("find job: %w", err)
	}
	return r, nil
}

func notFound() error { return fault.New(fault.NotFound, "JOB_NOT_FOUND", "No job has this id.") }

// visible reports whether c may know of a job. Jobs without a workspace are the
// server's own. A key restricted to projects knows its own jobs only: what
// others of the workspace have in theirs is not for it.
func visible(c web.Caller, r *row) bool {
	if r.ws == "" || r.ws != c.Workspace {
		return false
	}
	if len(c.Projects) == 0 {
		return true
	}
	made, err := r.asCaller()
	return err == nil && made.DID == c.DID && made.Key == c.Key
}

// candidates reads at most limit jobs below a nid, newest first, and gives
// each to keep until that returns false.
func candidates(ctx context.Context, q db.Querier, p place, limit int, keep func(*row) bool) error {
	var rows db.Rows
	var err error
	switch {
	case p.status != "":
		rows, err = q.Query(ctx, listStatus, p.ws, p.below, limit, p.status)
	case p.kind != "":
		rows, err = q.Query(ctx, listKind, p.ws, p.below, limit, p.kind)
	default:
		rows, err = q.Query(ctx, listAll, p.ws, p.below, limit)
	}
	return db.Each(rows, err, "list jobs", func(from db.Row) error {
		r := &row{}
		err := from.Scan(r.fields()...)
		if err == nil && !keep(r) {
			return db.ErrStop
		}
		return err
	})
}

// among reads those of some jobs that a workspace has.
func among(ctx context.Context, q *db.DB, ws string, ids []string) ([]row, error) {
	list, err := encode("ids", ids)
	if err != nil {
		return nil, err
	}
	var rows db.Rows
	if q.Dialect() == db.Postgres {
		rows, err = q.Query(ctx, amongPostgres, ws, list)
	} else {
		rows, err = q.Query(ctx, amongSQLite, ws, list)
	}
	return db.Collect(rows, err, "find jobs", func(r *row, from db.Row) error { return from.Scan(r.fields()...) })
}

// place is where in which list a page begins.
type place struct {
	ws, kind string
	status   Status
	below    int64
}

// requestCancel ends a queued job and marks a running one. It returns the new
// status and revision; changed is false when there was nothing to do.
func requestCancel(ctx context.Context, tx *db.Tx, nid, now int64) (s Status, revision int64, changed bool, err error) {
	err = tx.QueryRow(ctx, `UPDATE jobs SET cancel = TRUE, revision = revision + 1,
		status = CASE WHEN status = 'queued' THEN 'cancelled' ELSE status END,
		due_at = CASE WHEN status = 'queued' THEN NULL ELSE due_at END,
		finished_at = CASE WHEN status = 'queued' THEN $2 ELSE finished_at END
		WHERE nid = $1 AND status IN ('queued', 'running') AND NOT cancel RETURNING status, revision`, nid, now).Scan(&s, &revision)
	if errors.Is(err, sql.ErrNoRows) {
		return "", 0, false, nil
	} else if err != nil {
		return "", 0, false, fmt.Errorf("cancel job: %w", err)
	}
	return s, revision, true, nil
}

func expire(ctx context.Context, q db.Querier, before int64, limit int) (int, error) {
	n, err := q.Exec(ctx, `DELETE FROM jobs WHERE nid IN
		(SELECT nid FROM jobs WHERE finished_at < $1 ORDER BY finished_at LIMIT $2)`, before, limit)
	return int(n), db.Wrap("expire jobs", err)
}
