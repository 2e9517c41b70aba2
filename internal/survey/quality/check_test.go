package quality_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/go-json-experiment/json"
	"pgregory.net/rapid"

	"github.com/hearth-dmrv/hearth/internal/survey/form"
	"github.com/hearth-dmrv/hearth/internal/survey/quality"
	"github.com/hearth-dmrv/hearth/internal/survey/surveytest"
)

func fieldForm(t testing.TB) *form.Form {
	t.Helper()
	var doc form.Template
	if err := json.Unmarshal([]byte(surveytest.Template), &doc); err != nil {
		t.Fatal(err)
	}
	f, err := form.Compile(&doc)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// The search for twins agrees with comparing everybody with everybody.
func TestTwinsAgainstAll(t *testing.T) {
	t.Parallel()
	f := fieldForm(t)
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.OneOf(rapid.IntRange(2, 8), rapid.IntRange(9, 40)).Draw(t, "n")
		visits := make([]quality.Visit, n)
		for i := range visits {
			// A field of 60 by 60 metres in which some are close to each other.
			x, y := rapid.IntRange(0, 30).Draw(t, "x"), rapid.IntRange(0, 30).Draw(t, "y")
			home := map[string]any{}
			if p := rapid.IntRange(0, 12).Draw(t, "phone"); p > 0 {
				home["phone"] = fmt.Sprintf("+254 700 0000%02d", p)
			}
			visits[i] = quality.Visit{
				NID: int64(i + 1), Household: fmt.Sprint(rapid.IntRange(0, 30).Draw(t, "household")), Answers: map[string]any{"home": home},
				Place: &quality.Point{Lat: -1.29 + float64(y)*2/111_194.93, Lon: 36.82 + float64(x)*2/111_194.93/math.Cos(1.29*math.Pi/180)},
			}
		}
		var want []int64
		for _, a := range visits {
			if slices.ContainsFunc(visits, func(b quality.Visit) bool {
				phone := a.Answers["home"].(map[string]any)["phone"]
				return a.Household != b.Household &&
					(quality.Metres(*a.Place, *b.Place) <= 5 || phone != nil && phone == b.Answers["home"].(map[string]any)["phone"])
			}) {
				want = append(want, a.NID)
			}
		}
		got := quality.Twins(f, 5, visits)
		for _, nid := range got {
			if !slices.Contains(want, nid) {
				t.Fatalf("%d has no twin: got %v, want %v", nid, got, want)
			}
		}
		// No more than eight are held of a crowd in one place.
		if n <= 8 && !slices.Equal(got, want) || len(got) < len(want)/2 {
			t.Fatalf("twins = %v, want %v", got, want)
		}
	})
}

func views(values []int) map[string]any {
	m := map[string]any{}
	for i, v := range values {
		m[string(rune('a'+i))] = float64(v)
	}
	return map[string]any{"views": m, "home": map[string]any{"size": 4.0, "cost": 3.0}}
}

// The search for copies agrees with comparing everybody with everybody before.
func TestCopiesAgainstAll(t *testing.T) {
	t.Parallel()
	f := fieldForm(t)
	rapid.Check(t, func(t *rapid.T) {
		visits := make([]quality.Visit, rapid.IntRange(1, 30).Draw(t, "n"))
		all := make([][]int, len(visits))
		for i := range visits {
			all[i] = rapid.SliceOfN(rapid.IntRange(0, 1), 10, 10).Draw(t, "answers")
			visits[i] = quality.Visit{
				NID: int64(i + 1), Collector: rapid.SampledFrom([]string{"ann", "ben"}).Draw(t, "collector"),
				At: int64(rapid.IntRange(0, 60).Draw(t, "hour")) * 3_600_000, Answers: views(all[i]),
			}
		}
		var want []int64
		for i, a := range visits {
			for j, b := range visits[:i] {
				equal := 2 // size and cost
				for k := range all[i] {
					if all[i][k] == all[j][k] {
						equal++
					}
				}
				if a.Collector == b.Collector && math.Abs(float64(a.At-b.At)) <= 24*3_600_000 && float64(equal)/12 >= 0.9 {
					want = append(want, a.NID)
					break
				}
			}
		}
		if got := quality.Copies(f, quality.Rules{CopiedShare: 0.9}, nil, visits); !slices.Equal(got, want) {
			t.Fatalf("copies = %v, want %v", got, want)
		}
	})
}

// Households that answer alike because most do are no copies; the same answers
// are, where they are rare.
func TestCopiesAmongLikeHouseholds(t *testing.T) {
	t.Parallel()
	f := fieldForm(t)
	copies := func(answer func(i int) []int) []int64 {
		var out []quality.Visit
		for i := range 60 {
			v := quality.Visit{NID: int64(i + 1), Collector: []string{"ann", "ben", "cem"}[i%3], At: int64(i) * 600_000, Answers: views(answer(i))}
			out = append(out, v)
		}
		return quality.Copies(f, quality.Rules{}, out, out)
	}
	alike := func(int) []int { return []int{1, 0, 0, 1, 0, 0, 0, 1, 0, 0} }
	if got := copies(alike); len(got) != 0 {
		t.Errorf("copies = %v, but all households answer alike", got)
	}
	r := rand.New(rand.NewPCG(4, 4))
	few := func(int) []int { // nine of ten say the same
		out := make([]int, 10)
		for k := range out {
			if r.Float64() < 0.1 {
				out[k] = 1
			}
		}
		return out
	}
	if got := copies(few); len(got) != 0 {
		t.Errorf("copies = %v, but most households answer alike", got)
	}
	copied := make([]int, 10)
	rare := func(i int) []int {
		out := make([]int, 10)
		for k := range out {
			out[k] = r.IntN(6)
		}
		if i == 30 {
			copied = out
		} else if i == 33 { // the same collector
			return copied
		}
		return out
	}
	if got := copies(rare); !slices.Equal(got, []int64{34}) {
		t.Errorf("copies = %v, want 34", got)
	}
}

// However many come, what is held has a bound.
func TestBounds(t *testing.T) {
	t.Parallel()
	f := fieldForm(t)
	spots, cells := quality.Held(f, func(yield func(quality.Visit) bool) {
		for i := range int64(60_000) {
			v := quality.Visit{
				NID: i, Household: fmt.Sprint(i), Collector: fmt.Sprint(i % 1000), Place: &quality.Point{Lat: float64(i/2) / 1000, Lon: 1},
				Answers: views([]int{int(i % 7), int(i % 11), 1, 1, 1, 1, 1, 1, 1, 1}),
			}
			v.Answers["home"].(map[string]any)["phone"] = fmt.Sprintf("07000%05d", i/2)
			if !yield(v) {
				return
			}
		}
	})
	if spots > quality.MaxSpots || spots == 0 || cells > quality.MaxCells || cells == 0 {
		t.Errorf("held %d spots and %d answers, at most %d and %d", spots, cells, quality.MaxSpots, quality.MaxCells)
	}
}

func TestPlain(t *testing.T) {
	t.Parallel()
	for in, want := range map[any]string{
		"+254 700 000-007": "700000007", "0700000007": "700000007", " Mary  W. ": "maryw", "MARY W": "maryw", nil: "", 12.0: "12", "12345": "12345",
		"SN 0012-A": "sn0012a",
	} {
		if got := quality.Plain(in); got != want {
			t.Errorf("plain(%v) = %q, want %q", in, got, want)
		}
	}
}

func TestSame(t *testing.T) {
	t.Parallel()
	list := func(v ...any) any { return v }
	at := func(lat float64) any { return map[string]any{"lat": lat, "lon": 36.8} }
	for _, tt := range []struct {
		name string
		typ  form.Type
		a, b any
		want bool
	}{
		{"numbers", form.Number, 5.0, 5.0, true},
		{"other numbers", form.Number, 5.0, 5.5, false},
		{"texts", form.FreeText, "Mary W.", "mary w", true},
		{"choices in another order", form.MultipleChoice, list("a", "b"), list("b", "a"), true},
		{"fewer choices", form.MultipleChoice, list("a", "b"), list("a"), false},
		{"a close place", form.Geo, at(-1.2900), at(-1.2905), true},
		{"a far place", form.Geo, at(-1.29), at(-1.30), false},
		{"nothing before", form.Integer, nil, 3.0, false},
		{"does not know", form.Integer, map[string]any{"noAnswer": "dont_know"}, map[string]any{"noAnswer": "dont_know"}, true},
		{"one choice", form.SingleChoice, "a", "b", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := quality.Same(tt.typ, tt.a, tt.b); got != tt.want {
				t.Errorf("same(%v, %v) = %v", tt.a, tt.b, got)
			}
		})
	}
}
