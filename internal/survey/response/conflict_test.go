package response_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/survey/response"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// 64 clients send the same response at once: one record, and all get it.
func TestSameResponseInACrowd(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		v := newEnv(t, d)
		v.start(t, homeSurvey)
		bodies := make([]string, 64)
		got := crowd(64, func(i int) (string, error) {
			r, err := v.s.Submit(as(t, "ann"), "s", draft("r1", 1, `home.phone="0700"`))
			bodies[i] = string(r.Raw)
			return fmt.Sprint(r.Status, r.ETag, r.Location), err
		})
		if got[`201"1"/v1/responses/r1`] != 1 || got[`200"1"/v1/responses/r1`] != 63 {
			t.Errorf("answers = %v, want one 201 and 63 times 200", got)
		}
		for i, b := range bodies {
			if b != bodies[0] {
				t.Fatalf("body %d = %s\nwant %s", i, b, bodies[0])
			}
		}
		if n := v.count(t, "responses"); n != 1 || v.events(t) != "submitted" || v.tally(t).Completed != 1 {
			t.Errorf("%d records, events %q, %+v", n, v.events(t), v.tally(t))
		}
	})
}

// The same id with other content at once: one is stored, the others learn how
// theirs differ.
func TestOtherContentInACrowd(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		v := newEnv(t, d)
		v.start(t, homeSurvey)
		got := crowd(32, func(i int) (string, error) {
			r, err := v.s.Submit(as(t, "ann"), "s", draft("r1", 1, fmt.Sprintf("home.size=%d", i%16+1)))
			return fmt.Sprint(r.Status), err
		})
		if got["201"] != 1 || got["200"] != 1 || got["RESPONSE_CONFLICT"] != 30 {
			t.Errorf("answers = %v, want one stored, one replay and 30 conflicts", got)
		}
		if n := v.count(t, "responses"); n != 1 || v.tally(t).Completed != 1 {
			t.Errorf("%d records, %+v", n, v.tally(t))
		}
	})
}

// Two different responses of one household race: one is stored, and the other
// is told of it.
func TestHouseholdInACrowd(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		v := newEnv(t, d)
		v.start(t, homeSurvey)
		got := crowd(32, func(i int) (string, error) {
			r, err := v.s.Submit(as(t, "ann"), "s", draft(fmt.Sprintf("r%d", i), 1))
			return fmt.Sprint(r.Status), err
		})
		if got["201"] != 1 || got["DUPLICATE_HOUSEHOLD_RESPONSE"] != 31 {
			t.Errorf("answers = %v, want one stored and 31 duplicates", got)
		}
		// All replace the one there is: one does, the others come too late.
		var there string
		if err := d.QueryRow(t.Context(), `SELECT response_id FROM responses WHERE slot = 0`).Scan(&there); err != nil {
			t.Fatal(err)
		}
		got = crowd(16, func(i int) (string, error) {
			next := draft(fmt.Sprintf("n%d", i), 1)
			next.Supersedes = there
			r, err := v.s.Submit(as(t, "ann"), "s", next)
			return fmt.Sprint(r.Status), err
		})
		if got["201"] != 1 || got["SUPERSEDES_INVALID"] != 15 {
			t.Errorf("answers = %v, want one stored and 15 too late", got)
		}
		if n := v.count(t, "responses"); n != 2 || v.tally(t).Completed != 1 {
			t.Errorf("%d records, %+v, want two of which one counts", n, v.tally(t))
		}
	})
}

// What clashes is named question by question, and nobody learns from it what
// they may not read.
func TestDifferences(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		v := newEnv(t, d)
		v.start(t, homeSurvey)
		v.submit(t, "ann", draft("r1", 1, `home.phone="0700-canary"`, `home.people=[{"name":"canary","age":7}]`, "home.cost=2"))
		other := func() *response.Draft {
			o := draft("r1", 1, "home.size=9", "home.fuel=", `home.phone="0711"`, `home.people=[{"name":"kim","age":8}]`, "home.cost=3")
			o.Language = "sw"
			return o
		}
		const all = "/responseId exists, /language differs, /responses/home/cost differs, /responses/home/fuel differs, /responses/home/people differs, " +
			"/responses/home/phone differs, /responses/home/size differs, /responses/home/yearly differs"
		// Who has no part in it does not even learn which personal answers differ.
		const some = "/responseId exists, /language differs, /responses/home/cost differs, /responses/home/fuel differs, " +
			"/responses/home/size differs, /responses/home/yearly differs, /householdId differs, /responses differs"
		for _, tt := range []struct {
			role           string
			shown, private bool
			fields         string
		}{{"ann", true, false, all}, {"bob", true, false, some}, {"mia", true, true, all}, {"writer", false, false, some}} {
			_, err := v.s.Submit(as(t, tt.role), "s", other())
			want(t, tt.role, err, "RESPONSE_CONFLICT")
			if got := codes(err); got != tt.fields {
				t.Errorf("%s: %s\nwant %s", tt.role, got, tt.fields)
			}
			text := details(err)
			if strings.Contains(text, "Stored: 4; sent: 9.") != tt.shown || strings.Contains(text, "canary") != tt.private {
				t.Errorf("%s reads %s", tt.role, text)
			}
			if !strings.Contains(text, `its ETag is "1"`) {
				t.Errorf("%s: no ETag in %s", tt.role, text)
			}
			if got := members(t, err); got != tt.fields || strings.Contains(shown(t, err), "canary") != tt.private || strings.Contains(shown(t, err), `"stored":4`) != tt.shown {
				t.Errorf("%s: members %s: %s\nwant the same and no more than in %s", tt.role, got, shown(t, err), tt.fields)
			}
		}
		if n := v.count(t, "responses"); n != 1 {
			t.Errorf("%d records, want 1", n)
		}
	})
}

// members are the differences a program reads, in the words of codes.
func members(t *testing.T, err error) string {
	t.Helper()
	more, ok := fault.As(err).Members.(response.Members)
	if !ok || more.Current == nil || *more.Current != (web.Current{ETag: `"1"`, Revision: 1, Href: "/v1/responses/r1"}) {
		t.Errorf("members = %+v, want the stored revision", more)
	}
	out := []string{"/responseId exists"}
	for _, d := range more.Differences {
		out = append(out, d.Pointer+" differs")
		if d.Masked && (!d.Stored.IsZero() || !d.Sent.IsZero()) {
			t.Errorf("%s is masked, and shows %s and %s", d.Pointer, d.Stored.Value, d.Sent.Value)
		}
	}
	return strings.Join(out, ", ")
}

// shown are the members of a fault as they are sent.
func shown(t *testing.T, err error) string {
	t.Helper()
	text, err := web.Encode(fault.As(err).Members)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// Other words for the same are the same: order, spaces, defaults, and what is
// calculated anyway.
func TestSameInOtherWords(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		v := newEnv(t, d)
		v.start(t, homeSurvey)
		first := draft("r1", 1, "home.cost=2")
		if r := v.submit(t, "ann", first); string(r.Responses.Value) != `{"consent":{"ok":true},"home":{"cost":2,"fuel":["wood"],"size":4,"yearly":24}}` {
			t.Errorf("answers = %s", r.Responses.Value)
		}
		spaced := draft("r1", 1)
		spaced.Responses.Value = []byte(`{ "home": {"size": 4.0, "cost":2.00, "fuel":["wood"], "yearly":24}, "consent":{"ok":true} }`)
		spaced.Round, spaced.Mode, spaced.Collector = 1, "visit", "did:key:ann"
		spaced.Partial, spaced.SurveyID = true, "home"
		r, err := v.s.Submit(as(t, "ann"), "s", spaced)
		if err != nil || r.Status != 200 {
			t.Errorf("again = %d, %v %s, want 200", r.Status, err, details(err))
		}
		// By its template.
		byTemplate := draft("r1", 1, "home.cost=2")
		byTemplate.SurveyID = "home"
		if r, err = v.s.Submit(as(t, "ann"), "", byTemplate); err != nil || r.Status != 200 {
			t.Errorf("by its template = %d, %v", r.Status, err)
		}
	})
}

// Whoever repeats what was stored did nothing wrong, whatever happened since.
func TestReplays(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		v := newEnv(t, d)
		v.start(t, homeSurvey)
		again := func(what, id string, code int, revision int64, vstatus string) {
			t.Helper()
			r, err := v.s.Submit(as(t, "ann"), "s", draft(id, 1))
			if err != nil || r.Status != code {
				t.Errorf("%s: %d, %v, want %d", what, r.Status, err, code)
				return
			}
			if got := record(t, r.Raw); got.Revision != revision || got.Verification.Status != vstatus {
				t.Errorf("%s: revision %d %s, want %d %s", what, got.Revision, got.Verification.Status, revision, vstatus)
			}
		}
		again("first", "r1", 201, 1, "pending")
		if _, err := v.s.Correct(as(t, "ann"), "r1", response.Correction{IfMatch: `"1"`, Patch: []byte(`{"responses":{"home":{"size":5}}}`)}); err != nil {
			t.Fatal(err, codes(err))
		}
		again("after a correction", "r1", 200, 2, "pending")
		if _, err := v.s.Submit(as(t, "ann"), "s", draft("r1", 1, "home.size=5")); err != nil {
			t.Errorf("what it was corrected to: %v", err)
		}
		_, err := v.s.Submit(as(t, "ann"), "s", draft("r1", 1, "home.size=6"))
		want(t, "something else", err, "RESPONSE_CONFLICT")
		next := draft("r2", 1)
		next.Supersedes = "r1"
		v.submit(t, "ann", next)
		again("after it was replaced", "r1", 200, 3, "superseded")
		v.move(t, "s", "close")
		again("after the survey was closed", "r1", 200, 3, "superseded")
		_, err = v.s.Submit(as(t, "ann"), "s", draft("r3", 3))
		want(t, "a new one after that", err, "SURVEY_NOT_ACTIVE")
		_, err = v.s.Submit(as(t, "ann"), "s", draft("r1", 1, "home.size=7"))
		want(t, "another one after that", err, "SURVEY_NOT_ACTIVE")
		if n := v.count(t, "responses"); n != 2 || v.tally(t).Completed != 1 {
			t.Errorf("%d records, %+v", n, v.tally(t))
		}
	})
}

// A response may be replaced, and its successor again, but not twice.
func TestSupersedes(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		v := newEnv(t, d)
		v.start(t, homeSurvey)
		v.submit(t, "ann", draft("a", 1))
		v.submit(t, "ann", draft("z", 2))
		_, err := v.s.Submit(as(t, "ann"), "s", draft("b", 1))
		want(t, "a second one", err, "DUPLICATE_HOUSEHOLD_RESPONSE")
		if !strings.Contains(details(err), "/v1/responses/a") {
			t.Errorf("details = %s, want a link", details(err))
		}
		for _, tt := range []struct{ id, of, code string }{
			{"b", "a", ""},
			{"b", "a", ""},
			{"c", "a", "superseded"},
			{"c", "b", ""},
			{"d", "b", "superseded"},
			{"d", "nope", "not_found"},
			{"d", "d", "not_found"},
			{"d", "z", "other_household"},
			{"c", "z", "conflict"},
		} {
			next := draft(tt.id, 1)
			next.Supersedes = tt.of
			_, err := v.s.Submit(as(t, "ann"), "s", next)
			switch tt.code {
			case "":
				want(t, tt.id+" for "+tt.of, err, "")
			case "conflict":
				want(t, tt.id+" for "+tt.of, err, "RESPONSE_CONFLICT")
			default:
				want(t, tt.id+" for "+tt.of, err, "SUPERSEDES_INVALID")
				if got := codes(err); got != "/supersedes "+tt.code {
					t.Errorf("%s for %s: %s, want %s", tt.id, tt.of, got, tt.code)
				}
			}
		}
		a, b, c := v.get(t, "reader", "a"), v.get(t, "reader", "b"), v.get(t, "reader", "c")
		if a.SupersededBy != "b" || b.Supersedes != "a" || b.SupersededBy != "c" || c.Supersedes != "b" || c.Verification.Status != "pending" {
			t.Errorf("chain = %+v, %+v, %+v", a.Head, b.Head, c.Head)
		}
		if got := v.tally(t); got.Completed != 2 {
			t.Errorf("counters = %+v, want 2 complete", got)
		}
		_, err = v.s.Correct(as(t, "owner"), "a", response.Correction{IfMatch: "*", Patch: []byte(`{}`)})
		want(t, "correct a replaced one", err, "RESPONSE_LOCKED")
	})
}

// An id belongs to one survey of the workspace, and to nobody else's.
func TestIDs(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		v := newEnv(t, d)
		v.start(t, homeSurvey)
		v.start(t, strings.Replace(homeSurvey, `"s"`, `"s2"`, 1))
		v.submit(t, "ann", draft("r1", 1, `home.phone="canary"`))
		_, err := v.s.Submit(as(t, "owner"), "s2", draft("r1", 1))
		want(t, "same id in another survey", err, "RESPONSE_CONFLICT")
		if codes(err) != "/responseId taken" || fault.As(err).Members != nil {
			t.Errorf("fields = %s, members = %+v", codes(err), fault.As(err).Members)
		}
		// Two surveys use the template now.
		named := draft("r9", 9)
		named.SurveyID = "home"
		_, err = v.s.Submit(as(t, "ann"), "", named)
		want(t, "by template", err, "AMBIGUOUS_SURVEY")
		if got := details(err); got != "s s2" {
			t.Errorf("candidates = %s", got)
		}
		for _, tt := range []struct{ role, id, code string }{
			{"project", "r1", ""}, {"elsewhere", "r1", "RESPONSE_NOT_FOUND"}, {"owner", "nope", "RESPONSE_NOT_FOUND"},
		} {
			_, err := v.s.Get(as(t, tt.role), tt.id)
			want(t, tt.role+" reads "+tt.id, err, tt.code)
		}
		if w := v.send(t, "owner", "GET /v1/responses/r1", ""); w.Code != 200 {
			t.Errorf("owner = %d", w.Code)
		}
		_, err = v.s.Submit(as(t, "elsewhere"), "s", draft("r2", 2))
		if fault.CodeOf(err) != "SURVEY_NOT_FOUND" {
			t.Errorf("send to a survey of another project: %v", err)
		}
	})
}

// A response that names a template never lands in a survey that happens to have
// the template's id.
func TestSurveyWithTheIDOfATemplate(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		v := newEnv(t, d)
		v.start(t, homeSurvey)
		v.start(t, strings.Replace(homeSurvey, `"surveyId":"s"`, `"surveyId":"home"`, 1))
		named := draft("r1", 1)
		named.SurveyID = "home"
		_, err := v.s.Submit(as(t, "ann"), "", named)
		want(t, "a response for the template", err, "AMBIGUOUS_SURVEY")
		if got := codes(err); !strings.Contains(got, "/surveyId candidate") {
			t.Errorf("fields = %s, want the candidates", got)
		}
		if _, err := v.s.Submit(as(t, "ann"), "home", named); err != nil {
			t.Errorf("the survey by its address: %v", err)
		}
	})
}

// A wrong precondition is told before anything else about the state.
func TestPreconditionBeforeState(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		v := newEnv(t, d)
		v.start(t, homeSurvey)
		v.submit(t, "ann", draft("r1", 1))
		next := draft("r2", 1)
		next.Supersedes = "r1"
		v.submit(t, "ann", next)
		for match, code := range map[string]string{"": "PRECONDITION_REQUIRED", `"999"`: "STALE_REVISION", "*": "RESPONSE_LOCKED"} {
			_, err := v.s.Correct(as(t, "ann"), "r1", patch(match, `{"responses":{"home":{"size":3}}}`))
			want(t, "a correction of what was replaced with If-Match "+match, err, code)
		}
	})
}
