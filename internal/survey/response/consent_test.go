package response_test

import (
	"strings"
	"testing"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
	"github.com/hearth-dmrv/hearth/internal/survey"
	"github.com/hearth-dmrv/hearth/internal/survey/flag"
	"github.com/hearth-dmrv/hearth/internal/survey/response"
)

// rules are the names of the flags of a response, but of pictures, which no
// draft here has.
func rules(r *response.Record) string {
	var out []string
	for _, f := range r.Flags {
		if f.Rule != flag.MediaMissing {
			out = append(out, f.Rule)
		}
	}
	return strings.Join(out, " ")
}

// auto is homeSurvey where the server verifies by itself.
var auto = strings.Replace(homeSurvey, `"collectors"`, `"verificationPolicy":{"mode":"auto"},"collectors"`, 1)

// TestRefusal: who does not consent has refused, and is not an interview that
// anybody could verify.
func TestRefusal(t *testing.T) {
	t.Parallel()
	for _, listed := range []bool{true, false} {
		dbtest.Any(t, func(t *testing.T, d *db.DB) {
			v := newEnv(t, d)
			v.start(t, auto)
			if listed {
				up := survey.Upload{Items: []survey.HouseholdDraft{{HouseholdID: "did:ixo:household/1"}}}
				if _, err := v.surveys.AddHouseholds(as(t, "owner"), "s", up); err != nil {
					t.Fatal(err)
				}
			}
			outcome := func(want string) {
				t.Helper()
				if !listed {
					return
				}
				h, err := v.surveys.GetHousehold(as(t, "owner"), "s", "did:ixo:household/1")
				if err != nil || h.Value.Outcome != want {
					t.Errorf("outcome = %v, %v, want %s", h.Value, err, want)
				}
			}
			counted := func(when string, completed, refused int64) {
				t.Helper()
				if got := v.tally(t); got.Completed != completed || got.Refused != refused || got.Partial != 0 || got.Contacted != completed+refused {
					t.Errorf("%s: %+v, want %d completed and %d refused", when, got, completed, refused)
				}
			}
			if listed { // somebody has noted it before
				if _, err := v.surveys.SetOutcome(as(t, "ann"), "s", "did:ixo:household/1", survey.OutcomeChange{Outcome: "refused"}); err != nil {
					t.Fatal(err)
				}
				counted("noted", 0, 1)
			}
			no := draft("r1", 1, "consent.ok=false", "home.size=", "home.fuel=") // what is required is not missing
			r := v.submit(t, "ann", no)
			if r.Status != response.Refused || r.Verification.Status != response.Pending || len(r.Missing) != 0 || rules(r) != "" {
				t.Errorf("record = %+v, want it refused and pending", r)
			}
			counted("refused", 0, 1)
			outcome(survey.OutcomeRefused)
			if _, err := v.surveys.SetOutcome(as(t, "ann"), "s", "did:ixo:household/1", survey.OutcomeChange{Outcome: "contacted"}); listed && err != nil {
				t.Error(err)
			}
			counted("noted again", 0, 1) // the response says more
			outcome(survey.OutcomeRefused)
			correct := func(patch string) {
				t.Helper()
				if _, err := v.s.Correct(as(t, "ann"), "r1", response.Correction{IfMatch: "*", Patch: []byte(patch)}); err != nil {
					t.Fatal(err, codes(err))
				}
			}
			correct(`{"responses":{"consent":{"ok":true},"home":{"size":3}}}`)
			counted("consented", 1, 0)
			outcome(survey.OutcomeCompleted)
			correct(`{"responses":{"consent":{"ok":false}}}`)
			counted("refused again", 0, 1)
			outcome(survey.OutcomeRefused)
			if got := v.get(t, "owner", "r1"); rules(got) != "consent_refused" || got.Flags[0].Question != "/responses/home/size" {
				t.Errorf("flags = %+v, want that there are answers", got.Flags)
			}
			next := draft("r2", 1)
			next.Supersedes = "r1"
			v.submit(t, "ann", next)
			counted("replaced", 1, 0)
			outcome(survey.OutcomeCompleted)
		})
	}
}

// TestRefusalIsNotVerified elsewhere either.
func TestRefusalIsNotVerified(t *testing.T) {
	t.Parallel()
	v := newEnv(t, dbtest.SQLite(t))
	v.start(t, homeSurvey)
	no := decided("r1", 1, "verified", "did:key:zoe", "")
	no.Responses.Value = []byte(`{"consent":{"ok":false}}`)
	_, err := v.s.Submit(as(t, "importer"), "s", no)
	want(t, "an imported decision", err, "RESPONSE_NOT_VERIFIABLE")
	if got := codes(err); got != "/verification/status refused" {
		t.Errorf("fields = %s, want that it is refused", got)
	}
}

// TestLittleIsFlagged: what is documented is taken, and is no whole interview: it
// has two of many answers, and no consent.
func TestLittleIsFlagged(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		v := newEnv(t, d)
		v.start(t, strings.Replace(baseline, `"collectors"`, `"verificationPolicy":{"mode":"auto"},"collectors"`, 1))
		w := v.send(t, "ann", "POST /v1/surveys/b/responses", `{"responseId":"resp_789","householdId":"did:ixo:household/123","timestamp":"2024-02-20T10:00:00Z",
			"responses":{"eligibility":{"current_cooking":["wood","charcoal"]},"socio_economic":{"household_size":5}}}`)
		if w.Code != 201 {
			t.Fatalf("submit = %d %s", w.Code, w.Body)
		}
		r := v.get(t, "owner", "resp_789")
		if r.Status != response.Partial || r.Verification.Status != response.Pending || rules(r) != "consent_missing" || strings.Join(r.Missing, " ") != "/responses/consent/consent_given" {
			t.Errorf("status %s, %s, flags %s; want it partial, pending and flagged", r.Status, r.Verification.Status, rules(r))
		}
	})
}

// TestCensusWithAList: a household that is not on it is flagged, as elsewhere.
func TestCensusWithAList(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		v := newEnv(t, d)
		v.start(t, homeSurvey)
		if r := v.submit(t, "ann", draft("r1", 1)); rules(r) != "" {
			t.Errorf("flags = %s without a list, want none", rules(r))
		}
		if _, err := v.surveys.AddHouseholds(as(t, "owner"), "s", survey.Upload{Items: []survey.HouseholdDraft{{HouseholdID: "did:ixo:household/2"}}}); err != nil {
			t.Fatal(err)
		}
		if r := v.submit(t, "ann", draft("r2", 2)); rules(r) != "" {
			t.Errorf("flags = %s of a listed household, want none", rules(r))
		}
		if r := v.submit(t, "ann", draft("r3", 3)); rules(r) != "household_not_listed" {
			t.Errorf("flags = %s, want household_not_listed", rules(r))
		}
	})
}
