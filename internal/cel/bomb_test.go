package cel_test

import (
	"runtime"
	"strings"
	"testing"

	"github.com/hearth-dmrv/hearth/internal/cel"
)

type value = cel.Value

// probe is a text that counts how often it is compared.
type probe struct {
	value
	seen *int
}

func (p probe) Equal(other cel.Value) cel.Value {
	*p.seen++
	if o, ok := other.(probe); ok {
		other = o.value
	}
	return p.value.Equal(other)
}

// doubled is a list that a chain of loops makes twice as large each time, while
// its elements are shared.
func doubled(seed, step string, times int) string {
	return seed + strings.Repeat(".map(a,"+step+")", times)
}

// Values that share their parts are cheap to make and dear to walk over. What an
// evaluation does is bounded by its cost, whichever way it walks.
func TestSharedPartsAreBounded(t *testing.T) { //nolint:paralleltest // it counts what is allocated
	var (
		tree  = doubled("[probe]", "[a,a]", 22)
		texts = doubled(`[any]`, "[a,a]", 22)
		wide  = doubled(`[any]`, "[a,a,a,a,a,a,a,a,a,a]", 7)
		maps  = doubled("[probe]", `{1:a,2:a}`, 18)
		dyns  = doubled("[any]", "coalesce([a,a],0)", 22)
		long  = doubled("[[any]]", "a+a", 30)
		longs = doubled("[[probe]]", "a+a", 26)
	)
	for _, tt := range []struct{ name, source string }{
		{"equal", tree + " == " + tree},
		{"not equal", tree + " != " + tree},
		{"in", tree + " in [" + tree + "]"},
		{"in of itself", "probe in " + tree + "[0]"},
		{"equal maps", maps + " == " + maps},
		{"equal concatenated", longs + " == " + longs},
		{"in concatenated", "any in " + longs + "[0]"},
		{"equal in vain", "(" + tree + " == " + tree + ") || true"},
		{"equal of literals", doubled("[probe]", "[a,a]", 11) + ".exists(a, [[a,a,a,a,a,a,a,a],[a,a,a,a,a,a,a,a]] == [[a,a,a,a,a,a,a,a],[a,a,a,a,a,a,a,a]])"},
		{"short", doubled("fuels", "[a,a,a,a,a,a,a,a]", 2) + " == " + doubled("fuels", "[a,a,a,a,a,a,a,a]", 2)},
		{"no loops", "[" + strings.Repeat("fuels,", 150) + "fuels] == [" + strings.Repeat("fuels,", 150) + "fuels]"},
		{"conditional", doubled("[probe]", "true?[a,a]:[a]", 22) + " == any"},
		{"filtered", doubled("[probe]", "a != null,[a,a]", 20) + ".filter(a, a == a).size() == 1"},
		{"loops in loops", doubled("[probe]", "[a].map(b,[b,b])", 13) + " == any"},
		{"less over and over", `numbers.exists(a, numbers.exists(b, any < any))`},
		{"text", `text(` + texts + `) != ""`},
		{"text of wide", `text(` + wide + `) != ""`},
		{"text of dyn", `text(` + dyns + `) != ""`},
		{"text of concatenated", `text(` + long + `) != ""`},
		{"joined", `joined(` + texts + `, ",") != ""`},
		{"joined concatenated", `joined(` + long + `[0], ",") != ""`},
		{"area", `area(` + texts + `) > 1.0`},
		{"distance", `distance(` + texts + `) > 1.0`},
		{"inside", `inside(` + texts + `, ` + texts + `)`},
		{"digest", `digest(` + texts + `, "MD5", "hex") != ""`},
		{"part", `part(` + texts + `, 0, 1) != ""`},
		{"between", `joined(["a","b"], text(` + texts + `)) != ""`},
		{"format", `"%s".format([` + texts + `]) != ""`},
		{"format over and over", `fuels.exists(a, fuels.exists(b, "%s%s%s".format([any,any,any]) == ""))`},
		{"greatest over and over", `numbers.exists(a, numbers.exists(b, math.greatest(numbers) < 0.0))`},
		{"sizes over and over", `numbers.exists(a, numbers.exists(b, size(any) == 7))`},
		{"numbers over and over", `numbers.exists(a, numbers.exists(b, number(any) == 7.0))`},
		{"equal over and over", `numbers.exists(a, [numbers,numbers,numbers] != [numbers,numbers,numbers])`},
		{"sum of concatenated", `sum(` + doubled("[[1.0]]", "a+a", 30) + `[0]) == 1.0`},
		{"total of concatenated", `total(` + doubled("[[1.0]]", "a+a", 30) + `[0]) == 1.0`},
		{"selected of concatenated", `selected(` + longs + `[0], any)`},
		{"item", `item(` + tree + `, 0) == item(` + tree + `, 0)`},
		{"too long to count", `size(` + doubled("[[1.0]]", "a+a", 42) + `) == 1`},
		{"result", tree},
		{"result of concatenated", long + ".map(a,1.0)"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			seen := 0
			env, vars := bombWorld(t, &seen)
			p, err := env.Compile(tt.source, func(name string) (cel.Ref, error) { return cel.Ref{Var: name}, nil }, cel.Result)
			if err != nil {
				t.Fatal(err)
			}
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			v, cost, err := p.Eval(vars)
			runtime.ReadMemStats(&after)
			const most = 32 << 20 // bytes: a list of as many elements as there are units, a few times
			if bytes := after.TotalAlloc - before.TotalAlloc; bytes > most || seen > 2*cel.MaxCost {
				t.Errorf("%.60s… = %v at cost %d compares %d times and allocates %d MB", tt.source, v.Type(), cost, seen, bytes>>20)
			}
			if err == nil || !strings.Contains(err.Error(), "cost limit") && !strings.Contains(err.Error(), "too long") {
				t.Errorf("%.60s… costs %d and ends with %v, want it stopped", tt.source, cost, err)
			}
		})
	}
}

func bombWorld(t *testing.T, seen *int) (*cel.Env, vars) {
	t.Helper()
	env, err := cel.NewEnv(nil, []cel.Variable{{Name: "probe", Type: cel.Any}, {Name: "any", Type: cel.Any}, {Name: "fuels", Type: cel.Texts}, {Name: "numbers", Type: cel.Any}})
	if err != nil {
		t.Fatal(err)
	}
	fuels, numbers := make([]cel.Value, 1000), make([]cel.Value, 1000)
	for i := range fuels {
		fuels[i], numbers[i] = probe{cel.TextValue("wood"), seen}, cel.NumberValue(float64(i))
	}
	return env, vars{
		"probe": probe{cel.TextValue("x"), seen}, "any": cel.TextValue(strings.Repeat("1 2;", 1000)), "fuels": cel.ListValue(fuels), "numbers": cel.ListValue(numbers),
	}
}
