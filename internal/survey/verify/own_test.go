package verify_test

import (
	"strconv"
	"strings"
	"testing"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
	"github.com/hearth-dmrv/hearth/internal/survey/surveytest"
	"github.com/hearth-dmrv/hearth/internal/survey/verify"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// correct corrects a response, and tells the status and the body of the answer.
func (v *env) correct(t testing.TB, who, id, reason string) (int, string) {
	t.Helper()
	w := v.Send(t, "ws "+who, "PATCH /v1/responses/"+id+"?reason="+reason, `{"responses":{"home":{"cost":`+strconv.Itoa(len(who))+`}}}`,
		"Content-Type", "application/merge-patch+json", "If-Match", web.ETag(v.state(t, id).Revision))
	return w.Code, w.Body.String()
}

// TestOwnWork: nobody decides about a content they wrote themselves, alone, as
// one of two reviewers, or about many at once; what they corrected before
// somebody else did stays theirs.
func TestOwnWork(t *testing.T) {
	t.Parallel()
	for _, reviewers := range []int{1, 2} {
		dbtest.Any(t, func(t *testing.T, d *db.DB) {
			v := newEnv(t, d)
			v.fill(t, "ws", reviewers, 2)
			if code, body := v.correct(t, "owner", "r0", ""); code != 200 {
				t.Fatalf("correct = %d %s", code, body)
			}
			refused := func(when string) {
				t.Helper()
				for _, to := range []string{"verified", "rejected", "flagged"} {
					if got := codeOf(v.decide(t, "owner", "r0", to)); got != "VERIFIER_IS_COLLECTOR" {
						t.Errorf("%s, %s = %q, want VERIFIER_IS_COLLECTOR", when, to, got)
					}
				}
				out := v.bulk(t, "owner", verify.Bulk{Draft: verify.Draft{Status: "verified"}, Responses: v.named(t, "r0")})
				if out.Refused != 1 || out.Items[0].Code != "VERIFIER_IS_COLLECTOR" {
					t.Errorf("%s, many at once = %+v", when, out)
				}
			}
			refused("right after the correction")
			if err := v.decide(t, "vera", "r0", "in_review"); err != nil {
				t.Fatal(err)
			}
			refused("after somebody looked at it")
			if reviewers == 2 {
				if err := v.decide(t, "vera", "r0", "verified"); err != nil {
					t.Fatal(err)
				}
				refused("as the second")
			}
			if code, body := v.correct(t, "ann", "r0", ""); code != 200 {
				t.Fatalf("correct = %d %s", code, body)
			}
			refused("after another correction")
			if err := v.decide(t, "vera", "r0", "verified"); err != nil {
				t.Errorf("somebody else: %v", err)
			}
			if err := v.decide(t, "owner", "r1", "verified"); err != nil {
				t.Errorf("another response: %v", err)
			}
		})
	}
}

// TestVerifiedNeedsAReason to be corrected, and is pending then.
func TestVerifiedNeedsAReason(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		v := newEnv(t, d)
		v.fill(t, "ws", 1, 1)
		if err := v.decide(t, "vera", "r0", "verified"); err != nil {
			t.Fatal(err)
		}
		for _, reason := range []string{"", "%20"} {
			code, body := v.correct(t, "owner", "r0", reason)
			if code != 400 || !strings.Contains(body, "INVALID_PARAMETER") || !strings.Contains(body, `"query/reason"`) {
				t.Errorf("without a reason = %d %s, want 400 that names it", code, body)
			}
		}
		if s := v.state(t, "r0"); s.Verification.Status != "verified" {
			t.Errorf("status = %s, want it untouched", s.Verification.Status)
		}
		if code, body := v.correct(t, "owner", "r0", "called"); code != 200 {
			t.Errorf("with a reason = %d %s", code, body)
		}
		if s := v.state(t, "r0"); s.Verification.Status != "pending" {
			t.Errorf("status = %s, want pending", s.Verification.Status)
		}
	})
}

// TestArchivedIsFinal: nothing is decided any more.
func TestArchivedIsFinal(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		v := newEnv(t, d)
		v.fill(t, "ws", 1, 1)
		for _, step := range []string{"close", "archive"} {
			v.Must(t, "ws owner", "POST /v1/surveys/s/"+step, `{"reason":"test"}`, nil)
		}
		if got := codeOf(v.decide(t, "vera", "r0", "verified")); got != "SURVEY_ARCHIVED" {
			t.Errorf("decide = %q, want SURVEY_ARCHIVED", got)
		}
		out := v.bulk(t, "vera", verify.Bulk{Draft: verify.Draft{Status: "verified"}, Responses: v.named(t, "r0")})
		if out.Refused != 1 || out.Items[0].Code != "SURVEY_ARCHIVED" {
			t.Errorf("bulk = %+v, want it refused", out)
		}
		s, err := v.s.Get(surveytest.As(t.Context(), "ws", "vera"), "r0")
		if err != nil || len(s.Value.Allowed) != 0 {
			t.Errorf("allowed = %+v, %v, want nothing", s.Value, err)
		}
	})
}
