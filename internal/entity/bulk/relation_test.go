package bulk_test

import (
	"encoding/csv"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/hearth-dmrv/hearth/api"
	"github.com/hearth-dmrv/hearth/internal/entity/bulk"
	"github.com/hearth-dmrv/hearth/internal/job"
)

// edges are the relationships of a twin of a workspace, as role and target.
func (r *rig) edges(t *testing.T, ws, externalID string) (out []string) {
	t.Helper()
	for _, m := range r.records(t, ws) {
		twin, _ := m.(map[string]any)
		if ids, _ := twin["externalIds"].(map[string]any); ids["erp"] != externalID {
			continue
		}
		list, _ := twin["relationships"].([]any)
		for _, e := range list {
			edge, _ := e.(map[string]any)
			out = append(out, fmt.Sprint(edge["role"], " ", edge["target"]))
		}
		out = append(out, fmt.Sprint(twin["status"]))
	}
	slices.Sort(out)
	return out
}

// A table names other twins by DID or by the name another system has for them,
// stored before or made by any row of the file; a cell that names nothing is
// told with its column.
func TestImportRelationColumns(t *testing.T) {
	both(t, func(t *testing.T, r *rig) {
		r.start(t)
		r.do(t, call{method: "POST", path: "/v1/entities", body: map[string]any{
			"did": "did:ixo:org/a", "type": "Organisation", "protocol": "did:ixo:protocol/organisation", "properties": map[string]any{"name": "A"},
		}}, 201, nil)
		r.do(t, call{method: "POST", path: "/v1/entities", body: map[string]any{
			"did": "did:ixo:project/p", "type": "Project", "protocol": "did:ixo:protocol/project", "properties": map[string]any{"name": "P"},
			"externalIds": map[string]any{"erp": "P1"}, "relationships": []any{map[string]any{"role": "implementedBy", "target": "did:ixo:org/a"}},
		}}, 201, nil)
		const file = "did,type,protocol,externalIds.erp,Project code,relationships.household,relationships.near,relationships.near.externalIds.erp\n" +
			",Stove,did:ixo:protocol/clean-cooking,S1,P1,did:ixo:home/1,,\n" + // 2: the household comes later
			",Stove,did:ixo:protocol/clean-cooking,S2,P1,,did:ixo:home/1; did:ixo:project/p,\n" + // 3
			"did:ixo:home/1,Household,did:ixo:protocol/household,H1,P1,,,H2;H3\n" + // 4
			",Household,did:ixo:protocol/household,H2,,,,\n" +
			",Household,did:ixo:protocol/household,H3,,,,\n" +
			",Stove,did:ixo:protocol/clean-cooking,S3,P9,,,\n" + // 7
			",Stove,did:ixo:protocol/clean-cooking,S4,,not a DID,,\n" + // 8
			",Household,did:ixo:protocol/none,H9,,,,\n" + // 9
			"did:ixo:home/4,Household,did:ixo:protocol/household,H4,,,,H9\n" // 10: the row it names is refused
		query := url.Values{"mapping": {`{"Project code":"relationships.project.externalIds.erp"}`}}
		for _, dry := range []string{"true", "false"} {
			query.Set("dryRun", dry)
			got := r.imported(t, r.upload(t, query, csvType, file))
			want := bulk.Counts{Total: 9, Done: 9, Created: 6, Refused: 3, Incomplete: 1}
			if dry == "true" {
				want.Incomplete = 0 // what rows of the file refer to is known once they are stored
			}
			if got.Counts != want || got.Status != job.CompletedWithErrors {
				t.Fatalf("dryRun=%s: %s, %+v, want %+v: %+v", dry, got.Status, got.Counts, want, r.report(t, got.Links.Rows+"?ok=false"))
			}
			var bad []string
			for _, row := range r.report(t, got.Links.Rows+"?ok=false") {
				if len(row.Error.Errors) > 0 {
					e := row.Error.Errors[0]
					bad = append(bad, fmt.Sprint(row.Line, " ", e.Pointer, " ", e.Code, " ", e.Detail[:min(len(e.Detail), 11)]))
				}
			}
			told := []string{`7 Project code not_found "P9": No tw`, `8 relationships.household not_a_did "not a DID"`, "9 /protocol not_found There is no"}
			if dry == "false" {
				told = append(told, `10 relationships.near.externalIds.erp not_found "H9": No tw`)
			}
			if !slices.Equal(bad, told) {
				t.Errorf("dryRun=%s: refused = %q, want %q", dry, bad, told)
			}
		}
		names := map[string]string{}
		for id, m := range r.records(t, "w") {
			ids, _ := m.(map[string]any)["externalIds"].(map[string]any)
			names[fmt.Sprint(ids["erp"])] = id
		}
		for twin, want := range map[string][]string{
			"S1": {"active", "household did:ixo:home/1", "project did:ixo:project/p"},
			"S2": {"active", "near did:ixo:home/1", "near did:ixo:project/p", "project did:ixo:project/p"},
			"H4": {"active"},
		} {
			if got := r.edges(t, "w", twin); !slices.Equal(got, want) {
				t.Errorf("%s = %q, want %q", twin, got, want)
			}
		}
		for _, want := range []string{"near " + names["H2"], "near " + names["H3"], "project did:ixo:project/p"} {
			if got := r.edges(t, "w", "H1"); !slices.Contains(got, want) {
				t.Errorf("H1 = %q, want %q among it", got, want)
			}
		}
		// The same file changes nothing the second time.
		query.Set("mode", "upsert")
		if again := r.imported(t, r.upload(t, query, csvType, file)); again.Counts.Unchanged != 6 || again.Counts.Updated != 0 {
			t.Errorf("again = %+v, want nothing changed", again.Counts)
		}
		// An export has the same columns.
		rows, err := csv.NewReader(strings.NewReader(string(r.exportIn(t, "w", "csv")))).ReadAll()
		if err != nil {
			t.Fatal(err)
		}
		at := func(name string) int { return slices.Index(rows[0], name) }
		if at("relationships.project") < 0 || at("relationships") >= 0 {
			t.Fatalf("columns = %q", rows[0])
		}
		for _, row := range rows[1:] {
			if row[at("externalIds.erp")] == "S2" && (row[at("relationships.project")] != "did:ixo:project/p" || row[at("relationships.near")] != "did:ixo:project/p;did:ixo:home/1") {
				t.Errorf("S2 = %q", row)
			}
		}
		e := r.export(t, bulk.ExportDraft{Format: "csv", Columns: []string{"externalIds.erp", "relationships.project"}, Type: "Stove"})
		if got, want := r.file(t, e).Body.String(), "externalIds.erp,relationships.project\r\nS1,did:ixo:project/p\r\nS2,did:ixo:project/p\r\n"; got != want {
			t.Errorf("file = %q, want %q", got, want)
		}
	})
}

// A mistyped DID is a relationship to a twin outside, and a mistyped role a role of
// one's own: the report, of a dry run too, asks whether that was meant.
func TestImportDoubtsRelations(t *testing.T) {
	both(t, func(t *testing.T, r *rig) {
		r.start(t)
		const file = "did,type,protocol,externalIds.erp,Home,relationships.houshold,relationships.near\n" +
			"did:ixo:home/1,Household,did:ixo:protocol/household,H1,,,\n" +
			",Stove,did:ixo:protocol/clean-cooking,S1,did:ixo:home/1,,\n" +
			",Stove,did:ixo:protocol/clean-cooking,S2,did:ixo:home/l,,\n" + // 4
			",Stove,did:ixo:protocol/clean-cooking,S3,,did:ixo:home/1,did:ixo:home/1\n" // 5: near is a word of their own
		query := url.Values{"mapping": {`{"Home":"relationships.household"}`}}
		for _, dry := range []string{"true", "false"} {
			query.Set("dryRun", dry)
			got := r.imported(t, r.upload(t, query, csvType, file))
			if want := (bulk.Counts{Total: 4, Done: 4, Created: 4, Warnings: 2}); got.Counts != want || got.Status != job.Succeeded {
				t.Fatalf("dryRun=%s: %s, %+v, want %+v: %+v", dry, got.Status, got.Counts, want, r.report(t, got.Links.Rows))
			}
			var told []string
			for _, row := range r.report(t, got.Links.Rows) {
				for _, w := range row.Warnings {
					told = append(told, fmt.Sprint(row.Line, " ", w.Pointer, " ", w.Code, " ", strings.Contains(w.Detail, "household")))
				}
			}
			if want := []string{"4 Home not_held false", "5 relationships.houshold unknown_role true"}; !slices.Equal(told, want) {
				t.Errorf("dryRun=%s: warnings = %q, want %q", dry, told, want)
			}
		}
	})
}

// What is wrong with a row of a table is told in the words of tables.
func TestImportAdvisesAboutColumns(t *testing.T) {
	rule(t, func(t *testing.T, r *rig) {
		r.start(t)
		for _, tt := range []struct{ file, mapping, says string }{
			{"type,protocol,name\nHousehold,did:ixo:protocol/household,Amina\n", "", `mapping={"name":"properties.name"}`},
			{"type,protocol,Full name\nHousehold,did:ixo:protocol/household,Amina\n", `{"Full name":"name"}`, `mapping={"Full name":"properties.name"}`},
			{"type,properties.name\nHousehold,Amina\n", "", "?protocol="},
			{"protocol,properties.name\ndid:ixo:protocol/household,Amina\n", "", "?type="},
		} {
			query := url.Values{}
			if tt.mapping != "" {
				query.Set("mapping", tt.mapping)
			}
			rows := r.report(t, r.imported(t, r.upload(t, query, csvType, tt.file)).Links.Rows)
			if len(rows) != 1 || rows[0].Error == nil || !slices.ContainsFunc(rows[0].Error.Errors, func(f api.Field) bool { return strings.Contains(f.Detail, tt.says) }) {
				t.Errorf("%q: %+v, want %q", tt.file, rows, tt.says)
			}
		}
	})
}
