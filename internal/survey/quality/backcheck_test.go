package quality_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/go-json-experiment/json"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
	"github.com/hearth-dmrv/hearth/internal/order"
	"github.com/hearth-dmrv/hearth/internal/survey/form"
	"github.com/hearth-dmrv/hearth/internal/survey/quality"
	"github.com/hearth-dmrv/hearth/internal/survey/surveytest"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// crew sends 12 interviews of ann and 6 of ben, one of them partial.
func (v *env) crew(t testing.TB) {
	t.Helper()
	v.Start(t, "ws", "s", 1)
	for i := range 18 {
		in := surveytest.Interview{ID: fmt.Sprintf("r%02d", i), Household: i, Answers: surveytest.Home(map[string]any{"name": "Mary", "phone": "0700111222"})}
		if i%3 == 2 {
			in.Collector = "ben"
		}
		v.Submit(t, "ws", "s", in)
	}
	v.Submit(t, "ws", "s", surveytest.Interview{ID: "part", Household: 99, Partial: true, Answers: map[string]map[string]any{"home": {"size": 1}}})
}

func (v *env) backChecks(t testing.TB, query string) []quality.BackCheck {
	t.Helper()
	var out []quality.BackCheck
	for cursor := ""; ; {
		var p struct {
			Items []quality.BackCheck `json:"items"`
			Page  web.PageInfo        `json:"page"`
		}
		v.Must(t, "ws owner", "GET /v1/surveys/s/back-checks?limit=2"+query+cursor, "", &p)
		out = append(out, p.Items...)
		if !p.Page.HasMore {
			return out
		}
		cursor = "&cursor=" + p.Page.NextCursor
	}
}

func ids(list []quality.BackCheck) string {
	var out []string
	for _, b := range list {
		out = append(out, b.ResponseID)
	}
	return strings.Join(out, " ")
}

func TestDraw(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		v := newEnv(t, d)
		v.crew(t)
		ctx := surveytest.As(t.Context(), "ws", "owner")
		r, err := v.s.Draw(ctx, "s", quality.DrawDraft{Seed: "lottery", Share: 0.25, PerCollector: 2})
		if err != nil {
			t.Fatal(err)
		}
		if got := r.Value; r.Status != 201 || got.Population != 18 || got.Drawn != 5 ||
			!slices.Equal(got.Collectors, []quality.DrawStratum{{Collector: "did:key:ann", Population: 12, Drawn: 3}, {Collector: "did:key:ben", Population: 6, Drawn: 2}}) {
			t.Errorf("draw = %d %+v", r.Status, got)
		}
		if got := strings.Fields(ids(v.backChecks(t, ""))); !slices.IsSortedFunc(got, func(a, b string) int {
			return strings.Compare(quality.Rank("lottery\x1f"+r.Value.Salt, a), quality.Rank("lottery\x1f"+r.Value.Salt, b))
		}) {
			t.Errorf("drawn = %s, want the lowest ranks first", got)
		}
		v.redraw(t)
		if b := v.report(t).BackChecks; b.Drawn != 5 || b.Done != 0 {
			t.Errorf("report = %+v", b)
		}
		if _, err := v.s.Draw(ctx, "s", quality.DrawDraft{Seed: "lottery", Share: 0.5}); codeOf(err) != "DRAW_EXISTS" {
			t.Errorf("another draw of the seed = %v", err)
		}
		if _, err := v.s.Draw(surveytest.As(t.Context(), "ws", "stranger"), "s", quality.DrawDraft{Seed: "x", Size: 1}); codeOf(err) != "SURVEY_NOT_FOUND" {
			t.Errorf("of another project = %v", err)
		}
		if _, err := v.s.Draw(ctx, "s", quality.DrawDraft{Seed: "x", Size: 1, VerifiedOnly: true}); codeOf(err) != "NOTHING_TO_DRAW" {
			t.Errorf("of verified ones, of which there are none = %v, want NOTHING_TO_DRAW", err)
		}
		if r, err := v.s.Draw(ctx, "s", quality.DrawDraft{Seed: "x", Size: 1}); err != nil || r.Status != 201 {
			t.Errorf("with the seed of the draw that was refused = %d, %v, want a new draw", r.Status, err)
		}
	})
}

// redraw: the same draw at once and after a failure draws the same, and counts
// it once; what came meanwhile is not drawn.
func (v *env) redraw(t *testing.T) {
	t.Helper()
	v.Submit(t, "ws", "s", surveytest.Interview{ID: "late", Household: 1000, Answers: surveytest.Home(nil)})
	want := ids(v.backChecks(t, ""))
	if err := quality.Unready(t.Context(), v.DB); err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			r, err := v.s.Draw(surveytest.As(t.Context(), "ws", "owner"), "s", quality.DrawDraft{Seed: "lottery", Share: 0.25, PerCollector: 2})
			if err != nil || r.Value.Population != 18 || r.Value.Drawn != 5 || r.Value.By != "did:key:owner" {
				t.Errorf("again = %+v %v", r.Value, err)
			}
		})
	}
	wg.Wait()
	got, sorted := strings.Fields(ids(v.backChecks(t, ""))), strings.Fields(want)
	slices.Sort(got)
	slices.Sort(sorted)
	if !slices.Equal(got, sorted) {
		t.Errorf("again = %v, want %v", got, sorted)
	}
}

// Ranks do not depend on what else there is.
func TestDrawIsRanking(t *testing.T) {
	t.Parallel()
	v := newEnv(t, dbtest.SQLite(t))
	v.crew(t)
	r, err := v.s.Draw(surveytest.As(t.Context(), "ws", "owner"), "s", quality.DrawDraft{Seed: "z", Size: 9})
	if err != nil || len(r.Value.Salt) < 26 {
		t.Fatalf("draw = %+v, %v; want one with a salt of 128 bits", r.Value, err)
	}
	drawn := map[string]bool{}
	for _, b := range v.backChecks(t, "") {
		drawn[b.ResponseID] = true
	}
	for part, n := range map[int]int{0: 6, 1: 3} {
		l := &order.Lowest[quality.Ranked]{N: n}
		for i := range 18 {
			if id := fmt.Sprintf("r%02d", i); (i%3 == 2) == (part == 1) {
				l.Add(quality.Ranked{Rank: quality.Rank("z\x1f"+r.Value.Salt, id), ID: id})
			}
		}
		for _, r := range l.Kept() {
			if !drawn[r.ID] {
				t.Errorf("%s was not drawn", r.ID)
			}
		}
	}
	if len(drawn) != 9 {
		t.Errorf("%d drawn, want 9", len(drawn))
	}
}

func object(t testing.TB, text string) form.Object {
	t.Helper()
	var o form.Object
	if err := json.Unmarshal([]byte(text), &o); err != nil {
		t.Fatal(err)
	}
	return o
}

func TestBackChecks(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		v := newEnv(t, d)
		v.crew(t)
		ctx := surveytest.As(t.Context(), "ws", "owner")
		if _, err := v.s.Draw(ctx, "s", quality.DrawDraft{Seed: "lottery", Share: 0.25, PerCollector: 2}); err != nil {
			t.Fatal(err)
		}
		list := v.backChecks(t, "&state=drawn")
		var of [2]*quality.BackCheck // one of ann, one of ben
		for i := range list {
			of[map[string]int{"did:key:ann": 0, "did:key:ben": 1}[list[i].Collector]] = &list[i]
		}
		one, err := v.s.GetBackCheck(ctx, "s", of[0].BackCheckID)
		if err != nil || len(one.Ask) != 5 || one.Ask[0].Question != "/responses/home/size" {
			t.Fatalf("read = %+v %v", one, err)
		}
		v.whomToAsk(t, one)
		v.wrongAnswers(t, of[0].BackCheckID)
		answers := object(t, `{"home":{"size":5,"cost":99,"fuel":"lpg","name":"MARY","phone":"+254 700 111 223"}}`)
		r, err := v.s.Answer(ctx, "s", of[0].BackCheckID, quality.Outcome{Responses: answers})
		if err != nil {
			t.Fatal(err)
		}
		want := []quality.Compared{
			{Question: "/responses/home/size", Class: 1, Match: true},
			{Question: "/responses/home/cost", Class: 3},
			{Question: "/responses/home/fuel", Class: 2},
			{Question: "/responses/home/name", Class: 1, Match: true},
			{Question: "/responses/home/phone", Class: 1},
		}
		if got := r.Value; !slices.Equal(got.Questions, want) || got.Errors != 3 || got.Compared != 5 || got.By != "did:key:owner" || got.State != "done" {
			t.Errorf("answer = %+v", got)
		}
		if _, err := v.s.Answer(ctx, "s", of[0].BackCheckID, quality.Outcome{Responses: answers}); codeOf(err) != "BACK_CHECK_DONE" {
			t.Errorf("again = %v", err)
		}
		if _, err := v.s.Answer(ctx, "s", of[1].BackCheckID, quality.Outcome{Outcome: "refused"}); err != nil {
			t.Error(err)
		}
		v.checkRates(t)
		rest := v.backChecks(t, "&state=drawn")
		if w := v.Send(t, "ws owner", "DELETE /v1/responses/"+rest[0].ResponseID+"?reason=asked", "", "If-Match", `"1"`); w.Code >= 300 {
			t.Fatalf("redact = %d %s", w.Code, w.Body)
		}
		if _, err := v.s.Answer(ctx, "s", rest[0].BackCheckID, quality.Outcome{Responses: answers}); codeOf(err) != "RESPONSE_NOT_VERIFIABLE" {
			t.Errorf("after the answers were taken out = %v", err)
		}
		if got := v.backChecks(t, "&state=done"); len(got) != 1 || got[0].Errors != 3 || !slices.Equal(got[0].Questions, want) {
			t.Errorf("done = %+v", got)
		}
	})
}

func (v *env) wrongAnswers(t *testing.T, id string) {
	t.Helper()
	for _, tt := range []struct {
		who, body, code string
	}{
		{"vera", `{"responses":{"home":{"size":"five"}}}`, "BACK_CHECK_INVALID"},
		{"vera", `{"responses":{"home":{"fuel":"sun"}}}`, "BACK_CHECK_INVALID"},
		{"vera", `{"responses":{"home":{"serial":"x"}}}`, "BACK_CHECK_INVALID"},
		{"vera", `{"responses":{"nowhere":{"size":1}}}`, "BACK_CHECK_INVALID"},
		{"vera", `{"responses":{"home":[]}}`, "BACK_CHECK_INVALID"},
		{"vera", `{}`, "BACK_CHECK_INVALID"},
		{"vera", `{"outcome":"asleep"}`, "BACK_CHECK_INVALID"},
		{"vera", `{"outcome":"refused","responses":{"home":{"size":1}}}`, "BACK_CHECK_INVALID"},
		{"vera", `{"responses":{"home":{"size":5}},"by":"nobody"}`, "BACK_CHECK_INVALID"},
		{"vera", `{"responses":{"home":{"size":5}},"by":"did:key:ann"}`, "SCOPE_MISSING"}, // as anybody else: who collected it is not told
		{"owner", `{"responses":{"home":{"size":5}},"by":"did:key:ann"}`, "VERIFIER_IS_COLLECTOR"},
		{"member", `{"responses":{"home":{"size":5}}}`, "VERIFIER_IS_COLLECTOR"},
		{"ann", `{"responses":{"home":{"size":5}}}`, "VERIFIER_IS_COLLECTOR"},
		{"ann", `{"responses":{"home":{"size":5}},"by":"did:key:nobody"}`, "VERIFIER_IS_COLLECTOR"},
		{"vera", `{"responses":{"home":{"size":5}},"by":"did:key:nobody"}`, "SCOPE_MISSING"},
		{"reader", `{"responses":{"home":{"size":5}}}`, "SCOPE_MISSING"},
		{"stranger", `{"responses":{"home":{"size":5}}}`, "SURVEY_NOT_FOUND"},
	} {
		w := v.Send(t, "ws "+tt.who, "POST /v1/surveys/s/back-checks/"+id, tt.body)
		if !strings.Contains(w.Body.String(), `"`+tt.code+`"`) {
			t.Errorf("%s %s = %d %s, want %s", tt.who, tt.body, w.Code, w.Body, tt.code)
		}
	}
	for _, id := range []string{"bck_1", "x", "bck_", "bck_99999999999999999999"} {
		if w := v.Send(t, "ws vera", "GET /v1/surveys/s/back-checks/"+id, ""); w.Code != 404 || !strings.Contains(w.Body.String(), "BACK_CHECK_NOT_FOUND") {
			t.Errorf("%s = %d %s", id, w.Code, w.Body)
		}
	}
}

func (v *env) checkRates(t *testing.T) {
	t.Helper()
	r := v.report(t)
	want := []quality.ClassReport{{Class: 1, Compared: 3, Errors: 1, Rate: 0.333}, {Class: 2, Compared: 1, Errors: 1, Rate: 1}, {Class: 3, Compared: 1, Errors: 1, Rate: 1}}
	if r.BackChecks.Drawn != 5 || r.BackChecks.Done != 2 || !slices.Equal(r.BackChecks.Classes, want) {
		t.Errorf("back-checks = %+v", r.BackChecks)
	}
	for _, c := range r.Collectors {
		if b := c.BackChecks; b == nil || b.Done != 1 || (c.Collector == "did:key:ben") != (b.Classes[0].Compared == 0) {
			t.Errorf("%s = %+v", c.Collector, b)
		}
	}
}

// whomToAsk: a back-check says what to choose from, and names the household as
// the read of its response does.
func (v *env) whomToAsk(t *testing.T, b *quality.BackCheck) {
	t.Helper()
	if o := b.Ask[2].Options; len(o) != 3 || o[0].Value != "wood" || len(b.Ask[0].Options) != 0 {
		t.Errorf("ask = %+v, want the options of the fuel", b.Ask)
	}
	v.Must(t, "ws owner", "GET "+b.Links.Template, "", nil)
	for _, who := range []string{"owner", "reader", "vera", "ann", "ben"} {
		var check, read struct {
			HouseholdID string `json:"householdId"`
		}
		v.Must(t, "ws "+who, "GET "+b.Links.Self, "", &check)
		v.Must(t, "ws "+who, "GET "+b.Links.Response, "", &read)
		known := strings.HasPrefix(check.HouseholdID, "did:")
		if check != read || known != (who == "owner" || who == "ann") {
			t.Errorf("%s sees %q, and %q in the response", who, check.HouseholdID, read.HouseholdID)
		}
	}
}
