package account_test

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hearth-dmrv/hearth/internal/auth"
	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
	"github.com/hearth-dmrv/hearth/internal/ussd/account"
	"github.com/hearth-dmrv/hearth/internal/ussd/machine"
	"github.com/hearth-dmrv/hearth/internal/ussd/sms"
	"github.com/hearth-dmrv/hearth/internal/web"
)

var sixDigits = regexp.MustCompile(`\b\d{6}\b`)

// ask asks for a code and returns the answer.
func (r *rig) ask(t *testing.T, number, customer string) machine.Result {
	t.Helper()
	return r.do(t, "resetStart", call{phone: number, vars: map[string]string{"customerId": customer}})
}

// finish gives a code and a new PIN.
func (r *rig) finish(t *testing.T, number, customer, code, pin string) machine.Result {
	t.Helper()
	return r.do(t, "resetFinish", call{phone: number, vars: map[string]string{"customerId": customer}, secrets: map[string]string{"code": code, "pin": pin, "confirm": pin}})
}

// code waits for the nth message and takes the code out of it.
func (r *rig) code(t *testing.T, n int) string {
	t.Helper()
	await(t, "a message is sent", func() bool { return len(r.sms.Sent()) >= n })
	m := r.sms.Sent()[n-1]
	code := sixDigits.FindString(m.Text)
	if code == "" || m.To != phone {
		t.Fatalf("message = %q to %s, want a code", m.Text, m.To)
	}
	return code
}

func TestReset(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		r := newRig(t, d, nil)
		r.run(t)
		id := r.create(t, phone, goodPIN)
		// Who has forgotten the PIN has usually locked the account.
		for range 3 {
			r.login(t, phone, id, "70635")
		}
		if out := r.ask(t, phone, strings.ToLower(id)); out.Name != "ok" {
			t.Errorf("resetStart = %+v", out)
		}
		code := r.code(t, 1)
		if out := r.finish(t, phone, id, code, "12345"); out.Name != "weak" {
			t.Errorf("resetFinish with a weak PIN = %+v", out)
		}
		wrong := "100000"
		if code == wrong {
			wrong = "100001"
		}
		if out := r.finish(t, phone, id, wrong, "90817"); out.Name != "locked" && out.Name != "wrong" {
			t.Errorf("resetFinish with a wrong code = %+v", out)
		}
		if out := r.finish(t, "+254722222222", id, code, "90817"); out.Name != "wrong" && out.Name != "locked" {
			t.Errorf("resetFinish from another number = %+v", out)
		}
		if out := r.finish(t, phone, id, code, "90817"); out.Name != "ok" {
			t.Fatalf("resetFinish = %+v", out)
		}
		r.enter(t, phone, id, "90817") // unlocked as well
		if out := r.finish(t, phone, id, code, "31415"); out.Name != "wrong" {
			t.Errorf("the same code again = %+v", out)
		}
		if got := r.types(t); !slices.Contains(got, "ussd.pin_reset") {
			t.Errorf("events = %q", got)
		}
	})
}

func TestResetCodeIsWorthLittle(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		r := newRig(t, d, nil)
		r.run(t)
		id := r.create(t, phone, goodPIN)
		r.ask(t, phone, id)
		code := r.code(t, 1)
		r.pass(10 * time.Minute)
		if out := r.finish(t, phone, id, code, "90817"); out.Name != "wrong" {
			t.Errorf("a code after ten minutes = %+v", out)
		}
		if err := r.Unlock(t.Context(), id); err != nil {
			t.Fatal(err)
		}
		r.ask(t, phone, id)
		code = r.code(t, 2)
		for i := range 3 {
			r.finish(t, phone, id, string('1'+byte(i))+"00000", "90817")
		}
		if err := r.Unlock(t.Context(), id); err != nil {
			t.Fatal(err)
		}
		if out := r.finish(t, phone, id, code, "90817"); out.Name != "wrong" {
			t.Errorf("a code after three wrong ones = %+v", out)
		}
		for range 10 {
			r.ask(t, phone, id)
		}
		r.code(t, 5)
		if n := r.count(t, `SELECT count(*) FROM sms_messages`); n != 5 {
			t.Errorf("%d messages in a day, want 5", n)
		}
		r.pass(24 * time.Hour)
		r.ask(t, phone, id)
		r.code(t, 6)
		r.enter(t, phone, id, goodPIN)
	})
}

// TestResetTellsNothing: the answers for nobody are those for somebody.
func TestResetTellsNothing(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		r := newRig(t, d, nil)
		id := r.create(t, phone, goodPIN)
		const other, third = "+254722222222", "+254733333333"
		if one, two := r.ask(t, other, id), r.ask(t, other, "CZZZZZZZZ"); one.Name != two.Name || len(one.Set)+len(two.Set) != 0 {
			t.Errorf("resetStart = %+v and %+v, want the same", one, two)
		}
		if n := r.count(t, `SELECT count(*) FROM sms_messages`); n != 0 {
			t.Errorf("%d messages to a number that is not the account's", n)
		}
		for n := range 9 {
			one, two := r.finish(t, other, id, "123456", "90817"), r.finish(t, third, "CZZZZZZZZ", "123456", "90817")
			if one.Name != two.Name || one.Set["triesLeft"] != two.Set["triesLeft"] || one.Set["lockedFor"] != two.Set["lockedFor"] {
				t.Errorf("try %d: %+v and %+v, want the same", n, one, two)
			}
		}
	})
}

func TestResetWithoutMessages(t *testing.T) {
	t.Parallel()
	r := newRig(t, dbtest.SQLite(t), func(r *rig, c *account.Config) {
		c.SMS = sms.New(sms.Config{DB: r.db, Jobs: r.jobs, Key: c.Key})
	})
	id := r.create(t, phone, goodPIN)
	if out := r.ask(t, phone, id); out.Name != "off" {
		t.Errorf("resetStart = %+v, want off", out)
	}
	if out := r.do(t, "sms", call{with: map[string]string{"en": "Hello"}}); out.Name != "off" {
		t.Errorf("sms = %+v, want off", out)
	}
	pin, sent, err := r.Reset(t.Context(), id, true)
	if err != nil || sent || len(pin) != 5 {
		t.Errorf("Reset() = %q, %v, %v; want the PIN itself", pin, sent, err)
	}
}

// TestBlockedGetsNoCode: after nine tries only an operator helps.
func TestBlockedGetsNoCode(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		r := newRig(t, d, nil)
		r.run(t)
		id := r.create(t, phone, goodPIN)
		for n := range 9 {
			if out := r.login(t, "+25471000000"+string('0'+byte(n)), id, "70635"); n == 8 && out.Name != "blocked" {
				t.Fatalf("ninth try = %+v", out)
			}
			r.pass(time.Hour)
		}
		r.ask(t, phone, id)
		await(t, "a message is sent", func() bool { return len(r.sms.Sent()) == 1 })
		if text := r.sms.Sent()[0].Text; sixDigits.MatchString(text) || !strings.Contains(text, "blocked") {
			t.Errorf("message = %q, want no code", text)
		}
		if out := r.finish(t, phone, id, "123456", "90817"); out.Name != "blocked" {
			t.Errorf("resetFinish = %+v, want blocked", out)
		}
		if err := r.Unlock(t.Context(), id); err != nil {
			t.Fatal(err)
		}
		r.enter(t, phone, id, goodPIN)
		if got := r.types(t); !slices.Equal(got, []string{"ussd.account_created", "ussd.account_locked", "ussd.account_locked", "ussd.account_locked", "ussd.account_unlocked"}) {
			t.Errorf("events = %q", got)
		}
	})
}

// TestHold: a number with a new card neither logs in nor gets codes.
func TestHold(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		r := newRig(t, d, nil)
		id := r.create(t, phone, goodPIN)
		if err := r.Hold(t.Context(), "0700", r.time()); err == nil {
			t.Error("Hold() takes what is no number")
		}
		if err := r.Hold(t.Context(), phone, r.time().Add(72*time.Hour)); err != nil {
			t.Fatal(err)
		}
		if out := r.login(t, phone, id, goodPIN); out.Name != "held" {
			t.Errorf("login = %+v, want held", out)
		}
		if out := r.ask(t, phone, id); out.Name != "ok" || r.count(t, `SELECT count(*) FROM sms_messages`) != 0 {
			t.Errorf("resetStart = %+v, want ok and no message", out)
		}
		numbers, err := r.LockedNumbers(t.Context(), "", 10)
		if err != nil || len(numbers) != 1 || !numbers[0].Held || numbers[0].Phone != phone {
			t.Errorf("LockedNumbers() = %+v, %v", numbers, err)
		}
		r.enter(t, "+254722222222", id, goodPIN) // the owner's other handset
		r.pass(72 * time.Hour)
		r.enter(t, phone, id, goodPIN)
		if _, err := r.Expire(t.Context(), time.Time{}, 100); err != nil {
			t.Fatal(err)
		}
		if n := r.count(t, `SELECT count(*) FROM ussd_locks`); n != 0 {
			t.Errorf("%d locks are left", n)
		}
	})
}

// TestHoldAndRelease: only a release ends a hold before its time, a hold without
// an end lasts until then, and both are recorded without the number.
func TestHoldAndRelease(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		r := newRig(t, d, nil)
		r.run(t)
		id := r.create(t, phone, goodPIN)
		ctx := web.WithCaller(t.Context(), web.Caller{Workspace: auth.OperatorWorkspace, DID: "did:x:op"})
		me := r.login(t, phone, id, goodPIN)
		stands := func(number string) bool {
			t.Helper()
			var ok bool
			err := r.db.InTx(ctx, func(tx *db.Tx) (err error) {
				ok, err = r.Actions()["login"].Stands(ctx, tx, machine.Login{Account: *me.Account, Proof: me.Proof, Phone: number, Now: r.time()})
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
			return ok
		}
		if got, err := r.Release(ctx, phone); got || err != nil {
			t.Errorf("Release() of a number that is not held = %v, %v", got, err)
		}
		if err := r.Hold(ctx, strings.ToLower(id), time.Time{}); err != nil {
			t.Fatal(err)
		}
		r.pass(1000 * 24 * time.Hour)
		if out := r.login(t, phone, id, goodPIN); out.Name != "held" {
			t.Errorf("login = %+v, want held", out)
		}
		if stands(phone) || !stands("+254722222222") {
			t.Error("a held number stays logged in, or another handset does not")
		}
		if err := r.Unlock(ctx, id); err != nil {
			t.Fatal(err)
		}
		if pin, sent, err := r.Reset(ctx, id, true); err != nil || sent || len(pin) != 5 {
			t.Errorf("Reset() = %q, %v, %v; want no message to a card that may be somebody else's", pin, sent, err)
		}
		if out := r.login(t, phone, id, goodPIN); out.Name != "held" {
			t.Errorf("login after unlock and reset = %+v, want held still", out)
		}
		if got, err := r.Release(ctx, id); !got || err != nil {
			t.Errorf("Release() = %v, %v", got, err)
		}
		if out := r.login(t, phone, id, goodPIN); out.Name != "wrong" {
			t.Errorf("login after the release = %+v, want the old PIN to be wrong", out)
		}
		for _, ref := range []string{"C99999999", "nonsense", "0700"} {
			if err := r.Hold(ctx, ref, time.Time{}); err == nil {
				t.Errorf("Hold(%q) is taken", ref)
			}
			if _, err := r.Release(ctx, ref); err == nil {
				t.Errorf("Release(%q) is taken", ref)
			}
		}
		want := []string{"ussd.account_created", "ussd.number_held", "ussd.account_unlocked", "ussd.pin_reset", "ussd.number_released"}
		if got := r.types(t); !slices.Equal(got, want) {
			t.Errorf("events = %q, want %q", got, want)
		}
		if n := r.count(t, `SELECT count(*) FROM events WHERE data LIKE '%254700%' OR subject LIKE '%254700%'`); n != 0 {
			t.Errorf("%d events name the number", n)
		}
	})
}

// TestLockedNumbersInPages: numbers that are locked and held are one list, in
// pages that leave nothing out.
func TestLockedNumbersInPages(t *testing.T) {
	t.Parallel()
	r := newRig(t, dbtest.SQLite(t), nil)
	var want []string
	for i := range 7 {
		number := fmt.Sprintf("+25470000%04d", i)
		locked, held := i%2 == 1 || i > 3, i%2 == 0 || i > 3
		for range 3 {
			if locked {
				r.login(t, number, fmt.Sprintf("C2222222%d", i+2), "70635")
			}
		}
		if held {
			if err := r.Hold(t.Context(), number, r.time().Add(time.Hour)); err != nil {
				t.Fatal(err)
			}
		}
		want = append(want, fmt.Sprint(number, locked, held))
	}
	for limit := 1; limit < 12; limit++ {
		var got []string
		for after := ""; ; {
			page, err := r.LockedNumbers(t.Context(), after, limit)
			if err != nil {
				t.Fatal(err)
			}
			if len(page) == 0 {
				break
			}
			for _, n := range page {
				got, after = append(got, fmt.Sprint(n.Phone, n.Wrong > 0, n.Held)), n.Phone
				if wait := n.LockedTo.Sub(r.time()); n.Held != (wait == time.Hour) {
					t.Errorf("%s is locked for %v", n.Phone, wait)
				}
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("pages of %d give %q, want %q", limit, got, want)
		}
	}
}

func TestTemporaryPIN(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		r := newRig(t, d, nil)
		r.run(t)
		id := r.create(t, phone, goodPIN)
		for range 9 {
			r.login(t, phone, id, "70635")
			r.pass(time.Hour)
		}
		if out := r.login(t, phone, id, goodPIN); out.Name != "blocked" {
			t.Fatalf("login = %+v, want blocked", out)
		}
		pin, sent, err := r.Reset(t.Context(), id, false)
		if err != nil || sent || len(pin) != 5 || !r.one(t, id).Temporary {
			t.Fatalf("Reset() = %q, %v, %v", pin, sent, err)
		}
		out := r.login(t, phone, id, pin)
		if out.Name != "temporary" || out.Account != nil || out.Set["pinTicket"] == "" {
			t.Fatalf("login = %+v, want temporary and nobody logged in", out)
		}
		change := func(pin string) machine.Result {
			return r.do(t, "changePin", call{vars: out.Set, secrets: map[string]string{"pin": pin, "confirm": pin}})
		}
		if got := change(pin); got.Name != "weak" {
			t.Errorf("changePin to the temporary one = %+v", got)
		}
		if got := change("90817"); got.Name != "ok" || got.Account == nil || got.Set["customerName"] == "" {
			t.Errorf("changePin = %+v, want to be logged in", got)
		}
		if got := change("31415"); got.Name != "wrong" {
			t.Errorf("changePin with the same ticket again = %+v", got)
		}
		r.enter(t, phone, id, "90817")

		if pin, sent, err := r.Reset(t.Context(), id, true); err != nil || !sent || pin != "" {
			t.Fatalf("Reset() = %q, %v, %v; want it sent and not shown", pin, sent, err)
		}
		await(t, "a message is sent", func() bool { return len(r.sms.Sent()) == 1 })
		late := regexp.MustCompile(`\b\d{5}\b`).FindString(r.sms.Sent()[0].Text)
		r.pass(24 * time.Hour)
		if out := r.login(t, phone, id, late); out.Name != "wrong" {
			t.Errorf("login with a temporary PIN of yesterday = %+v", out)
		}
	})
}
