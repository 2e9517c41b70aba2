package export_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/hearth-dmrv/hearth/internal/db"
)

// TestWhatWasFound: a file says which checks have flagged a response, of which
// survey it is and of which version of the template.
func TestWhatWasFound(t *testing.T) {
	rule(t, func(t *testing.T, r *rig) {
		r.start(t)
		for i := range 5 {
			r.answer(t, fmt.Sprintf("r%d", i), i, `{"size":4}`)
		}
		ctx := t.Context()
		err := r.db.InTx(ctx, func(tx *db.Tx) error {
			for _, f := range [][2]string{{"r1", "b"}, {"r1", "a"}, {"r3", "a"}} {
				for _, question := range []string{"", "/responses/home/size"} {
					if _, err := tx.Exec(ctx, `INSERT INTO response_flags (response, rule, question, survey, source, at, data)
						SELECT nid, $2, $3, survey, 'test', 1, '{}' FROM responses WHERE response_id = $1`, f[0], f[1], question); err != nil {
						return err
					}
				}
			}
			_, err := tx.Exec(ctx, `UPDATE responses SET flags = 2 WHERE response_id = 'r1' OR response_id = 'r3'`)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		got := r.table(t, "owner", `{"format":"csv","pii":"full"}`)
		var found []string
		for _, m := range got {
			found = append(found, m["responseId"]+":"+m["flagRules"])
			if m["surveyId"] != "s" || m["templateVersion"] != "1" {
				t.Errorf("row = %v, want survey s and version 1", m)
			}
		}
		if all := strings.Join(found, " "); all != "r0:low_completeness r1:a;b;low_completeness r2:low_completeness r3:a;low_completeness r4:low_completeness" {
			t.Errorf("flags = %s", all)
		}
	})
}
