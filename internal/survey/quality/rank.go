package quality

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"math"

	"github.com/hearth-dmrv/hearth/internal/order"
)

// Rank is the rank of an id in a draw, as 64 hex digits: the SHA-256 of the
// seed, the byte 0x1F and the id. Anybody who knows the seed can repeat the
// draw; a person who has to name it beforehand cannot choose who is drawn.
func Rank(seed, id string) string {
	sum := sha256.Sum256([]byte(seed + "\x1f" + id))
	return hex.EncodeToString(sum[:])
}

// Ranked is an id that may be drawn.
type Ranked struct {
	Rank string
	ID   string
	Key  int64 // for the caller's use
}

// Compare puts draws in the order of their rank.
func (r Ranked) Compare(o Ranked) int {
	return cmp.Or(cmp.Compare(r.Rank, o.Rank), cmp.Compare(r.ID, o.ID))
}

// Allocate returns how many to draw from each part of a population. With share
// it is that share of each part, rounded up. With size it is in proportion to
// the parts, by largest remainders, the first of equal ones first. No part gets
// fewer than least, nor more than it has; so the sum may exceed size.
func Allocate(parts []int, share float64, size, least int) []int {
	out, total := make([]int, len(parts)), 0
	for _, n := range parts {
		total += n
	}
	if total == 0 {
		return out
	}
	type left struct {
		part int
		rest float64
	}
	var rests []left
	given := 0
	for i, n := range parts {
		exact := float64(n) * share
		if size > 0 {
			exact = float64(min(size, total)) * float64(n) / float64(total)
			out[i] = int(math.Floor(exact + 1e-9))
			rests = append(rests, left{i, exact - float64(out[i])})
		} else {
			out[i] = int(math.Ceil(exact - 1e-9))
		}
		given += out[i]
	}
	order.Stable(rests, func(a, b left) int {
		switch {
		case a.rest > b.rest+1e-9:
			return -1
		case b.rest > a.rest+1e-9:
			return 1
		}
		return 0
	})
	for i := 0; size > 0 && given < min(size, total) && i < len(rests); i++ {
		out[rests[i].part]++
		given++
	}
	for i, n := range parts {
		out[i] = min(n, max(out[i], least))
	}
	return out
}
