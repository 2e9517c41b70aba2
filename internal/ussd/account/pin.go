package account

import (
	"crypto/rand"
	"fmt"
	"math/big"
	"strings"
)

// pinSize is the number of digits of a PIN that is chosen here. At login 4 to
// 6 are taken: accounts of an earlier server may have such.
const pinSize = 5

// weakness is why a PIN is too easy to guess; "" when it is not.
type weakness string

// The full rule. A PIN is refused when its digits are all the same (77777),
// count up or down by one with 0 following 9 (12345, 54321, 78901), alternate
// between two (12121), or are the last digits of the caller's own number. Dates
// are not refused: among five digits a rule could not tell dates from chance.
const (
	weakSame   weakness = "same"
	weakRun    weakness = "run"
	weakRepeat weakness = "repeat"
	weakPhone  weakness = "phone"
	weakOld    weakness = "old"  // it is the one before
	weakForm   weakness = "form" // it is not 5 digits
)

// weak says why a PIN is too easy to guess. phone is the caller's.
func weak(pin, phone string) weakness {
	switch {
	case steps(pin, 0):
		return weakSame
	case steps(pin, 1), steps(pin, 9):
		return weakRun
	case turns(pin):
		return weakRepeat
	case strings.HasSuffix(phone, pin):
		return weakPhone
	}
	return ""
}

// steps reports whether each digit is the one before plus by, modulo 10.
func steps(pin string, by byte) bool {
	for i := 1; i < len(pin); i++ {
		if pin[i]-'0' != (pin[i-1]-'0'+by)%10 {
			return false
		}
	}
	return true
}

// turns reports whether each digit is the one two places before.
func turns(pin string) bool {
	for i := 2; i < len(pin); i++ {
		if pin[i] != pin[i-2] {
			return false
		}
	}
	return true
}

// isPIN reports whether text is a PIN that may be chosen.
func isPIN(text string) bool { return len(text) == pinSize && digits(text) }

func digits(text string) bool { return strings.Trim(text, "0123456789") == "" }

// randomDigits draws n digits.
func randomDigits(n int) string {
	limit := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(n)), nil)
	v, err := rand.Int(rand.Reader, limit)
	if err != nil {
		panic(err) // the source of randomness never fails: the program ends instead
	}
	return fmt.Sprintf("%0*d", n, v)
}

// newPIN draws a PIN that is not weak for a number.
func newPIN(phone string) string {
	for {
		if pin := randomDigits(pinSize); weak(pin, phone) == "" {
			return pin
		}
	}
}
