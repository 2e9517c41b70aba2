package sampling

import (
	"cmp"
	"math"

	"github.com/hearth-dmrv/hearth/internal/order"
)

// Part is a stratum for the allocation of sizes.
type Part struct {
	Population int
	Share      float64 // of the sample, in any unit: its population, or population times spread
}

// Allocate divides n among the parts by their shares, by largest remainders,
// the first of equal ones first. None gets more than it has, and the excess
// goes to the others; each gets at least floor, or all it has, so the sum may
// exceed n.
func Allocate(n, floor int, parts []Part) []int {
	out := make([]int, len(parts))
	full := make([]bool, len(parts))
	for {
		rest, shares := n, 0.0
		for i, p := range parts {
			if full[i] {
				rest -= out[i]
			} else {
				shares += p.Share
			}
		}
		if shares <= 0 || rest <= 0 {
			break
		}
		allot(out, full, parts, rest, shares)
		if !fill(out, full, parts) {
			break
		}
	}
	for i, p := range parts {
		out[i] = min(p.Population, max(out[i], floor))
	}
	return out
}

// allot shares rest out among the parts that are not full.
func allot(out []int, full []bool, parts []Part, rest int, shares float64) {
	type left struct {
		part int
		rest float64
	}
	var lefts []left
	given := 0
	for i, p := range parts {
		if full[i] {
			continue
		}
		exact := float64(rest) * p.Share / shares
		out[i] = int(math.Floor(exact + 1e-9))
		given += out[i]
		lefts = append(lefts, left{i, exact - float64(out[i])})
	}
	order.Stable(lefts, func(a, b left) int {
		if math.Abs(a.rest-b.rest) < 1e-9 {
			return 0
		}
		return cmp.Compare(b.rest, a.rest)
	})
	for i := 0; given < rest && i < len(lefts); i, given = i+1, given+1 {
		out[lefts[i].part]++
	}
}

// fill notes parts that have got more than they have; true when there were any.
func fill(out []int, full []bool, parts []Part) bool {
	found := false
	for i, p := range parts {
		if !full[i] && out[i] > p.Population {
			out[i], full[i], found = p.Population, true, true
		}
	}
	return found
}
