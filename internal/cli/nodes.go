package cli

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"time"

	"github.com/hearth-dmrv/hearth/internal/app"
	"github.com/hearth-dmrv/hearth/internal/db"
)

// nodes reads the rows of the servers themselves: it answers also when none of them
// does.
func nodes(ctx context.Context, c *call) error {
	return withStore(ctx, c, func(d *db.DB) error {
		all := app.LocalNode(c.cfg)
		if c.cfg.Postgres() {
			var err error
			if all, err = app.Nodes(ctx, d); err != nil {
				return err
			}
		}
		if len(all) == 0 {
			fmt.Fprintln(c.out, "No server works on this store.")
			return nil
		}
		w := c.table("NAME\tVERSION\tSTATE\tSTARTED\tHEARD\tCLOCK")
		for _, n := range all {
			heard := (time.Duration(n.SilentMS) * time.Millisecond).Round(100 * time.Millisecond)
			fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s ago\t%+d ms\n", n.Name, n.Version, n.State, n.StartedAt.UTC().Format(time.RFC3339), heard, n.SkewMS)
		}
		return w.Flush()
	})
}

func oracleAdoptFlags(fs *flag.FlagSet) any {
	return fs.Bool("yes", false, "drop the key of the oracle that the store has, although no other copy is known")
}

func oracleAdopt(ctx context.Context, c *call) error {
	if err := c.needStore(); err != nil {
		return err
	}
	return withCore(ctx, c, func(core *app.Core) error {
		before, err := core.AdoptOracle(ctx, c.cfg, *c.own.(*bool))
		if errors.Is(err, app.ErrKeyLost) {
			return fmt.Errorf("%w. What it has signed stays valid, and nothing can be signed with it any more: make a backup first, then add --yes", err)
		} else if err != nil {
			return err
		}
		fmt.Fprintf(c.out, "before  %s\nnow     %s\n", before, c.cfg.Oracle.DID)
		return nil
	})
}
