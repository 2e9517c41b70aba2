package event

import (
	"context"

	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// WholeWorkspace returns the caller's workspace, or a fault when the caller is
// limited to projects: events concern the workspace as a whole, and would tell
// such a caller about projects that do not exist for it.
func WholeWorkspace(ctx context.Context) (string, error) {
	c := web.CallerFrom(ctx)
	if len(c.Projects) > 0 {
		return "", fault.New(fault.Forbidden, "KEY_RESTRICTED", "This key is limited to projects; events cover the whole workspace.")
	}
	return c.Workspace, nil
}
