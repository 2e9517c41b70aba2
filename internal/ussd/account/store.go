package account

import (
	"context"
	"fmt"
	"time"

	"github.com/hearth-dmrv/hearth/internal/db"
)

const columns = `id, ws, customer_id, name, email, phone, lang, did, household_did, district, size, pin, pin_key, pin_legacy, pin_until, status, twins, twins_asked, revision, created_at, updated_at`

const (
	insertAccount = `INSERT INTO ussd_accounts (` + columns + `)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, 1, $19, $19)
		ON CONFLICT (customer_id) DO NOTHING`
	selectByID       = `SELECT ` + columns + ` FROM ussd_accounts WHERE id = $1`
	selectByCustomer = `SELECT ` + columns + ` FROM ussd_accounts WHERE customer_id = $1`
	selectByDID      = `SELECT ` + columns + ` FROM ussd_accounts WHERE did = $1`
	countNumber      = `SELECT count(*) FROM (SELECT id FROM ussd_accounts WHERE phone = $1 AND status = 'active' LIMIT $2) AS held`
	countLiving      = `SELECT count(*) FROM (SELECT id FROM ussd_accounts WHERE household_did = $1 LIMIT 2) AS living`
	updatePIN        = `UPDATE ussd_accounts SET pin = $2, pin_key = $3, pin_legacy = '', pin_until = $4, revision = revision + 1, updated_at = $5 WHERE id = $1`
	updateLanguage   = `UPDATE ussd_accounts SET lang = $2, revision = revision + 1, updated_at = $3 WHERE id = $1`
	updateHousehold  = `UPDATE ussd_accounts SET district = $2, size = $3, household_did = $4, revision = revision + 1, updated_at = $5 WHERE id = $1 AND status = 'active'`
	askTwins         = `UPDATE ussd_accounts SET twins = 'pending', twins_asked = twins_asked + 1, updated_at = $2 WHERE id = $1 RETURNING twins_asked`
	// refreshTwins leaves twins that are ready in that state: they exist, and
	// stay usable until they are updated.
	refreshTwins = `UPDATE ussd_accounts SET twins = CASE WHEN twins = 'ready' THEN twins ELSE 'pending' END, twins_asked = twins_asked + 1, updated_at = $2
		WHERE id = $1 RETURNING twins_asked`
	endTwins     = `UPDATE ussd_accounts SET twins = $3, household_did = $4, updated_at = $5 WHERE id = $1 AND twins_asked = $2`
	closeAccount = `UPDATE ussd_accounts SET status = 'closed', pin = NULL, pin_key = '', pin_legacy = '', pin_until = 0, revision = revision + 1, updated_at = $2
		WHERE id = $1 AND status = 'active'`
	deleteAccount  = `DELETE FROM ussd_accounts WHERE id = $1`
	blankHousehold = `UPDATE ussd_accounts SET household_did = '', district = '', size = 0, twins = 'none', twins_asked = twins_asked + 1, revision = revision + 1 WHERE household_did = $1 AND ws = $2`
)

const (
	listAll      = `SELECT ` + columns + ` FROM ussd_accounts WHERE id > $1 ORDER BY id LIMIT $2`
	listByPhone  = `SELECT ` + columns + ` FROM ussd_accounts WHERE phone = $3 AND id > $1 ORDER BY id LIMIT $2`
	listByStatus = `SELECT ` + columns + ` FROM ussd_accounts WHERE status = $3 AND id > $1 ORDER BY id LIMIT $2`
	listByTwins  = `SELECT ` + columns + ` FROM ussd_accounts WHERE twins = $3 AND id > $1 ORDER BY id LIMIT $2`
	listLocks    = `SELECT name, wrong, closed_until, last_at FROM ussd_locks WHERE kind = $1 AND name > $2 AND closed_until > $3 ORDER BY name LIMIT $4`
)

func insert(ctx context.Context, tx *db.Tx, r *row) (bool, error) {
	n, err := tx.Exec(ctx, insertAccount, r.id, r.ws, r.customer, r.name, r.email, r.phone, r.lang, r.did, r.household, r.district, r.size,
		r.pin, r.pinKey, r.pinLegacy, r.pinUntil, string(r.status), string(r.twins), r.asked, r.created)
	return n == 1, db.Wrap("insert account", err)
}

// scan reads a row of columns.
func scan(from db.Row) (*row, error) {
	r := &row{}
	err := from.Scan(&r.id, &r.ws, &r.customer, &r.name, &r.email, &r.phone, &r.lang, &r.did, &r.household, &r.district, &r.size,
		&r.pin, &r.pinKey, &r.pinLegacy, &r.pinUntil, &r.status, &r.twins, &r.asked, &r.revision, &r.created, &r.updated)
	return db.Found(r, err, "find account")
}

// findByID reads an account, nil when there is none; so do the next two.
func findByID(ctx context.Context, q db.Querier, id string) (*row, error) {
	return scan(q.QueryRow(ctx, selectByID, id))
}

func findByCustomer(ctx context.Context, q db.Querier, customer string) (*row, error) {
	return scan(q.QueryRow(ctx, selectByCustomer, customer))
}

func findByDID(ctx context.Context, q db.Querier, did string) (*row, error) {
	return scan(q.QueryRow(ctx, selectByDID, did))
}

// held counts the open accounts of a number, at most limit.
func held(ctx context.Context, q db.Querier, phone string, limit int) (int, error) {
	var n int
	if err := q.QueryRow(ctx, countNumber, phone, limit).Scan(&n); err != nil {
		return 0, fmt.Errorf("count accounts: %w", err)
	}
	return n, nil
}

// living counts the accounts that name a household, at most 2.
func living(ctx context.Context, q db.Querier, household string) (int, error) {
	var n int
	err := q.QueryRow(ctx, countLiving, household).Scan(&n)
	return n, db.Wrap("count accounts of a household", err)
}

// sealed is a PIN as it is stored.
type sealed struct {
	pin   []byte
	key   string
	until int64 // of a temporary one, else 0
}

func setPIN(ctx context.Context, tx *db.Tx, id string, p sealed, now time.Time) error {
	_, err := tx.Exec(ctx, updatePIN, id, p.pin, p.key, p.until, now.UnixMilli())
	return db.Wrap("store PIN", err)
}

func setLanguage(ctx context.Context, tx *db.Tx, id, lang string, now time.Time) error {
	_, err := tx.Exec(ctx, updateLanguage, id, lang, now.UnixMilli())
	return db.Wrap("store language", err)
}

// setHousehold reports false for an account that is not open.
func setHousehold(ctx context.Context, tx *db.Tx, r *row, now time.Time) (bool, error) {
	n, err := tx.Exec(ctx, updateHousehold, r.id, r.district, r.size, r.household, now.UnixMilli())
	return n > 0, db.Wrap("store household", err)
}

// setPending notes that the twins were asked for once more, and gives the
// number of that.
func setPending(ctx context.Context, tx *db.Tx, id string, now time.Time) (asked int64, err error) {
	err = tx.QueryRow(ctx, askTwins, id, now.UnixMilli()).Scan(&asked)
	return asked, db.Wrap("ask for twins", err)
}

// setRefreshed is setPending for a change that nobody waits for.
func setRefreshed(ctx context.Context, tx *db.Tx, id string, now time.Time) (asked int64, err error) {
	err = tx.QueryRow(ctx, refreshTwins, id, now.UnixMilli()).Scan(&asked)
	return asked, db.Wrap("ask for twins", err)
}

// setTwins notes what came of asking for the twins, unless they were asked for
// again since.
func setTwins(ctx context.Context, tx *db.Tx, r *row, asked int64, now time.Time) error {
	_, err := tx.Exec(ctx, endTwins, r.id, asked, string(r.twins), r.household, now.UnixMilli())
	return db.Wrap("store twins", err)
}

func setClosed(ctx context.Context, tx *db.Tx, id string, now time.Time) (bool, error) {
	n, err := tx.Exec(ctx, closeAccount, id, now.UnixMilli())
	return n > 0, db.Wrap("close account", err)
}

func remove(ctx context.Context, tx *db.Tx, id string) error {
	_, err := tx.Exec(ctx, deleteAccount, id)
	return db.Wrap("remove account", err)
}

// forgetHousehold takes a household out of the accounts that name it.
func forgetHousehold(ctx context.Context, tx *db.Tx, ws, did string) (int64, error) {
	n, err := tx.Exec(ctx, blankHousehold, did, ws)
	return n, db.Wrap("forget household", err)
}

// list reads a page after an id.
func list(ctx context.Context, q db.Querier, f Filter, after string, limit int) ([]*row, error) {
	var rows db.Rows
	var err error
	switch {
	case f.Phone != "":
		rows, err = q.Query(ctx, listByPhone, after, limit, f.Phone)
	case f.Status != "":
		rows, err = q.Query(ctx, listByStatus, after, limit, string(f.Status))
	case f.Twins != "":
		rows, err = q.Query(ctx, listByTwins, after, limit, string(f.Twins))
	default:
		rows, err = q.Query(ctx, listAll, after, limit)
	}
	return db.Collect(rows, err, "list accounts", func(r **row, from db.Row) (err error) {
		*r, err = scan(from)
		return err
	})
}
