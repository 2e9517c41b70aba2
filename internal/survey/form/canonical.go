package form

import (
	"math"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
)

// quote appends a string as RFC 8785 writes it. The texts are UTF-8.
func quote[S ~string | ~[]byte](dst []byte, s S) []byte {
	out, err := jsontext.AppendQuote(dst, s)
	if err != nil {
		return append(dst, `""`...) // checked before: cannot happen
	}
	return out
}

// number appends a number as RFC 8785 writes it: the way ECMAScript does.
func number(dst []byte, f float64) []byte {
	if f == 0 {
		return append(dst, '0') // negative zero too
	}
	if abs := math.Abs(f); abs >= 1e-6 && abs < 1e21 {
		return strconv.AppendFloat(dst, f, 'f', -1, 64)
	}
	dst = strconv.AppendFloat(dst, f, 'e', -1, 64)
	// 1e-07 becomes 1e-7.
	if n := len(dst); n >= 4 && dst[n-4] == 'e' && dst[n-2] == '0' {
		dst[n-2] = dst[n-1]
		dst = dst[:n-1]
	}
	return dst
}
