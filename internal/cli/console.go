package cli

import (
	"context"
	"fmt"

	"github.com/hearth-dmrv/hearth/internal/app"
)

func consoleCommands() []command {
	return []command{
		{name: "console link", summary: "Print a link that signs the owner in to the console once", run: consoleLink, flags: workspaceFlag},
	}
}

func consoleLink(ctx context.Context, c *call) error {
	w := c.own.(*workspaceOf)
	return asOwner(ctx, c, w.workspace, func(ctx context.Context, core *app.Core) error {
		code, err := core.Auth.Sessions().Code(ctx, w.workspace)
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(c.out, "%s\nIt works once, for 10 minutes, in a browser on this machine.\n", app.ConsoleLink(app.Address(c.cfg, "a"), code))
		return err
	})
}
