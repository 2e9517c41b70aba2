package cli

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"os"
	"sync"

	"github.com/hearth-dmrv/hearth/internal/app"
	"github.com/hearth-dmrv/hearth/internal/config"
	"github.com/hearth-dmrv/hearth/internal/job"
	"github.com/hearth-dmrv/hearth/internal/ussd"
	"github.com/hearth-dmrv/hearth/internal/ussd/account"
	"github.com/hearth-dmrv/hearth/internal/ussd/fetch"
	"github.com/hearth-dmrv/hearth/internal/ussd/menu"
	"github.com/hearth-dmrv/hearth/internal/ussd/sms"
	"github.com/hearth-dmrv/hearth/internal/ussd/wire"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// localUSSD is a USSD line in this process: the menu and the gateways of the
// configuration over a store in a folder of its own. Messages go nowhere, and
// twins count as made.
func localUSSD(ctx context.Context, cfg *config.Config) (_ http.Handler, stop func(), err error) {
	dir, err := os.MkdirTemp("", "hearth-ussd-")
	if err != nil {
		return nil, nil, err
	}
	own := *cfg
	own.Data.Dir, own.Data.DatabaseURL = dir, ""
	ctx, cancel := context.WithCancel(ctx)
	var work sync.WaitGroup
	var core *app.Core
	stop = func() {
		cancel()
		work.Wait()
		if core != nil {
			_ = core.Close() // the store goes anyway
		}
		_ = os.RemoveAll(dir)
	}
	defer func() {
		if err != nil {
			stop()
		}
	}()
	if core, err = app.OpenCore(ctx, &own, slog.New(slog.DiscardHandler)); err != nil {
		return nil, nil, err
	}
	l, err := newLocal(core, &own)
	if err != nil {
		return nil, nil, err
	}
	handlers := l.accounts.Handlers()
	maps.Copy(handlers, l.out.Handlers())
	runner, err := core.Jobs.NewRunner(job.RunnerConfig{Handlers: handlers, Alone: true})
	if err != nil {
		return nil, nil, err
	}
	work.Go(func() { runner.Run(ctx) })
	return l.handler, stop, nil
}

// local is what answers, and the services that do work behind it.
type local struct {
	accounts *account.Service
	out      *sms.Outbox
	handler  http.Handler
}

func newLocal(core *app.Core, cfg *config.Config) (*local, error) {
	l := &local{out: sms.New(sms.Config{DB: core.DB, Jobs: core.Jobs, Key: core.Key, Sender: &sms.Fake{}})}
	var err1, err2, err3, err4 error
	l.accounts, err1 = account.New(account.Config{
		DB: core.DB, Events: core.Events, Jobs: core.Jobs, Key: core.Key, SMS: l.out,
		MakeTwins: func(_ context.Context, c account.Customer) (string, error) { return c.Household, nil },
	})
	packs, err2 := menu.NewRegistry(menu.RegistryConfig{Source: cfg.USSD.Menu, Known: app.MenuKnown(), Log: slog.New(slog.DiscardHandler)})
	gateways, err3 := wire.Open(cfg.USSD.GatewaysFile)
	proxies, err4 := web.NewProxies(false, nil)
	if err := errors.Join(err1, err2, err3, err4); err != nil {
		return nil, fmt.Errorf("build the line: %w", err)
	}
	api := web.NewAPI(web.APIConfig{Name: "USSD", Errors: web.End, Gate: everybody{}, Log: slog.New(slog.DiscardHandler)})
	// Nobody is asked: a dialog that is tried must order nothing.
	actions := app.MenuActions(l.accounts, fetch.Config{})
	sessions := ussd.New(ussd.Config{DB: core.DB, Key: core.Key, Packs: packs, Actions: actions, Gateways: gateways, TextMode: wire.Mode(cfg.USSD.TextMode)})
	sessions.Routes(api)
	sessions.OperatorRoutes(api)
	mux := http.NewServeMux()
	api.Mount(mux)
	l.handler = web.WithRequestIDs(proxies.Middleware(mux))
	return l, nil
}

// everybody admits all: nobody but this process reaches the line.
type everybody struct{}

// Admit takes the caller for an operator.
func (everybody) Admit(http.Header, *http.Request, web.Scope) (web.Caller, error) {
	return web.Caller{}, nil
}
