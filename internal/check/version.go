package check

import "golang.org/x/mod/semver"

// maxVersion is how many characters a version may have.
const maxVersion = 64

// IsVersion reports whether v is a semantic version without build metadata:
// 1.0.0, 2.1.0-beta.1. Two versions that differ only in build metadata would be
// equal in order and different as text.
func IsVersion(v string) bool {
	return len(v) <= maxVersion && semver.Canonical("v"+v) == "v"+v
}

// CompareVersions orders versions as semver.org does: negative when a comes
// before b. Invalid versions come first.
func CompareVersions(a, b string) int { return semver.Compare("v"+a, "v"+b) }
