package eventtest

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/event"
	"github.com/hearth-dmrv/hearth/internal/web/webtest"
)

// Cases runs every case of a file against a handler, each in its own workspace.
// Rows counts the workspace's rows in a table; events lists the types of the
// events the request appended. A request has the role "owner" unless it names
// another: "none" sends no token, "other" is an owner of another workspace.
func Cases(t *testing.T, file string, d *db.DB, l *event.Log, h http.Handler) {
	t.Helper()
	for i, c := range webtest.Read(t, file) {
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			stage{d, l, h}.play(t, fmt.Sprintf("ws%d", i), c)
		})
	}
}

type stage struct {
	db  *db.DB
	log *event.Log
	h   http.Handler
}

func (s stage) play(t *testing.T, ws string, c webtest.Case) {
	t.Helper()
	p := &webtest.Play{Handler: s.h, Vars: map[string]string{}, Sign: func(r *http.Request, as string) { sign(r, ws, as) }}
	Append(t, s.db, s.log, ws, c.Append...)
	p.Prepare(t, c)
	held, err := s.log.Range(t.Context(), ws)
	if err != nil {
		t.Fatal(err)
	}
	p.Check(t, c)
	for table, want := range c.Rows {
		rows(t, s.db, ws, table, want)
	}
	events(t, s.log, event.Query{Workspace: ws, After: held.Newest, Limit: 100}, c.Events)
}

func sign(r *http.Request, ws, as string) {
	switch as {
	case "none":
		return
	case "other":
		ws, as = "another-"+ws, "owner"
	case "":
		as = "owner"
	}
	r.Header.Set("Authorization", "Bearer "+ws+" "+as)
}

func rows(t *testing.T, d *db.DB, ws, table string, want int) {
	t.Helper()
	var got int
	if err := d.QueryRow(t.Context(), `SELECT count(*) FROM `+table+` WHERE ws = $1`, ws).Scan(&got); err != nil {
		t.Fatal(err)
	}
	if got != want {
		t.Errorf("%d rows in %s, want %d", got, table, want)
	}
}

func events(t *testing.T, l *event.Log, q event.Query, want []string) {
	t.Helper()
	b, err := l.Read(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	got := []string{}
	for _, it := range b.Items {
		got = append(got, it.Type)
		filterable(t, it)
	}
	if strings.Join(got, " ") != strings.Join(want, " ") {
		t.Errorf("events = %v, want %v", got, want)
	}
}

// filterable checks that filters accept every member of an event's data.
func filterable(t *testing.T, it event.Item) {
	t.Helper()
	if it.Data.IsZero() {
		return
	}
	var data map[string]any
	if err := json.Unmarshal(it.Data.Value, &data); err != nil {
		t.Fatal(err)
	}
	for name := range data {
		if _, err := event.ParseWhere("exists(data."+name+")", ""); err != nil {
			t.Errorf("%s has data.%s, by which nobody can filter: enter it at facts in internal/event/where.go", it.Type, name)
		}
	}
}
