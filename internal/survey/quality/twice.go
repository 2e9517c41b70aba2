package quality

import "math"

// Twice remembers which of many keys were added more than once, in two bits for
// each. It never misses one; a few percent of the others are false positives.
type Twice struct {
	bits []uint64 // 32 places each
	mask uint64
}

// The least and most places of a Twice: 16 KiB and 8 MiB.
const (
	minPlaces = 1 << 16
	maxPlaces = 1 << 25
)

const probes = 3

// NewTwice makes a Twice for about n keys.
func NewTwice(n int64) *Twice {
	places := uint64(minPlaces)
	for places < maxPlaces && places < uint64(max(0, n))*12 {
		places *= 2
	}
	return &Twice{bits: make([]uint64, places/32), mask: places - 1}
}

// Add adds a key.
func (t *Twice) Add(key uint64) {
	for i := range uint64(probes) {
		at := t.place(key, i)
		shift := at % 32 * 2
		if t.bits[at/32]>>shift&3 < 3 {
			t.bits[at/32] += 1 << shift
		}
	}
}

// Seen is how often a key may have been added, at most 3.
func (t *Twice) Seen(key uint64) int {
	least := uint64(3)
	for i := range uint64(probes) {
		at := t.place(key, i)
		least = min(least, t.bits[at/32]>>(at%32*2)&3)
	}
	return int(least)
}

func (t *Twice) place(key, probe uint64) uint64 {
	return Mix(key^probe*0xa0761d6478bd642f) & t.mask
}

// Point is a place on earth, in degrees.
type Point struct{ Lat, Lon float64 }

// Grid divides the earth into cells about Metres wide: two points no farther
// apart than that are in one cell or in adjacent ones.
type Grid struct{ Metres float64 }

// Cell is one field of a Grid.
type Cell struct{ Band, Column int64 }

const degree = 111_194.93 // metres of latitude

// Of is the cell of a point.
func (g Grid) Of(p Point) Cell {
	band := int64(math.Floor(p.Lat * degree / g.Metres))
	return Cell{band, g.column(band, p.Lon)}
}

// column counts cells along a band, which get wider in degrees towards the
// poles. All of a band have one width.
func (g Grid) column(band int64, lon float64) int64 {
	lat := min(89.9, math.Abs(float64(band)*g.Metres/degree)+g.Metres/degree)
	return int64(math.Floor(lon * degree * math.Cos(lat*math.Pi/180) / g.Metres))
}

// Around returns the cell of a point and all adjacent cells.
func (g Grid) Around(p Point) [9]Cell {
	var out [9]Cell
	i, middle := 0, g.Of(p).Band
	for band := middle - 1; band <= middle+1; band++ {
		column := g.column(band, p.Lon)
		for c := column - 1; c <= column+1; c++ {
			out[i] = Cell{band, c}
			i++
		}
	}
	return out
}

// Key is a number for the cell.
func (c Cell) Key(seed uint64) uint64 {
	return Mix(Mix(uint64(c.Band)^seed) ^ uint64(c.Column))
}

// Metres is the distance between two points that are close to each other.
func Metres(a, b Point) float64 {
	dLat := (a.Lat - b.Lat) * degree
	dLon := math.Abs(a.Lon - b.Lon)
	dLon = min(dLon, 360-dLon) * degree * math.Cos((a.Lat+b.Lat)/2*math.Pi/180)
	return math.Hypot(dLat, dLon)
}

// Alike compares two interviews question by question: it counts equal answers,
// and questions that either has answered. 0 is a question without an answer.
func Alike(a, b []uint32) (equal, asked int) {
	for i := range a {
		if a[i] == 0 && b[i] == 0 {
			continue
		}
		asked++
		if a[i] == b[i] {
			equal++
		}
	}
	return equal, asked
}
