package quality

import (
	"cmp"
	"fmt"
	"hash/maphash"
	"math"

	"github.com/hearth-dmrv/hearth/internal/order"
	"github.com/hearth-dmrv/hearth/internal/survey/flag"
)

// Bounds of the memory of a run.
const (
	sampleSize    = 1_024     // answers kept of a question
	maxSpots      = 100_000   // households that may be counted twice
	maxNear       = 8         // of them in one place
	maxVectors    = 100       // interviews of a collector that a new one is held against
	maxCells      = 1_000_000 // answers in all of those
	maxCollectors = 500       // that are looked at one by one
	maxEffects    = 200       // that are reported
	maxNumbers    = 200       // questions for numbers, each unit of a quantity separately
)

// interview is a response as the checks over many see it.
type interview struct {
	nid       int64
	household string
	collector string
	at        int64 // ms
	public    Answers
	whole     Answers // including personal data
	place     *Point
}

// series are the answers to the questions for numbers.
type series struct {
	questions []Column
	index     map[string]int // question and unit
	labels    []string       // pointers of the questions
	samples   []*Sample
	centers   []Center
	full      bool // there are more questions than were looked at
}

func newSeries(questions []Column) *series {
	return &series{questions: questions, index: map[string]int{}}
}

// each calls f for every number of an interview.
func (n *series) each(a Answers, f func(i int, c Column, v float64)) {
	for _, c := range n.questions {
		v, unit, ok := a.Number(c)
		if !ok {
			continue
		}
		i, known := n.index[c.Pointer+"\x1f"+unit]
		if !known {
			if len(n.samples) == maxNumbers {
				n.full = true
				continue
			}
			i = len(n.samples)
			n.index[c.Pointer+"\x1f"+unit] = i
			n.labels = append(n.labels, c.Pointer)
			n.samples = append(n.samples, &Sample{Size: sampleSize, Seed: Mix(uint64(i))})
		}
		f(i, c, v)
	}
}

func (n *series) add(in *interview) {
	n.each(in.public, func(i int, _ Column, v float64) { n.samples[i].Add(in.nid, v) })
}

// settle finds the centres once all answers were seen.
func (n *series) settle() {
	n.centers = make([]Center, len(n.samples))
	for i, s := range n.samples {
		n.centers[i] = CenterOf(s)
	}
	n.samples = make([]*Sample, len(n.centers)) // their values are no longer needed
}

// outliers flags answers that stand out.
func (n *series) outliers(in *interview, rules *Rules) []flag.Flag {
	var out []flag.Flag
	n.each(in.public, func(i int, c Column, v float64) {
		if i >= len(n.centers) || n.centers[i].Count < int64(rules.OutlierAnswers) {
			return
		}
		center := n.centers[i]
		if z := center.Z(v); math.Abs(z) > rules.OutlierZ {
			out = append(out, flag.Flag{
				Rule: Outlier, Question: c.Pointer, Value: Round(math.Abs(z)), Limit: rules.OutlierZ,
				Detail: fmt.Sprintf("The answer %g is %.1f robust standard deviations from the median %g of %d answers.", v, math.Abs(z), center.Median, center.Count),
			})
		}
	})
	return out
}

// twins finds households that were counted twice: interviews in one place, or
// with the same telephone number, of different households.
type twins struct {
	cols   *Set
	grid   Grid
	twice  *Twice
	seed   maphash.Seed
	spots  map[uint64][]*spot
	held   int
	missed bool // there were more than could be held
}

// spot is an interview that may have a twin.
type spot struct {
	nid       int64
	household uint64
	at        Point
	told      bool // it was flagged
}

// match is interviews before one that look like its household.
type match struct {
	question string
	others   []nearby // the nearest first
}

type nearby struct {
	*spot
	metres float64
}

func newTwins(cols *Set, metres float64, about int64) *twins {
	return &twins{
		cols: cols, grid: Grid{Metres: metres}, twice: NewTwice(about * int64(2+len(cols.Unique))), seed: maphash.MakeSeed(),
		spots: map[uint64][]*spot{},
	}
}

const placeSeed = 0x706c616365 // keeps the keys of places apart

// add takes an interview in the first time.
func (w *twins) add(in *interview) {
	if in.place != nil {
		w.twice.Add(w.grid.Of(*in.place).Key(placeSeed))
	}
	w.cols.Keys(in.whole, w.seed, func(key uint64, _ string) { w.twice.Add(key) })
}

// find looks for twins among the interviews that were found before this one,
// the second time.
func (w *twins) find(in *interview) []match {
	var out []match
	me := &spot{nid: in.nid, household: maphash.String(w.seed, in.household)}
	if in.place != nil {
		me.at = *in.place
		if m, ok := w.near(me); ok {
			out = append(out, m)
		}
	}
	w.cols.Keys(in.whole, w.seed, func(key uint64, question string) {
		if w.twice.Seen(key) < 2 {
			return
		}
		m := match{question: question}
		for _, other := range w.spots[key] {
			if other.household != me.household {
				m.others = append(m.others, nearby{spot: other})
			}
		}
		if len(m.others) > 0 {
			out = append(out, m)
		}
		one := *me // a copy, because the data of one answer must not reach another
		w.hold(key, &one)
	})
	return out
}

// near finds those in the same place.
func (w *twins) near(me *spot) (match, bool) {
	own, crowd, m := w.grid.Of(me.at).Key(placeSeed), 0, match{question: "/location"}
	for _, cell := range w.grid.Around(me.at) {
		key := cell.Key(placeSeed)
		crowd += w.twice.Seen(key)
		for _, other := range w.spots[key] {
			if d := Metres(me.at, other.at); other.household != me.household && d <= w.grid.Metres {
				m.others = append(m.others, nearby{other, d})
			}
		}
	}
	order.Stable(m.others, func(a, b nearby) int { return cmp.Compare(a.metres, b.metres) })
	if crowd > 1 { // others are around
		w.hold(own, me)
	}
	return m, len(m.others) > 0
}

func (w *twins) hold(key uint64, s *spot) {
	switch list := w.spots[key]; {
	case w.held == maxSpots || len(list) == maxNear:
		w.missed = w.missed || w.held == maxSpots
	default:
		w.spots[key] = append(list, s)
		w.held++
	}
}
