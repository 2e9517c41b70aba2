package estimate

import (
	"math"

	"github.com/hearth-dmrv/hearth/internal/fault"
)

// Values are the values to estimate from, one for each member of the sample.
type Values struct {
	Y  []float64
	X  []float64 // the denominator of a ratio
	In []bool    // the members it is about: those that have said it
}

// Figure is an estimate.
type Figure struct {
	Value      float64
	SE         float64
	DF         float64 // degrees of freedom
	N          int     // members it comes from
	Population float64 // households they represent
	Deff       float64 // variance relative to that of a simple random sample without replacement of the same n; 0 where there is none
	Kish       float64 // what unequal weights alone cost: n Σw² / (Σw)²
	Unweighted float64

	proportion bool
	exact      bool // the whole population was asked
	scores     scores
	rows       []int
	woodruff   *[2]float64 // the interval of a quantile
}

var errNoAnswers = fault.New(fault.Unprocessable, "NO_ANSWERS", "No household that counts has answered this question.")

// rows are the members that a figure is about: those that answered the survey
// and said it.
func (d *Design) rows(v Values) ([]int, error) {
	var out []int
	for i, m := range d.members {
		if m.Outcome == Answered && d.weights[i] > 0 && (v.In == nil || v.In[i]) {
			out = append(out, i)
		}
	}
	if len(out) == 0 {
		return nil, errNoAnswers
	}
	return out, nil
}

// Total is the sum over the population. The faults are NO_ANSWERS and
// POPULATION_UNKNOWN.
func (d *Design) Total(v Values) (*Figure, error) {
	if !d.known {
		return nil, fault.New(fault.Unprocessable, "POPULATION_UNKNOWN", "A total needs the population of the survey.")
	}
	rows, err := d.rows(v)
	if err != nil {
		return nil, err
	}
	f, u := d.begin(rows), make([]float64, len(d.members))
	plain := 0.0
	for _, i := range rows {
		u[i] = v.Y[i]
		f.Value += d.weights[i] * v.Y[i]
		plain += v.Y[i]
	}
	f.Unweighted = plain
	return f.finish(u), nil
}

// Mean is the average over the population. The fault is NO_ANSWERS.
func (d *Design) Mean(v Values) (*Figure, error) {
	one := v
	one.X = nil
	return d.Ratio(one)
}

// Proportion is the mean of a variable that is 0 or 1, with its own kinds of
// intervals. The fault is NO_ANSWERS.
func (d *Design) Proportion(v Values) (*Figure, error) {
	f, err := d.Mean(v)
	if err == nil {
		f.proportion = true
	}
	return f, err
}

// Ratio is the total of Y over that of X, or over the households without X. The
// faults are NO_ANSWERS and RATIO_OF_NOTHING.
func (d *Design) Ratio(v Values) (*Figure, error) {
	rows, err := d.rows(v)
	if err != nil {
		return nil, err
	}
	x := func(i int) float64 {
		if v.X == nil {
			return 1
		}
		return v.X[i]
	}
	var sumY, sumX, plainY, plainX float64
	for _, i := range rows {
		sumY += d.weights[i] * v.Y[i]
		sumX += d.weights[i] * x(i)
		plainY, plainX = plainY+v.Y[i], plainX+x(i)
	}
	if sumX == 0 || plainX == 0 {
		return nil, fault.New(fault.Unprocessable, "RATIO_OF_NOTHING", "The denominator of the ratio adds up to 0.")
	}
	f, u := d.begin(rows), make([]float64, len(d.members))
	f.Value, f.Unweighted = sumY/sumX, plainY/plainX
	for _, i := range rows {
		u[i] = (v.Y[i] - f.Value*x(i)) / sumX
	}
	return f.finish(u), nil
}

// begin counts what a figure comes from.
func (d *Design) begin(rows []int) *Figure {
	f := &Figure{N: len(rows), DF: d.freedom(rows), exact: d.Complete(), scores: scores{d: d}, rows: rows}
	squares := 0.0
	for _, i := range rows {
		f.Population += d.weights[i]
		squares += d.weights[i] * d.weights[i]
	}
	f.Kish = float64(f.N) * squares / (f.Population * f.Population)
	return f
}

// finish gives the spread of the figure, from its linearised variable.
func (f *Figure) finish(u []float64) *Figure {
	d := f.scores.d
	f.Deff = f.simple(u)
	f.scores.z = d.residuals(u)
	for i := range f.scores.z {
		f.scores.z[i] *= d.weights[i]
	}
	v := f.scores.variance()
	f.SE = math.Sqrt(v)
	if f.Deff > 0 {
		f.Deff = v / f.Deff
	}
	return f
}

// simple is the variance of a simple random sample of the same size; 0 where a
// comparison is impossible.
func (f *Figure) simple(u []float64) float64 {
	n := float64(f.N)
	if n < 2 || f.Population <= n {
		return 0
	}
	w, mean, sum := f.scores.d.weights, 0.0, 0.0
	for _, i := range f.rows {
		mean += w[i] * u[i] / f.Population
	}
	for _, i := range f.rows {
		sum += w[i] * (u[i] - mean) * (u[i] - mean) / f.Population
	}
	return f.Population * (f.Population - n) * sum / (n - 1)
}

// EffectiveN is the size of a simple random sample with the same precision. For
// a proportion it is derived from its interval at a level; for others it is n
// over Deff.
func (f *Figure) EffectiveN(l Level) float64 {
	switch {
	case f.proportion:
		return f.effective(l)
	case f.Deff > 0:
		return float64(f.N) / f.Deff
	}
	return float64(f.N)
}
