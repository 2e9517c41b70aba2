package protocol

import (
	"cmp"
	"strings"

	"github.com/hearth-dmrv/hearth/internal/check"
)

// step is a version of a protocol and where it stands.
type step struct {
	version string
	status  Status
}

// choose picks the default version for new twins: the newest published one, a
// release before a pre-release; without any, the newest deprecated; then the
// newest draft; then the newest of all. ok is false when there is none.
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
		if best.version == "" || cmp.Or(cmp.Compare(rank(s), rank(best)), check.CompareVersions(s.version, best.version)) > 0 {
			best = s
		}
	}
	return best, best.version != ""
}

// newest is the highest version; "" when there is none.
func newest(steps []step) string {
	var best string
	for _, s := range steps {
		if best == "" || check.CompareVersions(s.version, best) > 0 {
			best = s.version
		}
	}
	return best
}
