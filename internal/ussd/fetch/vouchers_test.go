package fetch_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/hearth-dmrv/hearth/api"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/ussd/fetch"
	"github.com/hearth-dmrv/hearth/internal/ussd/machine"
	"github.com/hearth-dmrv/hearth/internal/ussd/menu"
)

// purse is the vouchers of amina, whose DID is did:ixo:a.
type purse struct {
	balance float64
	paid    map[string]bool
	broken  error
}

func (p *purse) Held(_ context.Context, did string) ([]*api.Voucher, error) {
	if p.broken != nil || did != "did:ixo:a" {
		return nil, p.broken
	}
	return []*api.Voucher{{ID: "vch_1", Balance: p.balance, Currency: "ZMW", SupplierDID: "did:ixo:shop"}}, nil
}

func (p *purse) Pay(_ context.Context, did, key string, d api.RedemptionDraft) (*api.Redemption, error) {
	switch {
	case p.broken != nil:
		return nil, p.broken
	case did != "did:ixo:a" || d.VoucherID != "vch_1":
		return nil, fault.New(fault.NotFound, "VOUCHER_NOT_FOUND", "No.")
	case d.Amount > p.balance:
		return nil, fault.New(fault.Conflict, "BALANCE_TOO_LOW", "No.")
	case !p.paid[key]:
		p.balance -= d.Amount
		p.paid[key] = true
	}
	return &api.Redemption{Balance: p.balance}, nil
}

func TestVouchers(t *testing.T) {
	t.Parallel()
	p := &purse{balance: 100, paid: map[string]bool{}}
	actions := fetch.Actions(fetch.Config{Vouchers: p, Customer: func(_ context.Context, account string) (string, error) {
		return map[string]string{"amina": "did:ixo:a", "baraka": "did:ixo:b"}[account], nil
	}})
	run := func(action, account, key, with string) machine.Result {
		t.Helper()
		c := machine.ActionCall{Key: key, Call: machine.Call{Action: action, Account: account, With: map[string]string{}, Answer: []menu.Pick{
			{Var: "rows", At: "/vouchers", Columns: []menu.Column{{Name: "id", At: "/voucherId"}, {Name: "left", At: "/balance"}}},
		}}}
		for f := range strings.FieldsSeq(with) {
			name, value, _ := strings.Cut(f, "=")
			c.With[name] = value
		}
		r, err := actions[action].Outside(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	for _, tt := range []struct{ name, action, account, key, with, want, shows string }{
		{"held", "myVouchers", "amina", "", "", "ok", "vch_1"},
		{"nobody's", "myVouchers", "", "", "", "missing", ""},
		{"none", "myVouchers", "baraka", "", "", "empty", ""},
		{"redeemed", "redeemVoucher", "amina", "k1", "voucherId=vch_1 amount=30,5", "ok", "69.50"},
		{"the same step again", "redeemVoucher", "amina", "k1", "voucherId=vch_1 amount=30.5", "ok", "69.50"},
		{"too much", "redeemVoucher", "amina", "k2", "voucherId=vch_1 amount=70", "low", ""},
		{"no number", "redeemVoucher", "amina", "k3", "voucherId=vch_1 amount=all", "low", ""},
		{"somebody else's", "redeemVoucher", "baraka", "k4", "voucherId=vch_1 amount=1", "over", ""},
		{"without a login", "redeemVoucher", "", "k5", "voucherId=vch_1 amount=1", "missing", ""},
	} {
		r := run(tt.action, tt.account, tt.key, tt.with)
		if got := r.Set["rows"] + r.Set["voucherBalance"]; r.Name != tt.want || !strings.Contains(got, tt.shows) {
			t.Errorf("%s: %+v, want %s with %q", tt.name, r, tt.want, tt.shows)
		}
	}
	p.broken = errors.New("the store is away")
	for _, action := range []string{"myVouchers", "redeemVoucher"} {
		if r := run(action, "amina", "k6", "voucherId=vch_1 amount=1"); r.Name != menu.Failed {
			t.Errorf("%s without a store: %+v", action, r)
		}
	}
}
