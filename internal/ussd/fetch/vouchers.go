package fetch

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"

	"github.com/hearth-dmrv/hearth/api"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/ussd/machine"
	"github.com/hearth-dmrv/hearth/internal/ussd/menu"
)

// The actions of vouchers.
const (
	actVouchers = "myVouchers"
	actRedeem   = "redeemVoucher"
)

// Arguments of the actions, the variable they set, and their results.
const (
	argVoucher = "voucherId"
	argAmount  = "amount"
	argProduct = "product"
	varBalance = "voucherBalance"
	resLow     = "low"
	resOver    = "over"
)

// Vouchers are the vouchers of the caller who is logged in.
type Vouchers interface {
	// Held lists those that can be redeemed.
	Held(ctx context.Context, did string) ([]*api.Voucher, error)
	// Pay redeems an amount of one at its supplier. Repeating a key takes nothing
	// more.
	Pay(ctx context.Context, did, key string, d api.RedemptionDraft) (*api.Redemption, error)
}

func (f *fetcher) voucherActions() map[string]machine.Action {
	return map[string]machine.Action{
		actVouchers: {
			About: "gives the redeemable vouchers of the customer who is logged in, at most " + fmt.Sprint(menu.MaxRows) + ", as `/vouchers` of its answer, each with `/voucherId`, `/balance`, `/currency`, " +
				"`/supplierDid` and `/expiresAt`. `missing`: nobody is logged in; `empty` may be left out, then it goes where `ok` goes",
			Answers: true, Effect: true, Outside: f.vouchers, Results: []string{resOK, menu.Empty, menu.Failed, resNobody},
		},
		actRedeem: {
			About: "redeems an amount of a voucher of the customer who is logged in, at the supplier it names, once, however often the step is delivered. `low`: the balance is lower; `over`: the voucher is not theirs, has ended or was cancelled; `missing`: nobody is logged in",
			Takes: []machine.Param{
				{Name: argVoucher, About: "id of the voucher, as `myVouchers` gives it"},
				{Name: argAmount, About: "how much, with at most two decimals"},
				{Name: argProduct, About: "what is given for it; may be missing"},
			},
			Effect: true, Outside: f.redeem, Results: []string{resOK, resLow, resOver, menu.Failed, resNobody}, Sets: []string{varBalance},
		},
	}
}

// customer is the DID of the caller who is logged in; "" for none.
func (f *fetcher) customer(ctx context.Context, c machine.ActionCall) (string, error) {
	if c.Account == "" || f.Customer == nil || f.Vouchers == nil {
		return "", nil
	}
	return f.Customer(ctx, c.Account)
}

func (f *fetcher) vouchers(ctx context.Context, c machine.ActionCall) (machine.Result, error) {
	did, err := f.customer(ctx, c)
	if err == nil && did == "" {
		return machine.Result{Name: resNobody}, nil
	}
	var held []*api.Voucher
	if err == nil {
		held, err = f.Vouchers.Held(ctx, did)
	}
	if err != nil {
		f.Log.WarnContext(ctx, "vouchers could not be listed for a menu", "err", err.Error())
		return machine.Result{Name: menu.Failed}, nil
	}
	doc, err := json.Marshal(map[string]any{"vouchers": held[:min(len(held), menu.MaxRows)]})
	if err != nil {
		return machine.Result{}, fmt.Errorf("render vouchers: %w", err)
	}
	set, err := values(doc, c.Answer)
	if err != nil {
		return machine.Result{}, fmt.Errorf("read vouchers: %w", err)
	}
	name := outcome(set, c.Answer)
	if len(held) == 0 {
		name = menu.Empty
	}
	return machine.Result{Name: name, Set: set}, nil
}

func (f *fetcher) redeem(ctx context.Context, c machine.ActionCall) (machine.Result, error) {
	did, err := f.customer(ctx, c)
	if err == nil && did == "" {
		return machine.Result{Name: resNobody}, nil
	}
	var done *api.Redemption
	if err == nil {
		amount, wrong := strconv.ParseFloat(strings.ReplaceAll(c.Arg(argAmount), ",", "."), 64)
		if wrong != nil {
			return machine.Result{Name: resLow}, nil
		}
		done, err = f.Vouchers.Pay(ctx, did, c.Key, api.RedemptionDraft{VoucherID: c.Arg(argVoucher), Amount: amount, ProductID: c.Arg(argProduct)})
	}
	switch fault.CodeOf(err) {
	case "BALANCE_TOO_LOW", "REDEMPTION_INVALID":
		return machine.Result{Name: resLow}, nil
	case "VOUCHER_NOT_FOUND", "VOUCHER_EXPIRED", "VOUCHER_CANCELLED", "SUPPLIER_MISMATCH":
		return machine.Result{Name: resOver}, nil
	}
	if err != nil {
		f.Log.WarnContext(ctx, "a voucher could not be redeemed for a menu", "err", err.Error())
		return machine.Result{Name: menu.Failed}, nil
	}
	return machine.Result{Name: resOK, Set: map[string]string{varBalance: strconv.FormatFloat(done.Balance, 'f', 2, 64)}}, nil
}
