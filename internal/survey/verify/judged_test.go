package verify_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
	"github.com/hearth-dmrv/hearth/internal/survey/response"
	"github.com/hearth-dmrv/hearth/internal/survey/surveytest"
	"github.com/hearth-dmrv/hearth/internal/survey/verify"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// of is a decision about a revision of a response.
func (v *env) of(t testing.TB, who, id string, revision int64, d verify.Draft) (*verify.State, error) {
	t.Helper()
	r, err := v.s.Decide(surveytest.As(t.Context(), "ws", who), id, web.Judged{Revision: &revision}, d)
	return r.Value, err
}

// What others decide about a response is no hindrance to whoever has read it
// before; what is corrected in it is, whatever was decided since.
func TestDecisionNamesWhatItJudged(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		v := newEnv(t, d)
		v.fill(t, "ws", 2, 1)
		approve := verify.Draft{Status: response.Verified}
		for i, who := range []string{"vera", "vera", "vito", "vera", "vito"} {
			s, err := v.of(t, who, "r0", 1, approve)
			if err != nil {
				t.Fatalf("%d. %s: %v", i, who, err)
			}
			if want := int64(1 + s.Verification.Reviews); s.Revision != want || len(s.Decisions) != s.Verification.Reviews || s.Decisions[0].Judged != 1 {
				t.Errorf("%d. %s: revision %d with %+v, want %d", i, who, s.Revision, s.Decisions, want)
			}
		}
		// A dispute is not settled by a request that comes twice.
		if _, err := v.of(t, "zoe", "r0", 1, verify.Draft{Status: response.Disputed, Reason: "not their house"}); err != nil {
			t.Fatal(err)
		}
		if s, err := v.of(t, "vera", "r0", 1, approve); err != nil || s.Verification.Status != response.Disputed {
			t.Errorf("after a dispute = %+v, %v", s, err)
		}
		if s, err := v.of(t, "vera", "r0", 4, approve); err != nil || s.Verification.Reviews != 1 || s.Verification.Status != response.Disputed {
			t.Errorf("about the dispute = %+v, %v", s, err)
		}
		if code, body := v.correct(t, "ann", "r0", ""); code != 200 {
			t.Fatalf("correct = %d %s", code, body)
		}
		for revision := int64(1); revision < 6; revision++ {
			if _, err := v.of(t, "zoe", "r0", revision, approve); codeOf(err) != "STALE_REVISION" {
				t.Errorf("about revision %d = %v, want STALE_REVISION", revision, err)
			}
		}
		if _, err := v.of(t, "zoe", "r0", 6, verify.Draft{Status: response.InReview}); err != nil {
			t.Error(err)
		}
		if s, err := v.of(t, "vera", "r0", 6, approve); err != nil || s.Verification.Reviews != 1 {
			t.Errorf("after another decision = %+v, %v", s, err)
		}
	})
}

// Whatever is corrected in a verified response, its answers or anything beside
// them, it is open again, and a decision about what was there before is refused.
func TestCorrectionOfAnythingReopens(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		v := newEnv(t, d)
		v.fill(t, "ws", 1, 1)
		for _, change := range []string{
			`{"responses":{"home":{"cost":7}}}`, `{"metadata":{"note":"asked again"}}`, `{"language":"sw"}`, `{"deviceId":"tablet-7"}`,
			`{"mode":"visit"}`, `{"location":{"lat":-1.5,"lon":36.5}}`, `{"durationSec":61}`, `{"timestamp":"2026-01-02T03:04:05Z"}`,
		} {
			read := v.state(t, "r0").Revision
			if _, err := v.of(t, "vera", "r0", read, verify.Draft{Status: response.Verified}); err != nil {
				t.Fatalf("before %s: %v", change, err)
			}
			w := v.Send(t, "ws owner", "PATCH /v1/responses/r0?reason=typing", change, "Content-Type", "application/merge-patch+json", "If-Match", "*")
			if s := v.state(t, "r0"); w.Code != 200 || s.Verification.Status != response.Pending {
				t.Errorf("%s = %d %s, and the response is %s; want it pending", change, w.Code, w.Body, s.Verification.Status)
			}
			if _, err := v.of(t, "vito", "r0", read, verify.Draft{Status: response.Verified}); codeOf(err) != "STALE_REVISION" {
				t.Errorf("after %s, about what was there before = %v, want STALE_REVISION", change, err)
			}
		}
	})
}

// A filter decides about what the list showed, and names what is not that.
func TestBulkAsOf(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		v := newEnv(t, d)
		v.fill(t, "ws", 2, 5)
		asOf := v.asOf(t)
		if code, body := v.correct(t, "ann", "r1", ""); code != 200 {
			t.Fatalf("correct = %d %s", code, body)
		}
		v.Submit(t, "ws", "s", surveytest.Interview{ID: "late", Household: 50, Answers: surveytest.Home(nil)})
		for _, id := range []string{"r2", "r3"} { // decided, and back to where it was
			for _, to := range []string{response.InReview, response.Pending} {
				if err := v.decide(t, "vito", id, to); err != nil {
					t.Fatal(err)
				}
			}
		}
		out := v.bulk(t, "vera", verify.Bulk{Draft: verify.Draft{Status: response.Verified}, Filter: &verify.Filter{Status: response.Pending, AsOf: asOf}})
		var skipped []string
		for _, it := range out.Items {
			if it.Result == verify.Skipped && it.Code == "STALE_REVISION" {
				skipped = append(skipped, it.ResponseID)
			}
		}
		if out.Changed != 4 || out.Skipped != 2 || strings.Join(skipped, " ") != "r1 late" {
			t.Errorf("outcome = %+v, want r1 and late skipped", out)
		}
		for _, id := range []string{"r1", "late"} {
			if s := v.state(t, id); s.Verification.Status != response.Pending {
				t.Errorf("%s = %+v", id, s.Verification)
			}
		}
		// The second page of a list is of the moment of the first.
		var first, second web.Page[response.Record]
		v.Must(t, "ws owner", "GET /v1/surveys/s/responses?limit=2", "", &first)
		v.Submit(t, "ws", "s", surveytest.Interview{ID: "later", Household: 51, Answers: surveytest.Home(nil)})
		v.Must(t, "ws owner", "GET /v1/surveys/s/responses?limit=2&cursor="+first.Page.NextCursor, "", &second)
		if first.Page.AsOf == 0 || second.Page.AsOf != first.Page.AsOf || *v.asOf(t) <= first.Page.AsOf {
			t.Errorf("asOf = %d, then %d, now %d", first.Page.AsOf, second.Page.AsOf, *v.asOf(t))
		}
	})
}

// Whoever corrects a response while others decide about what they have read
// never finds it verified.
func TestCorrectionAmongDecisions(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		v := newEnv(t, d)
		v.fill(t, "ws", 1, 8)
		asOf := v.asOf(t)
		var wg sync.WaitGroup
		wg.Go(func() {
			b := verify.Bulk{Draft: verify.Draft{Status: response.Verified}, Filter: &verify.Filter{Status: response.Pending, AsOf: asOf}}
			if _, err := v.s.Bulk(surveytest.As(t.Context(), "ws", "vera"), "s", b); err != nil {
				t.Error(err)
			}
		})
		for i := range 8 {
			wg.Go(func() {
				// Whatever there is by then, as one with surveys:write may.
				w := v.Send(t, "ws owner", fmt.Sprintf("PATCH /v1/responses/r%d?reason=wrong", i), `{"responses":{"home":{"cost":12000}}}`, "Content-Type", "application/merge-patch+json", "If-Match", "*")
				if w.Code != 200 {
					t.Errorf("correct r%d = %d %s", i, w.Code, w.Body)
				}
			})
		}
		wg.Wait()
		for i := range 8 {
			if s := v.state(t, fmt.Sprintf("r%d", i)); s.Verification.Status != response.Pending {
				t.Errorf("r%d = %+v", i, s.Verification)
			}
		}
	})
}
