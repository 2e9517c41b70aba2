package account_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
	"github.com/hearth-dmrv/hearth/internal/ussd/account"
)

// TestHeldNumberOpensNothing: a held number opens no account, and is told the
// same for every id, whether or not there is such an account or it is locked.
func TestHeldNumberOpensNothing(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		r := newRig(t, d, nil)
		id := r.create(t, phone, goodPIN)
		for range 9 {
			r.login(t, "+254722222222", id, "70635")
			r.pass(time.Hour)
		}
		if err := r.Hold(t.Context(), phone, time.Time{}); err != nil {
			t.Fatal(err)
		}
		for _, customer := range []string{id, "CZZZZZZZZ"} {
			if out := r.login(t, phone, customer, goodPIN); out.Name != "held" {
				t.Errorf("login to %s = %+v, want held", customer, out)
			}
		}
		out := r.do(t, "createAccount", call{phone: phone, vars: map[string]string{"name": "Eve"}, secrets: map[string]string{"pin": goodPIN, "confirm": goodPIN}})
		if n := r.count(t, `SELECT count(*) FROM ussd_accounts`); out.Name != "held" || n != 1 {
			t.Errorf("createAccount = %+v with %d accounts, want held and 1", out, n)
		}
		if n, err := r.Held(t.Context(), id); err != nil || !n.Held || !n.Blocked || n.Phone != phone {
			t.Errorf("Held() = %+v, %v", n, err)
		}
		if n, err := r.Held(t.Context(), "+254722222222"); err != nil || n.Held {
			t.Errorf("Held() of another number = %+v, %v", n, err)
		}
	})
}

// TestListHeld: accounts of held numbers are among the locked ones, each once,
// in pages that leave nothing out.
func TestListHeld(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		r := newRig(t, d, nil)
		var want []string
		for n := range 4 {
			number := fmt.Sprintf("+25470000000%d", n)
			for i := range 3 {
				id := r.create(t, number, goodPIN)
				switch {
				case i == 2:
					if err := r.Close(t.Context(), id); err != nil {
						t.Fatal(err)
					}
				case n > 0:
					want = append(want, id)
				}
				for range 3 {
					if n == 2 && i == 1 { // locked and held
						r.login(t, "+254722222222", id, "70635")
					}
				}
			}
			if n > 0 {
				if err := r.Hold(t.Context(), number, r.time().Add(time.Duration(n)*time.Hour)); err != nil {
					t.Fatal(err)
				}
			}
		}
		if err := r.Hold(t.Context(), "+254733333333", time.Time{}); err != nil { // nobody's
			t.Fatal(err)
		}
		slices.Sort(want)
		for limit := 1; limit < 9; limit++ {
			var got []string
			for after, pages := "", 0; pages == 0 || after != ""; pages++ {
				page, next, err := r.List(t.Context(), account.Filter{Locked: true}, after, limit)
				if err != nil || len(page) > limit || pages > 40 {
					t.Fatalf("page %d of %d accounts, %v", pages, len(page), err)
				}
				for _, a := range page {
					if got = append(got, a.CustomerID); !a.Held || a.HeldTo.IsZero() {
						t.Errorf("account = %+v, want the end of its hold", a)
					}
				}
				after = next
			}
			if slices.Sort(got); !slices.Equal(got, want) {
				t.Errorf("pages of %d: %q, want %q", limit, got, want)
			}
		}
	})
}
