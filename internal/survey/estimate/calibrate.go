package estimate

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/hearth-dmrv/hearth/internal/fault"
)

// Margin is a known total of the population: how many households have each
// value of a variable that the sample also has.
type Margin struct {
	By     string
	Of     []string // the value of each member
	Totals map[string]float64
}

// margin is a margin as the fit uses it: members by number of their cell.
type margin struct {
	cell   []int // -1 for members without weight
	totals []float64
	before []float64 // the weights before the fit
}

// maxRounds bounds how long weights are fitted.
const maxRounds = 2000

// Calibrate fits the weights to known totals: one margin is post-stratification,
// several are raking. Variance that the margins explain no longer counts. The
// faults are TOTALS_INVALID, CELL_EMPTY and WEIGHTS_DO_NOT_FIT.
func (d *Design) Calibrate(known []Margin) (*Design, error) {
	out := *d
	out.weights, out.margins, out.known = slices.Clone(d.weights), nil, true
	whole := 0.0
	for i, k := range known {
		m, err := d.margin(k)
		if err != nil {
			return nil, err
		}
		sum := 0.0
		for _, v := range m.totals {
			sum += v
		}
		if i > 0 && math.Abs(sum-whole) > 1e-6*whole {
			return nil, totalsInvalid(fmt.Sprintf("The totals of %s add up to %v, those of %s to %v.", k.By, sum, known[0].By, whole))
		}
		whole = sum
		out.margins = append(out.margins, m)
	}
	for range maxRounds {
		off := 0.0
		for _, m := range out.margins {
			off = max(off, m.scale(out.weights))
		}
		if off < 1e-14 || len(out.margins) == 1 {
			return &out, nil
		}
	}
	for _, m := range out.margins {
		if m.scale(slices.Clone(out.weights)) > 1e-10 {
			return nil, fault.New(fault.Unprocessable, "WEIGHTS_DO_NOT_FIT", "No weights fit all totals: some values occur only together. Leave out one of the totals, or join values.")
		}
	}
	return &out, nil
}

var errTotals = fault.New(fault.Unprocessable, "TOTALS_INVALID", "The totals of the survey do not fit its sample.")

func totalsInvalid(detail string) error {
	out := *errTotals
	out.Message += " " + detail
	return &out
}

// margin numbers the cells of a known total.
func (d *Design) margin(k Margin) (margin, error) {
	values := slices.Sorted(maps.Keys(k.Totals))
	m := margin{cell: make([]int, len(d.members)), totals: make([]float64, len(values)), before: d.weights}
	number := make(map[string]int, len(values))
	for i, v := range values {
		number[v], m.totals[i] = i, k.Totals[v]
	}
	counts := make([]int, len(values))
	for i := range d.members {
		m.cell[i] = -1
		if d.weights[i] == 0 {
			continue
		}
		n, ok := number[k.Of[i]]
		if !ok || m.totals[n] <= 0 {
			return m, totalsInvalid(without(k, k.Of[i]))
		}
		m.cell[i] = n
		counts[n]++
	}
	var empty []Join
	for i, n := range counts {
		if n == 0 && m.totals[i] > 0 {
			empty = append(empty, Join{Value: values[i], With: fewest(values, counts, i)})
		}
	}
	if len(empty) > 0 {
		return m, joins(errCellEmpty, empty)
	}
	return m, nil
}

// without says what to do about households with a value that the totals do not have. It
// does not say how many: they may be few.
func without(k Margin, value string) string {
	if value == "" {
		return fmt.Sprintf("Some of its households have no answer to %s. Fit the weights to totals of something known of every household, such as group or stratum.", k.By)
	}
	return fmt.Sprintf("Some of its households have %s, which the totals of %s lack: add it to the totals.", quoted("value", value), k.By)
}

// fewest is the value with the fewest households of those that have any.
func fewest(values []string, counts []int, but int) string {
	found := -1
	for i, n := range counts {
		if i != but && n > 0 && (found < 0 || cmp.Less(n, counts[found])) {
			found = i
		}
	}
	if found < 0 {
		return ""
	}
	return values[found]
}

// scale makes the weights of each cell add up to its total. It returns by how
// much the furthest was off.
func (m margin) scale(weights []float64) (off float64) {
	sums := make([]float64, len(m.totals))
	for i, c := range m.cell {
		if c >= 0 {
			sums[c] += weights[i]
		}
	}
	for i, c := range m.cell {
		if c >= 0 {
			weights[i] *= m.totals[c] / sums[c]
		}
	}
	for c, sum := range sums {
		if sum > 0 {
			off = max(off, math.Abs(m.totals[c]/sum-1))
		}
	}
	return off
}

// residuals are what the margins do not explain of a variable: it less its
// regression on the cells, with the weights from before the fit. Taking out the
// means of one margin after the other comes to it.
func (d *Design) residuals(u []float64) []float64 {
	out := slices.Clone(u)
	scale := 0.0
	for _, v := range u {
		scale = max(scale, math.Abs(v))
	}
	for range maxRounds {
		off := 0.0
		for _, m := range d.margins {
			off = max(off, m.centre(out))
		}
		if off <= 1e-15*scale || len(d.margins) < 2 {
			break
		}
	}
	return out
}

// centre takes the mean of its cell out of each value. It returns the largest.
func (m margin) centre(u []float64) (off float64) {
	sums, weights := make([]float64, len(m.totals)), make([]float64, len(m.totals))
	for i, c := range m.cell {
		if c >= 0 {
			sums[c] += m.before[i] * u[i]
			weights[c] += m.before[i]
		}
	}
	for i, c := range m.cell {
		if c >= 0 {
			u[i] -= sums[c] / weights[c]
			off = max(off, math.Abs(sums[c]/weights[c]))
		}
	}
	return off
}
