package account_test

import (
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hearth-dmrv/hearth/internal/auth"
	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/ussd/account"
	"github.com/hearth-dmrv/hearth/internal/ussd/fetch"
	"github.com/hearth-dmrv/hearth/internal/ussd/machine"
	"github.com/hearth-dmrv/hearth/internal/ussd/menu"
)

// TestPacks: the shipped packs use the actions as they are.
func TestPacks(t *testing.T) {
	t.Parallel()
	known := machine.Known(account.Offered())
	r := newRig(t, dbtest.SQLite(t), nil)
	described := map[string]bool{}
	for _, v := range account.Variables() {
		described[v.Name] = v.About != ""
	}
	for name, a := range r.Actions() {
		if a.Run == nil || !slices.Equal(a.Results, known.Actions[name]) {
			t.Errorf("action %s: %+v, want to run and results %q", name, a, known.Actions[name])
		}
		if a.About == "" {
			t.Errorf("action %s is not described", name)
		}
		for _, v := range a.Sets {
			if !described[v] {
				t.Errorf("the variable %s of action %s is not described", v, name)
			}
		}
	}
	all := account.Offered()
	maps.Copy(all, fetch.Actions(fetch.Config{}))
	known = machine.Known(all)
	for _, name := range menu.Shipped() {
		p, err := menu.Open(name, known)
		if err != nil {
			t.Errorf("pack %s: %v", name, err)
			continue
		}
		for _, n := range p.Nodes() {
			if n.Do == "sms" && (n.With["en"] == "" || n.With["sw"] == "") {
				t.Errorf("pack %s, node %s: no text in both languages", name, n.ID)
			}
		}
	}
}

func TestList(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		r := newRig(t, d, nil)
		var ids []string
		for n := range 7 {
			ids = append(ids, r.create(t, fmt.Sprintf("+25470000000%d", n/2), goodPIN))
		}
		for range 3 {
			r.login(t, "+254722222222", ids[4], "70635")
		}
		r.pass(time.Second)
		if err := r.Close(t.Context(), ids[6]); err != nil {
			t.Fatal(err)
		}
		for _, tt := range []struct {
			name string
			f    account.Filter
			want []string
		}{
			{"all", account.Filter{}, ids},
			{"active", account.Filter{Status: account.Active}, ids[:6]},
			{"closed", account.Filter{Status: account.Closed}, ids[6:]},
			{"number", account.Filter{Phone: "+254700000001"}, ids[2:4]},
			{"locked", account.Filter{Locked: true}, ids[4:5]},
			{"one", account.Filter{CustomerID: strings.ToLower(ids[3])}, ids[3:4]},
			{"nobody", account.Filter{CustomerID: "CZZZZZZZZ"}, nil},
			{"no twins", account.Filter{Twins: account.TwinsNone}, ids},
		} {
			var got []string
			for after, pages := "", 0; pages == 0 || after != ""; pages++ {
				page, next, err := r.List(t.Context(), tt.f, after, 2)
				if err != nil || len(page) > 2 || pages > 9 {
					t.Fatalf("%s: page of %d, %v", tt.name, len(page), err)
				}
				for _, a := range page {
					got = append(got, a.CustomerID)
				}
				after = next
			}
			if !slices.Equal(got, tt.want) {
				t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
			}
		}
		if n, err := r.LockedNumbers(t.Context(), "", 10); err != nil || len(n) != 1 || n[0].Phone != "+254722222222" || n[0].LockedTo.IsZero() {
			t.Errorf("LockedNumbers() = %+v, %v", n, err)
		}
		if err := r.Unlock(t.Context(), "+254722222222"); err != nil {
			t.Fatal(err)
		}
		if n, err := r.LockedNumbers(t.Context(), "", 10); err != nil || len(n) != 0 {
			t.Errorf("LockedNumbers() = %+v, %v", n, err)
		}
	})
}

func TestOperatorFaults(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		r := newRig(t, d, nil)
		id := r.create(t, phone, goodPIN)
		reset := func(ctx context.Context, id string) error { _, _, err := r.Reset(ctx, id, false); return err }
		for name, f := range map[string]func(context.Context, string) error{"Unlock": r.Unlock, "Reset": reset, "Close": r.Close, "Retry": r.Retry} {
			if err := f(t.Context(), "CZZZZZZZZ"); fault.CodeOf(err) != "ACCOUNT_NOT_FOUND" {
				t.Errorf("%s of nobody = %v", name, err)
			}
		}
		for range 2 { // the second does nothing
			if err := r.Close(t.Context(), strings.ToLower(id)); err != nil {
				t.Fatal(err)
			}
		}
		if err := reset(t.Context(), id); fault.CodeOf(err) != "ACCOUNT_CLOSED" {
			t.Errorf("Reset of a closed account = %v", err)
		}
		if out := r.login(t, phone, id, goodPIN); out.Name != "wrong" {
			t.Errorf("login to a closed account = %+v", out)
		}
		if got := r.types(t); !slices.Equal(got, []string{"ussd.account_created", "ussd.account_closed"}) {
			t.Errorf("events = %q", got)
		}
	})
}

// TestSweep: locks that no longer count go, others stay.
func TestSweep(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		r := newRig(t, d, nil)
		id := r.create(t, phone, goodPIN)
		r.login(t, "+254711111111", id, "70635")
		r.login(t, "+254711111112", "CZZZZZZZZ", "70635")
		left := func() int {
			for {
				n, err := r.Expire(t.Context(), time.Time{}, 1)
				if err != nil {
					t.Fatal(err)
				}
				if n == 0 {
					return r.count(t, `SELECT count(*) FROM ussd_locks`)
				}
			}
		}
		for _, tt := range []struct {
			wait time.Duration
			want int
		}{{time.Hour, 6}, {24 * time.Hour, 2}, {90 * 24 * time.Hour, 1}} {
			r.pass(tt.wait)
			if got := left(); got != tt.want {
				t.Errorf("%d locks %s later, want %d", got, tt.wait, tt.want)
			}
		}
	})
}

// TestErase: after an erasure nothing of a customer is left in the store.
func TestErase(t *testing.T) {
	t.Parallel()
	var path string
	d := dbtest.SQLite(t, dbtest.With(func(c *db.Config) { path = c.Path }))
	w := &twins{}
	var forgotten []string
	r := newRig(t, d, func(r *rig, c *account.Config) {
		w.with(r, c)
		c.Forget = func(_ context.Context, _ *db.Tx, phone string) (int64, error) {
			forgotten = append(forgotten, phone)
			return 2, nil
		}
	})
	stop := r.run(t)
	const number = "+254799887766"
	id := r.create(t, number, goodPIN)
	r.create(t, phone, goodPIN) // stays
	me := r.enter(t, number, id, goodPIN)
	r.do(t, "registerHousehold", call{phone: number, account: me, vars: map[string]string{"district": "Qanaryville", "size": "6"}})
	r.do(t, "sms", call{phone: number, with: map[string]string{"en": "Hello"}})
	r.login(t, number, id, "70635")
	r.login(t, number, "CZZZZZZZZ", "70635")
	r.login(t, phone, id, "70635")
	await(t, "the twins are ready", func() bool { return r.one(t, id).Twins == account.TwinsReady && len(r.sms.Sent()) >= 3 })
	r.ask(t, number, id)
	stop()
	a := r.one(t, id)
	erase := func(ws, did string) int64 {
		t.Helper()
		var n int64
		err := d.InTx(t.Context(), func(tx *db.Tx) (err error) {
			n, err = r.Erase(t.Context(), tx, ws, did)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	if n := erase("other", a.DID); n != 0 {
		t.Errorf("another workspace erased %d things", n)
	}
	if n := erase(auth.OperatorWorkspace, a.Household); n != 1 || r.one(t, id).District != "" || r.one(t, id).Household != "" {
		t.Errorf("erasing the household: %d, %+v", n, r.one(t, id))
	}
	if n := erase(auth.OperatorWorkspace, a.DID); n != 1+3+2 || !slices.Equal(forgotten, []string{number}) {
		t.Errorf("erased %d things and forgot %q, want the account, 3 messages and 2 others", n, forgotten)
	}
	if n := erase(auth.OperatorWorkspace, a.DID); n != 0 {
		t.Errorf("a second erasure found %d things", n)
	}
	if err := d.Scrub(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{path, path + "-wal"} {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, text := range []string{number, "99887766", "Qanaryville", id} {
			if strings.Contains(string(data), text) {
				t.Errorf("%s holds %q", file, text)
			}
		}
	}
	if n := r.count(t, `SELECT count(*) FROM ussd_accounts`); n != 1 {
		t.Errorf("%d accounts, want the other one", n)
	}
}

// TestEraseOnBoth: the same on PostgreSQL, by rows.
func TestEraseOnBoth(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		r := newRig(t, d, nil)
		id := r.create(t, phone, goodPIN)
		r.login(t, phone, id, "70635")
		r.login(t, phone, "CZZZZZZZZ", "70635")
		r.login(t, "+254711111111", id, "70635")
		r.ask(t, phone, id)
		err := d.InTx(t.Context(), func(tx *db.Tx) error {
			_, err := r.Erase(t.Context(), tx, auth.OperatorWorkspace, r.one(t, id).DID)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		for _, table := range []string{
			`SELECT count(*) FROM ussd_accounts`, `SELECT count(*) FROM ussd_locks WHERE name NOT IN ('CZZZZZZZZ', '+254711111111')`, `SELECT count(*) FROM ussd_resets`, `SELECT count(*) FROM sms_messages`,
		} {
			if n := r.count(t, table); n != 0 {
				t.Errorf("%s = %d, want 0", table, n)
			}
		}
	})
}

// TestVoice: a customer is a principal while her account is open, in the
// workspace of the line.
func TestVoice(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		r := newRig(t, d, nil)
		id := r.create(t, phone, goodPIN)
		a := r.one(t, id)
		want := func(what, ws, did string, customer bool) {
			t.Helper()
			scopes, got, err := account.Voice(t.Context(), d, ws, did)
			if err != nil || got != customer || got && !slices.Equal(scopes, []string{"entities:pii", "entities:write", "ussd:write"}) {
				t.Errorf("%s: Voice() = %q, %v, %v, want %v", what, scopes, got, err, customer)
			}
		}
		want("a customer", auth.OperatorWorkspace, a.DID, true)
		want("her household", auth.OperatorWorkspace, a.Household, false)
		want("another workspace", "other", a.DID, false)
		if err := r.Close(t.Context(), id); err != nil {
			t.Fatal(err)
		}
		want("a closed account", auth.OperatorWorkspace, a.DID, false)
	})
}
