package account_test

import (
	"fmt"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
	"github.com/hearth-dmrv/hearth/internal/ussd/machine"
)

func TestCreateAndLogin(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		r := newRig(t, d, nil)
		id := r.create(t, phone, goodPIN)
		a := r.one(t, id)
		if a.Name != "Amina Otieno" || a.Email != "amina@example.org" || a.Phone != phone || a.Language != "en" || a.Status != "active" || a.DID == "" || a.DID == a.Household {
			t.Errorf("account = %+v", a)
		}
		lower := "c" + id[1:]
		out := r.login(t, "+254711111111", lower, goodPIN) // from any handset, in either case
		if out.Name != "ok" || out.Account == nil || *out.Account != a.ID || out.Set["customerName"] != a.Name || out.Lang != "en" {
			t.Errorf("login = %+v", out)
		}
		if n := r.count(t, `SELECT count(*) FROM ussd_locks WHERE wrong > 0`); n != 0 {
			t.Errorf("%d locks after right PINs only", n)
		}
		if out := r.do(t, "logout", call{account: a.ID}); out.Account == nil || *out.Account != "" {
			t.Errorf("logout = %+v", out)
		}
		if got := r.types(t); !slices.Equal(got, []string{"ussd.account_created"}) {
			t.Errorf("events = %q", got)
		}
	})
}

func TestCreateRefuses(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		r := newRig(t, d, nil)
		for _, tt := range []struct{ pin, confirm, lang, want, reason string }{
			{"12345", "12345", "en", "weak", "Its digits follow each other."},
			{"77777", "77777", "sw", "weak", "Tarakimu zake zote ni sawa."},
			{"00001", "00001", "en", "weak", "It is the end of your phone number."},
			{"1234", "1234", "en", "weak", "A PIN has 5 digits."},
			{"abcde", "abcde", "fr", "weak", "A PIN has 5 digits."},
			{"48291", "48292", "en", "mismatch", ""},
			{"48291", "", "en", "mismatch", ""},
		} {
			c := call{lang: tt.lang, vars: map[string]string{"name": "A"}, secrets: map[string]string{"pin": tt.pin, "confirm": tt.confirm}}
			if out := r.do(t, "createAccount", c); out.Name != tt.want || out.Set["weakReason"] != tt.reason {
				t.Errorf("createAccount with %s, %s = %+v, want %s %q", tt.pin, tt.confirm, out, tt.want, tt.reason)
			}
			early := "ok"
			if tt.want == "weak" {
				early = "weak"
			}
			if out := r.do(t, "weakPin", c); out.Name != early || out.Set["weakReason"] != tt.reason {
				t.Errorf("weakPin with %s = %+v, want %s", tt.pin, out, early)
			}
		}
		if n := r.count(t, `SELECT count(*) FROM ussd_accounts`); n != 0 {
			t.Errorf("%d accounts were made", n)
		}
	})
}

// TestFull: five accounts for one number, however many ask at once.
func TestFull(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		r := newRig(t, d, nil)
		var mu sync.Mutex
		got := map[string]int{}
		var wg sync.WaitGroup
		for range 12 {
			wg.Go(func() {
				out := r.do(t, "createAccount", call{vars: map[string]string{"name": "A"}, secrets: map[string]string{"pin": goodPIN, "confirm": goodPIN}})
				mu.Lock()
				defer mu.Unlock()
				got[out.Name]++
			})
		}
		wg.Wait()
		if got["ok"] != 5 || got["full"] != 7 {
			t.Errorf("results = %v, want 5 ok and 7 full", got)
		}
		r.create(t, "+254700000002", goodPIN) // another number has its own
	})
}

// TestSamePINsLookDifferent: quality row C5.
func TestSamePINsLookDifferent(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		r := newRig(t, d, nil)
		one, two := r.create(t, phone, goodPIN), r.create(t, phone, "70635")
		r.create(t, phone, goodPIN)
		if n := r.count(t, `SELECT count(DISTINCT pin) FROM ussd_accounts`); n != 3 {
			t.Errorf("%d different sealed PINs, want 3", n)
		}
		// Somebody who can write to the store moves one PIN over another.
		if _, err := d.Exec(t.Context(), `UPDATE ussd_accounts SET pin = (SELECT pin FROM ussd_accounts WHERE customer_id = $1) WHERE customer_id = $2`, two, one); err != nil {
			t.Fatal(err)
		}
		out, err := r.try(t.Context(), "login", call{vars: map[string]string{"customerId": one}, secrets: map[string]string{"pin": "70635"}})
		if err == nil {
			t.Errorf("login with a moved PIN = %+v, want trouble", out)
		}
	})
}

// step is one try of a scenario.
type step struct {
	wait        time.Duration
	phone, id   string // id "" is the real one, "none" one nobody has
	pin         string
	want        string
	tries, mins string
}

// walk runs a scenario; every second step on a new server over the same store.
func walk(t *testing.T, d *db.DB, steps []step) {
	t.Helper()
	r := newRig(t, d, nil)
	id := r.create(t, phone, goodPIN)
	for i, s := range steps {
		if i%2 == 1 {
			next := newRig(t, d, nil)
			next.now = r.now
			r = next
		}
		r.pass(s.wait)
		customer := id
		if s.id != "" {
			customer = s.id
		}
		number := phone
		if s.phone != "" {
			number = s.phone
		}
		if out := r.login(t, number, customer, s.pin); out.Name != s.want || out.Set["triesLeft"] != s.tries || out.Set["lockedFor"] != s.mins {
			t.Errorf("step %d: %+v, want %s, %q left, %q minutes", i, out, s.want, s.tries, s.mins)
		}
	}
}

func TestLockout(t *testing.T) {
	t.Parallel()
	const bad, other, none = "70635", "+254722222222", "CZZZZZZZZ"
	wrong := func(left string) step { return step{pin: bad, want: "wrong", tries: left} }
	lockedNow := func(minutes string) step { return step{pin: bad, want: "locked", mins: minutes} }
	blocked := step{pin: goodPIN, want: "blocked"}
	three := func(last step) []step { return []step{wrong("2"), wrong("1"), last} }
	after := func(d time.Duration, s []step) []step { s[0].wait = d; return s }
	from := func(number string, s []step) []step {
		for i := range s {
			s[i].phone = number
		}
		return s
	}
	on := func(id string, s []step) []step {
		for i := range s {
			s[i].id = id
		}
		return s
	}
	nine := func() []step {
		return slices.Concat(three(lockedNow("15")), after(15*time.Minute, three(lockedNow("30"))), after(30*time.Minute, three(step{pin: bad, want: "blocked"})))
	}
	for _, tt := range []struct {
		name  string
		steps []step
	}{
		{"15 minutes, 30, then an operator", append(nine(), blocked, step{wait: 1000 * time.Hour, phone: other, pin: goodPIN, want: "blocked"})},
		{"an id nobody has is the same", on(none, append(nine(), blocked, step{wait: 1000 * time.Hour, phone: other, pin: goodPIN, want: "blocked"}))},
		{"the right PIN does not open a lock", append(three(lockedNow("15")), step{wait: 14 * time.Minute, pin: goodPIN, want: "locked", mins: "1"}, step{wait: time.Minute, pin: goodPIN, want: "ok"})},
		{"tries while locked do not count", append(three(lockedNow("15")), lockedNow("15"), lockedNow("15"), lockedNow("15"), lockedNow("15"), step{wait: 15 * time.Minute, pin: bad, want: "wrong", tries: "2"})},
		{"the right PIN clears the tries", []step{wrong("2"), wrong("1"), {pin: goodPIN, want: "ok"}, wrong("2"), wrong("1"), {pin: goodPIN, want: "ok"}, wrong("2")}},
		{"other numbers share the tries on an account", append(append(on("", from(other, []step{wrong("2"), wrong("1")})), lockedNow("15")), step{phone: "+254733333333", pin: goodPIN, want: "locked", mins: "15"})},
		{"other ids share the tries of a number", from(other, []step{{id: "CAAAAAAAA", pin: bad, want: "wrong", tries: "2"}, {id: none, pin: bad, want: "wrong", tries: "1"}, {pin: bad, want: "locked", mins: "15"}, {pin: goodPIN, want: "locked", mins: "15"}})},
		{"the account of the number has tries of its own", []step{{id: "CAAAAAAAA", pin: bad, want: "wrong", tries: "2"}, {id: none, pin: bad, want: "wrong", tries: "1"}, wrong("2"), {id: none, pin: bad, want: "locked", mins: "15"}, wrong("1"), {pin: goodPIN, want: "ok"}, {id: "CAAAAAAAA", pin: bad, want: "locked", mins: "15"}}},
		{"a mistyped id is put right in the same call", []step{{id: none, pin: goodPIN, want: "wrong", tries: "2"}, {id: none, pin: goodPIN, want: "wrong", tries: "1"}, {id: none, pin: goodPIN, want: "locked", mins: "15"}, {pin: goodPIN, want: "ok"}}},
		{"the account of the number is reachable while the number is blocked", slices.Concat(on(none, nine()), []step{{id: none, pin: goodPIN, want: "blocked"}, {pin: goodPIN, want: "ok"}})},
		{"tries on the account of the number count for no other", append(three(lockedNow("15")), step{id: none, pin: bad, want: "wrong", tries: "2"}, step{pin: goodPIN, want: "locked", mins: "15"})},
		{"slips elsewhere are no credit", []step{wrong("2"), wrong("1"), {phone: other, id: none, pin: bad, want: "wrong", tries: "2"}, {phone: other, id: "CAAAAAAAA", pin: bad, want: "wrong", tries: "1"}, {phone: other, pin: goodPIN, want: "ok"}, {phone: other, id: "CBBBBBBBB", pin: bad, want: "locked", mins: "15"}}},
		{"one's own slips on the id of another are taken back", from(other, []step{wrong("2"), wrong("1"), {pin: goodPIN, want: "ok"}, {id: none, pin: bad, want: "wrong", tries: "2"}, {id: "CAAAAAAAA", pin: bad, want: "wrong", tries: "1"}})},
		{"one's own account clears nothing of others", []step{{id: none, pin: bad, want: "wrong", tries: "2"}, {pin: goodPIN, want: "ok"}, {id: none, pin: bad, want: "wrong", tries: "1"}, {pin: goodPIN, want: "ok"}, {id: none, pin: bad, want: "locked", mins: "15"}}},
		{"tries of a number fade, those on an account do not", from(other, []step{{id: none, pin: bad, want: "wrong", tries: "2"}, wrong("1"), {wait: 25 * time.Hour, id: "CBBBBBBBB", pin: bad, want: "wrong", tries: "2"}, {pin: bad, want: "wrong", tries: "1"}, {pin: bad, want: "locked", mins: "15"}})},
		{"what is no id counts for the number", []step{{id: "C1*", pin: bad, want: "wrong", tries: "2"}, {id: "x", pin: bad, want: "wrong", tries: "1"}, {id: "C", pin: bad, want: "locked", mins: "15"}, {phone: other, id: "C", pin: bad, want: "wrong", tries: "2"}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			dbtest.Any(t, func(t *testing.T, d *db.DB) { walk(t, d, tt.steps) })
		})
	}
}

// TestGuessesAtOnce: a flood of guesses gets no more tries than one after the
// other, from as many numbers as there are.
func TestGuessesAtOnce(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		r := newRig(t, d, nil)
		id := r.create(t, phone, goodPIN)
		var mu sync.Mutex
		got := map[string]int{}
		var wg sync.WaitGroup
		for n := range 40 {
			wg.Go(func() {
				out := r.login(t, fmt.Sprintf("+25471%07d", n), id, fmt.Sprintf("7%04d", n))
				mu.Lock()
				defer mu.Unlock()
				got[out.Name]++
			})
		}
		wg.Wait()
		if got["wrong"] != 2 || got["locked"] != 38 {
			t.Errorf("results = %v, want 2 wrong and 38 locked", got)
		}
		if a := r.one(t, id); a.Wrong != 3 || a.LockedTo.IsZero() {
			t.Errorf("account = %+v, want 3 tries and a lock", a)
		}
	})
}

func TestChangePIN(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		r := newRig(t, d, nil)
		id := r.create(t, phone, goodPIN)
		me := r.enter(t, phone, id, goodPIN)
		change := func(old, pin, confirm string) machine.Result {
			return r.do(t, "changePin", call{account: me, secrets: map[string]string{"oldPin": old, "pin": pin, "confirm": confirm}})
		}
		for _, tt := range []struct{ old, pin, confirm, want, reason string }{
			{goodPIN, "11111", "11111", "weak", "All its digits are the same."},
			{goodPIN, goodPIN, goodPIN, "weak", "It is the PIN you have now."},
			{goodPIN, "70635", "70636", "mismatch", ""},
			{"70635", "70635", "70635", "wrong", ""},
		} {
			if out := change(tt.old, tt.pin, tt.confirm); out.Name != tt.want || out.Set["weakReason"] != tt.reason {
				t.Errorf("changePin(%s, %s, %s) = %+v, want %s", tt.old, tt.pin, tt.confirm, out, tt.want)
			} else if _, forgets := out.Set["oldPin"]; forgets != (tt.want == "wrong") {
				t.Errorf("changePin = %+v, want the old PIN kept only while the new one is asked for again", out)
			}
		}
		out := change(goodPIN, "70635", "70635")
		if _, forgets := out.Set["oldPin"]; out.Name != "ok" || out.Lang != "" || !forgets {
			t.Errorf("changePin = %+v, want ok and the old PIN forgotten", out)
		}
		r.enter(t, phone, id, "70635")
		if out := r.login(t, phone, id, goodPIN); out.Name != "wrong" {
			t.Errorf("login with the old PIN = %+v", out)
		}
		r.enter(t, phone, id, "70635")
		// Somebody who takes the handset of whoever is logged in guesses no more than others.
		for _, want := range []string{"wrong", "wrong", "locked"} {
			if out := change("99999", "70635", "70635"); out.Name != want {
				t.Errorf("changePin with a wrong PIN = %s, want %s", out.Name, want)
			}
		}
		for _, c := range []call{{}, {account: "nobody"}, {vars: map[string]string{"pinTicket": me}}} {
			c.secrets = map[string]string{"pin": "90817", "confirm": "90817"}
			if out := r.do(t, "changePin", c); out.Name != "wrong" {
				t.Errorf("changePin of nobody = %+v", out)
			}
		}
		if got := r.types(t); !slices.Equal(got, []string{"ussd.account_created", "ussd.pin_changed", "ussd.account_locked"}) {
			t.Errorf("events = %q", got)
		}
	})
}

func TestLanguage(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		r := newRig(t, d, nil)
		id := r.create(t, phone, goodPIN)
		me := r.enter(t, phone, id, goodPIN)
		if out := r.do(t, "setLanguage", call{account: me, with: map[string]string{"language": "sw"}}); out.Name != "ok" || out.Lang != "sw" {
			t.Errorf("setLanguage = %+v", out)
		}
		if out := r.login(t, phone, id, goodPIN); out.Lang != "sw" {
			t.Errorf("login speaks %q, want sw", out.Lang)
		}
		if out := r.do(t, "setLanguage", call{vars: map[string]string{"language": "not a code"}}); out.Lang != "en" {
			t.Errorf("setLanguage = %+v, want the language as it was", out)
		}
	})
}

func TestFindCustomer(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		r := newRig(t, d, nil)
		id := r.create(t, phone, goodPIN)
		find := func(id string) string {
			return r.do(t, "findCustomer", call{vars: map[string]string{"customerId": id}}).Name
		}
		if got := find(id); got != "ok" {
			t.Errorf("findCustomer = %s, want ok", got)
		}
		// An id nobody has is found like one that somebody has, and the login
		// that follows is what counts, on both alike.
		for n := range 3 {
			nobody := "CZZZZZZZ" + strconv.Itoa(n+2)
			if got := find(nobody); got != "ok" {
				t.Errorf("findCustomer of nobody = %s, want ok", got)
			}
			if n == 0 {
				if got := find("C"); got != "missing" {
					t.Errorf("findCustomer of no id = %s, want missing", got)
				}
			}
			want := []string{"wrong", "wrong", "locked"}[n]
			if got := r.login(t, phone, nobody, goodPIN); got.Name != want {
				t.Errorf("login as nobody = %+v, want %s", got, want)
			}
		}
		if got := find("CZZZZZZZ9"); got != "missing" {
			t.Errorf("findCustomer from a locked number = %s, want missing", got)
		}
		if got := find(id); got != "ok" {
			t.Errorf("findCustomer of the number's own account = %s, want ok", got)
		}
		if n := r.count(t, `SELECT count(*) FROM ussd_locks WHERE wrong = 0`); n != 0 {
			t.Errorf("%d empty locks are left", n)
		}
	})
}
