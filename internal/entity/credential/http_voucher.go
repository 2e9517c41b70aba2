package credential

import (
	"context"
	"net/http"
	"time"

	"github.com/hearth-dmrv/hearth/internal/check"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/web"
)

const (
	voucherTag                            = "vouchers"
	readVouchers, writeVouchers web.Scope = "vouchers:read", "vouchers:write"
	voucherPath                           = "/v1/vouchers/{voucherId}"
)

// Routes adds vouchers to the API.
func (s *Vouchers) Routes(a *web.API) {
	web.Post(a, "/v1/vouchers/issue", s.serveIssue, web.Doc{
		Summary: "Issue a voucher", Status: http.StatusCreated, Scope: writeVouchers, Tag: voucherTag, Once: true,
		Description: "It is paid from a valid credential and belongs to the project of that credential. Its id is a secret of 128 bits: give it to the recipient.",
		Example: VoucherDraft{
			RecipientDID: "did:ixo:household/123", EmissionCertificateID: "did:ixo:entity:abc123", Value: 250.5, Currency: "ZMW",
			ExpiresAt: time.Date(2027, 6, 30, 0, 0, 0, 0, time.UTC), Attributes: map[string]any{"programme": "pellets"},
		},
		Codes: []string{invalidVoucher, "CERTIFICATE_NOT_FOUND", "CERTIFICATE_REVOKED", "HOUSEHOLD_ERASED"},
	})
	web.Post(a, "/v1/vouchers/redeem", s.serveRedeem, web.Doc{
		Summary: "Redeem a voucher, or a part of it", Status: http.StatusCreated, Scope: "vouchers:redeem", Tag: voucherTag, Once: true,
		Description: "You must be the supplier or control its twin, and must not control the recipient's. The credential must still be valid. Only the supplier that a voucher names can redeem it. The balance never goes below zero, however many redeem at once; send an Idempotency-Key so that a repeated request takes nothing more.",
		Example:     RedemptionDraft{VoucherID: "vch_mzxw6ytboi2dgnbvgy3tqojqge", SupplierDID: "did:ixo:entity:shop123", Amount: 100, ProductID: "pellets-20kg"},
		Codes:       []string{"REDEMPTION_INVALID", "VOUCHER_NOT_FOUND", "NOT_SUPPLIER", "SUPPLIER_MISMATCH", "VOUCHER_EXPIRED", "VOUCHER_CANCELLED", "BALANCE_TOO_LOW", "CERTIFICATE_REVOKED"},
	})
	web.Get(a, "/v1/vouchers", s.serveList, web.Doc{
		Summary: "List vouchers, newest first", Scope: readVouchers, Tag: voucherTag, Codes: []string{"INVALID_PARAMETER"}, Description: "A page may be short: follow hasMore.",
	})
	web.Get(a, voucherPath, s.serveGet, web.Doc{Summary: "Read a voucher", Scope: readVouchers, Tag: voucherTag, Codes: []string{"VOUCHER_NOT_FOUND"}})
	web.Get(a, voucherPath+"/redemptions", s.serveRedemptions, web.Doc{Summary: "List the redemptions of a voucher, newest first", Scope: readVouchers, Tag: voucherTag, Codes: []string{"VOUCHER_NOT_FOUND"}})
	web.Post(a, voucherPath+"/cancel", s.serveCancel, web.Doc{
		Summary: "Cancel a voucher", Scope: writeVouchers, Tag: voucherTag, Example: cancelling{Reason: "Issued twice."}, Codes: []string{invalidVoucher, "VOUCHER_NOT_FOUND", "VOUCHER_CANCELLED"},
		Description: "What is left of it can no longer be redeemed; what was redeemed stays. It cannot be undone.",
	})
}

// ofVoucher names a voucher.
type ofVoucher struct {
	ID string `path:"voucherId" doc:"Id of the voucher." example:"vch_mzxw6ytboi2dgnbvgy3tqojqge"`
}

// cancelling says why a voucher ends.
type cancelling struct {
	Reason string `json:"reason" doc:"1 to 500 characters." example:"Issued twice."`
}

// SchemaName keeps the name that clients know.
func (cancelling) SchemaName() string { return "VoucherCancelling" }

func (s *Vouchers) serveIssue(ctx context.Context, in *struct{ Body VoucherDraft }) (web.Reply[*Voucher], error) {
	return s.Issue(ctx, in.Body)
}

func (s *Vouchers) serveRedeem(ctx context.Context, in *struct{ Body RedemptionDraft }) (web.Reply[*Redemption], error) {
	return s.Redeem(ctx, in.Body)
}

func (s *Vouchers) serveGet(ctx context.Context, in *ofVoucher) (*Voucher, error) {
	return s.Get(ctx, in.ID)
}

func (s *Vouchers) serveCancel(ctx context.Context, in *struct {
	ofVoucher
	Body cancelling
},
) (*Voucher, error) {
	return s.Cancel(ctx, in.ID, in.Body.Reason)
}

func (s *Vouchers) serveList(ctx context.Context, in *struct {
	Recipient string `query:"recipientDid" doc:"Only vouchers for this DID."`
	Project   string `query:"projectId" doc:"Only vouchers of this project."`
	web.Paging
},
) (web.Reply[web.Page[*Voucher]], error) {
	var c fault.Checks
	for name, value := range map[string]string{"query/recipientDid": in.Recipient, "query/projectId": in.Project} {
		if value != "" {
			check.DID(&c, name, value)
		}
	}
	if err := c.Err("INVALID_PARAMETER", "A parameter is not valid."); err != nil {
		return web.Reply[web.Page[*Voucher]]{}, err
	}
	var at place
	return web.List(ctx, s.cfg.Cursors, in.Paging, &at, func(limit int) ([]*Voucher, place, error) {
		items, next, err := s.List(ctx, VoucherFilter{in.Recipient, in.Project}, at.Before, limit)
		return items, place{next}, err
	})
}

func (s *Vouchers) serveRedemptions(ctx context.Context, in *struct {
	ofVoucher
	web.Paging
},
) (web.Reply[web.Page[*Redemption]], error) {
	var at place
	return web.List(ctx, s.cfg.Cursors, in.Paging, &at, func(limit int) ([]*Redemption, place, error) {
		items, next, err := s.Redemptions(ctx, in.ID, at.Before, limit)
		return items, place{next}, err
	})
}
