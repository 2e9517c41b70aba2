package credit_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
	"github.com/hearth-dmrv/hearth/internal/oracle/credit"
	"github.com/hearth-dmrv/hearth/internal/oracle/tool"
	"github.com/hearth-dmrv/hearth/plugin"
)

const amina = "did:key:zAmina"

// rig is a ledger with a clock of its own.
type rig struct {
	t   *testing.T
	d   *db.DB
	p   *credit.Plugin
	now atomic.Int64
}

func newRig(t *testing.T, d *db.DB) *rig {
	t.Helper()
	r := &rig{t: t, d: d}
	r.now.Store(time.Date(2026, 11, 17, 5, 0, 0, 0, time.UTC).UnixMilli())
	r.p = credit.New(credit.Config{DB: d, Longest: 10 * time.Minute, Now: func() time.Time { return time.UnixMilli(r.now.Load()) }})
	values, err := plugin.Read(r.p.Settings(), map[string]string{"perThousandTokens": "2"})
	if err != nil {
		t.Fatal(err)
	}
	if err := r.p.Start(t.Context(), plugin.Host{Log: slog.New(slog.DiscardHandler), Settings: values}); err != nil {
		t.Fatal(err)
	}
	return r
}

// account gives Amina an account.
func (r *rig) account(status string, balance int64) {
	r.t.Helper()
	_, err := r.d.Exec(r.t.Context(), `INSERT INTO credit_accounts(workspace, did, status, balance, created_at, updated_at) VALUES ('default', $1, $2, $3, 1, 1)
		ON CONFLICT (workspace, did) DO UPDATE SET status = excluded.status, balance = excluded.balance`, amina, status, balance)
	if err != nil {
		r.t.Fatal(err)
	}
}

func (r *rig) ctx() context.Context {
	return tool.With(r.t.Context(), tool.Context{User: amina, Talker: amina})
}

// before asks for an answer.
func (r *rig) before(run string) string {
	turn := plugin.Turn{User: amina, RunID: run}
	err := r.d.InTx(r.ctx(), func(tx *db.Tx) error { return r.p.Hold(r.ctx(), tx, turn) })
	var e *plugin.Error
	if errors.As(err, &e) {
		if e.Status != 402 || e.Members["claims"] == nil || e.Members["outstandingClaims"] == nil {
			r.t.Errorf("the refusal is %+v", e)
		}
		return e.Message
	}
	if err != nil {
		r.t.Error(err)
	}
	return ""
}

// settle ends an answer that used so many tokens; less than none: it never began.
func (r *rig) settle(run string, tokens int) int64 {
	r.t.Helper()
	var used *plugin.Usage
	if tokens >= 0 {
		used = &plugin.Usage{Input: tokens}
	}
	var n int64
	err := r.d.InTx(r.ctx(), func(tx *db.Tx) (err error) {
		n, err = r.p.Charge(r.ctx(), tx, plugin.Turn{User: amina, RunID: run}, used)
		return err
	})
	if err != nil {
		r.t.Error(err)
	}
	return n
}

// stands is what Amina sees of her account.
func (r *rig) stands() string {
	r.t.Helper()
	req := &plugin.Request{Request: httptest.NewRequestWithContext(r.ctx(), "GET", "/credits", nil), User: amina}
	v, err := r.p.Routes()[0].Serve(req)
	if err != nil {
		r.t.Fatal(err)
	}
	return fmt.Sprintf("%+v", v)
}

// Who may not begin is told what published clients know.
func TestGate(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		r := newRig(t, d)
		check := func(what, want string) {
			t.Helper()
			if got := r.before("run_" + what); got != want {
				t.Errorf("%s: %q, want %q", what, got, want)
			}
		}
		check("nobody", "No subscription found, please subscribe to continue")
		r.account("inactive", 500)
		check("inactive", "User has inactive subscription, please subscribe to continue")
		r.account("active", 9)
		check("few", "User has less than 10 credits, please top up to continue")
		r.account("active", 19)
		check("first", "")
		check("second", "User has less than 10 credits, please top up to continue")
		if got := r.stands(); !strings.Contains(got, "Status:active Balance:19 Held:10 Minimum:10") {
			t.Errorf("it stands as %s", got)
		}
		if err := r.p.Release(r.ctx(), amina, "run_first"); err != nil { // somebody saw that its server died
			t.Fatal(err)
		}
		check("third", "")
		check("fourth", "User has less than 10 credits, please top up to continue")
		r.now.Add((12 * time.Minute).Milliseconds()) // nobody saw it
		check("after a crash", "")
		if err := r.p.Release(r.ctx(), "did:ixo:entity:nobody", "run_first"); err != nil {
			t.Errorf("without an account: %v", err)
		}
	})
}

// An answer is charged once, and one that never began not at all.
func TestCharge(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		r := newRig(t, d)
		r.account("active", 30)
		for _, run := range []string{"run_1", "run_2", "run_3"} {
			if got := r.before(run); got != "" {
				t.Fatalf("%s: %s", run, got)
			}
		}
		if got := r.settle("run_1", 1001); got != 3 { // two for each thousand, rounded up
			t.Errorf("1001 tokens cost %d", got)
		}
		r.settle("run_1", 1001)
		r.settle("run_2", -1)
		r.settle("run_3", 0)
		if got := r.stands(); !strings.Contains(got, "Balance:27 Held:0") {
			t.Errorf("it stands as %s", got)
		}
		if err := d.InTx(t.Context(), func(tx *db.Tx) error { return r.p.Erase(t.Context(), tx, "default", amina) }); err != nil {
			t.Fatal(err)
		}
		if got := r.settle("run_4", 1000); got != 0 || !strings.Contains(r.stands(), "Status:none") {
			t.Errorf("after the erasure %d, %s", got, r.stands())
		}
	})
}

// Who is erased while an answer is charged leaves no entry behind.
func TestErasedWhileCharged(t *testing.T) {
	t.Parallel()
	d := dbtest.Postgres(t) // on SQLite one waits for the other
	r := newRig(t, d)
	r.account("active", 30)
	if got := r.before("run_1"); got != "" {
		t.Fatal(got)
	}
	erased := make(chan error, 1)
	err := d.InTx(r.ctx(), func(tx *db.Tx) error {
		if _, err := r.p.Charge(r.ctx(), tx, plugin.Turn{User: amina, RunID: "run_1"}, &plugin.Usage{Input: 1001}); err != nil {
			return err
		}
		if _, err := tx.Exec(r.ctx(), `SELECT 1`); err != nil { // what was sent is there
			return err
		}
		go func() {
			erased <- d.InTx(t.Context(), func(tx *db.Tx) error { return r.p.Erase(t.Context(), tx, "default", amina) })
		}()
		for waits := 0; waits == 0; {
			if err := d.QueryRow(t.Context(), `SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`).Scan(&waits); err != nil {
				return err
			}
		}
		return nil
	})
	if err := errors.Join(err, <-erased); err != nil {
		t.Fatal(err)
	}
	var left int
	if err := d.QueryRow(t.Context(), `SELECT count(*) FROM credit_charges`).Scan(&left); err != nil || left != 0 {
		t.Errorf("%d charges are left, %v", left, err)
	}
}

// However many answers are asked for at once, no more are let in than there are
// credits for.
func TestOverspend(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		r := newRig(t, d)
		r.account("active", 35)
		var group sync.WaitGroup
		var in atomic.Int64
		for i := range 20 {
			group.Go(func() {
				if r.before(fmt.Sprintf("run_%d", i)) == "" {
					in.Add(1)
				}
			})
		}
		group.Wait()
		if in.Load() != 3 {
			t.Errorf("%d were let in on 35 credits, want 3", in.Load())
		}
	})
}

// Two servers that change one account lose nothing of what the other did, and no
// answer is charged twice, whoever ends it.
func TestTwoServers(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		servers := []*rig{newRig(t, d), newRig(t, d)}
		servers[0].account("active", 1000)
		var group sync.WaitGroup
		for i := range 20 {
			group.Go(func() {
				run := fmt.Sprintf("run_%d", i)
				if got := servers[i%2].before(run); got != "" {
					t.Errorf("%s is refused: %s", run, got)
				}
				servers[i/2%2].settle(run, 1001)
				servers[i%2].settle(run, 1001)
			})
		}
		group.Wait()
		for _, r := range servers {
			if got := r.stands(); !strings.Contains(got, "Balance:940 Held:0") {
				t.Errorf("after 20 answers of 3 credits it stands as %s", got)
			}
		}
		var entries, sum int64
		if err := d.QueryRow(t.Context(), `SELECT count(*), sum(amount) FROM credit_charges`).Scan(&entries, &sum); err != nil || entries != 20 || sum != -60 {
			t.Errorf("there are %d entries of %d credits, %v", entries, sum, err)
		}
		servers[0].account("inactive", 940) // by hand, behind both
		for _, r := range servers {
			if got := r.before("run_late"); got != "User has inactive subscription, please subscribe to continue" {
				t.Errorf("an account that was closed is told %q", got)
			}
		}
	})
}

// An answer that was let in is given whole and charged whole; the next waits until the
// user has paid.
func TestBelowNothing(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		r := newRig(t, d)
		r.account("active", 10)
		if got := r.before("run_1"); got != "" {
			t.Fatal(got)
		}
		if got := r.settle("run_1", 20_000); got != 40 {
			t.Errorf("20,000 tokens cost %d", got)
		}
		if got := r.stands(); !strings.Contains(got, "Balance:-30 Held:0") {
			t.Errorf("it stands as %s", got)
		}
		if got := r.before("run_2"); got != "User has less than 10 credits, please top up to continue" {
			t.Errorf("the next is told %q", got)
		}
	})
}
