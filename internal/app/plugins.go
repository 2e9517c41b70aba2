package app

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"

	"github.com/hearth-dmrv/hearth/internal/config"
	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/job"
	"github.com/hearth-dmrv/hearth/internal/oracle"
	"github.com/hearth-dmrv/hearth/internal/oracle/credit"
	"github.com/hearth-dmrv/hearth/internal/oracle/extend"
	"github.com/hearth-dmrv/hearth/internal/oracle/lookup"
	"github.com/hearth-dmrv/hearth/internal/oracle/run"
	"github.com/hearth-dmrv/hearth/internal/oracle/task"
	"github.com/hearth-dmrv/hearth/internal/oracle/tool"
	"github.com/hearth-dmrv/hearth/internal/outbound"
	"github.com/hearth-dmrv/hearth/internal/web"
	"github.com/hearth-dmrv/hearth/plugin"
)

// CheckPlugins says what is wrong with the plugins of this program or with
// their configuration. It starts none.
func CheckPlugins(cfg *config.Config, plugins []plugin.Plugin) error {
	set, err := newPlugins(cfg, extend.Config{Plugins: slices.Concat(ownPlugins(lookup.Source{}, task.New(task.Source{}), credit.New(credit.Config{})), plugins)})
	if err != nil {
		return err
	}
	return set.Check()
}

// PluginNames returns the names of the plugins of a program, including the
// bundled ones.
func PluginNames(plugins []plugin.Plugin) []string {
	var out []string
	for _, p := range slices.Concat(ownPlugins(lookup.Source{}, task.New(task.Source{}), credit.New(credit.Config{})), plugins) {
		out = append(out, p.Manifest().Name)
	}
	return out
}

// ownPlugins returns the plugins that are part of the server: they do not work through
// its API.
func ownPlugins(from lookup.Source, tasks *task.Plugin, credits *credit.Plugin) []plugin.Plugin {
	return []plugin.Plugin{lookup.NewTwins(from), lookup.NewSurveys(from), tasks, credits}
}

// newPlugins checks plugins.
func newPlugins(cfg *config.Config, c extend.Config) (*extend.Set, error) {
	c.Settings, c.Public = cfg.PluginSettings, cfg.Oracle.PublicRoutes
	return extend.New(c)
}

// startPlugins starts the plugins of the oracle and enters their tools.
func (m *mind) startPlugins(ctx context.Context, id Identity, added []plugin.Plugin, from lookup.Source) error {
	services, err := extend.NewMinter(extend.MintConfig{DID: id.DID, Key: id.Key, Ask: m.cfg.Oracle.UCANReauth, Now: m.DB.Now})
	if err != nil {
		return err
	}
	if err := m.tools.AddEvents(extend.EventDelegation); err != nil {
		return err
	}
	m.state = extend.NewState(m.DB, m.chats)
	m.sealPlugins(added)
	m.tasks = task.New(m.taskSource())
	m.credits = credit.New(credit.Config{DB: m.DB, Cursors: m.cursors, Idem: m.Idem, Longest: m.cfg.Oracle.RunTimeout})
	m.plugins, err = newPlugins(m.cfg, extend.Config{
		Plugins: slices.Concat(ownPlugins(from, m.tasks, m.credits), added),
		Oracle:  m.callers.DID(), Log: m.log, State: m.state,
		Ask: m.askAs, Stands: m.stands,
		Server: m.inner, Mint: services.Mint,
		Client: func(allowed []string) (*http.Client, func(), error) { return pluginClient(m.cfg, allowed) },
	})
	if err != nil {
		return err
	}
	return m.plugins.Start(ctx, m.tools)
}

// sealPlugins gives the plugins that seal their values something to seal them with.
func (m *mind) sealPlugins(added []plugin.Plugin) {
	for _, p := range added {
		if s, ok := p.(plugin.Seals); ok {
			kept := m.chats.Kept(p.Manifest().Name)
			s.SetBox(kept)
			m.kept = append(m.kept, kept)
		}
	}
}

// sealKept seals what such plugins have stored before.
func (m *mind) sealKept(ctx context.Context, limit int) (n int, err error) {
	for _, k := range m.kept {
		if n, err = k.Backfill(ctx, limit); n > 0 || err != nil {
			return n, err
		}
	}
	return 0, nil
}

// pluginClient is what a plugin reaches other servers with: those that anybody may
// reach, and those that the operator has named in its settings.
func pluginClient(cfg *config.Config, named []string) (*http.Client, func(), error) {
	allow := cfg.Events.OutboundAllow
	for _, address := range named {
		allow = append(hostOf(address), allow...)
	}
	c, err := outbound.New(outbound.Config{Allow: allow})
	if err != nil {
		return nil, nil, err
	}
	return c.HTTP(), c.Close, nil
}

// settle reports to plugins what an answer has used.
func (m *mind) settle(ctx context.Context, a *run.Account) int64 {
	return m.plugins.Settle(ctx, usageOf(a))
}

// purses makes the purses for answers from the plugin with a ledger; nil: nobody
// pays.
func (m *mind) purses() func(tool.Context) run.Purse {
	books := m.plugins.Ledger()
	if books == nil {
		return nil
	}
	return func(about tool.Context) run.Purse { return &purse{books, about} }
}

// release returns what was held for a run whose server died.
func (m *mind) release(ctx context.Context, user, run string) error {
	if books := m.plugins.Ledger(); books != nil {
		return books.Release(ctx, user, run)
	}
	return nil
}

// purse shows a ledger what the run of a message has used.
type purse struct {
	books *extend.Books
	about tool.Context
}

// Hold admits the answer.
func (p *purse) Hold(ctx context.Context, tx *db.Tx) error {
	return p.books.Hold(tool.With(ctx, p.about), tx)
}

// Charge says what the answer has used.
func (p *purse) Charge(ctx context.Context, tx *db.Tx, a *run.Account) (int64, error) {
	return p.books.Charge(tool.With(ctx, p.about), tx, usageOf(a))
}

// usageOf is the part of an account that a plugin gets; nil when there is none.
func usageOf(a *run.Account) *plugin.Usage {
	if a == nil {
		return nil
	}
	return &plugin.Usage{Model: a.Model, Input: a.Input, Output: a.Output, Cost: a.Cost}
}

// jobs has plugins do what they do from time to time: once for all instances. What
// fails is not tried again before its next time.
func (m *mind) jobs(c *job.RunnerConfig) {
	if m == nil {
		return
	}
	for _, w := range m.plugins.Works() {
		kind := "plugin." + w.Plugin + "." + w.Name
		c.Every = append(c.Every, job.Every{Kind: kind, Interval: w.Every})
		c.Handlers[kind] = func(ctx context.Context, _ *job.Run) error {
			err := w.Run(ctx)
			switch {
			case ctx.Err() != nil: // another instance, or the next start, does it again
			case err != nil:
				m.worked(w.Plugin, w.Name, "failed")
			default:
				m.worked(w.Plugin, w.Name, "done")
			}
			return job.Permanent(err)
		}
	}
}

// messages describe the events that plugins send.
func (m *mind) messages() []web.Message {
	if m == nil {
		return nil
	}
	return m.plugins.Messages()
}

// clash finds routes of plugins that would take requests from the server's own,
// on whichever listener they are.
func (m *mind) clash(tables map[string][]*web.API) error {
	if m == nil {
		return nil
	}
	var routes []web.Route
	for _, apis := range tables {
		for _, api := range apis {
			routes = append(routes, api.Routes()...)
		}
	}
	return m.plugins.Clash(routes)
}

// greet names the plugins and the routes they have added.
func (m *mind) greet(w io.Writer) {
	if m == nil {
		return
	}
	fmt.Fprintf(w, "%-9s %s\n", "plugins", strings.Join(m.plugins.Names(), ", "))
	for _, line := range m.plugins.Lines() {
		fmt.Fprintf(w, "          %s\n", line)
	}
}

// stands reports whether what a user came with counts now: a link does not outlive
// the planned end of a key.
func (m *mind) stands(ctx context.Context, c tool.Context) error {
	if c.Caller.Key != "" {
		return m.Auth.StillValid(web.WithCaller(ctx, c.Caller), false)
	}
	return m.callers.Holds(ctx, c.User, c.Signer)
}

// askAs has the oracle answer a message that a plugin has of a user.
func (m *mind) askAs(ctx context.Context, c tool.Context, msg plugin.Message) (plugin.Answer, error) {
	r, again, err := m.errands.Do(ctx, oracle.Errand{
		Who:    &oracle.Identity{DID: c.User, Signer: c.Signer, Key: c.Caller, Invoked: c.Whole, Again: c.Again},
		Thread: msg.Thread, Key: msg.Key, Title: msg.Title, Text: msg.Text, Brief: msg.Brief, Timezone: c.Timezone,
	})
	return plugin.Answer{Text: r.Text, Again: again}, err
}
