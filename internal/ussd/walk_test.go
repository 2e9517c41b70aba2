package ussd_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
	"github.com/hearth-dmrv/hearth/internal/ussd"
	"github.com/hearth-dmrv/hearth/internal/ussd/menu"
	"github.com/hearth-dmrv/hearth/internal/ussd/wire"
)

// typed is what walks type: keys, names, PINs, nonsense.
var typed = []string{
	"1", "1", "1", "2", "2", "2", "3", "3", "4", "5", "9", "0", "0", "98", "98", "00", "", "7", "*", "Jane", "Jane", "O'Neil-Achieng", "Kisumu", "x1",
	pinOfAll, pinOfAll, "11111", "0000", "12", "back", "Exit", "31",
}

// wild is one random walk: a person who calls several times, over a network
// that does what networks do, to a server that is restarted and killed.
type wild struct {
	t      *testing.T
	r      *rand.Rand
	lines  func() *line // a new server on the same store
	l      *line
	phone  string
	person *person
	calls  int
	log    []string
	mode   wire.Mode
	ok     bool
}

// check sends a request and holds the answer against the model's.
func (w *wild) check(session, text, want string) bool {
	if w.r.IntN(12) == 0 {
		w.l = w.lines() // a restart
		w.log = append(w.log, "restart")
	}
	if w.r.IntN(12) == 0 { // killed before the commit: nothing has happened
		w.l.SetTrip(func() error { return errors.New("killed") })
		got := w.l.send(session, w.phone, text)
		w.l.SetTrip(nil)
		w.log = append(w.log, fmt.Sprintf("killed %q", text))
		if got != broken {
			// Nothing had to be stored, so there was nothing to kill.
			w.log = append(w.log, "but answered")
			return w.compare(text, got, want)
		}
	}
	return w.compare(text, w.l.send(session, w.phone, text), want)
}

func (w *wild) compare(text, got, want string) bool {
	w.log = append(w.log, fmt.Sprintf("%q → %q", text, got))
	if got == want || want == anyScreen && strings.HasPrefix(got, "CON ") {
		return true
	}
	w.t.Errorf("%s: answer = %q, want %q\n%s", w.phone, got, want, strings.Join(w.log, "\n"))
	w.ok = false
	return false
}

func (w *wild) pick() string { return typed[w.r.IntN(len(typed))] }

// accumulate is one call over a gateway that sends the whole text each time.
func (w *wild) accumulate() {
	w.calls++
	session := "s" + strconv.Itoa(w.calls)
	var parts []string
	if w.r.IntN(4) == 0 { // a deep dial
		parts = w.some(3)
	}
	c := dial(w.person, len(parts) == 0)
	c.from(parts)
	c.settle()
	// Until a text has grown, one that comes twice may be two answers.
	sure := w.mode == wire.Accumulated
	if !w.check(session, join(parts), c.screen) {
		return
	}
	for range w.r.IntN(10) {
		switch n := w.r.IntN(10); {
		case n < 2 && (sure || len(parts) == 0 || c.w.done): // delivered again
			w.check(session, join(parts), c.screen)
		case n < 3 && (sure && len(parts) > 1) && !c.w.done: // late, out of order
			w.check(session, join(parts[:w.r.IntN(len(parts))]), c.screen)
		case n < 4 && len(parts) > 0 && !c.w.done: // a first dial that comes late
			w.check(session, "", c.screen)
		case n < 5 && !c.w.done && !c.resumed && len(parts) > 0: // silence, then again
			w.l.clock.pass(181 * time.Second)
			c.from(parts)
			c.settle()
			w.check(session, join(parts), c.screen)
		case c.w.done:
			return
		default:
			more := w.some(1)
			if w.r.IntN(6) == 0 { // requests that were lost
				more = w.some(3)
			}
			sure = sure || len(parts) > 0 || len(more) > 1
			parts = append(parts, more...)
			if len(join(parts)) > 150 {
				return
			}
			if c.resumed { // such a walk cannot be made again from its text
				c.forward(parts, len(parts)-len(more))
			} else {
				c.from(parts)
			}
			c.settle()
			w.check(session, join(parts), c.screen)
		}
		if !w.ok {
			return
		}
	}
}

// forward goes on with the parts from a place on.
func (c *call) forward(parts []string, from int) {
	text := ""
	for i, p := range parts {
		if text += "*" + p; i >= from && !c.w.done {
			c.step(p, text)
		}
	}
}

// some are inputs that a text can hold: a star only at the end, and no blank
// before it or at the end of all, where the text would say something else.
func (w *wild) some(n int) []string {
	out := make([]string, 0, n)
	for range 1 + w.r.IntN(n) {
		in := w.pick()
		for in == "*" || in == "" {
			in = w.pick()
		}
		out = append(out, in)
	}
	if w.r.IntN(8) == 0 {
		out[len(out)-1] = "*"
	}
	return out
}

func join(parts []string) string { return strings.Join(parts, "*") }

// newest is one call over a gateway that sends the newest answer alone.
func (w *wild) newest() {
	w.calls++
	session := "s" + strconv.Itoa(w.calls)
	c := dial(w.person, true)
	c.settle()
	if !w.check(session, "", c.screen) {
		return
	}
	if w.r.IntN(3) == 0 {
		w.check(session, "", c.screen)
	}
	for i := range w.r.IntN(12) {
		in := w.pick()
		for i == 0 && in == "" { // that would be the first dial again
			in = w.pick()
		}
		c.step(in, "step "+strconv.Itoa(i))
		c.settle()
		w.check(session, in, c.screen)
		if c.w.done && in != "" && w.r.IntN(2) == 0 {
			w.check(session, in, c.screen)
		}
		if c.w.done || !w.ok {
			return
		}
	}
}

// walks runs n random walks and compares what actions did with the model.
func walks(t *testing.T, d *db.DB, n int) {
	withEffects(t, d)
	if _, err := d.Exec(t.Context(), `CREATE INDEX test_effects_phone ON test_effects (phone)`); err != nil {
		t.Fatal(err)
	}
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	pack := &packs{[]*menu.Pack{readPack(t)}}
	var next atomic.Int64
	var wg sync.WaitGroup
	for range 4 * runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for i := next.Add(1); i <= int64(n) && !t.Failed(); i = next.Add(1) {
				walk(t, d, pack, rand.New(rand.NewPCG(seed, uint64(i))), fmt.Sprintf("+2547%08d", i))
			}
		})
	}
	wg.Wait()
}

func walk(t *testing.T, d *db.DB, p *packs, r *rand.Rand, phone string) {
	modes := []wire.Mode{"", wire.Accumulated, wire.Latest}
	w := &wild{t: t, r: r, phone: phone, person: &person{}, ok: true, mode: modes[r.IntN(len(modes))]}
	clock := newClock()
	w.lines = func() *line {
		return newLine(t, d, clock, func(c *ussd.Config) { c.Packs, c.TextMode, c.Log = p, w.mode, nil })
	}
	w.l = w.lines()
	for range 1 + r.IntN(3) {
		if w.mode == wire.Latest {
			w.newest()
		} else {
			w.accumulate()
		}
		if !w.ok {
			return
		}
	}
	if got := w.l.effects(phone); !slices.Equal(got, w.person.effects) && len(got)+len(w.person.effects) > 0 {
		t.Errorf("%s: effects = %q, want %q\n%s", phone, got, w.person.effects, strings.Join(w.log, "\n"))
	}
}

// TestRandomWalks holds the service against the model: with duplicates, drops,
// reorders, restarts and kills its answers and effects are the model's. Make test-all
// walks 10,000 times.
func TestRandomWalks(t *testing.T) {
	t.Parallel()
	n := 2_000
	switch {
	case testing.Short():
		n = 500
	case dbtest.Everything():
		n = 10_000
	}
	if raced { // ten times as slow; the check walks all of them without it
		n /= 10
	}
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		walks(t, dbtest.SQLite(t, dbtest.With(func(c *db.Config) { c.Sync = "normal" })), n)
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		walks(t, dbtest.Postgres(t), n/20)
	})
}
