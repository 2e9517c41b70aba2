package bulk_test

import (
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hearth-dmrv/hearth/internal/entity/bulk"
	"github.com/hearth-dmrv/hearth/internal/exchange"
	"github.com/hearth-dmrv/hearth/internal/job"
	"github.com/hearth-dmrv/hearth/internal/sheet"
)

const messy = "Full name,People,HH code,District,GPS lat,Remarks,_uuid,revision,\n" +
	"Achieng,4,H1,Kisumu,-0.1,nice,u1,3,\n" +
	",,,,,,,,\n" +
	"\n" +
	"Otieno,many,H2,Kisumu,-0.2,,u2,3,\n"

func (r *rig) preview(t testing.TB, query url.Values, media string, file any) bulk.Preview {
	t.Helper()
	var p bulk.Preview
	r.do(t, call{method: "POST", path: "/v1/imports:preview?" + query.Encode(), header: map[string]string{"Content-Type": media}, body: file}, 200, &p)
	return p
}

// workbook is a table as XLSX.
func workbook(t *testing.T, table string) []byte {
	t.Helper()
	var out strings.Builder
	b, err := sheet.NewBook(&out, "data")
	if err == nil {
		err = b.Sheet()
	}
	for _, line := range strings.Split(strings.TrimSuffix(table, "\n"), "\n") {
		if err == nil {
			err = b.Row(strings.Split(line, ",")...)
		}
	}
	if err == nil {
		err = b.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	return []byte(out.String())
}

// A preview finds out what columns are, says what it passes over, and leaves
// nothing behind.
func TestPreview(t *testing.T) {
	both(t, func(t *testing.T, r *rig) {
		before := r.counts(t)
		asked := url.Values{"protocol": {household}, "type": {"Household"}}
		p := r.preview(t, asked, csvType, messy)
		for name, want := range map[string]bulk.PreviewColumn{
			"Full name": {Path: "properties.name", Is: "guessed"}, "People": {Path: "properties.size", Is: "guessed"}, "HH code": {Path: "externalIds.hhcode", Is: "guessed"},
			"District": {Path: "properties.district", Is: "guessed"}, "GPS lat": {Path: "properties.location.lat", Is: "guessed"},
			"Remarks": {Is: "unknown"}, "_uuid": {Is: "system"}, "revision": {Path: "revision", Is: "system"},
		} {
			want.Name = name
			if i := slices.IndexFunc(p.Columns, func(c bulk.PreviewColumn) bool { return c.Name == name }); i < 0 || p.Columns[i] != want {
				t.Errorf("column %s of %+v, want %+v", name, p.Columns, want)
			}
		}
		if got := p.Mapping["Remarks"]; got != "" || p.Mapping["People"] != "properties.size" || len(p.Mapping) != 7 {
			t.Errorf("mapping = %v", p.Mapping)
		}
		if len(p.Rows) != 2 || p.More || p.Rows[1].Line != 5 || p.Rows[1].Cells[1].Value != "many" || p.Rows[1].Cells[1].Wrong == "" || p.Rows[0].Cells[1].Wrong != "" {
			t.Errorf("rows = %+v", p.Rows)
		}
		notes := map[string]bulk.PreviewNote{}
		for _, n := range p.Notes {
			notes[n.Code] = n
		}
		if notes["blank_rows"].Count != 2 || !slices.Equal(notes["unknown_columns"].Columns, []string{"Remarks"}) || !slices.Equal(notes["system_columns"].Columns, []string{"_uuid", "revision"}) || len(p.Notes) != 3 {
			t.Errorf("notes = %+v", p.Notes)
		}
		if p := r.preview(t, url.Values{}, csvType, "a\n1\n"); len(p.Notes) != 2 || !slices.Equal(p.Notes[1].Columns, []string{"protocol", "type"}) {
			t.Errorf("notes without a protocol = %+v, want unknown and missing columns", p.Notes)
		}
		x := r.preview(t, asked, sheet.XLSX.MediaType(), workbook(t, messy))
		if len(x.Rows) != 2 || x.Rows[1].Cells[1].Value != "many" || x.Mapping["People"] != "properties.size" {
			t.Errorf("XLSX = %+v", x)
		}
		if after := r.counts(t); after["transfer_files"] != before["transfer_files"] || after["transfer_pieces"] != before["transfer_pieces"] || after["jobs"] != before["jobs"] {
			t.Errorf("a preview left something: %v, before %v", after, before)
		}
	})
}

func TestPreviewIsRefused(t *testing.T) {
	rule(t, func(t *testing.T, r *rig) {
		for name, tt := range map[string]struct {
			query, media, as string
			body             any
			status           int
		}{
			"no records":       {"", ndjson, "", "{}", 415},
			"no format":        {"", "text/plain", "", "a\n1\n", 415},
			"a wrong mapping":  {"?mapping=5", csvType, "", "a\n1\n", 400},
			"a column twice":   {"", csvType, "", "a,a\n1,2\n", 400},
			"no such protocol": {"?protocol=did:x:y", csvType, "", "a\n1\n", 404},
			"nothing":          {"", csvType, "", "", 400},
			"no workbook":      {"?format=xlsx", csvType, "", "a,b\n", 400},
			"a reader":         {"", csvType, "reader", "a\n1\n", 403},
		} {
			if w := r.send(t, call{method: "POST", path: "/v1/imports:preview" + tt.query, as: tt.as, header: map[string]string{"Content-Type": tt.media}, body: tt.body}); w.Code != tt.status {
				t.Errorf("%s: %d, want %d: %s", name, w.Code, tt.status, w.Body)
			}
		}
		if n := r.counts(t)["transfer_files"]; n != 0 {
			t.Errorf("%d files are left", n)
		}
	})
}

// A dry run shows the cells of its rows and marks the bad ones; its file is
// imported without being sent again, once.
func TestDryRunToImport(t *testing.T) {
	both(t, func(t *testing.T, r *rig) {
		r.start(t)
		file := "Name,People,Code\nA,4,H1\nB,many,H2\nC,5000,H3\n,,\n"
		mapping := `{"Name":"properties.name","People":"properties.size","Code":"externalIds.code"}`
		dry := r.imported(t, r.upload(t, url.Values{"protocol": {household}, "type": {"Household"}, "mapping": {mapping}, "dryRun": {"true"}, "mode": {"upsert"}}, csvType, file))
		if dry.Counts.Refused != 2 || dry.Counts.Created != 1 || dry.Counts.Blank != 1 {
			t.Fatalf("dry run = %+v", dry)
		}
		wrong := 0
		for _, row := range r.report(t, dry.Links.Rows) {
			if len(row.Cells) != 3 || row.Cells[0].Column != "Name" {
				t.Fatalf("line %d has the cells %+v", row.Line, row.Cells)
			}
			for _, c := range row.Cells {
				if c.Wrong != "" {
					wrong++
					if c.Column != "People" {
						t.Errorf("line %d: %+v", row.Line, c)
					}
				}
			}
		}
		if wrong != 2 {
			t.Errorf("%d cells are marked, want 2", wrong)
		}
		table := r.do(t, call{path: "/v1/imports/" + dry.ID + "/refused"}, 200, nil).Body.String()
		if lines := strings.Split(table, "\r\n"); len(lines) != 4 || lines[0] != "Name,People,Code,_line,_why" || !strings.HasPrefix(lines[1], "B,many,H2,3,") || !strings.HasPrefix(lines[2], "C,5000,H3,4,") {
			t.Errorf("refused rows = %q", table)
		}
		var j job.Job
		run := call{method: "POST", path: "/v1/imports/" + dry.ID + "/run", header: map[string]string{"Idempotency-Key": "go"}}
		r.do(t, run, 202, &j)
		if done := r.imported(t, j.ID); done.Counts.Created != 1 || done.Counts.Refused != 2 || done.DryRun {
			t.Errorf("import = %+v", done)
		}
		var again job.Job
		if r.do(t, run, 202, &again); again.ID != j.ID {
			t.Errorf("the same request began %s, want %s", again.ID, j.ID)
		}
		run.header = nil
		r.do(t, run, 409, nil)
		run.path = "/v1/imports/" + j.ID + "/run"
		r.do(t, run, 409, nil)
		if n := r.counts(t); n["entities"] != 1 || n["transfer_files"] != 0 {
			t.Errorf("%v, want one twin and no file", n)
		}
	})
}

// Cells are for whoever sent them, and go after a day, or when somebody is
// erased; so does the file of a dry run.
func TestCellsGo(t *testing.T) {
	both(t, func(t *testing.T, r *rig) {
		r.start(t)
		asked := url.Values{"protocol": {household}, "type": {"Household"}, "dryRun": {"true"}}
		dry := r.imported(t, r.upload(t, asked, csvType, "properties.size\nmany\n"))
		cells := func(as string) int {
			t.Helper()
			var page struct {
				Items []bulk.ReportRow `json:"items"`
			}
			r.do(t, call{path: dry.Links.Rows, as: as}, 200, &page)
			return len(page.Items[0].Cells)
		}
		if own, other := cells(""), cells("clerk"); own != 1 || other != 0 {
			t.Errorf("%d and %d cells, want 1 for the owner and none for a clerk", own, other)
		}
		if got := r.do(t, call{path: "/v1/imports/" + dry.ID + "/refused", as: "clerk"}, 200, nil).Body.String(); !strings.HasPrefix(got, "_line,_why\r\n2,") || strings.Contains(got, "many") {
			t.Errorf("a clerk reads %q", got)
		}
		r.do(t, call{method: "POST", path: "/v1/imports/" + dry.ID + "/run", as: "clerk"}, 403, nil)
		r.do(t, call{method: "POST", path: "/v1/imports/" + dry.ID + "/run", ws: "else"}, 404, nil)
		if _, err := r.Forget(t.Context(), "w"); err != nil {
			t.Fatal(err)
		}
		if n := cells(""); n != 0 {
			t.Errorf("%d cells after an erasure", n)
		}
		r.do(t, call{method: "POST", path: "/v1/imports/" + dry.ID + "/run"}, 409, nil)
		dry = r.imported(t, r.upload(t, asked, csvType, "properties.size\nmany\n"))
		r.forward(exchange.CellLife + time.Minute)
		for n, err := 1, error(nil); n > 0; {
			if n, err = r.ExpireFiles(t.Context(), r.clock().Add(-exchange.FileLife), 10); err != nil {
				t.Fatal(err)
			}
		}
		if n := r.counts(t); cells("") != 0 || n["transfer_files"] != 0 || n["transfer_pieces"] != 0 {
			t.Errorf("after a day: %v", n)
		}
	})
}
