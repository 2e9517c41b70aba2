package export_test

import (
	"encoding/csv"
	"flag"
	"fmt"
	"io"
	"runtime"
	"runtime/metrics"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
)

var benchRows = flag.Int("export.rows", 100_000, "responses of the export benchmark")

// benchTemplate has forty questions as surveys have them.
func benchTemplate() (template, answers string) {
	var q []string
	home := map[string]any{}
	for i := range 40 {
		id := fmt.Sprintf("q%02d", i)
		switch {
		case i < 16:
			q = append(q, fmt.Sprintf(`{"id":%q,"type":"number"}`, id))
			home[id] = 10.5 + float64(i)
		case i < 26:
			q = append(q, fmt.Sprintf(`{"id":%q,"type":"single_choice","options":["daily","weekly","monthly","never"]}`, id))
			home[id] = "weekly"
		case i < 32:
			q = append(q, fmt.Sprintf(`{"id":%q,"type":"multiple_choice","options":["wood","charcoal","gas","electricity"]}`, id))
			home[id] = []string{"wood", "gas"}
		case i < 36:
			q = append(q, fmt.Sprintf(`{"id":%q,"type":"text"}`, id))
			home[id] = "The stove is used in the evening, mostly."
		default:
			q = append(q, fmt.Sprintf(`{"id":%q,"type":"boolean"}`, id))
			home[id] = true
		}
	}
	text, err := json.Marshal(home, json.Deterministic(true))
	if err != nil {
		panic(err)
	}
	return `{"templateId":"home","sections":[{"id":"consent","questions":[{"id":"ok","type":"consent","required":true}]},{"id":"home","questions":[` + strings.Join(q, ",") + `]}]}`, string(text)
}

const copyRows = `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < $1)
	INSERT INTO responses (nid, ws, response_id, survey, round, household, slot, stratum, grp, status, vstatus, verifier, verified_at, reviews, flags, files,
		collector, sender, submitted_at, received_at, updated_at, revision, rev_action, rev_actor, rev_request, rev_reason, first_hash, hash, body, answers, masked, sealed)
	SELECT nid + n.i, ws, response_id || n.i, survey, round, household || n.i, slot, stratum, grp, status, vstatus, verifier, verified_at, reviews, flags, files,
		collector, sender, submitted_at, received_at, updated_at, revision, rev_action, rev_actor, rev_request, rev_reason, first_hash, hash, body, answers, masked, NULL
	FROM responses, n WHERE response_id = 'first'`

// BenchmarkExport compares the export of a survey to CSV, as a job that stores
// the file, with a bare SELECT and encoding/csv of the same rows.
func BenchmarkExport(b *testing.B) {
	r := newRig(b, dbtest.SQLite(b))
	template, answers := benchTemplate()
	for _, one := range [][2]string{
		{"POST /v1/templates", template}, {"POST /v1/templates/home/publish", `{}`}, {"POST /v1/surveys", homeSurvey}, {"POST /v1/surveys/s/activate", `{"reason":"x"}`},
	} {
		r.do(b, "owner "+one[0], one[1], 0, nil)
	}
	r.do(b, "owner POST /v1/surveys/s/responses", `{"responseId":"first","householdId":"did:ixo:household/1","timestamp":"2026-02-20T10:00:00Z","startedAt":"2026-02-20T09:30:00Z",
		"responses":{"consent":{"ok":true},"home":`+answers+`}}`, 201, nil)
	if _, err := r.db.Exec(b.Context(), copyRows, *benchRows-1); err != nil {
		b.Fatal(err)
	}
	r.start(b)
	runtime.GC()
	idle := live()
	for b.Loop() {
		bare := r.bare(b)
		stop := watch()
		start := time.Now()
		e := r.wait(b, r.ask(b, "owner", `{"format":"csv"}`))
		took := time.Since(start)
		most := stop()
		if e.Counts.Responses != int64(*benchRows) {
			b.Fatalf("export = %+v", e)
		}
		b.ReportMetric(float64(bare.Nanoseconds())/float64(*benchRows), "bare-ns/row")
		b.ReportMetric(float64(took.Nanoseconds())/float64(*benchRows), "export-ns/row")
		b.ReportMetric(100*float64(bare)/float64(took), "%ofbare")
		b.ReportMetric((float64(most)-float64(idle))/(1<<20), "MB-above-idle")
		b.ReportMetric(float64(e.Counts.Bytes)/float64(*benchRows), "bytes/row")
	}
}

// bare reads and writes the same rows in the shortest way there is.
func (r *rig) bare(b *testing.B) time.Duration {
	b.Helper()
	start := time.Now()
	rows, err := r.db.Query(b.Context(), `SELECT nid, response_id, round, household, stratum, grp, status, vstatus, verifier, verified_at, flags, collector, submitted_at, received_at,
		updated_at, revision, body, answers FROM responses WHERE survey = (SELECT survey FROM responses WHERE ws = 'ws' AND response_id = 'first') ORDER BY nid`)
	if err != nil {
		b.Fatal(err)
	}
	defer rows.Close()
	w := csv.NewWriter(io.Discard)
	n := make([]int64, 8)
	s := make([]string, 10)
	cells := make([]string, 18)
	for rows.Next() {
		if err := rows.Scan(&n[0], &s[0], &n[1], &s[1], &s[2], &s[3], &s[4], &s[5], &s[6], &n[2], &n[3], &s[7], &n[4], &n[5], &n[6], &n[7], &s[8], &s[9]); err != nil {
			b.Fatal(err)
		}
		for i, v := range n {
			cells[i] = strconv.FormatInt(v, 10)
		}
		copy(cells[8:], s)
		if err := w.Write(cells); err != nil {
			b.Fatal(err)
		}
	}
	w.Flush()
	if rows.Err() != nil || w.Error() != nil {
		b.Fatal(rows.Err(), w.Error())
	}
	return time.Since(start)
}

// live is how much was in use when the collector last looked.
func live() uint64 {
	s := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(s)
	return s[0].Value.Uint64()
}

// watch gives the most that was in use until it is stopped.
func watch() (stop func() uint64) {
	end, out := make(chan struct{}), make(chan uint64)
	go func() {
		most := uint64(0)
		tick := time.NewTicker(5 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				most = max(most, live())
			case <-end:
				out <- most
				return
			}
		}
	}()
	return func() uint64 {
		close(end)
		return <-out
	}
}
