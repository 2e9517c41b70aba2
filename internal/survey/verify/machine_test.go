package verify_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/hearth-dmrv/hearth/internal/survey/verify"
)

// allowed is the machine once more, from the table of the plan: what a decision
// may do in each state.
var allowed = map[string]string{
	"pending":          "in_review needs_correction flagged verified rejected",
	"in_review":        "pending needs_correction flagged verified rejected",
	"needs_correction": "rejected",
	"flagged":          "in_review needs_correction verified rejected",
	"verified":         "disputed invalidated",
	"rejected":         "pending disputed",
	"disputed":         "verified rejected invalidated",
	"invalidated":      "",
	"superseded":       "",
}

// Every state against every state, those that stay what they are too.
func TestMachine(t *testing.T) {
	t.Parallel()
	if len(verify.States()) != len(allowed) {
		t.Errorf("%d states, want %d", len(verify.States()), len(allowed))
	}
	for _, from := range verify.States() {
		want := strings.Fields(allowed[from])
		for _, to := range verify.States() {
			if got := slices.Contains(verify.Allowed(from), to); got != slices.Contains(want, to) {
				t.Errorf("%s to %s allowed = %v", from, to, got)
			}
			code := ""
			_, err := verify.Decide(verify.Row(from, "complete", 0, ""), verify.Draft{Status: to, Reason: "why"}, []string{"did:key:vera"}, 1)
			if !slices.Contains(want, to) {
				code = "STATE_TRANSITION_INVALID"
			}
			if got := codeOf(err); got != code {
				t.Errorf("%s to %s = %q (%v), want %q", from, to, got, err, code)
			}
			if code != "" && !strings.Contains(err.Error(), from+" cannot become "+to) {
				t.Errorf("%s to %s: %v does not name both", from, to, err)
			}
		}
	}
}

// The same verdict again with another reason is told from a move that is not
// there.
func TestDecideTwice(t *testing.T) {
	t.Parallel()
	_, err := verify.Decide(verify.Row("verified", "complete", 1, "did:key:vera"), verify.Draft{Status: "verified", Reason: "called twice"}, []string{"did:key:vera"}, 1)
	if codeOf(err) != "STATE_TRANSITION_INVALID" || !strings.Contains(err.Error(), "You already made this response verified, with another reason") {
		t.Errorf("verified twice: %v, want the earlier verdict named", err)
	}
}

func TestDecide(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, from, status string
		reviews            int64
		verifier           string // of the row
		to, reason         string
		by                 string
		reviewers          int
		want, code         string
		count              int64
	}{
		{"one reviewer", "pending", "complete", 0, "", "verified", "", "vera", 1, "verified", "", 1},
		{"no policy", "pending", "complete", 0, "", "verified", "", "vera", 0, "verified", "", 1},
		{"first of two", "pending", "complete", 0, "", "verified", "", "vera", 2, "in_review", "", 1},
		{"second of two", "in_review", "complete", 1, "vera", "verified", "", "vito", 2, "verified", "", 2},
		{"the same again", "in_review", "complete", 1, "vera", "verified", "", "vera", 2, "", "SECOND_REVIEWER_REQUIRED", 0},
		{"looked at before, not approved", "in_review", "complete", 0, "vera", "verified", "", "vera", 2, "in_review", "", 1},
		{"another word takes the approval back", "in_review", "complete", 1, "vera", "flagged", "", "vito", 2, "flagged", "", 0},
		{"a dispute needs two again", "disputed", "complete", 0, "vera", "verified", "", "vito", 2, "disputed", "", 1},
		{"and has them", "disputed", "complete", 1, "vito", "verified", "", "vera", 2, "verified", "", 2},
		{"one may reject", "in_review", "complete", 1, "vera", "rejected", "why", "vera", 2, "rejected", "", 0},
		{"collector", "pending", "complete", 0, "", "verified", "", "ann", 1, "", "VERIFIER_IS_COLLECTOR", 0},
		{"collector cannot reject", "pending", "complete", 0, "", "rejected", "why", "ann", 1, "", "VERIFIER_IS_COLLECTOR", 0},
		{"sender", "pending", "complete", 0, "", "verified", "", "sam", 1, "", "VERIFIER_IS_COLLECTOR", 0},
		{"partial", "pending", "partial", 0, "", "verified", "", "vera", 1, "", "RESPONSE_NOT_VERIFIABLE", 0},
		{"partial sent back", "pending", "partial", 0, "", "needs_correction", "why", "vera", 1, "needs_correction", "", 0},
		{"partial rejected", "pending", "partial", 0, "", "rejected", "why", "vera", 1, "rejected", "", 0},
		{"redacted", "pending", "redacted", 0, "", "rejected", "why", "vera", 1, "", "RESPONSE_NOT_VERIFIABLE", 0},
		{"opened again", "rejected", "complete", 0, "vera", "pending", "new facts", "vito", 1, "pending", "", 0},
		{"opened again without a reason", "rejected", "complete", 0, "vera", "pending", " ", "vito", 1, "", "VERIFICATION_INVALID", 0},
		{"released without a reason", "in_review", "complete", 0, "vera", "pending", "", "vito", 1, "pending", "", 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			last := ""
			if tt.verifier != "" {
				last = "did:key:" + tt.verifier
			}
			m, err := verify.Decide(verify.Row(tt.from, tt.status, tt.reviews, last), verify.Draft{Status: tt.to, Reason: tt.reason}, []string{"did:key:" + tt.by}, tt.reviewers)
			if got := codeOf(err); got != tt.code {
				t.Fatalf("code = %q (%v), want %q", got, err, tt.code)
			}
			if err == nil && (m.To != tt.want || m.Reviews != tt.count) {
				t.Errorf("move = %+v, want %s with %d", m, tt.want, tt.count)
			}
		})
	}
}
