package response_test

import (
	"strings"
	"testing"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
	"github.com/hearth-dmrv/hearth/internal/survey/response"
)

// TestPatchOfNothing: a correction that changes nothing makes no revision, one
// that takes out what makes the response this one is refused, and who may not
// read an answer cannot tell by either whether it was guessed.
func TestPatchOfNothing(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		v := newEnv(t, d)
		v.start(t, homeSurvey)
		v.submit(t, "ann", draft("old", 1))
		one := draft("r1", 1, `home.phone="0700"`)
		one.Supersedes, one.DeviceID = "old", "tablet"
		v.submit(t, "ann", one)
		revision := int64(1)
		for _, tt := range []struct {
			role, patch string
			status      int
			more        int64 // revisions
			word        string
		}{
			{"ann", `{}`, 200, 0, ""},
			{"ann", `[]`, 200, 0, ""},
			{"editor", `{}`, 200, 0, ""},
			{"mia", `{"responses":{"home":{"size":4,"phone":"0700"}}}`, 200, 0, ""},
			{"ann", `{"responses":{"home":{"size":4}},"supersedes":"old"}`, 200, 0, ""},
			{"ann", `{"language":null,"verification":null}`, 200, 0, ""},
			{"ann", `[{"op":"test","path":"/surveyId","value":"s"}]`, 200, 0, ""},
			{"ann", `{"responseId":null}`, 400, 0, `"/responseId","code":"read_only"`},
			{"ann", `{"surveyId":null}`, 400, 0, `"/surveyId","code":"read_only"`},
			{"ann", `{"householdId":null}`, 400, 0, `"/householdId","code":"read_only"`},
			{"ann", `{"round":null}`, 400, 0, `"/round","code":"read_only"`},
			{"ann", `{"collector":null}`, 400, 0, `"/collector","code":"read_only"`},
			{"editor", `[{"op":"remove","path":"/collector"}]`, 400, 0, `"/collector","code":"read_only"`},
			{"mia", `{"supersedes":null}`, 400, 0, `"/supersedes","code":"read_only"`},
			{"mia", `{"supersedes":"other"}`, 400, 0, `"/supersedes","code":"read_only"`},
			// What they cannot read is changed, right or wrong.
			{"ann", `{"responses":{"home":{"phone":"0700"}}}`, 200, 1, ""},
			{"editor", `[{"op":"add","path":"/responses/home/phone","value":"0700"}]`, 200, 1, ""},
			{"editor", `{"deviceId":"tablet"}`, 200, 1, ""},
			{"ann", `{"responses":{"home":{"phone":null}}}`, 200, 1, ""},
			{"ann", `{"responses":{"home":{"size":5}}}`, 200, 1, ""},
		} {
			kind := "application/merge-patch+json"
			if strings.HasPrefix(tt.patch, "[") {
				kind = "application/json-patch+json"
			}
			w := v.send(t, tt.role, "PATCH /v1/responses/r1", tt.patch, "Content-Type", kind, "If-Match", "*")
			revision += tt.more
			if is := v.get(t, "mia", "r1").Revision; w.Code != tt.status || !strings.Contains(w.Body.String(), tt.word) || is != revision {
				t.Errorf("%s %s = %d %s, revision %d, want %d %s, %d", tt.role, tt.patch, w.Code, w.Body, is, tt.status, tt.word, revision)
				revision = is
			}
		}
		w := v.send(t, "ann", "PATCH /v1/responses/r1", `{}`, "Content-Type", "application/merge-patch+json", "If-Match", "*")
		if got := w.Header().Get("ETag"); got != `"6"` {
			t.Errorf("ETag = %s, want that of revision 6", got)
		}
	})
}

// TestLockedSaysHow: who cannot change a response is told who can, or what to do
// instead.
func TestLockedSaysHow(t *testing.T) {
	t.Parallel()
	v := newEnv(t, dbtest.SQLite(t))
	v.start(t, homeSurvey)
	v.submit(t, "ann", draft("old", 1))
	next := draft("next", 1)
	next.Supersedes = "old"
	v.submit(t, "ann", next)
	verified := draft("verified", 2)
	verified.Verification = &response.Verification{Status: "verified", Verifier: "did:key:vera", Timestamp: verified.Timestamp}
	verified.Collector = "did:key:ann"
	v.submit(t, "owner", verified)
	v.submit(t, "ann", draft("gone", 3))
	if w := v.send(t, "ann", "DELETE /v1/responses/gone?reason=asked", "", "If-Match", "*"); w.Code != 200 {
		t.Fatalf("redact = %d %s", w.Code, w.Body)
	}
	for id, word := range map[string]string{"old": "supersededBy", "verified": "surveys:write", "gone": "send a new response"} {
		w := v.send(t, "ann", "PATCH /v1/responses/"+id, `{"responses":{"home":{"size":9}}}`, "Content-Type", "application/merge-patch+json", "If-Match", "*")
		if w.Code != 409 || !strings.Contains(w.Body.String(), "RESPONSE_LOCKED") || !strings.Contains(w.Body.String(), word) {
			t.Errorf("%s = %d %s, want RESPONSE_LOCKED that says %s", id, w.Code, w.Body, word)
		}
	}
}

// TestHistoryTellsNoRequest to who may not know who sent a response: other events
// of the same request name them.
func TestHistoryTellsNoRequest(t *testing.T) {
	t.Parallel()
	v := newEnv(t, dbtest.SQLite(t))
	v.start(t, homeSurvey)
	w := v.send(t, "ann", "POST /v1/surveys/s/responses", `{"responseId":"r1","householdId":"did:ixo:household/1","timestamp":"2026-02-20T10:00:00Z",
		"responses":{"consent":{"ok":true},"home":{"size":4}}}`)
	if w.Code != 201 {
		t.Fatalf("submit = %d %s", w.Code, w.Body)
	}
	if _, err := v.d.Exec(t.Context(), `UPDATE responses SET rev_request = 'request-1'`); err != nil {
		t.Fatal(err)
	}
	for role, told := range map[string]bool{"mia": true, "ann": true, "reader": false, "vera": false, "editor": false} {
		text := v.send(t, role, "GET /v1/responses/r1/history", "").Body.String()
		if !strings.Contains(text, `"submitted"`) || strings.Contains(text, "request-1") != told {
			t.Errorf("%s reads %s, want the request: %t", role, text, told)
		}
	}
}
