package exchange

import (
	"context"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/web"
)

const (
	insertText   = `INSERT INTO transfers(job, ws, kind, about, file, settings, counts, created_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`
	findText     = `SELECT kind, about, file, settings, counts, created_at FROM transfers WHERE job = $1 AND ws = $2`
	listOverText = `SELECT job, settings FROM transfers t WHERE ws = $1 AND job > $2
		AND NOT EXISTS (SELECT 1 FROM jobs j WHERE j.id = t.job AND j.status IN ('queued', 'running')) ORDER BY job LIMIT 50`
	listText     = `SELECT job, file, settings, counts, created_at FROM transfers WHERE ws = $1 AND kind = $2 AND about = $3 AND job < $4 ORDER BY job DESC LIMIT $5`
	oldestText   = `SELECT job FROM transfers WHERE created_at < $1 ORDER BY created_at LIMIT 1`
	countsText   = `UPDATE transfers SET counts = $2 WHERE job = $1`
	settingsText = `UPDATE transfers SET settings = $2 WHERE job = $1`
	fileText     = `UPDATE transfers SET file = $2 WHERE job = $1`
	deleteText   = `DELETE FROM transfers WHERE job = $1`

	// An export whose file is not begun stays.
	condemnText = `UPDATE transfer_files SET kind = 'condemned', at = $2 WHERE ws = $1 AND kind = 'export'
		AND (sha256 <> '' OR bytes > 0 OR EXISTS (SELECT 1 FROM jobs j WHERE j.id = transfer_files.job AND j.status = 'running'))`
	condemnImportsText = `UPDATE transfer_files SET kind = 'condemned', at = 0 WHERE ws = $1 AND kind IN ('import', 'kept')
		AND NOT EXISTS (SELECT 1 FROM jobs j WHERE j.id = transfer_files.job AND j.status IN ('queued', 'running'))`
	oldImportText = `SELECT id FROM transfer_files f WHERE kind = 'import'
		AND NOT EXISTS (SELECT 1 FROM jobs j WHERE j.id = f.job AND j.status IN ('queued', 'running')) ORDER BY at, id LIMIT 1`
	condemnAboutText = condemnText + ` AND job IN (SELECT job FROM transfers WHERE ws = $1 AND about = $3)`
)

func insert(ctx context.Context, tx *db.Tx, o *Order) error {
	_, err := tx.Exec(ctx, insertText, o.Job, o.Workspace, o.Kind, o.About, o.File, o.settings, o.counts, o.CreatedAt)
	return db.Wrap("insert order", err)
}

// find reads an order of a workspace; nil without one.
func find(ctx context.Context, q db.Querier, ws, id string) (*Order, error) {
	o := &Order{Job: id, Workspace: ws}
	err := q.QueryRow(ctx, findText, id, ws).Scan(&o.Kind, &o.About, &o.File, &o.settings, &o.counts, &o.CreatedAt)
	return db.Found(o, err, "find order")
}

// listOver reads the parameters of some ended orders of a workspace after one.
func listOver(ctx context.Context, q db.Querier, ws, after string) ([]Order, error) {
	rows, err := q.Query(ctx, listOverText, ws, after)
	return db.Collect(rows, err, "list orders", func(o *Order, row db.Row) error {
		o.Workspace = ws
		return row.Scan(&o.Job, &o.settings)
	})
}

// list reads orders of one kind below one, newest first.
func list(ctx context.Context, q db.Querier, in Listing, below string, limit int) ([]*Order, error) {
	ws := web.CallerFrom(ctx).Workspace
	rows, err := q.Query(ctx, listText, ws, in.Kind, in.About, below, limit)
	return db.Collect(rows, err, "list orders", func(to **Order, row db.Row) error {
		o := &Order{Workspace: ws, Kind: in.Kind, About: in.About}
		*to = o
		return row.Scan(&o.Job, &o.File, &o.settings, &o.counts, &o.CreatedAt)
	})
}

// oldest is the id a query finds; "" when it finds none.
func oldest(row db.Row) (string, error) {
	var id string
	err := row.Scan(&id)
	return db.Found(id, err, "find what is old")
}

func updateCounts(ctx context.Context, tx *db.Tx, id, counts string) error {
	_, err := tx.Exec(ctx, countsText, id, counts)
	return db.Wrap("update counts of order", err)
}

func updateSettings(ctx context.Context, q db.Querier, id, settings string) error {
	_, err := q.Exec(ctx, settingsText, id, settings)
	return db.Wrap("update settings of order", err)
}

func updateFile(ctx context.Context, tx *db.Tx, id, file string) error {
	_, err := tx.Exec(ctx, fileText, id, file)
	return db.Wrap("update file of order", err)
}

func remove(ctx context.Context, q db.Querier, id string) (int, error) {
	n, err := q.Exec(ctx, deleteText, id)
	return int(n), db.Wrap("remove order", err)
}
