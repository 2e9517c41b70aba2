package bulk_test

import (
	"bytes"
	"cmp"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	gocmp "github.com/google/go-cmp/cmp"

	"github.com/hearth-dmrv/hearth/api"
	"github.com/hearth-dmrv/hearth/internal/entity"
	"github.com/hearth-dmrv/hearth/internal/entity/bulk"
	"github.com/hearth-dmrv/hearth/internal/event/eventtest"
	"github.com/hearth-dmrv/hearth/internal/job"
	"github.com/hearth-dmrv/hearth/internal/sheet"
)

// world makes twins in every status, some of which others rely on.
func (r *rig) world(t *testing.T) {
	t.Helper()
	add := func(id, typ, protocol, more string) {
		t.Helper()
		r.do(t, call{
			method: "POST", path: "/v1/entities", header: map[string]string{"Content-Type": "application/json"},
			body: fmt.Sprintf(`{"did":%q,"type":%q,"protocol":"did:ixo:protocol/%s"%s}`, id, typ, protocol, more),
		}, 201, nil)
	}
	ctx := eventtest.Context(t.Context(), "w")
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	to := func(id string, status entity.Status) {
		t.Helper()
		_, err := r.ents.Transition(ctx, id, "", entity.Transition{To: status})
		check(err)
	}
	add("did:ixo:org/a", "Organisation", "organisation", `,"properties":{"name":"A"},"groups":[{"name":"staff","scopes":["entities:read"]},{"name":"field"}]`)
	add("did:ixo:org/gone", "Organisation", "organisation", `,"properties":{"name":"Gone"}`)
	add("did:ixo:oracle/o", "Oracle", "oracle", `,"properties":{"name":"O","capabilities":["a"]}`)
	add("did:ixo:project/p", "Project", "project", `,"properties":{"name":"P"},"relationships":[{"role":"implementedBy","target":"did:ixo:org/a"}]`)
	add("did:ixo:project/gone", "Project", "project", `,"properties":{"name":"Gone"},"relationships":[{"role":"implementedBy","target":"did:ixo:org/gone"}]`)
	add("did:ixo:project/draft", "Project", "project", `,"properties":{"name":"Draft"}`)
	add("did:ixo:home/gone", "Household", "household", `,"properties":{"name":"H"},"relationships":[{"role":"project","target":"did:ixo:project/p"}]`)
	add("did:ixo:stove/1", "Stove", "clean-cooking", `,"properties":{"serial":"S1"},"relationships":[{"role":"household","target":"did:ixo:home/gone"}],"externalIds":{"erp":"7"}`)
	add("did:ixo:home/paused", "Household", "household", `,"properties":{"name":"H2"}`)
	add("did:ixo:project/done", "Project", "project", `,"properties":{"name":"Done"},"relationships":[{"role":"implementedBy","target":"did:ixo:org/a"}]`)
	r.do(t, call{method: "POST", path: "/v1/entities:batch", body: map[string]any{"atomic": true, "operations": []any{map[string]any{
		"op": "relate", "did": "did:ixo:project/draft", "relationship": map[string]any{"role": "implementedBy", "target": "did:ixo:org/a"},
	}}}}, 200, nil) // and it stays a draft
	_, err := r.ents.Verify(ctx, "did:ixo:stove/1", `"1"`, entity.Verdict{Status: "verified", Evidence: "seen"})
	check(err)
	to("did:ixo:home/paused", "suspended")
	to("did:ixo:project/done", "completed")
	to("did:ixo:home/gone", "deactivated")
	to("did:ixo:project/gone", "deactivated")
	to("did:ixo:org/gone", "deactivated")
	for _, id := range []string{"did:ixo:org/a", "did:ixo:project/p", "did:ixo:stove/1", "did:ixo:home/paused", "did:ixo:project/done"} {
		_, err := r.ents.Transfer(ctx, id, "", entity.Transfer{Controller: "did:x:elsewhere"})
		check(err)
	}
}

// records are the twins of a workspace without what a round trip cannot keep.
func (r *rig) records(t *testing.T, ws string) map[string]any {
	t.Helper()
	rows, err := r.db.Query(t.Context(), `SELECT body FROM entities WHERE ws = $1`, ws)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	out := map[string]any{}
	for rows.Next() {
		var body string
		if err := rows.Scan(&body); err != nil {
			t.Fatal(err)
		}
		var m map[string]any
		if err := json.Unmarshal([]byte(body), &m); err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"revision", "created", "updated", "controllers", "owner", "verification"} {
			delete(m, name)
		}
		edges, _ := m["relationships"].([]any)
		for _, e := range edges {
			delete(e.(map[string]any), "id")
		}
		slices.SortFunc(edges, func(a, b any) int { return cmp.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
		out[m["did"].(string)] = m
	}
	return out
}

func (r *rig) exportIn(t *testing.T, ws, format string) []byte {
	t.Helper()
	var j job.Job
	r.do(t, call{method: "POST", path: "/v1/exports", ws: ws, body: bulk.ExportDraft{Format: sheet.Format(format)}}, 202, &j)
	r.waitIn(t, ws, j.ID)
	return r.do(t, call{path: "/v1/exports/" + j.ID + "/file", ws: ws}, 200, nil).Body.Bytes()
}

// importIn imports a file and gives its report by DID.
func (r *rig) importIn(t *testing.T, ws, query string, file []byte) (bulk.Import, map[string]bulk.ReportRow) {
	t.Helper()
	var j job.Job
	r.do(t, call{method: "POST", path: "/v1/imports?" + query, ws: ws, body: file}, 202, &j)
	r.waitIn(t, ws, j.ID)
	var in bulk.Import
	r.do(t, call{path: "/v1/imports/" + j.ID, ws: ws}, 200, &in)
	var page struct {
		Items []bulk.ReportRow `json:"items"`
	}
	r.do(t, call{path: "/v1/imports/" + j.ID + "/rows?limit=100", ws: ws}, 200, &page)
	rows := map[string]bulk.ReportRow{}
	for _, row := range page.Items {
		if row.Error != nil {
			t.Errorf("%s %s: row %d (%s): %+v", ws, query, row.Line, row.DID, row.Error)
		}
		rows[row.DID] = row
	}
	return in, rows
}

func pointers(list []api.Field) (out []string) {
	for _, f := range list {
		out = append(out, f.Pointer)
	}
	return out
}

// An export that is imported elsewhere makes the same twins, in the same
// status, with the same groups, and the report says what it could not keep.
func TestRoundTrip(t *testing.T) {
	both(t, func(t *testing.T, r *rig) {
		r.start(t)
		r.world(t)
		want := r.records(t, "w")
		for _, format := range []string{"ndjson", "csv", "xlsx"} {
			ws := "copy-" + format
			file := r.exportIn(t, "w", format)
			in, rows := r.importIn(t, ws, "format="+format, file)
			if n := int64(len(want)); in.Counts.Created != n || in.Counts.Refused+in.Counts.Incomplete != 0 {
				t.Fatalf("%s: %+v, want %d created", format, in.Counts, n)
			}
			got := r.records(t, ws)
			for id, m := range got { // who has imported it is one more
				if m.(map[string]any)["controller"] != want[id].(map[string]any)["controller"] {
					t.Errorf("%s: controller of %s = %v", format, id, m)
				}
			}
			if diff := gocmp.Diff(want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", format, diff)
			}
			for id, named := range map[string][]string{
				"did:ixo:stove/1": {"/controllers", "/owner", "/verification"}, "did:ixo:home/paused": {"/controllers", "/owner"}, "did:ixo:oracle/o": nil,
				"did:ixo:home/gone": nil,
			} {
				if got := pointers(rows[id].Warnings); !slices.Equal(got, named) {
					t.Errorf("%s: warnings of %s = %v, want %v", format, id, got, named)
				}
			}
			// Whoever has imported them may go on with them.
			before := r.records(t, ws)
			again, _ := r.importIn(t, ws, "mode=upsert&format="+format, file)
			if again.Counts.Unchanged != in.Counts.Created {
				t.Errorf("%s again: %+v", format, again.Counts)
			}
			if diff := gocmp.Diff(before, r.records(t, ws)); diff != "" {
				t.Errorf("%s again (-before +after):\n%s", format, diff)
			}
			if next := r.exportIn(t, ws, format); format == "ndjson" && bytes.Count(next, []byte("\n")) != len(want) {
				t.Errorf("%d records, want %d", bytes.Count(next, []byte("\n")), len(want))
			}
		}
	})
}

// An organisation that comes before its groups gets them, and no other; one
// that names none gets one of its own.
func TestImportGroups(t *testing.T) {
	rule(t, func(t *testing.T, r *rig) {
		r.start(t)
		lines := []string{
			`{"did":"did:ixo:org/a","type":"Organisation","protocol":"did:ixo:protocol/organisation","relationships":[{"role":"contains","target":"did:ixo:group/a"}]}`,
			`{"did":"did:ixo:org/b","type":"Organisation","protocol":"did:ixo:protocol/organisation"}`,
			`{"did":"did:ixo:group/a","type":"MembershipGroup","protocol":"did:ixo:protocol/group","properties":{"name":"a"},"relationships":[{"role":"partOf","target":"did:ixo:org/a"}]}`,
			`{"did":"did:ixo:group/b","type":"MembershipGroup","protocol":"did:ixo:protocol/group","properties":{"name":"b"},"relationships":[{"role":"partOf","target":"did:ixo:org/b"}]}`,
		}
		file := strings.Join(lines, "\n")
		dry := r.imported(t, r.upload(t, url.Values{"dryRun": {"true"}}, ndjson, file))
		wet := r.imported(t, r.upload(t, nil, ndjson, file))
		if dry.Counts != wet.Counts || wet.Counts.Created != 4 || wet.Counts.Incomplete+wet.Counts.Warnings != 0 {
			t.Fatalf("dry %+v, real %+v", dry.Counts, wet.Counts)
		}
		all := r.records(t, "w")
		if len(all) != 5 { // the group of b's own
			t.Errorf("%d twins, want 5", len(all))
		}
		for id, m := range all {
			if m.(map[string]any)["status"] != "active" {
				t.Errorf("%s is %v", id, m.(map[string]any)["status"])
			}
		}
	})
}

// A killed import with all its passes stores what one that was not does.
func TestRoundTripKilled(t *testing.T) {
	both(t, func(t *testing.T, r *rig) {
		var k killer
		kills := 0
		r.start(t, k.wrap)
		r.world(t)
		want := r.records(t, "w")
		file := r.exportIn(t, "w", "ndjson")
		r.onEntityClock(func(n int) {
			if n%9 == 0 && kills < 4 {
				kills++
				k.now()
			}
		})
		in, _ := r.importIn(t, "copy", "format=ndjson", file)
		r.onEntityClock(nil)
		if n := int64(len(want)); in.Counts.Created != n || in.Counts.Done != n || kills == 0 {
			t.Fatalf("%+v after %d kills, want %d created", in.Counts, kills, n)
		}
		if diff := gocmp.Diff(want, r.records(t, "copy")); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

// What the transitions do not allow the row says.
func TestImportStatus(t *testing.T) {
	rule(t, func(t *testing.T, r *rig) {
		r.start(t)
		home := func(status string) string {
			return fmt.Sprintf(`{"type":"Household","protocol":%q,"status":%s}`, household, status)
		}
		file := strings.Join([]string{
			home(`"draft"`), home(`"completed"`), home(`"gone"`), home(`7`), home(`null`),
			`{"did":"did:ixo:project/x","type":"Project","protocol":"did:ixo:protocol/project","status":"suspended"}`,
		}, "\n")
		in := r.imported(t, r.upload(t, nil, ndjson, file))
		var got []string
		for _, row := range r.report(t, in.Links.Rows) {
			code := ""
			if row.Error != nil {
				code = row.Error.Code + row.Error.Errors[0].Pointer
			}
			got = append(got, fmt.Sprint(row.Line, row.Action, code, pointers(row.Warnings)))
		}
		want := []string{
			"1created[/status]", "2created[]", "3refusedENTITY_INVALID/status[]", "4refusedENTITY_INVALID/status[]", "5created[]", "6created[/status]",
		}
		if !slices.Equal(got, want) {
			t.Errorf("rows = %q, want %q", got, want)
		}
	})
}

// A dry run names what the real one names: a name that is taken and all that is
// wrong besides.
func TestDryRunNamesAll(t *testing.T) {
	rule(t, func(t *testing.T, r *rig) {
		r.start(t)
		file := households(3) + fmt.Sprintf(`{"type":"Household","protocol":%q,"properties":{"size":"many"},"externalIds":{"erp":"E1"}}`, household) + "\n" +
			fmt.Sprintf(`{"type":"Household","protocol":%q,"externalIds":{"erp":"E1"}}`, household) + "\n"
		var reports [][]bulk.ReportRow
		for _, mode := range []string{"create", "upsert"} {
			var both [][]bulk.ReportRow
			for _, dry := range []string{"true", "false"} {
				text := file
				if mode == "upsert" {
					text = strings.ReplaceAll(file, `"E`, `"U`)
				}
				in := r.imported(t, r.upload(t, url.Values{"dryRun": {dry}, "mode": {mode}}, ndjson, text))
				both = append(both, r.report(t, in.Links.Rows+"?ok=false"))
			}
			for i := range both[1] {
				both[1][i].DID = "" // known to the real run alone
			}
			if mode == "upsert" && (len(both[1]) != 1 || both[1][0].Error.Code != "PROPERTY_SCHEMA_VIOLATION") {
				t.Errorf("upsert: %+v", both[1])
			}
			if diff := gocmp.Diff(both[0], both[1]); diff != "" {
				t.Errorf("%s: reports (-dry +real):\n%s", mode, diff)
			}
			reports = append(reports, both...)
		}
		if got := pointers(reports[1][0].Error.Errors); !slices.Equal(got, []string{"/properties/size", "/externalIds/erp"}) || len(reports[1]) != 2 {
			t.Errorf("errors = %v", got)
		}
	})
}

// Rows of which all cells are empty are none.
func TestImportEmptyRows(t *testing.T) {
	rule(t, func(t *testing.T, r *rig) {
		r.start(t)
		query := url.Values{"protocol": {household}, "type": {"Household"}}
		in := r.imported(t, r.upload(t, query, csvType, "properties.name,properties.size\nAnn,3\n,\n,\nBob,4\n,\n"))
		if in.Counts != (bulk.Counts{Total: 2, Done: 2, Created: 2, Blank: 3}) {
			t.Errorf("counts = %+v", in.Counts)
		}
		if rows := r.report(t, in.Links.Rows); len(rows) != 2 || rows[1].Line != 5 {
			t.Errorf("rows = %+v", rows)
		}
	})
}

// A twin gets into a project by a relationship. A row that only names one says
// so, in a dry run too.
func TestImportProject(t *testing.T) {
	rule(t, func(t *testing.T, r *rig) {
		r.start(t)
		const edge = `"[{""role"":""project"",""target"":""did:ixo:project/%s""}]"`
		project := func(id string) string {
			return fmt.Sprintf("did:ixo:project/%[1]s,Project,did:ixo:protocol/project,did:ixo:project/%[1]s,%[1]s,\n", id)
		}
		home := func(n int, project, edges string) string {
			return fmt.Sprintf("did:ixo:home/%d,Household,%s,%s,H,%s\n", n, household, project, edges)
		}
		file := "did,type,protocol,project,properties.name,relationships\n" + project("a") +
			home(1, "did:ixo:project/a", "") + home(2, "did:ixo:project/a", fmt.Sprintf(edge, "a")) + home(3, "", "") +
			home(4, "did:ixo:project/b", fmt.Sprintf(edge, "b")) + home(5, "did:ixo:project/b", fmt.Sprintf(edge, "a")) + project("b")
		for _, mode := range []string{"create", "upsert"} { // the second finds them
			for _, dry := range []string{"true", "false"} {
				in := r.imported(t, r.upload(t, url.Values{"dryRun": {dry}, "mode": {mode}}, csvType, file))
				var got []string
				for _, row := range r.report(t, in.Links.Rows) {
					for _, w := range row.Warnings {
						got = append(got, fmt.Sprint(row.Line, w.Pointer, " ", w.Code, strings.Contains(w.Detail, `"role":"project"`)))
					}
				}
				want := []string{"3/project not_carried_overtrue", "7/project not_carried_overtrue"}
				if !slices.Equal(got, want) || in.Counts.Warnings != 2 || in.Counts.Refused+in.Counts.Incomplete != 0 {
					t.Errorf("%s, dryRun=%s: warnings = %q, want %q; %+v", mode, dry, got, want, in.Counts)
				}
			}
		}
		all := r.records(t, "w")
		for id, want := range map[string]any{"1": nil, "2": "did:ixo:project/a", "4": "did:ixo:project/b", "5": "did:ixo:project/a"} {
			if got := all["did:ixo:home/"+id].(map[string]any)["project"]; got != want {
				t.Errorf("project of %s = %v, want %v", id, got, want)
			}
		}
	})
}

// A row that makes a twin another has the name of says how to change that one;
// in an upsert that would be no way out.
func TestImportTakenName(t *testing.T) {
	rule(t, func(t *testing.T, r *rig) {
		r.start(t)
		r.imported(t, r.upload(t, nil, ndjson, households(2)))
		line := func(did string) string {
			return fmt.Sprintf(`{"did":%q,"type":"Household","protocol":%q,"externalIds":{"erp":"E1"}}`, did, household) + "\n"
		}
		const advice = "mode=upsert"
		for _, tt := range []struct {
			mode, file string
			advised    bool
		}{
			{"create", line("did:ixo:home/1"), true},
			{"upsert", line("did:ixo:home/2"), false},
		} {
			for _, dry := range []string{"true", "false"} {
				in := r.imported(t, r.upload(t, url.Values{"mode": {tt.mode}, "dryRun": {dry}}, ndjson, tt.file))
				rows := r.report(t, in.Links.Rows)
				if len(rows) != 1 || rows[0].Error == nil || rows[0].Error.Code != "EXTERNAL_ID_EXISTS" || strings.Contains(rows[0].Error.Message, advice) != tt.advised {
					t.Errorf("%s, dryRun=%s: %+v", tt.mode, dry, rows)
				}
			}
		}
	})
}

// A dry run warns of what the real one warns of, also where a row changes the
// twin of an earlier one, however far that is.
func TestDryRunWarnsOfLaterChanges(t *testing.T) {
	rule(t, func(t *testing.T, r *rig) {
		r.start(t)
		const edge = `,"relationships":[{"role":"project","target":"did:ixo:project/a"}]`
		home := func(who, more string) string {
			return fmt.Sprintf(`{"type":"Household","protocol":%q,"properties":{"size":3},%s%s}`, household, who, more)
		}
		first := []string{
			home(`"did":"did:ixo:home/1"`, `,"status":"suspended"`), home(`"externalIds":{"erp":"E2"}`, ""), home(`"did":"did:ixo:home/3"`, edge),
			home(`"did":"did:ixo:home/4"`, `,"controllers":["did:x:elsewhere"]`),
		}
		var other []string
		for range 120 { // more than are stored together
			other = append(other, home(`"metadata":{}`, ""))
		}
		again := []string{
			home(`"did":"did:ixo:home/1"`, `,"status":"active","owner":"did:x:else"`), home(`"did":"did:ixo:home/1"`, `,"status":"suspended","owner":"did:key:owner"`),
			home(`"externalIds":{"erp":"E2"}`, `,"verification":{"status":"verified"},"linkedClaims":[]`), home(`"did":"did:ixo:home/3"`, `,"project":"did:ixo:project/a"`),
			home(`"did":"did:ixo:home/3"`, `,"project":"did:ixo:project/b"`), home(`"did":"did:ixo:home/4"`, `,"controllers":["did:x:elsewhere"],"status":"draft"`),
		}
		project := `{"did":"did:ixo:project/a","type":"Project","protocol":"did:ixo:protocol/project"}`
		for name, lines := range map[string][]string{"near": slices.Concat([]string{project}, first, again), "far": slices.Concat([]string{project}, first, other, again)} {
			file := strings.ReplaceAll(strings.Join(lines, "\n"), "E2", "E2"+name)
			file = strings.NewReplacer("home/", name+"/", "project/a", "project/"+name).Replace(file)
			var both [][]string
			for _, dry := range []string{"true", "false"} {
				in := r.imported(t, r.upload(t, url.Values{"dryRun": {dry}, "mode": {"upsert"}}, ndjson, file))
				var got []string
				for _, row := range r.report(t, in.Links.Rows) {
					for _, w := range row.Warnings {
						got = append(got, fmt.Sprintln(row.Line, w.Pointer, w.Code, w.Detail))
					}
				}
				both = append(both, got)
			}
			if diff := gocmp.Diff(both[0], both[1]); diff != "" || len(both[1]) != 7 {
				t.Errorf("%s: %d warnings, want 7 (-dry +real):\n%s\n%s", name, len(both[1]), diff, both[1])
			}
		}
	})
}
