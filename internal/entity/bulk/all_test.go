package bulk_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hearth-dmrv/hearth/internal/entity/bulk"
	"github.com/hearth-dmrv/hearth/internal/event"
	"github.com/hearth-dmrv/hearth/internal/job"
)

// Names that are taken, in the middle of rows that are stored together: each is
// told, all others are stored, and their events stand in the order of the file.
func TestImportTaken(t *testing.T) {
	both(t, func(t *testing.T, r *rig) {
		r.start(t)
		r.do(t, call{method: "POST", path: "/v1/entities", body: map[string]any{
			"did": "did:ixo:household/17", "type": "Household", "protocol": household, "externalIds": map[string]any{"erp": "E64"},
		}}, 201, nil)
		var file strings.Builder
		for i := range 160 {
			fmt.Fprintf(&file, `{"did":"did:ixo:household/%d","type":"Household","protocol":%q,"externalIds":{"erp":"E%d"}}`+"\n", i%150, household, i)
		}
		got := r.imported(t, r.upload(t, nil, ndjson, file.String()))
		if got.Status != job.CompletedWithErrors || got.Counts != (bulk.Counts{Total: 160, Done: 160, Created: 148, Refused: 12}) {
			t.Fatalf("import = %+v", got)
		}
		var stored, told []string
		for _, row := range r.report(t, got.Links.Rows) {
			i := int(row.Line) - 1
			code := ""
			switch {
			case i == 17 || i >= 150:
				code = "ENTITY_EXISTS"
			case i == 64:
				code = "EXTERNAL_ID_EXISTS"
			default:
				stored = append(stored, fmt.Sprint("did:ixo:household/", i))
			}
			if row.OK != (code == "") || !row.OK && row.Error.Code != code || row.DID != fmt.Sprint("did:ixo:household/", i%150) {
				t.Errorf("row %d = %+v, want %q", row.Line, row, code)
			}
		}
		page, err := r.log.Read(t.Context(), event.Query{Workspace: "w", After: 1, Limit: 1000})
		if err != nil {
			t.Fatal(err)
		}
		for _, it := range page.Items {
			told = append(told, it.Subject)
		}
		if diff := cmp.Diff(stored, told); diff != "" {
			t.Errorf("events (-rows +events):\n%s", diff)
		}
	})
}

// Twins of an atomic batch are stored together, in their order; the first one
// that is refused is named, and then none is stored.
func TestAtomicTogether(t *testing.T) {
	both(t, func(t *testing.T, r *rig) {
		ops := func(n int) []map[string]any {
			var out []map[string]any
			for i := range n {
				out = append(out, map[string]any{"op": "create", "entity": map[string]any{
					"did": fmt.Sprint("did:ixo:household/", i), "type": "Household", "protocol": household, "externalIds": map[string]any{"erp": fmt.Sprint("E", i)},
				}})
			}
			return out
		}
		send := func(list []map[string]any, key string, status int) string {
			t.Helper()
			return r.do(t, call{method: "POST", path: "/v1/entities:batch", header: map[string]string{"Idempotency-Key": key}, body: map[string]any{"atomic": true, "operations": list}}, status, nil).Body.String()
		}
		bad := ops(40)
		bad[23]["entity"].(map[string]any)["externalIds"] = map[string]any{"erp": "E3"}
		if got := send(bad, "k", 409); !strings.Contains(got, `"/operations/23/entity/externalIds/erp"`) || !strings.Contains(got, "EXTERNAL_ID_EXISTS") {
			t.Errorf("a batch with a name twice: %s", got)
		}
		if n := r.counts(t); n["entities"]+n["events"]+n["entity_externals"] != 0 {
			t.Errorf("rows = %v, want none", n)
		}
		good := append(ops(25), map[string]any{"op": "relate", "did": "$3", "relationship": map[string]any{"role": "neighbour", "target": "$4"}})
		good = append(good, ops(40)[25:]...)
		first := send(good, "k2", 200)
		if again := send(good, "k2", 200); again != first {
			t.Errorf("again: %s, first %s", again, first)
		}
		for i := range 25 {
			if want := fmt.Sprintf(`{"index":%d,"status":201,"did":"did:ixo:household/%d","etag":"\"1\""}`, i, i); !strings.Contains(first, want) {
				t.Errorf("%s is not in %s", want, first)
			}
		}
		if n := r.counts(t); n["entities"] != 40 || n["relationships"] != 1 || !strings.Contains(first, `"succeeded":41`) {
			t.Errorf("rows = %v of %s", n, first)
		}
	})
}
