// Package outbound is the only way out: the HTTP client for all URLs that
// somebody else chose. It checks the address a name resolves to at the moment
// it dials, so that neither DNS nor a redirect nor an odd spelling leads it to
// the machines around us. It bounds time, size and redirects, ignores the proxy
// settings of the environment and keeps no cookies. Addresses that an operator
// lists in Allow are reachable all the same.
package outbound

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"time"

	"github.com/hearth-dmrv/hearth/internal/fault"
)

// ErrTooLarge is the error of reading a response past MaxBytes.
var ErrTooLarge = errors.New("outbound: the response is too large")

// Lookup resolves a host name to its addresses.
type Lookup func(ctx context.Context, host string) ([]netip.Addr, error)

// Config configures a Client. Zero values are the defaults.
type Config struct {
	// Allow lists what may be called although it is refused by default:
	// networks, addresses, host names, each with or without a port. Without a
	// port any port is allowed there.
	Allow         []string
	Ports         []int         // allowed everywhere else; 80, 443, 8080, 8443
	Timeout       time.Duration // of the whole exchange with its body; 30 s; negative: only the context ends it
	DialTimeout   time.Duration // of one connection attempt; 5 s
	HeaderTimeout time.Duration // from the request sent to the answer's headers; 15 s
	MaxBytes      int64         // of a response, unpacked; 1 MiB
	MaxRedirects  int           // 3; negative: none
	MaxPerHost    int           // connections at once; 16
	UserAgent     string        // "Hearth"
	Lookup        Lookup        // the system's resolver
	TLS           *tls.Config   // roots and client certificates; TLS 1.2 at least in any case
}

// Client calls other servers. It is safe for concurrent use.
type Client struct {
	cfg   Config
	allow allowList
	http  *http.Client
}

// New makes a client. It fails for an invalid entry of Allow.
func New(c Config) (*Client, error) {
	allow, err := parseAllow(c.Allow)
	if err != nil {
		return nil, err
	}
	if len(c.Ports) == 0 {
		c.Ports = []int{80, 443, 8080, 8443}
	}
	c.Timeout = orDefault(c.Timeout, 30*time.Second)
	c.DialTimeout = orDefault(c.DialTimeout, 5*time.Second)
	c.HeaderTimeout = orDefault(c.HeaderTimeout, 15*time.Second)
	c.MaxBytes = orDefault(c.MaxBytes, 1<<20)
	c.MaxRedirects = orDefault(c.MaxRedirects, 3)
	c.MaxPerHost = orDefault(c.MaxPerHost, 16)
	c.UserAgent = orDefault(c.UserAgent, "Hearth")
	if c.Lookup == nil {
		c.Lookup = func(ctx context.Context, host string) ([]netip.Addr, error) {
			return net.DefaultResolver.LookupNetIP(ctx, "ip", host)
		}
	}
	cl := &Client{cfg: c, allow: allow}
	cl.http = &http.Client{Transport: &guard{client: cl, next: cl.transport()}, CheckRedirect: cl.checkRedirect}
	if c.Timeout > 0 {
		cl.http.Timeout = c.Timeout
	}
	return cl, nil
}

func orDefault[T comparable](v, d T) T {
	var zero T
	if v == zero {
		return d
	}
	return v
}

func (c *Client) transport() *http.Transport {
	conf := &tls.Config{}
	if c.cfg.TLS != nil {
		conf = c.cfg.TLS.Clone()
	}
	conf.MinVersion = max(conf.MinVersion, tls.VersionTLS12)
	return &http.Transport{
		Proxy:                  nil, // the environment's would dial for us, unchecked
		DialContext:            c.dial,
		TLSClientConfig:        conf,
		ForceAttemptHTTP2:      true,
		TLSHandshakeTimeout:    10 * time.Second,
		ResponseHeaderTimeout:  c.cfg.HeaderTimeout,
		ExpectContinueTimeout:  time.Second,
		IdleConnTimeout:        60 * time.Second,
		MaxIdleConns:           64,
		MaxIdleConnsPerHost:    4,
		MaxConnsPerHost:        c.cfg.MaxPerHost,
		MaxResponseHeaderBytes: 64 << 10,
	}
}

// Do sends req. The fault for a URL or address that may not be called is
// OUTBOUND_REFUSED, the error for a body beyond the limit ErrTooLarge. The
// caller closes the body of the answer.
func (c *Client) Do(req *http.Request) (*http.Response, error) { return c.http.Do(req) }

// HTTP is the same client for libraries that need one, with all guards.
func (c *Client) HTTP() *http.Client { return c.http }

// Close drops idle connections.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// refuse is the fault for everything that may not be called. The reason goes
// into the message; resolved addresses go only into the log, because they
// reveal our network.
func refuse(reason string, cause error) *fault.Error {
	return fault.New(fault.Invalid, "OUTBOUND_REFUSED", reason).Wrap(cause)
}

// HostTrouble reports whether err is about the target of a host: nowhere, or an
// address that may not be called. Code that shows errors to others must not
// distinguish the two, because that would reveal the names in our network.
func HostTrouble(err error) bool {
	var (
		unknown *net.DNSError
		refused errAddr
	)
	return errors.As(err, &unknown) || errors.As(err, &refused)
}

// portAllowed reports whether a port may be called on hosts that are not
// listed.
func (c *Client) portAllowed(port int) bool { return slices.Contains(c.cfg.Ports, port) }

// dialError says what could not be reached without saying where it is.
func dialError(host string, err error) error { return fmt.Errorf("dial %s: %w", host, err) }
