package survey

import (
	"fmt"

	"github.com/hearth-dmrv/hearth/internal/check"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/survey/form"
)

const (
	maxLists  = 10 // entity lists of a survey
	maxListed = 50 // properties of one
)

// checkLists notes what is wrong with entity lists, as far as it can be seen without
// twins.
func checkLists(c *fault.Checks, at string, lists []EntityList) {
	if len(lists) > maxLists {
		c.Add(at, "too_many", fmt.Sprintf("There may be at most %d.", maxLists))
		return
	}
	seen := map[string]bool{}
	for i := range lists {
		l, here := &lists[i], fmt.Sprintf("%s/%d", at, i)
		if !form.IsList(l.Name) {
			c.Add(here+"/name", "invalid", "The value must be a letter or underscore, then letters, digits, underscores and hyphens, at most 64 together; it may not begin with two underscores or with hearth_.")
		} else if seen[l.Name] {
			c.Add(here+"/name", "duplicate", "Another list has this name.")
		}
		seen[l.Name] = true
		c.Require(l.Protocol != "", here+"/protocol")
		CheckDID(c, here+"/protocol", l.Protocol)
		check.Short(c, here+"/type", l.Type, MaxName)
		check.Short(c, here+"/filter", l.Filter, MaxExpression)
		check.Short(c, here+"/label", l.Label, MaxName)
		names(c, here+"/properties", l.Properties, maxListed, func(at, name string) {
			if !form.IsSaved(name) {
				c.Add(at, "invalid", "The value must be a property that a form can have as a column: letters, digits, underscores and hyphens; not name, label, or what begins with two underscores.")
			}
		})
	}
}
