package privacy

import (
	"strconv"
	"strings"
)

// recordPrefix is the prefix of a response's reference. An id that a client chooses
// cannot contain its last character, so a reference never means another response.
const recordPrefix = "rec~"

// RecordName is the reference of a response by its number. It reveals nothing
// about whom the response is about, and is the same in every read and every file.
func RecordName(nid int64) string { return recordPrefix + strconv.FormatInt(nid, 10) }

// RecordNID is the number in a reference; false when id is not one.
func RecordNID(id string) (int64, bool) {
	digits, ok := strings.CutPrefix(id, recordPrefix)
	nid, err := strconv.ParseInt(digits, 10, 64)
	return nid, ok && err == nil && nid > 0 && RecordName(nid) == id
}
