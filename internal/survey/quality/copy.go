package quality

import (
	"math"
)

// copies finds interviews of one collector that are nearly the same. It compares
// a new one with the last ones of the same collector; with many collectors it
// forgets those that have sent nothing for a long time.
//
// Where most households give the same answer to a question, two that do are not
// copies. So it first learns how often interviews of two collectors agree in
// each question, and requires more agreement than by chance.
type copies struct {
	cols  *Set
	young map[string][]*vector
	old   map[string][]*vector
	cells int // answers held in young

	asked, equal []float64 // of interviews of two collectors, by question
	last, other  sender    // the newest interview, and the newest of another collector
}

type sender struct {
	collector string
	answers   []uint32
}

type vector struct {
	nid     int64
	at      int64 // ms
	answers []uint32
	told    bool // it was flagged
}

// fewAnswers are too few to distinguish a copy from a similar household.
const fewAnswers = 10

// rareBits is how rare the agreement of two interviews must be: chance gives it
// to one pair in a million or so.
const rareBits = 20

func newCopies(cols *Set) *copies {
	n := len(cols.Public)
	return &copies{cols: cols, young: map[string][]*vector{}, asked: make([]float64, n), equal: make([]float64, n)}
}

// learn sees every interview once before the first is looked for.
func (c *copies) learn(in *interview) {
	answers, _ := c.cols.Vector(in.public)
	if in.collector != c.last.collector {
		c.other = c.last
	}
	c.last = sender{in.collector, answers}
	for i := range c.other.answers {
		if answers[i] != 0 && c.other.answers[i] != 0 {
			c.asked[i]++
			if answers[i] == c.other.answers[i] {
				c.equal[i]++
			}
		}
	}
}

// bits is the agreement of two interviews beyond chance, in bits. A question
// nobody else has answered counts 2.
func (c *copies) bits(a, b []uint32) (sum float64) {
	for i := range a {
		if a[i] != 0 && a[i] == b[i] {
			sum -= math.Log2((c.equal[i] + 0.5) / (c.asked[i] + 2))
		}
	}
	return sum
}

// find gives the interview this one is a copy of, if any, and how much of it
// is the same.
func (c *copies) find(in *interview, rules *Rules) (*vector, float64) {
	answers, n := c.cols.Vector(in.public)
	if n < fewAnswers {
		return nil, 0
	}
	me := &vector{nid: in.nid, at: in.at, answers: answers}
	var best *vector
	most := 0.0
	for _, list := range [][]*vector{c.young[in.collector], c.old[in.collector]} {
		for _, other := range list {
			if math.Abs(float64(me.at-other.at)) > rules.CopiedHours*3_600_000 {
				continue
			}
			equal, asked := Alike(answers, other.answers)
			if share := float64(equal) / float64(asked); share >= rules.CopiedShare && share > most && c.bits(answers, other.answers) >= rareBits {
				best, most = other, share
			}
		}
	}
	c.hold(in.collector, me)
	return best, most
}

func (c *copies) hold(collector string, v *vector) {
	list := append(c.young[collector], v)
	c.cells += len(v.answers)
	if len(list) > maxVectors {
		c.cells -= len(list[0].answers)
		list[0] = nil
		list = list[1:]
	}
	c.young[collector] = list
	if c.cells > maxCells/2 {
		c.old, c.young, c.cells = c.young, map[string][]*vector{}, 0
	}
}
