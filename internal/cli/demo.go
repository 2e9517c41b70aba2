package cli

import (
	"context"
	"flag"
	"fmt"
	"net/http"
	"time"
)

func demoCommands() []command {
	return []command{
		{name: "demo", summary: "Fill the running server with a demo programme to look at", run: demoLoad, flags: demoFlags},
		{name: "demo remove", summary: "Remove the demo programme entirely", run: demoRemove, flags: demoRemoveFlags},
	}
}

// demoPath is where the demo is asked for.
const demoPath = "/v1/demo"

type demoOptions struct {
	access
	seed  int64
	force bool
}

func demoRemoveFlags(fs *flag.FlagSet) any {
	o := &demoOptions{}
	o.register(fs, "the scope *")
	return o
}

func demoFlags(fs *flag.FlagSet) any {
	o, _ := demoRemoveFlags(fs).(*demoOptions)
	fs.Int64Var(&o.seed, "seed", 1, "`number`; another one gives other names, places and answers")
	fs.BoolVar(&o.force, "force", false, "load it even if the store holds other data, or the server is in production")
	return o
}

func demoLoad(ctx context.Context, c *call) error {
	o := c.own.(*demoOptions)
	took, err := o.follow(ctx, c, func(m *remote, w *work) error {
		return m.post(ctx, demoPath, map[string]any{"seed": o.seed, "force": o.force}, w)
	})
	if err == nil {
		fmt.Fprintf(c.out, "The demo programme is there after %s. hearth console link opens it in a browser.\n", took)
	}
	return err
}

func demoRemove(ctx context.Context, c *call) error {
	took, err := c.own.(*demoOptions).follow(ctx, c, func(m *remote, w *work) error {
		return m.ask(ctx, http.MethodDelete, demoPath, nil, w)
	})
	if err == nil {
		fmt.Fprintf(c.out, "Nothing of the demo programme is left after %s.\n", took)
	}
	return err
}

// follow starts the job, shows its progress until it is over, and says how long it
// took.
func (o *demoOptions) follow(ctx context.Context, c *call, begin func(*remote, *work) error) (time.Duration, error) {
	if len(c.args) > 0 {
		return 0, errUsage{"demo and demo remove take no arguments"}
	}
	m, err := o.dial(ctx, c)
	if err != nil {
		return 0, err
	}
	start, w := time.Now(), work{}
	if err := begin(m, &w); err != nil {
		return 0, err
	}
	said := ""
	w, err = await(ctx, m, jobPath(w.ID), func(w work) {
		if line := fmt.Sprintf("%3d/%d %s", w.Progress.Done, w.Progress.Total, w.Progress.Note); line != said && w.Progress.Total > 0 {
			said = line
			fmt.Fprintln(c.out, line)
		}
	})
	if err != nil {
		return 0, err
	}
	if w.Status != "succeeded" {
		return 0, fmt.Errorf("the job %s has ended as %s: hearth jobs show %s says why", w.ID, w.Status, w.ID)
	}
	return time.Since(start).Round(100 * time.Millisecond), nil
}
