package account_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/ussd/account"
)

// twins is area A for tests.
type twins struct {
	mu    sync.Mutex
	fail  error
	asked []account.Customer
}

func (w *twins) make(_ context.Context, c account.Customer) (string, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.asked = append(w.asked, c)
	return c.Household, w.fail
}

func (w *twins) set(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.fail = err
}

func (w *twins) seen() []account.Customer {
	w.mu.Lock()
	defer w.mu.Unlock()
	return append([]account.Customer(nil), w.asked...)
}

func (w *twins) with(_ *rig, c *account.Config) { c.MakeTwins = w.make }

func TestTwins(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		w := &twins{fail: errors.New("area A is away")}
		r := newRig(t, d, w.with)
		id := r.create(t, phone, goodPIN)
		me := r.enter(t, phone, id, goodPIN)
		if a := r.one(t, id); a.Twins != account.TwinsPending {
			t.Errorf("twins = %s, want pending", a.Twins)
		}
		status := func() (string, map[string]string) {
			out := r.do(t, "householdStatus", call{account: me})
			return out.Name, out.Set
		}
		if got, _ := status(); got != "none" {
			t.Errorf("householdStatus = %s, want none before it is registered", got)
		}
		r.run(t)
		await(t, "area A was asked", func() bool { return len(w.seen()) >= 2 })
		w.set(nil)
		await(t, "the twins are ready", func() bool { return r.one(t, id).Twins == account.TwinsReady })
		first := w.seen()[0]
		if a := r.one(t, id); first.DID != a.DID || first.Household != a.Household || first.Name != a.Name || first.Phone != phone || first.CustomerID != id || first.Size != 0 {
			t.Errorf("asked for %+v, want %+v", first, a)
		}
		await(t, "the customer id is sent", func() bool { return len(r.sms.Sent()) == 1 })
		if m := r.sms.Sent()[0]; m.To != phone || !strings.Contains(m.Text, id) {
			t.Errorf("message = %+v", m)
		}

		if out := r.do(t, "registerHousehold", call{account: me, vars: map[string]string{"district": "Kitui", "size": "6"}}); out.Name != "ok" {
			t.Errorf("registerHousehold = %+v", out)
		}
		await(t, "the household is ready", func() bool { got, _ := status(); return got == "ready" })
		_, set := status()
		a := r.one(t, id)
		if set["household"] != a.Household || set["identity"] != a.DID || set["district"] != "Kitui" || set["size"] != "6" {
			t.Errorf("householdStatus sets %v", set)
		}
		if all := w.seen(); all[len(all)-1].District != "Kitui" || all[len(all)-1].Size != 6 || all[len(all)-1].Household != first.Household {
			t.Errorf("last asked for %+v", all[len(all)-1])
		}
		if n := len(r.sms.Sent()); n != 1 {
			t.Errorf("%d messages, want the first only", n)
		}
	})
}

func TestTwinsFail(t *testing.T) {
	t.Parallel()
	for name, err := range map[string]error{
		"for good":       fault.New(fault.Invalid, "ENTITY_INVALID", "No."),
		"too many times": errors.New("area A is away"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dbtest.Each(t, func(t *testing.T, d *db.DB) {
				w := &twins{fail: err}
				r := newRig(t, d, w.with)
				r.run(t)
				id := r.create(t, phone, goodPIN)
				await(t, "the twins have failed", func() bool { return r.one(t, id).Twins == account.TwinsFailed })
				list, _, errList := r.List(t.Context(), account.Filter{Twins: account.TwinsFailed}, "", 10)
				if errList != nil || len(list) != 1 {
					t.Errorf("List() = %v, %v", list, errList)
				}
				w.set(nil)
				if err := r.Retry(t.Context(), id); err != nil {
					t.Fatal(err)
				}
				await(t, "the twins are ready", func() bool { return r.one(t, id).Twins == account.TwinsReady })
			})
		})
	}
}

// TestNobodyLoggedIn: actions for customers do nothing for others.
func TestNobodyLoggedIn(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		r := newRig(t, d, nil)
		id := r.create(t, phone, goodPIN)
		me := r.enter(t, phone, id, goodPIN)
		if err := r.Close(t.Context(), id); err != nil {
			t.Fatal(err)
		}
		for _, who := range []string{"", "nobody", me} {
			for _, name := range []string{"householdStatus", "registerHousehold"} {
				out := r.do(t, name, call{account: who, vars: map[string]string{"district": "X", "size": "1"}})
				if out.Account == nil || *out.Account != "" || out.Name == "ok" {
					t.Errorf("%s of %q = %+v, want to be logged out", name, who, out)
				}
			}
		}
		if a := r.one(t, id); a.District != "" || a.Status != account.Closed {
			t.Errorf("account = %+v", a)
		}
	})
}

func TestTextsToTheCaller(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		r := newRig(t, d, nil)
		r.run(t)
		with := map[string]string{"en": "Pellets cost 20 a bag.", "sw": "Gunia ni 20."}
		for n := range 12 {
			want := "queued"
			if n >= 10 {
				want = "off"
			}
			if out := r.do(t, "sms", call{lang: "sw", with: with}); out.Name != want {
				t.Errorf("message %d: %s, want %s", n, out.Name, want)
			}
		}
		if out := r.do(t, "sms", call{phone: "+254722222222", lang: "fr", with: with}); out.Name != "queued" {
			t.Errorf("sms = %+v", out)
		}
		if out := r.do(t, "sms", call{phone: "+254722222222", with: map[string]string{}}); out.Name != "off" {
			t.Errorf("sms without a text = %+v", out)
		}
		await(t, "all are sent", func() bool { return len(r.sms.Sent()) == 11 })
		for _, m := range r.sms.Sent() {
			if (m.To == phone) != (m.Text == with["sw"]) {
				t.Errorf("message = %+v", m)
			}
		}
		r.pass(25 * time.Hour)
		if out := r.do(t, "sms", call{with: with}); out.Name != "queued" {
			t.Errorf("sms the day after = %+v", out)
		}
	})
}
