package event

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hearth-dmrv/hearth/internal/fault"
)

// maxPatterns is how many patterns one filter may hold.
const maxPatterns = 50

// Filter picks events by type: "entity.created" is one type, "entity.*" all
// that begin with "entity.", "*" every type. The empty filter picks all.
type Filter []string

// ParseFilter reads a comma-separated list, as in ?types=entity.*,job.failed.
// An empty text is the empty filter.
func ParseFilter(text string) (Filter, error) {
	if text == "" {
		return nil, nil
	}
	f := Filter(strings.Split(text, ","))
	var c fault.Checks
	f.Check("query/types", &c)
	return f, c.Err("INVALID_TYPE_FILTER", "The filter on event types is not valid.")
}

// Check notes what is wrong with the filter.
func (f Filter) Check(pointer string, c *fault.Checks) {
	if len(f) > maxPatterns {
		c.Add(pointer, "too_many", "At most 50 patterns are accepted.")
		return
	}
	for i, p := range f {
		if !validPattern(p) {
			c.Add(pointer, "invalid", `A pattern is a type such as entity.created, a prefix such as entity.*, or *.`)
			return
		}
		if !known(p) {
			c.Add(pointer, "unknown", fmt.Sprintf("There is no event %s. %s. GET /v1/events/types has them all.", p, instead(p)))
			return
		}
		if slices.Contains(f[:i], p) {
			c.Add(pointer, "duplicate", "A pattern is given twice.")
			return
		}
	}
}

func validPattern(p string) bool {
	if len(p) > maxType {
		return false
	}
	if p == "*" {
		return true
	}
	if prefix, ok := strings.CutSuffix(p, ".*"); ok {
		return countWords(prefix) >= 1
	}
	return countWords(p) >= 2
}

// Match reports whether the filter picks a type.
func (f Filter) Match(typ string) bool {
	if len(f) == 0 {
		return true
	}
	return slices.ContainsFunc(f, func(p string) bool {
		if prefix, ok := strings.CutSuffix(p, "*"); ok {
			return strings.HasPrefix(typ, prefix) // prefix keeps its dot
		}
		return p == typ
	})
}
