package intake_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/hearth-dmrv/hearth/api"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// A report is read by others than the importer: it shows nothing that is stored,
// and not which pictures are whose.
func TestReportWithholds(t *testing.T) {
	both(t, func(t *testing.T, r *rig) {
		r.survey(t, "ws", strings.Replace(plot, `{"id":"members",`, `{"id":"nickname","type":"text","pii":"direct"},{"id":"members",`, 1))
		r.start(t)
		const head = "responseId,householdId,timestamp,consent.agreed,home.members,home.nickname,home.photo\n"
		const when = ",2026-02-20T10:00:00Z,true,4,"
		photo := strings.Repeat("ab", 32)
		first, rows := r.load(t, "ws owner", "format=csv", []byte(head+"r1,did:ixo:household/1"+when+"Zawadi,sha256:"+photo+"\n"))
		if first.Counts.Created != 1 || !slices.Equal(rows[0].MissingAttachments, []string{photo}) {
			t.Fatalf("first: %+v %+v %+v", first.Counts, first.Errors, rows)
		}
		second, _ := r.load(t, "ws owner", "format=csv", []byte(head+"r1,did:ixo:household/1"+when+"Other,\nr2,did:ixo:household/1"+when+"Other,\n"))
		if second.Counts.Refused != 2 {
			t.Fatalf("second: %+v", second.Counts)
		}
		for _, role := range []string{"owner", "auditor"} {
			w := r.do(t, "ws "+role+" GET "+second.Links.Rows, "", 200, nil)
			for _, secret := range []string{"Zawadi", "Other", photo, "Stored:", "/v1/responses/r1\"", `name it: `} {
				if strings.Contains(w.Body.String(), secret) {
					t.Errorf("%s reads %q in %s", role, secret, w.Body)
				}
			}
			for _, want := range []string{"RESPONSE_CONFLICT", "/responses/home/nickname", `"differs"`, "DUPLICATE_HOUSEHOLD_RESPONSE"} {
				if !strings.Contains(w.Body.String(), want) {
					t.Errorf("%s: no %s in %s", role, want, w.Body)
				}
			}
		}
		var data string
		if err := r.db.QueryRow(t.Context(), `SELECT data FROM transfer_rows WHERE job = $1 AND line = 2`, second.ID).Scan(&data); err != nil || strings.Contains(data, "Zawadi") {
			t.Errorf("stored: %s, %v", data, err)
		}
		var page web.Page[api.ResponseImportRow]
		r.do(t, "ws auditor GET "+first.Links.Rows, "", 200, &page)
		if len(page.Items) != 1 || page.Items[0].ResponseID != "" || page.Items[0].MissingAttachments != nil {
			t.Errorf("the auditor reads %+v", page.Items)
		}
		r.do(t, "ws reader GET "+first.Links.Rows, "", 403, nil)
		r.do(t, "ws reader GET "+first.Links.Self, "", 403, nil)
	})
}
