package sampling

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"math/bits"
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

// Compare puts units in the order of their rank.
func (r Ranked) Compare(o Ranked) int {
	if c := bytes.Compare(r.Rank[:], o.Rank[:]); c != 0 {
		return c
	}
	return strings.Compare(r.Unit.Unit, o.Unit.Unit)
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
