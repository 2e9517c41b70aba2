package survey

import (
	"crypto/sha256"
	"encoding/binary"
	"math"
)

// share is how strongly a household is drawn to a collector: whoever has the
// highest share has it. It is rendezvous hashing with weights: each gets
// households in proportion to its load, and a new collector takes some from
// all and moves no other.
func share(collector, household string, load int) float64 {
	sum := sha256.Sum256([]byte(collector + "\n" + household))
	u := (float64(binary.BigEndian.Uint64(sum[:8])>>11) + 0.5) / (1 << 53) // above 0, below 1
	return float64(load) / -math.Log(u)
}
