package account_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/hearth-dmrv/hearth/internal/auth"
	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
	"github.com/hearth-dmrv/hearth/internal/job"
	"github.com/hearth-dmrv/hearth/internal/secret"
	"github.com/hearth-dmrv/hearth/internal/ussd/account"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// keys sets the keys of a rig.
func keys(pin, old string) func(*rig, *account.Config) {
	return func(_ *rig, c *account.Config) { c.PINKey, c.PINKeyOld = pin, old }
}

// prove makes a server with some keys and says whether it would start.
func prove(t *testing.T, r *rig, pin, old string) error {
	t.Helper()
	key, err := secret.Parse(strings.Repeat("k", 32)) // that of the rig
	if err != nil {
		t.Fatal(err)
	}
	s, err := account.New(account.Config{DB: r.db, Events: r.events, Jobs: r.jobs, SMS: r.outbox, Key: key, PINKey: pin, PINKeyOld: old})
	if err != nil {
		t.Fatal(err)
	}
	return s.Prove(t.Context())
}

func TestWrongKeyStopsTheStart(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		r := newRig(t, d, nil)
		if err := prove(t, r, keyTwo, ""); err != nil {
			t.Errorf("a store without PINs: %v, want any key to do", err)
		}
		r.create(t, phone, goodPIN)
		if err := prove(t, r, keyOne, ""); err != nil {
			t.Errorf("the right key: %v", err)
		}
		for _, pair := range [][2]string{{keyTwo, ""}, {"", ""}, {keyTwo, keyThree}} {
			err := prove(t, r, pair[0], pair[1])
			if err == nil {
				t.Errorf("keys %q: the server starts", pair)
				continue
			}
			if text := err.Error(); !strings.Contains(text, "PIN_ENCRYPTION_KEY_OLD") || strings.Contains(text, keyTwo) || strings.Contains(text, keyOne) {
				t.Errorf("error = %q, want the setting and no key", text)
			}
		}
		// The name of the key is right and the key is not: the store was changed.
		if _, err := d.Exec(t.Context(), `UPDATE ussd_accounts SET pin = $1`, []byte("nothing that was ever sealed by anybody")); err != nil {
			t.Fatal(err)
		}
		if err := prove(t, r, keyOne, ""); err == nil {
			t.Error("PINs that do not open: the server starts")
		}
	})
}

func TestBadKeyTexts(t *testing.T) {
	t.Parallel()
	for _, c := range []account.Config{{PINKey: "short"}, {PINKey: keyOne, PINKeyOld: "short"}} {
		if _, err := account.New(c); err == nil || !strings.HasPrefix(err.Error(), "PIN_ENCRYPTION_KEY") || strings.Contains(err.Error(), "short") {
			t.Errorf("New() = %v, want the name of the setting and not its value", err)
		}
	}
}

// fill makes accounts with known PINs and gives the PIN of each.
func (r *rig) fill(t *testing.T, n int) map[string]string {
	t.Helper()
	pins := map[string]string{}
	for i := range n {
		number := fmt.Sprintf("+2547%08d", i)
		pin := fmt.Sprintf("%05d", (i*7919+20202)%100000)
		out := r.do(t, "createAccount", call{phone: number, vars: map[string]string{"name": "A"}, secrets: map[string]string{"pin": pin, "confirm": pin}})
		if out.Name == "ok" {
			pins[out.Set["customerId"]] = pin
		}
	}
	return pins
}

// keysInUse counts the PINs under each key.
func (r *rig) keysInUse(t testing.TB) map[string]int {
	t.Helper()
	rows, err := r.db.Query(t.Context(), `SELECT pin_key, count(*) FROM ussd_accounts GROUP BY pin_key`)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	out := map[string]int{}
	for rows.Next() {
		var key string
		var n int
		if err := rows.Scan(&key, &n); err != nil {
			t.Fatal(err)
		}
		out[key] = n
	}
	return out
}

// rotations lists the jobs that move PINs.
func (r *rig) rotations(t testing.TB) []job.Job {
	t.Helper()
	ctx := web.WithCaller(t.Context(), web.Caller{Workspace: auth.OperatorWorkspace, Scopes: []string{"*"}})
	jobs, _, err := r.jobs.List(ctx, job.Filter{Kind: account.KindRotate}, 0, 10)
	if err != nil {
		t.Fatal(err)
	}
	return jobs
}

// exec changes rows behind the service's back.
func (r *rig) exec(t testing.TB, sql string, args ...any) {
	t.Helper()
	if n, err := r.db.Exec(t.Context(), sql, args...); err != nil || n == 0 {
		t.Fatalf("changed %d rows: %v", n, err)
	}
}

// dieAt has a server die when its rotation comes to the account at a place: a
// damaged PIN there makes it write a line, and the line kills it. The PIN is
// whole again afterwards.
func dieAt(t *testing.T, d *db.DB, place int) {
	t.Helper()
	var id string
	var pin []byte
	if err := d.QueryRow(t.Context(), `SELECT id, pin FROM ussd_accounts ORDER BY id LIMIT 1 OFFSET $1`, place).Scan(&id, &pin); err != nil {
		t.Fatal(err)
	}
	r := newRig(t, d, keys(keyTwo, keyOne))
	r.exec(t, `UPDATE ussd_accounts SET pin = $1 WHERE id = $2`, []byte("damaged"), id)
	died := make(chan struct{})
	stop := r.run(t, func(h map[string]job.Handler) {
		rotate := h[account.KindRotate]
		h[account.KindRotate] = func(ctx context.Context, run *job.Run) error {
			inner, die := context.WithCancel(ctx)
			defer die()
			r.logs.listen(func(line string) {
				if strings.Contains(line, "does not open") {
					die()
				}
			})
			_ = rotate(inner, run)
			close(died)
			<-ctx.Done() // never heard of again
			return ctx.Err()
		}
	})
	<-died
	stop()
	r.exec(t, `UPDATE ussd_accounts SET pin = $1 WHERE id = $2`, pin, id)
}

// TestRotation changes the key while people log in and change their PINs, and
// stops the server in the middle. In the end all PINs are right without the old
// key.
func TestRotation(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		r := newRig(t, d, nil)
		pins := r.fill(t, 160)
		dieAt(t, d, 70)
		if use := slices.Sorted(maps.Values(r.keysInUse(t))); !slices.Equal(use, []int{50, len(pins) - 50}) {
			t.Fatalf("PINs under the keys = %v, want one chunk moved", use)
		}

		// The next server goes on, under load.
		r = newRig(t, d, keys(keyTwo, keyOne))
		if n := len(r.rotations(t)); n != 1 {
			t.Errorf("%d rotations, want the one of before", n)
		}
		stop := r.run(t)
		var mu sync.Mutex
		var wg sync.WaitGroup
		for n, id := range slices.Sorted(maps.Keys(pins))[:60] {
			wg.Go(func() {
				mu.Lock()
				pin := pins[id]
				mu.Unlock()
				number := fmt.Sprintf("+2549%08d", n)
				me := r.enter(t, number, id, pin)
				fresh := "9" + pin[1:4] + "7"
				if out := r.do(t, "changePin", call{phone: number, account: me, secrets: map[string]string{"oldPin": pin, "pin": fresh, "confirm": fresh}}); out.Name == "ok" {
					mu.Lock()
					pins[id] = fresh
					mu.Unlock()
				}
			})
		}
		wg.Wait()
		await(t, "all PINs are moved", func() bool { return len(r.keysInUse(t)) == 1 })
		await(t, "the rotation has ended", func() bool { return r.rotations(t)[0].Status == job.Succeeded })
		if done, err := r.Rotated(t.Context()); err != nil || !done {
			t.Errorf("Rotated() = %v, %v", done, err)
		}
		stop()

		r = newRig(t, d, keys(keyTwo, "")) // the old key is gone
		n := 0
		for id, pin := range pins {
			n++
			r.enter(t, fmt.Sprintf("+2548%08d", n), id, pin)
		}
		if err := prove(t, r, keyOne, ""); err == nil {
			t.Error("a server with the old key alone starts")
		}
		// And back again: a second rotation is asked for.
		r = newRig(t, d, keys(keyOne, keyTwo))
		r.run(t)
		await(t, "all PINs are moved back", func() bool { u := r.keysInUse(t); return len(u) == 1 && len(r.rotations(t)) == 2 })
	})
}

// TestFromTheServersOwnKey: a server that began without a PIN key gets one.
func TestFromTheServersOwnKey(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		r := newRig(t, d, keys("", ""))
		id := r.create(t, phone, goodPIN)
		before := r.keysInUse(t)
		r = newRig(t, d, keys(keyTwo, ""))
		r.run(t)
		await(t, "the PIN is moved", func() bool { return !maps.Equal(r.keysInUse(t), before) })
		r.enter(t, phone, id, goodPIN)
		if err := prove(t, r, "", ""); err == nil {
			t.Error("the server starts without the setting again")
		}
	})
}

// TestLoginMovesThePIN: nobody waits for the job.
func TestLoginMovesThePIN(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		r := newRig(t, d, nil)
		id := r.create(t, phone, goodPIN)
		r = newRig(t, d, keys("a passphrase of some length", keyOne))
		r.enter(t, phone, id, goodPIN)
		r = newRig(t, d, keys("a passphrase of some length", ""))
		r.enter(t, phone, id, goodPIN)
	})
}
