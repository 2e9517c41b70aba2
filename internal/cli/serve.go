package cli

import (
	"context"
	"crypto/tls"
	"flag"
	"fmt"
	"net"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/hearth-dmrv/hearth/internal/app"
	"github.com/hearth-dmrv/hearth/internal/config"
)

func serve(ctx context.Context, c *call) error {
	if len(c.args) > 0 {
		return errUsage{"serve takes no arguments"}
	}
	return app.Serve(ctx, c.cfg, app.Options{Version: c.version, Out: c.out, Err: c.err, Environ: c.environ, Plugins: c.plugins})
}

func printVersion(_ context.Context, c *call) error {
	_, err := fmt.Fprintf(c.out, "hearth %s %s %s/%s\n", c.version, runtime.Version(), runtime.GOOS, runtime.GOARCH)
	return err
}

func healthFlags(fs *flag.FlagSet) any {
	return fs.String("url", "", "`address` of the server; the one of this data folder by default")
}

// health asks a server whether it is ready: the one of --url, else the one of this
// configuration. It is the probe of a container that has no other program in it.
func health(ctx context.Context, c *call) error {
	base, client := strings.TrimSuffix(*c.own.(*string), "/"), http.DefaultClient
	if base == "" {
		var err error
		if base, err = probed(c.cfg); err != nil {
			return err
		}
		// The certificate names the public host, not this address, and only our
		// own readiness is asked for.
		client = &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}} //nolint:gosec // see above
	}
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, base+"/readyz", nil)
	if err != nil {
		return errUsage{"--url must be an address such as http://localhost:3000"}
	}
	answer, err := client.Do(req)
	if err != nil {
		return unreachable(base, err)
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("%s/readyz answered %s", base, answer.Status)
	}
	_, err = fmt.Fprintln(c.out, "ready")
	return err
}

// probed is the address of a listener of a configuration's server: from the flags,
// else what the server has written into its data folder, else from the other
// settings. A leftover file of a killed server is no worse than those, because no
// secret is sent there.
func probed(cfg *config.Config) (string, error) {
	places := []string{"HOST", "PORT", "HEARTH_API_ADDR", "HEARTH_USSD_ADDR", "HEARTH_ORACLE_ADDR", "HEARTH_ADMIN_ADDR"}
	said := func(env string) bool { return strings.HasPrefix(cfg.Source(env), "flag ") }
	if at := app.Announced(cfg); at != "" && !slices.ContainsFunc(places, said) {
		return at, nil
	}
	host, port, err := net.SplitHostPort(cfg.ProbeAddr())
	if err != nil {
		return "", err
	}
	if port == "0" {
		return "", errUsage{"no server has written its address into the data folder " + cfg.Data.Dir + ", and the system chooses its port: give the one it has, as in --port 3000"}
	}
	if host == "" || net.ParseIP(host).IsUnspecified() {
		host = "127.0.0.1"
	}
	scheme := "http"
	if cfg.UsesTLS() {
		scheme = "https"
	}
	return scheme + "://" + net.JoinHostPort(host, port), nil
}
