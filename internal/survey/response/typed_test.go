package response_test

import (
	"fmt"
	"math/rand/v2"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
	"github.com/hearth-dmrv/hearth/internal/survey/answer"
	"github.com/hearth-dmrv/hearth/internal/survey/response"
)

// typed are the rows of a response: its answers to questions of the section home.
func (v *env) typed(t testing.TB, id string) string {
	t.Helper()
	names := map[int64]string{}
	o, err := v.surveys.Open(as(t, "owner"), "s")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"consent.ok", "home.size", "home.fuel", "home.phone", "home.cost", "home.yearly", "home.people.name", "home.people.age"} {
		names[answer.Question(o.NID, strings.Split(path, ".")...)] = path[strings.LastIndex(path, ".")+1:]
	}
	rows, err := v.d.Query(t.Context(), `SELECT a.qid, a.code, a.num, a.item FROM answers a JOIN responses r ON r.nid = a.nid WHERE r.response_id = $1`, id)
	list, err := db.Collect(rows, err, "rows", func(s *string, row db.Row) error {
		var r answer.Row
		err := row.Scan(&r.QID, &r.Code, &r.Num, &r.Item)
		*s = fmt.Sprintf("%s=%s%g/%d", names[r.QID], r.Code, r.Num, r.Item)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(list)
	return strings.Join(list, " ")
}

// TestTypedRows: the rows of a response follow all that happens to it.
func TestTypedRows(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		v := newEnv(t, d)
		v.start(t, homeSurvey)
		is := func(step, id, want string) {
			t.Helper()
			if got := v.typed(t, id); got != want {
				t.Errorf("%s: rows of %s are %q, want %q", step, id, got, want)
			}
		}
		v.submit(t, "ann", draft("r1", 1, "home.cost=2", `home.phone="0700"`, `home.people=[{"name":"Ann","age":30},{"name":"Bob","age":30}]`))
		is("sent", "r1", "age=30/0 age=30/1 cost=2/0 fuel=wood0/0 ok=true1/0 size=4/0 yearly=24/0")
		v.submit(t, "ann", draft("r1", 1, "home.cost=2", `home.phone="0700"`, `home.people=[{"name":"Ann","age":30},{"name":"Bob","age":30}]`))
		correct := func(text string) {
			t.Helper()
			if _, err := v.s.Correct(as(t, "mia"), "r1", patch("*", text)); err != nil {
				t.Fatal(err, codes(err))
			}
		}
		correct(`{"responses":{"home":{"cost":3,"fuel":["gas","wood"],"people":[{"name":"Ann","age":31}]}}}`)
		is("corrected", "r1", "age=31/0 cost=3/0 fuel=gas0/0 fuel=wood0/0 ok=true1/0 size=4/0 yearly=36/0")
		correct(`{"language":"sw"}`)
		is("corrected beside its answers", "r1", "age=31/0 cost=3/0 fuel=gas0/0 fuel=wood0/0 ok=true1/0 size=4/0 yearly=36/0")
		next := draft("r2", 1)
		next.Supersedes = "r1"
		v.submit(t, "ann", next)
		is("replaced", "r1", "")
		is("in its place", "r2", "fuel=wood0/0 ok=true1/0 size=4/0")
		if _, err := v.s.Redact(as(t, "owner"), "r2", "*", "wrong household"); err != nil {
			t.Fatal(err, codes(err))
		}
		is("taken out", "r2", "")
		v.submit(t, "ann", draft("r3", 3))
		v.submit(t, "ann", draft("r4", 4))
		v.erase(t, "did:ixo:household/3")
		is("erased", "r3", "")
		is("beside an erased one", "r4", "fuel=wood0/0 ok=true1/0 size=4/0")
		o, err := v.surveys.Open(as(t, "owner"), "s")
		if err != nil {
			t.Fatal(err)
		}
		if err := response.RemoveAll(t.Context(), d, o.NID); err != nil {
			t.Fatal(err)
		}
		if n := v.count(t, "answers"); n != 0 {
			t.Errorf("%d rows are left of nothing", n)
		}
	})
}

// TestTypeBefore: responses from before there were rows get theirs, once, and
// those that have none any more stay so.
func TestTypeBefore(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		v := newEnv(t, d)
		v.start(t, homeSurvey)
		for i := range 5 {
			v.submit(t, "ann", draft(fmt.Sprint("r", i), i, fmt.Sprintf("home.size=%d", i+1)))
		}
		next := draft("r9", 0)
		next.Supersedes = "r0"
		v.submit(t, "ann", next)
		v.erase(t, "did:ixo:household/1")
		before := v.typed(t, "r4")
		for _, sql := range []string{`DELETE FROM answers`, `UPDATE responses SET typed = 0`} {
			if _, err := d.Exec(t.Context(), sql); err != nil {
				t.Fatal(err)
			}
		}
		if got := v.listed(t, `eq(responses.home.size,3)`); got != "r2" {
			t.Errorf("before the rows are made the filter finds %q", got)
		}
		for range 2 {
			for after, n := int64(0), 1; n > 0; {
				var err error
				if after, n, err = response.TypeSome(t.Context(), v.s, after, 2); err != nil {
					t.Fatal(err)
				}
			}
			if got := v.typed(t, "r4"); got != before || before == "" {
				t.Errorf("rows = %q, want %q", got, before)
			}
			if got := v.typed(t, "r0") + v.typed(t, "r1"); got != "" {
				t.Errorf("rows of a replaced and an erased response: %q", got)
			}
		}
		rows, err := d.Query(t.Context(), `SELECT typed FROM responses ORDER BY response_id`)
		got, err := db.Collect(rows, err, "typed", db.Column[int64])
		if want := []int64{2, 2, 1, 1, 1, 1}; err != nil || !slices.Equal(got, want) {
			t.Errorf("typed = %v, %v; want %v", got, err, want)
		}
	})
}

// listed are the ids of the responses that fit a filter, in two pages and more.
func (v *env) listed(t testing.TB, filter string) string {
	t.Helper()
	var ids []string
	for path := "/v1/surveys/s/responses?limit=2&fields=responseId&filter=" + url.QueryEscape(filter); path != ""; {
		w := v.send(t, "reader", "GET "+path, "")
		var page struct {
			Items []struct{ ResponseID string }
			Page  struct {
				HasMore bool
				Next    string
			}
		}
		if err := json.Unmarshal(w.Body.Bytes(), &page, json.MatchCaseInsensitiveNames(true)); err != nil || w.Code != 200 {
			t.Fatalf("%s = %d %s, %v", path, w.Code, w.Body, err)
		}
		for _, it := range page.Items {
			ids = append(ids, it.ResponseID)
		}
		if path = ""; page.Page.HasMore {
			path = page.Page.Next
		}
	}
	return strings.Join(ids, " ")
}

// TestFilterByRows: a filter finds the same with rows as without, also what was
// replaced and what was erased.
func TestFilterByRows(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		v := newEnv(t, d)
		v.start(t, homeSurvey)
		rnd := rand.New(rand.NewPCG(1, 2))
		fuels := []string{`["wood"]`, `["wood","gas"]`, `["charcoal"]`, ``}
		for i := range 40 {
			v.submit(t, "ann", draft(fmt.Sprint("r", i), i, fmt.Sprintf("home.size=%d", 1+rnd.IntN(4)), "home.fuel="+fuels[rnd.IntN(4)], fmt.Sprintf("home.cost=%d", rnd.IntN(9)),
				fmt.Sprintf(`home.people=[{"age":%d},{"age":%d}]`, rnd.IntN(3), rnd.IntN(3))))
		}
		again := draft("again", 7)
		again.Supersedes = "r7"
		v.submit(t, "ann", again)
		v.erase(t, "did:ixo:household/8")
		filters := []string{
			`eq(responses.home.size,3)`, `eq(responses.home.size,40)`, `eq(responses.home.fuel,gas)`, `in(responses.home.size,1,2)`, `gt(responses.home.cost,5)`, `le(responses.home.yearly,24)`,
			`and(eq(responses.home.size,2),eq(responses.home.fuel,wood))`, `and(gt(responses.home.cost,2),lt(responses.home.cost,5))`, `eq(responses.home.people.age,1)`,
			`or(eq(responses.home.size,1),eq(responses.home.fuel,gas))`, `not(eq(responses.home.size,1))`, `eq(responses.consent.ok,true)`,
			`and(eq(responses.home.size,2),eq(verification.status,superseded))`, `eq(responses.home.size,null)`, `eq(responses.home.fuel,3)`,
		}
		found := map[string]string{}
		for _, f := range filters {
			found[f] = v.listed(t, f)
		}
		if found[filters[0]] == "" || found[filters[1]] != "" {
			t.Errorf("found %q and %q", found[filters[0]], found[filters[1]])
		}
		for _, sql := range []string{`DELETE FROM answers`, `UPDATE responses SET typed = 0`} { // now all are looked at
			if _, err := d.Exec(t.Context(), sql); err != nil {
				t.Fatal(err)
			}
		}
		for _, f := range filters {
			if want := v.listed(t, f); found[f] != want {
				t.Errorf("%s finds %s, want %s", f, found[f], want)
			}
		}
	})
}
