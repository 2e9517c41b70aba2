package entity

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math"
	"time"
	"unicode/utf8"

	"github.com/hearth-dmrv/hearth/internal/rql"
)

// Key hashes the value of a field inside a workspace to 63 bits, for narrow
// indexes. It is cut from SHA-256, so nobody can aim for collisions; readers
// compare the value itself as well. Fields are type, protocol, project and
// status.
func Key(ws, field, value string) int64 {
	sum := sha256.Sum256([]byte(ws + "\x00" + field + "\x00" + value))
	return int64(binary.BigEndian.Uint64(sum[:8]) >> 1)
}

// PropID is the number of a property in the property index, the same for all
// versions of a protocol in one workspace.
func PropID(ws, protocol, name string) int64 {
	return Key(ws, "property\x00"+protocol, name)
}

// maxIndexed limits the bytes of a text in the property index. Longer texts
// share an entry with others that begin the same; readers compare.
const maxIndexed = 120

// IndexText formats a scalar for the property index: texts sort as texts,
// numbers as numbers, times as times, and no kind mixes with another. kind is
// how values of the declared type compare. It returns false for a value that is
// not indexed: an object, an array, null.
func IndexText(kind rql.Kind, value any) (string, bool) {
	switch v := value.(type) {
	case string:
		if kind == rql.Time {
			if t, err := time.Parse(time.RFC3339Nano, v); err == nil {
				return "t" + sortable(float64(t.UnixMilli())), true
			}
		}
		return "s" + cut(v, maxIndexed), true
	case float64:
		return "n" + sortable(v), true
	case int64:
		return "n" + sortable(float64(v)), true
	case bool:
		if v {
			return "b1", true
		}
		return "b0", true
	}
	return "", false
}

// cut keeps the beginning of a text, at most so many bytes of it and whole
// characters only.
func cut(s string, most int) string {
	if len(s) <= most {
		return s
	}
	for most > 0 && !utf8.RuneStart(s[most]) {
		most--
	}
	return s[:most]
}

// sortable formats a number as 16 hexadecimal digits that sort as the number
// does.
func sortable(f float64) string {
	if f == 0 {
		f = 0 // -0 is 0
	}
	bits := math.Float64bits(f)
	if bits>>63 == 0 {
		bits |= 1 << 63
	} else {
		bits = ^bits
	}
	return fmt.Sprintf("%016x", bits)
}
