package statistics_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
)

// refused is the words of a refusal.
func (v *env) refused(t *testing.T, id, query string, status int, wants ...string) {
	t.Helper()
	w := v.Send(t, "ws owner", "GET /v1/surveys/"+id+"/statistics?"+query, "")
	for _, want := range wants {
		if w.Code != status || !strings.Contains(w.Body.String(), want) {
			t.Errorf("%s = %d %s, want %d %s", query, w.Code, w.Body, status, want)
		}
	}
}

func TestJoinStrata(t *testing.T) {
	t.Parallel()
	v := newEnv(t, dbtest.SQLite(t))
	var homes []home
	for i := range 30 {
		h := home{ID: fmt.Sprintf("did:ixo:household/%d", i), Stratum: []string{"north", "east", "west"}[i%3]}
		if h.Stratum == "north" || h.Stratum == "west" && i > 20 || i == 1 {
			h.answers = map[string]any{"fuel": float64(i), "kind": "wood"}
		}
		homes = append(homes, h)
	}
	v.start(t, "s", `{"method":"stratified","size":30,"strata":[{"name":"north","population":100},{"name":"east","population":50},{"name":"west","population":200}],
		"totals":[{"by":"home/kind","values":{"wood":300,"gas":50}}],`+elsewhere+`}`, homes)
	v.ask(t, "s", 1, homes)
	v.refused(t, "s", "question=home/fuel", 422, "CELL_TOO_SMALL", "Send join=east,west.", `"join":"east,west"`)
	s := v.get(t, "owner", "s", "question=home/fuel&join=east,west")
	// 10 of north say 0, 3 … 27; those of east and west are 1, 23, 26 and 29.
	want := (100*13.5 + 250*(1.+23+26+29)/4) / 350
	if e := of(t, s, ""); math.Abs(number(e.Estimate)-want) > 1e-9 || number(e.Population) != 350 || e.Low == nil || s.Join != "east,west" || !strings.Contains(fmt.Sprint(s.Remarks), "east,west") {
		t.Errorf("joined %+v, want %v", s, want)
	}
	if by := v.get(t, "owner", "s", "question=home/fuel&join=east,west&by=stratum"); *of(t, by, "east").N != 1 || *of(t, by, "west").N != 3 {
		t.Errorf("by stratum %+v", by)
	}
	v.refused(t, "s", "question=home/fuel&join=east,west&adjust=poststrata", 422, "CELL_EMPTY", `"join":"gas,wood|east,west"`)
	fit := v.get(t, "owner", "s", query("question=home/fuel", "adjust=poststrata", "join=gas,wood|east,west"))
	if e := of(t, fit, ""); number(e.Population) != 350 {
		t.Errorf("fitted %+v", e)
	}
	for bad, want := range map[string]string{"east": "two or more cells", "east,south": "no stratum", "east,west|west,north": "twice"} {
		v.refused(t, "s", query("question=home/fuel", "join="+bad), 400, "query/join", want)
	}
}

func TestJoinClusters(t *testing.T) {
	t.Parallel()
	v := newEnv(t, dbtest.SQLite(t))
	var homes []home
	for i := range 16 {
		h := home{ID: fmt.Sprintf("did:ixo:household/%d", i), Cluster: fmt.Sprintf("v%d", i/4)}
		if i < 12 || i == 12 {
			h.answers = map[string]any{"fuel": float64(i)}
		}
		homes = append(homes, h)
	}
	v.start(t, "s", `{"method":"multistage","size":16,"stages":[{"unit":"village","units":40,"drawn":4},{"unit":"household"}],
		"clusters":[{"name":"v0","size":10},{"name":"v1","size":10},{"name":"v2","size":10},{"name":"v3","size":10}],`+elsewhere+`}`, homes)
	v.ask(t, "s", 1, homes)
	v.refused(t, "s", "question=home/fuel", 422, "CELL_TOO_SMALL", "Send join=v0,v3")
	// Forty villages of ten: v0 and v3 stand for twenty of them as one.
	e := of(t, v.get(t, "owner", "s", "question=home/fuel&join=v0,v3"), "")
	if want := ((0.+1+2+3+12)/5*200 + 5.5*100 + 9.5*100) / 400; math.Abs(number(e.Estimate)-want) > 1e-9 || number(e.Population) != 400 || number(e.DF) != 2 {
		t.Errorf("joined %+v, want %v", e, want)
	}
	v.Must(t, "ws owner", "POST /v1/surveys/s/households/did:ixo:household%2F13/outcome", `{"outcome":"refused"}`, nil)
	if _, err := v.DB.Exec(t.Context(), `UPDATE responses SET vstatus = 'rejected' WHERE response_id = 's-1-12'`); err != nil {
		t.Fatal(err)
	}
	v.refused(t, "s", "question=home/fuel", 422, "CELL_EMPTY", "Send join=v0,v3, or cell=stratum.")
	if e := of(t, v.get(t, "owner", "s", "question=home/fuel&cell=stratum"), ""); math.Abs(number(e.Population)-400) > 1e-9 {
		t.Errorf("in the stratum %+v", e)
	}
}

func TestRepeats(t *testing.T) {
	t.Parallel()
	v := newEnv(t, dbtest.SQLite(t))
	var homes []home
	for i := range 10 {
		people := []any{}
		for j := range i % 4 {
			people = append(people, map[string]any{"age": 10 * (j + 1), "cooks": j == 0})
		}
		homes = append(homes, home{ID: fmt.Sprintf("did:ixo:household/%d", i), answers: map[string]any{"size": 3, "people": people}})
	}
	v.start(t, "s", `{"method":"census"}`, homes)
	v.ask(t, "s", 1, homes)
	// 0, 1, 2, 3, 0, 1, 2, 3, 0 and 1 people.
	for asked, want := range map[string]float64{
		"question=home/people/age&repeat=count":                                   1.3,
		"question=home/people/age&repeat=sum":                                     (3*10 + 2*30 + 2*60) / 10.,
		"question=home/people/age&repeat=mean":                                    (3*10 + 2*15 + 2*20) / 7.,
		"question=home/people/age&repeat=sum&statistic=total":                     210,
		"question=home/people/cooks&repeat=count&option=true":                     .7,
		"question=home/people/cooks&repeat=mean":                                  (3 + 2./2 + 2./3) / 7,
		"question=home/people/age&repeat=count&statistic=ratio&per=home/size":     1.3 / 3,
		"question=home/people/age&repeat=count&statistic=quantile&q=0.5&by=group": 1,
	} {
		s := v.get(t, "owner", "s", asked)
		if e := of(t, s, ""); math.Abs(number(e.Estimate)-want) > 1e-9 || s.Repeat == "" {
			t.Errorf("%s = %+v, want %v", asked, e, want)
		}
	}
	for asked, want := range map[string]string{
		"question=home/people/age":                                        "several times",
		"question=home/people":                                            "home/people/age",
		"question=home":                                                   "has no answers itself",
		"question=home/size&repeat=sum":                                   "asked once",
		"question=home/people/age&repeat=all":                             "query/repeat",
		"question=home/people/age&repeat=count&option=3":                  "query/option",
		"question=home/people/cooks&repeat=count&option=no":               "true, false",
		"question=home/people/age&repeat=mean&statistic=proportion":       "query/statistic",
		"question=home/size&statistic=ratio&per=home/people/age":          "query/per",
		"question=home/size&by=home/people/cooks":                         "query/by",
		"question=home/since":                                             "dates",
		"question=home/size&statistic=proportion&option=NaN":              "query/option",
		"question=home/uses&bound=lower&statistic=proportion&interval=no": "query/interval",
	} {
		v.refused(t, "s", asked, 400, want)
	}
	v.refused(t, "s", "question=home/size&verified=true", 422, "verified yet")
	v.refused(t, "s", "question=home/size&by=stratum&compare=a,b", 422, "query/compare")
}

func TestTargetsAndPolicy(t *testing.T) {
	t.Parallel()
	v := newEnv(t, dbtest.SQLite(t))
	policy := strings.Replace(drawnTwo, `"parameterType":"mean"`, `"parameterType":"mean","onMiss":"upper","missLimit":0.5`, 1)
	v.start(t, "s", policy, twenty())
	v.ask(t, "s", 1, twenty())
	e := of(t, v.get(t, "owner", "s", "question=home/fuel"), "")
	if p := e.Precision; p.Status != "bound_used" || p.Policy != "upper" || number(p.Use) != number(e.High) || p.Why == "" {
		t.Errorf("precision %+v", p)
	}
	if p := of(t, v.get(t, "owner", "s", "question=home/uses"), "").Precision; p.Status != "parameter_mismatch" || p.Use != nil || !strings.Contains(p.Why, "mean") || !strings.Contains(p.Why, "proportion") {
		t.Errorf("a proportion for the target of a mean: %+v", p)
	}
	v.refused(t, "s", "question=home/fuel&bound=lower", 400, "query/bound", "upper")
	v.refused(t, "s", "question=home/uses&bound=upper", 400, "query/bound", "mean", "proportion")
	v.start(t, "far", strings.Replace(policy, "0.5", "0.12", 1), twenty())
	v.ask(t, "far", 1, twenty())
	if p := of(t, v.get(t, "owner", "far", "question=home/fuel"), "").Precision; p.Status != "precision_not_met" || p.Use != nil || !strings.Contains(p.Why, "0.12") {
		t.Errorf("beyond the limit: %+v", p)
	}
}

// TestTailOfTheTarget: the decision has the tail of the sampling, whatever interval the
// caller asks for.
func TestTailOfTheTarget(t *testing.T) {
	t.Parallel()
	v := newEnv(t, dbtest.SQLite(t))
	var absolute []float64
	for id, tail := range map[string]string{"two": "two", "one": "one"} {
		v.start(t, id, strings.Replace(drawnTwo, `"parameterType":"mean"`, `"parameterType":"mean","tail":"`+tail+`"`, 1), twenty())
		v.ask(t, id, 1, twenty())
		e := of(t, v.get(t, "owner", id, "question=home/fuel"), "")
		for _, asked := range []string{"one", "two"} {
			if p := of(t, v.get(t, "owner", id, query("question=home/fuel", "tail="+asked)), "").Precision; p.Absolute != e.Precision.Absolute || p.Status != e.Precision.Status {
				t.Errorf("tail %s: %+v for a caller who asks for %s, want %+v", tail, p, asked, e.Precision)
			}
		}
		absolute = append(absolute, e.Precision.Absolute)
	}
	if absolute[0] == absolute[1] {
		t.Errorf("one tail is as far off as two: %v", absolute)
	}
}

// TestCensusOfSome: who is not on the list of a census was not left out by chance.
func TestCensusOfSome(t *testing.T) {
	t.Parallel()
	v := newEnv(t, dbtest.SQLite(t))
	homes := twenty()
	for i := range homes {
		homes[i].Stratum = ""
	}
	for id, tt := range map[string]struct {
		sampling string
		listed   bool
		want     string
	}{
		"whole":      {`{"method":"census","population":20}`, true, ""},
		"part":       {`{"method":"census","population":5000}`, true, "its list has 20"},
		"enrolled":   {`{"method":"census","population":18}`, false, ""},
		"volunteers": {`{"method":"census","population":5000}`, false, "18 have answered without a list"},
	} {
		list := homes
		if !tt.listed {
			list = nil
		}
		v.start(t, id, tt.sampling, list)
		v.ask(t, id, 1, homes)
		s := v.get(t, "owner", id, "question=home/fuel")
		if e := of(t, s, ""); !strings.Contains(s.NoInterval, tt.want) || (s.NoInterval == "") != (tt.want == "") || (e.Low == nil) != (tt.want != "") {
			t.Errorf("%s: %+v, %+v", id, s, e)
		}
	}
}
