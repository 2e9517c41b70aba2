package cli

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"runtime"
	"strings"
	"time"

	"github.com/hearth-dmrv/hearth/internal/app"
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

// health asks the server of this configuration whether it is ready, on a
// listener that it opens. It is the probe of a container that has no other
// program in it.
func health(ctx context.Context, c *call) error {
	host, port, err := net.SplitHostPort(c.cfg.ProbeAddr())
	if err != nil {
		return err
	}
	if port == "0" {
		return errUsage{"the system chooses the port of the server: give the one it has, as in --port 3000"}
	}
	if host == "" || net.ParseIP(host).IsUnspecified() {
		host = "127.0.0.1"
	}
	scheme := "http"
	if c.cfg.UsesTLS() {
		scheme = "https"
	}
	url := scheme + "://" + net.JoinHostPort(host, port) + "/readyz"
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	// The certificate names the public host, not this address, and only our
	// own readiness is asked for.
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}} //nolint:gosec // see above
	answer, err := client.Do(req)
	if err != nil {
		return unreachable(strings.TrimSuffix(url, "/readyz"), err)
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("%s answered %s", url, answer.Status)
	}
	_, err = fmt.Fprintln(c.out, "ready")
	return err
}
