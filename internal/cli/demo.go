package cli

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"syscall"
	"time"

	"github.com/hearth-dmrv/hearth/client"
	"github.com/hearth-dmrv/hearth/internal/auth"
	"github.com/hearth-dmrv/hearth/internal/web"
)

func demoCommands() []command {
	return []command{
		{name: "demo", summary: "Load a demo programme into the running server", run: demoLoad, flags: demoFlags},
		{name: "demo remove", summary: "Remove the demo programme whole", run: demoRemove, flags: demoFlags},
	}
}

type demoOptions struct {
	access
	seed  int64
	force bool
}

func demoFlags(fs *flag.FlagSet) any {
	o := &demoOptions{}
	o.register(fs, "the scope *; whoever can open the store needs none")
	fs.Int64Var(&o.seed, "seed", 1, "another `number` gives other names, places and answers")
	fs.BoolVar(&o.force, "force", false, "load it beside other data, or in production")
	return o
}

// with reaches the server with the key that was given, or with one for this command
// alone: whoever can open the store may make it.
func (o *demoOptions) with(ctx context.Context, c *call, f func(*client.Client) error) error {
	if o.keyFile != "" {
		m, err := o.dial(c)
		if err != nil {
			return err
		}
		return reach(m.base, m.key, f)
	}
	return asOwner(ctx, c, auth.OperatorWorkspace, func(ctx context.Context, s *auth.Service) error {
		k, err := s.Create(ctx, auth.Draft{Name: "hearth demo", Role: "owner", Principal: web.CallerFrom(ctx).DID, ExpiresAt: time.Now().Add(demoTime)})
		if err != nil {
			return err
		}
		err = reach(cmp.Or(o.url, c.ownAddress("a")), k.Text, f)
		if ctx.Err() != nil {
			return err // the job goes on, and needs the key until it ends by itself
		}
		if _, revoked := s.Revoke(ctx, k.ID, ""); err == nil {
			err = revoked
		}
		return err
	})
}

// demoTime is how long the key of the command works.
const demoTime = time.Hour

func reach(base, key string, f func(*client.Client) error) error {
	api, err := client.New(client.Config{BaseURL: base, Key: key})
	if err != nil {
		return err
	}
	err = f(api)
	if errors.Is(err, syscall.ECONNREFUSED) {
		return fmt.Errorf("nobody answers at %s: start the server with hearth serve, then try again: %w", base, err)
	}
	return err
}

func demoLoad(ctx context.Context, c *call) error {
	o := c.own.(*demoOptions)
	return o.with(ctx, c, func(api *client.Client) error {
		j, err := api.Demo.Load(ctx, client.DemoDraft{Seed: o.seed, Force: o.force})
		if err == nil {
			err = c.follow(ctx, api, j)
		}
		if err != nil {
			return err
		}
		d, err := api.Demo.Get(ctx)
		if err != nil {
			return err
		}
		n := d.Counts
		fmt.Fprintf(c.out, "loaded in %.1f s: %d households, %d stoves, %d readings, %d surveys with %d interviews, %d customers, %d conversations\n",
			d.Seconds, n.Households, n.Stoves, n.Readings, n.Surveys, n.Interviews, n.Customers, n.Conversations)
		for _, why := range n.Skipped {
			fmt.Fprintln(c.out, "left out: "+why)
		}
		fmt.Fprintln(c.out, "Take it away with: hearth demo remove")
		return nil
	})
}

func demoRemove(ctx context.Context, c *call) error {
	return c.own.(*demoOptions).with(ctx, c, func(api *client.Client) error {
		j, err := api.Demo.Remove(ctx)
		if err == nil {
			err = c.follow(ctx, api, j)
		}
		if err == nil {
			fmt.Fprintln(c.out, "The demo is gone.")
		}
		return err
	})
}

// follow waits for a job and says what it is at.
func (c *call) follow(ctx context.Context, api *client.Client, j *client.Job) error {
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	for note := ""; !j.Final(); {
		if j.Progress.Note != note && j.Progress.Note != "" {
			note = j.Progress.Note
			fmt.Fprintln(c.out, note+" …")
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("the job %s goes on without this program: %w", j.ID, ctx.Err())
		case <-tick.C:
		}
		var err error
		if j, err = api.Jobs.Get(ctx, j.ID); err != nil {
			return err
		}
	}
	for _, e := range j.Errors {
		fmt.Fprintln(c.out, e.Code+": "+e.Message)
	}
	if !j.Done() {
		return fmt.Errorf("the job %s is %s; the same command goes on with it", j.ID, j.Status)
	}
	return nil
}
