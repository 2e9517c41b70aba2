package export_test

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
	"github.com/hearth-dmrv/hearth/internal/event/eventtest"
	"github.com/hearth-dmrv/hearth/internal/exchange"
	"github.com/hearth-dmrv/hearth/internal/file"
	"github.com/hearth-dmrv/hearth/internal/job"
	"github.com/hearth-dmrv/hearth/internal/sheet"
	"github.com/hearth-dmrv/hearth/internal/survey/export"
)

func TestFormats(t *testing.T) {
	both(t, func(t *testing.T, r *rig) {
		r.start(t)
		for i := range 7 {
			r.answer(t, fmt.Sprintf("r%d", i), i, fmt.Sprintf(`{"size":%d,"fuel":["wood",{"other":"dung"}],"phone":"+25470000%d","people":[{"name":"A","age":3}]}`, i, i))
		}
		for format, media := range map[string]string{
			"csv": "text/csv; charset=utf-8; header=present", "xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
			"ndjson": "application/x-ndjson", "jsonld": "application/ld+json", "geojson": "application/geo+json", "dta": "application/x-stata-dta",
		} {
			for _, shape := range shapesOf(format) {
				e := r.export(t, "auditor", fmt.Sprintf(`{"format":%q,"shape":%q}`, format, shape))
				want := int64(7)
				if shape == "long" {
					want = 7 * 6 // consent, size, two fuels with other words, an age
				}
				if e.Counts.Responses != 7 || e.Counts.Rows != want || e.Counts.Total != 7 || e.Counts.Looked != 7 || e.PII != "pseudonymised" || e.AsOf.IsZero() {
					t.Errorf("%s %s: %+v", format, shape, e)
				}
				b := r.file(t, "auditor", e)
				w := r.send(t, "auditor", "GET "+e.Links.File, "")
				if got := w.Header().Get("Content-Type"); got != media {
					t.Errorf("%s: Content-Type = %q", format, got)
				}
				if got := w.Header().Get("Content-Disposition"); !strings.HasPrefix(got, `attachment; filename="s-`+shape+"-") || !strings.HasSuffix(got, "."+format+`"`) {
					t.Errorf("%s: Content-Disposition = %q", format, got)
				}
				if again := r.send(t, "auditor", "GET "+e.Links.File, "", "If-None-Match", w.Header().Get("ETag")); again.Code != 304 {
					t.Errorf("%s: again = %d", format, again.Code)
				}
				looks(t, format, b, want)
			}
		}
	})
}

// shapesOf are the shapes that a format has.
func shapesOf(format string) []string {
	if format == "geojson" || format == "dta" {
		return []string{"wide"}
	}
	return []string{"wide", "long"}
}

// looks checks that a file is one of its format, with as many rows.
func looks(t *testing.T, format string, b []byte, want int64) {
	t.Helper()
	n := int64(0)
	switch format {
	case "csv":
		n = int64(len(rows(t, b)))
	case "xlsx":
		book, err := sheet.OpenBook(bytes.NewReader(b), int64(len(b)))
		if err != nil {
			t.Fatal(err)
		}
		n = -1 // the heads
		if err := book.Rows(0, func(int64, []sheet.Cell) error { n++; return nil }); err != nil {
			t.Fatal(err)
		}
	case "ndjson":
		for line := range strings.Lines(string(b)) {
			var m map[string]any
			if err := json.Unmarshal([]byte(line), &m); err != nil {
				t.Fatalf("%v in %s", err, line)
			}
			n++
		}
	case "jsonld":
		var m map[string]any
		if err := json.Unmarshal(b, &m); err != nil {
			t.Fatalf("%v in %s", err, b)
		}
		n = int64(len(m["@graph"].([]any))) - 1
	case "geojson":
		n = int64(len(features(t, b)))
	case "dta":
		n = int64(len(readStata(t, b).rows))
	}
	if n != want {
		t.Errorf("%s: %d rows, want %d", format, n, want)
	}
}

func TestWhoReadsWhat(t *testing.T) {
	rule(t, func(t *testing.T, r *rig) {
		r.start(t)
		r.answer(t, "r1", 1, `{"size":4,"phone":"+254700","where":{"lat":-1.2921,"lon":36.8219},"people":[{"name":"Amina","age":3}]}`)
		full := r.table(t, "mia", `{"format":"csv","pii":"full"}`)[0]
		for name, want := range map[string]string{
			"responseId": "r1", "householdId": "did:ixo:household/1", "home.phone": "+254700", "home.where/lat": "-1.2921", "location/lat": "-1.2345", "deviceId": "device-7",
			"collector": "did:key:owner", "home.people": `[{"age":3,"name":"Amina"}]`, "erased": "false",
		} {
			if got := strings.TrimPrefix(full[name], "'"); got != want {
				t.Errorf("full: %s = %q, want %q", name, got, want)
			}
		}
		if full["home.phone"] != "'+254700" {
			t.Errorf("a phone number is %q, want it guarded", full["home.phone"])
		}
		name := r.vault.Pseudonyms("ws", "did:ixo:project/one")
		other := r.table(t, "auditor", `{"format":"csv","pii":"pseudonymised"}`)[0]
		if other["householdId"] != name("did:ixo:household/1") || !strings.HasPrefix(other["collector"], "pe_") || !strings.HasPrefix(other["responseId"], "rec~") ||
			other["home.where/lat"] != "-1.3" || other["home.people"] != `[{"age":3}]` {
			t.Errorf("pseudonymised = %v", other)
		}
		none := r.table(t, "auditor", `{"format":"csv","pii":"none"}`)[0]
		for _, gone := range []string{"householdId", "collector", "verifier", "home.phone", "location/lat", "deviceId", "metadata", "submittedBy", "erased"} {
			if v, ok := none[gone]; ok {
				t.Errorf("none has %s = %q", gone, v)
			}
			if v, ok := other[gone]; ok && gone != "householdId" && gone != "collector" && gone != "verifier" {
				t.Errorf("pseudonymised has %s = %q", gone, v)
			}
		}
		r.do(t, "auditor POST /v1/surveys/s/exports", `{"format":"csv","pii":"full"}`, 403, nil)
		r.do(t, "exporter POST /v1/surveys/s/exports", `{"format":"csv","pii":"none"}`, 403, nil)
		r.do(t, "reader POST /v1/surveys/s/exports", `{"format":"csv","pii":"none"}`, 403, nil)
		r.do(t, "elsewhere POST /v1/surveys/s/exports", `{"format":"csv"}`, 404, nil)

		e := r.export(t, "mia", `{"format":"csv","pii":"full"}`)
		var seen export.Export
		r.do(t, "auditor GET "+e.Links.Self, "", 200, &seen)
		if seen.Links.File != "" {
			t.Errorf("the auditor is shown %s", seen.Links.File)
		}
		r.do(t, "auditor GET "+e.Links.File, "", 403, nil)
		r.do(t, "exporter GET "+e.Links.File, "", 403, nil)
		r.do(t, "elsewhere GET "+e.Links.File, "", 404, nil)
		if w := r.send(t, "x", "GET "+e.Links.File, "", "Authorization", "Bearer foreign owner"); w.Code != 404 {
			t.Errorf("another workspace = %d", w.Code)
		}
	})
}

// TestAsOf: a file shows every response as it was.
func TestAsOf(t *testing.T) {
	both(t, func(t *testing.T, r *rig) {
		r.start(t)
		step := func() string {
			r.forward(time.Minute)
			at := r.clock().UTC().Truncate(time.Millisecond).Format(time.RFC3339Nano)
			r.forward(time.Minute)
			return at
		}
		before := step()
		r.answer(t, "a", 1, `{"size":1,"phone":"111"}`)
		r.answer(t, "b", 2, `{"size":2}`)
		r.answer(t, "c", 3, `{"size":3}`)
		first := step()
		r.correct(t, "a", `{"responses":{"home":{"size":10,"phone":"999"}}}`)
		r.answer(t, "d", 4, `{"size":4}`)
		r.do(t, "owner POST /v1/surveys/s/responses", `{"responseId":"b2","householdId":"did:ixo:household/2","timestamp":"2026-02-21T10:00:00Z","supersedes":"b",
			"responses":{"consent":{"ok":true},"home":{"size":20}}}`, 201, nil)
		second := step()
		w := r.do(t, "owner GET /v1/responses/c", "", 200, nil)
		if w := r.send(t, "owner", "DELETE /v1/responses/c?reason=asked", "", "If-Match", w.Header().Get("ETag")); w.Code != 200 {
			t.Fatalf("redact = %d %s", w.Code, w.Body)
		}
		r.correct(t, "a", `{"responses":{"home":{"size":100,"phone":null}}}`)
		for _, tt := range []struct{ at, ids, sizes, phones string }{
			{before, "", "", ""},
			{first, "a b", "1 2", "111 "},
			{second, "a d b2", "10 4 20", "999  "},
			{step(), "a d b2", "100 4 20", "  "},
		} {
			got := r.table(t, "owner", `{"format":"csv","pii":"full","asOf":"`+tt.at+`"}`)
			if ids, sizes, phones := column(got, "responseId"), column(got, "home.size"), column(got, "home.phone"); ids != tt.ids || sizes != tt.sizes || phones != tt.phones {
				t.Errorf("as of %s: %q with %q and %q, want %q with %q and %q", tt.at, ids, sizes, phones, tt.ids, tt.sizes, tt.phones)
			}
		}
		got := r.table(t, "owner", `{"format":"csv","pii":"full","verification":["superseded"]}`)
		if ids := column(got, "responseId"); ids != "b" {
			t.Errorf("superseded = %q, want b", ids)
		}
		future := r.clock().Add(time.Hour).UTC().Format(time.RFC3339Nano)
		r.do(t, "owner POST /v1/surveys/s/exports", `{"format":"csv","asOf":"`+future+`"}`, 400, nil)
	})
}

// correct changes a response by a merge patch.
func (r *rig) correct(t testing.TB, id, patch string) {
	t.Helper()
	tag := r.do(t, "owner GET /v1/responses/"+id, "", 200, nil).Header().Get("ETag")
	if w := r.send(t, "owner", "PATCH /v1/responses/"+id, patch, "If-Match", tag, "Content-Type", "application/merge-patch+json"); w.Code != 200 {
		t.Fatalf("correct %s = %d %s", id, w.Code, w.Body)
	}
}

func TestNarrowed(t *testing.T) {
	rule(t, func(t *testing.T, r *rig) {
		r.start(t)
		for i := range 6 {
			r.answer(t, fmt.Sprintf("r%d", i), i, fmt.Sprintf(`{"size":%d}`, i))
		}
		r.do(t, "owner POST /v1/surveys/s/rounds", `{}`, 0, nil)
		r.answer(t, "second", 1, `{"size":9}`)
		for _, tt := range []struct{ draft, want string }{
			{`{"format":"csv","pii":"full"}`, "r0 r1 r2 r3 r4 r5 second"},
			{`{"format":"csv","pii":"full","rounds":[2]}`, "second"},
			{`{"format":"csv","pii":"full","filter":"gt(responses.home.size,3)"}`, "r4 r5 second"},
			{`{"format":"csv","pii":"full","filter":"gt(responses.home.size,3)","rounds":[1]}`, "r4 r5"},
			{`{"format":"csv","pii":"full","verification":["verified"]}`, ""},
			{`{"format":"csv","pii":"full","verification":["pending","verified"],"rounds":[2]}`, "second"},
		} {
			if got := column(r.table(t, "owner", tt.draft), "responseId"); got != tt.want {
				t.Errorf("%s = %q, want %q", tt.draft, got, tt.want)
			}
		}
	})
}

// TestErased: what is erased is in no file, old, new or half written.
func TestErased(t *testing.T) {
	both(t, func(t *testing.T, r *rig) {
		r.Small()
		for i := range 20 {
			r.answer(t, fmt.Sprintf("r%02d", i), i, fmt.Sprintf(`{"size":1,"phone":"secret-%d."}`, i))
		}
		erase := func(n int) {
			err := r.db.InTx(t.Context(), func(tx *db.Tx) error {
				if _, err := r.rs.Erase(t.Context(), tx, "ws", fmt.Sprintf("did:ixo:household/%d", n)); err != nil {
					return err
				}
				return r.Condemn(t.Context(), tx, "ws")
			})
			if err == nil {
				_, err = file.Bury(context.WithoutCancel(t.Context()), r.db, nil, "ws", time.Now())
			}
			if err == nil {
				_, err = r.Forget(context.WithoutCancel(t.Context()), "ws")
			}
			if err != nil {
				t.Error(err)
			}
		}
		r.start(t)
		old := r.export(t, "owner", `{"format":"csv","pii":"full","filter":"ge(responses.home.size,0)"}`)
		if b := r.file(t, "owner", old); !strings.Contains(string(b), "secret-1.") {
			t.Errorf("file = %s", b)
		}
		erase(1)
		r.do(t, "owner GET "+old.Links.Self+"/file", "", 404, nil)
		var seen export.Export
		r.do(t, "owner GET "+old.Links.Self, "", 200, &seen)
		if seen.Links.File != "" || seen.Filter != "" {
			t.Errorf("the export still shows %+v", seen)
		}
		// The second one is erased while its answers are being written.
		var ticks atomic.Int64
		r.tick.Store(func() { // before it is asked for: its job may begin at once
			if ticks.Add(1) == 6 {
				erase(0)
			}
		})
		id := r.ask(t, "owner", `{"format":"csv","pii":"full"}`)
		e := r.wait(t, id)
		r.tick.Store(func() {})
		got := rows(t, r.file(t, "owner", e))
		if len(got) != 20 || ticks.Load() < 6 {
			t.Fatalf("%d rows after %d ticks", len(got), ticks.Load())
		}
		for i, m := range got {
			want, erased := fmt.Sprintf("secret-%d.", i), "false"
			if i < 2 {
				want, erased = "", "true"
			}
			if m["home.phone"] != want || m["erased"] != erased || m["home.size"] != "1" || i < 2 && m["location/lat"] != "" {
				t.Errorf("row %d = %v", i, m)
			}
		}
	})
}

// killer ends the runs of jobs as if the process had gone.
type killer struct{ kill atomic.Value }

func (k *killer) wrap(h job.Handler) job.Handler {
	return func(ctx context.Context, run *job.Run) error {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		k.kill.Store(cancel)
		return h(ctx, run)
	}
}

// TestKilled: an export that is killed goes on, and its file is the same.
func TestKilled(t *testing.T) {
	both(t, func(t *testing.T, r *rig) {
		r.Small()
		var k killer
		r.start(t, k.wrap)
		for i := range 30 {
			r.answer(t, fmt.Sprintf("r%02d", i), i, fmt.Sprintf(`{"size":%d,"phone":"p%d","people":[{"age":1},{"age":2}]}`, i, i))
		}
		at := r.clock().UTC().Truncate(time.Millisecond).Format(time.RFC3339Nano)
		for _, format := range []string{"csv", "ndjson", "jsonld", "xlsx", "geojson", "dta"} {
			for _, shape := range shapesOf(format) {
				draft := fmt.Sprintf(`{"format":%q,"shape":%q,"pii":"full","asOf":%q}`, format, shape, at)
				want := r.file(t, "owner", r.export(t, "owner", draft))
				var ticks atomic.Int64
				r.tick.Store(func() {
					if n := ticks.Add(1); n == 3 || n == 5 || n == 8 {
						k.kill.Load().(context.CancelFunc)()
					}
				})
				e := r.wait(t, r.ask(t, "owner", draft))
				r.tick.Store(func() {})
				if e.Status != job.Succeeded {
					t.Fatalf("%s %s: %+v", format, shape, e)
				}
				if got := r.file(t, "owner", e); !bytes.Equal(got, want) && format != "xlsx" {
					t.Errorf("%s %s: file =\n%s\nwant\n%s", format, shape, got, want)
				}
				var j job.Job
				if r.do(t, "owner GET /v1/jobs/"+e.ID, "", 200, &j); j.Attempts < 2 || e.Counts.Responses != 30 {
					t.Errorf("%s %s: %d attempts, %+v", format, shape, j.Attempts, e.Counts)
				}
			}
		}
	})
}

func TestCancelled(t *testing.T) {
	both(t, func(t *testing.T, r *rig) {
		r.Small()
		for i := range 20 {
			r.answer(t, fmt.Sprintf("r%02d", i), i, `{"size":1}`)
		}
		id := r.ask(t, "owner", `{"format":"csv"}`)
		var ticks atomic.Int64
		r.tick.Store(func() {
			if ticks.Add(1) == 3 {
				r.do(t, "owner POST /v1/jobs/"+id+"/cancel", `{}`, 0, nil)
			}
		})
		r.start(t)
		if e := r.wait(t, id); e.Status != job.Cancelled || e.Links.File != "" {
			t.Errorf("export = %+v", e)
		}
		r.do(t, "owner GET /v1/surveys/s/exports/"+id+"/file", "", 409, nil)
	})
}

func TestExpire(t *testing.T) {
	both(t, func(t *testing.T, r *rig) {
		r.start(t)
		r.answer(t, "r", 1, `{"size":1}`)
		e := r.export(t, "owner", `{"format":"csv"}`)
		old := func() int {
			n, err := r.ExpireFiles(t.Context(), r.clock().Add(-exchange.FileLife), 100)
			if err != nil {
				t.Fatal(err)
			}
			return n
		}
		if n := old(); n != 0 {
			t.Errorf("%d pieces of a new file went", n)
		}
		r.forward(exchange.FileLife + time.Minute)
		r.do(t, "owner GET "+e.Links.File, "", 404, nil) // even before it is removed
		for old() > 0 {
		}
		for _, table := range []string{"transfer_files", "transfer_pieces"} {
			var n int
			if err := r.db.QueryRow(t.Context(), `SELECT count(*) FROM `+table).Scan(&n); err != nil || n != 0 {
				t.Errorf("%d rows in %s, %v", n, table, err)
			}
		}
		if n, err := r.Expire(t.Context(), r.clock(), 100); n != 1 || err != nil {
			t.Errorf("Expire() = %d, %v", n, err)
		}
		r.do(t, "owner GET "+e.Links.Self, "", 404, nil)
	})
}

// TestHostile: whatever people write, a cell is a cell, and no formula.
func TestHostile(t *testing.T) {
	rule(t, func(t *testing.T, r *rig) {
		r.start(t)
		texts := []string{
			`=HYPERLINK("http://x","y")`, "+1", "-1", "@SUM(1)", "\t=1", "a,b", `say "hi"`, "two\nlines", "cr\r\nlf", " space ", "é", "＝1", "'=1", "\u202e=1", strings.Repeat("x", 4000),
			`{"noAnswer":"refused"}`, `"`, `\`, `\"`, "a\u2028b", "</script>", "null",
		}
		for i, text := range texts {
			quoted, err := json.Marshal(map[string]any{"words": text, "fuel": []any{map[string]string{"other": text}}})
			if err != nil {
				t.Fatal(err)
			}
			r.answer(t, fmt.Sprintf("r%02d", i), i, string(quoted))
		}
		b := r.file(t, "auditor", r.export(t, "auditor", `{"format":"csv"}`))
		for i, m := range rows(t, b) {
			want := strings.ReplaceAll(texts[i], "\r\n", "\n") // as encoding/csv reads
			for _, name := range []string{"home.words", "home.fuel/other"} {
				got := m[name]
				if got != want && got != "'"+want {
					t.Errorf("%q in %s came out as %q", texts[i], name, got)
				}
				if got != "" && strings.ContainsAny(got[:1], "=+-@\t\r") {
					t.Errorf("%q would be run", got)
				}
			}
			if m["home.fuel"] != "other" {
				t.Errorf("fuel = %q", m["home.fuel"])
			}
		}
		for _, draft := range []string{`{"format":"ndjson"}`, `{"format":"jsonld","shape":"long"}`, `{"format":"xlsx"}`, `{"format":"xlsx","shape":"long"}`, `{"format":"geojson"}`, `{"format":"dta"}`} {
			e := r.export(t, "auditor", draft)
			looks(t, string(e.Format), r.file(t, "auditor", e), e.Counts.Rows)
		}
	})
}

// A repeat may be longer than a cell of a spreadsheet: that is said.
func TestImpossible(t *testing.T) {
	rule(t, func(t *testing.T, r *rig) {
		r.start(t)
		people := strings.TrimSuffix(strings.Repeat(`{"name":"`+strings.Repeat("x", 400)+`"},`, 100), ",")
		r.answer(t, "r", 1, `{"people":[`+people+`]}`)
		e := r.wait(t, r.ask(t, "owner", `{"format":"xlsx","pii":"full"}`))
		if e.Status != job.Failed || len(e.Errors) != 1 || e.Errors[0].Code != "EXPORT_IMPOSSIBLE" {
			t.Errorf("export = %+v", e)
		}
		if got := r.table(t, "owner", `{"format":"csv","pii":"full"}`); len(got) != 1 || len(got[0]["home.people"]) < 40_000 {
			t.Errorf("csv = %.100v", got)
		}
	})
}

func TestTooManyFiles(t *testing.T) {
	rule(t, func(t *testing.T, r *rig) {
		err := r.db.InTx(t.Context(), func(tx *db.Tx) error {
			for i := range exchange.MaxFiles {
				if err := file.Insert(t.Context(), tx, &file.File{ID: fmt.Sprint(i), Workspace: "ws", Kind: file.Export}); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		r.do(t, "owner POST /v1/surveys/s/exports", `{"format":"csv"}`, 429, nil)
	})
}

func TestCodebook(t *testing.T) {
	rule(t, func(t *testing.T, r *rig) {
		w := r.do(t, "reader GET /v1/surveys/s/codebook?format=csv", "", 200, nil)
		all := rows(t, w.Body.Bytes())
		if got := column(all, "name"); !strings.Contains(got, " home.fuel/wood ") || !strings.Contains(got, " home.phone ") || !strings.HasPrefix(got, "responseId recordId round householdId") {
			t.Errorf("columns = %s", got)
		}
		if w.Header().Get("Content-Type") != "text/csv; charset=utf-8; header=present" || !strings.Contains(w.Body.String(), "Ukubwa") {
			t.Errorf("codebook = %v %s", w.Header(), w.Body)
		}
	})
}

func TestRoutes(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		r := newRig(t, d)
		eventtest.Cases(t, "exports.json", d, r.log, r.h)
	})
}
