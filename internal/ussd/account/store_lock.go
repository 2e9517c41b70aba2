package account

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/hearth-dmrv/hearth/internal/db"
)

// Kinds of locks.
const (
	lockNumber   = "number"
	lockCustomer = "customer"
	lockHold     = "hold" // of a number whose card was changed
	// lockSlip counts the wrong tries from one number on one id that is not
	// registered with it: "<customer id> <number>". It is never closed.
	lockSlip = "slip"
)

const (
	selectStanding = `SELECT a.pin, COALESCE(l.closed_until, 0), COALESCE(h.closed_until, 0) FROM ussd_accounts a
		LEFT JOIN ussd_locks l ON l.kind = 'customer' AND l.name = a.customer_id
		LEFT JOIN ussd_locks h ON h.kind = 'hold' AND h.name = $2 WHERE a.id = $1 AND a.status = 'active'`
	// touchLock holds the row until the transaction ends: tries on one id, or
	// from one number, come one after the other in every instance.
	touchLock = `INSERT INTO ussd_locks (kind, name, wrong, closed_until, last_at) VALUES ($1, $2, 0, 0, 0)
		ON CONFLICT (kind, name) DO UPDATE SET kind = excluded.kind RETURNING wrong, closed_until, last_at`
	selectLock = `SELECT wrong, closed_until, last_at FROM ussd_locks WHERE kind = $1 AND name = $2`
	updateLock = `INSERT INTO ussd_locks (kind, name, wrong, closed_until, last_at) VALUES ($1, $2, $3, $4, $5)
		ON CONFLICT (kind, name) DO UPDATE SET wrong = excluded.wrong, closed_until = excluded.closed_until, last_at = excluded.last_at`
	selectOwn   = `SELECT 1 FROM ussd_accounts WHERE customer_id = $1 AND phone = $2 AND status = 'active'`
	deleteSlips = `DELETE FROM ussd_locks WHERE kind = 'slip' AND (name LIKE $1 OR name LIKE $2)`
	deleteLock  = `DELETE FROM ussd_locks WHERE kind = $1 AND name = $2`
	sweepLocks  = `DELETE FROM ussd_locks WHERE kind = $1 AND name IN (SELECT name FROM ussd_locks
		WHERE kind = $1 AND last_at < $2 AND closed_until <= $3 ORDER BY last_at LIMIT $4)`
	sweepUnknown = `DELETE FROM ussd_locks WHERE kind = 'customer' AND name IN (SELECT l.name FROM ussd_locks l
		WHERE l.kind = 'customer' AND l.last_at < $1 AND NOT EXISTS (SELECT 1 FROM ussd_accounts a WHERE a.customer_id = l.name)
		ORDER BY l.last_at LIMIT $2)`
)

// touch reads a lock and keeps others from it until tx ends.
func touch(ctx context.Context, tx *db.Tx, kind, name string) (lock, error) {
	var l lock
	if err := tx.QueryRow(ctx, touchLock, kind, name).Scan(&l.wrong, &l.until, &l.last); err != nil {
		return lock{}, fmt.Errorf("hold lock: %w", err)
	}
	return l, nil
}

// standingRow is what a login depends on.
type standingRow struct {
	pin           []byte
	account, hold lock
}

// findStanding reads what the login of an account from a number depends on, nil
// when the account is not open.
func findStanding(ctx context.Context, q db.Querier, id, phone string) (*standingRow, error) {
	st := &standingRow{}
	err := q.QueryRow(ctx, selectStanding, id, phone).Scan(&st.pin, &st.account.until, &st.hold.until)
	return db.Found(st, err, "find whether a login counts")
}

// findLock reads a lock; one that is not there is open.
func findLock(ctx context.Context, q db.Querier, kind, name string) (lock, error) {
	var l lock
	err := q.QueryRow(ctx, selectLock, kind, name).Scan(&l.wrong, &l.until, &l.last)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return lock{}, fmt.Errorf("find lock: %w", err)
	}
	return l, nil
}

// setLock stores a lock, and removes one that says nothing.
func setLock(ctx context.Context, tx *db.Tx, kind, name string, l lock) error {
	if l.wrong == 0 && l.until == 0 {
		_, err := tx.Exec(ctx, deleteLock, kind, name)
		return db.Wrap("remove lock", err)
	}
	_, err := tx.Exec(ctx, updateLock, kind, name, l.wrong, l.until, l.last)
	return db.Wrap("store lock", err)
}

// registered reports whether a customer id belongs to an open account of a
// number.
func registered(ctx context.Context, q db.Querier, customer, phone string) (bool, error) {
	var one int
	err := q.QueryRow(ctx, selectOwn, customer, phone).Scan(&one)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return false, fmt.Errorf("find whether an account is of a number: %w", err)
	}
	return err == nil, nil
}

// removeSlips forgets which ids a number has tried, and which numbers have
// tried an id; "" means none. Neither contains a wildcard of LIKE.
func removeSlips(ctx context.Context, tx *db.Tx, customer, phone string) error {
	of, by := "", ""
	if customer != "" {
		of = customer + " %"
	}
	if phone != "" {
		by = "% " + phone
	}
	_, err := tx.Exec(ctx, deleteSlips, of, by)
	return db.Wrap("remove slips", err)
}

// sweepKind removes locks of numbers that no longer count.
func sweepKind(ctx context.Context, tx *db.Tx, kind string, now time.Time, limit int) (int64, error) {
	n, err := tx.Exec(ctx, sweepLocks, kind, now.Add(-numberMemory).UnixMilli(), now.UnixMilli(), limit)
	return n, db.Wrap("sweep locks", err)
}

// sweepNobody removes locks of ids that nobody has.
func sweepNobody(ctx context.Context, tx *db.Tx, now time.Time, limit int) (int64, error) {
	n, err := tx.Exec(ctx, sweepUnknown, now.Add(-unknownMemory).UnixMilli(), limit)
	return n, db.Wrap("sweep locks", err)
}

// named is a lock and whose it is.
type named struct {
	name string
	lock
}

// closedLocks lists the locks of a kind that are closed now, by name.
func (s *Service) closedLocks(ctx context.Context, q db.Querier, kind, after string, limit int) ([]named, error) {
	rows, err := q.Query(ctx, listLocks, kind, after, s.cfg.Now().UnixMilli(), limit)
	return db.Collect(rows, err, "list locks", func(l *named, row db.Row) error {
		return row.Scan(&l.name, &l.wrong, &l.until, &l.last)
	})
}
