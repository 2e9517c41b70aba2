package verify_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
	"github.com/hearth-dmrv/hearth/internal/survey/response"
	"github.com/hearth-dmrv/hearth/internal/survey/surveytest"
	"github.com/hearth-dmrv/hearth/internal/survey/verify"
)

// TestNext: two verifiers never look at the same response, each goes on with its
// own, and nobody is given what is theirs.
func TestNext(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		v := newEnv(t, d)
		v.fill(t, "ws", 1, 4)
		next := func(who string, turn verify.Turn) string {
			t.Helper()
			got, err := v.s.Next(surveytest.As(t.Context(), "ws", who), turn)
			if err != nil {
				t.Fatal(err)
			}
			if got.Next == nil {
				return ""
			}
			return got.Next.ResponseID
		}
		for i, tt := range []struct {
			who   string
			after string
			want  string
		}{
			{"vic", "", "r0"},
			{"wes", "", "r1"},
			{"vic", "", "r0"},
			{"vic", "r0", "r2"},
			{"wes", "", "r1"},
			{"ann", "", ""}, // has collected them all
			{"stranger", "", ""},
			{"xen", "", "r3"},
			{"yan", "", ""},
		} {
			if got := next(tt.who, verify.Turn{After: tt.after}); got != tt.want {
				t.Errorf("%d: %s is given %q, want %q", i, tt.who, got, tt.want)
			}
		}
		if err := v.decide(t, "vic", "r0", response.Verified); err != nil {
			t.Fatal(err)
		}
		if got := next("vic", verify.Turn{SurveyID: "s"}); got != "r2" {
			t.Errorf("after a decision vic is given %q, want r2", got)
		}
		if _, err := d.Exec(t.Context(), `UPDATE response_claims SET until = 0`); err != nil {
			t.Fatal(err)
		}
		if got := next("yan", verify.Turn{}); got != "r1" {
			t.Errorf("once the leases are over yan is given %q, want r1", got)
		}
	})
}

// TestNextOfOneProject: whoever sees one project is not kept waiting by what waits
// in others, and goes through its surveys one after the other.
func TestNextOfOneProject(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		v := newEnv(t, d)
		v.fill(t, "ws", 1, 25) // more than the first look
		for _, id := range []string{"f1", "f2"} {
			v.Must(t, "ws owner", "POST /v1/surveys", strings.Replace(surveytest.Survey(id, 1), surveytest.Project, "did:ixo:project/other", 1), nil)
			v.Must(t, "ws owner", "POST /v1/surveys/"+id+"/activate", `{}`, nil)
			v.Submit(t, "ws", id, surveytest.Interview{ID: id + "a", Household: 50, Answers: surveytest.Home(nil)})
		}
		after := ""
		for _, want := range []string{"f1a", "f2a", ""} {
			got, err := v.s.Next(surveytest.As(t.Context(), "ws", "stranger"), verify.Turn{After: after})
			if err != nil || (got.Next == nil) != (want == "") || got.After != "" {
				t.Fatalf("after %q: %+v, %v, want %q", after, got, err, want)
			}
			if want != "" && got.Next.ResponseID != want {
				t.Errorf("after %q: %s, want %s", after, got.Next.ResponseID, want)
			}
			after = want
		}
	})
}

// TestNextKeepsFew: a verifier who goes on and on keeps the last few from others.
func TestNextKeepsFew(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		v := newEnv(t, d)
		var clock surveytest.Clock
		v.s = verify.New(verify.Config{DB: d, Surveys: v.Surveys, Responses: v.Responses, Events: v.Log, Idem: v.Idem, Now: clock.Now})
		now := time.Now()
		v.fill(t, "ws", 1, 9)
		after := ""
		for i := range 8 {
			clock.Set(now.Add(time.Duration(i) * time.Second))
			got, err := v.s.Next(surveytest.As(t.Context(), "ws", "vic"), verify.Turn{After: after})
			if err != nil || got.Next == nil {
				t.Fatalf("%d: %+v, %v", i, got, err)
			}
			after = got.Next.ResponseID
		}
		var n int
		if err := d.QueryRow(t.Context(), `SELECT count(*) FROM response_claims`).Scan(&n); err != nil || n != 5 {
			t.Errorf("vic keeps %d responses, %v, want 5", n, err)
		}
		if got, err := v.s.Next(surveytest.As(t.Context(), "ws", "wes"), verify.Turn{}); err != nil || got.Next.ResponseID != "r0" {
			t.Errorf("wes is given %+v, %v, want r0", got, err)
		}
	})
}

// TestNextAtOnce: a crowd of verifiers is given one response each.
func TestNextAtOnce(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		v := newEnv(t, d)
		v.fill(t, "ws", 1, 8)
		got := surveytest.CrowdOf(8, func(i int) (string, error) {
			taken, err := v.s.Next(surveytest.As(t.Context(), "ws", fmt.Sprintf("v%d", i)), verify.Turn{})
			if err != nil || taken.Next == nil {
				return "nothing", err
			}
			return taken.Next.ResponseID, nil
		})
		for id, n := range got {
			if n != 1 || !strings.HasPrefix(id, "r") {
				t.Errorf("%d verifiers have %s: %v", n, id, got)
			}
		}
	})
}

// TestWaitingOverSurveys: one list has what waits in all surveys.
func TestWaitingOverSurveys(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		v := newEnv(t, d)
		v.fill(t, "ws", 1, 2)
		v.Start(t, "ws", "s2", 1)
		v.Submit(t, "ws", "s2", surveytest.Interview{ID: "q0", Household: 9, Answers: surveytest.Home(nil)})
		if err := v.decide(t, "vic", "r0", response.Verified); err != nil {
			t.Fatal(err)
		}
		for _, tt := range []struct{ who, state, want string }{
			{"vic", response.Pending, "q0 r1"},
			{"vic", response.Verified, "r0"},
			{"stranger", response.Pending, ""},
		} {
			var ids []string
			for before := int64(0); ; {
				items, next, err := v.Responses.Standing(surveytest.As(t.Context(), "ws", tt.who), tt.state, before, 1)
				if err != nil {
					t.Fatal(err)
				}
				for _, it := range items {
					_, rest, _ := strings.Cut(it.String(), `"responseId":"`)
					id, _, _ := strings.Cut(rest, `"`)
					ids = append(ids, id)
				}
				if before = next; next == 0 {
					break
				}
			}
			if got := strings.Join(ids, " "); got != tt.want {
				t.Errorf("%s of %s = %q, want %q", tt.state, tt.who, got, tt.want)
			}
		}
	})
}
