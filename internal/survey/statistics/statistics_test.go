package statistics_test

import (
	"fmt"
	"math"
	"net/http"
	"strings"
	"testing"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
	"github.com/hearth-dmrv/hearth/internal/survey/surveytest"
)

// twenty are households of two strata, two of which say nothing.
func twenty() []home {
	homes := make([]home, 20)
	for i := range homes {
		homes[i] = home{ID: fmt.Sprintf("did:ixo:household/%d", i), Stratum: []string{"a", "b"}[i%2], Group: "adopter"}
		if i >= 16 {
			homes[i].Group = "comparison"
		}
		if i%7 != 6 {
			homes[i].answers = map[string]any{"uses": i%3 > 0, "fuel": float64(i), "size": 2 + i%4, "kind": []string{"wood", "gas"}[i/10], "fuels": []string{"wood"}, "name": "Mary"}
		}
	}
	return homes
}

const (
	twoStrata = `"method":"stratified","size":20,"confidence":0.9,"precision":0.1,"parameterType":"mean","strata":[{"name":"a","population":100},{"name":"b","population":300}]`
	drawnTwo  = `{` + twoStrata + `,"totals":[{"by":"home/kind","values":{"wood":150,"gas":250}},{"by":"group","values":{"adopter":300,"comparison":100}}],` + elsewhere + `}`
)

func TestWhatCounts(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		v := newEnv(t, d)
		homes := twenty()
		v.start(t, "s", drawnTwo, homes)
		homes[1].answers["size"] = 99 // not eligible
		v.ask(t, "s", 1, append(homes, home{ID: "did:ixo:household/off", answers: map[string]any{"fuel": 1000.0}}))
		decide := func(response, verdict string) {
			if _, err := d.Exec(t.Context(), `UPDATE responses SET vstatus = $2 WHERE response_id = $1`, response, verdict); err != nil {
				t.Fatal(err)
			}
		}
		decide("s-1-0", "rejected")
		decide("s-1-2", "verified")
		s := v.get(t, "owner", "s", "question=home/fuel")
		c := s.Counted
		if c.Sample != 20 || c.Answered != 16 || c.Ineligible != 1 || c.Missing != 3 || c.OffList != 1 || math.Abs(number(c.ResponseRate)-16./19) > 1e-12 {
			t.Errorf("counted %+v", c)
		}
		e := of(t, s, "")
		if s.Basis != "drawnElsewhere" || e.Confidence != .9 || *e.N != 16 || len(s.Remarks) < 2 || number(e.Low) >= number(e.High) {
			t.Errorf("figures %+v", s)
		}
		if p := e.Precision; p == nil || p.Status != "precision_not_met" || p.Use != nil || p.Confidence != .9 {
			t.Errorf("precision %+v", e.Precision)
		}
		e = of(t, v.get(t, "owner", "s", "question=home/fuel&bound=lower"), "")
		if p := e.Precision; p.Status != "bound_used" || number(p.Use) != p.Low {
			t.Errorf("with a bound %+v", e.Precision)
		}
		if w := v.Send(t, "ws owner", "GET /v1/surveys/s/statistics?question=home/fuel&verified=true", ""); w.Code != 422 || !strings.Contains(w.Body.String(), `"cells":[{"stratum":"a","n":1,"with":"b"},{"stratum":"b","n":1,"with":"a"}]`) {
			t.Errorf("verified alone: %d %s", w.Code, w.Body)
		}
		raked := v.get(t, "owner", "s", "question=home/uses&adjust=raking")
		if e := of(t, raked, ""); number(e.Population) < 300 || number(e.Population) > 400 {
			t.Errorf("raked %+v", e)
		}
	})
}

func TestSuppressed(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		v := newEnv(t, d)
		v.start(t, "s", drawnTwo, twenty())
		v.ask(t, "s", 1, twenty())
		for role, hidden := range map[string]bool{"owner": false, "auditor": true} {
			s := v.get(t, role, "s", query("question=home/fuel", "by=group", "compare=adopter,comparison"))
			for _, value := range []string{"adopter", "comparison"} {
				if e := of(t, s, value); e.Suppressed != hidden || (e.Estimate == nil) != hidden || (e.N == nil) != hidden {
					t.Errorf("%s: %+v", role, e)
				}
			}
			if dif := s.Differences[0]; dif.Suppressed != hidden || (dif.Estimate == nil) != hidden {
				t.Errorf("%s: difference %+v", role, dif)
			}
			if e := of(t, s, ""); e.Estimate == nil || (e.Unweighted == nil) != hidden {
				t.Errorf("%s: all %+v", role, e)
			}
		}
	})
}

// TestByMode: figures are compared by how households were asked, and a group too
// small to be shown is hidden as any other.
func TestByMode(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		v := newEnv(t, d)
		v.Must(t, "ws owner", "POST /v1/surveys", fmt.Sprintf(`{"surveyId":"m","type":"MonitoringSurvey","projectId":%q,"templateId":"use","sampling":{"method":"census"},
			"modes":["visit","phone"],"window":{"start":"2024-01-01T00:00:00Z"},"collectors":["did:key:ann"]}`, surveytest.Project), nil)
		v.Must(t, "ws owner", "POST /v1/surveys/m/activate", `{"reason":"test"}`, nil)
		for i := range 13 {
			mode := "visit"
			if i >= 10 {
				mode = "phone"
			}
			v.Must(t, "ws ann", "POST /v1/surveys/m/responses", fmt.Sprintf(`{"householdId":"did:ixo:household/%d","timestamp":"2026-03-02T09:00:00Z","mode":%q,
				"responses":{"consent":{"agree":true},"home":{"fuel":%d}}}`, i, mode, i), nil)
		}
		got := v.get(t, "owner", "m", query("question=home/fuel", "by=mode", "compare=visit,phone"))
		if a, b := of(t, got, "visit"), of(t, got, "phone"); *a.N != 10 || number(a.Estimate) != 4.5 || *b.N != 3 || number(b.Estimate) != 11 {
			t.Errorf("visit %+v, phone %+v", a, b)
		}
		if number(got.Differences[0].Estimate) != -6.5 {
			t.Errorf("difference %+v", got.Differences[0])
		}
		if e := of(t, v.get(t, "auditor", "m", "question=home/fuel&by=mode"), "phone"); !e.Suppressed || e.Estimate != nil {
			t.Errorf("three households are shown: %+v", e)
		}
		v.refused(t, "m", "question=home/fuel&by=modes", 400, "query/by")
		v.refused(t, "m", "question=home/fuel&by=mode&compare=ussd,visit", 422, `has the value \"ussd\". The values are: `)
	})
}

func TestRounds(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		v := newEnv(t, d)
		homes := twenty()
		v.start(t, "s", drawnTwo, homes)
		v.ask(t, "s", 1, homes)
		v.Must(t, "ws owner", "POST /v1/surveys/s/rounds", `{}`, nil)
		for i := range homes {
			if homes[i].answers != nil {
				homes[i].answers["fuel"] = float64(i) + 2
			}
		}
		v.ask(t, "s", 2, homes)
		s := v.get(t, "owner", "s", query("question=home/fuel", "compare=round:1"))
		// Everybody says 2 more: the change has no error, however the answers spread.
		if c := s.Differences[0]; math.Abs(number(c.Estimate)-2) > 1e-9 || number(c.SE) > 1e-6 || c.Common != 18 || c.Less != "round:1" {
			t.Errorf("change %+v", c)
		}
		if same := v.get(t, "owner", "s", query("question=home/fuel", "compare=round:2")); number(same.Differences[0].SE) > 1e-6 || number(same.Differences[0].Estimate) != 0 {
			t.Errorf("a round less itself %+v", same.Differences[0])
		}
		if before := v.get(t, "owner", "s", "question=home/fuel&round=1"); before.Round != 1 || math.Abs(number(of(t, before, "").Estimate)+2-number(of(t, s, "").Estimate)) > 1e-9 {
			t.Errorf("round 1 %+v", before)
		}
	})
}

func TestNoInterval(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		v := newEnv(t, d)
		for id, tt := range map[string]struct {
			sampling, basis string
			list, interval  bool
		}{
			"hand":   {`{` + twoStrata + `}`, "listed", true, false},
			"quota":  {`{"method":"quota","size":20}`, "nonprobability", true, false},
			"open":   {`{"method":"simple_random","size":20,"confidence":0.9,"enrolment":"open"}`, "open", false, false},
			"all":    {`{"method":"census"}`, "census", true, true},
			"nobody": {`{"method":"census"}`, "census", false, false},
		} {
			homes := twenty()
			for i := range homes {
				if id != "hand" {
					homes[i].Stratum = ""
				}
			}
			list := homes
			if !tt.list {
				list = nil
			}
			v.start(t, id, tt.sampling, list)
			v.ask(t, id, 1, homes)
			s := v.get(t, "owner", id, "question=home/fuel")
			e := of(t, s, "")
			if s.Basis != tt.basis || (s.NoInterval == "") != tt.interval || (e.Low != nil) != tt.interval || (e.SE != nil) != tt.interval || e.Estimate == nil {
				t.Errorf("%s: %+v", id, s)
			}
			if !tt.interval && number(e.Estimate) != number(e.Unweighted) {
				t.Errorf("%s: weighted without a draw: %+v", id, e)
			}
		}
	})
}

func TestRefused(t *testing.T) {
	t.Parallel()
	v := newEnv(t, dbtest.SQLite(t))
	v.start(t, "s", drawnTwo, twenty())
	v.ask(t, "s", 1, twenty())
	v.start(t, "none", drawnTwo, twenty())
	for _, tt := range []struct {
		who, path string
		status    int
		want      string
	}{
		{"ws owner", "s/statistics", 400, "query/question"},
		{"ws owner", "s/statistics?question=home/fuel&round=0", 400, "query/round"}, // 0 is not the open round
		{"ws owner", "s/statistics?question=home/nothing", 400, "query/question"},
		{"ws owner", "s/statistics?question=home/name", 400, "sealed"},
		{"ws owner", "s/statistics?question=home/said", 400, "neither"},
		{"ws owner", "s/statistics?question=home/people/age", 400, "several times"},
		{"ws owner", "s/statistics?question=home/kind&statistic=mean", 400, "query/statistic"},
		{"ws owner", "s/statistics?question=home/kind&option=coal", 400, "query/option"},
		{"ws owner", "s/statistics?question=home/fuel&statistic=ratio", 400, "query/per"},
		{"ws owner", "s/statistics?question=home/fuel&by=home/fuel", 400, "query/by"},
		{"ws owner", "s/statistics?question=home/fuel&compare=a,b", 400, "query/compare"},
		{"ws owner", "s/statistics?question=home/fuel&confidence=95", 400, "query/confidence"},
		{"ws owner", "s/statistics?question=home/fuel&statistic=quantile&q=2", 400, "query/q"},
		{"ws owner", "s/statistics?question=home/fuel&interval=exact", 400, "query/interval"},
		{"ws owner", "s/statistics?question=home/fuel&round=7", 404, "ROUND_NOT_FOUND"},
		{"ws owner", "s/statistics?question=home/fuel&compare=round:7", 404, "ROUND_NOT_FOUND"},
		{"ws owner", "none/statistics?question=home/fuel", 422, "SAMPLE_EMPTY"},
		{"ws owner", "x/statistics?question=home/fuel", 404, "SURVEY_NOT_FOUND"},
		{"other owner", "s/statistics?question=home/fuel", 404, "SURVEY_NOT_FOUND"},
		{"ws stranger", "s/statistics?question=home/fuel", 404, "SURVEY_NOT_FOUND"},
		{"ws reader", "s/statistics?question=home/fuel", 403, "SCOPE_MISSING"},
		{"ws project", "s/statistics?question=home/fuels", 200, `"option":"gas"`},
		{"ws auditor", "s/statistics?question=home/size&statistic=proportion&option=3", 200, `"method":"wilson"`},
	} {
		w := v.Send(t, tt.who, "GET /v1/surveys/"+tt.path, "")
		if w.Code != tt.status || !strings.Contains(w.Body.String(), tt.want) {
			t.Errorf("%s as %s = %d %s, want %d %s", tt.path, tt.who, w.Code, w.Body, tt.status, tt.want)
		}
		if w.Code == http.StatusOK && strings.Contains(w.Body.String(), "household/") {
			t.Errorf("%s names a household: %s", tt.path, w.Body)
		}
	}
}
