package account_test

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
	"github.com/hearth-dmrv/hearth/internal/job"
	"github.com/hearth-dmrv/hearth/internal/ussd/account"
)

// TestPINIsNowhere uses canary PINs in every action and operation there is, on
// a store that is rotated in the end, and looks for them in the files of the
// store and the log. Numbers are looked for in the log, events and jobs.
func TestPINIsNowhere(t *testing.T) {
	t.Parallel()
	var path string
	d := dbtest.SQLite(t, dbtest.With(func(c *db.Config) { path = c.Path }))
	w := &twins{}
	r := newRig(t, d, w.with)
	stop := r.run(t)
	// Digits that a time or an id is not likely to hold by chance are long; a
	// PIN is short. So look for it between anything that is no hexadecimal
	// digit, and use several.
	pins := []string{"86421", "97530", "60284", "71593"}
	const number = "+254788990011"
	id := r.create(t, number, pins[0])
	me := r.enter(t, number, id, pins[0])
	r.login(t, number, id, pins[1])
	r.login(t, number, "CZZZZZZZZ", pins[1])
	r.do(t, "findCustomer", call{phone: number, vars: map[string]string{"customerId": id}})
	r.do(t, "weakPin", call{phone: number, secrets: map[string]string{"pin": pins[1]}})
	r.do(t, "changePin", call{phone: number, account: me, secrets: map[string]string{"oldPin": pins[0], "pin": pins[1], "confirm": pins[1]}})
	r.do(t, "changePin", call{phone: number, account: me, secrets: map[string]string{"oldPin": pins[3], "pin": pins[0], "confirm": pins[0]}})
	r.do(t, "householdStatus", call{phone: number, account: me})
	r.do(t, "registerHousehold", call{phone: number, account: me, vars: map[string]string{"district": "Kitui", "size": "3"}})
	r.do(t, "setLanguage", call{phone: number, account: me, vars: map[string]string{"language": "sw"}})
	r.do(t, "sms", call{phone: number, account: me, with: map[string]string{"en": "Hello"}})
	r.do(t, "logout", call{phone: number, account: me})
	r.ask(t, number, id)
	await(t, "messages are sent", func() bool { return len(r.sms.Sent()) >= 3 })
	code := ""
	for _, m := range r.sms.Sent() {
		if c := sixDigits.FindString(m.Text); c != "" {
			code = c
		}
	}
	r.finish(t, number, id, "000000", pins[2])
	if out := r.finish(t, number, id, code, pins[2]); out.Name != "ok" {
		t.Fatalf("resetFinish = %+v", out)
	}
	temporary, _, err := r.Reset(t.Context(), id, false)
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := r.Reset(t.Context(), id, true); err != nil {
		t.Fatal(err)
	}
	await(t, "messages are sent", func() bool { return len(r.sms.Sent()) >= 4 })
	for range 3 {
		for range 3 {
			r.login(t, number, id, pins[3])
		}
		r.pass(time.Hour)
	}
	stop()
	two := newRig(t, d, func(r *rig, c *account.Config) { w.with(r, c); c.PINKey, c.PINKeyOld = keyTwo, keyOne })
	two.run(t)
	await(t, "the rotation has ended", func() bool { return two.rotations(t)[0].Status == job.Succeeded })
	await(t, "the log tells of the rotation", func() bool { return strings.Contains(two.logs.String(), account.KindRotate) })
	prove := two.Prove(t.Context())
	if prove != nil {
		t.Fatal(prove)
	}

	logs := r.logs.String() + two.logs.String()
	places := map[string]string{"the log": logs}
	for _, file := range []string{path, path + "-wal"} {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		places[file] = string(data)
	}
	for place, data := range places {
		if len(data) < 1000 {
			t.Errorf("%s has %d bytes: nothing was looked at", place, len(data))
		}
		for _, pin := range append(pins, temporary, code) {
			if where := alone(data, pin); where != "" {
				t.Errorf("%s holds the PIN or code %s: %q", place, pin, where)
			}
		}
	}
	for _, personal := range []string{"254788990011", "88990011", "Amina", "amina@example.org"} {
		if strings.Contains(logs, personal) {
			t.Errorf("the log holds %q", personal)
		}
		for _, table := range []string{
			`SELECT count(*) FROM events WHERE data LIKE $1 OR subject LIKE $1 OR actor LIKE $1`,
			`SELECT count(*) FROM jobs WHERE payload LIKE $1 OR coalesce(state, '') LIKE $1 OR coalesce(result, '') LIKE $1 OR coalesce(errors, '') LIKE $1 OR coalesce(dedupe, '') LIKE $1`,
			`SELECT count(*) FROM sms_messages WHERE about LIKE $1 OR error LIKE $1 OR provider_id LIKE $1`,
		} {
			if n := r.count(t, table, "%"+personal+"%"); n != 0 {
				t.Errorf("%q is in %d rows of %s", personal, n, table)
			}
		}
	}
	if n := r.count(t, `SELECT count(*) FROM sms_messages WHERE recipient IS NOT NULL OR body IS NOT NULL`); n != 0 {
		t.Errorf("%d messages keep their text", n)
	}
}

// alone finds digits that are not part of a longer hexadecimal number, and
// gives what is around them.
func alone(data, digits string) string {
	const hex = "0123456789abcdefABCDEF-"
	for from := 0; ; {
		i := strings.Index(data[from:], digits)
		if i < 0 {
			return ""
		}
		i += from
		end := i + len(digits)
		before, after := data[max(0, i-1):i], data[end:min(len(data), end+1)]
		if (before == "" || !strings.Contains(hex, before)) && (after == "" || !strings.Contains(hex, after)) {
			return data[max(0, i-20):min(len(data), end+20)]
		}
		from = end
	}
}
