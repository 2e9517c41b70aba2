package account_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
	"github.com/hearth-dmrv/hearth/internal/ussd/account"
	"github.com/hearth-dmrv/hearth/internal/ussd/machine"
	"github.com/hearth-dmrv/hearth/internal/ussd/sms"
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
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
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
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
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
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
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
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		r := newRig(t, d, nil)
		id := r.create(t, phone, goodPIN)
		if err := r.Hold(t.Context(), "0700", r.time()); err == nil {
			t.Error("Hold() takes what is no number")
		}
		if err := r.Hold(t.Context(), phone, r.time().Add(72*time.Hour)); err != nil {
			t.Fatal(err)
		}
		if out := r.login(t, phone, id, goodPIN); out.Name != "blocked" {
			t.Errorf("login = %+v, want blocked", out)
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

func TestTemporaryPIN(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
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
