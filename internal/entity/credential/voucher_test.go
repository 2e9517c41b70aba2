package credential_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
	"github.com/hearth-dmrv/hearth/internal/entity/credential"
	"github.com/hearth-dmrv/hearth/internal/event"
	"github.com/hearth-dmrv/hearth/internal/event/eventtest"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/web"
)

const (
	home  = "did:ixo:household/1"
	shop  = "did:ixo:entity:shop"
	other = "did:ixo:entity:other"
	cert  = "did:ixo:entity:cert"
)

type voucherEnv struct {
	s   *credential.Vouchers
	d   *db.DB
	now time.Time

	ended bool            // the credential
	hands map[string]bool // "controller twin"
}

func newVoucherEnv(t *testing.T, d *db.DB) *voucherEnv {
	t.Helper()
	v := &voucherEnv{d: d, hands: map[string]bool{}, now: time.Date(2026, 11, 18, 8, 0, 0, 0, time.UTC)}
	v.s = credential.NewVouchers(credential.VouchersConfig{
		DB: d, Events: event.New(event.Config{DB: d, Cursors: eventtest.Cursors()}), Cursors: eventtest.Cursors(), Now: func() time.Time { return v.now },
		Certificate: func(_ context.Context, _ db.Querier, did string) (string, error) {
			if did != cert {
				return "", fault.New(fault.NotFound, "CERTIFICATE_NOT_FOUND", "No.")
			}
			return "did:ixo:entity:project", nil
		},
		Controls: func(ctx context.Context, _ db.Querier, did string) (bool, error) {
			return web.CallerFrom(ctx).DID == did || v.hands[web.CallerFrom(ctx).DID+" "+did], nil
		},
		Stands: func(context.Context, db.Querier, string, string) error {
			if v.ended {
				return fault.New(fault.Conflict, "CERTIFICATE_REVOKED", "No.")
			}
			return nil
		},
	})
	return v
}

// as is somebody of the workspace, or of another one with "ws2 did".
func as(t *testing.T, who string, scopes ...string) context.Context {
	t.Helper()
	ws, did, ok := strings.Cut(who, " ")
	if !ok {
		ws, did = "ws", who
	}
	return web.WithCaller(t.Context(), web.Caller{Workspace: ws, DID: did, Scopes: scopes})
}

func (v *voucherEnv) issue(t *testing.T, change func(*credential.VoucherDraft)) (*credential.Voucher, error) {
	t.Helper()
	d := credential.VoucherDraft{RecipientDID: home, EmissionCertificateID: cert, Value: 100, Currency: "ZMW", Attributes: map[string]any{"programme": "pellets"}}
	if change != nil {
		change(&d)
	}
	got, err := v.s.Issue(as(t, "did:ixo:entity:issuer", "vouchers:write"), d)
	return got.Value, err
}

func (v *voucherEnv) redeem(t *testing.T, who, id string, amount float64) (*credential.Redemption, error) {
	t.Helper()
	did := who[strings.LastIndex(who, " ")+1:]
	got, err := v.s.Redeem(as(t, who, "vouchers:redeem"), credential.RedemptionDraft{VoucherID: id, SupplierDID: did, Amount: amount, ProductID: "pellets"})
	return got.Value, err
}

// want wants a fault by its code, "" for none.
func want(t *testing.T, what string, err error, code string) {
	t.Helper()
	if got := fault.CodeOf(err); got != code || code == "" && err != nil {
		t.Errorf("%s: %v, want %q", what, err, code)
	}
}

func TestDrafts(t *testing.T) {
	t.Parallel()
	v := newVoucherEnv(t, dbtest.SQLite(t))
	for name, tt := range map[string]struct {
		change func(*credential.VoucherDraft)
		field  string
	}{
		"as documented":        {nil, ""},
		"two decimals":         {func(d *credential.VoucherDraft) { d.Value = 0.29 }, ""},
		"a large amount":       {func(d *credential.VoucherDraft) { d.Value = 999_999_999.99 }, ""},
		"three decimals":       {func(d *credential.VoucherDraft) { d.Value = 1.005 }, "/value decimals"},
		"nothing":              {func(d *credential.VoucherDraft) { d.Value = 0 }, "/value out_of_range"},
		"less than nothing":    {func(d *credential.VoucherDraft) { d.Value = -5 }, "/value out_of_range"},
		"next to nothing":      {func(d *credential.VoucherDraft) { d.Value = 1e-9 }, "/value decimals"},
		"almost a hundred":     {func(d *credential.VoucherDraft) { d.Value = 99.9999999999 }, "/value decimals"},
		"no recipient":         {func(d *credential.VoucherDraft) { d.RecipientDID = "" }, "/recipientDid not_a_did"},
		"for the supplier":     {func(d *credential.VoucherDraft) { d.SupplierDID = home }, "/supplierDid recipient"},
		"ended":                {func(d *credential.VoucherDraft) { d.ExpiresAt = v.now }, "/expiresAt out_of_range"},
		"for ever":             {func(d *credential.VoucherDraft) { d.ExpiresAt = v.now.AddDate(11, 0, 0) }, "/expiresAt out_of_range"},
		"a currency by name":   {func(d *credential.VoucherDraft) { d.Currency = "Kwacha" }, "/currency invalid"},
		"attributes in depth":  {func(d *credential.VoucherDraft) { d.Attributes["a"] = []any{1} }, "/attributes invalid"},
		"a long attribute":     {func(d *credential.VoucherDraft) { d.Attributes["a"] = strings.Repeat("x", 201) }, "/attributes too_long"},
		"no such certificate":  {func(d *credential.VoucherDraft) { d.EmissionCertificateID = other }, "CERTIFICATE_NOT_FOUND"},
		"too many attributes":  {func(d *credential.VoucherDraft) { d.Attributes = many(21) }, "/attributes too_many"},
		"a tenth of a hundred": {func(d *credential.VoucherDraft) { d.Value = 0.001 }, "/value decimals"},
	} {
		_, err := v.issue(t, tt.change)
		got := fault.CodeOf(err)
		var f *fault.Error
		if errors.As(err, &f) && got == "VOUCHER_INVALID" {
			got = f.Fields[0].Pointer + " " + f.Fields[0].Code
		}
		if got != tt.field {
			t.Errorf("%s: %v, want %q", name, err, tt.field)
		}
	}
}

func many(n int) map[string]any {
	out := map[string]any{}
	for i := range n {
		out[fmt.Sprint(i)] = true
	}
	return out
}

func TestLifeOfAVoucher(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		v := newVoucherEnv(t, d)
		made, err := v.issue(t, nil)
		want(t, "issued", err, "")
		if made.Balance != 100 || made.Status != "active" || made.ProjectID != "did:ixo:entity:project" || made.Attributes["programme"] != "pellets" || !made.ExpiresAt.Equal(v.now.AddDate(1, 0, 0)) {
			t.Errorf("the voucher is %+v", made)
		}
		part, err := v.redeem(t, shop, made.ID, 40.25)
		want(t, "a part", err, "")
		if part.Balance != 59.75 || part.Mode != "api" || part.By != shop {
			t.Errorf("the redemption is %+v", part)
		}
		_, err = v.redeem(t, shop, made.ID, 59.76)
		want(t, "more than is left", err, "BALANCE_TOO_LOW")
		_, err = v.redeem(t, shop, made.ID, -1)
		want(t, "less than nothing", err, "REDEMPTION_INVALID")
		_, err = v.redeem(t, shop, made.ID, 1e-10)
		want(t, "next to nothing", err, "REDEMPTION_INVALID")
		_, err = v.redeem(t, "ws2 "+shop, made.ID, 1)
		want(t, "in another workspace", err, "VOUCHER_NOT_FOUND")
		_, err = v.redeem(t, home, made.ID, 1)
		want(t, "by the recipient", err, "SUPPLIER_MISMATCH")
		_, err = v.s.Redeem(as(t, shop), credential.RedemptionDraft{VoucherID: made.ID, SupplierDID: other, Amount: 1})
		want(t, "in the name of another supplier", err, "NOT_SUPPLIER")
		limited := web.WithCaller(t.Context(), web.Caller{Workspace: "ws", DID: shop, Projects: []string{"did:ixo:entity:elsewhere"}})
		_, err = v.s.Redeem(limited, credential.RedemptionDraft{VoucherID: made.ID, SupplierDID: shop, Amount: 1})
		want(t, "by a key of another project", err, "VOUCHER_NOT_FOUND")
		if _, err = v.s.Get(limited, made.ID); fault.CodeOf(err) != "VOUCHER_NOT_FOUND" {
			t.Errorf("a key of another project reads %v", err)
		}
		_, err = v.redeem(t, other, made.ID, 59.75)
		want(t, "the rest", err, "")
		if got, err := v.s.Get(as(t, "anybody"), made.ID); err != nil || got.Status != "spent" || got.Balance != 0 || got.Attributes != nil {
			t.Errorf("spent: %+v, %v", got, err)
		}
		list, next, err := v.s.Redemptions(as(t, "anybody"), made.ID, 0, 1)
		if err != nil || len(list) != 1 || next == 0 || list[0].SupplierDID != other {
			t.Errorf("the last redemption: %+v, %d, %v", list, next, err)
		}
	})
}

func TestEndedVouchers(t *testing.T) {
	t.Parallel()
	v := newVoucherEnv(t, dbtest.SQLite(t))
	bound, err := v.issue(t, func(d *credential.VoucherDraft) { d.SupplierDID, d.ExpiresAt = shop, v.now.Add(time.Hour) })
	want(t, "issued", err, "")
	_, err = v.redeem(t, other, bound.ID, 1)
	want(t, "by another supplier", err, "SUPPLIER_MISMATCH")
	_, err = v.s.Cancel(as(t, "x"), bound.ID, " ")
	want(t, "cancelled without a reason", err, "VOUCHER_INVALID")
	_, err = v.s.Cancel(as(t, "ws2 x"), bound.ID, "Mine.")
	want(t, "cancelled from another workspace", err, "VOUCHER_NOT_FOUND")
	gone, err := v.issue(t, nil)
	want(t, "issued", err, "")
	_, err = v.s.Cancel(as(t, "x"), gone.ID, "Issued twice.")
	want(t, "cancelled", err, "")
	_, err = v.redeem(t, shop, gone.ID, 1)
	want(t, "redeemed afterwards", err, "VOUCHER_CANCELLED")
	_, err = v.s.Cancel(as(t, "x"), gone.ID, "Again.")
	want(t, "cancelled again", err, "VOUCHER_CANCELLED")
	v.now = v.now.Add(time.Hour)
	_, err = v.redeem(t, shop, bound.ID, 1)
	want(t, "too late", err, "VOUCHER_EXPIRED")
}

// TestRedeemedByOthers: nobody redeems for themselves through another twin, and
// nothing is paid from a credential that has ended.
func TestRedeemedByOthers(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		v := newVoucherEnv(t, d)
		one, err := v.issue(t, func(d *credential.VoucherDraft) { d.SupplierDID = shop })
		want(t, "issued", err, "")
		two, err := v.issue(t, nil)
		want(t, "issued", err, "")
		if one.CertificateTotal != 100 || two.CertificateTotal != 200 {
			t.Errorf("totals = %v, %v, want 100, 200", one.CertificateTotal, two.CertificateTotal)
		}
		v.hands[shop+" "+home] = true
		_, err = v.redeem(t, shop, one.ID, 1)
		want(t, "by whoever controls the recipient", err, "SUPPLIER_MISMATCH")
		v.hands = map[string]bool{home + " " + shop: true}
		_, err = v.s.Pay(as(t, home), home, "k", credential.RedemptionDraft{VoucherID: one.ID, Amount: 1})
		want(t, "by a recipient who controls the supplier", err, "SUPPLIER_MISMATCH")
		v.hands = nil
		v.ended = true
		_, err = v.redeem(t, shop, one.ID, 1)
		want(t, "from a credential that has ended", err, "CERTIFICATE_REVOKED")
		v.ended = false
		_, err = v.redeem(t, shop, one.ID, 1)
		want(t, "otherwise", err, "")
	})
}

// TestNeverBelowZero: 64 take from a voucher at once, and no more is taken than
// there is.
func TestNeverBelowZero(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		v := newVoucherEnv(t, d)
		made, err := v.issue(t, nil)
		want(t, "issued", err, "")
		var taken atomic.Int64
		var all sync.WaitGroup
		for range 64 {
			all.Go(func() {
				switch _, err := v.redeem(t, shop, made.ID, 7); fault.CodeOf(err) {
				case "":
					if err != nil {
						t.Error(err)
						return
					}
					taken.Add(1)
				case "BALANCE_TOO_LOW":
				default:
					t.Error(err)
				}
			})
		}
		all.Wait()
		got, err := v.s.Get(as(t, "x"), made.ID)
		if n := taken.Load(); err != nil || n != 14 || got.Balance != 2 {
			t.Errorf("%d of 64 were given 7 of 100 and %v is left, %v; want 14 and 2", n, got, err)
		}
	})
}

func TestPayByTheRecipient(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		v := newVoucherEnv(t, d)
		bound, err := v.issue(t, func(d *credential.VoucherDraft) { d.SupplierDID = shop })
		want(t, "issued", err, "")
		free, err := v.issue(t, nil)
		want(t, "issued", err, "")
		held, err := v.s.Held(as(t, home), "ws", home)
		if err != nil || len(held) != 1 || held[0].ID != bound.ID {
			t.Errorf("held: %v, %v; want only the one with a supplier", held, err)
		}
		pay := func(who, key, id string, amount float64) (*credential.Redemption, error) {
			return v.s.Pay(as(t, who), who, key, credential.RedemptionDraft{VoucherID: id, Amount: amount})
		}
		for range 2 { // the step was delivered twice
			got, err := pay(home, "k1", bound.ID, 30)
			if err != nil || got.Balance != 70 || got.Mode != "ussd" || got.SupplierDID != shop {
				t.Errorf("paid: %+v, %v", got, err)
			}
		}
		_, err = pay("did:ixo:household/2", "k2", bound.ID, 1)
		want(t, "somebody else's", err, "VOUCHER_NOT_FOUND")
		_, err = pay(home, "k3", free.ID, 1)
		want(t, "one without a supplier", err, "VOUCHER_NOT_FOUND")
		_, err = pay(home, "k4", bound.ID, 70.01)
		want(t, "too much", err, "BALANCE_TOO_LOW")
		err = d.InTx(t.Context(), func(tx *db.Tx) error {
			n, err := v.s.Erase(t.Context(), tx, "ws", home)
			if n != 2 {
				t.Errorf("%d vouchers were erased, want 2", n)
			}
			return err
		})
		want(t, "erased", err, "")
		_, err = pay(home, "k5", bound.ID, 1)
		want(t, "after the erasure", err, "VOUCHER_CANCELLED")
		if got, err := v.s.Get(as(t, "x", "vouchers:write"), bound.ID); err != nil || got.Status != "erased" || got.Attributes != nil {
			t.Errorf("erased: %+v, %v", got, err)
		}
	})
}
