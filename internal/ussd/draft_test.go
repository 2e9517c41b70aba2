package ussd_test

import (
	"bytes"
	"context"
	"slices"
	"testing"
	"time"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
	"github.com/hearth-dmrv/hearth/internal/ussd"
	"github.com/hearth-dmrv/hearth/internal/ussd/machine"
	"github.com/hearth-dmrv/hearth/internal/ussd/menu"
)

const (
	atOrder   = "CON How many, Asha?"
	atPlace   = "CON Where to?"
	atOrdered = "END Ordered 5."
	otherPIN  = "70635"
)

// ordering has an order in two steps that is kept for whoever is logged in.
func ordering(t *testing.T) func(*ussd.Config) {
	p := readPack(t, "start: home\n", "start: home\nlogin: login.pin\n",
		"    to: order.make\n    back: home\n", `    to: order.place
    back: home
    draft: login
  order.place:
    text: Where to?
    input: {name: town, check: text, error: Please answer.}
    to: order.make
    back: order
    draft: login
`)
	return func(c *ussd.Config) {
		c.Packs = &packs{[]*menu.Pack{p}}
		c.Actions = actions(nil)
		login := c.Actions["login"]
		own := login.Run
		login.Run = func(ctx context.Context, tx *db.Tx, a machine.ActionCall) (machine.Result, error) {
			if a.Secrets["pin"] != otherPIN {
				return own(ctx, tx, a)
			}
			other := "acc-2"
			return machine.Result{Name: "ok", Account: &other, Set: map[string]string{"who": "Baraka"}}, nil
		}
		c.Actions["login"] = login
	}
}

// TestDraftsAfterLogin: a walk of whoever is logged in is kept, and goes on after
// the same customer has logged in again.
func TestDraftsAfterLogin(t *testing.T) {
	t.Parallel()
	const half = "3*" + pinOfAll + "*4*5" // to where the order goes
	for _, tt := range []struct {
		name    string
		play    func(l *line)
		effects []string
	}{
		{"goes on", func(l *line) {
			l.play("s2", []turn{
				{"", atResume},
				{"", "=0"},
				{"1", atLogin},
				{"1*1111", "CON Wrong PIN."},
				{"1*1111*" + pinOfAll, "CON Hello Asha.\nWhere to?"},
				{"1*1111*" + pinOfAll, "=4"},
				{"1*1111*" + pinOfAll + "*Kitui", atOrdered},
			})
			l.play("s3", []turn{{"", atHome}})
		}, []string{"wrong", "order 5"}},
		{"in one request", func(l *line) {
			l.play("s2", []turn{{"", atResume}, {"1*" + pinOfAll + "*Kitui", atOrdered}})
		}, []string{"order 5"}},
		{"newest answers only", func(l *line) {
			l.play("s2", []turn{{"", atResume}, {"1", atLogin}, {pinOfAll, "CON Hello Asha.\nWhere to?"}, {"0", atOrder}, {"0", atHome}})
			l.play("s3", []turn{{"", atHome}})
		}, nil},
		{"starts again", func(l *line) {
			l.play("s2", []turn{{"", atResume}, {"2", atHome}})
			l.play("s3", []turn{{"", atHome}})
		}, nil},
		{"is kept when nobody logs in", func(l *line) {
			l.play("s2", []turn{{"", atResume}, {"1", atLogin}, {"1*0", atHome}, {"1*0*1", atRead}})
			l.play("s3", []turn{{"", atResume}, {"1", atLogin}, {"1**", goodbye}})
			l.play("s4", []turn{{"", atResume}, {"1", atLogin}, {"1*" + pinOfAll, "CON Hello Asha.\nWhere to?"}})
		}, nil},
		{"is not for somebody else", func(l *line) {
			l.play("s2", []turn{{"", atResume}, {"1", atLogin}, {"1*" + otherPIN, "CON Hello Baraka.\nNothing of yours was kept.\nWelcome"}, {"1*" + otherPIN + "*1", atRead}})
			l.play("s3", []turn{{"", atResume}, {"1", atLogin}, {"1*" + pinOfAll, "CON Hello Asha.\nWhere to?"}, {"1*" + pinOfAll + "*Kitui", atOrdered}})
			l.play("s4", []turn{{"", atHome}})
		}, []string{"order 5"}},
		{"gives way to a walk of somebody else", func(l *line) {
			l.play("s2", []turn{{"", atResume}, {"1", atLogin}, {"1*" + otherPIN + "*4", "CON How many, Baraka?"}})
			l.play("s3", []turn{{"", atResume}, {"1", atLogin}, {"1*" + pinOfAll, "CON Hello Asha.\nNothing of yours was kept.\nWelcome"}})
			l.play("s4", []turn{{"", atResume}, {"1", atLogin}, {"1*" + otherPIN, "CON Hello Baraka.\nHow many, Baraka?"}})
		}, nil},
		{"gives way to another walk", func(l *line) {
			l.play("s2", []turn{{"", atResume}, {"1", atLogin}, {"1*0", atHome}, {"1*0*2", atName}})
			l.play("s3", []turn{{"", atResume}, {"1", atName}})
		}, nil},
		{"ends with the order", func(l *line) {
			l.play("s1", []turn{{half + "*Kitui", atOrdered}})
			l.play("s2", []turn{{"", atHome}})
		}, []string{"order 5"}},
		{"ends with exit", func(l *line) {
			l.play("s1", []turn{{half + "**", goodbye}})
			l.play("s2", []turn{{"", atHome}})
		}, nil},
		{"ends after a day", func(l *line) {
			l.clock.pass(24 * time.Hour)
			l.play("s2", []turn{{"", atHome}})
		}, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			dbtest.Any(t, func(t *testing.T, d *db.DB) {
				withEffects(t, d)
				l := newLine(t, d, newClock(), ordering(t))
				l.play("s1", []turn{{"", atHome}, {"3", atLogin}, {"3*" + pinOfAll, "CON Hello Asha."}, {"3*" + pinOfAll + "*4", atOrder}, {half, atPlace}})
				tt.play(l)
				if got := l.effects(phone1); !slices.Equal(got, tt.effects) && len(got)+len(tt.effects) > 0 {
					t.Errorf("effects = %q, want %q", got, tt.effects)
				}
			})
		})
	}
}

// TestDraftsAfterLoginTellNothing: until somebody has logged in, a new call
// holds nothing of what the customer said in the last one.
func TestDraftsAfterLoginTellNothing(t *testing.T) {
	t.Parallel()
	d := dbtest.SQLite(t)
	withEffects(t, d)
	l := newLine(t, d, newClock(), ordering(t))
	l.play("s1", []turn{{"", atHome}, {"3", atLogin}, {"3*" + pinOfAll, "CON Hello Asha."}, {"3*" + pinOfAll + "*4*5", atPlace}})
	if _, err := d.Exec(t.Context(), `DELETE FROM ussd_sessions`); err != nil {
		t.Fatal(err)
	}
	l.play("s2", []turn{{"", atResume}, {"1", atLogin}})
	var state []byte
	if err := d.QueryRow(t.Context(), `SELECT state FROM ussd_sessions WHERE id LIKE 's2%'`).Scan(&state); err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(state, []byte("Asha")) || bytes.Contains(state, []byte("acc-1")) || bytes.Contains(state, []byte("amount")) {
		t.Errorf("the session holds %q before a login", state)
	}
}

// TestDraftOfAnotherPack: what was kept for whoever is logged in is not taken up by
// a menu that keeps it for everybody.
func TestDraftOfAnotherPack(t *testing.T) {
	t.Parallel()
	d := dbtest.SQLite(t)
	withEffects(t, d)
	c := newClock()
	newLine(t, d, c, ordering(t)).play("s1", []turn{{"", atHome}, {"3", atLogin}, {"3*" + pinOfAll + "*4", atOrder}})
	open := func(cfg *ussd.Config) {
		cfg.Packs = &packs{[]*menu.Pack{readPack(t, "    to: order.make\n    back: home\n", "    to: order.make\n    back: home\n    draft: true\n")}}
	}
	newLine(t, d, c, open).play("s2", []turn{{"", atHome}})
}
