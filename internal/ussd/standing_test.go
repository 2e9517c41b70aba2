package ussd_test

import (
	"context"
	"maps"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
	"github.com/hearth-dmrv/hearth/internal/event"
	"github.com/hearth-dmrv/hearth/internal/job"
	"github.com/hearth-dmrv/hearth/internal/ussd"
	"github.com/hearth-dmrv/hearth/internal/ussd/account"
	"github.com/hearth-dmrv/hearth/internal/ussd/fetch"
	"github.com/hearth-dmrv/hearth/internal/ussd/machine"
	"github.com/hearth-dmrv/hearth/internal/ussd/menu"
	"github.com/hearth-dmrv/hearth/internal/ussd/sms"
	"github.com/hearth-dmrv/hearth/internal/web"
)

const (
	owner, thief   = "+254600000001", "+254611111111"
	oldPIN, newPIN = "48213", "59302"
	loggedOut      = "You were logged out."
)

// people is a line with real accounts.
type people struct {
	*line
	accounts *account.Service
}

func newPeople(t *testing.T, d *db.DB, pack string) *people {
	t.Helper()
	c := newClock()
	cursors := web.Cursors{Key: []byte("0123456789abcdef")}
	events := event.New(event.Config{DB: d, Cursors: cursors})
	jobs := job.New(job.Config{DB: d, Cursors: cursors, Record: func(ctx context.Context, tx *db.Tx, typ, subject string, revision int64) error {
		return events.Append(ctx, tx, event.Event{Type: typ, Subject: subject, Revision: revision})
	}})
	outbox := sms.New(sms.Config{DB: d, Jobs: jobs, Key: testKey(t), Sender: &sms.Fake{}, Now: c.now})
	accounts := must(account.New(account.Config{DB: d, Events: events, Jobs: jobs, SMS: outbox, Key: testKey(t), Now: c.now}))(t)
	actions := accounts.Actions()
	maps.Copy(actions, fetch.Actions(fetch.Config{}))
	p := must(menu.Open(pack, machine.Known(actions)))(t)
	l := newLine(t, d, c, func(cfg *ussd.Config) { cfg.Packs, cfg.Actions = &packs{[]*menu.Pack{p}}, actions })
	return &people{l, accounts}
}

var shownID = regexp.MustCompile(`ID: (C[0-9A-Z]{8,})`)

// register makes an account and gives its Customer ID.
func (p *people) register(phone string) string {
	p.t.Helper()
	out := p.send("register", phone, "2*2*Amina Otieno*00*"+oldPIN+"*"+oldPIN)
	m := shownID.FindStringSubmatch(out)
	if m == nil {
		p.t.Fatalf("register = %q, want a Customer ID", out)
	}
	return m[1]
}

// wants sends a text and looks for words on the screen.
func (p *people) wants(session, phone, text string, words ...string) {
	p.t.Helper()
	got := p.send(session, phone, text)
	for _, w := range words {
		if no, found := strings.CutPrefix(w, "!"); found && strings.Contains(got, no) || !found && !strings.Contains(got, w) {
			p.t.Errorf("%s at %q = %q, want %q", session, text, got, w)
		}
	}
}

// tries is how many wrong tries count on a customer id.
func (p *people) tries(id string) int64 {
	p.t.Helper()
	all, _, err := p.accounts.List(p.t.Context(), account.Filter{CustomerID: id}, "", 1)
	if err != nil || len(all) != 1 {
		p.t.Fatalf("account %s: %v, %v", id, all, err)
	}
	return all[0].Wrong
}

// ends are the ways in which a login stops to count.
var ends = map[string]func(p *people, id string){
	"changed": func(p *people, id string) {
		p.wants("own", owner, "2*1*"+id+"*"+oldPIN, "Hello")
		p.wants("own", owner, "2*1*"+id+"*"+oldPIN+"*2*1*"+oldPIN+"*"+newPIN+"*"+newPIN, "Your PIN is changed")
	},
	"reset": func(p *people, id string) {
		if _, _, err := p.accounts.Reset(p.t.Context(), id, false); err != nil {
			p.t.Fatal(err)
		}
	},
	"locked": func(p *people, id string) {
		for i := range 3 {
			p.send("guess", "+25462222222"+string(rune('0'+i)), "2*1*"+id+"*00001")
		}
	},
	"closed": func(p *people, id string) {
		if err := p.accounts.Close(p.t.Context(), id); err != nil {
			p.t.Fatal(err)
		}
	},
}

func TestLoginEndsWithThePIN(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		p := newPeople(t, d, "hearth")
		for name, end := range ends {
			id := p.register(owner)
			p.clock.pass(24 * time.Hour) // wrong tries of numbers fade
			text := "2*1*" + id + "*" + oldPIN
			p.wants(name, thief, text, "Hello")
			end(p, id)
			// The session goes on without the account, and what was typed for
			// another screen is not taken on this one.
			p.wants(name, thief, text+"*3", loggedOut, "Welcome to", "!My household")
			p.wants(name, thief, text+"*3*3", "Please choose")
			p.wants(name, thief, text+"*3*3*2", "Do you have an account?")
			if err := p.accounts.Close(t.Context(), id); err != nil { // the number has room for the next
				t.Fatal(err)
			}
			p.clock.pass(time.Hour)
			if err := p.Expire(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
	})
}

func TestExpiredLoginRunsAnew(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		p := newPeople(t, d, "hearth")
		for name, end := range ends {
			id := p.register(owner)
			p.clock.pass(24 * time.Hour)
			text := "2*1*" + id + "*" + oldPIN
			p.wants(name, thief, text, "Hello")
			end(p, id)
			was := p.tries(id)
			p.clock.pass(4 * time.Minute) // expired, but still there for late copies
			// What follows a login that fails now is no try of its own.
			p.wants(name, thief, text+"*2*1*00017*00018*00018", "!Hello", "!Your account", "!Welcome")
			want := was
			if name != "locked" { // a locked account takes no tries
				want++
			}
			if got := p.tries(id); got != want {
				t.Errorf("%s: %d wrong tries, want %d", name, got, want)
			}
			_ = p.accounts.Close(t.Context(), id)
			p.clock.pass(time.Hour)
			if err := p.Expire(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// A login that still counts is found again, and what was done is not done again.
func TestExpiredLoginStillRight(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		p := newPeople(t, d, "hearth")
		id := p.register(owner)
		text := "2*1*" + id + "*" + oldPIN
		p.wants("s", owner, text, "Hello")
		p.wants("s", owner, text+"*3*1*Kitui*5", "Thank you")
		p.clock.pass(4 * time.Minute)
		p.wants("s", owner, text+"*3*1*Kitui*5*2", "My household")
		p.wants("s", owner, text+"*3*1*Kitui*5*2*3", "household")
		// A language of another call is no reason to log out.
		p.wants("t", owner, text, "Hello")
		p.wants("t", owner, text+"*9*2", "Karibu")
		p.wants("s", owner, text+"*3*1*Kitui*5*2*3*0", "My household")
		if got := p.tries(id); got != 0 {
			t.Errorf("%d wrong tries, want none", got)
		}
	})
}

// Who changes the PIN stays logged in, also when the call is walked again.
func TestChangerStaysLoggedIn(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		p := newPeople(t, d, "hearth")
		id := p.register(owner)
		text := "2*1*" + id + "*" + oldPIN
		changed := text + "*2*1*" + oldPIN + "*" + newPIN + "*" + newPIN
		p.wants("s", owner, text, "Hello")
		p.wants("s", owner, changed, "Your PIN is changed")
		p.wants("s", owner, changed+"*0", "My household")
		p.wants("s", owner, changed+"*2", "language") // another answer than before: the walk is made again
		if got := p.tries(id); got != 0 {
			t.Errorf("%d wrong tries, want none", got)
		}
		p.clock.pass(4 * time.Minute)
		p.wants("s", owner, changed+"*2*0", "PIN is wrong", "Tries left: 2")
	})
}

// A temporary PIN that was replaced by another one gives nobody a new PIN.
func TestTicketOfAnEarlierReset(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		p := newPeople(t, d, "hearth")
		id := p.register(owner)
		first, _, err := p.accounts.Reset(t.Context(), id, false)
		if err != nil {
			t.Fatal(err)
		}
		text := "2*1*" + id + "*" + first
		p.wants("s", thief, text, "Choose a new PIN")
		if _, _, err := p.accounts.Reset(t.Context(), id, false); err != nil {
			t.Fatal(err)
		}
		p.wants("s", thief, text+"*"+newPIN+"*"+newPIN, "Please log in again", "!Hello")
	})
}

// A PIN that is refused is said to be, in one screen, with the reason.
func TestWeakPINIsExplained(t *testing.T) {
	t.Parallel()
	p := newPeople(t, dbtest.SQLite(t), "hearth")
	p.wants("en", owner, "2*2*Amina Otieno*00*12345", "CON That PIN is easy to guess: Its digits follow each other.", "Choose a PIN", "!98.")
	p.wants("sw", owner, "9*2*2*2*Amina Otieno*00*12345", "CON PIN hiyo ni rahisi kubahatisha: Tarakimu zake zinafuatana.", "!98.")
	p.wants("again", owner, "2*2*Amina Otieno*00*48213*48214*12345", "CON That PIN is easy to guess: Its digits follow each other.")
}

// In the classic menu every key leads on from some screens: a PIN typed there
// is not kept either.
func TestDigitsAreNotKept(t *testing.T) {
	t.Parallel()
	p := newPeople(t, dbtest.SQLite(t), "classic")
	p.wants("s", owner, "", "Welcome")
	p.wants("s", owner, "1", "Information Center")
	p.wants("s", owner, "1*48213", "SMS")
	p.wants("s", owner, "1*48213*0*482134*0*7", "SMS")
	got := p.get("/api/ussd/debug/s/dialog").Body.String()
	if strings.Contains(got, "4821") || !strings.Contains(got, "> {digits}") || !strings.Contains(got, "> 7") {
		t.Errorf("saved dialog =\n%s\nwant no digits of a PIN", got)
	}
}

// In the classic menu an id nobody has and a wrong PIN look alike.
func TestClassicTellsNoIDs(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		p := newPeople(t, d, "classic")
		out := p.send("register", owner, "2*2*Amina Otieno*00*"+oldPIN+"*"+oldPIN+"*1")
		id := shownID.FindStringSubmatch(out)[1]
		var screens [2][]string
		for i, id := range []string{id, "CZZZZZZZ9"} {
			text, phone := "2*1*"+id, "+25463333333"+string(rune('0'+i))
			for _, key := range []string{"", "*1", "*00001", "*1", "*00001", "*1", "*00001", "*1", "*1"} {
				text += key
				screens[i] = append(screens[i], p.send("c", phone, text))
			}
		}
		if got, want := strings.Join(screens[1], "\n\n"), strings.Join(screens[0], "\n\n"); got != want {
			t.Errorf("an id nobody has:\n%s\n\nwant as with one somebody has:\n%s", got, want)
		}
		if got := p.tries(id); got != 3 {
			t.Errorf("%d wrong tries, want 3", got)
		}
	})
}
