package demo

import (
	"context"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/privacy"
)

// Personal says what the table of the demo can hold about a person.
func Personal() []privacy.Table {
	return []privacy.Table{{Name: "demos", Rules: []privacy.Rule{
		privacy.None(privacy.Ours, "ws id state job counts project"), privacy.Kept("", privacy.Acts, "actor"),
	}}}
}

// States of a row.
const (
	loading  = "loading"
	ready    = "ready"
	removing = "removing"
)

// row is an existing demo.
type row struct {
	ws, id                       string
	seed                         int64
	state, job, actor            string
	began                        int64 // number of the last event before it
	startedAt, finishedAt, tookM int64 // ms
	counts                       string
	project                      string
}

const (
	findText = `SELECT id, seed, state, job, actor, began, started_at, finished_at, took_ms, counts, project FROM demos WHERE ws = $1`
	// The update that changes nothing is the lock both databases know.
	lockText   = `UPDATE demos SET state = state WHERE ws = $1`
	insertText = `INSERT INTO demos (ws, id, seed, state, job, actor, began, started_at, finished_at, took_ms, counts, project)
		VALUES ($1, $2, $3, 'loading', $4, $5, $6, $7, 0, 0, '', '') ON CONFLICT (ws) DO NOTHING`
	workText    = `UPDATE demos SET state = $2, job = $3 WHERE ws = $1`
	tookText    = `UPDATE demos SET took_ms = took_ms + $3 WHERE ws = $1 AND id = $2`
	projectText = `UPDATE demos SET project = $3 WHERE ws = $1 AND id = $2`
	readyText   = `UPDATE demos SET state = 'ready', finished_at = $3, counts = $4 WHERE ws = $1 AND id = $2 AND state = 'loading'`
	removeText  = `DELETE FROM demos WHERE ws = $1 AND id = $2`
)

// find reads the demo of a workspace; nil when there is none.
func find(ctx context.Context, q db.Querier, ws string) (*row, error) {
	r := &row{ws: ws}
	err := q.QueryRow(ctx, findText, ws).
		Scan(&r.id, &r.seed, &r.state, &r.job, &r.actor, &r.began, &r.startedAt, &r.finishedAt, &r.tookM, &r.counts, &r.project)
	return db.Found(r, err, "find demo")
}

// findLocked is find for a row that is about to change.
func findLocked(ctx context.Context, tx *db.Tx, ws string) (*row, error) {
	if _, err := tx.Exec(ctx, lockText, ws); err != nil {
		return nil, db.Wrap("lock demo", err)
	}
	return find(ctx, tx, ws)
}

func insert(ctx context.Context, tx *db.Tx, r *row) (bool, error) {
	n, err := tx.Exec(ctx, insertText, r.ws, r.id, r.seed, r.job, r.actor, r.began, r.startedAt)
	return n > 0, db.Wrap("insert demo", err)
}

// work records which job is running for a demo, and what it does.
func work(ctx context.Context, tx *db.Tx, ws, state, job string) error {
	_, err := tx.Exec(ctx, workText, ws, state, job)
	return db.Wrap("update demo", err)
}

func addTime(ctx context.Context, q db.Querier, r *row, ms int64) error {
	_, err := q.Exec(ctx, tookText, r.ws, r.id, ms)
	return db.Wrap("update demo", err)
}

func setProject(ctx context.Context, q db.Querier, r *row, did string) error {
	_, err := q.Exec(ctx, projectText, r.ws, r.id, did)
	return db.Wrap("update demo", err)
}

func setReady(ctx context.Context, tx *db.Tx, r *row, at int64, counts string) error {
	_, err := tx.Exec(ctx, readyText, r.ws, r.id, at, counts)
	return db.Wrap("update demo", err)
}

func remove(ctx context.Context, tx *db.Tx, r *row) error {
	_, err := tx.Exec(ctx, removeText, r.ws, r.id)
	return db.Wrap("remove demo", err)
}
