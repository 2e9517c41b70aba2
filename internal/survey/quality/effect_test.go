package quality_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"

	"github.com/hearth-dmrv/hearth/internal/survey/form"
	"github.com/hearth-dmrv/hearth/internal/survey/quality"
)

const (
	simNumbers = 10
	simChoices = 10
)

// simForm asks for ten numbers and ten choices of four options.
func simForm(t testing.TB) *form.Form {
	t.Helper()
	var q []string
	for i := range simNumbers {
		q = append(q, fmt.Sprintf(`{"id":"n%d","type":"number"}`, i))
	}
	for i := range simChoices {
		q = append(q, fmt.Sprintf(`{"id":"c%d","type":"single_choice","options":["a","b","c","d"]}`, i))
	}
	var doc form.Template
	if err := json.Unmarshal([]byte(`{"templateId":"sim","sections":[{"id":"s","questions":[`+strings.Join(q, ",")+`]}]}`), &doc); err != nil {
		t.Fatal(err)
	}
	f, err := form.Compile(&doc)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// crew is a survey that is made up. Collectors work in different places: area is
// the share of the variance of every answer that comes from that.
type crew struct {
	collectors, interviews int
	area                   float64
	plant                  func(collector int, answers map[string]any, r *rand.Rand)
}

func (c crew) visits(r *rand.Rand) []quality.Visit {
	var out []quality.Visit
	for who := range c.collectors {
		var shift [simNumbers + simChoices]float64
		for i := range shift {
			shift[i] = math.Sqrt(c.area) * r.NormFloat64()
		}
		for range c.interviews {
			a, own := map[string]any{}, math.Sqrt(1-c.area)
			for i := range simNumbers {
				v := shift[i] + own*r.NormFloat64()
				if i%2 == 1 {
					v = math.Exp(v / 2) // costs are skewed
				}
				a[fmt.Sprintf("n%d", i)] = v
			}
			for i := range simChoices {
				v := shift[simNumbers+i] + own*r.NormFloat64()
				switch {
				case v < -0.5:
					a[fmt.Sprintf("c%d", i)] = "a"
				case v < 0.7:
					a[fmt.Sprintf("c%d", i)] = "b"
				case v < 1.8:
					a[fmt.Sprintf("c%d", i)] = "c"
				default:
					a[fmt.Sprintf("c%d", i)] = "d" // few say so
				}
			}
			if c.plant != nil {
				c.plant(who, a, r)
			}
			out = append(out, quality.Visit{NID: int64(len(out) + 1), Collector: fmt.Sprintf("c%d", who), Answers: map[string]any{"s": a}})
		}
	}
	return out
}

// dearer has one collector put everything on the price.
func dearer(culprits ...int) func(int, map[string]any, *rand.Rand) {
	return func(who int, a map[string]any, _ *rand.Rand) {
		if slices.Contains(culprits, who) {
			a["n0"] = a["n0"].(float64) + 2
		}
	}
}

// Of two collectors that differ nobody can tell who is right, nor where half of
// them differ from the other half. It is told of the survey, and nobody is
// flagged.
func TestCollectorsDiffer(t *testing.T) {
	t.Parallel()
	f := simForm(t)
	for _, tt := range []struct {
		name string
		crew crew
	}{
		{"two", crew{2, 40, 0, dearer(1)}},
		{"two of four", crew{4, 60, 0, dearer(1, 3)}},
	} {
		got := quality.Effects(f, quality.Rules{}, tt.crew.visits(rand.New(rand.NewPCG(3, 3))))
		if len(got.Effects) != 0 || len(got.Differences) != 1 {
			t.Fatalf("%s: effects = %+v, differences = %+v", tt.name, got.Effects, got.Differences)
		}
		d := got.Differences[0]
		if d.Question != "/responses/s/n0" || d.Collectors != tt.crew.collectors || d.Highest.Value-d.Lowest.Value < 1 || d.Score <= d.Limit || d.Limit < 3 {
			t.Errorf("%s: difference = %+v", tt.name, d)
		}
		if d.Lowest.Interviews != int64(tt.crew.interviews) || d.Lowest.Collector == d.Highest.Collector || d.Highest.Collector != "c1" && d.Highest.Collector != "c3" {
			t.Errorf("%s: difference = %+v", tt.name, d)
		}
	}
}

// What cannot be compared is not: too few interviews, one collector, answers
// that are all the same.
func TestNothingToCompare(t *testing.T) {
	t.Parallel()
	f := simForm(t)
	same := func(who int, a map[string]any, _ *rand.Rand) {
		for name := range a {
			a[name] = map[bool]any{true: 1.0, false: "a"}[name[0] == 'n']
		}
		a["n0"] = float64(who)
	}
	for _, tt := range []struct {
		name        string
		crew        crew
		rules       quality.Rules
		comparisons int
	}{
		{"no interviews", crew{}, quality.Rules{}, 0},
		{"one interview", crew{1, 1, 0, nil}, quality.Rules{}, 0},
		{"one collector", crew{1, 100, 0, nil}, quality.Rules{}, 0},
		{"few interviews", crew{5, 19, 0, dearer(1)}, quality.Rules{}, 0},
		{"one interview each", crew{5, 1, 0, dearer(1)}, quality.Rules{EffectInterviews: 1}, 0},
		{"two interviews each", crew{3, 2, 0, nil}, quality.Rules{EffectInterviews: 1}, 150},
		{"all the same but one", crew{4, 20, 0, same}, quality.Rules{}, 200},
	} {
		got := quality.Effects(f, tt.rules, tt.crew.visits(rand.New(rand.NewPCG(3, 3))))
		if len(got.Effects)+len(got.Differences) != 0 || got.Comparisons != tt.comparisons {
			t.Errorf("%s: %+v, want %d comparisons", tt.name, got, tt.comparisons)
		}
	}
}
