// Package check has the rules about the texts and times that come with
// responses.
package check

import (
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/hearth-dmrv/hearth/internal/did"
	"github.com/hearth-dmrv/hearth/internal/fault"
)

// Limits of texts, in characters.
const (
	maxName   = 200
	maxReason = 500
)

// Reason notes what is wrong with why something is done.
func Reason(c *fault.Checks, pointer, reason string, needed bool) {
	switch {
	case needed && strings.TrimSpace(reason) == "":
		c.Require(false, pointer)
	case utf8.RuneCountInString(reason) > maxReason:
		c.Add(pointer, "too_long", fmt.Sprintf("The text must have %d characters or fewer.", maxReason))
	case strings.ContainsFunc(reason, unicode.IsControl):
		c.Add(pointer, "control_character", "The text must be one line without control characters.")
	}
}

// ReasonParameter is Reason of the parameter of a change. The fault is
// INVALID_PARAMETER.
func ReasonParameter(reason string, needed bool) error {
	var c fault.Checks
	Reason(&c, "query/reason", reason, needed)
	return c.Err("INVALID_PARAMETER", "A parameter is not valid.")
}

// DID notes what is no DID; nothing is none.
func DID(c *fault.Checks, pointer, v string) {
	if v == "" {
		return
	}
	if _, err := did.Parse(v); err != nil {
		c.Add(pointer, "not_a_did", "The value must be a DID.")
	}
}

// Short notes a name that is too long.
func Short(c *fault.Checks, pointer, v string) {
	if utf8.RuneCountInString(v) > maxName {
		c.Add(pointer, "too_long", fmt.Sprintf("The text must have %d characters or fewer.", maxName))
	}
}

// InCalendar refuses times nobody can have meant.
func InCalendar(c *fault.Checks, pointer string, t time.Time) {
	if !t.IsZero() && (t.Year() < 1970 || t.Year() > 2199) {
		c.Add(pointer, "out_of_range", "The year must be 1970 to 2199.")
	}
}
