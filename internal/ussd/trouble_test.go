package ussd_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
	"github.com/hearth-dmrv/hearth/internal/ussd"
	"github.com/hearth-dmrv/hearth/internal/ussd/machine"
	"github.com/hearth-dmrv/hearth/internal/ussd/wire"
)

// block holds the store so that nobody can write, until the function it gives
// is called.
func block(t *testing.T, d *db.DB, path *string) (release func()) {
	t.Helper()
	holder := d
	if d.Dialect() == db.SQLite {
		other, err := db.Open(t.Context(), db.Config{Path: *path, TxLimit: time.Minute})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = other.Close() })
		holder = other
	}
	held, leave, done := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	go func() {
		done <- holder.InTx(t.Context(), func(tx *db.Tx) error {
			if _, err := tx.Exec(t.Context(), `DELETE FROM test_effects WHERE phone = 'nobody'`); err != nil {
				return err
			}
			if d.Dialect() == db.Postgres {
				if _, err := tx.Exec(t.Context(), `LOCK TABLE ussd_sessions IN ACCESS EXCLUSIVE MODE`); err != nil {
					return err
				}
			}
			close(held)
			<-leave
			return nil
		})
	}()
	<-held
	return sync.OnceFunc(func() {
		close(leave)
		if err := <-done; err != nil {
			t.Errorf("release the store: %v", err)
		}
	})
}

// TestBlockedStore answers in time whatever the store does, with the deadline
// as it is, and takes each step once when it is sent again.
func TestBlockedStore(t *testing.T) {
	t.Parallel()
	var path string // of the SQLite store; the test on PostgreSQL, beside it, does not look
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		withEffects(t, d)
		l := newLine(t, d, newClock(), func(c *ussd.Config) { c.Now = nil; c.Log = nil; c.TextMode = wire.Accumulated })
		sessions := []string{"s1", "s2", "s3", "s4"}
		for _, s := range sessions {
			l.play(s, []turn{{"", atHome}, {"1", atRead}})
		}
		release := block(t, d, &path)
		var wg sync.WaitGroup
		for _, s := range slices.Concat(sessions, sessions, []string{"fresh"}) {
			wg.Go(func() {
				began := time.Now()
				got := l.send(s, phone1, "1*1")
				if took := time.Since(began); got != broken || took > 3*time.Second {
					t.Errorf("blocked = %q after %v, want END in time", got, took)
				}
			})
		}
		wg.Wait()
		release()
		for _, s := range sessions {
			l.play(s, []turn{{"1*1", atSent}, {"1*1", "=0"}})
		}
		if got := len(l.effects(phone1)); got > len(sessions)+1 || got < len(sessions) {
			t.Errorf("effects = %d, want one for each session", got)
		}
	}, dbtest.With(func(c *db.Config) {
		if c.Path != "" {
			path = c.Path
		}
	}))
}

// TestLateStep has a step that begins in time and is stored too late: it
// counts, its copies get its answer, and its closing words go out another way.
func TestLateStep(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		withEffects(t, d)
		leave, told := make(chan struct{}), make(chan string, 4)
		l := newLine(t, d, newClock(), func(c *ussd.Config) {
			c.TextMode, c.Log = wire.Latest, nil
			c.Actions = actions(func(machine.ActionCall) error { <-leave; return nil })
			c.Late = func(_ context.Context, phone, text string) { told <- phone + " " + text }
		})
		l.play("s1", []turn{{"", atHome}, {"1", atRead}})
		l.SetDeadline(50 * time.Millisecond)
		l.play("s1", []turn{{"1", broken}, {"1", broken}})
		close(leave)
		if got, want := <-told, phone1+" Sent 1 so far.\n0. Back\n*. Exit"; got != want {
			t.Errorf("told %q, want %q", got, want)
		}
		l.SetDeadline(time.Minute)
		l.play("s1", []turn{{"1", atSent}, {"1", "=0"}, {"0", atHome}})
		if got := l.effects(phone1); len(got) != 1 {
			t.Errorf("effects = %q, want one", got)
		}
	})
}

// TestInFlightCap answers at once when too much is at work.
func TestInFlightCap(t *testing.T) {
	t.Parallel()
	d := dbtest.SQLite(t)
	withEffects(t, d)
	entered, leave := make(chan struct{}, 2), make(chan struct{})
	l := newLine(t, d, newClock(), func(c *ussd.Config) {
		c.Log, c.InFlight = nil, 1
		c.Actions = actions(func(machine.ActionCall) error { entered <- struct{}{}; <-leave; return nil })
	})
	var wg sync.WaitGroup
	wg.Go(func() { l.play("s1", []turn{{"1*1", atSent}}) })
	<-entered
	l.play("s2", []turn{{"", broken}})
	close(leave)
	wg.Wait()
	l.play("s2", []turn{{"", atHome}})
}

// TestFailedStep stores nothing of a step that fails, and takes it when it is
// sent again.
func TestFailedStep(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		withEffects(t, d)
		fail := true
		l := newLine(t, d, newClock(), func(c *ussd.Config) {
			c.Log = nil
			c.Actions = actions(func(machine.ActionCall) error {
				if fail {
					return errors.New("no")
				}
				return nil
			})
		})
		l.play("s1", []turn{{"", atHome}, {"1", atRead}, {"1*1", broken}})
		l.SetTrip(func() error { return errors.New("killed") })
		l.play("s1", []turn{{"1*0", broken}})
		l.SetTrip(nil)
		fail = false
		l.play("s1", []turn{{"1*1", atSent}})
		if got := l.effects(phone1); len(got) != 1 {
			t.Errorf("effects = %q, want one", got)
		}
	})
}

// TestPanic survives a panic of an action.
func TestPanic(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		withEffects(t, d)
		l := newLine(t, d, newClock(), func(c *ussd.Config) {
			c.Log = nil
			c.Actions = actions(func(machine.ActionCall) error { panic("oh") })
		})
		l.play("s1", []turn{{"", atHome}, {"1*1", broken}, {"1", atRead}})
	})
}

// TestAnotherKey cannot read what the old key sealed, and begins again.
func TestAnotherKey(t *testing.T) {
	t.Parallel()
	d := dbtest.SQLite(t)
	withEffects(t, d)
	c := newClock()
	newLine(t, d, c, func(c *ussd.Config) {
		c.Actions = actions(func(machine.ActionCall) error { return nil })
	}).play("s1", []turn{{"", atHome}, {"2", atName}, {"2*Jane*00", atPIN}})
	other := newLine(t, d, c, func(c *ussd.Config) { c.Key, c.Log = otherKey(t), nil })
	// Without secrets in it the session goes on, from the text.
	other.play("s1", []turn{{"2*Jane*00*" + pinOfAll, atDone}})
	if got := other.effects(phone1); !slices.Equal(got, []string{"join Jane/"}) {
		t.Errorf("effects = %q, want one", got)
	}
	if got := strings.Join(other.effects(phone2), ""); got != "" {
		t.Errorf("effects of another number = %q, want none", got)
	}
}
