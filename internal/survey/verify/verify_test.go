package verify_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
	"github.com/hearth-dmrv/hearth/internal/event/eventtest"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/privacy/vault"
	"github.com/hearth-dmrv/hearth/internal/survey"
	"github.com/hearth-dmrv/hearth/internal/survey/form"
	"github.com/hearth-dmrv/hearth/internal/survey/media"
	"github.com/hearth-dmrv/hearth/internal/survey/response"
	"github.com/hearth-dmrv/hearth/internal/survey/surveytest"
	"github.com/hearth-dmrv/hearth/internal/survey/verify"
	"github.com/hearth-dmrv/hearth/internal/web"
)

func codeOf(err error) string { return fault.CodeOf(err) }

type env struct {
	*surveytest.Env
	s *verify.Service
}

func newEnv(t testing.TB, d *db.DB) *env {
	t.Helper()
	v := &env{Env: surveytest.New(t, d)}
	v.s = verify.New(verify.Config{DB: d, Surveys: v.Surveys, Responses: v.Responses, Media: media.New(media.Config{DB: d, Key: v.Key}), Events: v.Log, Idem: v.Idem, Cursors: eventtest.Cursors()})
	v.s.Routes(v.API)
	return v
}

// fill makes an active survey with n responses r0, r1, … of ann.
func (v *env) fill(t testing.TB, ws string, reviewers, n int) {
	t.Helper()
	v.Start(t, ws, "s", reviewers)
	for i := range n {
		v.Submit(t, ws, "s", surveytest.Interview{ID: fmt.Sprintf("r%d", i), Household: i, Answers: surveytest.Home(nil)})
	}
}

func (v *env) decide(t testing.TB, who, id, status string) error {
	t.Helper()
	_, err := v.s.Decide(surveytest.As(t.Context(), "ws", who), id, v.seen(t, id), verify.Draft{Status: status, Reason: "because"})
	return err
}

// seen names a response as it is; the first revision of what is not there.
func (v *env) seen(t testing.TB, id string) web.Judged {
	t.Helper()
	n := int64(1)
	if r, err := v.s.Get(surveytest.As(t.Context(), "ws", "owner"), id); err == nil {
		n = r.Value.Revision
	}
	return web.Judged{Revision: &n}
}

// named are responses as they are.
func (v *env) named(t testing.TB, ids ...string) []verify.Named {
	t.Helper()
	var out []verify.Named
	for _, id := range ids {
		out = append(out, verify.Named{ResponseID: id, Revision: v.seen(t, id).Revision})
	}
	return out
}

// asOf is the moment of the list of responses that somebody reads now.
func (v *env) asOf(t testing.TB) *int64 {
	t.Helper()
	var list web.Page[response.Record]
	v.Must(t, "ws owner", "GET /v1/surveys/s/responses?limit=1", "", &list)
	return &list.Page.AsOf
}

func (v *env) state(t testing.TB, id string) *verify.State {
	t.Helper()
	r, err := v.s.Get(surveytest.As(t.Context(), "ws", "owner"), id)
	if err != nil {
		t.Fatal(err)
	}
	return r.Value
}

func (v *env) tally(t testing.TB) survey.Tally {
	t.Helper()
	p, err := v.Surveys.Progress(surveytest.As(t.Context(), "ws", "owner"), "s", 0)
	if err != nil {
		t.Fatal(err)
	}
	return p.SurveyTally
}

func TestRoutes(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		v := newEnv(t, d)
		eventtest.Cases(t, "verification.json", d, v.Log, v)
	})
}

// A response through all its states: decisions stay, counters follow.
func TestLife(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		v := newEnv(t, d)
		v.fill(t, "ws", 1, 1)
		for _, step := range []struct {
			who, to            string
			verified, rejected int64
			completed          int64
		}{
			{"vera", "in_review", 0, 0, 1},
			{"vito", "flagged", 0, 0, 1},
			{"vera", "verified", 1, 0, 1},
			{"vito", "disputed", 0, 0, 1},
			{"vera", "rejected", 0, 1, 1},
			{"vito", "pending", 0, 0, 1},
			{"vera", "verified", 1, 0, 1},
			{"vito", "invalidated", 0, 0, 0},
		} {
			if err := v.decide(t, step.who, "r0", step.to); err != nil {
				t.Fatalf("%s: %v", step.to, err)
			}
			got := v.tally(t)
			if got.Verified != step.verified || got.Rejected != step.rejected || got.Completed != step.completed {
				t.Errorf("after %s: %+v, want %d verified, %d rejected, %d completed", step.to, got, step.verified, step.rejected, step.completed)
			}
			if s := v.state(t, "r0"); s.Verification.Status != step.to || s.Verification.Verifier != "did:key:"+step.who || s.Verification.Timestamp.IsZero() {
				t.Errorf("after %s: %+v", step.to, s.Verification)
			}
		}
		s := v.state(t, "r0")
		var trail []string
		for _, d := range slices.Backward(s.Decisions) {
			trail = append(trail, d.To)
			if d.Reason != "because" || d.Timestamp.IsZero() || d.DecisionID == "" {
				t.Errorf("decision %+v", d)
			}
		}
		if got := strings.Join(trail, " "); got != "in_review flagged verified disputed rejected pending verified invalidated" {
			t.Errorf("decisions = %s", got)
		}
		if len(s.Allowed) != 0 || s.Revision != 9 {
			t.Errorf("end = %+v", s)
		}
		// An invalidated response leaves its household to be asked again.
		v.Submit(t, "ws", "s", surveytest.Interview{ID: "again", Household: 0, Answers: surveytest.Home(nil)})
	})
}

// A correction takes approvals back.
func TestCorrectionResets(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		v := newEnv(t, d)
		v.fill(t, "ws", 2, 1)
		correct := func(cost string) {
			w := v.Send(t, "ws ann", "PATCH /v1/responses/r0", `{"responses":{"home":{"cost":`+cost+`}}}`,
				"Content-Type", "application/merge-patch+json", "If-Match", web.ETag(v.state(t, "r0").Revision))
			if w.Code != 200 {
				t.Fatalf("correct = %d %s", w.Code, w.Body)
			}
		}
		if err := v.decide(t, "vera", "r0", "verified"); err != nil {
			t.Fatal(err)
		}
		if s := v.state(t, "r0"); s.Verification.Status != "in_review" || s.Verification.Reviews != 1 || s.Decisions[0].Reviews != 1 {
			t.Fatalf("after the first approval: %+v", s)
		}
		correct("11")
		if s := v.state(t, "r0"); s.Verification.Status != "pending" || s.Verification.Reviews != 0 {
			t.Fatalf("after the correction: %+v", s.Verification)
		}
		for i, who := range []string{"vito", "vera"} {
			if err := v.decide(t, who, "r0", "verified"); err != nil {
				t.Fatal(err)
			}
			if s := v.state(t, "r0"); (s.Verification.Status == "verified") != (i == 1) {
				t.Errorf("after %s: %+v", who, s.Verification)
			}
		}
		if err := v.decide(t, "vera", "r0", "disputed"); err != nil {
			t.Fatal(err)
		}
		if err := v.decide(t, "vera", "r0", "rejected"); err != nil {
			t.Fatal(err)
		}
		if err := v.decide(t, "vera", "r0", "pending"); err != nil {
			t.Fatal(err)
		}
		if err := v.decide(t, "vera", "r0", "needs_correction"); err != nil {
			t.Fatal(err)
		}
		if got := codeOf(v.decide(t, "vera", "r0", "pending")); got != "STATE_TRANSITION_INVALID" {
			t.Errorf("pending by a decision = %q", got)
		}
		correct("12")
		if s := v.state(t, "r0"); s.Verification.Status != "pending" {
			t.Errorf("after the second correction: %+v", s.Verification)
		}
	})
}

// Of many who decide at once about what they all have read one wins; the
// counters and the trail agree with it.
func TestRace(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		v := newEnv(t, d)
		v.fill(t, "ws", 1, 2)
		for id, about := range map[string]web.Judged{"r0": {Revision: new(int64(1))}, "r1": {IfMatch: web.ETag(1)}} {
			var mu sync.Mutex
			got := map[string]int{}
			var wg sync.WaitGroup
			for i := range 12 {
				wg.Go(func() {
					ctx := surveytest.As(t.Context(), "ws", fmt.Sprintf("v%d", i))
					_, err := v.s.Decide(ctx, id, about, verify.Draft{Status: []string{"verified", "rejected"}[i%2], Reason: "because"})
					mu.Lock()
					defer mu.Unlock()
					if err != nil && codeOf(err) == "" {
						t.Error(err)
					}
					got[codeOf(err)]++
				})
			}
			wg.Wait()
			if got[""] != 1 || got["STATE_TRANSITION_INVALID"] != 11 {
				t.Errorf("%s: %v, want one and 11 that come too late", id, got)
			}
			if s := v.state(t, id); len(s.Decisions) != 1 || s.Revision != 2 {
				t.Errorf("%s: %+v", id, s)
			}
		}
		if got := v.tally(t); got.Verified+got.Rejected != 2 || got.Completed != 2 {
			t.Errorf("tally = %+v", got)
		}
	})
}

func (v *env) bulk(t testing.TB, who string, b verify.Bulk) *verify.Outcome {
	t.Helper()
	out, err := v.s.Bulk(surveytest.As(t.Context(), "ws", who), "s", b)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestBulk(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		v := newEnv(t, d)
		v.fill(t, "ws", 1, 30)
		v.Submit(t, "ws", "s", surveytest.Interview{ID: "short", Household: 100, Answers: surveytest.Home(nil), Seconds: 5})
		v.Submit(t, "ws", "s", surveytest.Interview{ID: "bens", Household: 101, Collector: "ben", Answers: surveytest.Home(nil)})
		ids := []string{"r1", "r0", "r1", "missing", "bens"}
		approve := verify.Draft{Status: "verified"}
		named := v.named(t, ids...)
		out := v.bulk(t, "ben", verify.Bulk{Draft: approve, Responses: named})
		if out.Changed != 2 || out.Refused != 2 || out.Unchanged != 0 {
			t.Errorf("outcome = %+v", out)
		}
		for _, it := range out.Items {
			want := map[string]string{"missing": "RESPONSE_NOT_FOUND", "bens": "VERIFIER_IS_COLLECTOR"}[it.ResponseID]
			if it.Code != want {
				t.Errorf("%+v, want code %q", it, want)
			}
		}
		if out = v.bulk(t, "ben", verify.Bulk{Draft: approve, Responses: named}); out.Unchanged != 2 || out.Changed != 0 || out.Refused != 2 {
			t.Errorf("again = %+v", out)
		}
		flagged := true
		out = v.bulk(t, "vera", verify.Bulk{Draft: verify.Draft{Status: "flagged"}, Filter: &verify.Filter{Status: "pending", AsOf: v.asOf(t), Flagged: &flagged, Rule: "duration_short"}})
		if out.Changed != 1 || out.Items[0].ResponseID != "short" || out.Next != "" {
			t.Errorf("flagged = %+v", out)
		}
		v.walk(t)
		if got := v.tally(t); got.Verified != 31 || got.Completed != 32 {
			t.Errorf("tally = %+v", got)
		}
		_, err := v.s.Bulk(surveytest.As(t.Context(), "ws", "stranger"), "s", verify.Bulk{Draft: approve, Responses: named})
		if codeOf(err) != "SURVEY_NOT_FOUND" {
			t.Errorf("another project = %v", err)
		}
	})
}

// walk verifies all that is pending, ten at a time.
func (v *env) walk(t testing.TB) {
	t.Helper()
	f, changed := verify.Filter{Status: "pending", AsOf: v.asOf(t), Limit: 10}, 0
	for range 10 {
		out := v.bulk(t, "vera", verify.Bulk{Draft: verify.Draft{Status: "verified"}, Filter: &f})
		if changed += out.Changed; out.Next == "" {
			break
		}
		f.After = out.Next
	}
	if changed != 29 {
		t.Errorf("changed = %d, want 29", changed)
	}
}

// Two bulks over the same responses in opposite order end, and count once.
func TestBulkRace(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		v := newEnv(t, d)
		v.fill(t, "ws", 1, 25)
		var ids []string
		for i := range 25 {
			ids = append(ids, fmt.Sprintf("r%d", i))
		}
		turned := slices.Clone(ids)
		slices.Reverse(turned)
		outs := make([]*verify.Outcome, 2)
		var wg sync.WaitGroup
		for i, list := range [][]verify.Named{v.named(t, ids...), v.named(t, turned...)} {
			wg.Go(func() {
				out, err := v.s.Bulk(surveytest.As(t.Context(), "ws", fmt.Sprintf("v%d", i)), "s", verify.Bulk{Draft: verify.Draft{Status: "verified"}, Responses: list})
				if err != nil {
					t.Error(err)
					out = &verify.Outcome{}
				}
				outs[i] = out
			})
		}
		wg.Wait()
		if got := outs[0].Changed + outs[1].Changed; got != 25 {
			t.Errorf("changed = %d, want 25", got)
		}
		if got := v.tally(t); got.Verified != 25 {
			t.Errorf("tally = %+v", got)
		}
	})
}

// The pages of the trail are whole, and the reference can be made.
func TestHistoryPages(t *testing.T) {
	t.Parallel()
	v := newEnv(t, dbtest.SQLite(t))
	v.fill(t, "ws", 1, 1)
	for i := range 60 {
		if err := v.decide(t, fmt.Sprintf("v%d", i%2), "r0", []string{"in_review", "pending"}[i%2]); err != nil {
			t.Fatal(err)
		}
	}
	if s := v.state(t, "r0"); len(s.Decisions) != 50 || !s.MoreDecisions {
		t.Errorf("%d decisions shown, more %v", len(s.Decisions), s.MoreDecisions)
	}
	seen, path := map[string]bool{}, "/v1/responses/r0/verification/history?limit=7"
	for cursor := ""; ; {
		var p struct {
			Items []verify.Decision `json:"items"`
			Page  web.PageInfo      `json:"page"`
		}
		v.Must(t, "ws reader", "GET "+path+cursor, "", &p)
		for _, it := range p.Items {
			seen[it.DecisionID] = true
		}
		if !p.Page.HasMore {
			break
		}
		cursor = "&cursor=" + p.Page.NextCursor
	}
	if len(seen) != 60 {
		t.Errorf("%d decisions in pages, want 60", len(seen))
	}
	text, err := web.DocumentJSON(web.Document("x", "1", v.API))
	if err != nil {
		t.Fatal(err)
	}
	for _, word := range []string{"/v1/surveys/{surveyId}/verification:bulk", "VERIFIER_IS_COLLECTOR", "minReviewers"} {
		if !strings.Contains(string(text), word) {
			t.Errorf("the reference does not have %s", word)
		}
	}
}

// A decision that comes with a response is the first of two where the survey
// asks for two: the same verifier cannot be the second.
func TestImportedIsTheFirstOfTwo(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		v := newEnv(t, d)
		v.Start(t, "ws", "s", 2)
		text, err := json.Marshal(surveytest.Home(nil))
		if err != nil {
			t.Fatal(err)
		}
		at := time.Now().UTC().Add(-time.Hour)
		_, err = v.Responses.Submit(surveytest.As(t.Context(), "ws", "owner"), "s", &response.Draft{
			ResponseID: "r0", HouseholdID: "did:ixo:household/1", Timestamp: at, Collector: "did:key:ann", Responses: form.Object{Value: text},
			Verification: &response.Verification{Status: response.Verified, Verifier: "did:key:vera", Timestamp: at.Add(time.Minute)},
		})
		if err != nil {
			t.Fatal(err)
		}
		s := v.state(t, "r0")
		if s.Verification.Status != response.InReview || s.Verification.Reviews != 1 || len(s.Decisions) != 1 || !s.Decisions[0].Imported {
			t.Errorf("verification = %+v after %+v, want in review after an imported approval", s.Verification, s.Decisions)
		}
		if err := v.decide(t, "vera", "r0", response.Verified); codeOf(err) != "SECOND_REVIEWER_REQUIRED" {
			t.Errorf("vera again: %v, want SECOND_REVIEWER_REQUIRED", err)
		}
		if err := v.decide(t, "zoe", "r0", response.Verified); err != nil {
			t.Fatal(err)
		}
		if s := v.state(t, "r0"); s.Verification.Status != response.Verified || s.Verification.Verifier != "did:key:zoe" {
			t.Errorf("verification = %+v, want verified by zoe", s.Verification)
		}
	})
}

// TestCollectorsAreNamed: who may not read what is about a person learns who
// decided about a response, and not who has collected it.
func TestCollectorsAreNamed(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		v := newEnv(t, d)
		v.fill(t, "ws", 1, 1)
		if err := v.decide(t, "vera", "r0", response.NeedsCorrection); err != nil {
			t.Fatal(err)
		}
		w := v.Send(t, "ws ann", "PATCH /v1/responses/r0", `{"responses":{"home":{"size":3}}}`, "If-Match", "*", "Content-Type", "application/merge-patch+json")
		if w.Code != 200 {
			t.Fatalf("correct = %d %s", w.Code, w.Body)
		}
		if err := v.decide(t, "vera", "r0", response.InReview); err != nil {
			t.Fatal(err)
		}
		name := vault.New(vault.Config{Key: v.Key}).Pseudonyms("ws", surveytest.Project).Person
		for _, path := range []string{"/v1/responses/r0/verification", "/v1/responses/r0/verification/history", "/v1/responses/r0"} {
			for who, want := range map[string]string{"reader": name("did:key:ann"), "vera": name("did:key:ann"), "owner": "did:key:ann"} {
				w := v.Send(t, "ws "+who, "GET "+path, "")
				text := w.Body.String()
				if w.Code != 200 || !strings.Contains(text, want) || !strings.Contains(text, "did:key:vera") || who != "owner" && strings.Contains(text, "did:key:ann") {
					t.Errorf("%s by %s = %d %s, want %s and vera", path, who, w.Code, text, want)
				}
			}
		}
		for collector, want := range map[string]int{name("did:key:ann"): 1, "did:key:ann": 0} {
			out, err := v.s.Bulk(surveytest.As(t.Context(), "ws", "zoe"), "s", verify.Bulk{Draft: verify.Draft{Status: response.Pending}, Filter: &verify.Filter{Status: response.InReview, AsOf: v.asOf(t), Collector: collector}})
			if err != nil || out.Changed != want {
				t.Errorf("all of %s = %+v, %v, want %d", collector, out, err, want)
			}
			if want == 1 {
				if err := v.decide(t, "vera", "r0", response.InReview); err != nil {
					t.Fatal(err)
				}
			}
		}
	})
}
