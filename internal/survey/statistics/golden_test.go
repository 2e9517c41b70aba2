package statistics_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
)

// TestFiguresOfR has the figures of R's package survey come out of the API: the
// samples come in as draws that were made elsewhere.
func TestFiguresOfR(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		v := newEnv(t, d)
		got := map[string]float64{}
		v.strata(t, got)
		v.villages(t, got)
		judged := 0
		for _, line := range lines(t, "golden.csv") {
			name := line["name"]
			if strings.Contains(name, ".likelihood.") || strings.Contains(name, ".asin.") || strings.Contains(name, ".logit.") {
				continue // R fits logit in steps; xlogit is the same interval
			}
			judged++
			near(t, name, got, float(t, line["value"]))
		}
		if judged != 43 {
			t.Errorf("%d figures, want 43", judged)
		}
		near(t, "wilson.low", got, .779371064299)
		near(t, "wilson.high", got, .862133274344)
		near(t, "cl.wilson.low", got, .500670925849)
		near(t, "cl.wilson.high", got, .682551324925)
	})
}

func near(t *testing.T, name string, got map[string]float64, want float64) {
	t.Helper()
	g, ok := got[name]
	if !ok || !(math.Abs(g-want) <= 1e-9*math.Abs(want)) {
		t.Errorf("%s = %.13g, want %.13g", name, g, want)
	}
}

func (v *env) strata(t *testing.T, got map[string]float64) {
	t.Helper()
	var homes []home
	var strata []string
	seen := map[string]bool{}
	for _, l := range lines(t, "sample.csv") {
		if !seen[l["stratum"]] {
			seen[l["stratum"]] = true
			strata = append(strata, fmt.Sprintf(`{"name":%q,"population":%s}`, l["stratum"], l["N"]))
		}
		h := home{ID: l["household"], Stratum: l["stratum"], Group: l["group"]}
		if l["responded"] == "1" {
			h.answers = map[string]any{"uses": l["uses"] == "1", "fuel": float(t, l["fuel"]), "size": float(t, l["size"])}
		}
		homes = append(homes, h)
	}
	v.start(t, "st", `{"method":"stratified","size":300,"confidence":0.95,"strata":[`+strings.Join(strata, ",")+`],
		"totals":[{"by":"group","values":{"adopter":3100,"comparison":1900}}],`+elsewhere+`}`, homes)
	v.ask(t, "st", 1, homes)

	uses := of(t, v.get(t, "owner", "st", "question=home/uses"), "")
	got["wilson.low"], got["wilson.high"] = number(uses.Low), number(uses.High)
	got["uses.mean"], got["uses.se"], got["uses.deff"] = number(uses.Estimate), number(uses.SE), number(uses.Deff)
	got["unweighted.uses"], got["kish.deff.w"], got["degf"] = number(uses.Unweighted), number(uses.Kish), number(uses.DF)
	for name, kind := range map[string]string{"beta": "kornGraubard", "mean": "wald", "xlogit": "logit"} {
		e := of(t, v.get(t, "owner", "st", "question=home/uses&interval="+kind), "")
		got["uses.ci."+name+".low"], got["uses.ci."+name+".high"] = number(e.Low), number(e.High)
	}
	v.amounts(t, got)
}

func (v *env) amounts(t *testing.T, got map[string]float64) {
	t.Helper()
	fuel := v.get(t, "owner", "st", query("question=home/fuel", "by=group", "compare=comparison,adopter"))
	all := of(t, fuel, "")
	got["fuel.mean"], got["fuel.se"], got["fuel.ci.t.low"], got["fuel.ci.t.high"] = number(all.Estimate), number(all.SE), number(all.Low), number(all.High)
	uses := v.get(t, "owner", "st", query("question=home/uses", "by=group"))
	for _, g := range []string{"adopter", "comparison"} {
		f, u := of(t, fuel, g), of(t, uses, g)
		got["fuel."+g+".mean"], got["fuel."+g+".se"] = number(f.Estimate), number(f.SE)
		got["uses."+g+".mean"], got["uses."+g+".se"] = number(u.Estimate), number(u.SE)
	}
	diff := fuel.Differences[0]
	got["fuel.diff"], got["fuel.diff.t"], got["fuel.diff.p"] = number(diff.Estimate), number(diff.T), number(diff.P)
	one := func(pairs ...string) (estimate, se float64) {
		e := of(t, v.get(t, "owner", "st", query(append(pairs, "question=home/fuel")...)), "")
		return number(e.Estimate), number(e.SE)
	}
	got["fuel.total"], got["fuel.total.se"] = one("statistic=total")
	got["fuel.per.head"], got["fuel.per.head.se"] = one("statistic=ratio", "per=home/size")
	got["fuel.median"], _ = one("statistic=quantile")
	got["fuel.p90"], _ = one("statistic=quantile", "q=0.9")
	got["ps.fuel.mean"], got["ps.fuel.se"] = one("adjust=poststrata")
}

func (v *env) villages(t *testing.T, got map[string]float64) {
	t.Helper()
	var homes []home
	var clusters []string
	seen := map[string]bool{}
	for _, l := range lines(t, "cluster.csv") {
		if !seen[l["village"]] {
			seen[l["village"]] = true
			clusters = append(clusters, fmt.Sprintf(`{"name":"v%s","size":%s}`, l["village"], l["M"]))
		}
		homes = append(homes, home{ID: l["household"], Cluster: "v" + l["village"], answers: map[string]any{"uses": l["uses"] == "1", "fuel": float(t, l["fuel"])}})
	}
	v.start(t, "cl", `{"method":"multistage","size":192,"confidence":0.95,"stages":[{"unit":"village","units":120,"drawn":24},{"unit":"household"}],
		"clusters":[`+strings.Join(clusters, ",")+`],`+elsewhere+`}`, homes)
	v.ask(t, "cl", 1, homes)
	uses := of(t, v.get(t, "owner", "cl", "question=home/uses"), "")
	got["cl.wilson.low"], got["cl.wilson.high"] = number(uses.Low), number(uses.High)
	got["cl.uses.mean"], got["cl.uses.se"], got["cl.uses.deff"], got["cl.degf"] = number(uses.Estimate), number(uses.SE), number(uses.Deff), number(uses.DF)
	fuel := of(t, v.get(t, "owner", "cl", "question=home/fuel"), "")
	got["cl.fuel.mean"], got["cl.fuel.se"], got["cl.fuel.ci.low"], got["cl.fuel.ci.high"] = number(fuel.Estimate), number(fuel.SE), number(fuel.Low), number(fuel.High)
}
