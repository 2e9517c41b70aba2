// Package version compares the versions of protocols.
package version

import (
	"cmp"
	"strconv"
	"strings"
)

// Newer tells whether semantic version a comes after b.
func Newer(a, b string) bool {
	mainA, preA, _ := strings.Cut(a, "-")
	mainB, preB, _ := strings.Cut(b, "-")
	if n := compareParts(mainA, mainB); n != 0 {
		return n > 0
	}
	switch {
	case preA == "" || preB == "": // a release comes after what leads to it
		return preA == "" && preB != ""
	}
	return compareParts(preA, preB) > 0
}

// compareParts compares texts with dots part by part: numbers as numbers and
// before words; a text that goes on comes after.
func compareParts(a, b string) int {
	as, bs := strings.Split(a, "."), strings.Split(b, ".")
	for i := range min(len(as), len(bs)) {
		x, errX := strconv.Atoi(as[i])
		y, errY := strconv.Atoi(bs[i])
		n := 0
		switch {
		case errX == nil && errY == nil:
			n = cmp.Compare(x, y)
		case errX == nil:
			n = -1
		case errY == nil:
			n = 1
		default:
			n = strings.Compare(as[i], bs[i])
		}
		if n != 0 {
			return n
		}
	}
	return cmp.Compare(len(as), len(bs))
}
