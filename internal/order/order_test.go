package order_test

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/hearth-dmrv/hearth/internal/order"
)

type pair struct{ key, place int }

func byKey(a, b pair) int { return cmp.Compare(a.key, b.key) }

// The order is that of package slices, also of what compares as equal.
func TestSort(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	for _, n := range []int{0, 1, 2, 11, 12, 13, 50, 51, 1000, 5000} {
		for _, keys := range []int{1, 3, n + 1, 10 * (n + 1)} {
			in := make([]pair, n)
			for i := range in {
				in[i] = pair{r.IntN(keys), i}
			}
			got, want := slices.Clone(in), slices.Clone(in)
			order.Sort(got, byKey)
			slices.SortFunc(want, byKey)
			if !slices.Equal(got, want) {
				t.Errorf("Sort of %d with %d keys differs from slices.SortFunc", n, keys)
			}
			got, want = in, slices.Clone(in)
			order.Stable(got, byKey)
			slices.SortStableFunc(want, byKey)
			if !slices.Equal(got, want) {
				t.Errorf("Stable of %d with %d keys differs from slices.SortStableFunc", n, keys)
			}
		}
	}
}

func BenchmarkSort(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 2))
	in := make([]pair, 1000)
	for i := range in {
		in[i] = pair{r.IntN(1e6), i}
	}
	for name, sort := range map[string]func([]pair, func(a, b pair) int){"order": order.Sort[pair], "slices": slices.SortFunc[[]pair]} {
		b.Run(name, func(b *testing.B) {
			s := make([]pair, len(in))
			for b.Loop() {
				copy(s, in)
				sort(s, byKey)
			}
		})
	}
}

func (p pair) Compare(o pair) int {
	return cmp.Or(cmp.Compare(p.key, o.key), cmp.Compare(p.place, o.place))
}

// Lowest agrees with sorting everything.
func TestLowest(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		l, all := &order.Lowest[pair]{N: r.IntN(70)}, []pair(nil)
		for i := range r.IntN(60) {
			v := pair{r.IntN(30), i}
			full := len(all) >= l.N && l.N > 0
			if last := l.Last(); (last != nil) != full || full && *last != slices.MaxFunc(l.Kept(), pair.Compare) {
				t.Fatalf("last of %v = %v", l.Kept(), last)
			}
			l.Add(v)
			all = append(all, v)
		}
		slices.SortFunc(all, pair.Compare)
		got := slices.SortedFunc(slices.Values(l.Kept()), pair.Compare)
		if want := all[:min(l.N, len(all))]; !slices.Equal(got, want) {
			t.Fatalf("lowest %d = %v, want %v", l.N, got, want)
		}
	}
}
