package sms

import (
	"context"
	"fmt"
	"time"

	"github.com/hearth-dmrv/hearth/internal/db"
)

const (
	insertMessage = `INSERT INTO sms_messages (id, about, number, recipient, body, status, attempts, provider_id, error, created_at, updated_at)
		VALUES ($1, $2, $3, $4, $5, 'queued', 0, '', '', $6, $6)`
	selectMessage   = `SELECT about, recipient, body, status FROM sms_messages WHERE id = $1`
	concludeMessage = `UPDATE sms_messages SET status = $2, provider_id = $3, error = $4, attempts = $5, updated_at = $6, recipient = NULL, body = NULL
		WHERE id = $1`
	noteMessage  = `UPDATE sms_messages SET error = $2, attempts = $3, updated_at = $4 WHERE id = $1`
	countNumber  = `SELECT count(*) FROM (SELECT id FROM sms_messages WHERE number = $1 AND created_at > $2 LIMIT $3) AS recent`
	deleteAbout  = `DELETE FROM sms_messages WHERE about = $1`
	deleteNumber = `DELETE FROM sms_messages WHERE number = $1`
	deleteOld    = `DELETE FROM sms_messages WHERE id IN (SELECT id FROM sms_messages WHERE created_at < $1 ORDER BY created_at LIMIT $2)`
	listMessages = `SELECT id, status, attempts, provider_id, error, created_at, updated_at FROM sms_messages WHERE id > $1 ORDER BY id LIMIT $2`
	listNewest   = `SELECT id, status, attempts, provider_id, error, created_at, updated_at FROM sms_messages WHERE id < $1 ORDER BY id DESC LIMIT $2`
)

// row is a message as it is stored. to and text are empty once it has ended.
type row struct {
	id, about, number string
	to, text          []byte
	status            Status
	at                int64
}

func insert(ctx context.Context, tx *db.Tx, r row) error {
	_, err := tx.Exec(ctx, insertMessage, r.id, r.about, r.number, r.to, r.text, r.at)
	return db.Wrap("insert sms", err)
}

// find reads a message, nil when there is none.
func find(ctx context.Context, q db.Querier, id string) (*row, error) {
	r := &row{id: id}
	err := q.QueryRow(ctx, selectMessage, id).Scan(&r.about, &r.to, &r.text, &r.status)
	return db.Found(r, err, "find sms")
}

// ending is what became of an attempt.
type ending struct {
	status   Status
	provider string
	reason   string
	attempts int
	at       int64
}

// conclude ends a message and forgets whom it was for.
func conclude(ctx context.Context, tx *db.Tx, id string, e ending) error {
	_, err := tx.Exec(ctx, concludeMessage, id, string(e.status), e.provider, e.reason, e.attempts, e.at)
	return db.Wrap("conclude sms", err)
}

func note(ctx context.Context, tx *db.Tx, id string, e ending) error {
	_, err := tx.Exec(ctx, noteMessage, id, e.reason, e.attempts, e.at)
	return db.Wrap("note sms", err)
}

func countRecent(ctx context.Context, q db.Querier, number string, since int64, limit int) (int, error) {
	var n int
	if err := q.QueryRow(ctx, countNumber, number, since, limit).Scan(&n); err != nil {
		return 0, fmt.Errorf("count sms: %w", err)
	}
	return n, nil
}

func removeAbout(ctx context.Context, tx *db.Tx, about string) (int64, error) {
	n, err := tx.Exec(ctx, deleteAbout, about)
	return n, db.Wrap("erase sms", err)
}

func removeNumber(ctx context.Context, tx *db.Tx, number string) (int64, error) {
	n, err := tx.Exec(ctx, deleteNumber, number)
	return n, db.Wrap("erase sms", err)
}

func expire(ctx context.Context, d *db.DB, before int64, limit int) (int, error) {
	var n int64
	err := d.InTx(ctx, func(tx *db.Tx) (err error) {
		n, err = tx.Exec(ctx, deleteOld, before, limit)
		return err
	})
	return int(n), db.Wrap("expire sms", err)
}

func list(ctx context.Context, q db.Querier, after string, limit int) ([]Record, error) {
	rows, err := q.Query(ctx, listMessages, after, limit)
	return records(rows, err)
}

// lastID comes after every id.
const lastID = "g"

// newest gives messages before an id, the newest first.
func newest(ctx context.Context, q db.Querier, before string, limit int) ([]Record, error) {
	rows, err := q.Query(ctx, listNewest, before, limit)
	return records(rows, err)
}

func records(rows db.Rows, err error) ([]Record, error) {
	return db.Collect(rows, err, "list sms", func(r *Record, row db.Row) error {
		var made, changed int64
		err := row.Scan(&r.ID, &r.Status, &r.Attempts, &r.ProviderID, &r.Error, &made, &changed)
		r.CreatedAt, r.UpdatedAt = time.UnixMilli(made).UTC(), time.UnixMilli(changed).UTC()
		return err
	})
}
