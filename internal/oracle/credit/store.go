package credit

import (
	"context"
	"database/sql"
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/hearth-dmrv/hearth/api"
	"github.com/hearth-dmrv/hearth/internal/db"
)

const (
	accountColumns = `did, status, balance, created_at, updated_at`
	heldOf         = `coalesce(sum(amount), 0) FROM credit_holds WHERE workspace = $1 AND did = $2 AND expires_at > $3`
	findText       = `SELECT ` + accountColumns + `, (SELECT ` + heldOf + `) FROM credit_accounts WHERE workspace = $1 AND did = $2`
	lockPostgres   = `SELECT ` + accountColumns + `, 0 FROM credit_accounts WHERE workspace = $1 AND did = $2 FOR UPDATE`
	heldPostgres   = `SELECT ` + heldOf
	listText       = `SELECT ` + accountColumns + `, 0 FROM credit_accounts WHERE workspace = $1 AND did > $2 ORDER BY did LIMIT $3`
	putText        = `INSERT INTO credit_accounts(workspace, did, status, balance, created_at, updated_at) VALUES ($1, $2, $3, 0, $4, $4)
		ON CONFLICT (workspace, did) DO UPDATE SET status = excluded.status, updated_at = excluded.updated_at`
	balanceText     = `UPDATE credit_accounts SET balance = $3, updated_at = $4 WHERE workspace = $1 AND did = $2`
	insertHoldText  = `INSERT INTO credit_holds(run, workspace, did, amount, expires_at) VALUES ($1, $2, $3, $4, $5)`
	removeHoldText  = `DELETE FROM credit_holds WHERE workspace = $1 AND did = $2 AND (run = $3 OR expires_at <= $4)`
	insertEntryText = `INSERT INTO credit_entries(nid, workspace, did, kind, amount, balance, ref, note, by_did, created_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
		ON CONFLICT (workspace, did, ref) DO NOTHING`
	entriesText = `SELECT nid, kind, amount, balance, ref, note, by_did, created_at FROM credit_entries WHERE workspace = $1 AND did = $2 AND nid < $3 ORDER BY nid DESC LIMIT $4`

	eraseAccountText = `DELETE FROM credit_accounts WHERE workspace = $1 AND did = $2`
	eraseHoldsText   = `DELETE FROM credit_holds WHERE workspace = $1 AND did = $2`
	eraseEntriesText = `DELETE FROM credit_entries WHERE workspace = $1 AND did = $2`
)

// The kinds of entries.
const (
	topUp  = "topUp"
	charge = "charge"
)

// errNone says that there is no account.
var errNone = errors.New("there is no account")

func scanAccount(a *api.CreditAccount, row db.Row) error {
	var created, updated int64
	err := row.Scan(&a.DID, &a.Status, &a.Balance, &created, &updated, &a.Held)
	a.CreatedAt, a.UpdatedAt = time.UnixMilli(created).UTC(), time.UnixMilli(updated).UTC()
	return err
}

// findAccount reads an account; the error is errNone without one.
func findAccount(ctx context.Context, q db.Querier, who holder, now int64) (a api.CreditAccount, err error) {
	err = found(scanAccount(&a, q.QueryRow(ctx, findText, who.workspace, who.did, now)))
	return a, err
}

// lockAccount is findAccount, and has everybody else who asks wait for the end of
// the transaction, as everybody does on SQLite. Holds are read when the lock is there:
// not as they were when it was asked for.
func lockAccount(ctx context.Context, tx *db.Tx, who holder, now int64) (a api.CreditAccount, err error) {
	if tx.Dialect() != db.Postgres {
		return findAccount(ctx, tx, who, now)
	}
	if err = found(scanAccount(&a, tx.QueryRow(ctx, lockPostgres, who.workspace, who.did))); err != nil {
		return a, err
	}
	err = tx.QueryRow(ctx, heldPostgres, who.workspace, who.did, now).Scan(&a.Held)
	return a, db.Wrap("read holds", err)
}

// found names the error of an account that was read.
func found(err error) error {
	if errors.Is(err, sql.ErrNoRows) {
		return errNone
	}
	return db.Wrap("read account", err)
}

func listAccounts(ctx context.Context, q db.Querier, workspace, after string, limit int) ([]api.CreditAccount, error) {
	rows, err := q.Query(ctx, listText, workspace, after, limit)
	return db.Collect(rows, err, "list accounts", scanAccount)
}

func putAccount(ctx context.Context, tx *db.Tx, who holder, status string, now int64) error {
	_, err := tx.Exec(ctx, putText, who.workspace, who.did, status, now)
	return db.Wrap("put account", err)
}

// hold is what is held back for a run.
type hold struct {
	run           string
	amount, until int64
}

func insertHold(ctx context.Context, tx *db.Tx, who holder, h hold) error {
	_, err := tx.Exec(ctx, insertHoldText, h.run, who.workspace, who.did, h.amount, h.until)
	return db.Wrap("hold credits", err)
}

// removeHold gives back what is held for a run, and what no run needs any more.
func removeHold(ctx context.Context, tx *db.Tx, who holder, run string, now int64) error {
	_, err := tx.Exec(ctx, removeHoldText, who.workspace, who.did, run, now)
	return db.Wrap("give credits back", err)
}

// entry is a change of an account. Of two with one ref the first counts.
type entry struct {
	kind          string
	amount        int64
	ref, note, by string
}

// enter changes an account that is locked, and gives the entry. Nothing changes
// when there is one of its ref.
func (p *Plugin) enter(ctx context.Context, tx *db.Tx, who holder, a api.CreditAccount, e entry) (api.CreditEntry, error) {
	now, nid, balance := p.now(), p.cfg.DB.NewNID(), a.Balance+e.amount
	n, err := tx.Exec(ctx, insertEntryText, nid, who.workspace, who.did, e.kind, e.amount, balance, e.ref, e.note, e.by, now)
	if err != nil || n == 0 {
		return api.CreditEntry{}, db.Wrap("enter into the ledger", err)
	}
	_, err = tx.Exec(ctx, balanceText, who.workspace, who.did, balance, now)
	return e.show(nid, balance, now), db.Wrap("change balance", err)
}

func (e entry) show(nid, balance, at int64) api.CreditEntry {
	out := api.CreditEntry{ID: strconv.FormatInt(nid, 10), Kind: e.kind, Amount: e.amount, Balance: balance, Note: e.note, By: e.by, CreatedAt: time.UnixMilli(at).UTC()}
	out.RunID, _ = strings.CutPrefix(e.ref, "run ")
	if e.kind != charge {
		out.RunID = ""
	}
	return out
}

// numbered is an entry and its place in the list.
type numbered struct {
	nid int64
	api.CreditEntry
}

func listEntries(ctx context.Context, q db.Querier, who holder, before int64, limit int) ([]numbered, error) {
	rows, err := q.Query(ctx, entriesText, who.workspace, who.did, before, limit)
	return db.Collect(rows, err, "list entries", func(out *numbered, row db.Row) error {
		var e entry
		var balance, at int64
		err := row.Scan(&out.nid, &e.kind, &e.amount, &balance, &e.ref, &e.note, &e.by, &at)
		out.CreditEntry = e.show(out.nid, balance, at)
		return err
	})
}

// Erase removes the account of a person of a workspace.
func Erase(ctx context.Context, tx *db.Tx, workspace, did string) error {
	_, err1 := tx.Exec(ctx, eraseHoldsText, workspace, did)
	_, err2 := tx.Exec(ctx, eraseEntriesText, workspace, did)
	_, err3 := tx.Exec(ctx, eraseAccountText, workspace, did)
	return db.Wrap("erase credits", errors.Join(err1, err2, err3))
}
