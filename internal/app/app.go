// Package app is the wiring: it opens the store, builds the services, gives
// every area its listener and starts and stops it all in order. It is the
// only package that sees the whole configuration and all areas.
package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/hearth-dmrv/hearth/internal/audit"
	"github.com/hearth-dmrv/hearth/internal/config"
	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/demo"
	"github.com/hearth-dmrv/hearth/internal/entity/protocol"
	"github.com/hearth-dmrv/hearth/internal/exchange"
	"github.com/hearth-dmrv/hearth/internal/file"
	"github.com/hearth-dmrv/hearth/internal/job"
	"github.com/hearth-dmrv/hearth/internal/ops"
	"github.com/hearth-dmrv/hearth/internal/survey/template"
	"github.com/hearth-dmrv/hearth/internal/web"
	"github.com/hearth-dmrv/hearth/plugin"
)

// Options is the input of Serve besides the configuration.
type Options struct {
	Version string
	Out     io.Writer // what the person at the terminal reads
	Err     io.Writer // logs
	Environ []string
	Plugins []plugin.Plugin // besides the bundled ones
}

// App is a running server.
type App struct {
	*Core
	*front
	cfg      *config.Config
	opt      Options
	log      *slog.Logger
	lock     *db.FolderLock // nil on PostgreSQL
	identity Identity
	metrics  *ops.Metrics
	tracer   *ops.Tracer
	notify   *ops.Notifier
	trouble  ops.Trouble
	runner   *job.Runner
	flights  *file.Flights // the files this server sends
	exchange *exchange.Service
	twins    *twins
	surveys  *surveys
	line     *line // nil without area C
	mind     *mind // nil without area D
	demo     *demo.Service
	reports  *audit.Service
	small    int          // divides the sizes of the demo, in tests; 0 does not
	within   http.Handler // serves all areas in process, for the demo
	inner    http.Handler // serves areas to plugins, for their users

	endPlugins func(context.Context) error // nil: none was started
	owner      string                      // the owner key, on the first start only
	stopping   atomic.Bool
	unshared   atomic.Bool // the folder of backups was found to be of one server, and it was said
}

// Serve runs the server until ctx is done, then drains it. It returns nil
// after a clean stop.
func Serve(ctx context.Context, cfg *config.Config, opt Options) error {
	ops.Tune(opt.Environ)
	log, _ := ops.NewLog(ops.LogConfig{Writer: opt.Err, Level: cfg.Observe.LogLevel, Format: cfg.Observe.LogFormat, Attrs: logAttrs})
	// What runs behind the listeners outlives ctx: it is stopped by hand,
	// after the last request.
	life, end := context.WithCancel(context.WithoutCancel(ctx))
	defer end()
	a := &App{cfg: cfg, opt: opt, log: log, notify: ops.NewNotifier(opt.Environ, os.Getpid())}
	if err := a.start(life); err != nil {
		return errors.Join(err, a.close())
	}
	a.announce(a.opt.Version)
	a.greet(a.link(ctx))
	return errors.Join(a.run(ctx, life, end), a.withdraw(), a.close())
}

// logAttrs gives every log line of a request its id.
func logAttrs(ctx context.Context) []slog.Attr {
	if id := web.RequestID(ctx); id != "" {
		return []slog.Attr{slog.String("request_id", id)}
	}
	return nil
}

// start opens everything, beginning with what fails most often: a port that is
// taken or a certificate that cannot be read must not leave a store behind
// whose owner key nobody has seen.
func (a *App) start(ctx context.Context) (err error) {
	defer func() {
		if err != nil && a.endPlugins != nil {
			err = errors.Join(err, a.endPlugins(ctx))
		}
	}()
	a.front = &front{cfg: a.cfg, log: a.log}
	for _, line := range a.cfg.Warnings() {
		a.log.Warn("insecure setting", "setting", line)
	}
	if err := os.MkdirAll(a.cfg.Data.Dir, 0o700); err != nil {
		return fmt.Errorf("make data folder: %w", err)
	}
	if !a.cfg.Postgres() {
		if a.lock, err = db.Lock(a.cfg.Data.Dir); err != nil {
			return err
		}
	}
	challenge, err := a.bindAll(ctx)
	if err != nil {
		return err
	}
	if a.Core, err = OpenCore(ctx, a.cfg, a.log); err != nil {
		return err
	}
	if err := a.join(ctx, a.opt.Version); err != nil {
		return err
	}
	if a.identity, err = a.loadIdentity(ctx, a.cfg.Data.Dir, a.cfg.Oracle); err != nil {
		return err
	}
	if err := a.observe(); err != nil {
		return err
	}
	a.buildExchange()
	a.buildSurveys()
	if err := a.buildTwins(); err != nil {
		return err
	}
	if err := a.buildLine(ctx); err != nil {
		return err
	}
	if err := a.buildMind(ctx); err != nil {
		return err
	}
	a.buildDemo()
	buildReports(a)
	if a.runner, err = a.jobs(); err != nil {
		return err
	}
	if err := a.route(challenge); err != nil {
		return err
	}
	if a.owner, err = a.Auth.Bootstrap(ctx, a.cfg.Auth.OwnerKey.Reveal()); err != nil {
		return err
	}
	return a.oracleTwin(ctx, a.twins.resolve)
}

// sentElsewhere is how long other instances may take to send a file that was
// condemned here.
const sentElsewhere = 10 * time.Minute

// buildExchange makes what imports and exports of all areas stand on.
func (a *App) buildExchange() {
	a.flights = &file.Flights{}
	if a.cfg.Postgres() {
		a.flights.Grace = sentElsewhere
	}
	a.exchange = exchange.New(exchange.Config{DB: a.DB, Jobs: a.Jobs, Flights: a.flights})
}

// observe sets up metrics and traces.
func (a *App) observe() error {
	o := a.cfg.Observe
	headers, err := ops.ParseHeaders(o.OTLPHeaders.Reveal())
	if err != nil {
		return err
	}
	a.tracer = ops.NewTracer(ops.TraceConfig{
		Endpoint: o.OTLPEndpoint, Headers: headers, Service: o.ServiceName, Version: a.opt.Version, Ratio: o.TraceRatio,
		OnError: func(err error) { a.log.Warn("traces not sent", "err", err.Error()) },
	})
	if !o.MetricsEnabled {
		return nil
	}
	a.metrics = ops.NewMetrics(ops.Build{Version: a.opt.Version})
	return a.measureStore()
}

// route gives every listener its routes behind the edge.
func (a *App) route(challenge http.Handler) (err error) {
	if a.edge, err = newEdge(a.cfg, a.log, noting(&a.trouble, seen(a.metrics)), a.tracer, a.fleet); err != nil {
		return err
	}
	a.edge.requests = a.requestLog()
	if a.line != nil {
		a.edge.line = a.line.sessions.Guard
	}
	if a.cfg.Postgres() {
		a.edge.store = func(r *http.Request) context.Context { return a.DB.Row(a.DB.Lane(r.Context(), db.Request), rowOf(r)) }
		if db.HasReplica(a.DB) {
			a.edge.behind = func(next http.Handler) http.Handler { return positions(a.DB, next) }
		}
	}
	all := places(a.cfg)
	tables := a.tables(all)
	if err := a.mind.clash(tables); err != nil {
		return err
	}
	for _, l := range a.open {
		l.server.Handler = challenge
		if i := slices.IndexFunc(all, func(p place) bool { return p.name == l.name }); i >= 0 {
			l.server.Handler = a.edge.handler(tables[l.name], all[i].shape)
		}
	}
	a.within, a.inner = a.edge.within(tables[withinName]), a.edge.within(tables[innerName])
	return a.front.measure(a.metrics)
}

// seen counts finished requests and names their spans.
func seen(m *ops.Metrics) web.Observer {
	return func(r *http.Request, s web.Seen) {
		m.Observe(s.Route, s.Method, s.Status, s.Duration)
		if s.Status == http.StatusTooManyRequests {
			m.Refused("rate")
		}
		if span := ops.SpanFrom(r.Context()); span != nil {
			span.Name(s.Method + " " + s.Route)
			span.Int("http.response.status_code", int64(s.Status))
		}
	}
}

// run serves until ctx is done or something fails, then drains: parts that take
// up work stop at once, those that the last requests need stop last.
func (a *App) run(ctx, life context.Context, end context.CancelFunc) error {
	var front, work, back errgroup.Group
	working, stopWork := context.WithCancel(life)
	defer stopWork()
	failed := make(chan struct{}, len(a.open))
	for _, l := range a.open {
		front.Go(func() error {
			defer func() { failed <- struct{}{} }()
			return l.serve()
		})
	}
	start := func(g *errgroup.Group, ctx context.Context, fs ...func(context.Context) error) {
		for _, f := range fs {
			g.Go(func() error { return f(ctx) })
		}
	}
	start(&work, working, slices.Concat(a.line.work(), a.mind.work(), []func(context.Context) error{a.twins.erase.Run, a.Webhooks.Run, quiet(a.runner.Run)})...)
	start(&back, life, quiet(func(ctx context.Context) { a.watchStamp(ctx, stampFile(a.cfg)) }), a.changes.Run, a.fleet.Run, a.Events.Lead, quiet(func(ctx context.Context) { markShared(ctx, a) }), quiet(a.Auth.Run), a.tracer.Run, quiet(prepare),
		func(ctx context.Context) error { return a.notify.Watch(ctx, a.DB.Ping) })
	if err := a.notify.Ready("serving"); err != nil {
		a.log.Warn("service manager not told", "err", err.Error())
	}
	select {
	case <-ctx.Done():
	case <-failed:
	}
	a.stopping.Store(true)
	a.DB.Drain()
	linger(a.log, a.cfg.Server.DrainDelay, failed)
	stopWork()
	a.drain(life)
	err := errors.Join(front.Wait(), work.Wait())
	a.line.wait()
	a.endMind(life)
	end()
	return errors.Join(err, back.Wait())
}

// prepare compiles what no start waits for, before a request needs it. What the
// start has used up goes back to the system then: a server may rest for hours.
func prepare(context.Context) {
	sparingly(50, func() {
		template.Prepare()
		protocol.Prepare()
	})
}

// sparingly does something that takes much memory for a moment. It collects garbage
// earlier, at the given percentage, so that memory is reused, and then returns the rest
// to the system at once. Otherwise the heap would grow by as much again until the next
// collection.
func sparingly(share int, f func()) {
	usual := debug.SetGCPercent(share)
	defer func() {
		if usual != share { // else another server of this process is at it, and sets it back
			debug.SetGCPercent(usual)
		}
		debug.FreeOSMemory()
	}()
	f()
}

func quiet(f func(context.Context)) func(context.Context) error {
	return func(ctx context.Context) error {
		f(ctx)
		return nil
	}
}

// drain stops accepting requests and lets running ones finish. Streams are told
// and end first, or they would use up the whole limit; the operators' listener
// goes last, so that they can watch.
func (a *App) drain(ctx context.Context) {
	limit := a.cfg.Server.ShutdownTimeout
	a.log.Info("stopping", "timeout", limit.String())
	_ = a.notify.Stopping() // nothing can be done about a failure
	a.Events.Close()
	// A tenth is reserved for what follows the requests.
	ctx, cancel := context.WithTimeout(ctx, limit-limit/10)
	defer cancel()
	var g sync.WaitGroup
	g.Go(func() { a.endRuns(ctx, limit/3) })
	for _, l := range a.open {
		if l.name != adminName {
			g.Go(func() { a.shutdown(ctx, l) })
		}
	}
	g.Wait()
	for _, l := range a.open {
		if l.name == adminName {
			a.shutdown(ctx, l)
		}
	}
}

// endRuns gives the oracle's answers some time to finish and then interrupts
// them, so that their streams end well before they are cut.
func (a *App) endRuns(ctx context.Context, limit time.Duration) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	if err := a.mind.drain(ctx); err != nil {
		a.log.Warn("runs cut", "err", err.Error())
	}
}

// endMind ends the oracle's work after the listeners.
func (a *App) endMind(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, a.cfg.Server.ShutdownTimeout/10)
	defer cancel()
	if err := a.mind.close(ctx); err != nil {
		a.log.Warn("oracle cut", "err", err.Error())
	}
}

// close gives back what start took, last first.
func (a *App) close() error {
	var errs []error
	for _, l := range a.open {
		errs = append(errs, ignoreClosed(l.socket.Close()))
	}
	if a.line != nil {
		a.line.simulator.Reset()
	}
	if a.Core != nil {
		errs = append(errs, a.Core.Close())
	}
	if a.lock != nil {
		errs = append(errs, a.lock.Unlock())
	}
	return errors.Join(errs...)
}

// ready looks at everything a request would need. The keys were proved against
// the store at boot: with others it does not start.
func (a *App) ready(ctx context.Context, writable func(context.Context) error) readiness {
	r := readiness{Status: "ready", Durability: a.DB.Durability(), Checks: map[string]string{"store": "ok", "schema": "ok", "keys": "ok"}}
	fail := func(name, text string) { r.Status, r.Checks[name] = "not ready", text }
	if a.stopping.Load() {
		fail("process", "stopping")
	}
	if err := writable(ctx); err != nil {
		fail("store", "does not take writes")
	}
	note := func(name, text string, fit bool) {
		if text != "" {
			r.Checks[name] = text
		}
		if !fit {
			r.Status = "not ready"
		}
	}
	text, fit := schemaCheck(ctx, a.DB)
	note("schema", text, fit)
	text, fit = clockCheck(ctx, a.DB)
	note("clock", text, fit)
	note("standby", standbyCheck(a.DB), true)
	if b, ok := a.Bus.(interface{ Degraded() bool }); ok && b.Degraded() {
		note("bus", "degraded: rows are read each second instead", true)
	}
	return r
}

// system answers for the process; its uptime is counted from here.
func (a *App) system() *system {
	writable := remembered(time.Second, func(ctx context.Context) error { return db.TakesWrites(ctx, a.DB) })
	s := &system{
		name: a.cfg.Oracle.Name, version: a.opt.Version, environment: a.cfg.Server.Environment, started: time.Now(),
		ping: func(ctx context.Context) error { return a.DB.Ping(a.DB.Lane(ctx, db.Control)) }, writable: writable,
		ready: func(ctx context.Context) readiness { return a.ready(a.DB.Lane(ctx, db.Control), writable) },
	}
	if a.metrics != nil {
		s.metrics = a.metrics.Handler()
	}
	return s
}
