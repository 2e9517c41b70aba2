package statistics_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/hearth-dmrv/hearth/api"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
)

// crowd are forty households. Three of them are of the group comparison, two use
// gas, three have said nothing about their size, and all but two are verified.
func (v *env) crowd(t *testing.T) []home {
	t.Helper()
	homes := make([]home, 40)
	for i := range homes {
		h := home{ID: fmt.Sprintf("did:ixo:household/%d", i), Stratum: []string{"a", "b"}[i%2], Group: "adopter"}
		h.answers = map[string]any{"uses": i%3 > 0, "fuel": float64(i * i), "size": 2 + i%4, "kind": "wood"}
		if i < 3 {
			h.Group = "comparison"
		}
		if i == 10 || i == 20 {
			h.answers["kind"] = "gas"
		}
		if i > 36 {
			delete(h.answers, "size")
		}
		homes[i] = h
	}
	v.start(t, "s", `{`+twoStrata+`,"totals":[{"by":"group","values":{"adopter":300,"comparison":100}}],`+elsewhere+`}`, homes)
	v.ask(t, "s", 1, homes)
	if _, err := v.DB.Exec(t.Context(), `UPDATE responses SET vstatus = 'verified' WHERE response_id NOT IN ('s-1-30', 's-1-31')`); err != nil {
		t.Fatal(err)
	}
	return homes
}

// told is a figure that a caller sees, and the households it is made of.
type told struct {
	query, value string
	of           map[string]bool
}

// in are the households of a figure.
func in(homes []home, e api.SurveyEstimate, by string, verified, sized bool) map[string]bool {
	out := map[string]bool{}
	for i, h := range homes {
		value := map[string]string{"": e.Value, "group": h.Group, "stratum": h.Stratum, "home/kind": fmt.Sprint(h.answers["kind"])}[by]
		if e.Value == "" || value == e.Value {
			if (!verified || i != 30 && i != 31) && (!sized || h.answers["size"] != nil) {
				out[h.ID] = true
			}
		}
	}
	return out
}

// asking is a query, by its parts.
type asking struct{ statistic, by, more string }

// queries are those whose figures are compared.
func queries() (out []asking) {
	for _, statistic := range []string{"statistic=mean", "statistic=total", "statistic=quantile", "statistic=quantile&q=0.99", "statistic=ratio&per=home/size"} {
		for _, by := range []string{"", "group", "stratum", "home/kind"} {
			for _, more := range []string{"", "&verified=true", "&adjust=poststrata", "&verified=true&adjust=poststrata", "&join=a,b", "&cell=stratum"} {
				out = append(out, asking{statistic, by, more})
			}
		}
	}
	return out
}

// tell asks as an auditor, and looks whether what is hidden stays so.
func (v *env) tell(t *testing.T, homes []home, q asking) (out []told) {
	t.Helper()
	asked := "question=home/fuel&" + q.statistic + q.more
	if q.by != "" {
		asked += "&by=" + q.by
	}
	if v.Send(t, "ws auditor", "GET /v1/surveys/s/statistics?"+asked, "").Code == 422 {
		return nil // too few are left for weights
	}
	parts, hidden := map[string]bool{}, 0
	for _, e := range v.get(t, "auditor", "s", asked).Estimates {
		if e.Suppressed {
			hidden++
			if e.Estimate != nil || e.N != nil || e.SE != nil || e.Unweighted != nil {
				t.Errorf("%s shows what is suppressed: %+v", asked, e)
			}
			continue
		}
		of := in(homes, e, q.by, strings.Contains(q.more, "verified"), strings.Contains(q.statistic, "ratio"))
		out = append(out, told{asked, e.Value, of})
		for id := range of {
			parts[id] = parts[id] || e.Value != ""
		}
	}
	rest := 0 // of the whole, in parts that are hidden
	for _, shown := range parts {
		if !shown {
			rest++
		}
	}
	if q.by != "" && rest > 0 && (rest < 5 || hidden < 2) {
		t.Errorf("%s hides %d parts with %d households", asked, hidden, rest)
	}
	return out
}

// TestNothingByDifference asks for everything there is, and takes every figure
// from every other: what is left is nobody, or enough households.
func TestNothingByDifference(t *testing.T) {
	t.Parallel()
	v := newEnv(t, dbtest.SQLite(t))
	homes := v.crowd(t)
	var all []told
	for _, q := range queries() {
		all = append(all, v.tell(t, homes, q)...)
	}
	for _, a := range all {
		for _, b := range all {
			if n := apart(a.of, b.of); n > 0 && n < 5 {
				t.Errorf("%d households are %q of %s less %q of %s", n, a.value, a.query, b.value, b.query)
			}
		}
	}
	if len(all) < 40 {
		t.Errorf("%d figures are shown: the test has nothing to compare", len(all))
	}
}

// apart is how many households a has beside those of b, where it has all of b.
func apart(a, b map[string]bool) int {
	n := len(a)
	for id := range b {
		if !a[id] {
			return 0
		}
		n--
	}
	return n
}

// TestTwoWeights: a hidden part is not told by the others with other weights.
func TestTwoWeights(t *testing.T) {
	t.Parallel()
	v := newEnv(t, dbtest.SQLite(t))
	v.crowd(t)
	plain := v.get(t, "auditor", "s", "question=home/fuel&by=home/kind")
	for _, e := range plain.Estimates {
		if e.Value != "" && !e.Suppressed {
			t.Errorf("two parts, of which one is small: %+v", e)
		}
	}
	for _, more := range []string{"adjust=poststrata", "verified=true", "cell=stratum"} {
		for _, e := range v.get(t, "auditor", "s", "question=home/fuel&by=group&"+more).Estimates {
			if e.Value != "" && !e.Suppressed {
				t.Errorf("%s shows %+v", more, e)
			}
		}
	}
	if e := of(t, v.get(t, "owner", "s", "question=home/fuel&by=group&adjust=poststrata"), "comparison"); e.Suppressed || e.Estimate == nil {
		t.Errorf("an owner sees %+v", e)
	}
	edge := of(t, v.get(t, "auditor", "s", "question=home/fuel&statistic=quantile&q=0.8"), "")
	if edge.Estimate == nil || edge.High != nil && math.Sqrt(*edge.High) > 36 {
		t.Errorf("the bound of a quantile is what one of the last five has said: %+v", edge)
	}
}

// TestPartsOfTwoKinds: where a part by one thing is one by another and a few
// households more, only one of the two is shown.
func TestPartsOfTwoKinds(t *testing.T) {
	t.Parallel()
	v := newEnv(t, dbtest.SQLite(t))
	homes := make([]home, 40)
	for i := range homes {
		h := home{ID: fmt.Sprintf("did:ixo:household/%d", i), Stratum: "a", Group: "adopter"}
		if i >= 20 {
			h.Group = "comparison"
		}
		if i >= 22 {
			h.Stratum = "b"
		}
		h.answers = map[string]any{"uses": i%3 > 0, "fuel": float64(i), "size": 3, "kind": []string{"wood", "gas"}[i/26]}
		homes[i] = h
	}
	v.start(t, "s", `{`+twoStrata+`,`+elsewhere+`}`, homes)
	v.ask(t, "s", 1, homes)
	for by, hidden := range map[string]int{"group": 0, "stratum": 2, "home/kind": 2} {
		got := 0
		for _, e := range v.get(t, "auditor", "s", "question=home/fuel&statistic=mean&by="+by).Estimates {
			if e.Suppressed {
				got++
			}
		}
		if got != hidden {
			t.Errorf("by %s hides %d parts, want %d", by, got, hidden)
		}
	}
}
