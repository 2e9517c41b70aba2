package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"

	"github.com/hearth-dmrv/hearth/internal/auth"
	"github.com/hearth-dmrv/hearth/internal/config"
	"github.com/hearth-dmrv/hearth/internal/console"
	"github.com/hearth-dmrv/hearth/internal/emission"
	"github.com/hearth-dmrv/hearth/internal/survey/openrosa"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// place is a listener this process has.
type place struct {
	name, addr string
	shape      shape
}

// Names of listeners.
const (
	mergedName = "hearth"
	apiName    = "api"
	ussdName   = "ussd"
	oracleName = "oracle"
	adminName  = "admin"
	acmeName   = "acme"
	innerName  = "inner"  // no listener: calls of plugins for their users
	withinName = "within" // no listener: calls of the process to itself
)

// places decides which listeners there are. An area with its own address leaves
// the merged one; a listener without areas is not opened.
func places(cfg *config.Config) []place {
	s := cfg.Server
	var out []place
	add := func(is bool, p place) {
		if is {
			out = append(out, p)
		}
	}
	add(!cfg.AllApart(), place{mergedName, cfg.Addr(), shapeAll})
	add(s.APIAddr != "", place{apiName, s.APIAddr, shapeAll})
	add(s.USSDAddr != "" && cfg.HasArea("c"), place{ussdName, s.USSDAddr, shapeUSSD})
	add(s.OracleAddr != "" && cfg.HasArea("d"), place{oracleName, s.OracleAddr, shapeOracle})
	add(s.AdminAddr != "", place{adminName, s.AdminAddr, shapeAll})
	return out
}

// tables builds the routes and gives every listener its own, by name. Operator
// routes leave them all when they have a listener of their own.
func (a *App) tables(places []place) map[string][]*web.API {
	fresh := dialects{a.Auth, a.log, a.cfg.Limits.MaxBodyBytes, a.edge.shed}
	sys, platform, about := a.system(), a.platform(fresh.area("platform")), &index{}
	about.routes(platform)
	a.demo.Routes(platform)
	(&operations{core: a.Core, cfg: a.cfg, sys: sys, trouble: &a.trouble}).routes(platform)
	area, field := fresh.area("areas"), fieldOf(a)
	if a.cfg.HasArea("a") {
		a.twins.routes(area)
	}
	if a.cfg.HasArea("b") {
		a.surveys.routes(area)
	}
	acrossAreas(a, area)
	emission.New(a.cursors).Routes(area)
	vcAPI(a).Routes(area)
	a.mind.ledger(area)
	phones, desk := fresh.phones(), fresh.phones()
	a.line.routes(phones, desk)
	a.line.deskRoutes(area, a.cursors)
	talk := web.NewAPI(web.APIConfig{Name: "oracle", Errors: web.Nest, Gate: a.Auth, Log: a.log, Lenient: true, Shed: a.edge.shed})
	a.mind.routes(talk)
	ref, refAPI := &reference{oracle: a.identity.DID.String(), more: a.mind.messages()}, fresh.nested("reference")
	ref.routes(refAPI)
	ops := fresh.nested("operations")
	sys.operator(ops)
	public := func(sh shape, pages bool) *web.API {
		api := fresh.nested("system")
		sys.public(api, sh, pages)
		return api
	}
	out := map[string][]*web.API{withinName: {platform, area, phones, desk, talk}, innerName: {platform, area, talk}}
	for _, p := range places {
		apis := []*web.API{public(p.shape, a.hasPages(p.name))}
		if a.hasPages(p.name) {
			apis = append(apis, a.pages(fresh))
		}
		switch p.name {
		case mergedName:
			apis = append(apis, refAPI)
			if a.cfg.Server.APIAddr == "" {
				apis = append(apis, platform, area, field)
			}
			apis = append(apis, together(a.cfg.Server, phones, talk)...)
		case ussdName:
			apis = append(apis, phones)
		case apiName:
			apis = append(apis, refAPI, platform, area, field)
		case oracleName:
			apis = append(apis, refAPI, talk)
		}
		if p.name == adminName || a.cfg.Server.AdminAddr == "" {
			apis = append(apis, ops, desk)
		}
		out[p.name] = apis
	}
	about.describe(a.cfg, sys.name, a.opt.Version, beside(a.cfg.Server, platform, area, phones, talk)...)
	ref.describe(a.opt.Version, area, field, platform, phones, desk, talk, public(shapeAll, false), ops, refAPI)
	return out
}

// fieldOf are the routes of phones with ODK Collect.
func fieldOf(a *App) *web.API {
	api := web.NewAPI(web.APIConfig{Name: "openrosa", Errors: openrosa.WriteFault, Gate: openrosa.Gate{Keys: a.Auth}, Log: a.log, Lenient: true, Shed: a.edge.shed})
	if a.cfg.HasArea("b") {
		a.surveys.collect.Routes(api)
	}
	return api
}

// pages are the routes of the console.
func (a *App) pages(fresh dialects) *web.API {
	api := fresh.area("console")
	console.New(console.Config{
		Sessions: a.Auth.Sessions(), Invites: a.Auth.Invites(), Dir: a.cfg.Server.ConsoleDir, Areas: a.cfg.Server.Areas, Version: a.opt.Version,
		Tiles: console.Tiles{URL: a.cfg.Server.Tiles, Credit: a.cfg.Server.TilesCredit},
	}).Routes(api)
	return api
}

// hasPages reports whether a listener has the console: the one of areas A and B.
func (a *App) hasPages(name string) bool {
	if !a.cfg.Server.Console || !a.cfg.HasArea("a") && !a.cfg.HasArea("b") {
		return false
	}
	return name == apiName || name == mergedName && a.cfg.Server.APIAddr == ""
}

// beside lists the tables on the listener of /v1 that the index describes.
func beside(s config.Server, platform, area, phones, talk *web.API) []*web.API {
	apis := []*web.API{area, platform}
	if s.APIAddr == "" {
		apis = append(apis, together(s, phones, talk)...)
	}
	return apis
}

// together are the tables of areas C and D that have no listener of their own.
func together(s config.Server, phones, talk *web.API) []*web.API {
	var apis []*web.API
	if s.USSDAddr == "" {
		apis = append(apis, phones)
	}
	if s.OracleAddr == "" {
		apis = append(apis, talk)
	}
	return apis
}

// dialects makes tables of routes, by how they write errors.
type dialects struct {
	gate    web.Gate
	log     *slog.Logger
	maxBody int64
	shed    *web.Shedder
}

// nested makes a table of area D and of the server itself.
func (d dialects) nested(name string) *web.API {
	return web.NewAPI(web.APIConfig{Name: name, Errors: web.Nest, Gate: d.gate, Log: d.log, MaxBody: d.maxBody, Lenient: true, Shed: d.shed})
}

// phones makes a table of area C: its errors are closing screens.
func (d dialects) phones() *web.API {
	return web.NewAPI(web.APIConfig{Name: "ussd", Errors: web.End, Gate: d.gate, Log: d.log, Lenient: true, Shed: d.shed})
}

// area makes a table under /v1: strict, and with problems for errors.
func (d dialects) area(name string) *web.API {
	return web.NewAPI(web.APIConfig{Name: name, Errors: web.Problem, Gate: d.gate, Log: d.log, MaxBody: d.maxBody, Shed: d.shed})
}

// platform enters what all areas stand on: keys, workspaces, events, webhooks,
// jobs.
func (c *Core) platform(api *web.API) *web.API {
	c.Auth.Routes(api)
	c.Events.Routes(api)
	c.Webhooks.Routes(api)
	c.Jobs.Routes(api)
	return api
}

func ignoreClosed(err error) error {
	if errors.Is(err, net.ErrClosed) {
		return nil
	}
	return err
}

// greet prints an overview for the person at the terminal.
func (a *App) greet(link string) {
	w := a.opt.Out
	for _, l := range a.open {
		base := l.base()
		fmt.Fprintf(w, "%-9s %s\n", l.name, base)
		if l.name == mergedName || l.name == apiName {
			fmt.Fprintf(w, "%-9s %s/docs\n", "reference", base)
		}
	}
	fmt.Fprintf(w, "%-9s %s\n", "data", storeName(a.cfg))
	fmt.Fprintf(w, "%-9s %s\n", "durable", a.DB.Durability())
	if a.owner != "" {
		fmt.Fprintf(w, "%-9s %s\n          This is shown once. Keep it: Authorization: Bearer <owner key>\n", "owner key", a.owner)
	}
	fmt.Fprintf(w, "%-9s %s\n", "oracle", a.identity.DID)
	if a.identity.Key == nil {
		fmt.Fprintf(w, "          The key of this DID is not here: callers are checked, nothing can be signed.\n")
	}
	a.mind.greet(w)
	if link != "" {
		fmt.Fprintf(w, "%-9s %s\n          Open it in a browser on this machine: it signs the owner in once, for 10 minutes.\n          Later: hearth console link\n", "console", link)
	}
	fmt.Fprintf(w, "Oracle '%s' (runtime v%s) listening on :%d\n", a.cfg.Oracle.Name, a.opt.Version, a.mainPort())
}

// base is the address of a listener as a person on this machine opens it.
func (l *listener) base() string {
	scheme := "http"
	if l.tls != nil {
		scheme = "https"
	}
	return fmt.Sprintf("%s://%s", scheme, shownAddr(l.socket.Addr()))
}

// ConsoleLink is the address that opens a session of the console for a code. The
// part after # stays in the browser and reaches no log.
func ConsoleLink(base, code string) string { return base + "/console/#enter=" + code }

// link makes the link of the console, "" without one.
func (a *App) link(ctx context.Context) string {
	for _, l := range a.open {
		if !a.hasPages(l.name) {
			continue
		}
		code, err := a.Auth.Sessions().Code(ctx, auth.OperatorWorkspace)
		if err != nil {
			a.log.Warn("no link to the console", "err", err.Error())
			return ""
		}
		return ConsoleLink(l.base(), code)
	}
	return ""
}

func storeName(cfg *config.Config) string {
	if cfg.Postgres() {
		return cfg.Data.Dir + ", store in PostgreSQL"
	}
	return cfg.Data.Dir
}

// shownAddr is an address a person can click: all addresses become localhost.
func shownAddr(addr net.Addr) string {
	host, port, err := net.SplitHostPort(addr.String())
	if err != nil {
		return addr.String()
	}
	if ip := net.ParseIP(host); ip == nil || ip.IsUnspecified() {
		host = "localhost"
	}
	return net.JoinHostPort(host, port)
}
