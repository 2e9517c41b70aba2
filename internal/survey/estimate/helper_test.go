package estimate_test

import (
	"encoding/csv"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/hearth-dmrv/hearth/internal/survey/estimate"
)

var two95 = estimate.Level{Confidence: 0.95}

// table is a CSV file by the names of its columns.
type table struct {
	names map[string]int
	rows  [][]string
}

func readTable(t testing.TB, name string) table {
	t.Helper()
	f, err := os.Open(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	lines, err := csv.NewReader(f).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	out := table{names: map[string]int{}, rows: lines[1:]}
	for i, n := range lines[0] {
		out.names[n] = i
	}
	return out
}

func (tb table) texts(name string) []string {
	out := make([]string, len(tb.rows))
	for i, row := range tb.rows {
		out[i] = row[tb.names[name]]
	}
	return out
}

func (tb table) numbers(t testing.TB, name string) []float64 {
	t.Helper()
	out := make([]float64, len(tb.rows))
	for i, s := range tb.texts(name) {
		v, err := strconv.ParseFloat(s, 64)
		if err != nil {
			t.Fatal(err)
		}
		out[i] = v
	}
	return out
}

// stratified is the sample of testdata/sample.csv.
func stratified(t testing.TB) (table, *estimate.Design) {
	t.Helper()
	tb := readTable(t, "sample.csv")
	strata, responded, n := tb.texts("stratum"), tb.texts("responded"), tb.numbers(t, "N")
	var p estimate.Plan
	seen := map[string]bool{}
	members := make([]estimate.Member, len(tb.rows))
	for i, id := range tb.texts("household") {
		if !seen[strata[i]] {
			seen[strata[i]] = true
			p.Strata = append(p.Strata, estimate.Stratum{Name: strata[i], Population: n[i]})
		}
		members[i] = estimate.Member{ID: id, Stratum: strata[i]}
		if responded[i] == "1" {
			members[i].Outcome = estimate.Answered
		}
	}
	d, err := p.Weigh(members)
	if err != nil {
		t.Fatal(err)
	}
	return tb, d
}

// villages is the sample of testdata/cluster.csv.
func villages(t testing.TB) (table, *estimate.Design) {
	t.Helper()
	tb := readTable(t, "cluster.csv")
	names, m, k := tb.texts("village"), tb.numbers(t, "M"), tb.numbers(t, "K")
	p := estimate.Plan{Strata: []estimate.Stratum{{Clusters: k[0]}}, Clustered: true}
	seen := map[string]bool{}
	members := make([]estimate.Member, len(tb.rows))
	for i, id := range tb.texts("household") {
		if !seen[names[i]] {
			seen[names[i]] = true
			p.Clusters = append(p.Clusters, estimate.Cluster{Name: names[i], Size: m[i]})
		}
		members[i] = estimate.Member{ID: id, Cluster: names[i], Outcome: estimate.Answered}
	}
	d, err := p.Weigh(members)
	if err != nil {
		t.Fatal(err)
	}
	return tb, d
}

// must is the figure of a statistic that has to work.
func must[T any](t testing.TB) func(T, error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func is(values []string, want string) []bool {
	out := make([]bool, len(values))
	for i, v := range values {
		out[i] = v == want
	}
	return out
}

func interval(t testing.TB, f *estimate.Figure, kind string, l estimate.Level) estimate.Interval {
	t.Helper()
	out, ok := f.Interval(kind, l)
	if !ok {
		t.Fatal("no interval")
	}
	return out
}

// near fails unless got is want to within a share of it.
func near(t testing.TB, name string, got, want, within float64) {
	t.Helper()
	if !(math.Abs(got-want) <= within*math.Abs(want)) {
		t.Errorf("%s = %.13g, want %.13g (off by %.1e)", name, got, want, math.Abs(got/want-1))
	}
}
