package claim

import (
	"testing"

	"github.com/hearth-dmrv/hearth/internal/entity/rubric"
	"github.com/hearth-dmrv/hearth/internal/entity/verdict"
	"github.com/hearth-dmrv/hearth/internal/fault"
)

// TestNobodyApprovesWhatTheRubricDoesNot: leaving facts out gains nobody anything.
func TestNobodyApprovesWhatTheRubricDoesNot(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, hash string
		outcome    rubric.Outcome
		reason     string
		status     string
		refused    bool
	}{
		{"no rubric", "", rubric.Manual, rubric.NoRule, verdict.Verified, false},
		{"a rule that asks people", "h", rubric.Manual, "ODD", verdict.Verified, false},
		{"a fact is missing", "h", rubric.Manual, rubric.Undecided, verdict.Verified, true},
		{"no rule holds", "h", rubric.Manual, rubric.NoRule, verdict.Verified, true},
		{"the amount is none", "h", rubric.Manual, rubric.BadAmount, verdict.Verified, true},
		{"a fact is missing, and it is rejected", "h", rubric.Manual, rubric.Undecided, verdict.Rejected, false},
		{"approved", "h", rubric.Approved, "IN_USE", verdict.Verified, false},
		{"approved, and it is rejected", "h", rubric.Approved, "IN_USE", verdict.Rejected, true},
		{"rejected, and it is verified", "h", rubric.Rejected, "SOLD", verdict.Verified, true},
	} {
		d := &decision{Decision: rubric.Decision{Outcome: tt.outcome, ReasonCode: tt.reason}, hash: tt.hash}
		if got := fault.CodeOf(d.allows(tt.status)) == "RUBRIC_DECIDES"; got != tt.refused {
			t.Errorf("%s: refused is %t, want %t", tt.name, got, tt.refused)
		}
	}
}
