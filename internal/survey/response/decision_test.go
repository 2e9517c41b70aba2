package response_test

import (
	"strings"
	"testing"
	"time"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
	"github.com/hearth-dmrv/hearth/internal/survey/response"
)

// decided is a draft with a decision of somebody.
func decided(id string, household int, status, verifier, reason string) *response.Draft {
	d := draft(id, household)
	d.Verification = &response.Verification{Status: status, Verifier: verifier, Timestamp: d.Timestamp.Add(time.Hour), Reason: reason}
	return d
}

// TestWhoMayImportADecision: nobody puts words into the mouth of a third.
func TestWhoMayImportADecision(t *testing.T) {
	t.Parallel()
	v := newEnv(t, dbtest.SQLite(t))
	v.start(t, homeSurvey)
	for i, tt := range []struct{ role, status, verifier, reason, code, fields string }{
		{"ann", "verified", "did:key:zoe", "", "SCOPE_MISSING", "/verification scope_missing"},
		{"vera", "verified", "did:key:zoe", "", "SCOPE_MISSING", "/verification/verifier scope_missing"},
		{"vera", "verified", "did:key:vera", "", "VERIFIER_IS_COLLECTOR", "/verification/verifier collector"}, // she sends it
		{"importer", "verified", "did:key:zoe", "", "", ""},
		{"importer", "rejected", "did:key:zoe", " ", "RESPONSE_INVALID", "/verification/reason required"},
		{"importer", "disputed", "did:key:zoe", "", "RESPONSE_INVALID", "/verification/reason required"},
		{"importer", "rejected", "did:key:zoe", strings.Repeat("x", 1001), "RESPONSE_INVALID", "/verification/reason too_long"},
		{"importer", "rejected", "did:key:zoe", "Nobody lives there.", "", ""},
		{"owner", "flagged", "did:key:zoe", "", "", ""},
	} {
		_, err := v.s.Submit(as(t, tt.role), "s", decided("r"+string(rune('a'+i)), i+1, tt.status, tt.verifier, tt.reason))
		want(t, tt.role+" "+tt.status+" by "+tt.verifier, err, tt.code)
		if got := codes(err); got != tt.fields {
			t.Errorf("%s: %s, want %s", tt.role, got, tt.fields)
		}
	}
}

// TestImportedDecisionsAreMarked: whoever reads a response sees that its
// decision came from elsewhere, until somebody decides here.
func TestImportedDecisionsAreMarked(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		v := newEnv(t, d)
		v.start(t, homeSurvey)
		got := v.submit(t, "importer", decided("r1", 1, "rejected", "did:key:zoe", "Nobody lives there."))
		for _, r := range []*response.Record{got, v.get(t, "owner", "r1")} {
			if x := r.Verification; !x.Imported || x.ImportedBy != "did:key:importer" || x.Verifier != "did:key:zoe" {
				t.Errorf("verification = %+v, want it marked as imported", x)
			}
		}
		var reason string
		if err := d.QueryRow(t.Context(), `SELECT reason FROM response_decisions`).Scan(&reason); err != nil || reason != "Nobody lives there." {
			t.Errorf("reason = %q, %v", reason, err)
		}
		if _, err := v.s.Correct(as(t, "owner"), "r1", patch("*", `{"responses":{"home":{"size":6}}}`)); err != nil {
			t.Fatal(err)
		}
		if x := v.get(t, "owner", "r1").Verification; x.Imported || x.ImportedBy != "" {
			t.Errorf("verification after a correction = %+v", x)
		}
		r, err := v.s.At(as(t, "reader"), "r1", "1")
		if err != nil {
			t.Fatal(err)
		}
		if x := record(t, r.Raw).Verification; !x.Imported || !strings.HasPrefix(x.ImportedBy, "pe_") || x.Verifier != "did:key:zoe" {
			t.Errorf("verification of the first revision = %+v, want it imported by a name", x)
		}
	})
}

// TestDecisionForWhatIsStored: a decision that comes with a response that is
// stored is not made, and the answer says so.
func TestDecisionForWhatIsStored(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		v := newEnv(t, d)
		v.start(t, homeSurvey)
		v.submit(t, "importer", draft("r1", 1))
		again := v.submit(t, "importer", decided("r1", 1, "verified", "did:key:zoe", ""))
		if len(again.Warnings) != 1 || again.Warnings[0].Pointer != "/verification" || again.Warnings[0].Code != "verification_ignored" || again.Verification.Status != "pending" {
			t.Errorf("answer = %+v, want a warning", again)
		}
		v.submit(t, "importer", decided("r2", 2, "verified", "did:key:zoe", ""))
		for range 2 {
			if r := v.submit(t, "importer", decided("r2", 2, "verified", "did:key:zoe", "")); r.Warnings != nil {
				t.Errorf("a repeated request = %+v, want no warning", r.Warnings)
			}
			v.move(t, "s", "close") // then it is answered by another way
			if r := v.submit(t, "importer", decided("r1", 1, "verified", "did:key:zoe", "")); len(r.Warnings) != 1 {
				t.Errorf("answer after the end = %+v, want a warning", r)
			}
			v.move(t, "s", "reopen")
		}
		if r := v.get(t, "importer", "r1"); r.Warnings != nil {
			t.Errorf("a read has warnings %v", r.Warnings)
		}
	})
}

// TestArchivedSurveyIsNotCorrected, and still lets people be forgotten.
func TestArchivedSurveyIsNotCorrected(t *testing.T) {
	t.Parallel()
	v := newEnv(t, dbtest.SQLite(t))
	v.start(t, homeSurvey)
	v.submit(t, "ann", draft("r1", 1))
	v.move(t, "s", "close")
	if _, err := v.s.Correct(as(t, "ann"), "r1", patch("*", `{"responses":{"home":{"size":6}}}`)); err != nil {
		t.Errorf("correct in a closed survey: %v", err)
	}
	v.move(t, "s", "archive")
	_, err := v.s.Correct(as(t, "owner"), "r1", patch("*", `{"responses":{"home":{"size":7}}}`))
	want(t, "correct in an archived survey", err, "SURVEY_ARCHIVED")
	_, err = v.s.Redact(as(t, "owner"), "r1", "*", "asked for")
	want(t, "redact in an archived survey", err, "")
	if v.redacted != 1 {
		t.Errorf("copies were dropped %d times, want once", v.redacted)
	}
}
