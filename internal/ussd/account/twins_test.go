package account_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hearth-dmrv/hearth/internal/auth"
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

// TestLanguageReachesTheTwin: the language of the registration, and each later
// one, is that of the twin.
func TestLanguageReachesTheTwin(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		w := &twins{}
		r := newRig(t, d, w.with)
		out := r.do(t, "createAccount", call{lang: "sw", vars: map[string]string{"name": "Amina"}, secrets: map[string]string{"pin": goodPIN, "confirm": goodPIN}})
		id := out.Set["customerId"]
		me := r.enter(t, phone, id, goodPIN)
		r.run(t)
		await(t, "the twins are ready", func() bool { return r.one(t, id).Twins == account.TwinsReady })
		if got := w.seen()[0].Language; got != "sw" {
			t.Errorf("the twin was made with the language %q, want sw", got)
		}
		last := func() account.Customer { all := w.seen(); return all[len(all)-1] }
		jobs := func() int { return r.count(t, `SELECT count(*) FROM jobs WHERE kind = 'ussd.twins'`) }

		before := jobs()
		if out := r.do(t, "setLanguage", call{account: me, lang: "sw", with: map[string]string{"language": "en-GB"}}); out.Name != "ok" || out.Lang != "en-GB" {
			t.Errorf("setLanguage = %+v", out)
		}
		if got := r.one(t, id).Twins; got != account.TwinsReady {
			t.Errorf("twins = %s while only the language changes, want ready", got)
		}
		await(t, "the twin has the language", func() bool { return last().Language == "en-GB" })
		if c := last(); c.DID != r.one(t, id).DID || c.Household != r.one(t, id).Household {
			t.Errorf("asked for %+v, want the same twins", c)
		}
		r.do(t, "setLanguage", call{account: me, lang: "en-GB", with: map[string]string{"language": "en-GB"}})
		r.do(t, "setLanguage", call{lang: "en", with: map[string]string{"language": "sw"}})
		if got := jobs(); got != before+1 {
			t.Errorf("%d jobs for one change, want 1", got-before)
		}
		if n := len(r.sms.Sent()); n > 1 {
			t.Errorf("%d messages, want the customer id at most", n)
		}
	})
}

// TestTwinsAfterTheHouseholdIsErased: the person goes on without it, and a
// household that is registered then is another one.
func TestTwinsAfterTheHouseholdIsErased(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		w := &twins{}
		r := newRig(t, d, w.with)
		r.run(t)
		id := r.create(t, phone, goodPIN)
		me := r.enter(t, phone, id, goodPIN)
		await(t, "the twins are ready", func() bool { return r.one(t, id).Twins == account.TwinsReady })
		old := r.one(t, id).Household
		if err := r.db.InTx(t.Context(), func(tx *db.Tx) error {
			_, err := r.Erase(t.Context(), tx, auth.OperatorWorkspace, old)
			return err
		}); err != nil {
			t.Fatal(err)
		}
		r.do(t, "setLanguage", call{account: me, with: map[string]string{"language": "sw"}})
		await(t, "the person has the language", func() bool { all := w.seen(); return all[len(all)-1].Language == "sw" })
		if c := w.seen()[len(w.seen())-1]; c.Household != "" {
			t.Errorf("asked for %+v, want no household", c)
		}
		r.do(t, "registerHousehold", call{account: me, vars: map[string]string{"district": "Kitui", "size": "6"}})
		await(t, "the household is ready", func() bool {
			a := r.one(t, id)
			return a.Twins == account.TwinsReady && a.Household != "" && a.Household != old
		})
		if c := w.seen()[len(w.seen())-1]; c.Household != r.one(t, id).Household || c.Size != 6 {
			t.Errorf("asked for %+v, want %+v", c, r.one(t, id))
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
			dbtest.Any(t, func(t *testing.T, d *db.DB) {
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
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
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
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
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
		if out := r.do(t, "sms", call{phone: "+254722222222", standard: "sw", with: map[string]string{"en": with["en"]}, lang: "fr"}); out.Name != "off" {
			t.Errorf("sms in neither language = %+v", out)
		}
		if out := r.do(t, "sms", call{standard: "sw", with: map[string]string{"sw": with["sw"]}, lang: "fr", phone: "+254733333333"}); out.Name != "queued" {
			t.Errorf("sms in the default language = %+v", out)
		}
		if out := r.do(t, "sms", call{phone: "+254722222222", with: map[string]string{}}); out.Name != "off" {
			t.Errorf("sms without a text = %+v", out)
		}
		await(t, "all are sent", func() bool { return len(r.sms.Sent()) == 12 })
		for _, m := range r.sms.Sent() {
			if (m.To != "+254722222222") != (m.Text == with["sw"]) {
				t.Errorf("message = %+v", m)
			}
		}
		r.pass(25 * time.Hour)
		if out := r.do(t, "sms", call{with: with}); out.Name != "queued" {
			t.Errorf("sms the day after = %+v", out)
		}
	})
}
