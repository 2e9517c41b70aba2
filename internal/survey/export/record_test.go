package export_test

import (
	"strings"
	"testing"
)

// TestRowsLeadToRecords: who finds a strange row in a file without names can
// read the response, and learns no more about the household than before.
func TestRowsLeadToRecords(t *testing.T) {
	rule(t, func(t *testing.T, r *rig) {
		r.start(t)
		r.answer(t, "amina-1", 1, `{"size":4,"phone":"+254700"}`)
		full := r.table(t, "mia", `{"format":"csv","pii":"full"}`)[0]
		for _, level := range []string{"none", "pseudonymised"} {
			row := r.table(t, "auditor", `{"format":"csv","pii":"`+level+`"}`)[0]
			id := row["responseId"]
			if id != full["recordId"] || !strings.HasPrefix(id, "rec~") {
				t.Fatalf("%s: the row is %q, in the full file it is %q", level, id, full["recordId"])
			}
			var got struct {
				RecordID      string `json:"recordId"`
				HouseholdID   string `json:"householdId"`
				Pseudonymised bool   `json:"pseudonymised"`
			}
			r.do(t, "auditor GET /v1/responses/"+id, "", 200, &got)
			if got.RecordID != id || !got.Pseudonymised || got.HouseholdID != r.vault.Pseudonyms("ws", "did:ixo:project/one")("did:ixo:household/1") {
				t.Errorf("%s: the record is %+v", level, got)
			}
			r.do(t, "auditor GET /v1/responses/"+id+"/history", "", 200, nil)
			r.do(t, "elsewhere GET /v1/responses/"+id, "", 404, nil)
			if w := r.send(t, "auditor", "GET /v1/responses/"+id, "", "Authorization", "Bearer other owner"); w.Code != 404 {
				t.Errorf("in another workspace it is %d %s", w.Code, w.Body)
			}
		}
		for _, id := range []string{"rec~1", "rec~0", "rec~x", "rec~"} {
			r.do(t, "auditor GET /v1/responses/"+id, "", 404, nil)
		}
		// No client can take the place of a record.
		r.do(t, "owner POST /v1/surveys/s/responses", `{"responseId":"`+full["recordId"]+`","householdId":"did:ixo:household/2","timestamp":"2026-03-02T09:00:00Z","responses":{}}`, 400, nil)
	})
}
