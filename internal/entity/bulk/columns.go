package bulk

import (
	"context"
	"fmt"
	"strings"

	"github.com/hearth-dmrv/hearth/internal/entity"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/sheet"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// checkColumns names every column of an export that no record can have, by the
// rules of fields= in the list of twins.
func (s *Service) checkColumns(ctx context.Context, columns []string) error {
	var c fault.Checks
	for i, path := range columns {
		known, err := s.knownField(ctx, sheet.SplitPath(path))
		if err != nil {
			return err
		}
		if !known {
			c.Add(fmt.Sprintf("/columns/%d", i), "unknown_field", fmt.Sprintf("There is no field %q.", path))
		}
	}
	return c.Err("UNKNOWN_FIELD", "A field is not known.")
}

// knownField asks the search.
func (s *Service) knownField(ctx context.Context, names []string) (bool, error) {
	pointer := ""
	for _, name := range names {
		// fields= has commas between fields and skips white space around them. No
		// member of ours has either, and what is inside metadata may have any name.
		name = strings.Map(func(r rune) rune {
			if r == ',' || r <= ' ' {
				return '-'
			}
			return r
		}, name)
		pointer += "/" + escape(name)
	}
	_, err := s.cfg.Search.Fields(ctx, &entity.Row{Workspace: web.CallerFrom(ctx).Workspace}, []byte("{}"), pointer)
	switch fault.CodeOf(err) {
	case "UNKNOWN_FIELD", "INVALID_PARAMETER": // too long to be one
		return false, nil
	}
	return err == nil, err
}
