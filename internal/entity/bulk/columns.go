package bulk

import (
	"fmt"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/sheet"
)

// checkColumns names every column of an export that no record can have, by the
// rules of fields= in the list of twins. find is what looks for such a field. A
// table has columns for roles too.
func checkColumns(columns []string, table bool, find func(field string) error) error {
	var c fault.Checks
	for i, path := range columns {
		names := sheet.SplitPath(path)
		if len(names) == 2 && names[0] == "relationships" && table {
			continue // the targets of a role
		}
		err := find(fieldOf(names))
		switch fault.CodeOf(err) {
		case "UNKNOWN_FIELD", "INVALID_PARAMETER": // too long to be one
			c.Add(fmt.Sprintf("/columns/%d", i), "unknown_field", fmt.Sprintf("There is no field %q.", fault.Echo(path)))
			continue
		}
		if err != nil {
			return err
		}
	}
	return c.Err("UNKNOWN_FIELD", "A field is not known.")
}

// fieldOf is a pointer that fields= takes.
func fieldOf(names []string) string {
	var out jsontext.Pointer
	for _, name := range names {
		// fields= separates fields by commas and skips white space around them. No
		// member of ours has either, but names inside metadata are arbitrary.
		out = out.AppendToken(strings.Map(func(r rune) rune {
			if r == ',' || r <= ' ' {
				return '-'
			}
			return r
		}, name))
	}
	return string(out)
}
