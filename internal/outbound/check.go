package outbound

import (
	"net/netip"
	"net/url"
	"strconv"
	"strings"
)

// maxURL is the longest URL we call, in bytes.
const maxURL = 4096

// CheckURL reports whether raw may be called, as far as its text shows it: http
// or https, a host, no user, an allowed port, no address inside our network in
// any spelling. It resolves nothing, so a form can use it; the addresses of a
// name are checked when it is dialled. The fault is OUTBOUND_REFUSED.
func (c *Client) CheckURL(raw string) (*url.URL, error) {
	if len(raw) > maxURL {
		return nil, refuse("The URL is too long.", nil)
	}
	u, err := url.Parse(raw)
	if err != nil {
		return nil, refuse("The URL is not well-formed.", err)
	}
	if err := c.check(u); err != nil {
		return nil, err
	}
	return u, nil
}

func (c *Client) check(u *url.URL) error {
	if u.Scheme != "http" && u.Scheme != "https" {
		return refuse("The URL must begin with http:// or https://.", nil)
	}
	if u.Opaque != "" || u.Host == "" || u.Hostname() == "" {
		return refuse("The URL has no host.", nil)
	}
	if u.User != nil {
		return refuse("The URL must not hold a user name or password.", nil)
	}
	port, ok := portOf(u)
	if !ok {
		return refuse("The URL has a port that does not exist.", nil)
	}
	return c.checkHost(strings.ToLower(strings.TrimSuffix(u.Hostname(), ".")), port)
}

// checkHost judges a host by its text alone.
func (c *Client) checkHost(host string, port int) error {
	if addr, err := netip.ParseAddr(host); err == nil {
		return c.checkAddr(addr, port)
	}
	if c.allow.hostOK(host, port) {
		return nil
	}
	switch {
	case !hostName(host):
		return refuse("The host is not a valid name.", nil)
	case endsInNumber(host):
		// 2130706433, 0x7f.1, 0177.0.0.1: some resolvers read these as
		// addresses.
		return refuse("The host is an address in a form that is not accepted.", nil)
	case host == "localhost" || strings.HasSuffix(host, ".localhost"):
		return refuse("This host may not be called.", nil)
	case !c.portAllowed(port) && !c.allow.covers(port):
		return refuse("This port may not be called.", nil)
	}
	return nil
}

// checkAddr judges an address that is about to be dialled.
func (c *Client) checkAddr(addr netip.Addr, port int) error {
	if c.allow.addrOK(addr, port) && addr.Zone() == "" {
		return nil
	}
	if !Public(addr) {
		return refuse("This host may not be called.", errAddr(addr))
	}
	if !c.portAllowed(port) {
		return refuse("This port may not be called.", errAddr(addr))
	}
	return nil
}

// errAddr names a refused address for the log.
type errAddr netip.Addr

// Error says which address was refused.
func (e errAddr) Error() string { return "refused address " + netip.Addr(e).String() }

func portOf(u *url.URL) (int, bool) {
	text := u.Port()
	if text == "" {
		if strings.HasSuffix(u.Host, ":") {
			return 0, false
		}
		if u.Scheme == "https" {
			return 443, true
		}
		return 80, true
	}
	n, err := strconv.Atoi(text)
	return n, err == nil && n > 0 && n <= 65535
}

// hostName reports whether s is made of labels of ASCII letters, digits, hyphens
// and underscores. Names in other scripts come in their xn-- form: wide
// digits and dots would otherwise turn into an address on the way.
func hostName(s string) bool {
	s = strings.TrimSuffix(s, ".")
	if s == "" || len(s) > 253 {
		return false
	}
	for label := range strings.SplitSeq(s, ".") {
		if label == "" || len(label) > 63 {
			return false
		}
		for _, c := range []byte(label) {
			switch {
			case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '-', c == '_':
			default:
				return false
			}
		}
	}
	return true
}

// endsInNumber reports whether some program would read a name as an IPv4
// address (the rule of the WHATWG URL standard).
func endsInNumber(host string) bool {
	last := host[strings.LastIndexByte(host, '.')+1:]
	if hex, ok := strings.CutPrefix(last, "0x"); ok {
		return strings.Trim(hex, "0123456789abcdef") == ""
	}
	return strings.Trim(last, "0123456789") == ""
}
