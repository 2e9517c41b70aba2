package sampling

import (
	"bytes"
	"container/heap"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"math/bits"
	"slices"
	"strings"
)

// separator separates a seed from what it ranks.
const separator = 0x1F

// Rank is the rank of a unit in a draw: the SHA-256 of the seed, the byte 0x1F
// and the unit. The lowest are drawn.
type Rank [sha256.Size]byte

// String is the rank as 64 hex digits.
func (r Rank) String() string { return hex.EncodeToString(r[:]) }

// ranker ranks by one seed.
type ranker struct{ buf []byte }

func newRanker(seed string) *ranker { return &ranker{append([]byte(seed), separator)} }

func (r *ranker) rank(unit string) Rank {
	at := len(r.buf)
	r.buf = append(r.buf, unit...)
	sum := sha256.Sum256(r.buf)
	r.buf = r.buf[:at]
	return sum
}

// RankOf is the rank of one unit.
func RankOf(seed, unit string) Rank { return newRanker(seed).rank(unit) }

// Join makes the seed of two parts: the SHA-256 of the first, the byte 0x1F and
// the second, as 64 hex digits.
func Join(first, second string) string {
	sum := sha256.Sum256([]byte(first + string(rune(separator)) + second))
	return hex.EncodeToString(sum[:])
}

// Commitment is what is published about a part before it is revealed: its
// SHA-256 as 64 hex digits.
func Commitment(part string) string {
	sum := sha256.Sum256([]byte(part))
	return hex.EncodeToString(sum[:])
}

// Ranked is a unit with its rank.
type Ranked struct {
	Rank Rank
	Unit
	Index int64 // its line in the frame
}

func byRank(a, b Ranked) int {
	if c := bytes.Compare(a.Rank[:], b.Rank[:]); c != 0 {
		return c
	}
	return strings.Compare(a.Unit.Unit, b.Unit.Unit)
}

// lowest keeps the n with the lowest ranks. It is a heap with the highest on top.
type lowest struct {
	n    int
	kept []Ranked
}

func (l *lowest) Len() int           { return len(l.kept) }
func (l *lowest) Less(i, j int) bool { return byRank(l.kept[i], l.kept[j]) > 0 }
func (l *lowest) Swap(i, j int)      { l.kept[i], l.kept[j] = l.kept[j], l.kept[i] }
func (l *lowest) Push(v any)         { l.kept = append(l.kept, v.(Ranked)) }
func (l *lowest) Pop() any           { panic("never popped") }

// wants reports whether a rank is among the lowest so far.
func (l *lowest) wants(r Rank) bool {
	return len(l.kept) < l.n || len(l.kept) > 0 && bytes.Compare(r[:], l.kept[0].Rank[:]) <= 0
}

func (l *lowest) add(r Ranked) {
	switch {
	case len(l.kept) < l.n:
		heap.Push(l, r)
	case len(l.kept) > 0 && byRank(r, l.kept[0]) < 0:
		l.kept[0] = r
		heap.Fix(l, 0)
	}
}

// list returns what was kept, the lowest first.
func (l *lowest) list() []Ranked {
	slices.SortFunc(l.kept, byRank)
	return l.kept
}

// start is where a systematic walk over clusters of a stratum begins: the first
// 8 bytes of SHA-256(seed 0x1F "start" 0x1F stratum), as a number below total.
func start(seed, stratum string, total uint64) uint64 {
	r := RankOf(seed, "start"+string(rune(separator))+stratum)
	_, rest := bits.Div64(0, binary.BigEndian.Uint64(r[:8]), total)
	return rest
}

// systematic walks over ranked clusters in k equal steps of their sizes: the
// households are thought in one line, and the cluster of the one at each step is
// taken. Positions are in units of 1/k household, so that all numbers are whole.
// A cluster that is longer than a step can be met twice.
func systematic(sizes []uint64, k, begin uint64) []int {
	var total, upto uint64
	for _, s := range sizes {
		total += s
	}
	var out []int
	next := begin
	for i, s := range sizes {
		upto += s * k
		for next < upto && uint64(len(out)) < k {
			out = append(out, i)
			next += total
		}
	}
	return out
}
