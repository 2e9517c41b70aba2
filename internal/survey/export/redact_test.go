package export_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/survey"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// TestRedactedLeavesNoFile: what was taken out of a response is in no file of
// an export of its survey.
func TestRedactedLeavesNoFile(t *testing.T) {
	rule(t, func(t *testing.T, r *rig) {
		r.answer(t, "r1", 1, `{"size":1,"phone":"secret-1."}`)
		r.start(t)
		old := r.export(t, "owner", `{"format":"csv","pii":"full"}`)
		if b := r.file(t, "owner", old); !strings.Contains(string(b), "secret-1.") {
			t.Fatalf("file = %s", b)
		}
		if err := r.ForgetSurvey(t.Context(), &survey.Open{Workspace: "ws", NID: 1}); err != nil { // another one
			t.Fatal(err)
		}
		r.file(t, "owner", old)
		ctx := web.WithCaller(t.Context(), callerOf("ws", "owner"))
		if _, err := r.rs.Redact(ctx, "r1", "*", "asked for"); err != nil {
			t.Fatal(err)
		}
		r.do(t, "owner GET "+old.Links.Self+"/file", "", 404, nil)
	})
}

// TestFilterOfWhoSeesNames: a filter cannot be asked which name a household
// has.
func TestFilterOfWhoSeesNames(t *testing.T) {
	rule(t, func(t *testing.T, r *rig) {
		r.answer(t, "r1", 1, `{"size":1}`)
		r.start(t)
		name := r.vault.Pseudonyms("ws", "did:ixo:project/one")("did:ixo:household/1")
		for _, tt := range []struct{ role, value, want string }{
			{"auditor", "did:ixo:household/1", ""}, {"auditor", name, name}, {"owner", "did:ixo:household/1", name}, {"owner", name, ""},
		} {
			if got := column(r.table(t, tt.role, `{"format":"csv","filter":"eq(householdId,\"`+tt.value+`\")"}`), "householdId"); got != tt.want {
				t.Errorf("%s asks for %s = %q, want %q", tt.role, tt.value, got, tt.want)
			}
		}
	})
}

// TestErasedWithoutPersonalAnswers: a read and a file say alike that a household
// was erased, also when nothing of it was marked as personal.
func TestErasedWithoutPersonalAnswers(t *testing.T) {
	rule(t, func(t *testing.T, r *rig) {
		ctx := t.Context()
		for i := range 2 {
			r.do(t, "owner POST /v1/surveys/s/responses", fmt.Sprintf(`{"responseId":"r%d","householdId":"did:ixo:household/%d","timestamp":"2026-02-20T10:00:00Z",
				"responses":{"consent":{"ok":true},"home":{"size":1}}}`, i, i), 201, nil)
		}
		r.start(t)
		err := r.db.InTx(ctx, func(tx *db.Tx) error {
			_, err := r.rs.Erase(ctx, tx, "ws", "did:ixo:household/1")
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		for i, row := range r.table(t, "owner", `{"format":"csv","pii":"full"}`) {
			var read struct {
				Erased bool `json:"erased"`
			}
			r.do(t, fmt.Sprintf("owner GET /v1/responses/r%d", i), "", 200, &read)
			if read.Erased != (i == 1) || row["erased"] != strconv.FormatBool(read.Erased) || row["home.size"] != "1" {
				t.Errorf("r%d: read %v, file %v", i, read.Erased, row)
			}
		}
	})
}
