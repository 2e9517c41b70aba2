package schema

import (
	"regexp"
	"strings"
	"time"

	"github.com/hearth-dmrv/hearth/internal/rql"
)

// timeTypes are days, moments and spans of time.
func timeTypes() []Type {
	return []Type{
		{
			Name: "date", Doc: map[string]any{"type": "string", "format": "date"}, Compares: rql.Text, Cell: "date",
			Valid: text(isDate), Hint: "a date such as 2026-08-01",
		},
		{
			Name: "date-time", Doc: map[string]any{"type": "string", "format": "date-time"}, Compares: rql.Time, Cell: "date-time",
			Valid: text(isDateTime), Hint: "a time such as 2026-08-01T09:30:00Z",
		},
		{
			Name: "duration", Doc: map[string]any{"type": "string", "format": "duration"}, Compares: rql.Text, Cell: "text",
			Valid: text(isDuration), Hint: "an ISO 8601 duration such as P1DT12H",
		},
	}
}

func isDate(s string) bool {
	_, err := time.Parse(time.DateOnly, s)
	return err == nil
}

func isDateTime(s string) bool {
	if len(s) > 64 || strings.ContainsRune(s, ',') { // Go takes a comma for the point of seconds
		return false
	}
	_, err := time.Parse(time.RFC3339Nano, s)
	return err == nil
}

// durationForm is RFC 3339 appendix A, which ISO 8601 durations are in, with
// a fraction of seconds as well.
var durationForm = regexp.MustCompile(`^P(?:\d{1,9}W|(?:\d{1,9}Y)?(?:\d{1,9}M)?(?:\d{1,9}D)?(?:T(?:\d{1,9}H)?(?:\d{1,9}M)?(?:\d{1,9}(?:\.\d{1,9})?S)?)?)$`)

func isDuration(s string) bool {
	return len(s) <= 64 && durationForm.MatchString(s) && s != "P" && !strings.HasSuffix(s, "T")
}
