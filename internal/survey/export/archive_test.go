package export_test

import (
	"archive/zip"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
	"github.com/hearth-dmrv/hearth/internal/job"
	"github.com/hearth-dmrv/hearth/internal/sheet"
)

const plotTemplate = `{"templateId":"plot","sections":[{"id":"consent","questions":[{"id":"ok","type":"consent"}]},{"id":"plot","questions":[
	{"id":"name","type":"text","pii":"direct"},
	{"id":"photo","type":"photo"},
	{"id":"fields","type":"repeat","questions":[{"id":"crop","type":"text"},{"id":"owner","type":"text","pii":"direct"},
		{"id":"trees","type":"repeat","questions":[{"id":"kind","type":"single_choice","options":["oak","fig"]},{"id":"leaf","type":"photo"}]}]},
	{"id":"dogs","type":"repeat","questions":[{"id":"called","type":"text"}]}]}]}`

const plotSurvey = `{"surveyId":"s","type":"BaselineSurvey","projectId":"did:ixo:project/one","templateId":"plot","sampling":{"method":"census"},"collectors":["did:key:owner"]}`

// plot makes a survey with repeats in repeats and attachments.
func plot(t *testing.T, r *rig) (arrived, missing string) {
	t.Helper()
	for _, one := range [][2]string{
		{"POST /v1/templates", plotTemplate}, {"POST /v1/templates/plot/publish", `{}`}, {"POST /v1/surveys", plotSurvey}, {"POST /v1/surveys/s/activate", `{"reason":"x"}`},
	} {
		r.do(t, "owner "+one[0], one[1], 0, nil)
	}
	body := "\xFF\xD8\xFF" + strings.Repeat("a picture ", 60_000) // several pieces
	sum := sha256.Sum256([]byte(body))
	arrived, missing = hex.EncodeToString(sum[:]), strings.Repeat("0", 64)
	if w := r.send(t, "owner", "PUT /v1/attachments/"+arrived, body, "Content-Type", "image/jpeg"); w.Code != 201 {
		t.Fatalf("PUT = %d: %s", w.Code, w.Body)
	}
	for i, answers := range []string{
		`{"name":"=A","photo":"sha256:` + arrived + `","fields":[{"crop":"maize, white","owner":"B","trees":[{"kind":"oak","leaf":"sha256:` + arrived + `"},{"kind":"fig"}]},{"crop":"rice"}],"dogs":[{"called":"Rex"}]}`,
		`{"name":"C","fields":[{"crop":"tea","trees":[{"kind":"fig","leaf":"sha256:` + missing + `"}]}]}`,
		`{"name":"D","dogs":[]}`,
	} {
		r.do(t, "owner POST /v1/surveys/s/responses", fmt.Sprintf(`{"responseId":"r%d","householdId":"did:ixo:household/%d","timestamp":"2026-02-20T10:00:00Z","responses":{"consent":{"ok":true},"plot":%s}}`, i+1, i+1, answers), 201, nil)
	}
	return arrived, missing
}

// unpack reads an archive.
func unpack(t *testing.T, b []byte) map[string]string {
	t.Helper()
	z, err := zip.NewReader(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for _, f := range z.File {
		in, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(in)
		if err != nil {
			t.Fatal(err)
		}
		out[f.Name] = string(text)
	}
	return out
}

// Repeats are tables of their own, keyed by response and place, and attachments
// come with the rows that name them.
func TestRepeatsAndMedia(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, r *rig) {
		arrived, missing := plot(t, r)
		r.start(t)
		e := r.export(t, "mia", `{"format":"csv","pii":"full","repeats":"tables","media":true}`)
		if e.Counts.Responses != 3 || e.Counts.Rows != 3+3+3+1 || e.Counts.Media != 1 || e.Counts.MissingMedia != 1 || e.Counts.Looked != 3 {
			t.Errorf("counts = %+v", e.Counts)
		}
		w := r.send(t, "mia", "GET "+e.Links.File, "")
		if w.Header().Get("Content-Type") != "application/zip" || !strings.HasSuffix(w.Header().Get("Content-Disposition"), `.zip"`) {
			t.Errorf("headers = %v", w.Header())
		}
		files := unpack(t, r.file(t, "mia", e))
		if len(files) != 5 || len(files["media/"+arrived+".jpg"]) != 600_003 {
			t.Errorf("%d files", len(files))
		}
		for name, want := range map[string]string{
			"plot.fields.csv": "responseId,parentIndex,index,plot.fields.crop,plot.fields.owner\r\nr1,,1,\"maize, white\",B\r\nr1,,2,rice,\r\nr2,,1,tea,\r\n",
			"plot.fields.trees.csv": "responseId,parentIndex,index,plot.fields.trees.kind,plot.fields.trees.leaf\r\nr1,1,1.1,oak,sha256:" + arrived + "\r\nr1,1,1.2,fig,\r\nr2,1,1.1,fig,sha256:" +
				missing + "\r\n",
			"plot.dogs.csv": "responseId,parentIndex,index,plot.dogs.called\r\nr1,,1,Rex\r\n",
		} {
			if files[name] != want {
				t.Errorf("%s = %q, want %q", name, files[name], want)
			}
		}
		main := rows(t, []byte(files["responses.csv"]))
		if got, want := column(main, "plot.fields")+"|"+column(main, "plot.dogs"), "2 1 |1  0"; got != want {
			t.Errorf("numbers of entries = %q, want %q", got, want)
		}
		// Short of everything there is neither a name nor a picture.
		files = unpack(t, r.file(t, "auditor", r.export(t, "auditor", `{"format":"csv","repeats":"tables"}`)))
		if got := files["plot.fields.csv"]; len(files) != 4 || strings.Contains(got, "owner") || !strings.Contains(got, "rec~") {
			t.Errorf("%d files, %q", len(files), got)
		}
		// The workbook has a sheet for each.
		b := r.file(t, "mia", r.export(t, "mia", `{"format":"xlsx","pii":"full","repeats":"tables"}`))
		book, err := sheet.OpenBook(bytes.NewReader(b), int64(len(b)))
		if err != nil {
			t.Fatal(err)
		}
		if got, want := strings.Join(book.Sheets(), " "), "data plot.dogs plot.fields plot.fields.trees codebook export"; got != want {
			t.Errorf("sheets = %q, want %q", got, want)
		}
		var lines []string
		if err := book.Rows(2, func(_ int64, cells []sheet.Cell) error {
			text := ""
			for _, c := range cells {
				text += c.Text + "|"
			}
			lines = append(lines, text)
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		if len(lines) != 4 || lines[1] != "r1||1|maize, white|B|" {
			t.Errorf("sheet = %q", lines)
		}
		// Any format goes with its pictures.
		files = unpack(t, r.file(t, "mia", r.export(t, "mia", `{"format":"ndjson","pii":"full","media":true}`)))
		if len(files) != 2 || strings.Count(files["responses.ndjson"], "\n") != 3 {
			t.Errorf("%d files: %q", len(files), files["responses.ndjson"])
		}
		for _, bad := range []string{
			`{"format":"csv","media":true}`, `{"format":"csv","pii":"none","media":true}`, `{"format":"ndjson","repeats":"tables"}`,
			`{"format":"csv","shape":"long","repeats":"tables"}`, `{"format":"csv","repeats":"both"}`,
		} {
			if w := r.send(t, "owner", "POST /v1/surveys/s/exports", bad); w.Code != 400 || !strings.Contains(w.Body.String(), "EXPORT_INVALID") {
				t.Errorf("%s = %d: %s", bad, w.Code, w.Body)
			}
		}
	})
}

// The attachments of an archive are those that its responses had at the time it
// shows them at.
func TestMediaAsOf(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, r *rig) {
		first, _ := plot(t, r)
		const body = "\xFF\xD8\xFFanother picture"
		sum := sha256.Sum256([]byte(body))
		second := hex.EncodeToString(sum[:])
		if w := r.send(t, "owner", "PUT /v1/attachments/"+second, body, "Content-Type", "image/jpeg"); w.Code != 201 {
			t.Fatalf("PUT = %d: %s", w.Code, w.Body)
		}
		r.forward(time.Minute)
		before := r.clock().UTC().Truncate(time.Millisecond).Format(time.RFC3339Nano)
		r.forward(time.Minute)
		r.correct(t, "r1", `{"responses":{"plot":{"photo":"sha256:`+second+`","fields":[{"crop":"tea"}]}}}`)
		r.forward(time.Minute)
		r.start(t)
		for _, tt := range []struct{ asOf, want, not string }{{before, first, second}, {r.clock().UTC().Truncate(time.Millisecond).Format(time.RFC3339Nano), second, first}} {
			e := r.export(t, "mia", `{"format":"csv","pii":"full","media":true,"asOf":"`+tt.asOf+`"}`)
			files := unpack(t, r.file(t, "mia", e))
			if files["media/"+tt.want+".jpg"] == "" || files["media/"+tt.not+".jpg"] != "" || e.Counts.Media != 1 {
				t.Errorf("as of %s: %d files, %+v, want %s only", tt.asOf, len(files), e.Counts, tt.want)
			}
		}
	})
}

// An archive that was killed is written anew, with the same bytes.
func TestArchiveKilled(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, r *rig) {
		plot(t, r)
		r.Small()
		var k killer
		r.start(t, k.wrap)
		draft := fmt.Sprintf(`{"format":"csv","pii":"full","repeats":"tables","media":true,"asOf":%q}`, r.clock().UTC().Truncate(time.Millisecond).Format(time.RFC3339Nano))
		want := r.file(t, "mia", r.export(t, "mia", draft))
		var ticks atomic.Int64
		r.tick.Store(func() {
			if ticks.Add(1) == 4 {
				k.kill.Load().(context.CancelFunc)()
			}
		})
		e := r.wait(t, r.ask(t, "mia", draft))
		r.tick.Store(func() {})
		if got := r.file(t, "mia", e); !bytes.Equal(got, want) {
			t.Errorf("%d bytes, want the same %d", len(got), len(want))
		}
		var j job.Job
		if r.do(t, "owner GET /v1/jobs/"+e.ID, "", 200, &j); j.Attempts != 2 {
			t.Errorf("%d attempts, want one that was killed and one more", j.Attempts)
		}
	})
}

// each runs a test on both databases, without a survey.
func each(t *testing.T, fn func(t *testing.T, r *rig)) {
	t.Helper()
	dbtest.Each(t, func(t *testing.T, d *db.DB) { fn(t, newRig(t, d)) })
}

// Whichever responses a filter on flags lets through when, a table of a repeat
// has rows of those only that the archive has.
func TestArchiveWhileFlagsChange(t *testing.T) {
	t.Parallel()
	r := newRig(t, dbtest.SQLite(t))
	plot(t, r)
	// With the first states of the job that are stored, a flag comes or goes.
	for _, text := range []string{
		`CREATE TABLE flips (n INTEGER PRIMARY KEY)`, `UPDATE responses SET flags = CASE response_id WHEN 'r2' THEN 1 ELSE 0 END`,
		`CREATE TRIGGER flip AFTER UPDATE OF counts ON transfers WHEN (SELECT count(*) FROM flips) < 3 BEGIN
			INSERT INTO flips VALUES (NULL); UPDATE responses SET flags = 1 - flags WHERE response_id = 'r1'; END`,
	} {
		if _, err := r.db.Exec(t.Context(), text); err != nil {
			t.Fatal(err)
		}
	}
	r.Small()
	r.start(t)
	files := unpack(t, r.file(t, "mia", r.export(t, "mia", `{"format":"csv","pii":"full","repeats":"tables","filter":"eq(flagged,true)"}`)))
	if ids := column(rows(t, []byte(files["responses.csv"])), "responseId"); ids != "r1 r2" {
		t.Errorf("responses = %s, want those that are flagged in the end", ids)
	}
	if ids := column(rows(t, []byte(files["plot.fields.csv"])), "responseId"); ids != "r1 r1 r2" {
		t.Errorf("fields of %s", ids)
	}
	var flips int
	if err := r.db.QueryRow(t.Context(), `SELECT count(*) FROM flips`).Scan(&flips); err != nil || flips != 3 {
		t.Errorf("the flags changed %d times, %v", flips, err)
	}
}
