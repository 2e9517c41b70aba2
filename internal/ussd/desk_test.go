package ussd_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/hearth-dmrv/hearth/api"
	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
	"github.com/hearth-dmrv/hearth/internal/ussd"
	"github.com/hearth-dmrv/hearth/internal/ussd/machine"
	"github.com/hearth-dmrv/hearth/internal/web"
	"github.com/hearth-dmrv/hearth/internal/web/webtest"
)

// reader admits whoever asks, with the scopes of a header.
type reader struct{}

func (reader) Admit(_ http.Header, r *http.Request, _ web.Scope) (web.Caller, error) {
	return web.Caller{Workspace: "default", DID: "did:x:reader", Scopes: strings.Fields(r.Header.Get("X-Scopes"))}, nil
}

// deskOf is the desk of a line.
func deskOf(l *line) http.Handler {
	a := web.NewAPI(web.APIConfig{Name: "line", Gate: reader{}})
	ussd.NewDesk(ussd.DeskConfig{Sessions: l.Service, Known: machine.Known(actions(nil)), Cursors: web.Cursors{Key: []byte("0123456789abcdef")}}).Routes(a)
	return webtest.Handler(l.t, a)
}

// ask reads an answer of the desk.
func ask[T any](t *testing.T, h http.Handler, path, scopes string) T {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil)
	r.Header.Set("X-Scopes", scopes)
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	var out T
	if err := json.Unmarshal(w.Body.Bytes(), &out); err != nil || w.Code != http.StatusOK {
		t.Fatalf("GET %s = %d %s, %v", path, w.Code, w.Body, err)
	}
	return out
}

const all = "ussd:read entities:pii"

// TestCallsAreKept ends calls in each way there is: each is one row, with its steps
// and without its secrets, until the number is forgotten.
func TestCallsAreKept(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		withEffects(t, d)
		l := newLine(t, d, newClock())
		h := deskOf(l)
		list := func(query, scopes string) []api.Call {
			return ask[api.Page[api.Call]](t, h, "/v1/ussd/calls"+query, scopes).Items
		}
		l.send("s1", phone1, "")
		l.send("s1", phone1, "3")
		l.send("s1", phone1, "3*48213")
		if got := list("", all); len(got) != 0 {
			t.Fatalf("calls under way = %+v", got)
		}
		l.send("s1", phone1, "3*48213**")
		l.send("s2", phone2, "9") // falls silent
		l.post("/api/ussd/africastalking", "application/x-www-form-urlencoded", "sessionId=s3&serviceCode=*2233%23&phoneNumber=%2B254700000002&text=")
		l.post("/api/ussd/africastalking/events", "application/x-www-form-urlencoded", "sessionId=s3&serviceCode=*2233%23&phoneNumber=%2B254700000002&status=Success")
		l.clock.pass(time.Hour)
		if err := l.Expire(t.Context()); err != nil {
			t.Fatal(err)
		}
		endings := map[string]string{}
		for _, c := range list("", all) {
			endings[c.SessionID] = c.Ending + " " + c.PhoneNumber
		}
		if len(endings) != 3 || endings["s1"] != "ended "+phone1 || endings["s2"] != "expired "+phone2 || endings["s3"] != "hung_up "+phone2 {
			t.Errorf("calls = %v", endings)
		}
		mine := list("?phone=%2B254700000001", all)
		if len(mine) != 1 || mine[0].Inputs != 3 {
			t.Fatalf("calls of a number = %+v", mine)
		}
		whole := ask[api.Call](t, h, "/v1/ussd/calls/"+mine[0].ID, all)
		if len(whole.Steps) != 4 || whole.Steps[1].Input != "3" || whole.Steps[2].Input != "•••••" || !whole.Steps[2].Masked || strings.Contains(whole.Dialog, "48213") || !strings.Contains(whole.Dialog, "> {pin}") {
			t.Errorf("the call = %+v", whole)
		}
		for _, c := range list("?since=2026-11-15T09:30:00Z", all) {
			t.Errorf("after the last one there is %+v", c)
		}
		if got := list("", "ussd:read")[0]; got.PhoneNumber == phone1 || got.PhoneNumber == phone2 || !got.Withheld {
			t.Errorf("without the right to know = %+v", got)
		}
		forget(t, d, phone2)
		if got := list("", all); len(got) != 1 || got[0].SessionID != "s1" {
			t.Errorf("after the number was forgotten = %+v", got)
		}
		l.clock.pass(31 * 24 * time.Hour)
		if err := l.Expire(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := list("", all); len(got) != 0 {
			t.Errorf("after 31 days = %+v", got)
		}
	})
}

// TestCallsGoByWeeks turns the table of calls into weeks while there are some: they are
// read and forgotten as before, nobody reads what is older than 30 days, and weeks go whole.
func TestCallsGoByWeeks(t *testing.T) {
	t.Parallel()
	d := dbtest.Postgres(t)
	withEffects(t, d)
	l := newLine(t, d, newClock())
	h := deskOf(l)
	call := func(session, phone string) {
		l.send(session, phone, "")
		l.send(session, phone, "3")
		l.send(session, phone, "3*48213")
		l.send(session, phone, "3*48213**")
		l.clock.pass(time.Second)
	}
	weeks := ussd.Parts(d)
	weeks.Now = l.clock.now
	pass := func(days int) {
		t.Helper()
		for range days / 7 {
			l.clock.pass(7 * 24 * time.Hour)
			if err := errors.Join(weeks.Make(t.Context()), l.Expire(t.Context())); err != nil {
				t.Fatal(err)
			}
		}
	}
	want := func(when string, rows int, sessions ...string) {
		t.Helper()
		var got []string
		for _, c := range ask[api.Page[api.Call]](t, h, "/v1/ussd/calls", all).Items {
			got = append(got, c.SessionID)
			if whole := ask[api.Call](t, h, "/v1/ussd/calls/"+c.ID, all); len(whole.Steps) != 4 {
				t.Errorf("%s: steps of %s = %+v", when, c.SessionID, whole.Steps)
			}
		}
		if !slices.Equal(got, sessions) {
			t.Errorf("%s: calls = %v, want %v", when, got, sessions)
		}
		var n int
		if err := d.QueryRow(t.Context(), `SELECT count(*) FROM ussd_walks`).Scan(&n); err != nil || n != rows {
			t.Errorf("%s: %d rows, %v, want %d", when, n, err, rows)
		}
	}
	call("s1", phone1)
	if err := weeks.Make(t.Context()); err != nil {
		t.Fatal(err)
	}
	call("s2", phone2)
	pass(21)
	call("s3", phone1)
	call("s4", phone2)
	want("after three weeks", 4, "s4", "s3", "s2", "s1")
	pass(14)
	want("after five", 2, "s4", "s3") // what was there before the weeks goes one by one
	pass(14)
	call("s5", phone1)
	want("after seven", 3, "s5", "s4", "s3")
	l.clock.pass(54 * time.Hour) // 30 days and six hours after the third, on its Sunday
	if err := l.Expire(t.Context()); err != nil {
		t.Fatal(err)
	}
	want("in the middle of a week", 3, "s5")
	forget(t, d, phone2)
	want("after a number was forgotten", 2, "s5")
	pass(7)
	want("after eight", 1, "s5")
}

func forget(t *testing.T, d *db.DB, phone string) {
	t.Helper()
	err := d.InTx(t.Context(), func(tx *db.Tx) error {
		_, err := ussd.Forget(t.Context(), tx, phone)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestMenuCounts counts at the nodes of a menu what callers did there, before and
// after it is stored, and forgets what was counted of the demo.
func TestMenuCounts(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		withEffects(t, d)
		l := newLine(t, d, newClock(), func(c *ussd.Config) { c.Sample = func(phone string) bool { return phone == phone2 } })
		h := deskOf(l)
		home := func() api.MenuNode {
			m := ask[api.Menu](t, h, "/v1/ussd/menu", "ussd:read")
			for _, n := range m.Nodes {
				if n.ID == m.Start {
					return n
				}
			}
			t.Fatalf("the menu has no start: %+v", m)
			return api.MenuNode{}
		}
		l.send("s1", phone1, "")
		l.send("s1", phone1, "")  // the same again is not counted
		l.send("s1", phone1, "7") // no such option
		l.send("s2", phone2, "")
		l.clock.pass(time.Hour)
		if err := l.Expire(t.Context()); err != nil {
			t.Fatal(err)
		}
		before := home()
		if before.Visits != 2 || before.Refused != 1 || before.Dropped != 2 || len(before.Ways) == 0 {
			t.Errorf("counted %+v, want 2 visits, 1 refused, 2 dropped", before)
		}
		for range 2 {
			if err := l.Flush(t.Context()); err != nil {
				t.Fatal(err)
			}
			if got := home(); got.Visits != before.Visits || got.Refused != before.Refused || got.Dropped != before.Dropped {
				t.Errorf("stored %+v, counted %+v", got, before)
			}
		}
		if err := d.InTx(t.Context(), func(tx *db.Tx) error { return ussd.ForgetSamples(t.Context(), tx) }); err != nil {
			t.Fatal(err)
		}
		if got := home(); got.Visits != 1 || got.Dropped != 1 {
			t.Errorf("without the demo %+v, want 1 visit and 1 dropped", got)
		}
	})
}
