package account

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/hearth-dmrv/hearth/internal/db"
)

const (
	// nextKey jumps along the index from key to key.
	nextKey      = `SELECT pin_key FROM ussd_accounts WHERE pin_key > $1 ORDER BY pin_key LIMIT 1`
	selectSealed = `SELECT id, pin FROM ussd_accounts WHERE pin_key = $1 AND id > $2 ORDER BY id LIMIT $3`
	countSealed  = `SELECT count(*) FROM ussd_accounts WHERE pin_key = $1`
	moveSealed   = `UPDATE ussd_accounts SET pin = $3, pin_key = $4 WHERE id = $1 AND pin = $2`
)

// pinRow is a PIN and whose it is.
type pinRow struct {
	id  string
	pin []byte
}

func sealedBy(ctx context.Context, q db.Querier, key, after string, limit int) ([]pinRow, error) {
	rows, err := q.Query(ctx, selectSealed, key, after, limit)
	return db.Collect(rows, err, "list PINs of a key", func(r *pinRow, row db.Row) error {
		return row.Scan(&r.id, &r.pin)
	})
}

// keysInUse lists the keys that have sealed PINs of the store.
func keysInUse(ctx context.Context, q db.Querier) ([]string, error) {
	var all []string
	for last := ""; ; {
		err := q.QueryRow(ctx, nextKey, last).Scan(&last)
		if errors.Is(err, sql.ErrNoRows) {
			return all, nil
		} else if err != nil {
			return nil, fmt.Errorf("list PIN keys: %w", err)
		}
		all = append(all, last)
	}
}

func countBy(ctx context.Context, q db.Querier, key string) (n int64, err error) {
	err = q.QueryRow(ctx, countSealed, key).Scan(&n)
	return n, db.Wrap("count PINs of a key", err)
}

// movePIN stores a PIN under another key, unless it was changed since it was
// read; then it reports 0.
func movePIN(ctx context.Context, tx *db.Tx, r pinRow, pin []byte, key string) (int64, error) {
	n, err := tx.Exec(ctx, moveSealed, r.id, r.pin, pin, key)
	return n, db.Wrap("move PIN", err)
}

const (
	selectReset = `SELECT code, expires_at, tries, sent, day_at FROM ussd_resets WHERE account = $1`
	upsertReset = `INSERT INTO ussd_resets (account, code, expires_at, tries, sent, day_at) VALUES ($1, $2, $3, $4, $5, $6)
		ON CONFLICT (account) DO UPDATE SET code = excluded.code, expires_at = excluded.expires_at, tries = excluded.tries, sent = excluded.sent, day_at = excluded.day_at`
	deleteReset = `DELETE FROM ussd_resets WHERE account = $1`
)

// reset is a code that was sent.
type reset struct {
	code               []byte // its hash
	expires            int64
	tries, sent, dayAt int64
}

func findReset(ctx context.Context, tx *db.Tx, account string) (reset, error) {
	var r reset
	err := tx.QueryRow(ctx, selectReset, account).Scan(&r.code, &r.expires, &r.tries, &r.sent, &r.dayAt)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return reset{}, fmt.Errorf("find reset: %w", err)
	}
	return r, nil
}

func setReset(ctx context.Context, tx *db.Tx, account string, r reset) error {
	_, err := tx.Exec(ctx, upsertReset, account, r.code, r.expires, r.tries, r.sent, r.dayAt)
	return db.Wrap("store reset", err)
}

func removeReset(ctx context.Context, tx *db.Tx, account string) error {
	_, err := tx.Exec(ctx, deleteReset, account)
	return db.Wrap("remove reset", err)
}
