package config

import (
	"errors"
	"net"
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// list is several values separated by commas; a file may give a sequence.
func list[T any](item kind[T]) kind[[]T] {
	return kind[[]T]{
		name: "list of " + item.name, want: "a comma separated list, each " + item.want, list: true,
		parse: func(s string) ([]T, error) {
			var out []T
			for _, part := range strings.Split(s, ",") {
				if part = strings.TrimSpace(part); part == "" {
					continue
				}
				v, err := item.parse(part)
				if err != nil {
					return nil, errors.New("has an entry that " + err.Error())
				}
				out = append(out, v)
			}
			return out, nil
		},
		format: func(values []T) string {
			parts := make([]string, len(values))
			for i, v := range values {
				parts[i] = item.format(v)
			}
			return strings.Join(parts, ",")
		},
	}
}

// hostPattern is a DNS name or a bare label.
var hostPattern = regexp.MustCompile(`^(?i)[a-z0-9]([a-z0-9-]{0,62}[a-z0-9])?(\.[a-z0-9]([a-z0-9-]{0,62}[a-z0-9])?)*\.?$`)

func validHost(s string) bool {
	if _, err := netip.ParseAddr(s); err == nil {
		return true
	}
	return len(s) <= 253 && hostPattern.MatchString(s)
}

// host is what one listens on: empty, an address or a name.
func host() kind[string] {
	return kind[string]{
		name: "host", want: "an IP address or host name, or nothing for all addresses",
		parse: func(s string) (string, error) {
			s = strings.TrimSuffix(strings.TrimPrefix(s, "["), "]")
			if s != "" && !validHost(s) {
				return "", errForm
			}
			return s, nil
		},
		format: same,
	}
}

// address is empty or host:port with an optional host.
func address() kind[string] {
	return kind[string]{
		name: "address", want: "host:port or :port with a port from 0 to 65535",
		parse: func(s string) (string, error) {
			if s == "" {
				return "", nil
			}
			h, p, err := net.SplitHostPort(s)
			if err != nil {
				return "", errForm
			}
			if n, err := strconv.Atoi(p); err != nil || n < 0 || n > 65535 {
				return "", errors.New("has no valid port")
			}
			if h != "" && !validHost(h) {
				return "", errors.New("has no valid host")
			}
			return s, nil
		},
		format: same,
	}
}

// parsePrefix reads a CIDR or a single address; a single one is a network of
// one. An IPv4 address written as IPv6 is taken as IPv4.
func parsePrefix(s string) (netip.Prefix, bool) {
	if p, err := netip.ParsePrefix(s); err == nil {
		if p.Addr().Is4In6() && p.Bits() >= 96 {
			p = netip.PrefixFrom(p.Addr().Unmap(), p.Bits()-96)
		}
		return p.Masked(), true
	}
	a, err := netip.ParseAddr(s)
	if err != nil || a.Zone() != "" {
		return netip.Prefix{}, false
	}
	a = a.Unmap()
	return netip.PrefixFrom(a, a.BitLen()), true
}

// network is one CIDR or address.
func network() kind[netip.Prefix] {
	return kind[netip.Prefix]{
		name: "networks", want: "an address or a network as in 10.0.0.0/8 or fd00::/8",
		parse: func(s string) (netip.Prefix, error) {
			p, ok := parsePrefix(s)
			if !ok {
				return netip.Prefix{}, errForm
			}
			return p, nil
		},
		format: netip.Prefix.String,
	}
}

// networkOrHost is a CIDR, an address or a host name.
func networkOrHost() kind[string] {
	return kind[string]{
		name: "networks or hosts", want: "an address, a network or a host name",
		parse: func(s string) (string, error) {
			if p, ok := parsePrefix(s); ok {
				return p.String(), nil
			}
			if strings.Contains(s, "/") || !validHost(s) {
				return "", errForm
			}
			return strings.ToLower(strings.TrimSuffix(s, ".")), nil
		},
		format: same,
	}
}

// domain is a DNS name with a dot, as certificates are made for.
func domain() kind[string] {
	return kind[string]{
		name: "domains", want: "a DNS name such as hearth.example.org",
		parse: func(s string) (string, error) {
			if _, err := netip.ParseAddr(s); err == nil || !validHost(s) || !strings.Contains(s, ".") {
				return "", errForm
			}
			return strings.ToLower(strings.TrimSuffix(s, ".")), nil
		},
		format: same,
	}
}

// parseURL reads an absolute address with one of schemes and a host. It does
// not use url.Parse's errors, which repeat the text.
func parseURL(s string, schemes ...string) (*url.URL, error) {
	if err := plain(s); err != nil {
		return nil, err
	}
	u, err := url.Parse(s)
	switch {
	case err != nil:
		return nil, errForm
	case !slices.Contains(schemes, u.Scheme):
		return nil, errors.New("has the wrong scheme")
	case u.Hostname() == "" || !validHost(u.Hostname()):
		return nil, errors.New("has no valid host")
	}
	if p := u.Port(); p != "" {
		if n, err := strconv.Atoi(p); err != nil || n < 1 || n > 65535 {
			return nil, errors.New("has no valid port")
		}
	}
	return u, nil
}

// httpURL is empty or an http(s) address without user data.
func httpURL() kind[string] {
	return kind[string]{
		name: kindURL, want: "an http:// or https:// address without user name, password or fragment",
		parse: func(s string) (string, error) {
			if s == "" {
				return "", nil
			}
			u, err := parseURL(s, "http", "https")
			if err != nil {
				return "", err
			}
			if u.User != nil || u.Fragment != "" {
				return "", errForm
			}
			return strings.TrimSuffix(s, "/"), nil
		},
		format: same,
	}
}

// postgresURL is empty or a PostgreSQL address.
func postgresURL() kind[Secret] {
	return kind[Secret]{
		name: kindURL, want: "postgres://user:password@host:5432/database, or nothing for the embedded store",
		parse: func(s string) (Secret, error) {
			if s == "" {
				return "", nil
			}
			u, err := url.Parse(s)
			switch {
			case plain(s) != nil || err != nil:
				return "", errForm
			case u.Scheme != "postgres" && u.Scheme != "postgresql":
				return "", errors.New("has the wrong scheme")
			case u.Host == "" && u.Query().Get("host") == "":
				return "", errors.New("names no host") // a socket folder stands in ?host=
			}
			return Secret(s), nil
		},
		format: Secret.Reveal,
	}
}

// natsURL is empty or a list of NATS servers in one text, as its client takes it.
func natsURL() kind[Secret] {
	return kind[Secret]{
		name: kindURL, want: "nats:// or tls:// addresses, separated by commas", list: true,
		parse: func(s string) (Secret, error) {
			if s == "" {
				return "", nil
			}
			for _, part := range strings.Split(s, ",") {
				if _, err := parseURL(strings.TrimSpace(part), "nats", "tls", "ws", "wss"); err != nil {
					return "", err
				}
			}
			return Secret(s), nil
		},
		format: Secret.Reveal,
	}
}

// origin is a web origin: scheme, host and port, nothing else. "*" is any.
func origin() kind[string] {
	return kind[string]{
		name: "origins", want: "an origin such as https://app.example.org (no path), or * alone",
		parse: func(s string) (string, error) {
			if s == "*" {
				return s, nil
			}
			u, err := parseURL(s, "http", "https")
			if err != nil {
				return "", err
			}
			if u.User != nil || u.Path != "" || u.RawQuery != "" || u.Fragment != "" || strings.HasSuffix(s, "#") || u.ForceQuery {
				return "", errors.New("is more than an origin")
			}
			return canonicalOrigin(u), nil
		},
		format: same,
	}
}

// canonicalOrigin writes an origin as browsers send it: lower case, without
// the default port.
func canonicalOrigin(u *url.URL) string {
	h := strings.ToLower(u.Host)
	if (u.Scheme == "https" && u.Port() == "443") || (u.Scheme == "http" && u.Port() == "80") {
		h = h[:strings.LastIndexByte(h, ':')]
	}
	return u.Scheme + "://" + h
}
