package bulk_test

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
)

// A dry run says of a row that repeats the twin of an earlier one what the real
// run says: that it changes nothing, or makes the twin because the earlier row
// was refused. Rows may be far apart.
func TestDryRunOfRepeats(t *testing.T) {
	rule(t, func(t *testing.T, r *rig) {
		r.start(t)
		home := func(who string, size int, more string) string {
			return fmt.Sprintf(`{"type":"Household","protocol":%q,"properties":{"size":%d},%s%s}`, household, size, who, more)
		}
		r.do(t, call{method: "POST", path: "/v1/entities", body: map[string]any{"type": "Household", "protocol": household, "externalIds": map[string]any{"crm": "of another"}}}, 201, nil)
		const wrong = `,"externalIds":{"crm":"of another"}`
		first := []string{
			home(`"did":"did:ixo:home/1"`, 3, ""), home(`"externalIds":{"erp":"E2"}`, 3, ""), home(`"did":"did:ixo:home/3"`, 3, wrong),
			home(`"did":"did:ixo:home/4"`, 3, ""), home(`"did":"did:ixo:home/5"`, 3, wrong), home(`"did":"did:ixo:home/6"`, 3, `,"externalIds":{"erp":"E6"}`),
		}
		again := []string{
			first[0], first[1], home(`"did":"did:ixo:home/3"`, 4, ""), home(`"did":"did:ixo:home/3"`, 4, ""),
			home(`"did":"did:ixo:home/4"`, 5, ""), first[3], first[3], first[4], home(`"did":"did:ixo:home/5"`, 5, wrong),
			home(`"externalIds":{"erp":"E6"}`, 4, ""), first[5], first[5],
			home(`"did":"did:ixo:home/7"`, 3, `,"relationships":[{"role":"neighbour","target":"did:ixo:home/5"}]`),
		}
		var other []string
		for i := range 120 { // more than are stored together
			other = append(other, home(fmt.Sprintf(`"externalIds":{"erp":"other%d"}`, i), 3, ""))
		}
		for name, lines := range map[string][]string{"near": slices.Concat(first, again), "far": slices.Concat(first, other, again)} {
			file := strings.NewReplacer("home/", name+"/", `"E`, `"`+name, `"other`, `"other-`+name).Replace(strings.Join(lines, "\n"))
			for _, held := range []bool{false, true} { // the twins are there when the file comes again
				dry, wet := r.actions(t, "true", file), r.actions(t, "false", file)
				if name == "near" && !held && (!strings.HasSuffix(wet[2], "EXTERNAL_ID_EXISTS\n") || wet[8] != "9 created \n" || wet[9] != "10 unchanged \n") {
					t.Errorf("the file does not show what it is to show: %q", wet)
				}
				if diff := gocmp.Diff(dry, wet); diff != "" {
					t.Errorf("%s, held %v: (-dry +real):\n%s", name, held, diff)
				}
			}
		}
	})
}

// actions upserts a file and lists what became of its rows.
func (r *rig) actions(t *testing.T, dry, file string) []string {
	t.Helper()
	in := r.imported(t, r.upload(t, url.Values{"dryRun": {dry}, "mode": {"upsert"}}, ndjson, file))
	var out []string
	for _, row := range r.report(t, in.Links.Rows) {
		code := ""
		if row.Error != nil {
			code = row.Error.Code
		}
		out = append(out, fmt.Sprintln(row.Line, row.Action, code))
	}
	return out
}
