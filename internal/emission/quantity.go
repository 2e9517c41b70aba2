package emission

import (
	"math"
	"math/big"
	"strconv"
)

// quantity is a number of a dimension, in base units. It is a fraction: nothing
// is lost when quantities are added, multiplied or converted, and any machine
// comes to the same digits. Roots and quantiles are floating-point numbers that
// become fractions.
type quantity struct {
	r   *big.Rat
	dim dimension
}

// of is a number in a unit of ours.
func of(number, unit string) quantity {
	r, ok := new(big.Rat).SetString(number)
	if !ok {
		panic("emission: " + number + " is no number")
	}
	u := mustUnit(unit)
	return quantity{r.Mul(r, u.size), u.dim}
}

// exactly is the decimal number that f is written as.
func exactly(f float64) *big.Rat {
	r, _ := new(big.Rat).SetString(strconv.FormatFloat(f, 'g', -1, 64))
	return r
}

// plain is a number without a dimension.
func plain(f float64) quantity { return quantity{r: exactly(f)} }

func (q quantity) times(o quantity) quantity {
	d := q.dim
	for i := range d {
		d[i] += o.dim[i]
	}
	return quantity{new(big.Rat).Mul(q.r, o.r), d}
}

// over divides. What is divided by is above 0: the tables of inputs say so.
func (q quantity) over(o quantity) quantity {
	d := q.dim
	for i := range d {
		d[i] -= o.dim[i]
	}
	return quantity{new(big.Rat).Quo(q.r, o.r), d}
}

func (q quantity) plus(o quantity) quantity {
	q.same(o)
	return quantity{new(big.Rat).Add(q.r, o.r), q.dim}
}

// less is q - o, and 0 where o is more.
func (q quantity) less(o quantity) quantity {
	q.same(o)
	r := new(big.Rat).Sub(q.r, o.r)
	if r.Sign() < 0 {
		r.SetInt64(0)
	}
	return quantity{r, q.dim}
}

func (q quantity) atMost(o quantity) quantity {
	if q.above(o) {
		return o
	}
	return q
}

func (q quantity) above(o quantity) bool {
	q.same(o)
	return q.r.Cmp(o.r) > 0
}

func (q quantity) zero() bool { return q.r.Sign() == 0 }

// same guards formulas: one that adds a mass to an energy is a mistake of ours
// that the first test of the module finds.
func (q quantity) same(o quantity) {
	if q.dim != o.dim {
		panic("emission: a formula joins quantities of different dimensions")
	}
}

// in is the number in a unit.
func (q quantity) in(unit string) float64 {
	u := mustUnit(unit)
	q.same(quantity{dim: u.dim})
	f, _ := new(big.Rat).Quo(q.r, u.size).Float64()
	return f
}

// root is the square root of a number without a dimension, to the last digit of
// a floating-point number.
func (q quantity) root() quantity {
	q.same(quantity{})
	f, _ := q.r.Float64()
	return quantity{r: new(big.Rat).SetFloat64(math.Sqrt(f))}
}
