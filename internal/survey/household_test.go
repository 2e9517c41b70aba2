package survey_test

import (
	"context"
	"encoding/base64"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
	"github.com/hearth-dmrv/hearth/internal/survey"
)

func brokenProject(err error) func(context.Context, db.Querier, string, string) (bool, bool, error) {
	return func(context.Context, db.Querier, string, string) (bool, bool, error) { return false, false, err }
}

func quote(s string) (string, error) {
	b, err := json.Marshal(s)
	return string(b), err
}

// show is a tally in a few letters.
func show(t survey.Tally) string {
	return fmt.Sprintf("d%d c%d ok%d part%d v%d rej%d f%d ref%d un%d", t.Drawn, t.Contacted, t.Completed, t.Partial, t.Verified, t.Rejected, t.Flagged, t.Refused, t.Unreachable)
}

func (v *env) progress(t testing.TB, ws, id string, round int) *survey.Report {
	t.Helper()
	p, err := v.s.Progress(as(t, ws, "owner"), id, round)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestMergeHouseholds(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		v := newEnv(t, d)
		id := v.create(t, "ws", open)
		place := home(2, "urban", "comparison")
		place.Location = &survey.Location{Lat: -1.25, Lon: 36.5}
		if m := v.upload(t, "ws", id, home(1, "rural", "adopter"), place); !reflect.DeepEqual(*m, survey.Merged{Added: 2, Listed: 2}) {
			t.Errorf("first upload = %+v", m)
		}
		if m := v.upload(t, "ws", id, place, home(1, "rural", "adopter")); !reflect.DeepEqual(*m, survey.Merged{Unchanged: 2, Listed: 2}) {
			t.Errorf("the same again = %+v", m)
		}
		area := "Kibera"
		only := survey.HouseholdDraft{HouseholdID: place.HouseholdID, Area: &area} // the rest stays
		if m := v.upload(t, "ws", id, only, home(3, "", "")); !reflect.DeepEqual(*m, survey.Merged{Added: 1, Changed: 1, Listed: 3}) {
			t.Errorf("a change = %+v", m)
		}
		r, err := v.s.GetHousehold(as(t, "ws", "owner"), id, place.HouseholdID)
		if h := r.Value; err != nil || h.Area != area || h.Stratum != "urban" || h.Group != "comparison" || h.Location == nil || *h.Location != *place.Location || h.Revision != 2 || h.Outcome != "listed" {
			t.Errorf("household = %+v, %v", r.Value, err)
		}
		v.upload(t, "ws", id, home(1, "urban", "comparison")) // moves between counters
		p := v.progress(t, "ws", id, 0)
		if p.Drawn != 3 || p.ByStratum["rural"].Drawn != 0 || p.ByStratum["urban"].Drawn != 2 || p.ByGroup["adopter"].Drawn != 0 || p.ByGroup["comparison"].Drawn != 2 {
			t.Errorf("progress = %+v", p)
		}
		if got := v.events(t, "ws"); strings.Count(got, "survey.households_changed") != 3 {
			t.Errorf("events = %s, want one for each upload that changed something", got)
		}
	})
}

func TestUploadRules(t *testing.T) {
	t.Parallel()
	v := newEnv(t, dbtest.SQLite(t))
	ctx := as(t, "ws", "owner")
	id := v.create(t, "ws", with(t, "sampling.strata", `[{"name":"a"},{"name":"b"}]`, "modes", `["web"]`))
	var many []survey.HouseholdDraft
	for i := range 1001 {
		many = append(many, home(i, "a", ""))
	}
	bad := survey.HouseholdDraft{HouseholdID: "x", Collector: ptr("y"), Area: ptr(strings.Repeat("x", 101)), Location: &survey.Location{Lat: 91}}
	for _, tt := range []struct {
		name  string
		items []survey.HouseholdDraft
		want  string
	}{
		{"none", nil, "/items required"},
		{"too many", many, "/items too_many"},
		{"twice", []survey.HouseholdDraft{home(1, "a", ""), home(1, "a", "")}, "/items/1/householdId duplicate"},
		{"unknown stratum", []survey.HouseholdDraft{home(1, "c", "")}, "/items/0/stratum unknown"},
		{"unknown group", []survey.HouseholdDraft{home(1, "a", "control")}, "/items/0/group not_allowed"},
		{"everything", []survey.HouseholdDraft{bad}, "/items/0/householdId invalid, /items/0/area too_long, /items/0/collector invalid, /items/0/location out_of_range"},
	} {
		_, err := v.s.AddHouseholds(ctx, id, survey.Upload{Items: tt.items})
		want(t, tt.name, err, "HOUSEHOLDS_INVALID")
		if got := codes(err); got != tt.want {
			t.Errorf("%s = %s, want %s", tt.name, got, tt.want)
		}
	}
	v.upload(t, "ws", id, many[:1000]...)
	// Without named strata there are at most 200.
	free := v.create(t, "ws", open)
	var strata []survey.HouseholdDraft
	for i := range 201 {
		strata = append(strata, home(i, fmt.Sprint(i), ""))
	}
	_, err := v.s.AddHouseholds(ctx, free, survey.Upload{Items: strata})
	if got := codes(err); got != "/items too_many" {
		t.Errorf("201 strata = %v %s", err, got)
	}
	v.upload(t, "ws", free, strata[:200]...)
	_, err = v.s.AddHouseholds(ctx, free, survey.Upload{Items: strata[200:]})
	want(t, "one more stratum", err, "HOUSEHOLDS_INVALID")
}

func ptr(s string) *string { return &s }

// While a campaign runs households may come, but not change their place.
func TestListWhileRunning(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		v := newEnv(t, d)
		ctx := as(t, "ws", "owner")
		id := v.create(t, "ws", open)
		v.upload(t, "ws", id, home(1, "a", "adopter"))
		v.move(t, "ws", id, "activate")
		v.upload(t, "ws", id, home(2, "b", "adopter"), survey.HouseholdDraft{HouseholdID: home(1, "", "").HouseholdID, Collector: ptr("did:ixo:agent/1")})
		_, err := v.s.AddHouseholds(ctx, id, survey.Upload{Items: []survey.HouseholdDraft{home(3, "a", ""), home(1, "b", "adopter")}})
		want(t, "another stratum", err, "SURVEY_LOCKED")
		if p := v.progress(t, "ws", id, 0); p.Drawn != 2 {
			t.Errorf("drawn = %d after a refused upload, want 2", p.Drawn)
		}
		_, err = v.s.RemoveHousehold(ctx, id, home(1, "", "").HouseholdID, "*")
		want(t, "remove", err, "SURVEY_LOCKED")
		_, err = v.s.PatchHousehold(ctx, id, home(1, "", "").HouseholdID, "*", []byte(`{"group":"comparison"}`))
		want(t, "another group", err, "SURVEY_LOCKED")
		v.move(t, "ws", id, "close")
		_, err = v.s.AddHouseholds(ctx, id, survey.Upload{Items: []survey.HouseholdDraft{home(9, "a", "")}})
		want(t, "upload to a closed one", err, "SURVEY_LOCKED")
	})
}

func TestOutcomesAndCounts(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		v := newEnv(t, d)
		ctx := as(t, "ws", "collector")
		id := v.create(t, "ws", open)
		v.upload(t, "ws", id, home(1, "a", "adopter"), home(2, "a", "comparison"), home(3, "b", "adopter"))
		set := func(n int, outcome, code string) {
			t.Helper()
			_, err := v.s.SetOutcome(ctx, id, home(n, "", "").HouseholdID, survey.OutcomeChange{Outcome: outcome})
			want(t, fmt.Sprintf("outcome of %d", n), err, code)
		}
		set(1, "contacted", "SURVEY_NOT_ACTIVE")
		v.move(t, "ws", id, "activate")
		set(1, "contacted", "")
		set(1, "refused", "")
		set(1, "refused", "")
		set(2, "unreachable", "")
		set(3, "contacted", "")
		set(4, "contacted", "HOUSEHOLD_NOT_LISTED")
		set(1, "completed", "HOUSEHOLDS_INVALID")
		respond := func(n int, dl survey.Delta) {
			t.Helper()
			o, err := v.s.Open(ctx, id)
			if err != nil {
				t.Fatal(err)
			}
			err = d.InTx(ctx, func(tx *db.Tx) error {
				one := dl
				h, err := v.s.Household(ctx, tx, o, home(n, "", "").HouseholdID)
				if err != nil {
					return err
				}
				one.Round = o.Round
				if h != nil {
					one.Household, one.Stratum, one.Group = h, h.Stratum, h.Group
				}
				return v.s.Count(ctx, tx, o, one)
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		respond(3, survey.Delta{Completed: 1, Standing: survey.Answered})              // was contacted, is completed now
		respond(2, survey.Delta{Partial: 1, Standing: survey.Partly})                  // was unreachable
		respond(99, survey.Delta{Completed: 1, Flagged: 1, Standing: survey.Answered}) // not on the list
		respond(3, survey.Delta{Verified: 1})
		set(3, "refused", "") // stays completed
		p := v.progress(t, "ws", id, 1)
		for name, got := range map[string]string{
			"all":           show(p.SurveyTally),
			"a":             show(p.ByStratum["a"]),
			"b":             show(p.ByStratum["b"]),
			"adopter":       show(p.ByGroup["adopter"]),
			"comparison":    show(p.ByGroup["comparison"]),
			"in the record": show(v.get(t, "ws", id).Progress.SurveyTally),
		} {
			wanted := map[string]string{
				"all":           "d3 c4 ok2 part1 v1 rej0 f1 ref1 un0",
				"a":             "d2 c2 ok0 part1 v0 rej0 f0 ref1 un0",
				"b":             "d1 c1 ok1 part0 v1 rej0 f0 ref0 un0",
				"adopter":       "d2 c2 ok1 part0 v1 rej0 f0 ref1 un0",
				"comparison":    "d1 c1 ok0 part1 v0 rej0 f0 ref0 un0",
				"in the record": "d3 c4 ok2 part1 v1 rej0 f1 ref1 un0",
			}[name]
			if got != wanted {
				t.Errorf("progress of %s = %s, want %s", name, got, wanted)
			}
		}
		if len(p.Cells) != 4 {
			t.Errorf("cells = %+v", p.Cells)
		}
		// A new round begins at nothing; the old one stays.
		if _, err := v.s.OpenRound(as(t, "ws", "owner"), id, "", survey.NextRound{Name: "two"}); err != nil {
			t.Fatal(err)
		}
		if got := show(v.progress(t, "ws", id, 0).SurveyTally); got != "d3 c0 ok0 part0 v0 rej0 f0 ref0 un0" {
			t.Errorf("round 2 = %s", got)
		}
		if got := show(v.progress(t, "ws", id, 1).SurveyTally); got != "d3 c4 ok2 part1 v1 rej0 f1 ref1 un0" {
			t.Errorf("round 1 = %s", got)
		}
		set(3, "contacted", "")
		if got := show(v.progress(t, "ws", id, 2).SurveyTally); got != "d3 c1 ok0 part0 v0 rej0 f0 ref0 un0" {
			t.Errorf("round 2 = %s", got)
		}
		_, err := v.s.Progress(ctx, id, 3)
		want(t, "round 3", err, "ROUND_NOT_FOUND")
	})
}

// Many responses at once are all counted, whatever rows they meet in.
func TestCountInACrowd(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		v := newEnv(t, d)
		id := v.start(t, "ws", open)
		ctx := as(t, "ws", "owner")
		o, err := v.s.Open(ctx, id)
		if err != nil {
			t.Fatal(err)
		}
		got := crowd(64, func(i int) error {
			return d.InTx(ctx, func(tx *db.Tx) error {
				a, b := survey.Delta{Round: 1, Stratum: "a", Completed: 1}, survey.Delta{Round: 1, Stratum: "b", Group: "adopter", Verified: 1}
				if i%2 == 0 {
					a, b = b, a
				}
				return v.s.Count(ctx, tx, o, a, b, a)
			})
		})
		if got["ok"] != 64 {
			t.Fatalf("counts = %v", got)
		}
		p := v.progress(t, "ws", id, 1)
		if p.Completed != 96 || p.Verified != 96 {
			t.Errorf("completed %d, verified %d, want 96 and 96", p.Completed, p.Verified)
		}
	})
}

// Uploads and steps at once leave counters that tell the truth.
func TestUploadsInACrowd(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		v := newEnv(t, d)
		id := v.create(t, "ws", open)
		ctx := as(t, "ws", "owner")
		got := crowd(12, func(i int) error {
			var items []survey.HouseholdDraft
			for n := i * 5; n < i*5+20; n++ { // they overlap
				items = append(items, home(n, fmt.Sprint(i%3), "adopter"))
			}
			_, err := v.s.AddHouseholds(ctx, id, survey.Upload{Items: items})
			return err
		})
		if got["ok"] != 12 {
			t.Fatalf("uploads = %v", got)
		}
		var n int64
		if err := d.QueryRow(ctx, `SELECT count(*) FROM survey_households`).Scan(&n); err != nil || n != 75 {
			t.Errorf("%d households, %v, want 75", n, err)
		}
		p := v.progress(t, "ws", id, 0)
		if p.Drawn != n || p.ByGroup["adopter"].Drawn != n || p.ByStratum["0"].Drawn+p.ByStratum["1"].Drawn+p.ByStratum["2"].Drawn != n {
			t.Errorf("progress = %+v, want %d in all", p, n)
		}
		for stratum, tally := range p.ByStratum {
			var held int64
			if err := d.QueryRow(ctx, `SELECT count(*) FROM survey_households WHERE stratum = $1`, stratum).Scan(&held); err != nil || held != tally.Drawn {
				t.Errorf("stratum %s: %d held, %d counted, %v", stratum, held, tally.Drawn, err)
			}
		}
	})
}

// walk reads a list to its end.
func (v *env) walk(t testing.TB, who, path string) []string {
	t.Helper()
	var out []string
	cursor := ""
	for range 100 {
		w := v.send(t, who, "GET "+path+cursor, "")
		if w.Code != 200 {
			t.Fatalf("%s = %d %s", path, w.Code, w.Body)
		}
		var page struct {
			Items []struct {
				HouseholdID string `json:"householdId"`
				SurveyID    string `json:"surveyId"`
			} `json:"items"`
			Page struct {
				NextCursor string `json:"nextCursor"`
				HasMore    bool   `json:"hasMore"`
			} `json:"page"`
		}
		if err := json.Unmarshal(w.Body.Bytes(), &page); err != nil {
			t.Fatal(err)
		}
		for _, it := range page.Items {
			out = append(out, strings.TrimPrefix(it.HouseholdID, "did:ixo:household/")+it.SurveyID)
		}
		if !page.Page.HasMore {
			return out
		}
		cursor = "&cursor=" + page.Page.NextCursor
	}
	t.Fatal("the list has no end")
	return nil
}

func TestListsAndAssignments(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		v := newEnv(t, d)
		one, two, three := "did:ixo:agent/1", "did:ixo:agent/2", "did:ixo:agent/3"
		id := v.create(t, "ws", strings.Replace(open, `"collectors":[`,
			`"assignments":[{"collector":"`+one+`","strata":["a"],"load":3},{"collector":"`+two+`","strata":["a"]},{"collector":"`+three+`","households":["did:ixo:household/000007"]}],
			"collectors":["`+two+`","`+three+`",`, 1))
		var items []survey.HouseholdDraft
		for i := range 200 {
			h := home(i, []string{"a", "b"}[i%2], "adopter")
			if i < 4 {
				h.Collector = &two
			}
			items = append(items, h)
		}
		v.upload(t, "ws", id, items...)
		path := "/v1/surveys/" + id + "/households?limit=7"
		all := v.walk(t, "ws owner", path)
		if len(all) != 200 || all[0] != "000000" || all[199] != "000199" {
			t.Errorf("list of %d, %v", len(all), all)
		}
		if got := v.walk(t, "ws owner", path+"&stratum=b"); len(got) != 100 {
			t.Errorf("%d of stratum b", len(got))
		}
		mine, theirs := v.walk(t, "ws owner", path+"&collector="+one), v.walk(t, "ws owner", path+"&collector="+two)
		if len(mine)+len(theirs) != 98+4 { // 100 of stratum a, two of them named; two named of b
			t.Errorf("%d and %d households, want 102", len(mine), len(theirs))
		}
		if len(mine) < 60 || len(mine) > 86 { // three in four of 98
			t.Errorf("a load of 3 to 1 gives %d of 98", len(mine))
		}
		if strings.Join(theirs[:4], " ") != "000000 000001 000002 000003" {
			t.Errorf("named ones first: %v", theirs)
		}
		if got := v.walk(t, "ws owner", path+"&collector="+three); strings.Join(got, " ") != "000007" {
			t.Errorf("a list of one = %v", got)
		}
		if got := v.walk(t, "ws owner", path+"&collector=did:ixo:agent/9"); len(got) != 0 {
			t.Errorf("nobody = %v", got)
		}
		if w := v.send(t, "ws owner", "GET "+path+"&group=x", ""); w.Code != 400 {
			t.Errorf("unknown group = %d", w.Code)
		}
	})
}

// Where people live is for those who visit them.
func TestMaskedHouseholds(t *testing.T) {
	t.Parallel()
	v := newEnv(t, dbtest.SQLite(t))
	id := v.create(t, "ws", strings.Replace(open, "did:ixo:agent/1", "did:key:collector", 1))
	if w := v.send(t, "ws owner", "POST /v1/surveys/"+id+"/households", `{"items":[{"householdId":"did:ixo:household/1","location":{"lat":1,"lon":2},"attributes":{"size":4}}]}`); w.Code != 200 {
		t.Fatalf("upload = %d %s", w.Code, w.Body)
	}
	v.send(t, "ws owner", "PUT /v1/surveys/"+id+"/assignments", `{"items":[{"collector":"did:key:collector","households":["did:ixo:household/1"]}]}`, "If-Match", "*")
	for _, path := range []string{"", "/assignments", "/households?limit=1", "/history/2"} {
		for who, shown := range map[string]bool{"ws owner": true, "ws supervisor": true, "ws collector": true, "ws mate": false, "ws reader": false} {
			w := v.send(t, who, "GET /v1/surveys/"+id+path, "")
			if got := strings.Contains(w.Body.String(), `"did:ixo:household/1"`); w.Code != 200 || got != shown {
				t.Errorf("%s by %s = %d %s, want the household: %v", path, who, w.Code, w.Body, shown)
			}
		}
	}
	if w := v.send(t, "ws reader", "GET /v1/surveys/"+id+"/households/did:ixo:household%2F1", ""); w.Code != 400 {
		t.Errorf("a household by its DID = %d %s, want 400", w.Code, w.Body)
	}
	for _, path := range []string{"/households"} {
		for who, shown := range map[string]bool{"ws owner": true, "ws supervisor": true, "ws collector": true, "ws mate": false, "ws reader": false} {
			w := v.send(t, who, "GET /v1/surveys/"+id+path, "")
			if got := strings.Contains(w.Body.String(), `"lat"`) && strings.Contains(w.Body.String(), `"size"`); w.Code != 200 || got != shown {
				t.Errorf("%s by %s = %d %s", path, who, w.Code, w.Body)
			}
		}
	}
}

// A collector whom the survey does not name is a warning, for it may be somebody
// who helps out, and refused where only the collectors may send responses.
func TestHouseholdsHaveKnownCollectors(t *testing.T) {
	t.Parallel()
	v := newEnv(t, dbtest.SQLite(t))
	id := v.create(t, "ws", strings.Replace(open, "did:ixo:agent/1", "did:key:collector", 1))
	list, one := "POST /v1/surveys/"+id+"/households", "PATCH /v1/surveys/"+id+"/households/did:ixo:household%2F1"
	item := func(collector string) string {
		return `{"items":[{"householdId":"did:ixo:household/1","collector":"` + collector + `"}]}`
	}
	type call struct {
		who, request, body string
		code               int
		says               string // in the answer; else it has no warnings
	}
	run := func(calls ...call) {
		t.Helper()
		for _, c := range calls {
			w := v.send(t, c.who, c.request, c.body, "If-Match", "*")
			if w.Code != c.code || !strings.Contains(w.Body.String(), c.says) || c.says == "" && strings.Contains(w.Body.String(), "warnings") {
				t.Errorf("%s %s by %s = %d %s, want %d and %q", c.request, c.body, c.who, w.Code, w.Body, c.code, c.says)
			}
		}
	}
	run(
		call{"ws owner", list, item("did:key:collector"), 200, ""},
		call{"ws owner", list, item("did:key:typo"), 200, "does not name the collector did:key:typo"},
		call{"ws supervisor", one, `{"collector":"did:key:typos"}`, 200, "does not name the collector did:key:typos"},
		call{"ws owner", one, `{"area":"north"}`, 200, ""}, // it has its collector already
		call{"ws owner", "PATCH /v1/surveys/" + id, `{"strictCollectors":true}`, 200, `"strictCollectors":true`},
		call{"ws owner", one, `{"area":"south"}`, 200, ""},
		call{"ws owner", list, item("did:key:typo"), 400, `"/items/0/collector"`},
		call{"ws supervisor", one, `{"collector":"did:key:typo"}`, 400, `"/collector"`},
		call{"ws supervisor", one, `{"collector":"did:key:collector"}`, 200, ""},
		call{"ws supervisor", one, `{"collector":null}`, 200, ""},
	)
}

// TestMaskedPages: who may not know the households of a list can read all of
// it, page by page, and finds none of them in a cursor.
func TestMaskedPages(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		v := newEnv(t, d)
		id := v.create(t, "ws", open)
		items := make([]string, 7)
		for i := range items {
			items[i] = fmt.Sprintf(`{"householdId":"did:ixo:household/%d","collector":"did:key:ann"}`, i)
		}
		if w := v.send(t, "ws owner", "POST /v1/surveys/"+id+"/households", `{"items":[`+strings.Join(items, ",")+`]}`); w.Code != 200 {
			t.Fatalf("upload = %d %s", w.Code, w.Body)
		}
		seen := map[string]bool{}
		collector := ""
		for cursor := ""; ; {
			w := v.send(t, "ws reader", "GET /v1/surveys/"+id+"/households?limit=3&cursor="+cursor, "")
			var page struct {
				Items []survey.Household `json:"items"`
				Page  struct {
					Next string `json:"nextCursor"`
				} `json:"page"`
			}
			if err := json.Unmarshal(w.Body.Bytes(), &page); err != nil || w.Code != 200 {
				t.Fatalf("page = %d %s", w.Code, w.Body)
			}
			for _, h := range page.Items {
				seen[h.HouseholdID], collector = true, h.Collector
			}
			raw, _ := base64.RawURLEncoding.DecodeString(page.Page.Next)
			if strings.Contains(string(raw), "household/") {
				t.Errorf("cursor = %q names a household", raw)
			}
			if cursor = page.Page.Next; cursor == "" {
				break
			}
		}
		if len(seen) != 7 || !strings.HasPrefix(collector, "pe_") {
			t.Errorf("read %v, want 7 names", seen)
		}
		for who, want := range map[string]int{collector: 7, "did:key:ann": 0} {
			w := v.send(t, "ws reader", "GET /v1/surveys/"+id+"/households?collector="+who, "")
			if got := strings.Count(w.Body.String(), `"householdId"`); w.Code != 200 || got != want {
				t.Errorf("households of %s = %d %s, want %d", who, w.Code, w.Body, want)
			}
		}
	})
}
