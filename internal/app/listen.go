package app

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"golang.org/x/crypto/acme"
	"golang.org/x/crypto/acme/autocert"

	"github.com/hearth-dmrv/hearth/internal/auth"
	"github.com/hearth-dmrv/hearth/internal/config"
	"github.com/hearth-dmrv/hearth/internal/oracle/mcp"
	"github.com/hearth-dmrv/hearth/internal/ussd/menu"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// listener is one open port and the server behind it.
type listener struct {
	name   string
	socket *web.ConnListener
	server *http.Server
	tls    *tls.Config
}

// front is the ports of this process, and what requests pass behind them.
type front struct {
	cfg  *config.Config
	log  *slog.Logger
	tls  *tls.Config
	edge *edge
	open []*listener
}

// bindAll reads the certificates and takes the ports. It returns the handler
// of ACME challenges, nil without ACME.
func (f *front) bindAll(ctx context.Context) (challenge http.Handler, err error) {
	if f.tls, challenge, err = tlsConfig(f.cfg, f.log); err != nil {
		return nil, err
	}
	for _, p := range places(f.cfg) {
		if err := f.bind(ctx, p.name, p.addr); err != nil {
			return nil, err
		}
	}
	if addr := f.cfg.TLS.ACMEHTTPAddr; challenge != nil && addr != "" {
		if err := f.bind(ctx, acmeName, addr); err != nil {
			return nil, err
		}
		f.open[len(f.open)-1].tls = nil // challenges come over plain HTTP
	}
	return challenge, nil
}

// bind takes a port. Nothing is answered there before serve.
func (f *front) bind(ctx context.Context, name, addr string) error {
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", addr)
	if err != nil {
		return fmt.Errorf("listen for %s: %w", name, err)
	}
	lim := f.cfg.Limits
	limited := web.LimitConns(l, web.ConnLimits{Total: lim.MaxConnections, PerAddress: lim.MaxConnectionsPerAddress, Exempt: f.manyAllowed})
	server := web.NewServer(web.ServerConfig{Log: f.log, HeaderTimeout: lim.HeaderTimeout, IdleTimeout: lim.IdleTimeout, MaxHeaderBytes: int(lim.MaxHeaderBytes)})
	// Streams end when the server stops, so they hang on its context.
	server.BaseContext = func(net.Listener) context.Context { return ctx }
	f.open = append(f.open, &listener{name: name, socket: limited, server: server, tls: f.tls})
	return nil
}

// manyAllowed says which addresses are exempt from the limit per address:
// everybody behind a trusted proxy or a gateway has one address, and loopback
// is ourselves.
func (f *front) manyAllowed(addr netip.Addr) bool {
	return addr.IsLoopback() || f.edge.proxies.Trusts(addr) ||
		slices.ContainsFunc(f.cfg.USSD.GatewayNetworks, func(n netip.Prefix) bool { return n.Contains(addr.Unmap()) })
}

// mainPort is the port clients of the oracle use.
func (f *front) mainPort() int {
	port := f.open[0].port()
	for _, l := range f.open {
		if l.name == oracleName || l.name == mergedName {
			port = l.port()
		}
	}
	return port
}

// address is where clients reach this server: the name it was given, or this
// machine.
func (f *front) address() string {
	if f.cfg.Server.PublicURL != "" {
		return f.cfg.Server.PublicURL
	}
	scheme := "http"
	if f.tls != nil {
		scheme = "https"
	}
	return fmt.Sprintf("%s://localhost:%d", scheme, f.mainPort())
}

// shutdown ends one listener, in time or by cutting its connections.
func (f *front) shutdown(ctx context.Context, l *listener) {
	if err := l.server.Shutdown(ctx); err != nil {
		f.log.Warn("connections cut", "listener", l.name, "err", err.Error())
		_ = l.server.Close() // there is nothing left to save
	}
}

// serve answers requests until the server is shut down.
func (l *listener) serve() error {
	var err error
	if l.tls != nil {
		l.server.TLSConfig = l.tls
		err = l.server.ServeTLS(l.socket, "", "")
	} else {
		err = l.server.Serve(l.socket)
	}
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return fmt.Errorf("serve %s: %w", l.name, err)
}

// port is the number the listener got; with port 0 the system chose it.
func (l *listener) port() int {
	if a, ok := l.socket.Addr().(*net.TCPAddr); ok {
		return a.Port
	}
	return 0
}

// tlsConfig makes the TLS side of the configuration, nil without one. With ACME
// it also returns the handler of http-01 challenges, which redirects everyone
// else to https. If gateways have certificates every client is asked for one;
// it is checked only where a gateway calls, so other clients may send any.
func tlsConfig(cfg *config.Config, log *slog.Logger) (*tls.Config, http.Handler, error) {
	c, challenges, err := serverTLS(cfg, log)
	if c == nil || err != nil {
		return c, challenges, err
	}
	if c.ClientCAs, err = gatewayCA(cfg); err != nil {
		return nil, nil, err
	}
	if c.ClientCAs != nil {
		c.ClientAuth = tls.RequestClientCert
	}
	return c, challenges, nil
}

// gatewayCA reads the authority of the gateways' certificates, nil without one.
func gatewayCA(cfg *config.Config) (*x509.CertPool, error) {
	file := cfg.USSD.GatewayCA
	if file == "" {
		return nil, nil
	}
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("USSD_GATEWAY_CA: %w", err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(data) {
		return nil, fmt.Errorf("USSD_GATEWAY_CA: %s holds no certificate in PEM form", file)
	}
	return pool, nil
}

func serverTLS(cfg *config.Config, log *slog.Logger) (*tls.Config, http.Handler, error) {
	switch {
	case cfg.TLS.CertFile != "":
		files := &certFiles{cert: cfg.TLS.CertFile, key: cfg.TLS.KeyFile, log: log}
		if err := files.load(); err != nil {
			return nil, nil, err
		}
		// ServeTLS adds HTTP/2 only to a config that names it.
		return &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: files.get, NextProtos: []string{"h2", "http/1.1"}}, nil, nil
	case len(cfg.TLS.ACMEDomains) > 0:
		m := &autocert.Manager{
			Prompt: autocert.AcceptTOS, Email: cfg.TLS.ACMEEmail,
			HostPolicy: autocert.HostWhitelist(cfg.TLS.ACMEDomains...),
			Cache:      autocert.DirCache(filepath.Join(cfg.Data.Dir, "acme")),
		}
		if cfg.TLS.ACMEDirectory != "" {
			m.Client = &acme.Client{DirectoryURL: cfg.TLS.ACMEDirectory}
		}
		c := m.TLSConfig()
		c.MinVersion = tls.VersionTLS12
		return c, m.HTTPHandler(nil), nil
	}
	return nil, nil, nil
}

// CheckFiles opens the files that cfg names, certificates, gateways, menus and
// pages, and returns for each what prevents the server from using it.
func CheckFiles(cfg *config.Config) error {
	_, _, err := tlsConfig(cfg, slog.New(slog.DiscardHandler))
	if dir := cfg.Server.ConsoleDir; dir != "" {
		if _, wrong := os.Stat(filepath.Join(dir, "index.html")); wrong != nil {
			err = errors.Join(err, fmt.Errorf("HEARTH_CONSOLE_DIR: %w", wrong))
		}
	}
	if cfg.HasArea("d") {
		if _, wrong := mcp.Open(cfg.Oracle.MCPServersFile, cfg.Oracle.MCPProtected, auth.OperatorWorkspace); wrong != nil {
			err = errors.Join(err, fmt.Errorf("MCP_SERVERS_FILE: %w", wrong))
		}
	}
	if !cfg.HasArea("c") {
		return err
	}
	if !cfg.UsesTLS() { // tlsConfig has read it otherwise
		_, wrong := gatewayCA(cfg)
		err = errors.Join(err, wrong)
	}
	_, wrong := openGateways(cfg.USSD)
	if _, pack := menu.Open(cfg.USSD.Menu, MenuKnown()); pack != nil {
		wrong = errors.Join(wrong, fmt.Errorf("USSD_MENU: %w", pack))
	}
	return errors.Join(err, wrong)
}

// certFiles rereads a certificate when its file changes, so that a renewal
// needs no restart. If the renewal cannot be read the old one stays in use.
type certFiles struct {
	cert, key string
	log       *slog.Logger

	mu      sync.Mutex
	current *tls.Certificate
	changed time.Time // of the file in use
	looked  time.Time
}

func (c *certFiles) load() error {
	info, err := os.Stat(c.cert)
	if err != nil {
		return fmt.Errorf("read certificate: %w", err)
	}
	pair, err := tls.LoadX509KeyPair(c.cert, c.key)
	if err != nil {
		return fmt.Errorf("read certificate: %w", err)
	}
	c.current, c.changed = &pair, info.ModTime()
	return nil
}

func (c *certFiles) get(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if time.Since(c.looked) > time.Minute {
		c.looked = time.Now()
		if info, err := os.Stat(c.cert); err == nil && !info.ModTime().Equal(c.changed) {
			if err := c.load(); err != nil {
				c.log.Error("renewed certificate not usable", "err", err.Error())
			}
		}
	}
	return c.current, nil
}
