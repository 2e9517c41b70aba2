package did

import (
	"math/big"
	"slices"
)

const alphabet = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"

// base58 is the Bitcoin alphabet's encoding, the "z" of multibase. It takes five digits
// with each division: a credential has six such texts.
func base58(b []byte) string {
	const five = 58 * 58 * 58 * 58 * 58 // below 1<<32
	zeros := 0
	for zeros < len(b) && b[zeros] == 0 {
		zeros++
	}
	var limbs []uint32 // the number, the highest first
	for rest := b[zeros:]; len(rest) > 0; {
		n := (len(rest)-1)%4 + 1
		var limb uint32
		for _, c := range rest[:n] {
			limb = limb<<8 | uint32(c)
		}
		limbs, rest = append(limbs, limb), rest[n:]
	}
	var out []byte // the lowest first
	for len(limbs) > 0 {
		var rem uint64
		for i, limb := range limbs {
			rem = rem<<32 | uint64(limb)
			limbs[i], rem = uint32(rem/five), rem%five
		}
		if limbs[0] == 0 { // a division takes less than 30 bits off
			limbs = limbs[1:]
		}
		for range 5 {
			out, rem = append(out, alphabet[rem%58]), rem/58
		}
	}
	for len(out) > 0 && out[len(out)-1] == alphabet[0] {
		out = out[:len(out)-1]
	}
	for range zeros {
		out = append(out, alphabet[0])
	}
	slices.Reverse(out)
	return string(out)
}

func unbase58(s string) ([]byte, error) {
	if len(s) > MaxLength {
		return nil, ErrSyntax
	}
	n, base, zeros := new(big.Int), big.NewInt(58), 0
	for i := 0; i < len(s); i++ {
		digit := indexOf(s[i])
		if digit < 0 {
			return nil, ErrSyntax
		}
		if digit == 0 && n.Sign() == 0 {
			zeros++
		}
		n.Add(n.Mul(n, base), big.NewInt(int64(digit)))
	}
	return append(make([]byte, zeros), n.Bytes()...), nil
}

func indexOf(c byte) int {
	for i := range len(alphabet) {
		if alphabet[i] == c {
			return i
		}
	}
	return -1
}
