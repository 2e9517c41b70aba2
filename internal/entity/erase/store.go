package erase

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/fault"
)

// historyChunk is how many revisions one transaction blanks, because others
// wait for it.
const historyChunk = 100

const (
	nextRevisions = `SELECT count(*), coalesce(max(revision), 0) FROM
		(SELECT revision FROM entity_history WHERE nid = $1 AND revision > $2 ORDER BY revision LIMIT $3) AS part`
	blankRevisions = `UPDATE entity_history SET body = '', reason = ''
		WHERE nid = $1 AND revision > $2 AND revision <= $3 AND (body <> '' OR reason <> '')`
)

// blankHistory blanks the next revisions after one. It returns the last it has
// looked at, 0 at the end, and how many it has changed. The hashes stay, so
// that the chain shows what is gone and that nothing else is.
func blankHistory(ctx context.Context, tx *db.Tx, nid, after int64) (last, changed int64, err error) {
	var n int64
	if err := tx.QueryRow(ctx, nextRevisions, nid, after, historyChunk).Scan(&n, &last); err != nil {
		return 0, 0, fmt.Errorf("find revisions: %w", err)
	}
	if n == 0 {
		return 0, 0, nil
	}
	if changed, err = tx.Exec(ctx, blankRevisions, nid, after, last); err != nil {
		return 0, 0, fmt.Errorf("blank revisions: %w", err)
	}
	return last, changed, nil
}

// Relationships to twins held elsewhere may name a person, and the reason for
// ending one is free text. Those between twins held here stay, as DIDs.
const (
	removeForeign     = `DELETE FROM relationships WHERE src = $1 AND removed_at IS NULL AND dst < 1`
	removePastForeign = `DELETE FROM relationships WHERE src = $1 AND removed_at IS NOT NULL AND dst < 1`
	blankPastOut      = `UPDATE relationships SET reason = '' WHERE src = $1 AND removed_at IS NOT NULL AND reason <> ''`
	blankPastIn       = `UPDATE relationships SET reason = '' WHERE dst = $1 AND removed_at IS NOT NULL AND reason <> ''`
)

// blankRelationships returns how many it has removed or changed.
func blankRelationships(ctx context.Context, tx *db.Tx, nid int64) (int64, error) {
	a, err := tx.Exec(ctx, removeForeign, nid)
	var b, c, d int64
	if err == nil {
		b, err = tx.Exec(ctx, removePastForeign, nid)
	}
	if err == nil {
		c, err = tx.Exec(ctx, blankPastOut, nid)
	}
	if err == nil {
		d, err = tx.Exec(ctx, blankPastIn, nid)
	}
	if err != nil {
		return 0, fmt.Errorf("erase relationships: %w", err)
	}
	return a + b + c + d, nil
}

// The newest revision has its reason in its own row.
const blankReason = `UPDATE entities SET rev_reason = '' WHERE nid = $1 AND rev_reason <> ''`

func blankNewest(ctx context.Context, tx *db.Tx, nid int64) error {
	if _, err := tx.Exec(ctx, blankReason, nid); err != nil {
		return fmt.Errorf("blank reason: %w", err)
	}
	return nil
}

// row is a certificate as it is stored.
type row struct {
	ws      string
	nid, at int64
	subject string
	body    []byte
	doneAt  int64 // ms; 0 while something is left to do
}

func insert(ctx context.Context, tx *db.Tx, r row) error {
	_, err := tx.Exec(ctx, `INSERT INTO erasures(ws, nid, subject, at, body) VALUES ($1, $2, $3, $4, $5)`, r.ws, r.nid, r.subject, r.at, string(r.body))
	if err != nil {
		return fmt.Errorf("insert certificate: %w", err)
	}
	return nil
}

// findLast finds the newest certificate of a subject and when everything was
// done, nil when there is none.
func findLast(ctx context.Context, q db.Querier, ws, subject string) ([]byte, int64, error) {
	return one(q.QueryRow(ctx, `SELECT body, done_at FROM erasures WHERE ws = $1 AND subject = $2 ORDER BY nid DESC LIMIT 1`, ws, subject))
}

// find finds a certificate of a workspace: ERASURE_NOT_FOUND.
func find(ctx context.Context, q db.Querier, ws string, nid int64) ([]byte, int64, error) {
	body, doneAt, err := one(q.QueryRow(ctx, `SELECT body, done_at FROM erasures WHERE ws = $1 AND nid = $2`, ws, nid))
	if err == nil && body == nil {
		err = fault.New(fault.NotFound, "ERASURE_NOT_FOUND", "There is no such erasure.")
	}
	return body, doneAt, err
}

func one(row db.Row) ([]byte, int64, error) {
	var body string
	var doneAt int64
	err := row.Scan(&body, &doneAt)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, 0, nil
	} else if err != nil {
		return nil, 0, fmt.Errorf("find certificate: %w", err)
	}
	return []byte(body), doneAt, nil
}

func list(ctx context.Context, q db.Querier, ws string, after int64, limit int) ([]row, error) {
	rows, err := q.Query(ctx, `SELECT nid, body, done_at FROM erasures WHERE ws = $1 AND nid > $2 ORDER BY nid LIMIT $3`, ws, after, limit)
	return db.Collect(rows, err, "list certificates", func(r *row, from db.Row) error {
		r.ws = ws
		return from.Scan(&r.nid, &r.body, &r.doneAt)
	})
}

const (
	listPendingText = `SELECT ws, nid, subject, body FROM erasures WHERE done_at = 0 AND nid > $1 ORDER BY nid LIMIT $2`
	markDoneText    = `UPDATE erasures SET done_at = $3 WHERE ws = $1 AND nid = $2 AND done_at = 0`
)

// listPending lists unfinished certificates after a number.
func listPending(ctx context.Context, q db.Querier, after int64, limit int) ([]row, error) {
	rows, err := q.Query(ctx, listPendingText, after, limit)
	return db.Collect(rows, err, "list erasures", func(r *row, from db.Row) error {
		return from.Scan(&r.ws, &r.nid, &r.subject, &r.body)
	})
}

func markDone(ctx context.Context, tx *db.Tx, r row, at int64) error {
	if _, err := tx.Exec(ctx, markDoneText, r.ws, r.nid, at); err != nil {
		return fmt.Errorf("complete certificate: %w", err)
	}
	return nil
}
