package credit

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hearth-dmrv/hearth/api"
	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/order"
)

const (
	accountColumns = `did, status, balance, holds, created_at, updated_at`
	findText       = `SELECT ` + accountColumns + ` FROM credit_accounts WHERE workspace = $1 AND did = $2`
	lockPostgres   = findText + ` FOR UPDATE`
	listText       = `SELECT ` + accountColumns + ` FROM credit_accounts WHERE workspace = $1 AND did > $2 ORDER BY did LIMIT $3`
	putText        = `INSERT INTO credit_accounts(workspace, did, status, balance, created_at, updated_at) VALUES ($1, $2, $3, 0, $4, $4)
		ON CONFLICT (workspace, did) DO UPDATE SET status = excluded.status, updated_at = excluded.updated_at`
	changeText = `UPDATE credit_accounts SET balance = $3, holds = $4, updated_at = $5 WHERE workspace = $1 AND did = $2`
	// Updates the account only if it is unchanged since it was read.
	swapText         = `UPDATE credit_accounts SET balance = $3, holds = $4, updated_at = $5 WHERE workspace = $1 AND did = $2 AND status = $6 AND balance = $7 AND holds = $8`
	insertEntryText  = `INSERT INTO credit_entries(nid, workspace, did, kind, amount, balance, ref, note, by_did, created_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)`
	insertChargeText = `INSERT INTO credit_charges(workspace, did, nid, run, amount, balance, created_at) VALUES ($1, $2, $3, $4, $5, $6, $7)`
	entriesText      = `SELECT nid, kind, amount, balance, ref, note, by_did, created_at FROM credit_entries WHERE workspace = $1 AND did = $2 AND nid < $3 ORDER BY nid DESC LIMIT $4`
	chargesText      = `SELECT nid, '` + charge + `', amount, balance, '` + ofRun + `' || run, '', '', created_at FROM credit_charges WHERE workspace = $1 AND did = $2 AND nid < $3 ORDER BY nid DESC LIMIT $4`
	// A charge of a run, among those since a number.
	chargedText = `SELECT EXISTS (SELECT 1 FROM credit_charges WHERE workspace = $1 AND did = $2 AND nid > $3 AND run = $4)
		OR EXISTS (SELECT 1 FROM credit_entries WHERE workspace = $1 AND did = $2 AND ref = '` + ofRun + `' || $4)`

	eraseAccountText = `DELETE FROM credit_accounts WHERE workspace = $1 AND did = $2`
	eraseHoldsText   = `DELETE FROM credit_holds WHERE workspace = $1 AND did = $2` // of programs before 0096
	eraseEntriesText = `DELETE FROM credit_entries WHERE workspace = $1 AND did = $2`
	eraseChargesText = `DELETE FROM credit_charges WHERE workspace = $1 AND did = $2`
)

// The kinds of entries.
const (
	topUp  = "topUp"
	charge = "charge"
)

// ofRun begins the ref of an entry that is of a run.
const ofRun = "run "

// Why an account is not changed.
var (
	errNone     = errors.New("there is no account")
	errCharged  = errors.New("the run was charged before")
	errUnlocked = errors.New("somebody may change the account meanwhile")
)

// account is an account with the amounts held back for answers in progress, by
// run.
type account struct {
	api.CreditAccount
	holds  holds
	text   string // the holds in their stored form
	locked bool   // nobody else changes it before the end of the transaction
}

// scanAccount reads an account at a time. Expired holds are left out, and the next
// change of the account removes them.
func scanAccount(now int64) func(*account, db.Row) error {
	return func(a *account, row db.Row) error {
		var created, updated int64
		if err := row.Scan(&a.DID, &a.Status, &a.Balance, &a.text, &created, &updated); err != nil {
			return err
		}
		a.CreatedAt, a.UpdatedAt = time.UnixMilli(created).UTC(), time.UnixMilli(updated).UTC()
		var err error
		a.holds, err = readHolds(a.text)
		a.end(now)
		return err
	}
}

// end leaves out holds that have ended at a time, and counts the others.
func (a *account) end(now int64) {
	a.holds = slices.DeleteFunc(a.holds, func(h hold) bool { return h.until <= now })
	a.Held = a.holds.held()
}

// findAccount reads an account; the error is errNone without one.
func findAccount(ctx context.Context, q db.Querier, who holder, now int64) (a account, err error) {
	err = found(scanAccount(now)(&a, q.QueryRow(ctx, findText, who.workspace, who.did)))
	return a, err
}

// lockAccount is findAccount, and has everybody else who asks wait for the end of
// the transaction, as everybody does on SQLite.
func lockAccount(ctx context.Context, tx *db.Tx, who holder, now int64) (a account, err error) {
	if tx.Dialect() == db.Postgres {
		err = found(scanAccount(now)(&a, tx.QueryRow(ctx, lockPostgres, who.workspace, who.did)))
	} else {
		a, err = findAccount(ctx, tx, who, now)
	}
	a.locked = true
	return a, err
}

// change stores the balance and the holds of an account that is locked.
func (a *account) change(ctx context.Context, tx *db.Tx, who holder, now int64) error {
	a.text = a.holds.text()
	_, err := tx.Exec(ctx, changeText, who.workspace, who.did, a.Balance, a.text, now)
	return db.Wrap("change account", err)
}

// swap is change for an account that was seen before, as was. It reports false, and
// has changed nothing, when the account is another by now.
func (a *account) swap(ctx context.Context, tx *db.Tx, who holder, was *account, now int64) (bool, error) {
	a.text = a.holds.text()
	n, err := tx.Exec(ctx, swapText, who.workspace, who.did, a.Balance, a.text, now, was.Status, was.Balance, was.text)
	return n > 0, db.Wrap("change account", err)
}

// found names the error of an account that was read.
func found(err error) error {
	if errors.Is(err, sql.ErrNoRows) {
		return errNone
	}
	return db.Wrap("read account", err)
}

// listAccounts gives the accounts of a workspace after that of a holder.
func listAccounts(ctx context.Context, q db.Querier, after holder, limit int, now int64) ([]api.CreditAccount, error) {
	rows, err := q.Query(ctx, listText, after.workspace, after.did, limit)
	return db.Collect(rows, err, "list accounts", func(out *api.CreditAccount, row db.Row) error {
		var a account
		err := scanAccount(now)(&a, row)
		*out = a.CreditAccount
		return err
	})
}

func putAccount(ctx context.Context, tx *db.Tx, who holder, status string, now int64) error {
	_, err := tx.Exec(ctx, putText, who.workspace, who.did, status, now)
	return db.Wrap("put account", err)
}

// entry is a change of an account.
type entry struct {
	kind          string
	amount        int64
	ref, note, by string
}

// enter makes the entry of a manual change of an account.
func (p *Plugin) enter(ctx context.Context, tx *db.Tx, who holder, balance int64, e entry) (api.CreditEntry, error) {
	now, nid := p.now(), p.cfg.DB.NewNID()
	_, err := tx.Exec(ctx, insertEntryText, nid, who.workspace, who.did, e.kind, e.amount, balance, e.ref, e.note, e.by, now)
	return e.show(nid, balance, now), db.Wrap("enter into the ledger", err)
}

// cost is the cost of a run, and the remaining balance.
type cost struct {
	run              string
	credits, balance int64
}

// enterCharge makes the entry for the cost of a run.
func (p *Plugin) enterCharge(ctx context.Context, tx *db.Tx, who holder, c cost) error {
	_, err := tx.Exec(ctx, insertChargeText, who.workspace, who.did, p.cfg.DB.NewNID(), c.run, -c.credits, c.balance, p.now())
	return db.Wrap("enter into the ledger", err)
}

// charged reports whether a run without a hold has been charged, looking no further back
// than the run can have begun.
func (p *Plugin) charged(ctx context.Context, tx *db.Tx, who holder, run string) (yes bool, err error) {
	since := db.NIDAt(p.cfg.Now().Add(-2 * (p.cfg.Longest + spare)))
	err = tx.QueryRow(ctx, chargedText, who.workspace, who.did, since, run).Scan(&yes)
	return yes, db.Wrap("look for a charge", err)
}

func (e entry) show(nid, balance, at int64) api.CreditEntry {
	out := api.CreditEntry{ID: strconv.FormatInt(nid, 10), Kind: e.kind, Amount: e.amount, Balance: balance, Note: e.note, By: e.by, CreatedAt: time.UnixMilli(at).UTC()}
	out.RunID, _ = strings.CutPrefix(e.ref, ofRun)
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

// listEntries gives the newest entries before a number. Charges of programs before 0110
// are among those by hand.
func listEntries(ctx context.Context, q db.Querier, who holder, before int64, limit int) ([]numbered, error) {
	rows, err := q.Query(ctx, entriesText, who.workspace, who.did, before, limit)
	byHand, err := db.Collect(rows, err, "list entries", scanEntry)
	if err != nil {
		return nil, err
	}
	rows, err = q.Query(ctx, chargesText, who.workspace, who.did, before, limit)
	charges, err := db.Collect(rows, err, "list charges", scanEntry)
	all := slices.Concat(byHand, charges)
	order.Sort(all, func(a, b numbered) int { return cmp.Compare(b.nid, a.nid) })
	return all[:min(limit, len(all))], err
}

func scanEntry(out *numbered, row db.Row) error {
	var e entry
	var balance, at int64
	err := row.Scan(&out.nid, &e.kind, &e.amount, &balance, &e.ref, &e.note, &e.by, &at)
	out.CreditEntry = e.show(out.nid, balance, at)
	return err
}

// Erase removes the account of a person of a workspace. A server without the plugin
// erases with nil.
func (p *Plugin) Erase(ctx context.Context, tx *db.Tx, workspace, did string) error {
	if p != nil {
		tx.AfterCommit(func() { p.seen.Drop(workspace) })
	}
	// The account goes first: it waits for a charge in progress, whose entry is then
	// removed too.
	_, err1 := tx.Exec(ctx, eraseAccountText, workspace, did)
	_, err2 := tx.Exec(ctx, eraseHoldsText, workspace, did)
	_, err3 := tx.Exec(ctx, eraseEntriesText, workspace, did)
	_, err4 := tx.Exec(ctx, eraseChargesText, workspace, did)
	return db.Wrap("erase credits", errors.Join(err1, err2, err3, err4))
}
