package cli

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"

	"github.com/hearth-dmrv/hearth/internal/app"
	"github.com/hearth-dmrv/hearth/internal/config"
	"github.com/hearth-dmrv/hearth/internal/ussd/menu"
	"github.com/hearth-dmrv/hearth/internal/ussd/sms"
	"github.com/hearth-dmrv/hearth/internal/ussd/wire"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// localUSSD is a USSD line in this process: the menu and the gateways of the
// configuration over a store of its own. Messages go nowhere.
func localUSSD(ctx context.Context, cfg *config.Config) (_ http.Handler, stop func(), err error) {
	quietly := slog.New(slog.DiscardHandler)
	packs, err := menu.NewRegistry(menu.RegistryConfig{Source: cfg.USSD.Menu, Known: app.MenuKnown(), Log: quietly})
	if err != nil {
		return nil, nil, fmt.Errorf("build the line: %w", err)
	}
	gateways, err := wire.Open(cfg.USSD.GatewaysFile)
	if err != nil {
		return nil, nil, fmt.Errorf("build the line: %w", err)
	}
	proxies, err := web.NewProxies(false, nil)
	if err != nil {
		return nil, nil, err
	}
	own := *cfg
	own.USSD.ServiceCodes = nil // a dialog may dial any code
	line, err := app.OpenSandbox(ctx, &own, app.SandboxConfig{Packs: packs, Gateways: gateways, Sender: &sms.Fake{}})
	if err != nil {
		return nil, nil, err
	}
	api := web.NewAPI(web.APIConfig{Name: "USSD", Errors: web.End, Gate: everybody{}, Log: quietly})
	line.Sessions.Routes(api)
	line.Sessions.OperatorRoutes(api)
	mux := http.NewServeMux()
	api.Mount(mux)
	return web.WithRequestIDs(proxies.Middleware(mux)), line.Close, nil
}

// everybody admits all callers, because only this process reaches the line.
type everybody struct{}

// Admit takes the caller for an operator.
func (everybody) Admit(http.Header, *http.Request, web.Scope) (web.Caller, error) {
	return web.Caller{}, nil
}
