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

	"github.com/hearth-dmrv/hearth/internal/ops"
	"github.com/hearth-dmrv/hearth/internal/outbound"
	"github.com/hearth-dmrv/hearth/internal/web"
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

// network is one CIDR or address, by the rules of the HTTP edge.
func network() kind[netip.Prefix] {
	return kind[netip.Prefix]{
		name: "networks", want: "an address or a network as in 10.0.0.0/8 or fd00::/8, no bits set below the mask",
		parse: func(s string) (netip.Prefix, error) {
			networks, err := web.ParseNetworks([]string{s})
			if err != nil || len(networks) != 1 {
				return netip.Prefix{}, errForm
			}
			return networks[0], nil
		},
		format: netip.Prefix.String,
	}
}

// networkText is a network that is kept as text.
func networkText() kind[string] {
	n := network()
	return kind[string]{
		name: n.name, want: n.want, format: same,
		parse: func(s string) (string, error) {
			p, err := n.parse(s)
			return p.String(), err
		},
	}
}

// outboundEntry is one opening of the outbound guard, by the guard's own rules.
func outboundEntry() kind[string] {
	return kind[string]{
		name: "networks or hosts", want: "an address, a network or a host name; an address or a name may have a port, as in 10.0.0.5:9000",
		parse: func(s string) (string, error) {
			if _, err := outbound.New(outbound.Config{Allow: []string{s}}); err != nil {
				return "", errForm
			}
			return s, nil
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

// plainURL reads an http(s) address without user data.
func plainURL(s string) (*url.URL, error) {
	u, err := parseURL(s, "http", "https")
	if err == nil && (u.User != nil || u.Fragment != "") {
		err = errForm
	}
	return u, err
}

// httpURL is empty or an http(s) address without user data.
func httpURL() kind[string] {
	return kind[string]{
		name: kindURL, want: "an http:// or https:// address without user name, password or fragment",
		parse: func(s string) (string, error) {
			if s == "" {
				return "", nil
			}
			_, err := plainURL(s)
			return strings.TrimSuffix(s, "/"), err
		},
		format: same,
	}
}

// homeserver is the address of a Matrix homeserver, which has no path.
func homeserver() kind[string] {
	return kind[string]{
		name: "homeservers", want: "the http:// or https:// address of a homeserver, without a path",
		parse: func(s string) (string, error) {
			s = strings.TrimSuffix(s, "/")
			u, err := plainURL(s)
			if err == nil && (u.Path != "" || u.RawQuery != "" || u.ForceQuery) {
				err = errForm
			}
			return s, err
		},
		format: same,
	}
}

// tiles is empty or the address of a picture of a map, with places for its zoom,
// column and row after the host: the host is what a page may ask, so it is fixed.
func tiles() kind[string] {
	return kind[string]{
		name: kindURL, want: "an http:// or https:// address with {z}, {x} and {y} in its path, such as https://tiles.example.org/{z}/{x}/{y}.png",
		parse: func(s string) (string, error) {
			if s == "" {
				return "", nil
			}
			u, err := plainURL(s)
			if err != nil {
				return "", err
			}
			for _, part := range []string{"{z}", "{x}", "{y}"} {
				if !strings.Contains(u.Path, part) {
					return "", errors.New("has no " + part + " in its path")
				}
			}
			return s, nil
		},
		format: same,
	}
}

// hookURL is an httpURL whose path may contain a secret.
func hookURL() kind[Secret] {
	address := httpURL()
	return kind[Secret]{
		name: kindURL, want: address.want, format: Secret.Reveal,
		parse: func(s string) (Secret, error) {
			s, err := address.parse(s)
			return Secret(s), err
		},
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

// natsURLs are addresses of NATS servers in one text, since they can hold a
// password.
func natsURLs() kind[Secret] {
	return kind[Secret]{
		name: kindURL, want: "addresses such as tls://host:4222 or nats://host:4222, separated by commas", list: true,
		parse: func(s string) (Secret, error) {
			if s == "" {
				return "", nil
			}
			for one := range strings.SplitSeq(s, ",") {
				u, err := url.Parse(strings.TrimSpace(one))
				switch {
				case plain(s) != nil || err != nil:
					return "", errForm
				case u.Scheme != "nats" && u.Scheme != "tls":
					return "", errors.New("has the wrong scheme")
				case u.Hostname() == "" || u.Path != "":
					return "", errForm
				}
			}
			return Secret(s), nil
		},
		format: Secret.Reveal,
	}
}

// origins are web origins in one text, by the rules of the HTTP edge.
func origins() kind[string] {
	return kind[string]{
		name: "list of origins", want: "origins such as https://app.example.org (no path) separated by commas, or * alone", list: true,
		parse: func(s string) (string, error) {
			if _, err := web.NewCORS(s); err != nil {
				return "", errForm // the edge's error repeats the text
			}
			return strings.TrimSpace(s), plain(s)
		},
		format: same,
	}
}

// headerPairs is empty or name=value pairs, as OTEL_EXPORTER_OTLP_HEADERS has
// them.
func headerPairs() kind[Secret] {
	return kind[Secret]{
		name: "secret", want: "name=value pairs separated by commas", list: true,
		parse: func(s string) (Secret, error) {
			headers, err := ops.ParseHeaders(s)
			if err != nil {
				return "", errors.New("has an entry that is not name=value")
			}
			for name := range headers {
				if strings.ContainsAny(name, " :\t") {
					return "", errors.New("has a name no header can have")
				}
			}
			return Secret(s), plain(s)
		},
		format: Secret.Reveal,
	}
}
