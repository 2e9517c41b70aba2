package client

import (
	"context"
	"iter"
	"net/url"

	"github.com/hearth-dmrv/hearth/api"
)

// Vouchers calls the routes of vouchers.
type Vouchers struct{ c *Client }

// Types of package api.
type (
	VoucherDraft    = api.VoucherDraft
	Voucher         = api.Voucher
	RedemptionDraft = api.RedemptionDraft
	Redemption      = api.Redemption
)

const vouchersPath = "/v1/vouchers"

func voucherPath(id string) string { return vouchersPath + "/" + url.PathEscape(id) }

// Issue stores a new voucher. Codes: VOUCHER_INVALID, CERTIFICATE_NOT_FOUND,
// CERTIFICATE_REVOKED, HOUSEHOLD_ERASED.
func (v Vouchers) Issue(ctx context.Context, d VoucherDraft, opts ...Option) (*Voucher, error) {
	return do[Voucher](ctx, v.c, post(vouchersPath+"/issue", d), opts)
}

// Redeem pays a supplier an amount from a voucher. Codes: REDEMPTION_INVALID,
// VOUCHER_NOT_FOUND, NOT_SUPPLIER, SUPPLIER_MISMATCH, VOUCHER_EXPIRED,
// VOUCHER_CANCELLED, BALANCE_TOO_LOW, CERTIFICATE_REVOKED.
func (v Vouchers) Redeem(ctx context.Context, d RedemptionDraft, opts ...Option) (*Redemption, error) {
	return do[Redemption](ctx, v.c, post(vouchersPath+"/redeem", d), opts)
}

// Get reads a voucher. Code: VOUCHER_NOT_FOUND.
func (v Vouchers) Get(ctx context.Context, id string, opts ...Option) (*Voucher, error) {
	return do[Voucher](ctx, v.c, get(voucherPath(id), nil), opts)
}

// VoucherQuery narrows a list of vouchers; empty members are ignored.
type VoucherQuery struct{ RecipientDID, ProjectID string }

// List walks over vouchers, newest first.
func (v Vouchers) List(ctx context.Context, q VoucherQuery, opts ...Option) iter.Seq2[Voucher, error] {
	values := url.Values{}
	set(values, "recipientDid", q.RecipientDID)
	set(values, "projectId", q.ProjectID)
	return pages[Voucher](ctx, v.c, vouchersPath, values, opts)
}

// Redemptions walks over what was taken from a voucher, newest first. Code:
// VOUCHER_NOT_FOUND.
func (v Vouchers) Redemptions(ctx context.Context, id string, opts ...Option) iter.Seq2[Redemption, error] {
	return pages[Redemption](ctx, v.c, voucherPath(id)+"/redemptions", nil, opts)
}

// Cancel ends a voucher. Codes: VOUCHER_INVALID, VOUCHER_NOT_FOUND,
// VOUCHER_CANCELLED.
func (v Vouchers) Cancel(ctx context.Context, id, reason string, opts ...Option) (*Voucher, error) {
	return do[Voucher](ctx, v.c, post(voucherPath(id)+"/cancel", map[string]string{"reason": reason}), opts)
}
