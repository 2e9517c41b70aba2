package protocol

import (
	"cmp"
	"regexp"
	"strconv"
	"strings"
)

// versionForm is a semantic version without build metadata: two versions that
// differ only in it would be equal in order and different as text.
var versionForm = regexp.MustCompile(`^(0|[1-9]\d{0,8})\.(0|[1-9]\d{0,8})\.(0|[1-9]\d{0,8})(-[0-9A-Za-z-]+(\.[0-9A-Za-z-]+)*)?$`)

// maxVersion is how many characters a version may have.
const maxVersion = 64

// validVersion tells whether v is a version: 1.0.0, 2.1.0-beta.1.
func validVersion(v string) bool {
	if len(v) > maxVersion || !versionForm.MatchString(v) {
		return false
	}
	_, pre, _ := strings.Cut(v, "-")
	for part := range strings.SplitSeq(pre, ".") {
		if len(part) > 1 && part[0] == '0' && digits(part) { // 01 and 1 would be one number
			return false
		}
	}
	return true
}

func digits(s string) bool {
	return s != "" && strings.Trim(s, "0123456789") == ""
}

// compareVersions orders versions as semver.org does. Both are valid.
func compareVersions(a, b string) int {
	mainA, preA, _ := strings.Cut(a, "-")
	mainB, preB, _ := strings.Cut(b, "-")
	partsA, partsB := strings.Split(mainA, "."), strings.Split(mainB, ".")
	for i := range min(len(partsA), len(partsB)) {
		x, _ := strconv.Atoi(partsA[i])
		y, _ := strconv.Atoi(partsB[i])
		if n := cmp.Compare(x, y); n != 0 {
			return n
		}
	}
	switch {
	case preA == preB:
		return 0
	case preA == "": // a release comes after what leads to it
		return 1
	case preB == "":
		return -1
	}
	return comparePre(strings.Split(preA, "."), strings.Split(preB, "."))
}

func comparePre(a, b []string) int {
	for i := range min(len(a), len(b)) {
		na, nb := digits(a[i]), digits(b[i])
		var n int
		switch {
		case na && nb:
			n = cmp.Or(cmp.Compare(len(a[i]), len(b[i])), cmp.Compare(a[i], b[i]))
		case na:
			n = -1 // numbers come before words
		case nb:
			n = 1
		default:
			n = cmp.Compare(a[i], b[i])
		}
		if n != 0 {
			return n
		}
	}
	return cmp.Compare(len(a), len(b))
}

// step is a version of a protocol and where it stands.
type step struct {
	version string
	status  Status
}

// choose picks the version twins are made from when none is named: the newest
// published one, a release before what leads to one; without any, the newest
// deprecated; then the newest draft; then the newest of all. ok is false when
// there is none.
func choose(steps []step) (step, bool) {
	rank := func(s step) int {
		n := 0
		switch s.status {
		case StatusPublished:
			n = 6
		case StatusDeprecated:
			n = 4
		case StatusDraft:
			n = 2
		}
		if !strings.Contains(s.version, "-") {
			n++
		}
		return n
	}
	var best step
	for _, s := range steps {
		if best.version == "" || cmp.Or(cmp.Compare(rank(s), rank(best)), compareVersions(s.version, best.version)) > 0 {
			best = s
		}
	}
	return best, best.version != ""
}

// newest is the highest version; "" when there is none.
func newest(steps []step) string {
	var best string
	for _, s := range steps {
		if best == "" || compareVersions(s.version, best) > 0 {
			best = s.version
		}
	}
	return best
}
