package event_test

import (
	"encoding/base64"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
	"github.com/hearth-dmrv/hearth/internal/event"
	"github.com/hearth-dmrv/hearth/internal/event/eventtest"
)

// veiled withholds who sends responses, and not who decides about them.
func veiled(c *event.Config) {
	c.Veil = event.Veil{Scope: "responses:pii", Types: event.Filter{"response.*", "survey.outcome_set"}, Open: event.Filter{"response.verified"}}
}

// did stores an event: "type subject actor requestId".
func did(t *testing.T, d *db.DB, l *event.Log, ws string, lines ...string) {
	t.Helper()
	for _, line := range lines {
		f := append(strings.Fields(line), "")
		e := event.Event{Workspace: ws, Type: f[0], Subject: f[1], Actor: f[2], RequestID: f[3]}
		if err := d.InTx(t.Context(), func(tx *db.Tx) error { return l.Append(t.Context(), tx, e) }); err != nil {
			t.Fatal(err)
		}
	}
}

// work is what a collector, a verifier, the server and an auditor have done.
var work = []string{
	"response.submitted r1 did:key:ann req-1", "survey.outcome_set s1 did:key:ann", "response.verified r1 did:key:vera req-2",
	"entity.updated e1 did:key:ann req-1", "response.flagged r1 system", "response.submitted r2 did:key:auditor req-3",
}

// who tells of events who did them.
func who(items []event.Item) string {
	var out []string
	for _, it := range items {
		out = append(out, strings.TrimSpace(fmt.Sprint(it.Seq, " ", it.Actor, " ", it.RequestID)))
	}
	return strings.Join(out, ", ")
}

// Who may not know the collectors learns from no reader of the log who has
// sent a response: the name in the response could be undone by its id.
func TestActorsAreWithheld(t *testing.T) {
	t.Parallel()
	const all = "1 did:key:ann req-1, 2 did:key:ann, 3 did:key:vera req-2, 4 did:key:ann req-1, 5 system, 6 did:key:auditor req-3"
	const some = "1 withheld, 2 withheld, 3 did:key:vera req-2, 4 did:key:ann req-1, 5 system, 6 did:key:auditor req-3"
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		l := newLog(d, veiled)
		h := eventtest.Serve(t, l.Routes)
		did(t, d, l, "ws", work...)
		for role, want := range map[string]string{"owner": all, "auditor": some, "reader": strings.Replace(some, "6 did:key:auditor req-3", "6 withheld", 1)} {
			var page auditPage
			getAs(t, h, "ws "+role, "/v1/changes", &page)
			if got := who(page.Items); got != want {
				t.Errorf("changes for %s = %s, want %s", role, got, want)
			}
			s := eventtest.Open(t, serve(t, l)+"?after=0", "ws", role, nil)
			var streamed []event.Item
			for range work {
				var it event.Item
				if f, ok := s.Next(t); !ok || json.Unmarshal([]byte(f.Data), &it) != nil {
					t.Fatalf("frame = %+v, %v", f, ok)
				}
				streamed = append(streamed, it)
			}
			if got := who(streamed); got != want {
				t.Errorf("stream for %s = %s, want %s", role, got, want)
			}
			s.Cut()
		}
		for path, want := range map[string]string{
			"changes?filter=eq(actor,did:key:ann)":                          "4 did:key:ann req-1",
			"changes?filter=ne(actor,did:key:ann)":                          "1 withheld, 2 withheld, 3 did:key:vera req-2, 5 system, 6 did:key:auditor req-3",
			"changes?filter=like(actor,did:key:a*)":                         "4 did:key:ann req-1, 6 did:key:auditor req-3",
			"changes?filter=eq(requestId,req-1)":                            "4 did:key:ann req-1",
			"changes?filter=and(eq(actor,withheld),not(exists(requestId)))": "1 withheld, 2 withheld",
			"audit":                                 "6 did:key:auditor req-3, 5 system, 4 did:key:ann req-1, 3 did:key:vera req-2, 2 withheld, 1 withheld",
			"audit?subject=r1":                      "5 system, 3 did:key:vera req-2, 1 withheld",
			"audit?actor=did:key:ann":               "4 did:key:ann req-1",
			"audit?actor=did:key:ann&subject=r1":    "",
			"audit?actor=did:key:ann&type=survey.*": "",
			"audit?actor=withheld":                  "2 withheld, 1 withheld",
			"audit?actor=withheld&subject=r1":       "1 withheld",
			"audit?actor=did:key:auditor":           "6 did:key:auditor req-3",
			"audit?actor=system":                    "5 system",
		} {
			var page auditPage
			getAs(t, h, "ws auditor", "/v1/"+path, &page)
			if got := who(page.Items); got != want {
				t.Errorf("%s = %s, want %s", path, got, want)
			}
		}
		var page auditPage
		get(t, h, "ws", "/v1/audit?actor=did:key:ann", &page)
		if got, want := who(page.Items), "4 did:key:ann req-1, 2 did:key:ann, 1 did:key:ann req-1"; got != want {
			t.Errorf("audit for the owner = %s, want %s", got, want)
		}
	})
}

// walkAudit follows the pages of the audit view as an auditor and tells all that
// is in them, with the places of their cursors.
func walkAudit(t *testing.T, l *event.Log, ws, query string) string {
	t.Helper()
	h := eventtest.Serve(t, l.Routes)
	var out []string
	for cursor, more := "", true; more && len(out) < 100; {
		var p auditPage
		getAs(t, h, ws+" auditor", "/v1/audit?"+query+"&cursor="+cursor, &p)
		raw, err := base64.RawURLEncoding.DecodeString(p.Page.NextCursor)
		if err != nil {
			t.Fatal(err)
		}
		at := ""
		if len(raw) > 17 { // a version before, a signature behind
			at = string(raw[1 : len(raw)-16])
		}
		out = append(out, who(p.Items)+"|"+at)
		cursor, more = p.Page.NextCursor, p.Page.HasMore
	}
	return strings.Join(out, "\n")
}

// The pages of what somebody did are the same whatever is withheld of it: where
// one ends, and whether there is another, would tell.
func TestPagesTellNoActor(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
		now := start
		l := newLog(d, veiled, func(c *event.Config) { c.ScanBudget, c.Now = 3, func() time.Time { return now } })
		for _, ws := range []string{"ann", "bob"} { // who sends responses there
			for i := range 200 {
				now = start.Add(time.Duration(i) * time.Hour)
				line := "response.submitted r" + fmt.Sprint(i) + " did:key:" + ws
				if i%40 == 7 {
					line = "entity.updated e did:key:ann"
				}
				did(t, d, l, ws, line)
			}
		}
		times := "since=" + url.QueryEscape(start.Add(60*time.Hour).Format(time.RFC3339)) + "&until=" + url.QueryEscape(start.Add(130*time.Hour).Format(time.RFC3339))
		for query, want := range map[string]int{
			"actor=did:key:ann": 5, "actor=did:key:ann&limit=1": 5, "actor=did:key:ann&limit=2&type=entity.*": 5, "actor=did:key:ann&type=response.*": 0,
			"actor=did:key:ann&" + times: 2, "actor=did:key:ann&limit=1&" + times: 2, "actor=did:key:ann&subject=e&limit=1": 5,
		} {
			own, others := walkAudit(t, l, "ann", query), walkAudit(t, l, "bob", query)
			if own != others {
				t.Errorf("%s: pages differ by what is withheld:\n%s\n\n%s", query, own, others)
			}
			if got := strings.Count(own, "did:key:ann"); got != want {
				t.Errorf("%s: %d events, want %d:\n%s", query, got, want, own)
			}
		}
	})
}
