package quality

import (
	"math"

	"github.com/hearth-dmrv/hearth/internal/survey/quality/stat"
)

// copies finds interviews of one collector that are nearly the same. It holds
// a new one against the last of the same collector; of many collectors it
// forgets those that have long sent nothing.
type copies struct {
	cols  *columns
	young map[string][]*vector
	old   map[string][]*vector
	cells int // answers held in young
}

type vector struct {
	nid     int64
	at      int64 // ms
	answers []uint32
	told    bool // it was flagged
}

// fewAnswers are too few to tell a copy from a like household.
const fewAnswers = 10

func newCopies(cols *columns) *copies { return &copies{cols: cols, young: map[string][]*vector{}} }

// find gives the interview this one is a copy of, if any, and how much of it
// is the same.
func (c *copies) find(in *interview, rules *Rules) (*vector, float64) {
	answers, n := c.cols.vector(in.public)
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
			equal, asked := stat.Alike(answers, other.answers)
			if share := float64(equal) / float64(asked); share >= rules.CopiedShare && share > most {
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
