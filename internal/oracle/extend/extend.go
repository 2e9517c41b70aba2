// Package extend holds the plugins of a server to the contract of package plugin
// and gives the oracle what they add: tools, routes and words for the prompt.
//
// It promises that nothing starts unless everything fits: names, settings, tools
// and routes of all plugins are checked before the first one is started, and all
// mistakes are named at once, each with its plugin. A plugin that panics costs
// only the call, the request or the section of the prompt it panicked in. Others
// decide who calls and what they may do: routes get their callers through a Door,
// tools act for the user of their run, and a Minter calls other services with no
// more than that user has delegated.
package extend

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"
	"slices"
	"sync/atomic"

	"github.com/hearth-dmrv/hearth/internal/oracle/tool"
	"github.com/hearth-dmrv/hearth/plugin"
)

// Config is the environment of plugins.
type Config struct {
	Plugins []plugin.Plugin
	// Settings returns the operator's settings for the plugins of these names, and
	// the keys of settings that belong to none of them. It may be nil.
	Settings func(names []string) (of map[string]map[string]string, stray []string)
	Public   []string // "GET /weather/now": routes of plugins that the operator opens to everybody
	Oracle   string   // DID of the oracle
	// Client makes the client with which a plugin reaches other servers; allowed are
	// addresses that the operator has named. Nil: plugins reach none.
	Client func(allowed []string) (*http.Client, func(), error)
	// Server returns the handler for requests that plugins make as their callers. It may
	// be nil.
	Server func() http.Handler
	// Mint makes invocations of other services, which client reaches. It may be nil.
	Mint func(ctx context.Context, client *http.Client, w plugin.Want) (plugin.Invocation, error)
	// Ask lets the oracle answer a message of a user, and Stands reports whether the
	// user's credential still counts. They may be nil.
	Ask    func(ctx context.Context, c tool.Context, m plugin.Message) (plugin.Answer, error)
	Stands func(ctx context.Context, c tool.Context) error
	State  *State // nil: nothing is kept
	Log    *slog.Logger
}

// Set is the plugins of a server, in order of their dependencies. It never
// changes.
type Set struct {
	cfg  Config
	all  []*member
	ends []func() // what the plugins reach other servers with
}

// member is one plugin of a set.
type member struct {
	plugin.Plugin
	about   plugin.Manifest
	known   []plugin.Setting
	values  plugin.Values
	urls    []string // settings that name other servers
	tools   []plugin.Tool
	routes  []plugin.Route
	events  []string
	works   []plugin.Work
	agents  []plugin.Agent
	typed   []plugin.Event
	schemas *tool.Checker // of its tools, which may return in a run
	log     *slog.Logger
	started bool
	last    atomic.Pointer[lent] // nil: it has given no tools for a run yet
}

// New checks plugins and orders them. The error names everything that does not
// fit. It starts no plugin.
func New(c Config) (*Set, error) {
	c.Log = cmp.Or(c.Log, slog.New(slog.DiscardHandler))
	s := &Set{cfg: c}
	bad := s.meet()
	var given map[string]map[string]string
	if c.Settings != nil {
		var stray []string
		given, stray = c.Settings(s.Names())
		for _, key := range stray {
			bad = append(bad, fmt.Errorf("%s: this program has no plugin of that name", key))
		}
	}
	s.all = slices.DeleteFunc(s.all, func(m *member) bool {
		enabled := given[m.about.Name]["enabled"]
		return enabled == "false" || enabled == "" && m.about.OptIn
	})
	for _, m := range s.all {
		if err := m.admit(given[m.about.Name]); err != nil {
			bad = append(bad, fmt.Errorf("plugin %s: %w", m.about.Name, err))
		}
	}
	bad = append(bad, s.unique()...)
	var err error
	if s.all, err = inOrder(s.all); err != nil {
		bad = append(bad, err)
	}
	bad = append(bad, s.open()...)
	return s, errors.Join(bad...)
}

// Check lets plugins check their settings. It starts none.
func (s *Set) Check() error {
	var bad []error
	for _, m := range s.all {
		if p, ok := m.Plugin.(plugin.Checks); ok {
			if err := m.check(p); err != nil {
				bad = append(bad, fmt.Errorf("plugin %s: %w", m.about.Name, err))
			}
		}
	}
	return errors.Join(bad...)
}

func (m *member) check(p plugin.Checks) (err error) {
	defer m.recovered("Check", &err)
	return p.Check(m.values)
}

// meet asks the plugins what they are.
func (s *Set) meet() []error {
	var bad []error
	for _, p := range s.cfg.Plugins {
		if p == nil {
			bad = append(bad, errors.New("a plugin of the list is nil"))
			continue
		}
		m := &member{Plugin: p, schemas: tool.NewChecker(), log: s.cfg.Log.With("plugin", fmt.Sprintf("%T", p))}
		if err := m.introduce(); err != nil {
			bad = append(bad, fmt.Errorf("plugin %T: %w", p, err))
			continue
		}
		m.log = s.cfg.Log.With("plugin", m.about.Name)
		s.all = append(s.all, m)
	}
	return bad
}

// introduce reads the manifest of a plugin.
func (m *member) introduce() (err error) {
	defer m.recovered("Manifest", &err)
	m.about = m.Plugin.Manifest()
	return checkManifest(&m.about)
}

// admit checks the parts of a plugin alone.
func (m *member) admit(given map[string]string) (err error) {
	defer m.recovered("Settings, Tools, Routes or Schedules", &err)
	return errors.Join(m.configure(given), m.collect())
}

// configure reads the settings of a plugin.
func (m *member) configure(given map[string]string) (err error) {
	if p, ok := m.Plugin.(plugin.Settings); ok {
		m.known = slices.Clone(p.Settings())
	}
	var bad []error
	if text, ok := given["enabled"]; ok && text != "true" {
		bad = append(bad, errors.New("enabled: want true or false"))
	}
	if text, ok := given["visibility"]; ok {
		m.about.Visibility = plugin.Visibility(text)
		bad = append(bad, checkVisibility(m.about.Visibility))
	}
	m.values, err = plugin.Read(m.known, given)
	for _, k := range m.known {
		// Only the operator's own value: a default may be reached only if everybody
		// may.
		if text := given[k.Name]; k.Kind == plugin.URL && text != "" {
			m.urls = append(m.urls, text)
		}
	}
	return errors.Join(append(bad, err)...)
}

// collect takes the tools and routes of a plugin.
func (m *member) collect() error {
	var bad []error
	if p, ok := m.Plugin.(plugin.Tools); ok {
		m.tools = p.Tools()
	}
	if p, ok := m.Plugin.(plugin.Routes); ok {
		m.routes = slices.Clone(p.Routes())
	}
	if p, ok := m.Plugin.(plugin.Events); ok {
		m.events = p.Events()
	}
	if p, ok := m.Plugin.(plugin.Schedules); ok {
		m.works = p.Schedules()
	}
	if p, ok := m.Plugin.(plugin.Agents); ok {
		m.agents = p.Agents()
	}
	if p, ok := m.Plugin.(plugin.TypedEvents); ok {
		m.typed = p.TypedEvents()
	}
	for _, e := range m.typed {
		bad = append(bad, checkEvent(e))
		m.events = append(slices.Clip(m.events), e.Name)
	}
	for _, t := range m.tools {
		bad = append(bad, checkTool(t, m.schemas))
	}
	for _, a := range m.agents {
		bad = append(bad, checkAgent(a, m.schemas))
	}
	for _, r := range m.routes {
		bad = append(bad, checkRoute(r))
	}
	bad = append(bad, checkWorks(m.works)...)
	_, perRequest := m.Plugin.(plugin.RequestTools)
	has := perRequest || len(m.tools)+len(m.agents) > 0
	switch {
	case has && m.about.Visibility == plugin.Silent:
		bad = append(bad, errors.New("it is silent, and has tools"))
	case has && m.about.Visibility == plugin.OnDemand && len(m.about.WhenToUse) == 0:
		bad = append(bad, errors.New("its manifest does not say when to use its tools"))
	}
	return errors.Join(bad...)
}

// Start starts the plugins in order of their dependencies, and enters their
// tools into a registry. When one fails, those that have started are closed.
func (s *Set) Start(ctx context.Context, tools *tool.Registry) error {
	for _, m := range s.all {
		if err := s.start(ctx, m); err != nil {
			return errors.Join(fmt.Errorf("plugin %s: start: %w", m.about.Name, err), s.Close(ctx))
		}
		m.started = true
	}
	for _, m := range s.all {
		if err := m.enter(tools); err != nil {
			return errors.Join(fmt.Errorf("plugin %s: %w", m.about.Name, err), s.Close(ctx))
		}
	}
	if err := tools.Add(s.capabilities()...); err != nil {
		return errors.Join(err, s.Close(ctx))
	}
	tools.Wrap(s.aroundTools())
	return nil
}

// enter gives a registry what a plugin adds.
func (m *member) enter(tools *tool.Registry) error {
	if p, ok := m.Plugin.(plugin.RequestTools); ok {
		tools.AddPerRun(func(ctx context.Context) []tool.Tool { return m.perRun(ctx, p) })
	}
	return errors.Join(tools.Add(m.adapted(m.tools)...), tools.Add(m.agentTools()...), tools.Reserve(m.inner()...), tools.AddEvents(m.events...))
}

func (s *Set) start(ctx context.Context, m *member) (err error) {
	p, ok := m.Plugin.(plugin.Starts)
	if !ok {
		return nil
	}
	host := plugin.Host{
		Log: m.log, Settings: m.values, Oracle: s.cfg.Oracle, Store: &drawer{s.cfg.State, m.about.Name}, Emit: m.emit, API: s.api,
		Ask: s.ask, Links: &links{s.cfg.State, m.about.Name, s.cfg.Stands},
	}
	if s.cfg.State != nil {
		host.Attachments = s.cfg.State.attachments
	}
	if s.cfg.Client != nil {
		client, end, err := s.cfg.Client(m.urls)
		if err != nil {
			return err
		}
		host.HTTP = client
		s.ends = append(s.ends, end)
	}
	host.Mint = func(ctx context.Context, w plugin.Want) (plugin.Invocation, error) {
		if s.cfg.Mint == nil {
			return plugin.Invocation{}, plugin.Unavailable("Nothing can be signed here.")
		}
		return s.cfg.Mint(ctx, host.HTTP, w)
	}
	defer m.recovered("start", &err)
	return p.Start(ctx, host)
}

// recovered turns a panic of a plugin into an error. It is deferred.
func (m *member) recovered(doing string, err *error) {
	if v := recover(); v != nil {
		m.log.Error("plugin panicked", "kind", doing, "panic", fmt.Sprint(v), "stack", string(debug.Stack()))
		*err = fmt.Errorf("it panicked in %s", doing)
	}
}

// Close closes the started plugins, last first.
func (s *Set) Close(ctx context.Context) error {
	if s == nil {
		return nil
	}
	var bad []error
	for _, m := range slices.Backward(s.all) {
		if p, ok := m.Plugin.(plugin.Closes); ok && m.started {
			if err := m.close(ctx, p); err != nil {
				bad = append(bad, fmt.Errorf("plugin %s: close: %w", m.about.Name, err))
			}
		}
		m.started = false
	}
	for _, end := range s.ends {
		end()
	}
	s.ends = nil
	return errors.Join(bad...)
}

func (m *member) close(ctx context.Context, p plugin.Closes) (err error) {
	defer m.recovered("close", &err)
	return p.Close(ctx)
}

// Prompts returns what plugins tell the model at the beginning of a run. ctx
// carries its tool.Context.
func (s *Set) Prompts(ctx context.Context) []string {
	if s == nil {
		return nil
	}
	var out []string
	for _, m := range s.all {
		p, ok := m.Plugin.(plugin.Prompts)
		if !ok {
			continue
		}
		text, err := m.prompt(ctx, p)
		if err != nil {
			m.log.WarnContext(ctx, "plugin tells the model nothing", "err", err.Error())
		} else if text != "" {
			out = append(out, cut(text, plugin.MaxPrompt))
		}
	}
	return out
}

func (m *member) prompt(ctx context.Context, p plugin.Prompts) (text string, err error) {
	defer m.recovered("prompt", &err)
	return p.Prompt(ctx, turnOf(tool.From(ctx)))
}

// Names lists the plugins in the order in which they are started.
func (s *Set) Names() []string {
	var out []string
	if s != nil {
		for _, m := range s.all {
			out = append(out, m.about.Name)
		}
	}
	return out
}
