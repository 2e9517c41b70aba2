package survey

import (
	"crypto/sha256"
	"encoding/binary"
	"math"
)

// share is the weight of a collector for a household: the collector with the
// highest share gets it. It is weighted rendezvous hashing: each gets
// households in proportion to its load, and a new collector takes some from all
// and moves no other.
func share(collector, household string, load int) float64 {
	sum := sha256.Sum256([]byte(collector + "\n" + household))
	u := (float64(binary.BigEndian.Uint64(sum[:8])>>11) + 0.5) / (1 << 53) // above 0, below 1
	return float64(load) / -math.Log(u)
}
