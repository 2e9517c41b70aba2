package bulk_test

import (
	"crypto/sha256"
	"encoding/csv"
	"encoding/hex"
	"fmt"
	"net/http/httptest"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
	"github.com/hearth-dmrv/hearth/internal/entity/bulk"
	"github.com/hearth-dmrv/hearth/internal/exchange"
	"github.com/hearth-dmrv/hearth/internal/job"
	"github.com/hearth-dmrv/hearth/internal/sheet"
)

// export makes an export and waits for it.
func (r *rig) export(t testing.TB, d bulk.ExportDraft) bulk.Export {
	t.Helper()
	var j job.Job
	r.do(t, call{method: "POST", path: "/v1/exports", body: d}, 202, &j)
	r.wait(t, j.ID)
	var e bulk.Export
	r.do(t, call{path: "/v1/exports/" + j.ID}, 200, &e)
	return e
}

// file downloads an export and checks what was said of it.
func (r *rig) file(t testing.TB, e bulk.Export) *httptest.ResponseRecorder {
	t.Helper()
	if e.Status != job.Succeeded {
		t.Fatalf("export = %+v", e)
	}
	w := r.do(t, call{path: e.Links.File}, 200, nil)
	sum := sha256.Sum256(w.Body.Bytes())
	if int64(w.Body.Len()) != e.Bytes || hex.EncodeToString(sum[:]) != e.SHA256 || w.Header().Get("Content-Length") != fmt.Sprint(e.Bytes) {
		t.Errorf("%d bytes, want %d with the hash %s", w.Body.Len(), e.Bytes, e.SHA256)
	}
	return w
}

// What is exported can be imported into another workspace, in every format, and
// says the same there.
func TestExportAndImport(t *testing.T) {
	both(t, func(t *testing.T, r *rig) {
		r.start(t)
		file := households(60) + strings.Join([]string{
			`{"did":"did:ixo:org/a","type":"Organisation","protocol":"did:ixo:protocol/organisation","properties":{"name":"=HYPERLINK(1)"},"metadata":{"tags":["a","b"],"note":"007","n":5,"t":"5","neg":"-1","exp":"1e5","yes":"true","no":false,"nil":"null","list":"[1]","q":"\"q\"","empty":"","deep":{"t":"7","n":7,"b":"false"}},"externalIds":{"erp":"12"}}`,
			`{"did":"did:ixo:project/p","type":"Project","protocol":"did:ixo:protocol/project","properties":{"name":"-P"},"relationships":[{"role":"implementedBy","target":"did:ixo:org/a"}]}`,
			`{"did":"did:ixo:device/d","type":"Device","protocol":"did:ixo:protocol/clean-cooking","properties":{"serial":"0012","efficiency":37.5,"power":{"value":1.8,"unit":"kW"},"location":{"type":"Point","coordinates":[36.8,-1.3]}},"relationships":[{"role":"project","target":"did:ixo:project/p"}],"services":[{"id":"#data","type":"T","endpoint":"https://example.org"}]}`,
		}, "\n")
		if got := r.imported(t, r.upload(t, nil, ndjson, file)); got.Counts.Refused != 0 {
			t.Fatalf("import = %+v: %+v", got.Counts, r.report(t, got.Links.Rows+"?ok=false"))
		}
		var plain []string
		for i, format := range []string{"ndjson", "csv", "xlsx"} {
			e := r.export(t, bulk.ExportDraft{Format: sheet.Format(format)})
			w := r.file(t, e)
			if want := "." + format + `"`; !strings.HasSuffix(w.Header().Get("Content-Disposition"), want) {
				t.Errorf("Content-Disposition = %q, want %s", w.Header().Get("Content-Disposition"), want)
			}
			ws := fmt.Sprintf("copy%d", i)
			var j job.Job
			r.do(t, call{method: "POST", path: "/v1/imports?mode=upsert&format=" + format, ws: ws, body: w.Body.Bytes()}, 202, &j)
			r.waitIn(t, ws, j.ID)
			var in bulk.Import
			r.do(t, call{path: "/v1/imports/" + j.ID, ws: ws}, 200, &in)
			if in.Counts.Refused != 0 || in.Counts.Created < e.Rows-1 {
				t.Fatalf("%s: import = %+v of %d", format, in.Counts, e.Rows)
			}
			if plain = append(plain, r.plain(t, ws)); plain[i] != plain[0] {
				t.Errorf("%s: twins differ:\n%s\nwant\n%s", format, plain[i], plain[0])
			}
		}
	})
}

// plain is what the makers of the twins of a workspace decided, in one text.
func (r *rig) plain(t testing.TB, ws string) string {
	t.Helper()
	rows, err := r.db.Query(t.Context(), `SELECT body FROM entities WHERE ws = $1`, ws)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	var all []string
	for rows.Next() {
		var body string
		if err := rows.Scan(&body); err != nil {
			t.Fatal(err)
		}
		var m map[string]any
		if err := json.Unmarshal([]byte(body), &m); err != nil {
			t.Fatal(err)
		}
		if m["domainType"] == "group" {
			continue // an organisation gets one of its own
		}
		keep := map[string]any{}
		for _, name := range []string{"did", "type", "properties", "metadata", "externalIds", "services", "project", "status"} {
			keep[name] = m[name]
		}
		text, err := json.Marshal(keep, json.Deterministic(true))
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, string(text))
	}
	slices.Sort(all)
	return strings.Join(all, "\n")
}

func TestExportColumns(t *testing.T) {
	rule(t, func(t *testing.T, r *rig) {
		r.start(t)
		r.imported(t, r.upload(t, nil, ndjson, households(250)+`{"type":"Device","protocol":"did:ixo:protocol/clean-cooking","properties":{"serial":"=1"}}`))
		e := r.export(t, bulk.ExportDraft{Format: "csv", Columns: []string{"type", "properties.serial"}, Type: "Device"})
		if got, want := r.file(t, e).Body.String(), "type,properties.serial\r\nDevice,'=1\r\n"; got != want {
			t.Errorf("file = %q, want %q", got, want)
		}
		e = r.export(t, bulk.ExportDraft{Format: "csv", Protocol: household, Filter: "eq(properties.district,D3)"})
		rows, err := csv.NewReader(r.file(t, e).Body).ReadAll()
		if err != nil {
			t.Fatal(err)
		}
		if len(rows) != 51 || e.Rows != 50 || rows[0][0] != "did" || !slices.Contains(rows[0], "externalIds.erp") || slices.Contains(rows[0], "links.self") {
			t.Errorf("%d rows with the columns %v", len(rows), rows[0])
		}
		e = r.export(t, bulk.ExportDraft{Format: "ndjson", Columns: []string{"properties.name"}, Filter: "eq(properties.name,H7)"})
		if got, want := r.file(t, e).Body.String(), "{\"properties\":{\"name\":\"H7\"}}\n"; got != want {
			t.Errorf("file = %q, want %q", got, want)
		}
		e = r.export(t, bulk.ExportDraft{Format: "xlsx", Type: "Nothing"})
		if r.file(t, e); e.Rows != 0 {
			t.Errorf("%d rows of nothing", e.Rows)
		}
	})
}

// TestExportMap has a feature for each twin, where it is.
func TestExportMap(t *testing.T) {
	both(t, func(t *testing.T, r *rig) {
		r.start(t)
		lines := []string{
			`{"did":"did:ixo:device/a","type":"Device","protocol":"did:ixo:protocol/clean-cooking","properties":{"serial":"1","location":{"type":"Point","coordinates":[36.8,-1.3]}}}`,
			`{"did":"did:ixo:device/b","type":"Device","protocol":"did:ixo:protocol/clean-cooking","properties":{"serial":"2"},"metadata":{"location":{"lat":1.5,"lng":2}}}`,
			`{"did":"did:ixo:device/c","type":"Device","protocol":"did:ixo:protocol/clean-cooking","properties":{"serial":"3"}}`,
		}
		r.imported(t, r.upload(t, nil, ndjson, strings.Join(lines, "\n")))
		e := r.export(t, bulk.ExportDraft{Format: "geojson", Columns: []string{"properties.serial"}})
		w := r.file(t, e)
		want := `{"type":"FeatureCollection","features":[` + "\n" + strings.Join([]string{
			`{"type":"Feature","id":"did:ixo:device/a","geometry":{"type":"Point","coordinates":[36.8,-1.3]},"properties":{"properties":{"serial":"1"}}}`,
			`{"type":"Feature","id":"did:ixo:device/b","geometry":{"type":"Point","coordinates":[2,1.5]},"properties":{"properties":{"serial":"2"}}}`,
			`{"type":"Feature","id":"did:ixo:device/c","geometry":null,"properties":{"properties":{"serial":"3"}}}`,
		}, ",\n") + "\n]}\n"
		if got := w.Body.String(); got != want || w.Header().Get("Content-Type") != "application/geo+json" {
			t.Errorf("%s =\n%s\nwant\n%s", w.Header().Get("Content-Type"), got, want)
		}
	})
}

// A column no record can have is refused before anything is made, each by its
// name.
func TestExportUnknownColumns(t *testing.T) {
	rule(t, func(t *testing.T, r *rig) {
		columns := []string{
			"did", "nope", "properties.name", "properties.nope", "properties.name.x", "metadata.any, thing", "externalIds.erp", "Type", "did ", "properties.location.type",
			"status.x", "metadata." + strings.Repeat("x", 3000), "relationships", "created", "properties",
		}
		w := r.do(t, call{method: "POST", path: "/v1/exports", body: bulk.ExportDraft{Format: "csv", Columns: columns}}, 400, nil)
		var got []string
		for _, m := range regexp.MustCompile(`"pointer":"([^"]*)"`).FindAllStringSubmatch(w.Body.String(), -1) {
			got = append(got, m[1])
		}
		want := []string{"/columns/1", "/columns/3", "/columns/4", "/columns/7", "/columns/8", "/columns/10", "/columns/11"}
		if !strings.Contains(w.Body.String(), `"UNKNOWN_FIELD"`) || !slices.Equal(got, want) {
			t.Errorf("pointers = %v, want %v: %s", got, want, w.Body)
		}
		if n := r.counts(t); n["jobs"]+n["transfer_files"] != 0 {
			t.Errorf("rows = %v, want no job and no file", n)
		}
	})
}

// A killed export goes on, and the file is whole. The long texts make several
// pieces.
func TestExportKilled(t *testing.T) {
	both(t, func(t *testing.T, r *rig) {
		var k killer
		r.start(t, k.wrap)
		var file strings.Builder
		const rows = 300 // three pages, and some pieces of the file
		for i := range rows {
			fmt.Fprintf(&file, `{"type":"Household","protocol":%q,"properties":{"name":"N%d"},"metadata":{"text":%q}}`+"\n", household, i, strings.Repeat("long ", 400))
		}
		r.imported(t, r.upload(t, nil, ndjson, file.String()))
		for _, format := range []sheet.Format{sheet.NDJSON, sheet.CSV, sheet.XLSX, "geojson"} {
			want := r.file(t, r.export(t, bulk.ExportDraft{Format: format})).Body.Bytes()
			kills := 0
			r.onClock(func(n int) { // the clock is read when pieces are stored
				if n%3 == 2 && kills < 3 {
					kills++
					k.now()
				}
			})
			e := r.export(t, bulk.ExportDraft{Format: format})
			r.onClock(nil)
			if got := r.file(t, e).Body.Bytes(); e.Rows != rows || format != sheet.XLSX && string(got) != string(want) || len(got) != len(want) {
				t.Errorf("%s: %d rows, %d bytes, want %d and %d", format, e.Rows, len(got), rows, len(want))
			}
			if kills == 0 {
				t.Errorf("%s: nothing was killed", format)
			}
		}
	})
}

func TestExportRights(t *testing.T) {
	rule(t, func(t *testing.T, r *rig) {
		r.do(t, call{method: "POST", path: "/v1/exports", body: bulk.ExportDraft{Format: "csv"}, as: "reader"}, 403, nil)
		var j job.Job
		r.do(t, call{method: "POST", path: "/v1/exports", body: bulk.ExportDraft{Format: "ndjson"}}, 202, &j)
		file := "/v1/exports/" + j.ID + "/file"
		r.do(t, call{path: file}, 409, nil)
		r.start(t)
		r.wait(t, j.ID)
		w := r.do(t, call{path: file}, 200, nil)
		r.do(t, call{path: file, header: map[string]string{"If-None-Match": w.Header().Get("ETag")}}, 304, nil)
		for _, c := range []call{{ws: "x"}, {as: "project"}} {
			for _, path := range []string{"/v1/exports/" + j.ID, file} {
				c.path = path
				r.do(t, c, 404, nil)
			}
		}
		r.do(t, call{path: "/v1/imports/" + j.ID}, 404, nil)
		r.forward(exchange.FileLife + time.Minute)
		if w := r.do(t, call{path: file}, 404, nil); !strings.Contains(w.Body.String(), "EXPORT_EXPIRED") {
			t.Errorf("an old file: %s", w.Body)
		}
		for {
			n, err := r.ExpireFiles(t.Context(), r.clock().Add(-exchange.FileLife), 100)
			if err != nil {
				t.Fatal(err)
			}
			if n == 0 {
				break
			}
		}
		if n := r.counts(t); n["transfer_files"]+n["transfer_pieces"] != 0 {
			t.Errorf("rows = %v, want no file left", n)
		}
	})
}

// forget does what an erasure does to the exports of a workspace.
func (r *rig) forget(t *testing.T, ws string, left bool) {
	t.Helper()
	if err := r.db.InTx(t.Context(), func(tx *db.Tx) error { return r.Condemn(t.Context(), tx, ws) }); err != nil {
		t.Fatal(err)
	}
	if got, err := r.Forget(t.Context(), ws); got != left || err != nil {
		t.Fatalf("Forget() = %v, %v, want %v", got, err, left)
	}
}

// Once somebody's data was erased, no finished export of the workspace has it.
func TestForget(t *testing.T) {
	both(t, func(t *testing.T, r *rig) {
		r.start(t)
		e := r.export(t, bulk.ExportDraft{Format: "ndjson"})
		r.forget(t, "x", false)
		r.do(t, call{path: e.Links.File}, 200, nil)
		// Somebody is being sent the file: nobody else finds it, and it ends whole.
		var id string
		if err := r.db.QueryRow(t.Context(), `SELECT id FROM transfer_files WHERE ws = 'w' AND kind = 'export'`).Scan(&id); err != nil {
			t.Fatal(err)
		}
		end := r.flights.Begin(id)
		r.forget(t, "w", true)
		r.do(t, call{path: e.Links.File}, 404, nil)
		if n := r.counts(t); n["transfer_files"] != 1 {
			t.Errorf("rows = %v, want the file that is being sent", n)
		}
		end()
		r.forget(t, "w", false)
		if n := r.counts(t); n["transfer_files"]+n["transfer_pieces"] != 0 {
			t.Errorf("rows = %v, want no file left", n)
		}
	})
}

// What somebody searched for is a person's data too: it is in one place while
// the job needs it, and in none after an erasure.
func TestForgetFilters(t *testing.T) {
	rule(t, func(t *testing.T, r *rig) {
		var waits job.Job
		const secret = "Amina-0712"
		filter := "eq(properties.name," + secret + ")"
		r.do(t, call{method: "POST", path: "/v1/exports", body: bulk.ExportDraft{Format: "csv", Filter: filter, Near: "1.25,36.5,100", Type: "Kept"}}, 202, &waits)
		found := func(text string) (n int) {
			t.Helper()
			for _, query := range []string{`SELECT settings || counts FROM transfers`, `SELECT payload || coalesce(state, '') || coalesce(result, '') FROM jobs`} {
				rows, err := r.db.Query(t.Context(), query)
				if err != nil {
					t.Fatal(err)
				}
				defer rows.Close()
				for rows.Next() {
					var row string
					if err := rows.Scan(&row); err != nil {
						t.Fatal(err)
					}
					n += strings.Count(row, text)
				}
			}
			return n
		}
		forget := func(ws string) {
			t.Helper()
			r.forget(t, ws, false)
		}
		forget("w")
		if n := found(secret); n != 1 {
			t.Errorf("the filter of a job that waits is in %d places, want 1", n)
		}
		r.start(t)
		r.wait(t, waits.ID)
		var m job.Job
		r.do(t, call{method: "POST", path: "/v1/protocols/" + url.PathEscape(household) + "/migrations", body: bulk.MigrationDraft{DryRun: true, Filter: filter}}, 202, &m)
		r.wait(t, m.ID)
		if forget("x"); found(secret) != 2 {
			t.Errorf("the filter is in %d places, want 2: another workspace forgot", found(secret))
		}
		if forget("w"); found(secret)+found("36.5") != 0 || found("Kept") != 1 {
			t.Errorf("the filter is in %d places, the place in %d, the rest in %d", found(secret), found("36.5"), found("Kept"))
		}
		r.do(t, call{path: "/v1/exports/" + waits.ID}, 200, nil)
		r.do(t, call{path: "/v1/migrations/" + m.ID}, 200, nil)
	})
}

// A key limited to projects exports what it sees.
func TestExportOfProject(t *testing.T) {
	rule(t, func(t *testing.T, r *rig) {
		r.start(t)
		const mine = "did:ixo:entity:1" // the project of the role
		file := households(5) + fmt.Sprintf(`{"did":%q,"type":"Project","protocol":"did:ixo:protocol/project","properties":{"name":"P"}}`, mine) + "\n" +
			fmt.Sprintf(`{"type":"Household","protocol":%q,"relationships":[{"role":"project","target":%q}]}`, household, mine)
		if got := r.imported(t, r.upload(t, nil, ndjson, file)); got.Counts.Created != 7 {
			t.Fatalf("import = %+v", got.Counts)
		}
		var j job.Job
		r.do(t, call{method: "POST", path: "/v1/exports", body: bulk.ExportDraft{Format: "ndjson"}, as: "project"}, 202, &j)
		r.wait(t, j.ID)
		w := r.do(t, call{path: "/v1/exports/" + j.ID + "/file", as: "project"}, 200, nil)
		if n := strings.Count(w.Body.String(), "\n"); n != 2 {
			t.Errorf("%d twins, want the project and its household", n)
		}
	})
}

func TestExportLimits(t *testing.T) {
	t.Parallel()
	r := newRig(t, dbtest.SQLite(t))
	r.start(t)
	long := fmt.Sprintf(`{"type":"Household","protocol":%q,"metadata":{"text":%q}}`, household, strings.Repeat("x", 40_000))
	r.imported(t, r.upload(t, nil, ndjson, long))
	e := r.export(t, bulk.ExportDraft{Format: "xlsx"})
	if e.Status != job.Failed || e.Errors[0].Code != "EXPORT_IMPOSSIBLE" || e.Errors[0].Fields[0].Code != "cell_too_long" {
		t.Errorf("export = %+v", e)
	}
	var wide strings.Builder
	wide.WriteString(`{"a":0`)
	for i := range 1200 {
		fmt.Fprintf(&wide, `,"m%d":1`, i)
	}
	r.imported(t, r.upload(t, nil, ndjson, fmt.Sprintf(`{"type":"Household","protocol":%q,"metadata":%s}}`, household, wide.String())))
	if e := r.export(t, bulk.ExportDraft{Format: "csv"}); e.Status != job.Failed || e.Errors[0].Fields[0].Code != "too_many_columns" {
		t.Errorf("export = %+v", e)
	}
	if e := r.export(t, bulk.ExportDraft{Format: "ndjson"}); e.Rows != 2 {
		t.Errorf("export = %+v", e)
	}
	if n := r.counts(t); n["transfer_files"] != 1 {
		t.Errorf("%d files, want that of the export that worked", n["transfer_files"])
	}
}

// An export that somebody was erased from while it was written has no file.
func TestErasedWhileWritten(t *testing.T) {
	both(t, func(t *testing.T, r *rig) {
		var waits job.Job
		r.do(t, call{method: "POST", path: "/v1/exports", body: bulk.ExportDraft{Format: "ndjson"}}, 202, &waits)
		r.forget(t, "w", false) // nothing is written yet: it stays
		if n := r.counts(t); n["transfer_files"] != 1 {
			t.Errorf("rows = %v, want the file of an export that waits", n)
		}
		if _, err := r.db.Exec(t.Context(), `UPDATE transfer_files SET bytes = 1`); err != nil {
			t.Fatal(err)
		}
		r.forget(t, "w", false)
		r.start(t)
		var j job.Job
		for j.Status = ""; !j.Status.Final(); {
			r.do(t, call{path: job.Path(waits.ID)}, 200, &j)
		}
		if j.Status != job.Failed || len(j.Errors) == 0 || j.Errors[0].Code != "EXPORT_INTERRUPTED" {
			t.Errorf("job = %+v, want EXPORT_INTERRUPTED", j)
		}
	})
}

// What an export had read and not stored when somebody was erased is in no file
// either.
func TestErasedBeforeTheFirstPiece(t *testing.T) {
	rule(t, func(t *testing.T, r *rig) {
		r.do(t, call{method: "POST", path: "/v1/entities", body: map[string]any{"type": "Household", "protocol": household}}, 201, nil)
		var j job.Job
		r.do(t, call{method: "POST", path: "/v1/exports", body: bulk.ExportDraft{Format: "ndjson"}}, 202, &j)
		r.onClock(func(n int) { // the clock is read before pieces are stored
			if n == 1 {
				r.forget(t, "w", false)
			}
		})
		r.start(t)
		if j = r.wait(t, j.ID); j.Status != job.Failed || len(j.Errors) == 0 || j.Errors[0].Code != "EXPORT_INTERRUPTED" {
			t.Errorf("job = %+v, want EXPORT_INTERRUPTED", j)
		}
		if n := r.counts(t); n["transfer_files"]+n["transfer_pieces"] != 0 {
			t.Errorf("rows = %v, want no file", n)
		}
	})
}
