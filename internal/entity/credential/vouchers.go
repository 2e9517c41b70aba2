package credential

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/hearth-dmrv/hearth/internal/check"
	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/event"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/once"
	"github.com/hearth-dmrv/hearth/internal/privacy/vault"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// VouchersConfig configures Vouchers. Idem and Now have defaults.
type VouchersConfig struct {
	DB      *db.DB
	Events  *event.Log
	Idem    *once.Store
	Cursors web.Cursors
	Now     func() time.Time
	// Certificate returns the project of a valid credential that the caller of ctx may
	// see; the fault says why it is not valid.
	Certificate func(ctx context.Context, q db.Querier, did string) (project string, err error)
	// Stands returns why a credential of a workspace is no longer valid.
	Stands func(ctx context.Context, q db.Querier, ws, did string) error
	// Controls reports whether the caller of ctx is a DID or controls its twin.
	Controls func(ctx context.Context, q db.Querier, did string) (bool, error)
}

// Vouchers is the use cases of vouchers.
type Vouchers struct {
	cfg VouchersConfig
	db  *db.DB
}

// NewVouchers makes Vouchers over a migrated store.
func NewVouchers(cfg VouchersConfig) *Vouchers {
	if cfg.Idem == nil {
		cfg.Idem = once.Plain(cfg.DB)
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	return &Vouchers{cfg: cfg, db: cfg.DB}
}

// Issue stores a new voucher. Faults: VOUCHER_INVALID, HOUSEHOLD_ERASED and those
// of Config.Certificate.
func (s *Vouchers) Issue(ctx context.Context, d VoucherDraft) (web.Reply[*Voucher], error) {
	var none web.Reply[*Voucher]
	now := s.cfg.Now()
	var wrong fault.Checks
	value := checkVoucher(&wrong, &d, now)
	if err := wrong.Err(invalidVoucher, invalidVoucherText); err != nil {
		return once.Refuse[*Voucher](ctx, s.cfg.Idem, err)
	}
	c := web.CallerFrom(ctx)
	r := &voucherRow{nid: s.db.NewNID(), value: value, balance: value, expires: d.ExpiresAt.UnixMilli(), created: now.UnixMilli()}
	r.v = Voucher{
		ID: newVoucherID("vch_"), RecipientDID: d.RecipientDID, EmissionCertificateID: d.EmissionCertificateID, Currency: d.Currency, SupplierDID: d.SupplierDID, Status: voucherActive,
		ExpiresAt: time.UnixMilli(r.expires).UTC(), IssuedAt: time.UnixMilli(r.created).UTC(), IssuedBy: c.DID, Attributes: d.Attributes,
	}
	if len(d.Attributes) > 0 {
		text, err := json.Marshal(d.Attributes, json.Deterministic(true))
		if err != nil {
			return none, fmt.Errorf("render attributes: %w", err)
		}
		r.attributes = string(text)
	}
	return once.Do(ctx, s.cfg.Idem, func(tx *db.Tx) (web.Reply[*Voucher], error) {
		if err := vault.HoldErasures(ctx, tx, s.db.Dialect(), c.Workspace, d.RecipientDID); err != nil {
			return none, err
		}
		if err := vault.CheckErased(ctx, tx, c.Workspace, d.RecipientDID, "/recipientDid"); err != nil {
			return none, err
		}
		var err error
		if r.v.ProjectID, err = s.cfg.Certificate(ctx, tx, d.EmissionCertificateID); err != nil {
			return none, err
		}
		if err := r.insert(ctx, tx, c.Workspace); err != nil {
			return none, err
		}
		var total int64
		if err := tx.QueryRow(ctx, addVoucherTotal, c.Workspace, d.EmissionCertificateID, d.Currency, value).Scan(&total); err != nil {
			return none, db.Wrap("add to the total", err)
		}
		shown := s.shown(ctx, r)
		shown.CertificateTotal = voucherAmount(total)
		return web.Reply[*Voucher]{Value: shown, Status: http.StatusCreated, Location: "/v1/vouchers/" + url.PathEscape(shown.ID)}, s.announce(ctx, tx, "voucher.issued", &r.v)
	})
}

// Redeem pays a supplier an amount from a voucher. Faults: REDEMPTION_INVALID,
// VOUCHER_NOT_FOUND, NOT_SUPPLIER, SUPPLIER_MISMATCH, VOUCHER_EXPIRED,
// VOUCHER_CANCELLED, BALANCE_TOO_LOW and those of Config.Stands.
func (s *Vouchers) Redeem(ctx context.Context, d RedemptionDraft) (web.Reply[*Redemption], error) {
	var wrong fault.Checks
	taken := cents(&wrong, "/amount", d.Amount)
	wrong.Require(d.VoucherID != "", "/voucherId")
	check.DID(&wrong, "/supplierDid", d.SupplierDID)
	check.Optional(&wrong, "/productId", d.ProductID, maxProduct)
	if err := wrong.Err("REDEMPTION_INVALID", "The redemption is not valid."); err != nil {
		return once.Refuse[*Redemption](ctx, s.cfg.Idem, err)
	}
	return once.Do(ctx, s.cfg.Idem, func(tx *db.Tx) (none web.Reply[*Redemption], err error) {
		mine, err := s.cfg.Controls(ctx, tx, d.SupplierDID)
		if err == nil && !mine {
			err = fault.New(fault.Forbidden, "NOT_SUPPLIER", "You are not this supplier and do not control its twin.").
				With(fault.Field{Pointer: "/supplierDid", Code: "not_controlled", Detail: "Name yourself or a twin that you control."})
		}
		if err != nil {
			return none, err
		}
		v, err := findVoucher(ctx, tx, web.CallerFrom(ctx).Workspace, d.VoucherID)
		if err != nil {
			return none, err
		}
		if !sees(web.CallerFrom(ctx), v.v.ProjectID) {
			return none, noVoucher()
		}
		p := &paidFrom{nid: s.db.NewNID(), r: Redemption{ID: newVoucherID("red_"), SupplierDID: d.SupplierDID, ProductID: d.ProductID, Mode: "api", By: web.CallerFrom(ctx).DID}}
		if err := s.take(ctx, tx, v, p, taken); err != nil {
			return none, err
		}
		return web.Reply[*Redemption]{Value: &p.r, Status: http.StatusCreated}, nil
	})
}

// take takes an amount from a voucher and stores for whom. Nothing else changes a
// balance.
func (s *Vouchers) take(ctx context.Context, tx *db.Tx, v *voucherRow, p *paidFrom, taken int64) error {
	if v.v.SupplierDID != "" && v.v.SupplierDID != p.r.SupplierDID {
		return fault.New(fault.Conflict, "SUPPLIER_MISMATCH", "The voucher is for another supplier.").
			With(fault.Field{Pointer: "/supplierDid", Code: "mismatch", Detail: "Its member supplierDid names the only one."})
	}
	own, err := s.cfg.Controls(ctx, tx, v.v.RecipientDID)
	if err == nil && p.r.Mode == byUSSD { // there the recipient asks
		own, err = s.cfg.Controls(ctx, tx, p.r.SupplierDID)
	}
	if err != nil {
		return err
	}
	if own || v.v.RecipientDID == p.r.SupplierDID {
		return fault.New(fault.Conflict, "SUPPLIER_MISMATCH", "Recipients cannot redeem their own vouchers.").
			With(fault.Field{Pointer: "/supplierDid", Code: "recipient", Detail: "The recipient and the supplier have the same controller."})
	}
	if err := s.cfg.Stands(ctx, tx, web.CallerFrom(ctx).Workspace, v.v.EmissionCertificateID); err != nil {
		return err
	}
	ws, now := web.CallerFrom(ctx).Workspace, s.cfg.Now().UnixMilli()
	n, err := tx.Exec(ctx, takeFromVoucher, v.nid, ws, taken, now)
	if err != nil {
		return fmt.Errorf("take from voucher: %w", err)
	}
	after, err := findVoucher(ctx, tx, ws, v.v.ID)
	if err != nil {
		return err
	}
	if n == 0 {
		return refuseVoucher(s.statusOf(after), after)
	}
	p.r.VoucherID, p.r.Amount, p.r.Balance, p.r.At = v.v.ID, voucherAmount(taken), voucherAmount(after.balance), time.UnixMilli(now).UTC()
	_, err = tx.Exec(ctx, insertRedemption, p.nid, ws, p.r.ID, v.nid, p.r.SupplierDID, taken, after.balance, p.r.ProductID, p.r.Mode, now, p.r.By)
	if err != nil {
		return fmt.Errorf("store redemption: %w", err)
	}
	return s.announce(ctx, tx, "voucher.redeemed", &v.v)
}

// refuseVoucher says why nothing was taken.
func refuseVoucher(status string, v *voucherRow) error {
	switch status {
	case voucherExpired:
		return fault.New(fault.Conflict, "VOUCHER_EXPIRED", "The voucher expired on "+v.v.ExpiresAt.Format(time.DateOnly)+".")
	case voucherCancelled, voucherErased:
		return fault.New(fault.Conflict, "VOUCHER_CANCELLED", "The voucher was cancelled.")
	}
	return fault.New(fault.Conflict, "BALANCE_TOO_LOW", fmt.Sprintf("The balance of the voucher is %.2f.", voucherAmount(v.balance))).
		With(fault.Field{Pointer: "/amount", Code: "too_much", Detail: "Redeem at most the balance."})
}

// Cancel ends a voucher; redemptions stay. Faults: VOUCHER_NOT_FOUND,
// VOUCHER_INVALID, VOUCHER_CANCELLED.
func (s *Vouchers) Cancel(ctx context.Context, id, reason string) (*Voucher, error) {
	var wrong fault.Checks
	check.Reason(&wrong, "/reason", reason, true)
	if err := wrong.Err(invalidVoucher, "A cancellation needs a reason."); err != nil {
		return nil, err
	}
	var out *Voucher
	err := s.db.InTx(ctx, func(tx *db.Tx) error {
		r, err := s.find(ctx, tx, id)
		if err != nil {
			return err
		}
		n, err := tx.Exec(ctx, cancelVoucher, r.nid, web.CallerFrom(ctx).Workspace, reason)
		if err == nil && n == 0 {
			err = refuseVoucher(voucherCancelled, r)
		}
		if err != nil {
			return err
		}
		r.v.Status, r.v.Reason = voucherCancelled, reason
		out = s.shown(ctx, r)
		return s.announce(ctx, tx, "voucher.cancelled", &r.v)
	})
	return out, err
}

// find reads a voucher that the caller may see.
func (s *Vouchers) find(ctx context.Context, q db.Querier, id string) (*voucherRow, error) {
	c := web.CallerFrom(ctx)
	r, err := findVoucher(ctx, q, c.Workspace, id)
	if err == nil && !sees(c, r.v.ProjectID) {
		err = noVoucher()
	}
	return r, err
}

// Get reads a voucher. The fault is VOUCHER_NOT_FOUND.
func (s *Vouchers) Get(ctx context.Context, id string) (*Voucher, error) {
	r, err := s.find(ctx, s.db, id)
	if err != nil {
		return nil, err
	}
	return s.shown(ctx, r), nil
}

// List reads vouchers that match a filter, newest first, from before on; 0 is
// the newest. It looks at a limited number, so a page may be short.
func (s *Vouchers) List(ctx context.Context, f VoucherFilter, before int64, limit int) (items []*Voucher, next int64, err error) {
	c := web.CallerFrom(ctx)
	if f.Project == "" && len(c.Projects) == 1 {
		f.Project = c.Projects[0]
	}
	if before == 0 {
		before = math.MaxInt64
	}
	found, err := f.list(ctx, s.db, c.Workspace, before)
	if err != nil {
		return nil, 0, err
	}
	for _, r := range found {
		if len(items) == limit {
			return items, before, nil
		}
		before = r.nid
		if sees(c, r.v.ProjectID) && (f.Project == "" || f.Project == r.v.ProjectID) {
			items = append(items, s.shown(ctx, r))
		}
	}
	if len(found) < maxExamined {
		before = 0
	}
	return items, before, nil
}

// Redemptions reads the redemptions of a voucher, newest first. The fault is
// VOUCHER_NOT_FOUND.
func (s *Vouchers) Redemptions(ctx context.Context, id string, before int64, limit int) (items []*Redemption, next int64, err error) {
	r, err := s.find(ctx, s.db, id)
	if err != nil {
		return nil, 0, err
	}
	if before == 0 {
		before = math.MaxInt64
	}
	rows, err := s.db.Query(ctx, listRedemptions, r.nid, before, limit+1)
	found, err := db.Collect(rows, err, "list redemptions", (*paidFrom).scan)
	if err != nil {
		return nil, 0, err
	}
	if len(found) > limit {
		found = found[:limit]
		next = found[limit-1].nid
	}
	for _, p := range found {
		p.r.VoucherID = id
		items = append(items, &p.r)
	}
	return items, next, nil
}

// Held returns the vouchers of a recipient that can be redeemed over USSD,
// newest first: they name their supplier.
func (s *Vouchers) Held(ctx context.Context, ws, recipient string) (out []*Voucher, err error) {
	found, err := VoucherFilter{Recipient: recipient}.list(ctx, s.db, ws, math.MaxInt64)
	for _, r := range found {
		if s.statusOf(r) == voucherActive && r.v.SupplierDID != "" {
			out = append(out, s.shown(ctx, r))
		}
	}
	return out, err
}

// Pay redeems an amount of a voucher at its supplier on the request of its
// recipient. Repeating a key takes nothing more and returns the first result.
func (s *Vouchers) Pay(ctx context.Context, recipient, key string, d RedemptionDraft) (*Redemption, error) {
	var wrong fault.Checks
	taken := cents(&wrong, "/amount", d.Amount)
	if err := wrong.Err("REDEMPTION_INVALID", "The redemption is not valid."); err != nil {
		return nil, err
	}
	ws := web.CallerFrom(ctx).Workspace
	var out *Redemption
	err := s.db.InTx(ctx, func(tx *db.Tx) error {
		v, err := findVoucher(ctx, tx, ws, d.VoucherID)
		if err == nil && (v.v.RecipientDID != recipient || v.v.SupplierDID == "") {
			err = noVoucher()
		}
		if err != nil {
			return err
		}
		p := &paidFrom{nid: s.db.NewNID(), r: Redemption{ID: "red_" + key, SupplierDID: v.v.SupplierDID, ProductID: d.ProductID, Mode: byUSSD, By: recipient}}
		before := &paidFrom{}
		if err := before.scan(tx.QueryRow(ctx, selectRedemption, ws, p.r.ID)); !errors.Is(err, sql.ErrNoRows) {
			before.r.VoucherID, out = v.v.ID, &before.r
			return db.Wrap("find redemption", err)
		}
		out = &p.r
		return s.take(ctx, tx, v, p, taken)
	})
	return out, err
}

// Erase ends the vouchers of an erased person and removes the text in them.
// Amounts stay, because suppliers were paid.
func (s *Vouchers) Erase(ctx context.Context, tx *db.Tx, ws, id string) (int64, error) {
	n, err := tx.Exec(ctx, eraseVouchers, ws, id)
	return n, db.Wrap("erase vouchers", err)
}

// announce appends an event that names a voucher by its credential: readers of
// events must not learn its id, which is all that a supplier needs.
func (s *Vouchers) announce(ctx context.Context, tx *db.Tx, kind string, v *Voucher) error {
	return s.cfg.Events.Append(ctx, tx, event.Event{Workspace: web.CallerFrom(ctx).Workspace, Type: kind, Subject: v.EmissionCertificateID})
}

// statusOf is the state of a voucher at this moment.
func (s *Vouchers) statusOf(r *voucherRow) string {
	switch {
	case r.v.Status != voucherActive:
		return r.v.Status
	case r.balance == 0:
		return voucherSpent
	case r.expires <= s.cfg.Now().UnixMilli():
		return voucherExpired
	}
	return voucherActive
}

// shown is a voucher as the caller of ctx sees it.
func (s *Vouchers) shown(ctx context.Context, r *voucherRow) *Voucher {
	v := r.v
	v.Value, v.Balance, v.Status = voucherAmount(r.value), voucherAmount(r.balance), s.statusOf(r)
	if !web.CallerFrom(ctx).May(string(writeVouchers)) {
		v.Attributes = nil
	}
	return &v
}
