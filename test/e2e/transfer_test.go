package e2e

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/xuri/excelize/v2"

	"github.com/hearth-dmrv/hearth/client"
	"github.com/hearth-dmrv/hearth/test/server"
)

// imported sends a file and waits until it is read.
func imported(t *testing.T, c *client.Client, d client.ImportDraft, file string) *client.Import {
	t.Helper()
	job := must(c.Imports.Create(t.Context(), d, strings.NewReader(file)))(t)
	if job = must(c.Jobs.Wait(t.Context(), job.ID))(t); !job.Done() {
		t.Fatalf("import = %+v, want success", job)
	}
	return must(c.Imports.Get(t.Context(), job.ID))(t)
}

// count counts the twins of a query.
func count(t *testing.T, c *client.Client, q client.EntityQuery) int {
	t.Helper()
	n := 0
	for _, err := range c.Entities.List(t.Context(), q) {
		if err != nil {
			t.Fatal(err)
		}
		n++
	}
	return n
}

const (
	ndjsonFile = `{"type":"Stove","protocol":"did:ixo:protocol/clean-cooking","properties":{"serial":"A1","efficiency":40},"externalIds":{"erp":"1"}}
{"type":"Stove","protocol":"did:ixo:protocol/clean-cooking","properties":{"serial":"A2","efficiency":400},"externalIds":{"erp":"2"}}
{"type":"Stove","protocol":"did:ixo:protocol/clean-cooking","properties":{"serial":"A3"},"externalIds":{"erp":"3"}}
`
	csvFile = "Serial no.;properties.efficiency;externalIds.erp;Remark\nA1;40;1;x\nA2;400;2;x\nA3;;3;x\n"
)

// xlsxFile is the same as a workbook.
func xlsxFile(t *testing.T) string {
	t.Helper()
	f := excelize.NewFile()
	defer f.Close()
	for i, row := range [][]any{
		{"Serial no.", "properties.efficiency", "externalIds.erp", "Remark"}, {"A1", 40, "1", "x"}, {"A2", 400, "2", "x"}, {"A3", nil, "3", "x"},
	} {
		if err := f.SetSheetRow("Sheet1", "A"+strconv.Itoa(i+1), &row); err != nil {
			t.Fatal(err)
		}
	}
	var b bytes.Buffer
	if err := f.Write(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestTransferImport reads one table in three formats: first to see what would
// come of it, then to store it, then again, which changes nothing. One of its
// three rows is wrong.
func TestTransferImport(t *testing.T) {
	t.Parallel()
	same(t, func(t *testing.T, o server.Options) {
		s := server.Run(t, o)
		boss := owner(t, s)
		mapping := map[string]string{"Serial no.": "properties.serial", "Remark": ""}
		for format, file := range map[string]string{"ndjson": ndjsonFile, "csv": csvFile, "xlsx": xlsxFile(t)} {
			ws := must(boss.Workspaces.Create(t.Context(), client.WorkspaceDraft{ID: "for-" + format, Name: format}))(t)
			c := with(t, s.URL, ws.OwnerKey.Text)
			d := client.ImportDraft{Format: format, Mode: "upsert", DryRun: true}
			if format != "ndjson" {
				d.Type, d.Protocol, d.Mapping = "Stove", "did:ixo:protocol/clean-cooking", mapping
			}
			dry := imported(t, c, d, file)
			if n := count(t, c, client.EntityQuery{}); n != 0 || dry.Counts.Created != 2 || dry.Counts.Refused != 1 || !dry.DryRun || dry.Bytes != int64(len(file)) {
				t.Errorf("%s: dry run = %+v and %d twins, want 2 of 3 and none", format, dry, n)
			}
			d.DryRun = false
			real := imported(t, c, d, file)
			if n := count(t, c, client.EntityQuery{Type: "Stove"}); n != 2 || real.Counts != dry.Counts {
				t.Errorf("%s: import = %+v and %d twins, want 2 of 3", format, real.Counts, n)
			}
			if again := imported(t, c, d, file); again.Counts.Unchanged != 2 || again.Counts.Refused != 1 || again.Counts.Created != 0 {
				t.Errorf("%s: the same file again = %+v, want that it changes nothing", format, again.Counts)
			}
			checkRows(t, c, format, real.ID)
		}
	})
}

// checkRows wants the report of an import.
func checkRows(t *testing.T, c *client.Client, format, id string) {
	t.Helper()
	var actions []string
	for row, err := range c.Imports.Rows(t.Context(), id, client.RowQuery{Limit: 2}) {
		if err != nil {
			t.Fatal(err)
		}
		actions = append(actions, row.Action)
	}
	if !slices.Equal(actions, []string{"created", "refused", "created"}) {
		t.Errorf("%s: rows = %v, want created, refused, created", format, actions)
	}
	bad := must(c.Imports.RowPage(t.Context(), id, client.RowQuery{OK: new(false)}))(t)
	if len(bad.Items) != 1 || bad.Items[0].Error.Code != "PROPERTY_SCHEMA_VIOLATION" || bad.Items[0].Error.Errors[0].Pointer != "/properties/efficiency" {
		t.Errorf("%s: refused rows = %+v, want the one that is too good, and why", format, bad.Items)
	}
	found := must(c.Entities.Page(t.Context(), client.EntityQuery{ExternalID: "3"}))(t)
	if len(found.Items) != 1 || found.Items[0].Properties["serial"] != "A3" || found.Items[0].Properties["efficiency"] != nil {
		t.Errorf("%s: externalId=3 finds %+v, want A3", format, found.Items)
	}
}

// TestTransferExport writes twins to a file and reads it into another
// workspace: they are the same there.
func TestTransferExport(t *testing.T) {
	t.Parallel()
	same(t, func(t *testing.T, o server.Options) {
		s := server.Run(t, o)
		ctx, c := t.Context(), owner(t, s)
		home := must(c.Entities.Create(ctx, client.EntityDraft{Type: "Household", Protocol: "did:ixo:protocol/household", Properties: client.Object{"name": "=Atieno"}}))(t)
		must(c.Entities.Create(ctx, client.EntityDraft{
			Type: "Stove", Protocol: "did:ixo:protocol/clean-cooking", Properties: client.Object{"serial": "A,1", "efficiency": 41.5, "notes": "two\nlines"},
			Relationships: []client.RelationshipDraft{{Role: "household", Target: home.DID}}, Metadata: client.Object{"tags": []any{"a", "b"}},
		}))(t)
		for _, format := range []string{"ndjson", "csv", "xlsx"} {
			job := must(c.Exports.Create(ctx, client.ExportDraft{Format: format, Filter: "in(type,Household,Stove)"}))(t)
			if job = must(c.Jobs.Wait(ctx, job.ID))(t); job.Status != "succeeded" {
				t.Fatalf("%s: export = %+v, want success", format, job)
			}
			e := must(c.Exports.Get(ctx, job.ID))(t)
			f := must(c.Exports.File(ctx, job.ID))(t)
			text := must(io.ReadAll(f))(t)
			f.Close()
			if e.Rows != 2 || e.Bytes != int64(len(text)) || e.SHA256 == "" || e.Links.File == "" {
				t.Errorf("%s: export = %+v with %d bytes, want 2 twins", format, e, len(text))
			}
			ws := must(c.Workspaces.Create(ctx, client.WorkspaceDraft{ID: "into-" + format, Name: format}))(t)
			other := with(t, s.URL, ws.OwnerKey.Text)
			if in := imported(t, other, client.ImportDraft{Format: format}, string(text)); in.Counts.Created != 2 || in.Counts.Refused != 0 {
				t.Errorf("%s: import of the export = %+v, want 2 twins\n%s", format, in.Counts, report(t, other, in.ID))
				continue
			}
			got := must(other.Entities.Page(ctx, client.EntityQuery{Type: "Stove"}))(t).Items[0]
			there := must(other.Entities.Get(ctx, home.DID))(t)
			if got.Properties["serial"] != "A,1" || got.Properties["efficiency"] != 41.5 || got.Properties["notes"] != "two\nlines" || fmt.Sprint(got.Metadata["tags"]) != "[a b]" ||
				len(got.Relationships) != 1 || got.Relationships[0].Target != home.DID || there.Properties["name"] != "=Atieno" {
				t.Errorf("%s: after the round trip %+v and %+v", format, got, there.Properties)
			}
		}
		_, err := c.Exports.Create(ctx, client.ExportDraft{Format: "csv", Filter: "eq(properties.colour,red)"})
		refused(t, "an export of a field nobody has", "UNKNOWN_FIELD", err)
	})
}

// report is the refused rows of an import as text.
func report(t *testing.T, c *client.Client, id string) string {
	t.Helper()
	var b strings.Builder
	for row, err := range c.Imports.Rows(t.Context(), id, client.RowQuery{OK: new(false)}) {
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&b, "line %d: %+v\n", row.Line, row.Error)
	}
	return b.String()
}

// TestTransferSurvivesKill kills the server in the middle of an import. The
// next start goes on: every row is there, once.
func TestTransferSurvivesKill(t *testing.T) {
	t.Parallel()
	same(t, func(t *testing.T, o server.Options) {
		const rows = 4000
		s := server.Run(t, o)
		ctx, c := t.Context(), owner(t, s)
		var file strings.Builder
		for i := range rows {
			fmt.Fprintf(&file, `{"type":"Stove","protocol":"did:ixo:protocol/clean-cooking","properties":{"serial":"S%d"},"metadata":{"n":%d}}`+"\n", i, i)
		}
		job := must(c.Imports.Create(ctx, client.ImportDraft{Format: "ndjson"}, strings.NewReader(file.String())))(t)
		until(t, "the import has begun", func() bool {
			return must(c.Imports.Get(ctx, job.ID))(t).Counts.Created > 0
		})
		if err := s.Kill(); err != nil {
			t.Fatal(err)
		}
		// The claim of the dead server would hold for half a minute more.
		d := openStore(t, o)
		if _, err := d.Exec(ctx, "UPDATE jobs SET due_at = 0 WHERE status = 'running'"); err != nil {
			t.Fatal(err)
		}
		if err := d.Close(); err != nil {
			t.Fatal(err)
		}
		s = server.Run(t, o)
		c = owner(t, s)
		if job = must(c.Jobs.Wait(ctx, job.ID))(t); job.Status != "succeeded" || job.Attempts != 2 {
			t.Fatalf("job = %+v, want success in the second attempt", job)
		}
		if in := must(c.Imports.Get(ctx, job.ID))(t); in.Counts.Created != rows || in.Counts.Done != rows || in.Counts.Refused != 0 {
			t.Errorf("counts = %+v, want %d", in.Counts, rows)
		}
		seen := map[any]int{}
		for e, err := range c.Entities.List(ctx, client.EntityQuery{Type: "Stove", Limit: 1000, Fields: []string{"metadata.n", "revision"}}) {
			if err != nil {
				t.Fatal(err)
			}
			if seen[e.Metadata["n"]]++; e.Revision != 1 {
				t.Errorf("%s has revision %d, want 1", e.DID, e.Revision)
			}
		}
		if len(seen) != rows {
			t.Errorf("%d different rows, want %d", len(seen), rows)
		}
		for n, times := range seen {
			if times != 1 {
				t.Fatalf("row %v is there %d times", n, times)
			}
		}
	})
}
