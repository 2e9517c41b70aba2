package auth

import (
	"context"

	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// OperatorsLine admits callers to the USSD line if it is theirs: it belongs to
// the operator's workspace as a whole, so to no key limited to projects. For
// other workspaces it does not exist. Faults: LINE_NOT_FOUND, KEY_RESTRICTED.
func OperatorsLine(ctx context.Context) error {
	switch c := web.CallerFrom(ctx); {
	case c.Workspace != OperatorWorkspace:
		return fault.New(fault.NotFound, "LINE_NOT_FOUND", "Your workspace has no USSD line.")
	case len(c.Projects) > 0:
		return fault.New(fault.Forbidden, "KEY_RESTRICTED", "This key is limited to projects; the USSD line belongs to none.")
	}
	return nil
}
