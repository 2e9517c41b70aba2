package credential

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/fault"
)

const (
	insertVoucher = `INSERT INTO vouchers (nid, ws, voucher_id, project, recipient, certificate, supplier, value, balance, currency, state, expires_at, created_at, actor, reason, attributes)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $8, $9, $10, $11, $12, $13, '', $14)`
	selectVoucher = `SELECT nid, voucher_id, project, recipient, certificate, supplier, value, balance, currency, state, expires_at, created_at, actor, reason, attributes
		FROM vouchers WHERE ws = $1 AND voucher_id = $2`
	listVouchers = `SELECT nid, voucher_id, project, recipient, certificate, supplier, value, balance, currency, state, expires_at, created_at, actor, reason, attributes
		FROM vouchers WHERE ws = $1 AND nid < $2 ORDER BY nid DESC LIMIT $3`
	listVouchersOfRecipient = `SELECT nid, voucher_id, project, recipient, certificate, supplier, value, balance, currency, state, expires_at, created_at, actor, reason, attributes
		FROM vouchers WHERE ws = $1 AND recipient = $2 AND nid < $3 ORDER BY nid DESC LIMIT $4`
	listVouchersOfProject = `SELECT nid, voucher_id, project, recipient, certificate, supplier, value, balance, currency, state, expires_at, created_at, actor, reason, attributes
		FROM vouchers WHERE ws = $1 AND project = $2 AND nid < $3 ORDER BY nid DESC LIMIT $4`
	takeFromVoucher = `UPDATE vouchers SET balance = balance - $3 WHERE nid = $1 AND ws = $2 AND state = 'active' AND expires_at > $4 AND balance >= $3`
	cancelVoucher   = `UPDATE vouchers SET state = 'cancelled', reason = $3 WHERE nid = $1 AND ws = $2 AND state = 'active'`

	addVoucherTotal = `INSERT INTO voucher_totals (ws, certificate, currency, value) VALUES ($1, $2, $3, $4)
		ON CONFLICT (ws, certificate, currency) DO UPDATE SET value = voucher_totals.value + excluded.value RETURNING value`

	insertRedemption = `INSERT INTO voucher_redemptions (nid, ws, redemption_id, voucher, supplier, amount, balance, product, mode, at, actor)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)`
	selectRedemption = `SELECT nid, redemption_id, supplier, amount, balance, product, mode, at, actor FROM voucher_redemptions WHERE ws = $1 AND redemption_id = $2`
	listRedemptions  = `SELECT nid, redemption_id, supplier, amount, balance, product, mode, at, actor FROM voucher_redemptions WHERE voucher = $1 AND nid < $2 ORDER BY nid DESC LIMIT $3`

	eraseVouchers = `UPDATE vouchers SET state = 'erased', reason = '', attributes = '' WHERE ws = $1 AND recipient = $2 AND state <> 'erased'`
)

// voucherRow is a stored voucher.
type voucherRow struct {
	nid              int64
	v                Voucher
	value, balance   int64
	expires, created int64
	attributes       string
}

func (r *voucherRow) scan(from db.Row) error {
	err := from.Scan(&r.nid, &r.v.ID, &r.v.ProjectID, &r.v.RecipientDID, &r.v.EmissionCertificateID, &r.v.SupplierDID, &r.value, &r.balance, &r.v.Currency, &r.v.Status,
		&r.expires, &r.created, &r.v.IssuedBy, &r.v.Reason, &r.attributes)
	if err != nil {
		return err
	}
	r.v.ExpiresAt, r.v.IssuedAt = time.UnixMilli(r.expires).UTC(), time.UnixMilli(r.created).UTC()
	if r.attributes != "" {
		err = json.Unmarshal([]byte(r.attributes), &r.v.Attributes)
	}
	return err
}

func (r *voucherRow) insert(ctx context.Context, tx *db.Tx, ws string) error {
	_, err := tx.Exec(ctx, insertVoucher, r.nid, ws, r.v.ID, r.v.ProjectID, r.v.RecipientDID, r.v.EmissionCertificateID, r.v.SupplierDID, r.value, r.v.Currency, voucherActive,
		r.expires, r.created, r.v.IssuedBy, r.attributes)
	return db.Wrap("store voucher", err)
}

// findVoucher reads a voucher of a workspace. The fault is VOUCHER_NOT_FOUND.
func findVoucher(ctx context.Context, q db.Querier, ws, id string) (*voucherRow, error) {
	r := &voucherRow{}
	err := r.scan(q.QueryRow(ctx, selectVoucher, ws, id))
	if errors.Is(err, sql.ErrNoRows) {
		return nil, noVoucher()
	}
	return r, db.Wrap("find voucher", err)
}

func noVoucher() error {
	return fault.New(fault.NotFound, "VOUCHER_NOT_FOUND", "There is no such voucher. GET /v1/vouchers lists those you may see.")
}

// VoucherFilter narrows a list of vouchers; empty members are ignored.
type VoucherFilter struct{ Recipient, Project string }

// maxExamined is how many vouchers one page looks at.
const maxExamined = 500

// list reads vouchers older than one that fit the first part of a filter.
func (f VoucherFilter) list(ctx context.Context, q db.Querier, ws string, before int64) ([]*voucherRow, error) {
	var rows db.Rows
	var err error
	switch {
	case f.Recipient != "":
		rows, err = q.Query(ctx, listVouchersOfRecipient, ws, f.Recipient, before, maxExamined)
	case f.Project != "":
		rows, err = q.Query(ctx, listVouchersOfProject, ws, f.Project, before, maxExamined)
	default:
		rows, err = q.Query(ctx, listVouchers, ws, before, maxExamined)
	}
	return db.Collect(rows, err, "list vouchers", func(r **voucherRow, from db.Row) error {
		*r = &voucherRow{}
		return (*r).scan(from)
	})
}

// paidFrom is a stored redemption.
type paidFrom struct {
	nid int64
	r   Redemption
}

func (p *paidFrom) scan(from db.Row) error {
	var taken, left, at int64
	err := from.Scan(&p.nid, &p.r.ID, &p.r.SupplierDID, &taken, &left, &p.r.ProductID, &p.r.Mode, &at, &p.r.By)
	p.r.Amount, p.r.Balance, p.r.At = voucherAmount(taken), voucherAmount(left), time.UnixMilli(at).UTC()
	return err
}
