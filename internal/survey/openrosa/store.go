package openrosa

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/privacy/vault"
)

const (
	upsertWaiting = `INSERT INTO collect_waiting (nid, ws, sender, instance, survey_id, project, household, at, sealed) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
		ON CONFLICT (ws, sender, instance) DO UPDATE SET survey_id = excluded.survey_id, project = excluded.project, household = excluded.household, sealed = excluded.sealed`
	upsertFile    = `INSERT INTO collect_files (ws, sender, instance, name, sha256) VALUES ($1, $2, $3, $4, $5) ON CONFLICT (ws, sender, instance, name) DO UPDATE SET sha256 = excluded.sha256`
	selectFiles   = `SELECT name, sha256 FROM collect_files WHERE ws = $1 AND sender = $2 AND instance = $3 LIMIT $4`
	selectWaiting = `SELECT ws, sender, instance, survey_id, project, household, sealed FROM collect_waiting WHERE at <= $1 ORDER BY at LIMIT $2`
	countWaiting  = `SELECT count(*) FROM (SELECT nid FROM collect_waiting WHERE ws = $1 AND sender = $2 LIMIT $3) AS n`
	findWaiting   = `SELECT count(*) FROM collect_waiting WHERE ws = $1 AND sender = $2 AND instance = $3`
	laterWaiting  = `UPDATE collect_waiting SET at = $4 WHERE ws = $1 AND sender = $2 AND instance = $3`
	settleWaiting = `UPDATE collect_waiting SET sealed = '' WHERE ws = $1 AND sender = $2 AND instance = $3`
	deleteWaiting = `DELETE FROM collect_waiting WHERE ws = $1 AND sender = $2 AND instance = $3`
	deleteFiles   = `DELETE FROM collect_files WHERE ws = $1 AND sender = $2 AND instance = $3`
	deletePerson  = `DELETE FROM collect_waiting WHERE ws = $1 AND (household = $2 OR sender = $2)`
	deleteTheirs  = `DELETE FROM collect_files WHERE ws = $1 AND (sender = $2 OR EXISTS
		(SELECT 1 FROM collect_waiting w WHERE w.ws = collect_files.ws AND w.sender = collect_files.sender AND w.instance = collect_files.instance AND w.household = $2))`
)

// waiting is a submission some of whose files are missing.
type waiting struct {
	ws, sender, instance       string
	survey, project, household string
	sealed                     []byte
}

func (w *waiting) ref() vault.Ref {
	return vault.Ref{Workspace: w.ws, Project: w.project, Household: w.household}
}

// bind names what a sealed submission belongs to, so that it opens nowhere else.
func (w *waiting) bind() string { return "submission\x00" + w.sender + "\x00" + w.instance }

// addFile notes that a file of a submission is here.
func addFile(ctx context.Context, q db.Querier, w *waiting, name, sha256 string) error {
	_, err := q.Exec(ctx, upsertFile, w.ws, w.sender, w.instance, name, sha256)
	return db.Wrap("note file of submission", err)
}

// filesOf are the hashes of the files of a submission that are here, by name.
func filesOf(ctx context.Context, q db.Querier, w *waiting) (map[string]string, error) {
	rows, err := q.Query(ctx, selectFiles, w.ws, w.sender, w.instance, maxFiles)
	pairs, err := db.Collect(rows, err, "list files of submission", func(p *[2]string, r db.Row) error { return r.Scan(&p[0], &p[1]) })
	out := map[string]string{}
	for _, p := range pairs {
		out[p[0]] = p[1]
	}
	return out, err
}

// keep stores a waiting submission and replaces an earlier state of it.
func (w *waiting) keep(ctx context.Context, tx *db.Tx, nid int64, at time.Time) error {
	_, err := tx.Exec(ctx, upsertWaiting, nid, w.ws, w.sender, w.instance, w.survey, w.project, w.household, at.UnixMilli(), w.sealed)
	return db.Wrap("keep submission", err)
}

// done removes a submission that no longer waits.
func (w *waiting) done(ctx context.Context, tx *db.Tx) error {
	if _, err := tx.Exec(ctx, deleteWaiting, w.ws, w.sender, w.instance); err != nil {
		return fmt.Errorf("forget submission: %w", err)
	}
	_, err := tx.Exec(ctx, deleteFiles, w.ws, w.sender, w.instance)
	return db.Wrap("forget files of submission", err)
}

// settle marks a waiting submission as stored. The list of its files stays for
// a day, because a device that does not know it yet sends them again one by
// one.
func (w *waiting) settle(ctx context.Context, tx *db.Tx, files map[string]string) error {
	for name, hash := range files {
		if err := addFile(ctx, tx, w, name, hash); err != nil {
			return err
		}
	}
	_, err := tx.Exec(ctx, settleWaiting, w.ws, w.sender, w.instance)
	return db.Wrap("settle submission", err)
}

// isFull reports whether a collector has as many submissions waiting as one may.
func isFull(ctx context.Context, q db.Querier, w *waiting) (bool, error) {
	var n int
	err := q.QueryRow(ctx, countWaiting, w.ws, w.sender, maxWaiting).Scan(&n)
	if errors.Is(err, sql.ErrNoRows) {
		err = nil
	}
	return n >= maxWaiting, db.Wrap("count submissions that wait", err)
}

// isWaiting reports whether a submission has waited for files.
func isWaiting(ctx context.Context, q db.Querier, w *waiting) (bool, error) {
	var n int
	err := q.QueryRow(ctx, findWaiting, w.ws, w.sender, w.instance).Scan(&n)
	return n > 0, db.Wrap("look for submission", err)
}

// oldest are the submissions that have waited since before, and longest.
func oldest(ctx context.Context, q db.Querier, before time.Time, limit int) ([]*waiting, error) {
	rows, err := q.Query(ctx, selectWaiting, before.UnixMilli(), limit)
	return db.Collect(rows, err, "list submissions that wait", func(w **waiting, r db.Row) error {
		*w = &waiting{}
		return r.Scan(&(*w).ws, &(*w).sender, &(*w).instance, &(*w).survey, &(*w).project, &(*w).household, &(*w).sealed)
	})
}
