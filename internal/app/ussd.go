package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/hearth-dmrv/hearth/internal/auth"
	"github.com/hearth-dmrv/hearth/internal/config"
	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/demo"
	"github.com/hearth-dmrv/hearth/internal/entity"
	"github.com/hearth-dmrv/hearth/internal/entity/credential"
	"github.com/hearth-dmrv/hearth/internal/entity/erase"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/job"
	"github.com/hearth-dmrv/hearth/internal/ops"
	"github.com/hearth-dmrv/hearth/internal/outbound"
	"github.com/hearth-dmrv/hearth/internal/ussd"
	"github.com/hearth-dmrv/hearth/internal/ussd/account"
	"github.com/hearth-dmrv/hearth/internal/ussd/fetch"
	"github.com/hearth-dmrv/hearth/internal/ussd/machine"
	"github.com/hearth-dmrv/hearth/internal/ussd/menu"
	"github.com/hearth-dmrv/hearth/internal/ussd/sms"
	"github.com/hearth-dmrv/hearth/internal/ussd/wire"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// line is area C.
type line struct {
	db       *db.DB
	log      *slog.Logger
	server   string // DID of this server
	sms      *sms.Outbox
	accounts *account.Service
	packs    *menu.Registry
	gateways *wire.Set
	sessions *ussd.Service
	fetch    fetch.Config

	simulator *ussd.Simulator
}

// MenuKnown describes what menu packs may name: actions, checks and variables.
func MenuKnown() menu.Known {
	return machine.Known(withFetch(account.Offered(), fetch.Config{}))
}

// withFetch adds what packs can ask of others to the actions of accounts.
func withFetch(actions map[string]machine.Action, c fetch.Config) map[string]machine.Action {
	maps.Copy(actions, fetch.Actions(c))
	return actions
}

// MenuActions are the actions of menu packs on a server. Without a client they
// call no other system.
func MenuActions(accounts *account.Service, c fetch.Config) map[string]machine.Action {
	return withFetch(accounts.Actions(), c)
}

// fetching is what menus may ask of others on this server.
func (a *App) fetching(out *outbound.Client, accounts *account.Service, outbox *sms.Outbox) fetch.Config {
	return fetch.Config{
		Client: out, Log: a.log, Types: a.cfg.USSD.MenuTwins, Customer: accounts.DIDOf, Twins: a.menuTwins,
		Vouchers: menuVouchers{func() *credential.Vouchers { return a.twins.vouchers }}, DB: a.DB, Jobs: a.Jobs, SMS: outbox, PerHour: a.cfg.USSD.AsksPerHour,
		Oracle:  &menuOracle{mind: func() *mind { return a.mind }, who: a.asCustomer(accounts)},
		Surveys: &menuSurveys{interviews: a.surveys.interviews, accounts: accounts},
	}
}

// pagesForMenus is how many pages of twins a menu waits for: with a filter that
// fits few a page may be short.
const pagesForMenus = 5

// menuTwins lists twins for a menu as seen by a reader without further rights,
// who controls none of them.
func (a *App) menuTwins(ctx context.Context, q fetch.TwinQuery) ([][]byte, error) {
	ctx = web.WithCaller(ctx, web.Caller{Workspace: auth.OperatorWorkspace, Scopes: []string{"entities:read"}})
	query := entity.Query{Type: q.Type, Status: q.Status, Project: q.Project, Filter: q.Filter, Limit: q.Limit}
	var out [][]byte
	for range pagesForMenus {
		page, err := a.twins.search.List(ctx, a.DB, query)
		if err != nil {
			return nil, err
		}
		for _, r := range page.Rows {
			body, err := a.twins.search.Fields(ctx, &entity.Row{Workspace: auth.OperatorWorkspace}, r.Body, "did,type,status,metadata.name,properties")
			if err != nil {
				return nil, err
			}
			out = append(out, body)
		}
		if query.Limit = q.Limit - len(out); page.Next == nil || query.Limit <= 0 {
			break
		}
		query.After = page.Next
	}
	return out, nil
}

// AccountHooks are the dependencies of accounts. The command line has none: it
// asks for twins, and the server makes them.
type AccountHooks struct {
	MakeTwins func(context.Context, account.Customer) (string, error)
	Forget    func(context.Context, *db.Tx, string) (int64, error)
}

// errNotHere is for work that only a server does.
var errNotHere = errors.New("twins are made by the server")

// Accounts opens the accounts of area C over a core, for the server and for the
// command line. Prove has been called.
func (c *Core) Accounts(ctx context.Context, cfg *config.Config, h AccountHooks) (*account.Service, *sms.Outbox, error) {
	if h.MakeTwins == nil {
		h.MakeTwins = func(context.Context, account.Customer) (string, error) { return "", errNotHere }
	}
	out := sms.New(sms.Config{DB: c.DB, Jobs: c.Jobs, Key: c.Key, Sender: c.sender(cfg.USSD.SMS), Log: c.log})
	accounts, err := account.New(account.Config{
		DB: c.DB, Events: c.Events, Jobs: c.Jobs, SMS: out, Key: c.Key, Log: c.log, MakeTwins: h.MakeTwins, Forget: h.Forget,
		PINKey: cfg.USSD.PINKey.Reveal(), PINKeyOld: cfg.USSD.OldPINKey.Reveal(), LegacyKey: cfg.USSD.LegacyPINKey.Reveal(),
	})
	if err != nil {
		return nil, nil, err
	}
	return accounts, out, accounts.Prove(ctx)
}

// sender sends short messages; nil when it is not configured.
func (c *Core) sender(s config.SMS) sms.Sender {
	switch s.Provider {
	case "webhook":
		return &sms.Webhook{Client: c.outbound, URL: s.WebhookURL.Reveal(), Secret: []byte(s.WebhookSecret.Reveal())}
	case "africastalking":
		return &sms.AfricasTalking{Client: c.outbound, Base: s.ATURL, Username: s.ATUsername, APIKey: s.ATKey.Reveal(), From: s.ATSender}
	}
	return nil
}

// openGateways reads the gateways. One that signs needs the secret.
func openGateways(u config.USSD) (*wire.Set, error) {
	all, err := wire.Open(u.GatewaysFile)
	if err != nil {
		return nil, fmt.Errorf("USSD_GATEWAYS_FILE: %w", err)
	}
	for _, g := range all.List() {
		if g.Signed() && u.GatewaySecret.Reveal() == "" {
			return nil, fmt.Errorf("USSD_GATEWAY_SECRET: is missing: the signatures of the gateway %s are checked with it", g.Name)
		}
	}
	return all, nil
}

// buildLine makes the services of area C, lowest first. A menu or a gateway
// that is wrong stops the start, as does a key that opens no PIN.
func (a *App) buildLine(ctx context.Context) (err error) {
	if !a.cfg.HasArea("c") {
		return nil
	}
	l, u := &line{db: a.DB, log: a.log, server: a.identity.DID.String()}, a.cfg.USSD
	if l.packs, err = menu.NewRegistry(menu.RegistryConfig{Source: u.Menu, Known: MenuKnown(), Log: a.log}); err != nil {
		return fmt.Errorf("USSD_MENU: %w", err)
	}
	if l.gateways, err = openGateways(u); err != nil {
		return err
	}
	authority, err := gatewayCA(a.cfg)
	if err != nil {
		return err
	}
	if l.accounts, l.sms, err = a.Accounts(ctx, a.cfg, AccountHooks{registrar{a.twins.entities, l.server}.makeTwins, forgetNumber}); err != nil {
		return err
	}
	out, err := outbound.New(outbound.Config{Allow: a.cfg.Events.OutboundAllow, Timeout: ussd.MaxOutside, MaxRedirects: -1, MaxBytes: fetch.MaxBytes})
	if err != nil {
		return err
	}
	l.fetch = a.fetching(out, l.accounts, l.sms)
	seen, dropped, err := measureSteps(a.metrics)
	if err != nil {
		return err
	}
	l.sessions = ussd.New(ussd.Config{
		DB: a.DB, Key: a.Key, Packs: l.packs, Actions: MenuActions(l.accounts, l.fetch), Gateways: l.gateways, Log: a.log,
		TTL: u.SessionTTL, TextMode: wire.Mode(u.TextMode), RateLimit: u.RateLimit, Fleet: a.fleet, GatewayNetworks: u.GatewayNetworks,
		GatewaySecret: u.GatewaySecret.Reveal(), GatewayCA: authority, GatewayOnly: u.GatewayOnly, ServiceCodes: u.ServiceCodes,
		Seen: seen, Dropped: dropped, Late: l.sendLate, Sample: demo.Rings,
	})
	if err := l.buildSimulator(a.cfg, &menuOracle{mind: func() *mind { return a.mind }, who: asOperator, readOnly: true}, trySurveys(a.surveys.interviews)); err != nil {
		return err
	}
	a.line = l
	if a.metrics == nil {
		return nil
	}
	return a.metrics.Gauge("ussd_sessions_active", "Handset sessions that are alive, as last counted.", func() float64 { return float64(l.sessions.Live()) })
}

// measureSteps registers the metrics of steps. Nodes and gateways are named by
// files of the operator, and no label is personal.
func measureSteps(m *ops.Metrics) (func(ussd.Step), func(node string), error) {
	steps, err1 := m.Counters("ussd_steps_total", "Key presses by node, gateway and result.", "node", "gateway", "result")
	again, err2 := m.Counters("ussd_redeliveries_total", "Requests that were answered as before.", "gateway")
	dropped, err3 := m.Counters("ussd_dropoff_total", "Sessions that fell silent, by the node they stood at.", "node")
	units, err4 := m.Histogram("ussd_screen_units", "Units of a screen in its alphabet.", 20, 40, 60, 80, 100, 120, 140, 160, 182)
	took, err5 := m.Histogram("ussd_reply_seconds", "Time until a gateway had its answer.", .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2, 3)
	seen := func(s ussd.Step) {
		steps(s.Node, s.Gateway, s.Result)
		if s.Result == ussd.ResultRepeated {
			again(s.Gateway)
		}
		if s.Units > 0 {
			units(float64(s.Units))
		}
		took(s.Took.Seconds())
	}
	return seen, func(node string) { dropped(node) }, errors.Join(err1, err2, err3, err4, err5)
}

// sendLate sends by SMS what came too late for the screen. Its caller has no
// time left, so a failure is only logged.
func (l *line) sendLate(ctx context.Context, phone, text string) {
	ctx = web.WithCaller(context.WithoutCancel(ctx), web.Caller{Workspace: auth.OperatorWorkspace, DID: l.server})
	err := l.db.InTx(ctx, func(tx *db.Tx) error {
		_, err := l.sms.Enqueue(ctx, tx, sms.Message{To: phone, Text: text})
		return err
	})
	if err != nil {
		l.log.WarnContext(ctx, "late answer not sent", "err", err.Error())
	}
}

// registrar makes twins of the customers of area C.
type registrar struct {
	twins  *entity.Service
	server string // DID of this server
}

// makeTwins makes the twins of a household and of who registered it, or brings
// them up to date. Both the customer and this server control them: the one
// owns them, the other must keep them right.
func (rg registrar) makeTwins(ctx context.Context, c account.Customer) (string, error) {
	ctx = web.WithCaller(ctx, web.Caller{Workspace: auth.OperatorWorkspace, DID: rg.server, Scopes: []string{"entities:read", "entities:write"}})
	household := map[string]any{"phone": c.Phone}
	if c.District != "" {
		household["district"] = c.District
	}
	if c.Size > 0 {
		household["size"] = c.Size
	}
	person := map[string]any{"name": c.Name, "phone": c.Phone, "language": c.Language}
	if c.Email != "" {
		person["email"] = c.Email
	}
	type twin struct {
		did, typ, protocol string
		properties         map[string]any
		edges              []entity.RelationDraft
	}
	twins := []twin{{c.DID, "Person", "did:ixo:protocol/person", person, nil}}
	if c.Household != "" {
		twins[0].edges = []entity.RelationDraft{{Role: "household", Target: c.Household}}
		twins = append([]twin{{c.Household, "Household", "did:ixo:protocol/household", household, nil}}, twins...)
	}
	for _, t := range twins {
		properties, err := json.Marshal(map[string]any{"properties": t.properties}, json.Deterministic(true))
		if err != nil {
			return "", err
		}
		d := entity.Draft{
			DID: t.did, Type: t.typ, Protocol: t.protocol, Controller: c.DID, Controllers: []string{c.DID, rg.server},
			Relationships: t.edges, ExternalIDs: map[string]string{"ussd-" + strings.ToLower(t.typ): c.CustomerID},
		}
		if err := json.Unmarshal(properties, &struct {
			Properties *entity.Object `json:"properties"`
		}{&d.Properties}); err != nil {
			return "", err
		}
		_, err = rg.twins.Create(ctx, d)
		if fault.KindOf(err) == fault.Conflict {
			err = rg.renew(ctx, d, properties)
		}
		if err != nil {
			return "", fmt.Errorf("make %s: %w", t.typ, err)
		}
	}
	return c.Household, nil
}

// renew updates an existing twin: its properties, and its relationships in the
// roles of the draft.
func (rg registrar) renew(ctx context.Context, d entity.Draft, properties []byte) error {
	row, err := rg.twins.Patch(ctx, d.DID, "*", entity.Change{Merge: properties, Reason: "the customer said so over USSD"})
	if err != nil {
		return err
	}
	e, err := row.Entity()
	if err != nil {
		return err
	}
	for _, want := range d.Relationships {
		there := false
		for _, r := range e.Relationships {
			switch {
			case r.Role != want.Role:
			case r.Target == want.Target:
				there = true
			default:
				if err := rg.twins.Unrelate(ctx, d.DID, r.ID, "another one was registered over USSD"); err != nil {
					return err
				}
			}
		}
		if !there {
			if _, err := rg.twins.Relate(ctx, d.DID, want); err != nil {
				return err
			}
		}
	}
	return nil
}

// routes adds the routes that gateways and operators call. A server without area C
// has none.
func (l *line) routes(phones, desk *web.API) {
	if l != nil {
		l.sessions.Routes(phones)
		l.sessions.OperatorRoutes(desk)
	}
}

// deskRoutes adds the routes of the line under /v1, for the people and programs that
// operate it.
func (l *line) deskRoutes(a *web.API, cursors web.Cursors) {
	if l == nil {
		return
	}
	l.simulator.Routes(a)
	ussd.NewDesk(ussd.DeskConfig{Sessions: l.sessions, Simulator: l.simulator, Known: MenuKnown(), Cursors: cursors}).Routes(a)
	account.Desk{Accounts: l.accounts, Cursors: cursors}.Routes(a)
	sms.Desk{Outbox: l.sms, Cursors: cursors}.Routes(a)
}

// jobs are what area C does later.
func (l *line) jobs(c *job.RunnerConfig) {
	if l != nil {
		maps.Copy(c.Handlers, l.accounts.Handlers())
		maps.Copy(c.Handlers, l.sms.Handlers())
		maps.Copy(c.Handlers, fetch.Answers(l.fetch))
	}
}

// retentions are the retention times of area C; sessions expire separately.
func (l *line) retentions(e config.Events) []retention {
	if l == nil {
		return nil
	}
	return []retention{
		{"locks of numbers", time.Nanosecond, l.accounts.Expire},
		{"notes of short messages", e.JobRetention, l.sms.Expire},
		{"questions of handsets", 24 * time.Hour, func(ctx context.Context, before time.Time, limit int) (int, error) {
			return fetch.Expire(ctx, l.db, before, limit)
		}},
	}
}

// customers are the accounts of the store. A server that does not run area C
// has them too, to erase from: it opens no PIN.
func (a *App) customers() (*account.Service, error) {
	if a.line != nil {
		return a.line.accounts, nil
	}
	out := sms.New(sms.Config{DB: a.DB, Jobs: a.Jobs, Key: a.Key, Log: a.log})
	return account.New(account.Config{DB: a.DB, Events: a.Events, Jobs: a.Jobs, SMS: out, Key: a.Key, Log: a.log, Forget: forgetNumber})
}

// lineErasers are what area C does to forget a person.
func lineErasers(customers func() (*account.Service, error)) []erase.Eraser {
	return []erase.Eraser{{Name: ussd.PartAccount, Erase: func(ctx context.Context, tx *db.Tx, ws, did string) (int64, error) {
		accounts, err := customers()
		if err != nil {
			return 0, err
		}
		n, err := accounts.Erase(ctx, tx, ws, did)
		if err != nil || ws != auth.OperatorWorkspace {
			return n, err
		}
		asked, err := fetch.Erase(ctx, tx, did)
		return n + asked, err
	}}}
}

// companions are the twins that makeTwins has made for a customer besides the
// customer's own.
func companions(customers func() (*account.Service, error)) func(ctx context.Context, ws, did string) ([]erase.Companion, error) {
	return func(ctx context.Context, ws, did string) ([]erase.Companion, error) {
		accounts, err := customers()
		if err != nil {
			return nil, err
		}
		h, err := accounts.HouseholdOf(ctx, ws, did)
		if err != nil || h.DID == "" {
			return nil, err
		}
		return []erase.Companion{{
			DID: h.DID, Shared: h.Shared,
			Properties: map[string]string{"phone": h.Phone}, External: map[string]string{"ussd-household": h.CustomerID},
		}}, nil
	}
}

// wait has steps stored that were answered before they were.
func (l *line) wait() {
	if l != nil {
		l.sessions.Wait()
	}
}

// work is area C's background work.
func (l *line) work() []func(context.Context) error {
	if l == nil {
		return nil
	}
	return []func(context.Context) error{l.packs.Run, l.sessions.Run, l.simulator.Run}
}
