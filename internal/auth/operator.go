package auth

import (
	"context"

	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// OperatorsLine lets those work with the USSD line whose it is: it belongs to the
// operator's workspace as a whole, so to no key that is limited to projects. To
// other workspaces there is none. Faults: LINE_NOT_FOUND, KEY_RESTRICTED.
func OperatorsLine(ctx context.Context) error {
	switch c := web.CallerFrom(ctx); {
	case c.Workspace != OperatorWorkspace:
		return fault.New(fault.NotFound, "LINE_NOT_FOUND", "Your workspace has no USSD line.")
	case len(c.Projects) > 0:
		return fault.New(fault.Forbidden, "KEY_RESTRICTED", "This key is limited to projects; the USSD line belongs to none.")
	}
	return nil
}
