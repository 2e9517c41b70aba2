package ussd_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
	"github.com/hearth-dmrv/hearth/internal/outbound"
	"github.com/hearth-dmrv/hearth/internal/ussd"
	"github.com/hearth-dmrv/hearth/internal/ussd/fetch"
	"github.com/hearth-dmrv/hearth/internal/ussd/machine"
	"github.com/hearth-dmrv/hearth/internal/ussd/menu"
)

// partner is a server that menus ask. It counts and answers with how often it
// was asked.
type partner struct {
	*httptest.Server
	mu   sync.Mutex
	seen []string // method, query or body, key
	hang bool     // until the caller hangs up
	code int
}

func newPartner(t *testing.T) *partner {
	t.Helper()
	p := &partner{}
	p.Server = httptest.NewServer(p)
	t.Cleanup(p.Close)
	return p
}

func (p *partner) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	p.mu.Lock()
	p.seen = append(p.seen, r.Method+" "+r.URL.RawQuery+string(body)+" "+r.Header.Get("Idempotency-Key"))
	n, hang, code := len(p.seen), p.hang, p.code
	p.mu.Unlock()
	if hang {
		<-r.Context().Done()
		return
	}
	if code != 0 {
		w.WriteHeader(code)
	}
	fmt.Fprintf(w, `{"data": {"balance": %d.50, "note": "Pay\nat the {shop}"}}`, n)
}

func (p *partner) asked() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]string{}, p.seen...)
}

const asking = `pack: asking
title: Asking
languages: [en]
start: home
navigation: {back: Back, exit: Exit, more: More, goodbye: Bye., invalid: No.}
nodes:
  home:
    text: Home
    options:
      - {key: "1", text: Balance, to: balance}
      - {key: "2", text: Order, to: amount}
  balance:
    do: http
    with: {url: "URL/balance?app=1", phone: "{caller}"}
    answer: {balance: /data/balance, note: /data/note, gone: /data/none}
    results: {ok: balance.show, failed: later}
  balance.show:
    text: "Balance {balance} {note}."
    options: [{key: "1", text: Again, to: balance}]
    back: home
  amount:
    text: How many?
    input: {name: amount, check: integer, error: A number.}
    to: mark
    back: home
  mark:
    do: send
    results: {queued: order, off: later}
  order:
    do: http
    with: {url: URL/order, method: POST, amount: "{amount}", by: "{caller}"}
    answer: {balance: /data/balance}
    results: {ok: ordered, refused: refused, failed: later}
  ordered: {text: "Ordered {amount} for {balance}.", options: [{key: "1", text: More, to: amount}], back: home}
  refused: {text: Not possible., end: true}
  later: {text: Please try later., options: [{key: "1", text: Home, to: home}]}
`

// newAsking is a line whose pack asks a partner.
func newAsking(t *testing.T, d *db.DB, c *clock, p *partner, allow ...string) *line {
	t.Helper()
	client := must(outbound.New(outbound.Config{Allow: allow, MaxRedirects: -1, MaxBytes: fetch.MaxBytes}))(t)
	all := actions(nil)
	for name, a := range fetch.Actions(fetch.Config{Client: client, Log: dbtest.Log(t)}) {
		all[name] = a
	}
	pack := must(menu.Parse("asking.yaml", []byte(strings.ReplaceAll(asking, "URL", p.URL)), machine.Known(all)))(t)
	l := newLine(t, d, c, func(cfg *ussd.Config) { cfg.Packs, cfg.Actions = &packs{[]*menu.Pack{pack}}, all })
	l.SetTimes(time.Minute, time.Minute) // the machine may be busy
	return l
}

const loopback = "127.0.0.1"

// TestAskOnce: however often a request comes, the other server is asked once,
// and with what the caller typed.
func TestAskOnce(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		withEffects(t, d)
		c, p := newClock(), newPartner(t)
		l := newAsking(t, d, c, p, loopback)
		l.send("s", phone1, "")
		first := l.send("s", phone1, "1")
		if want := "CON Balance 1.50 Pay at the {shop}.\n1. Again\n0. Back\n*. Exit"; first != want {
			t.Errorf("answer = %q, want %q", first, want)
		}
		other := newAsking(t, d, c, p, loopback) // another instance, or the same after a restart
		for _, at := range []*line{l, other, l} {
			if got := at.send("s", phone1, "1"); got != first {
				t.Errorf("the same request = %q, want %q", got, first)
			}
		}
		if got := p.asked(); len(got) != 1 || got[0] != "GET app=1&phone=%2B254700000001 " {
			t.Errorf("the partner was asked %q", got)
		}
		// A walk that is made again asks nothing again, what is new does.
		c.pass(time.Hour)
		if got := other.send("s", phone1, "1*1"); !strings.HasPrefix(got, "CON Balance 2.50") {
			t.Errorf("answer = %q, want another balance", got)
		}
		if got := p.asked(); len(got) != 2 {
			t.Errorf("the partner was asked %q, want twice", got)
		}
	})
}

// TestAskedAtOnce: copies of a deep dial on two instances ask with one key, and
// what stands before the question has its effect once.
func TestAskedAtOnce(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		withEffects(t, d)
		c, p := newClock(), newPartner(t)
		lines := []*line{newAsking(t, d, c, p, loopback), newAsking(t, d, c, p, loopback)}
		got := make([]string, 6)
		var wg sync.WaitGroup
		for i := range got {
			wg.Go(func() { got[i] = lines[i%2].send("s", phone1, "2*7") })
		}
		wg.Wait()
		for _, g := range got {
			if g != got[0] || !strings.HasPrefix(g, "CON Ordered 7 for ") {
				t.Errorf("answers = %q, want one", got)
			}
		}
		asked := p.asked()
		for _, a := range asked {
			if a != asked[0] || !strings.HasPrefix(a, `POST {"amount":"7","by":"+254700000001"} `) || strings.HasSuffix(a, " ") {
				t.Errorf("the partner was asked %q, want one key", asked)
			}
		}
		if e := lines[0].effects(phone1); len(e) != 1 {
			t.Errorf("effects = %q, want one", e)
		}
		before := len(asked)
		if g := lines[1].send("s", phone1, "2*7"); g != got[0] || len(p.asked()) != before {
			t.Errorf("a later copy = %q, asked %d times more", g, len(p.asked())-before)
		}
	})
}

// TestAskNewestOnly: the same where a gateway sends the newest answer alone.
func TestAskNewestOnly(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		withEffects(t, d)
		p := newPartner(t)
		l := newAsking(t, d, newClock(), p, loopback)
		press := func(kind, text string, sequence int) string {
			w := l.post("/api/ussd/hubtel", "application/json", fmt.Sprintf(
				`{"Type":%q,"Mobile":"254700000001","SessionId":"h","ServiceCode":"713","Message":%q,"Operator":"mtn","Sequence":%d}`, kind, text, sequence))
			return w.Body.String()
		}
		press("Initiation", "*713#", 1)
		press("Response", "2", 2)
		first := press("Response", "3", 3)
		if !strings.Contains(first, "Ordered 3 for 1.50") || press("Response", "3", 3) != first {
			t.Errorf("answer = %s, want the same twice", first)
		}
		if got := p.asked(); len(got) != 1 {
			t.Errorf("the partner was asked %q, want once", got)
		}
	})
}

// TestAskAgainAfterTrouble: a step that could not be stored asks again with the
// same key.
func TestAskAgainAfterTrouble(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		withEffects(t, d)
		p := newPartner(t)
		l := newAsking(t, d, newClock(), p, loopback)
		fail := true
		l.SetTrip(func() error {
			if fail {
				return io.ErrUnexpectedEOF
			}
			return nil
		})
		if got := l.send("s", phone1, "2*7"); !strings.HasPrefix(got, "END Service temporarily unavailable") {
			t.Errorf("answer = %q, want trouble", got)
		}
		fail = false
		if got := l.send("s", phone1, "2*7"); !strings.HasPrefix(got, "CON Ordered 7") {
			t.Errorf("answer = %q, want the order", got)
		}
		if got := p.asked(); len(got) != 2 || got[0] != got[1] {
			t.Errorf("the partner was asked %q, want twice with one key", got)
		}
		if e := l.effects(phone1); len(e) != 1 {
			t.Errorf("effects = %q, want one", e)
		}
	})
}

// TestAskInVain: a server that is slow, refuses, fails or may not be called gets
// the caller to a screen of the pack, and no transaction waits for it.
func TestAskInVain(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		set   func(*partner)
		allow []string
		want  string
		asked int
	}{
		{"slow", func(p *partner) { p.hang = true }, []string{loopback}, "CON Please try later.", 1},
		{"refuses", func(p *partner) { p.code = 409 }, []string{loopback}, "END Not possible.", 1},
		{"fails", func(p *partner) { p.code = 500 }, []string{loopback}, "CON Please try later.", 1},
		{"redirects", func(p *partner) { p.code = 302 }, []string{loopback}, "CON Please try later.", 1},
		{"in our own network", func(*partner) {}, nil, "CON Please try later.", 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			d := dbtest.SQLite(t)
			withEffects(t, d)
			p := newPartner(t)
			tt.set(p)
			l := newAsking(t, d, newClock(), p, tt.allow...)
			if p.hang {
				l.SetTimes(time.Minute, ussd.MaxOutside)
			}
			l.send("s", phone1, "")
			l.send("s", phone1, "2")
			for range 2 {
				if got := l.send("s", phone1, "2*7"); !strings.HasPrefix(got, tt.want) {
					t.Errorf("answer = %q, want %q", got, tt.want)
				}
			}
			if n := len(p.asked()); n != tt.asked {
				t.Errorf("the partner was asked %d times, want %d", n, tt.asked)
			}
			if got := l.send("s2", phone2, ""); !strings.HasPrefix(got, "CON Home") {
				t.Errorf("another caller sees %q", got)
			}
		})
	}
}
