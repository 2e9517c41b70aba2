package run_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
	"github.com/hearth-dmrv/hearth/internal/oracle/run"
)

// till is a purse that keeps what it is told in the store, as a row of a run.
type till struct {
	id     string
	refuse error
	fails  int // how many charges fail before one does not
}

func (p *till) Hold(ctx context.Context, tx *db.Tx) error {
	if p.refuse != nil {
		return p.refuse
	}
	_, err := tx.Exec(ctx, `INSERT INTO credit_holds(run, workspace, did, amount, expires_at) VALUES ($1, 'default', 'x', 1, 1)`, p.id)
	return err
}

func (p *till) Charge(ctx context.Context, tx *db.Tx, used *run.Account) (int64, error) {
	if p.fails > 0 {
		p.fails--
		return 0, errors.New("the ledger is away")
	}
	if used == nil {
		_, err := tx.Exec(ctx, `DELETE FROM credit_holds WHERE run = $1`, p.id)
		return 0, err
	}
	_, err := tx.Exec(ctx, `UPDATE credit_holds SET amount = amount + 41 WHERE run = $1`, p.id)
	return 42, err
}

// What an answer costs is stored with its beginning and its end: a refusal leaves
// nothing behind, and neither a ledger that fails once nor a conversation that is
// deleted meanwhile makes an answer free, or paid for twice.
func TestPurse(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		g := newRig(t, d)
		defer g.closeAll(g.m)
		held := func(id string) (amount int) {
			t.Helper()
			if err := d.QueryRow(t.Context(), `SELECT coalesce(max(amount), 0) FROM credit_holds WHERE run = $1`, id).Scan(&amount); err != nil {
				t.Fatal(err)
			}
			return amount
		}
		begin := func(p *till, w run.Work) (run.Start, error) {
			s := message(ann, g.session(ann), p.id)
			s.Purse = p
			started, err := g.m.Start(t.Context(), s, w)
			if err == nil {
				s.ID = started.RunID
			}
			return s, err
		}
		broke := errors.New("no credits")
		if _, err := begin(&till{id: "refused", refuse: broke}, newScript().work); !errors.Is(err, broke) || g.count("oracle_runs") != 0 {
			t.Errorf("a refusal = %v, with %d runs", err, g.count("oracle_runs"))
		}
		for _, p := range []*till{{id: "paid"}, {id: "later", fails: 1}} {
			s, err := begin(p, func(context.Context, *run.Run) run.Result {
				return run.Result{Account: &run.Account{Model: "m", Credits: 1}}
			})
			if err != nil {
				t.Fatal(err)
			}
			g.follow(g.m, s.ID)
			var usage string
			if err := d.QueryRow(t.Context(), `SELECT usage FROM oracle_runs WHERE id = $1`, s.ID).Scan(&usage); err != nil || !strings.Contains(usage, `"credits":43`) || held(p.id) != 42 {
				t.Errorf("%s: usage %s, %v, in the ledger %d", p.id, usage, err, held(p.id))
			}
		}
		w := newScript()
		w.end = func() run.Result { return run.Result{Account: &run.Account{}} }
		s, err := begin(&till{id: "deleted"}, w.work)
		if err != nil {
			t.Fatal(err)
		}
		joined := g.join(g.m, ann, s.ID, 0)
		if err := w.do(text("a")); err != nil {
			t.Fatal(err)
		}
		if err := g.chat.DeleteSession(t.Context(), ann, s.Session); err != nil {
			t.Fatal(err)
		}
		joined.wait(t)
		if got := held("deleted"); got != 42 {
			t.Errorf("the answer of a deleted conversation stands with %d", got)
		}
		s, err = begin(&till{id: "panics"}, func(context.Context, *run.Run) run.Result { panic("on purpose") })
		if err != nil {
			t.Fatal(err)
		}
		g.follow(g.m, s.ID)
		if got := held("panics"); got != 0 {
			t.Errorf("a run that panicked holds %d back", got)
		}
	})
}
