package app

import (
	"errors"
	"fmt"
	"net"

	"github.com/hearth-dmrv/hearth/internal/web"
)

// planned is one listener and the routes it carries.
type planned struct {
	name, addr string
	apis       []*web.API
}

// adminName is the listener of operators.
const adminName = "admin"

// plan decides which listener carries which routes. An area with an address
// of its own leaves the merged listener; operator routes leave them all when
// they have one. A listener nobody is left on is not opened.
func (a *App) plan() ([]planned, error) {
	sys, s := a.system(), a.cfg.Server
	platform := a.platform()
	ref := &reference{}
	refAPI := a.newAPI("reference", web.Nest)
	ref.routes(refAPI)
	ops := a.newAPI("operations", web.Nest)
	sys.operator(ops)

	public := func(sh shape) *web.API {
		api := a.newAPI("system", web.Nest)
		sys.public(api, sh)
		return api
	}
	var out []planned
	add := func(name, addr string, sh shape, apis ...*web.API) {
		p := planned{name: name, addr: addr, apis: append(apis, public(sh))}
		if s.AdminAddr == "" {
			p.apis = append(p.apis, ops)
		}
		out = append(out, p)
	}
	merged := []*web.API{refAPI}
	if s.APIAddr != "" {
		add("api", s.APIAddr, shapeAll, platform, refAPI)
	} else {
		merged = append(merged, platform)
	}
	if s.USSDAddr != "" && a.cfg.HasArea("c") {
		add("ussd", s.USSDAddr, shapeUSSD)
	}
	if s.OracleAddr != "" && a.cfg.HasArea("d") {
		add("oracle", s.OracleAddr, shapeOracle, refAPI)
	}
	if !a.allApart() {
		add("hearth", a.cfg.Addr(), shapeAll, merged...)
	}
	if s.AdminAddr != "" {
		out = append(out, planned{name: adminName, addr: s.AdminAddr, apis: []*web.API{ops, public(shapeAll)}})
	}
	return out, a.document(ref, platform, public(shapeAll), ops, refAPI)
}

// allApart tells whether every area of this process has its own listener.
func (a *App) allApart() bool { return a.cfg.AllApart() }

func (a *App) newAPI(name string, write web.ErrorWriter) *web.API {
	return web.NewAPI(web.APIConfig{Name: name, Errors: write, Gate: a.Auth, Log: a.log, MaxBody: a.cfg.Limits.MaxBodyBytes, Lenient: true})
}

// platform is what all areas stand on: keys, workspaces, events, webhooks,
// jobs.
func (a *App) platform() *web.API {
	api := web.NewAPI(web.APIConfig{Name: "platform", Errors: web.Problem, Gate: a.Auth, Log: a.log, MaxBody: a.cfg.Limits.MaxBodyBytes})
	a.Auth.Routes(api)
	a.Events.Routes(api)
	a.Webhooks.Routes(api)
	a.Jobs.Routes(api)
	return api
}

// document fills the reference with what the tables say, its own included.
func (a *App) document(ref *reference, apis ...*web.API) error {
	made, err := newReference(web.Document("Hearth", a.opt.Version, apis...))
	if err != nil {
		return err
	}
	*ref = *made
	return nil
}

func ignoreClosed(err error) error {
	if errors.Is(err, net.ErrClosed) {
		return nil
	}
	return err
}

// greet tells the person at the terminal what they have.
func (a *App) greet() {
	w := a.opt.Out
	scheme := "http"
	if a.tls != nil {
		scheme = "https"
	}
	for _, l := range a.open {
		base := fmt.Sprintf("%s://%s", scheme, shownAddr(l.socket.Addr()))
		fmt.Fprintf(w, "%-9s %s\n", l.name, base)
		if l.name == "hearth" || l.name == "api" {
			fmt.Fprintf(w, "%-9s %s/docs\n", "reference", base)
		}
	}
	fmt.Fprintf(w, "%-9s %s\n", "data", a.storeName())
	fmt.Fprintf(w, "%-9s %s\n", "durable", a.DB.Durability())
	if a.owner != "" {
		fmt.Fprintf(w, "%-9s %s\n          This is shown once. Keep it: Authorization: Bearer <owner key>\n", "owner key", a.owner)
	}
	fmt.Fprintf(w, "%-9s %s\n", "oracle", a.identity.DID)
	if a.identity.Key == nil {
		fmt.Fprintf(w, "          The key of this DID is not here: callers are checked, nothing can be signed.\n")
	}
	fmt.Fprintf(w, "Oracle '%s' (runtime v%s) listening on :%d\n", a.cfg.Oracle.Name, a.opt.Version, a.mainPort())
}

// mainPort is the port clients of the oracle use.
func (a *App) mainPort() int {
	port := a.open[0].port()
	for _, l := range a.open {
		if l.name == "oracle" || l.name == "hearth" {
			port = l.port()
		}
	}
	return port
}

func (a *App) storeName() string {
	if a.cfg.Postgres() {
		return a.cfg.Data.Dir + ", store in PostgreSQL"
	}
	return a.cfg.Data.Dir
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
