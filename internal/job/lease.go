package job

import (
	"context"
	"database/sql"
	"errors"

	"github.com/hearth-dmrv/hearth/internal/db"
)

// errLost means that another claim has the job now. Every write of a run names
// its claim, so a run that lost its job can no longer change anything.
var errLost = errors.New("the lease of the job is lost")

const claimColumns = `nid, id, ws, kind, payload, state, attempts, max_attempts, cancel, created_by, caller, request_id, done, total, note`

const (
	claimSQLite = `UPDATE jobs SET status = 'running', owner = $1, due_at = $4, attempts = attempts + 1,
		started_at = coalesce(started_at, $3), revision = revision + 1
		WHERE nid = (SELECT nid FROM jobs WHERE ws = $5 AND kind = $2 AND due_at <= $3 ORDER BY due_at LIMIT 1)
		RETURNING ` + claimColumns

	// SKIP LOCKED lets instances claim at the same time without waiting for, or
	// getting, each other's jobs. The common table is MATERIALIZED so that the
	// planner cannot run it twice and lock more than one.
	claimPostgres = `WITH due AS MATERIALIZED (
			SELECT nid AS due_nid FROM jobs WHERE ws = $5 AND kind = $2 AND due_at <= $3
			ORDER BY due_at LIMIT 1 FOR UPDATE SKIP LOCKED)
		UPDATE jobs SET status = 'running', owner = $1, due_at = $4, attempts = attempts + 1,
		started_at = coalesce(started_at, $3), revision = revision + 1
		FROM due WHERE nid = due_nid RETURNING ` + claimColumns
)

// claim is one look for work.
type claim struct {
	line
	owner      string // unique to this claim
	now, until int64
}

// claimDue claims the job of a line whose time came, or whose lease ran out,
// first. It returns nil when there is none.
func claimDue(ctx context.Context, tx *db.Tx, dialect db.Dialect, c claim) (*row, error) {
	var found db.Row
	if dialect == db.Postgres {
		found = tx.QueryRow(ctx, claimPostgres, c.owner, c.kind, c.now, c.until, c.ws)
	} else {
		found = tx.QueryRow(ctx, claimSQLite, c.owner, c.kind, c.now, c.until, c.ws)
	}
	r := &row{}
	err := found.Scan(&r.nid, &r.id, &r.ws, &r.kind, &r.payload, &r.state, &r.attempts, &r.max, &r.cancel,
		&r.createdBy, &r.caller, &r.requestID, &r.progress.Done, &r.progress.Total, &r.progress.Note)
	return db.Found(r, err, "claim job")
}

// turnPostgres is the lock of who claims. It is held until the claim is stored,
// so that the next instance counts it.
const turnPostgres = `SELECT pg_advisory_xact_lock($1)`

// turnLock names that lock: "heartjob".
const turnLock int64 = 0x68656172746a6f62

// takeTurn waits until no other instance is claiming. SQLite has one writer.
func takeTurn(ctx context.Context, tx *db.Tx, dialect db.Dialect) error {
	if dialect != db.Postgres {
		return nil
	}
	_, err := tx.Exec(ctx, turnPostgres, turnLock)
	return db.Wrap("wait for the turn to claim", err)
}

// held names a job and the claim on it.
type held struct {
	nid   int64
	owner string
}

// renewal is what a heartbeat stores.
type renewal struct {
	until    int64
	progress Progress
	changed  int // 1 when readers see something new
}

// extend keeps a claim and stores progress. It reports whether cancelling was
// requested, and returns errLost when the claim is gone.
func extend(ctx context.Context, tx *db.Tx, h held, n renewal) (cancel bool, err error) {
	err = tx.QueryRow(ctx, `UPDATE jobs SET due_at = $3, done = $4, total = $5, note = $6, revision = revision + $7
		WHERE nid = $1 AND owner = $2 AND status = 'running' RETURNING cancel`,
		h.nid, h.owner, n.until, n.progress.Done, n.progress.Total, n.progress.Note, n.changed).Scan(&cancel)
	return cancel, lost("extend lease", err)
}

// hold keeps a claim in a handler's own transaction, and locks its row: on
// PostgreSQL nobody can take the job over before that transaction ends.
func hold(ctx context.Context, tx *db.Tx, h held, until int64) error {
	var nid int64
	err := tx.QueryRow(ctx, `UPDATE jobs SET due_at = $3 WHERE nid = $1 AND owner = $2 AND status = 'running' RETURNING nid`,
		h.nid, h.owner, until).Scan(&nid)
	return lost("hold job", err)
}

func saveState(ctx context.Context, tx *db.Tx, h held, until int64, state string) error {
	var nid int64
	err := tx.QueryRow(ctx, `UPDATE jobs SET due_at = $3, state = $4 WHERE nid = $1 AND owner = $2 AND status = 'running' RETURNING nid`,
		h.nid, h.owner, until, state).Scan(&nid)
	return lost("save state of job", err)
}

// ending is how a run ends for good.
type ending struct {
	status         Status
	result, errors *string
	progress       Progress
	now            int64
}

// finish ends a job and returns its revision.
func finish(ctx context.Context, tx *db.Tx, h held, e ending) (int64, error) {
	var revision int64
	err := tx.QueryRow(ctx, `UPDATE jobs SET status = $3, result = $4, errors = $5, done = $6, total = $7, note = $8, finished_at = $9,
		due_at = NULL, owner = NULL, state = NULL, revision = revision + 1
		WHERE nid = $1 AND owner = $2 AND status = 'running' RETURNING revision`,
		h.nid, h.owner, e.status, e.result, e.errors, e.progress.Done, e.progress.Total, e.progress.Note, e.now).Scan(&revision)
	return revision, lost("finish job", err)
}

// pause is how a run ends for now.
type pause struct {
	due      int64
	errors   *string
	progress Progress
	uncount  int // 1 when the attempt does not count
}

// release queues a job again. A job that is to be cancelled is not: it
// returns false then.
func release(ctx context.Context, tx *db.Tx, h held, p pause) (bool, error) {
	var cancel bool
	err := tx.QueryRow(ctx, `UPDATE jobs SET status = CASE WHEN cancel THEN status ELSE 'queued' END,
		owner = CASE WHEN cancel THEN owner ELSE NULL END,
		due_at = CASE WHEN cancel THEN due_at ELSE $3 END, errors = coalesce($4, errors), attempts = attempts - $5,
		done = $6, total = $7, note = $8, revision = revision + 1
		WHERE nid = $1 AND owner = $2 AND status = 'running' RETURNING cancel`,
		h.nid, h.owner, p.due, p.errors, p.uncount, p.progress.Done, p.progress.Total, p.progress.Note).Scan(&cancel)
	return !cancel, lost("release job", err)
}

func lost(doing string, err error) error {
	if errors.Is(err, sql.ErrNoRows) {
		return errLost
	}
	return db.Wrap(doing, err)
}

// releaseAll ends the leases of the jobs of a kind that run.
func releaseAll(ctx context.Context, q db.Querier, kind string, now int64) error {
	_, err := q.Exec(ctx, `UPDATE jobs SET due_at = $2 WHERE kind = $1 AND due_at > $2 AND status = 'running'`, kind, now)
	return db.Wrap("release jobs", err)
}
