package app

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/hearth-dmrv/hearth/api"
	"github.com/hearth-dmrv/hearth/internal/config"
	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// join makes this process one of the instances on its store.
func (c *Core) join(ctx context.Context, version string) error {
	return c.DB.Join(ctx, db.Node{Name: hostName(), Version: version})
}

// linger keeps serving for a while after readiness has ended, so that load
// balancers stop sending requests before the listeners close.
func linger(log *slog.Logger, delay time.Duration, failed <-chan struct{}) {
	if delay > 0 {
		log.Info("not ready any more", "timeout", delay.String())
		select {
		case <-time.After(delay):
		case <-failed:
		}
	}
}

func hostName() string {
	host, err := os.Hostname()
	if err != nil {
		return "unnamed"
	}
	return host
}

func (o *operations) nodeRoutes(a *web.API) {
	web.Get(a, "/v1/nodes", o.serveNodes, web.Doc{
		Summary: "List the servers that work on the store, oldest first", Scope: "operations:read", Tag: "operations",
		Description: "Each beats every second by the clock of the database; one that was killed stays in the list, not live, for a day. " +
			"With the embedded store it is this one.",
		Codes: []string{codeRestricted},
	})
}

func (o *operations) serveNodes(ctx context.Context, in *struct{ web.Paging }) (web.Reply[web.Page[api.Node]], error) {
	if err := ofServer(ctx); err != nil {
		return web.Reply[web.Page[api.Node]]{}, err
	}
	all, err := Nodes(ctx, o.core.DB)
	if err != nil {
		return web.Reply[web.Page[api.Node]]{}, err
	}
	return pageOf(ctx, o, in.Paging, all)
}

// Nodes lists the servers on a store.
func Nodes(ctx context.Context, d *db.DB) ([]api.Node, error) {
	all, err := d.Instances(ctx)
	self, out := d.Self().ID, make([]api.Node, 0, len(all))
	for _, i := range all {
		state := "live"
		switch {
		case !i.Live():
			state = "silent"
		case i.Draining:
			state = "draining"
		}
		out = append(out, api.Node{
			ID: i.ID, Name: i.Name, Version: i.Version, Schema: i.Schema, State: state, Self: i.ID == self, StartedAt: i.StartedAt.Truncate(time.Millisecond),
			BeatAt: i.BeatAt.UTC().Truncate(time.Millisecond), SilentMS: i.Silent.Milliseconds(), SkewMS: i.Skew.Milliseconds(),
		})
	}
	return out, err
}

// LocalNode is the server that has the embedded store of a configuration open,
// none when it is not running.
func LocalNode(cfg *config.Config) []api.Node {
	var s serving
	text, err := os.ReadFile(filepath.Join(cfg.Data.Dir, servingName))
	if err != nil || json.Unmarshal(text, &s) != nil || !Serves(cfg) {
		return nil
	}
	return []api.Node{{Name: hostName(), Version: s.Version, State: "live", StartedAt: s.StartedAt}}
}

const (
	tellSkew   = time.Second      // over which a clock is named
	refuseSkew = 10 * time.Second // over which a server is not ready
	alikeSkew  = 2 * time.Second  // within which two clocks are off alike
)

// clockCheck is what readiness says about the clock of this server, and whether it
// may take work with it. When most servers are off alike, the database's is wrong.
func clockCheck(ctx context.Context, d *db.DB) (text string, fit bool) {
	skew := d.Skew()
	if skew.Abs() <= tellSkew {
		return "", true
	}
	text = fmt.Sprintf("ahead of the database's by %s", skew.Round(time.Millisecond))
	if skew < 0 {
		text = fmt.Sprintf("behind the database's by %s", skew.Abs().Round(time.Millisecond))
	}
	if skew.Abs() <= refuseSkew {
		return text, true
	}
	live, err := d.Live(ctx)
	alike := 0
	for _, i := range live {
		if (i.Skew - skew).Abs() <= alikeSkew {
			alike++
		}
	}
	if err == nil && 2*alike > len(live) {
		return text + ", as most servers are: the clock of the database may be wrong", true
	}
	return text, false
}

// schemaCheck is what readiness says about the schema, "" when it is exactly that
// of this program, and whether it can work with it.
func schemaCheck(ctx context.Context, d *db.DB) (text string, fit bool) {
	s, err := d.Schema(ctx)
	switch {
	case err != nil:
		return "unknown", false
	case len(s.Pending) > 0:
		return "not current", false
	case len(s.Waiting) > 0:
		return fmt.Sprintf("%s waits until no older server works here", s.Waiting[0]), true
	case s.Version > s.Newest:
		return fmt.Sprintf("newer: the store has %04d, this program knows %04d", s.Version, s.Newest), true
	}
	return "ok", true
}

// standbyCheck is what readiness says about standbys of the database, "" with the
// embedded store. It never makes a server not ready: reading works, and the others are no
// better.
func standbyCheck(d *db.DB) string {
	n := db.Standbys(d)
	switch {
	case d.Dialect() == db.SQLite:
		return ""
	case n > 0:
		return "ok"
	case n < 0:
		return "unknown: the user of the database is no member of pg_read_all_stats"
	case db.StandbyRequired(d):
		return "none: writes are refused"
	}
	return "none: what is stored is on the disk of one machine"
}
