package outbound

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// maxAddrs is how many addresses of one name are tried.
const maxAddrs = 4

// dial resolves a name, drops the addresses that may not be called and dials
// the rest by address. Nothing is resolved twice, so the answer cannot change
// in between.
func (c *Client) dial(ctx context.Context, network, address string) (net.Conn, error) {
	host, portText, err := net.SplitHostPort(address)
	if err != nil {
		return nil, fmt.Errorf("dial: %w", err)
	}
	port, err := strconv.Atoi(portText)
	if err != nil {
		return nil, fmt.Errorf("dial: port: %w", err)
	}
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	addrs, err := c.resolve(ctx, host)
	if err != nil {
		return nil, dialError(host, err)
	}
	d := c.dialer(c.allow.hostOK(host, port))
	for i, addr := range addrs {
		if i == maxAddrs {
			break
		}
		var conn net.Conn
		if conn, err = d.DialContext(ctx, network, netip.AddrPortFrom(addr, uint16(port)).String()); err == nil {
			return conn, nil
		}
		if ctx.Err() != nil {
			break
		}
	}
	return nil, dialError(host, err)
}

func (c *Client) resolve(ctx context.Context, host string) ([]netip.Addr, error) {
	if addr, err := netip.ParseAddr(host); err == nil {
		return []netip.Addr{addr}, nil
	}
	addrs, err := c.cfg.Lookup(ctx, host)
	if err != nil {
		return nil, err
	}
	if len(addrs) == 0 {
		return nil, &net.DNSError{Err: "no addresses", Name: host, IsNotFound: true}
	}
	return addrs, nil
}

// dialer checks each address in the last moment before the connection, when
// it is a number in the socket's own form. A host the operator listed by name
// may be anywhere.
func (c *Client) dialer(listed bool) *net.Dialer {
	d := &net.Dialer{Timeout: c.cfg.DialTimeout, KeepAlive: 30 * time.Second}
	if listed {
		return d
	}
	d.Control = func(_, address string, _ syscall.RawConn) error {
		ap, err := netip.ParseAddrPort(address)
		if err != nil {
			return refuse("This host may not be called.", err)
		}
		return c.checkAddr(ap.Addr(), int(ap.Port()))
	}
	return d
}
