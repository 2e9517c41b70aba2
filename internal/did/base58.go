package did

import "math/big"

const alphabet = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"

// base58 is the Bitcoin alphabet's encoding, the "z" of multibase.
func base58(b []byte) string {
	n, base, rem := new(big.Int).SetBytes(b), big.NewInt(58), new(big.Int)
	var out []byte
	for n.Sign() > 0 {
		n.DivMod(n, base, rem)
		out = append(out, alphabet[rem.Int64()])
	}
	for _, c := range b {
		if c != 0 {
			break
		}
		out = append(out, alphabet[0])
	}
	for i, j := 0, len(out)-1; i < j; i, j = i+1, j-1 {
		out[i], out[j] = out[j], out[i]
	}
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
