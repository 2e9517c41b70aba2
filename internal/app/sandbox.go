package app

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/hearth-dmrv/hearth/internal/auth"
	"github.com/hearth-dmrv/hearth/internal/config"
	"github.com/hearth-dmrv/hearth/internal/job"
	"github.com/hearth-dmrv/hearth/internal/ussd"
	"github.com/hearth-dmrv/hearth/internal/ussd/account"
	"github.com/hearth-dmrv/hearth/internal/ussd/fetch"
	"github.com/hearth-dmrv/hearth/internal/ussd/sms"
	"github.com/hearth-dmrv/hearth/internal/ussd/wire"
)

// Sandbox is a USSD line with its own store and key, in a folder that is removed
// with it, for trying menus. Messages go to the code that opened it, twins count
// as made, and no other system is called.
type Sandbox struct {
	Sessions *ussd.Service
	cancel   context.CancelFunc
	work     sync.WaitGroup
	core     *Core
	dir      string
}

// SandboxConfig is what a Sandbox shares with others.
type SandboxConfig struct {
	Packs    ussd.Packs
	Gateways *wire.Set
	Sender   sms.Sender
	Oracle   fetch.Oracle // nil: questions are not answered
	// Surveys are the surveys for the customers of the line; nil: none.
	Surveys func(*account.Service) fetch.Surveys
	Dir     string // folder to make its own in; that of the system for temporary files by default
}

// sandboxName begins the names of the folders of sandboxes.
const sandboxName = "hearth-ussd-"

// OpenSandbox starts a line with the settings of cfg. It lives until Close.
func OpenSandbox(ctx context.Context, cfg *config.Config, c SandboxConfig) (_ *Sandbox, err error) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	b := &Sandbox{cancel: cancel}
	defer func() {
		if err != nil {
			b.Close()
		}
	}()
	if b.dir, err = os.MkdirTemp(c.Dir, sandboxName); err != nil {
		return nil, err
	}
	own := *cfg
	own.Data.Dir, own.Data.DatabaseURL, own.Auth.ServerKey = b.dir, "", ""
	own.Data.SQLiteSynchronous = "normal" // it does not outlive the process
	quietly := slog.New(slog.DiscardHandler)
	if b.core, err = OpenCore(ctx, &own, quietly); err != nil {
		return nil, err
	}
	core := b.core
	out := sms.New(sms.Config{DB: core.DB, Jobs: core.Jobs, Key: core.Key, Sender: c.Sender})
	accounts, err := account.New(account.Config{
		DB: core.DB, Events: core.Events, Jobs: core.Jobs, Key: core.Key, SMS: out,
		MakeTwins: func(_ context.Context, c account.Customer) (string, error) { return c.Household, nil },
	})
	if err != nil {
		return nil, fmt.Errorf("build the line: %w", err)
	}
	u := cfg.USSD
	asking := fetch.Config{DB: core.DB, Jobs: core.Jobs, SMS: out, PerHour: u.AsksPerHour, Customer: accounts.DIDOf, Oracle: c.Oracle}
	if c.Surveys != nil {
		asking.Surveys = c.Surveys(accounts)
	}
	b.Sessions = ussd.New(ussd.Config{
		DB: core.DB, Key: core.Key, Packs: c.Packs, Actions: MenuActions(accounts, asking), Gateways: c.Gateways,
		TTL: u.SessionTTL, TextMode: wire.Mode(u.TextMode), ServiceCodes: u.ServiceCodes,
	})
	handlers := accounts.Handlers()
	maps.Copy(handlers, out.Handlers())
	maps.Copy(handlers, fetch.Answers(asking))
	runner, err := core.Jobs.NewRunner(job.RunnerConfig{Handlers: handlers, Alone: true, Grace: time.Second})
	if err != nil {
		return nil, err
	}
	b.work.Go(func() { runner.Run(ctx) })
	b.work.Go(func() { _ = b.Sessions.Run(ctx) }) // it ends with ctx alone
	return b, nil
}

// Busy reports whether messages may still be in progress.
func (b *Sandbox) Busy(ctx context.Context) (bool, error) {
	twins, err := b.core.Jobs.Pending(ctx, auth.OperatorWorkspace, account.KindTwins)
	if err != nil || twins {
		return twins, err
	}
	asked, err := b.core.Jobs.Pending(ctx, "", fetch.KindAnswer)
	if err != nil || asked {
		return asked, err
	}
	return b.core.Jobs.Pending(ctx, "", sms.Kind)
}

// Close shuts the line down, and removes its data.
func (b *Sandbox) Close() {
	b.cancel()
	b.work.Wait()
	if b.Sessions != nil {
		b.Sessions.Wait()
	}
	if b.core != nil {
		_ = b.core.Close() // the store goes anyway
	}
	if b.dir != "" {
		_ = os.RemoveAll(b.dir)
	}
}

// buildSimulator makes the handset simulator over the menu of the line.
func (l *line) buildSimulator(cfg *config.Config, asked fetch.Oracle, surveys func(*account.Service) fetch.Surveys) error {
	if !cfg.Postgres() { // with it other instances may have the folder too
		left, err := filepath.Glob(filepath.Join(cfg.Data.Dir, sandboxName+"*"))
		if err != nil {
			return err
		}
		for _, dir := range left { // of a server that was killed
			if err := os.RemoveAll(dir); err != nil {
				return err
			}
		}
	}
	l.simulator = ussd.NewSimulator(ussd.SimulatorConfig{
		Codes: cfg.USSD.ServiceCodes, Packs: l.packs, Log: l.log,
		Open: func(ctx context.Context) (*ussd.SimulatedLine, error) {
			inbox := &ussd.Inbox{}
			b, err := OpenSandbox(ctx, cfg, SandboxConfig{Packs: l.packs, Gateways: l.gateways, Sender: inbox, Oracle: asked, Surveys: surveys, Dir: cfg.Data.Dir})
			if err != nil {
				return nil, err
			}
			return &ussd.SimulatedLine{Sessions: b.Sessions, Inbox: inbox, Busy: b.Busy, Close: b.Close}, nil
		},
	})
	return nil
}
