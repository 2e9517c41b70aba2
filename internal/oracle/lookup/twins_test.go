package lookup_test

import (
	"context"
	stdjson "encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/hearth-dmrv/hearth/api"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/oracle/lookup"
	"github.com/hearth-dmrv/hearth/internal/oracle/tool"
	"github.com/hearth-dmrv/hearth/plugin"
)

// field are the twins the questions below are about.
var field = []lookup.Twin{
	twin("p1", "dao", "active", "", `{"metadata":{"name":"Kitui"}}`),
	twin("s1", "CookStove", "active", "p1", `{"properties":{"name":"Jiko one","district":"Machakos"}}`),
	twin("s2", "CookStove", "active", "p1", `{"properties":{"name":"Jiko two","district":"Machakos"}}`),
	twin("s3", "CookStove", "draft", "", `{"properties":{"location":{"district":"Kitui"}}}`),
	twin("p2", "dao", "active", "", `{"metadata":{"name":"Kwale East 2026"}}`),
	twin("d1", "CleanCookingDevice", "active", "p2", `{}`),
	twin("h1", "Household", "active", "", `{"metadata":{"name":"Mwende"},"properties":{"district":"machakos"}}`),
}

func twin(did, kind, status, project, body string) lookup.Twin {
	return lookup.Twin{DID: did, Type: kind, Status: status, Project: project, Body: jsontext.Value(body)}
}

// lists serves them two at a time, so that every answer is put together from pages.
func lists() lookup.Source {
	return lookup.Source{
		AsUser: func(ctx context.Context, _ string) (context.Context, error) { return ctx, nil },
		List: func(_ context.Context, l lookup.TwinList) ([]lookup.Twin, string, error) {
			from := 0
			if l.After != "" {
				var err error
				if from, err = strconv.Atoi(l.After); err != nil {
					return nil, "", tool.BadArgument("next", "The value must be a number.")
				}
			}
			var page []lookup.Twin
			for i := from; i < len(field); i++ {
				t := field[i]
				t.Place = strconv.Itoa(i + 1)
				ok := func(want, is string) bool { return want == "" || want == is }
				if !ok(l.Type, t.Type) || !ok(l.Status, t.Status) || !ok(l.Project, t.Project) || l.Protocol != "" && t.Type != "dao" {
					continue
				}
				if page = append(page, t); len(page) == 2 {
					return page, t.Place, nil
				}
			}
			return page, "", nil
		},
		TypesLike: func(_ context.Context, word string) ([]string, error) {
			var out []string
			for _, t := range field {
				if (strings.EqualFold(t.Type+"s", word) || strings.HasSuffix(t.Type, word)) && !slices.Contains(out, t.Type) {
					out = append(out, t.Type)
				}
			}
			return out, nil
		},
		Shorten: func(_ context.Context, body jsontext.Value) (jsontext.Value, error) { return body, nil },
	}
}

func ask(t *testing.T, name, args string, into any) error {
	t.Helper()
	out, err := call(t, lists(), name, args)
	if err == nil {
		err = json.Unmarshal([]byte(out), into)
	}
	return err
}

// call calls a tool of the plugins over s.
func call(t *testing.T, s lookup.Source, name, args string) (string, error) {
	t.Helper()
	for _, p := range []plugin.Plugin{lookup.NewTwins(s), lookup.NewSurveys(s)} {
		for _, one := range p.(plugin.Tools).Tools() {
			if one.Name == name {
				out, err := one.Run(t.Context(), plugin.Call{Args: []byte(args)})
				data, _ := out.(stdjson.RawMessage)
				return string(data), err
			}
		}
	}
	t.Fatalf("there is no tool %s", name)
	return "", nil
}

func TestCount(t *testing.T) {
	for _, c := range []struct{ args, want, how string }{
		{`{}`, "7", "all twins you may see"},
		{`{"type":"cookstoves"}`, "3", "type CookStove"},
		{`{"type":"CookStove","status":"active"}`, "2", "status active; type CookStove"},
		{`{"type":"Lamp"}`, "0", "type Lamp, which no twin has (there are "},
		{`{"type":"stoves","in":"Kwale"}`, "1", `in the project "Kwale East 2026" (p2); type CleanCookingDevice`},
		{`{"in":"Kwal"}`, "0", `in the district "Kwal", because no project has that name`},
		{`{"type":"cookstoves","in":"kitui"}`, "2", `in the project "kitui" (p1)`},
		{`{"in":"MACHAKOS"}`, "3", `in the district "MACHAKOS", because no project has that name`},
		{`{"name":"jiko"}`, "2", `"jiko" in the name`},
		{`{"by":"type"}`, "7 CookStove=3 dao=2 CleanCookingDevice=1 Household=1", "all twins you may see"},
		{`{"type":"CookStove","by":"district"}`, "3 Machakos=2 =1", "type CookStove"},
		{`{"query":"cookstoves","by":"project"}`, "3 p1=2 =1", "type CookStove"},
	} {
		var got lookup.Count
		if err := ask(t, "count_twins", c.args, &got); err != nil {
			t.Fatalf("%s: %v", c.args, err)
		}
		text := strconv.Itoa(got.Count)
		for _, g := range got.Groups {
			text += fmt.Sprintf(" %s=%d", g.Value, g.Count)
		}
		if text != c.want || !strings.Contains(got.How, c.how) {
			t.Errorf("%s = %s, %q; want %s, %q", c.args, text, got.How, c.want, c.how)
		}
	}
}

func TestCountRefuses(t *testing.T) {
	for _, by := range []string{"a.b.c", "colour", "properties.colour"} {
		if err := ask(t, "count_twins", fmt.Sprintf(`{"by":%q}`, by), &lookup.Count{}); err == nil || !strings.Contains(err.Error(), "by: ") {
			t.Errorf("by %s = %v; want a refusal of by", by, err)
		}
	}
}

// A search goes on where the page before ended, and shows nothing twice.
func TestSearchGoesOn(t *testing.T) {
	var seen []string
	for next, pages := "", 0; ; pages++ {
		var got lookup.Twins
		if err := ask(t, "search_twins", fmt.Sprintf(`{"limit":2,"next":%q}`, next), &got); err != nil {
			t.Fatal(err)
		}
		for _, one := range got.Twins {
			seen = append(seen, string(one))
		}
		if next = got.Next; !got.More || pages > 5 {
			break
		}
	}
	if len(seen) != len(field) || len(slices.Compact(slices.Sorted(slices.Values(seen)))) != len(field) {
		t.Errorf("the pages show %q; want each of %d twins once", seen, len(field))
	}
}

// A search by name says that it did not look at names the user may not see.
func TestPersonalNamesAreNotSearched(t *testing.T) {
	t.Parallel()
	s := lists()
	list := s.List
	s.List = func(ctx context.Context, l lookup.TwinList) ([]lookup.Twin, string, error) {
		page, next, err := list(ctx, l)
		if next == "" {
			page = append(page, twin("h2", "Household", "active", "", `{"properties":{},"withheld":["name","phone"]}`))
		}
		return page, next, err
	}
	for args, want := range map[string]bool{`{"name":"Amina"}`: true, `{"name":"Jiko"}`: true, `{}`: false, `{"name":"Amina","type":"dao"}`: true} {
		out, err := call(t, s, "search_twins", args)
		if told := strings.Contains(out, "The names of 1 others are personal"); err != nil || told != want {
			t.Errorf("%s = %s, %v, want that names were left out: %v", args, out, err, want)
		}
	}
}

// The progress of a survey is found by its name too.
func TestProgressByName(t *testing.T) {
	t.Parallel()
	s := lists()
	pages := []lookup.Surveys{
		{Surveys: []lookup.Survey{{ID: "srv_1", Name: "Baseline Kitui"}, {ID: "srv_2", Name: "Kwale"}}, More: true, Next: 1},
		{Surveys: []lookup.Survey{{ID: "srv_3", Name: "Kwale East"}, {ID: "srv_4", Name: "Kwale West"}}},
	}
	s.Surveys = func(_ context.Context, q lookup.SurveyQuery) (lookup.Surveys, error) { return pages[q.Next], nil }
	s.Progress = func(_ context.Context, id string, _ int) (any, error) {
		if !strings.HasPrefix(id, "srv_") {
			return nil, fault.New(fault.NotFound, "SURVEY_NOT_FOUND", "No survey has this id.")
		}
		return map[string]string{"survey": id}, nil
	}
	for name, want := range map[string]string{"srv_9": "srv_9", "baseline": "srv_1", "KWALE": "srv_2", "kwale west": "srv_4", "Kisumu": "No survey has this id or name", "": `"surveys":[{"survey":"srv_1","name":"Baseline Kitui","target":0`, " ": "newest active"} {
		args, err := json.Marshal(map[string]string{"survey": name})
		if err != nil {
			t.Fatal(err)
		}
		out, err := call(t, s, "survey_progress", string(args))
		if !strings.Contains(fmt.Sprint(out, err), want) {
			t.Errorf("progress of %q = %s, %v, want %s", name, out, err, want)
		}
	}
}

// A draft shows what would differ and changes nothing; a change takes just that, and
// nothing when the twin is another one by then.
func TestChange(t *testing.T) {
	t.Parallel()
	body := jsontext.Value(`{"did":"did:x:1","status":"active","properties":{"district":"Kitui","size":{"m2":40}},"metadata":{"name":"Home"}}`)
	var merge string
	s := lists()
	s.ReadTwin = func(context.Context, string) (jsontext.Value, error) { return body, nil }
	s.Change = func(_ context.Context, _ string, edit func(jsontext.Value) (jsontext.Value, error)) error {
		out, err := edit(body)
		merge = string(out)
		return err
	}
	out, err := call(t, s, "draft_twin_change", `{"did":"did:x:1","set":{"properties.district":"Makueni","properties.size.m2":41,"metadata.name":"Home","properties.roof":"tin"}}`)
	const changes = `"changes":[{"path":"properties.district","from":"Kitui","to":"Makueni"},{"path":"properties.roof","from":null,"to":"tin"},{"path":"properties.size.m2","from":40,"to":41}]`
	if err != nil || !strings.Contains(out, changes) || merge != "" {
		t.Fatalf("draft = %s, %v; changed by %q", out, err, merge)
	}
	if _, err := call(t, s, "change_twin", `{"did":"did:x:1",`+changes+`}`); err != nil || merge != `{"properties":{"district":"Makueni","roof":"tin","size":{"m2":41}}}` {
		t.Errorf("changed by %s, %v", merge, err)
	}
	for args, want := range map[string]string{
		`{"did":"did:x:1","changes":[{"path":"properties.district","from":"Machakos","to":"Makueni"}]}`: `"Kitui" now`,
		`{"did":"did:x:1","changes":[{"path":"status","from":"active","to":"deactivated"}]}`:            "want a path such as",
		`{"did":"did:x:1","changes":[{"path":"controllers.0","from":null,"to":"did:key:z"}]}`:           "want a path such as",
		`{"did":"did:x:1","changes":[{"path":"properties..x","from":null,"to":1}]}`:                     "want a path such as",
	} {
		if _, err := call(t, s, "change_twin", args); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s = %v, want %q", args, err, want)
		}
	}
	for _, one := range lookup.NewTwins(s).(plugin.Tools).Tools() {
		if one.ReadOnly == (one.Name == "change_twin") {
			t.Errorf("%s only reads: %v", one.Name, one.ReadOnly)
		}
	}
}

func num(v float64) *float64 { return &v }

// TestFigures has every figure come with its interval, n and method, or with why
// it has none.
func TestFigures(t *testing.T) {
	t.Parallel()
	s := lists()
	var scopes []string
	s.AsUser = func(ctx context.Context, scope string) (context.Context, error) {
		scopes = append(scopes, scope)
		return ctx, nil
	}
	s.Surveys = func(context.Context, lookup.SurveyQuery) (lookup.Surveys, error) {
		return lookup.Surveys{Surveys: []lookup.Survey{{ID: "srv_1", Name: "Monitoring Kitui"}}}, nil
	}
	s.Questions = func(_ context.Context, id string) ([]lookup.Asked, error) {
		if id != "srv_1" {
			return nil, fault.New(fault.NotFound, "SURVEY_NOT_FOUND", "No survey has this id.")
		}
		return []lookup.Asked{{Name: "use/daily", Label: "Is the stove used every day?"}, {Name: "use/fuel_week", Label: "Fuel in a week"}, {Name: "use/fuel_kind", Label: "Kind of fuel"}}, nil
	}
	n := 40
	s.Figures = func(_ context.Context, q lookup.FigureQuery) (*api.SurveyStatistics, map[string]string, error) {
		return &api.SurveyStatistics{
			SurveyID: q.Survey, Question: q.Question, Statistic: "proportion", Confidence: .9, Round: 1, Remarks: []string{"A remark."},
			Estimates: []api.SurveyEstimate{
				{Option: "true", Estimate: num(.8), Low: num(.7), High: num(.87), N: &n, Method: "wilson"},
				{Option: "true", Value: "Kitui", Estimate: num(.9), N: &n, NoInterval: "The list was made by hand."},
				{Option: "true", Value: "Kwale", Suppressed: true},
			},
		}, map[string]string{"true": "Yes"}, nil
	}
	for args, want := range map[string]string{
		`{"survey":"monitoring","question":"every day"}`: `"figures":[{"of":"Yes","estimate":"80.0 %","interval":"70.0 % to 87.0 %","n":"40","method":"wilson"},` +
			`{"of":"Yes, Kitui","estimate":"90.0 %","interval":"none: The list was made by hand.","n":"40","method":"no interval"},{"of":"Yes, Kwale","estimate":"not shown"`,
		`{"survey":"srv_1","question":"fuel week"}`: `"question":"use/fuel_week"`,
		`{"survey":"srv_1","question":"fuel"}`:      "Several questions have these words: use/fuel_week (Fuel in a week); use/fuel_kind",
		`{"survey":"srv_1"}`:                        "Name a question. There are: use/daily",
		`{"survey":"srv_1","question":"colour"}`:    "No question with figures has these words",
		`{"survey":"Kisumu","question":"fuel"}`:     "No survey has this id or name",
	} {
		out, err := call(t, s, "survey_statistics", args)
		if !strings.Contains(fmt.Sprint(out, err), want) {
			t.Errorf("%s = %s, %v, want %s", args, out, err, want)
		}
	}
	if scopes[0] != "analytics:read" || !slices.Contains(scopes, "surveys:read") {
		t.Errorf("asked for %v", scopes)
	}
}

func TestSampleSize(t *testing.T) {
	t.Parallel()
	s := lists()
	s.SampleSize = func(_ context.Context, d api.SampleDesignDraft) (*api.SampleDesign, error) {
		if *d.Confidence != .95 || *d.Precision != .1 || *d.ExpectedMean != .5 {
			return nil, fmt.Errorf("not the usual: %+v", d)
		}
		return &api.SampleDesign{Parameters: api.SampleParameters{ParameterType: "proportion", Confidence: .95, Population: d.Population, CalculatedSize: 357, DrawnSize: 420, DropoutRate: .15, DesignEffect: 1}}, nil
	}
	out, err := call(t, s, "sample_size", `{"population":5000}`)
	const want = `{"how":"357 responses are needed, so draw 420 households; of 5000 households; 95.0 % confidence; relative precision 10.0 %; expected proportion of 50.0 %; dropout 15.0 %; design effect 1","n":357,"draw":420,"interval":"45.0 % to 55.0 %"`
	if err != nil || !strings.HasPrefix(out, want) {
		t.Errorf("size = %s, %v, want %s", out, err, want)
	}
}

// TestToolsSayWhatTheyDo: what is marked to read only keeps nothing, and what keeps
// a draft says so.
func TestToolsSayWhatTheyDo(t *testing.T) {
	t.Parallel()
	var drafts, writes []string
	for _, p := range []plugin.Plugin{lookup.NewTwins(lists()), lookup.NewSurveys(lists())} {
		for _, one := range p.(plugin.Tools).Tools() { //nolint:forcetypeassert // both have tools
			switch {
			case one.Draft && !one.ReadOnly:
				drafts = append(drafts, one.Name)
			case !one.ReadOnly:
				writes = append(writes, one.Name)
			}
		}
	}
	if got, want := strings.Join(drafts, " ")+"; "+strings.Join(writes, " "), "interview_begin interview_answer; change_twin interview_submit"; got != want {
		t.Errorf("drafts and changes: %s, want %s", got, want)
	}
}
