package bulk_test

import (
	"archive/zip"
	"bytes"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/xuri/excelize/v2"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
	"github.com/hearth-dmrv/hearth/internal/entity"
	"github.com/hearth-dmrv/hearth/internal/entity/bulk"
	"github.com/hearth-dmrv/hearth/internal/event/eventtest"
	"github.com/hearth-dmrv/hearth/internal/exchange"
	"github.com/hearth-dmrv/hearth/internal/job"
	"github.com/hearth-dmrv/hearth/internal/web"
)

func TestImportLines(t *testing.T) {
	rule(t, func(t *testing.T, r *rig) {
		r.start(t)
		file := households(120) +
			`{"type":"Household","protocol":"did:ixo:protocol/household","properties":{"size":"many","colour":1}}` + "\n" + // 121
			"not JSON\n" + // 122
			`{"type":"Household","protocol":"did:ixo:protocol/none"}` + "\n" + // 123
			`{"type":"Household","protocol":"did:ixo:protocol/household","externalIds":{"erp":"E7"}}` + "\n" + // 124
			`{"type":"Household","protocol":"did:ixo:protocol/household","status":"active","revision":9,"colour":"red"}` + "\n" // 125
		id := r.upload(t, nil, ndjson, file)
		got := r.imported(t, id)
		if got.Status != job.CompletedWithErrors || got.Counts != (bulk.Counts{Total: 125, Done: 125, Created: 120, Refused: 5}) {
			t.Fatalf("import = %+v", got)
		}
		if got.Bytes != int64(len(file)) || got.Mode != "create" || got.Format != "ndjson" || len(got.SHA256) != 64 {
			t.Errorf("import = %+v", got)
		}
		var bad []string
		for _, row := range r.report(t, got.Links.Rows+"?ok=false") {
			bad = append(bad, fmt.Sprint(row.Line, " ", row.Error.Code, " ", len(row.Error.Errors)))
		}
		if want := []string{"121 PROPERTY_SCHEMA_VIOLATION 2", "122 ROW_INVALID 1", "123 PROTOCOL_NOT_FOUND 1", "124 EXTERNAL_ID_EXISTS 1", "125 UNKNOWN_MEMBER 1"}; !slices.Equal(bad, want) {
			t.Errorf("refused = %q, want %q", bad, want)
		}
		good := r.report(t, got.Links.Rows+"?ok=true")
		if len(good) != 120 || good[0].Line != 1 || good[0].Action != "created" || good[0].DID == "" {
			t.Errorf("%d good rows, first %+v", len(good), good[0])
		}
		if all := r.report(t, got.Links.Rows); len(all) != 125 {
			t.Errorf("%d rows in all, want 125", len(all))
		}
		n := r.counts(t)
		if n["entities"] != 120 || n["transfer_pieces"] != 0 || n["transfer_files"] != 0 {
			t.Errorf("rows = %v, want 120 twins and no file", n)
		}
	})
}

// A killed import goes on where it stopped.
func TestImportKilled(t *testing.T) {
	both(t, func(t *testing.T, r *rig) {
		var k killer
		r.hook.Store(func(n int64) {
			if n%137 == 0 && n < 600 { // in the middle of a chunk, some times
				k.now()
			}
		})
		r.start(t, k.wrap)
		const rows = 420
		got := r.imported(t, r.upload(t, nil, ndjson, households(rows)))
		if got.Status != job.Succeeded || got.Counts != (bulk.Counts{Total: rows, Done: rows, Created: rows}) {
			t.Fatalf("import = %+v", got)
		}
		if made := r.dids.Load(); made <= rows {
			t.Errorf("%d twins were prepared: nothing was killed", made)
		}
		report := r.report(t, got.Links.Rows)
		if n := r.counts(t); n["entities"] != rows || n["entity_externals"] != rows || len(report) != rows || n["events"] != rows {
			t.Errorf("rows = %v and a report of %d, want %d", n, len(report), rows)
		}
	})
}

// A dry run stores nothing and gives the report of the real one.
func TestImportDryRun(t *testing.T) {
	rule(t, func(t *testing.T, r *rig) {
		r.start(t)
		var taken entity.Entity
		r.do(t, call{method: "POST", path: "/v1/entities", body: map[string]any{"type": "Household", "protocol": household, "externalIds": map[string]any{"erp": "E60"}}}, 201, &taken)
		file := households(110) +
			`{"did":"did:ixo:org/a","type":"Organisation","protocol":"did:ixo:protocol/organisation","properties":{"name":"A"}}` + "\n" +
			`{"did":"did:ixo:project/p","type":"Project","protocol":"did:ixo:protocol/project","properties":{"name":"P"},"relationships":[{"role":"implementedBy","target":"did:ixo:org/a"}]}` + "\n" +
			`{"did":"did:ixo:project/p","type":"Project","protocol":"did:ixo:protocol/project","properties":{"name":"P"}}` + "\n" +
			`{"type":"Household","protocol":"did:ixo:protocol/household","externalIds":{"erp":"E3"}}` + "\n"
		before := r.counts(t)
		dry := r.imported(t, r.upload(t, url.Values{"dryRun": {"true"}}, ndjson, file))
		after := r.counts(t)
		for _, table := range []string{"transfers", "transfer_rows", "jobs", "transfer_files", "transfer_pieces"} { // its report, and the file, which may be imported next
			delete(before, table)
			delete(after, table)
		}
		if diff := cmp.Diff(before, after); diff != "" {
			t.Errorf("a dry run left something (-before +after):\n%s", diff)
		}
		wet := r.imported(t, r.upload(t, nil, ndjson, file))
		if !dry.DryRun || dry.Counts != wet.Counts || wet.Counts.Created != 111 || wet.Counts.Refused != 3 {
			t.Errorf("dry %+v, real %+v", dry.Counts, wet.Counts)
		}
		a, b := r.report(t, dry.Links.Rows), r.report(t, wet.Links.Rows)
		for i := range b {
			if b[i].Action == "created" {
				b[i].DID = "" // a dry run has no DIDs to tell
			}
			if a[i].Error != nil && b[i].Error != nil { // an earlier row, or an earlier twin
				a[i].Error.Message, a[i].Error.Errors = b[i].Error.Message, b[i].Error.Errors
			}
		}
		if diff := cmp.Diff(a, b); diff != "" {
			t.Errorf("reports (-dry +real):\n%s", diff)
		}
	})
}

func TestUpsert(t *testing.T) {
	both(t, func(t *testing.T, r *rig) {
		r.start(t)
		upsert := func(file string) (bulk.Counts, job.Status) {
			t.Helper()
			got := r.imported(t, r.upload(t, url.Values{"mode": {"upsert"}, "protocol": {household}, "type": {"Household"}}, csvType, file))
			return got.Counts, got.Status
		}
		const file = "externalIds.erp,properties.name,properties.size,startDate\nE1,Ann,4,2024-01-31\nE2,Bob,5,\n"
		for _, tt := range []struct {
			name, file string
			want       bulk.Counts
		}{
			{"new", file, bulk.Counts{Total: 2, Done: 2, Created: 2}},
			{"the same again", file, bulk.Counts{Total: 2, Done: 2, Unchanged: 2}},
			{"a change, and a new one", "externalIds.erp;properties.size\nE1;6\nE3;1\n", bulk.Counts{Total: 2, Done: 2, Updated: 1, Created: 1}},
			{"twice in one file", "externalIds.erp,properties.size\nE4,1\nE4,2\n", bulk.Counts{Total: 2, Done: 2, Created: 1, Updated: 1}},
			{"the second row is a part only", "externalIds.erp,properties.size,type\nE5,1,Home\nE5,2,\n", bulk.Counts{Total: 2, Done: 2, Created: 1, Updated: 1}},
			{"ids that disagree", "externalIds.erp,externalIds.b\nE4,\nE4,B1\nE1,B1\n", bulk.Counts{Total: 3, Done: 3, Unchanged: 1, Updated: 1, Refused: 1}},
			{"what does not fit", "externalIds.erp,properties.size\nE1,6.5\n", bulk.Counts{Total: 1, Done: 1, Refused: 1}},
		} {
			want := job.Succeeded
			switch {
			case tt.want.Refused == tt.want.Total:
				want = job.Failed
			case tt.want.Refused > 0:
				want = job.CompletedWithErrors
			}
			if got, status := upsert(tt.file); got != tt.want || status != want {
				t.Errorf("%s: %s with %+v, want %s with %+v", tt.name, status, got, want, tt.want)
			}
		}
		var page web.Page[entity.Entity]
		r.do(t, call{path: "/v1/entities?externalId=E1"}, 200, &page)
		if e := page.Items[0]; string(e.Properties.Value) != `{"name":"Ann","size":6}` || e.Revision != 2 || !e.StartDate.Equal(time.Date(2024, 1, 31, 0, 0, 0, 0, time.UTC)) {
			t.Errorf("E1 = %s, revision %d, %v", e.Properties, e.Revision, e.StartDate)
		}
	})
}

// Who does not control a twin does not change it by an import, and who does not
// see it cannot tell that it exists.
func TestImportRights(t *testing.T) {
	rule(t, func(t *testing.T, r *rig) {
		r.start(t)
		var e entity.Entity
		r.do(t, call{method: "POST", path: "/v1/entities", body: map[string]any{"type": "Household", "protocol": household, "controller": "did:x:somebody"}}, 201, &e)
		file := fmt.Sprintf("did,properties.name\n%s,Eve\n", e.DID)
		id := r.upload(t, url.Values{"mode": {"upsert"}}, csvType, file)
		if got := r.imported(t, id); got.Counts.Refused != 1 {
			t.Errorf("counts = %+v, want one refused", got.Counts)
		}
		if rows := r.report(t, "/v1/imports/"+id+"/rows"); rows[0].Error == nil || rows[0].Error.Code != "NOT_CONTROLLER" || rows[0].Error.Status != 403 {
			t.Errorf("row = %+v, want NOT_CONTROLLER", rows[0])
		}
		for _, c := range []call{{ws: "x"}, {as: "project"}} {
			for _, path := range []string{"", "/rows"} {
				c.path = "/v1/imports/" + id + path
				r.do(t, c, 404, nil)
			}
		}
		for _, as := range []string{"reader", "hooker"} {
			r.do(t, call{method: "POST", path: "/v1/imports", as: as, header: map[string]string{"Content-Type": ndjson}, body: "{}"}, 403, nil)
		}
		// A key limited to projects makes nothing outside them.
		var j job.Job
		r.do(t, call{method: "POST", path: "/v1/imports", as: "project", header: map[string]string{"Content-Type": ndjson}, body: households(1)}, 202, &j)
		r.wait(t, j.ID)
		var i bulk.Import
		r.do(t, call{path: "/v1/imports/" + j.ID, as: "project"}, 200, &i)
		if i.Counts.Refused != 1 {
			t.Errorf("counts = %+v, want one refused", i.Counts)
		}
	})
}

func TestImportWorkbook(t *testing.T) {
	rule(t, func(t *testing.T, r *rig) {
		r.start(t)
		x := excelize.NewFile()
		defer x.Close()
		for cell, v := range map[string]any{
			"A1": "Name", "B1": "Persons", "C1": "Agreed", "D1": "location.lat", "E1": "Note",
			"A2": "'=cmd()", "B2": 4, "C2": true, "D2": -1.25, "E2": "x", "A3": "Bob", "B3": "five",
		} {
			if err := x.SetCellValue("Sheet1", cell, v); err != nil {
				t.Fatal(err)
			}
		}
		var file bytes.Buffer
		if err := x.Write(&file); err != nil {
			t.Fatal(err)
		}
		query := url.Values{
			"format": {"xlsx"}, "protocol": {household}, "type": {"Household"},
			"mapping": {`{"Name":"properties.name","Persons":"properties.size","Agreed":"properties.consent","location.lat":"properties.location.lat","Note":""}`},
		}
		got := r.imported(t, r.upload(t, query, "application/octet-stream", file.Bytes()))
		if got.Counts.Created != 1 || got.Counts.Refused != 1 {
			t.Fatalf("import = %+v", got)
		}
		rows := r.report(t, got.Links.Rows)
		if rows[1].Line != 3 || rows[1].Error.Errors[0].Pointer != "Persons" {
			t.Errorf("row = %+v", rows[1].Error)
		}
		var e entity.Entity
		r.do(t, call{path: "/v1/entities/" + url.PathEscape(rows[0].DID)}, 200, &e)
		if want := `{"name":"=cmd()","size":4,"consent":true,"location":{"lat":-1.25}}`; string(e.Properties.Value) != want {
			t.Errorf("properties = %s, want %s", e.Properties, want)
		}
	})
}

// bomb is an archive with far more in it than it looks like.
func bomb(t *testing.T) []byte {
	t.Helper()
	var out bytes.Buffer
	z := zip.NewWriter(&out)
	w, err := z.CreateRaw(&zip.FileHeader{Name: "xl/worksheets/sheet1.xml", Method: zip.Deflate, CompressedSize64: 5, UncompressedSize64: 1 << 40})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write([]byte{1, 0, 0, 0xff, 0xff}); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// Files that are broken as a whole store nothing and say why.
func TestHostileImports(t *testing.T) {
	t.Parallel()
	r := newRig(t, dbtest.SQLite(t))
	r.start(t)
	for name, tt := range map[string]struct {
		format string
		file   any
		code   string
	}{
		"zip bomb":       {"xlsx", bomb(t), "too_large"},
		"no archive":     {"xlsx", "PK nothing", "not_xlsx"},
		"many columns":   {"csv", strings.Repeat("c,", 100_000), "too_many_columns"},
		"open quote":     {"csv", "type,protocol\nHousehold," + household + "\n\"", "open_quote"},
		"no names":       {"csv", "\n\n", "no_columns"},
		"unknown column": {"csv", "nothing\n", "unknown_column"},
	} {
		query := url.Values{"format": {tt.format}}
		if tt.code == "unknown_column" {
			query.Set("mapping", `{"Missing":"properties.name"}`)
		}
		got := r.imported(t, r.upload(t, query, csvType, tt.file))
		if got.Status != job.Failed || len(got.Errors) != 1 || got.Errors[0].Code != "FILE_INVALID" || got.Errors[0].Fields[0].Code != tt.code {
			t.Errorf("%s: %+v", name, got)
		}
	}
	lines := "{\"a\":\"" + strings.Repeat("x", 2<<20) + "\"}\n{\"a\":\"\xff\"}\n" + households(1)
	if got := r.imported(t, r.upload(t, nil, ndjson, lines)); got.Counts.Created != 1 || got.Counts.Refused != 2 {
		t.Errorf("a huge line and bad text: %+v", got.Counts)
	}
	if n := r.counts(t); n["entities"] != 1 || n["transfer_pieces"] != 0 || n["transfer_files"] != 0 {
		t.Errorf("rows = %v, want one twin and no file", n)
	}
}

func TestUploadLimits(t *testing.T) {
	t.Parallel()
	r := newRig(t, dbtest.SQLite(t))
	post := func(h map[string]string, query string, body any) call {
		return call{method: "POST", path: "/v1/imports" + query, header: h, body: body}
	}
	for name, tt := range map[string]struct {
		call   call
		status int
	}{
		"no format":       {post(map[string]string{"Content-Type": "application/json"}, "", "{}"), 415},
		"bad parameters":  {post(nil, "?mode=x&format=pdf&mapping=[]&dryRun=maybe", "x"), 400},
		"unknown one":     {post(nil, "?format=csv&colour=red", "x"), 400},
		"no body":         {post(nil, "?format=csv", nil), 400},
		"compressed":      {post(map[string]string{"Content-Encoding": "gzip"}, "?format=csv", "x"), 415},
		"mapping of rows": {post(nil, `?format=ndjson&mapping={"a":"b"}`, "x"), 400},
		"long mapping":    {post(nil, `?format=csv&mapping={"a":"`+strings.Repeat("b", 5000)+`"}`, "x"), 400},
		"no protocol":     {post(nil, "?format=csv&protocol=did:x:y", "x"), 404},
		"too large":       {post(nil, "?format=csv", bytes.Repeat([]byte("x"), bulk.MaxImport+1)), 413},
	} {
		if w := r.send(t, tt.call); w.Code != tt.status {
			t.Errorf("%s: %d, want %d: %s", name, w.Code, tt.status, w.Body)
		}
	}
	if n := r.counts(t); n["transfer_files"]+n["transfer_pieces"]+n["jobs"] != 0 {
		t.Errorf("rows = %v, want nothing left", n)
	}
	for range exchange.MaxFiles {
		r.upload(t, nil, ndjson, "{}")
	}
	w := r.send(t, post(map[string]string{"Content-Type": ndjson}, "", "{}"))
	if w.Code != http.StatusTooManyRequests || !strings.Contains(w.Body.String(), "TOO_MANY_FILES") {
		t.Errorf("one file too many: %d %s", w.Code, w.Body)
	}
	r.do(t, call{method: "POST", path: "/v1/imports", ws: "x", header: map[string]string{"Content-Type": ndjson}, body: "{}"}, 202, nil)
}

// The same request twice is one import; another file under the same key is
// refused.
func TestImportOnce(t *testing.T) {
	both(t, func(t *testing.T, r *rig) {
		send := func(file string, status int) string {
			t.Helper()
			var j struct {
				ID string `json:"id"`
			}
			r.do(t, call{method: "POST", path: "/v1/imports", header: map[string]string{"Content-Type": ndjson, "Idempotency-Key": "k"}, body: file}, status, &j)
			return j.ID
		}
		first := send(households(3), 202)
		if again := send(households(3), 202); again != first {
			t.Errorf("a second job %s, want %s", again, first)
		}
		send(households(4), 422)
		if n := r.counts(t); n["transfer_files"] != 1 || n["transfers"] != 1 || n["jobs"] != 1 {
			t.Errorf("rows = %v, want one of each", n)
		}
	})
}

// What a cancelled or forgotten import leaves is swept away.
func TestExpire(t *testing.T) {
	both(t, func(t *testing.T, r *rig) {
		queued := r.upload(t, nil, ndjson, households(9))
		sweep := func(name string, want int, expire func() (int, error)) {
			t.Helper()
			total := 0
			for {
				n, err := expire()
				if err != nil {
					t.Fatal(err)
				}
				if n == 0 {
					break
				}
				total += n
			}
			if total != want {
				t.Errorf("%s removed %d, want %d", name, total, want)
			}
		}
		files := func() (int, error) { return r.ExpireFiles(t.Context(), r.clock().Add(-exchange.FileLife), 100) }
		sweep("files while the job waits", 0, files)
		r.do(t, call{method: "POST", path: "/v1/jobs/" + queued + "/cancel"}, 200, nil)
		sweep("files of a cancelled job", 2, files)
		r.start(t)
		r.imported(t, r.upload(t, nil, ndjson, households(9)))
		reports := func() (int, error) { return r.Expire(t.Context(), r.clock().Add(-time.Hour), 4) }
		sweep("reports of today", 0, reports)
		r.forward(2 * time.Hour)
		sweep("reports of yesterday", 9+2, reports)
		if n := r.counts(t); n["transfers"]+n["transfer_rows"]+n["transfer_files"]+n["transfer_pieces"] != 0 {
			t.Errorf("rows = %v, want nothing left", n)
		}
	})
}

func TestJobKindsHaveHandlers(t *testing.T) {
	t.Parallel()
	r := newRig(t, dbtest.SQLite(t))
	var kinds []string
	for kind := range r.Handlers() {
		kinds = append(kinds, kind)
	}
	slices.Sort(kinds)
	if want := []string{"entity.export", "entity.import", "entity.migrate"}; !slices.Equal(kinds, want) {
		t.Errorf("kinds = %v, want %v", kinds, want)
	}
}

// BenchmarkImport compares an import with bare inserts of the same rows.
func BenchmarkImport(b *testing.B) {
	const rows = 5000
	b.Run("import", func(b *testing.B) {
		r := newRig(b, dbtest.SQLite(b))
		r.start(b)
		var file strings.Builder
		for i := 0; b.Loop(); i++ {
			file.Reset()
			for n := range rows {
				fmt.Fprintf(&file, `{"type":"Device","protocol":%q,"properties":{"serial":"S%d-%d","model":"M%d","fuel_type":"pellets","efficiency":37.5}}`+"\n", cooker, i, n, n%20)
			}
			r.imported(b, r.upload(b, nil, ndjson, file.String()))
		}
		b.ReportMetric(float64(b.N*rows)/b.Elapsed().Seconds(), "rows/s")
	})
	b.Run("bare", func(b *testing.B) {
		r := newRig(b, dbtest.SQLite(b))
		ctx := eventtest.Context(b.Context(), "w")
		made, err := r.ents.Prepare(ctx, entity.Draft{Type: "Device", Protocol: cooker, Properties: entity.Object{Value: []byte(`{"serial":"S","model":"M"}`)}})
		if err != nil {
			b.Fatal(err)
		}
		body := string(made.Body())
		for b.Loop() {
			for range rows / 50 {
				if err := r.db.InTx(ctx, func(tx *db.Tx) error { return bareChunk(b, tx, r.db, body) }); err != nil {
					b.Fatal(err)
				}
			}
		}
		b.ReportMetric(float64(b.N*rows)/b.Elapsed().Seconds(), "rows/s")
	})
}

// Twins and the rows that belong to them: two index entries, an event, a
// report. %[1]d is the parameter with the number of the twin.
var bare = [][2]string{
	{
		`INSERT INTO entities(nid, ws, did, type, class, domain_type, protocol, protocol_version, project, name, status, revision, type_key,
		protocol_key, project_key, status_key, crowded, created_at, updated_at, rev_action, rev_actor, rev_request, rev_reason, rev_hash, body) VALUES `,
		`($%[1]d, 'w', 'did:ixo:entity:' || $%[1]d, 'Device', 'physical', 'device', 'p', '1.0.0', '', '', 'active', 1, 1, 1, NULL, NULL, 0, 1, 1, 'create', 'a', '', '', x'00', $11)`,
	},
	{`INSERT INTO entity_props(pid, val, nid) VALUES `, `(1, 's' || $%[1]d, $%[1]d), (2, 'sM', $%[1]d)`},
	{`INSERT INTO transfer_rows(job, line, ok, data) VALUES `, `('j', $%[1]d, TRUE, '{"line":5,"ok":true,"action":"created","did":"did:ixo:entity:175d7824ba25002e4ec206365e206236"}')`},
	{
		`INSERT INTO events(ws, seq, id, type, subject, revision, actor, request_id, at, data, subject_key, actor_key) VALUES `,
		`('w', $%[1]d, $%[1]d, 'entity.created', 'did:ixo:entity:' || $%[1]d, 1, 'a', '', 1, '{"type":"Device"}', $%[1]d, 1)`,
	},
}

// bareChunk inserts 50 twins and their rows, ten in a statement.
func bareChunk(b *testing.B, tx *db.Tx, d *db.DB, body string) error {
	b.Helper()
	for range 5 {
		var nids []any
		for range 10 {
			nids = append(nids, d.NewNID())
		}
		for i, part := range bare {
			var values []string
			for n := range nids {
				values = append(values, fmt.Sprintf(part[1], n+1))
			}
			args := nids
			if i == 0 {
				args = append(slices.Clone(nids), body)
			}
			if _, err := tx.Exec(b.Context(), part[0]+strings.Join(values, ", "), args...); err != nil {
				return err
			}
		}
	}
	return nil
}

// What is wrong with the request is told all at once, and what is wrong with a
// line where a line has places.
func TestImportNamesAll(t *testing.T) {
	rule(t, func(t *testing.T, r *rig) {
		w := r.do(t, call{method: "POST", path: "/v1/imports?mode=x&dryRun=maybe&nope=1&format=pdf&mapping=%5B%5D", body: "{}"}, 400, nil)
		for _, name := range []string{"mode", "dryRun", "nope", "format", "mapping"} {
			if !strings.Contains(w.Body.String(), `"pointer":"query/`+name+`"`) {
				t.Errorf("%s is not named: %s", name, w.Body)
			}
		}
		r.start(t)
		got := r.imported(t, r.upload(t, nil, ndjson, "not json\n{\"type\":1,\"type\":2}\n"))
		for _, row := range r.report(t, got.Links.Rows) {
			if row.Error == nil || len(row.Error.Errors) != 1 || row.Error.Errors[0].Pointer != "" || !strings.HasPrefix(row.Error.Errors[0].Detail, "At byte ") {
				t.Errorf("line %d: %+v, want one error of the whole line", row.Line, row.Error)
			}
		}
	})
}
