package web

import (
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// maxForwarded is how many X-Forwarded-For entries are looked at, from the
// right. No honest chain is longer, and a hostile one must cost nothing.
const maxForwarded = 32

// Proxies knows which peers may forward requests of other clients. The zero
// value trusts nobody: the client is the peer.
type Proxies struct {
	enabled bool
	list    []netip.Prefix
}

// NewProxies makes the rule from TRUST_PROXY_ENABLED and
// HEARTH_TRUSTED_PROXIES. Enabled alone trusts loopback and private peers; a
// list, of networks or single addresses, trusts exactly its members.
func NewProxies(enabled bool, list []string) (Proxies, error) {
	networks, err := ParseNetworks(list)
	if err != nil {
		return Proxies{}, err
	}
	return Proxies{enabled: enabled, list: networks}, nil
}

// ParseNetworks reads networks ("10.0.0.0/8") and single addresses. Bits below
// the mask are refused: "10.1.2.3/8" is more likely a mistake than intended.
func ParseNetworks(texts []string) ([]netip.Prefix, error) {
	var out []netip.Prefix
	for _, text := range texts {
		text = strings.TrimSpace(text)
		if a, err := netip.ParseAddr(text); err == nil && a.Zone() == "" {
			a = a.Unmap()
			out = append(out, netip.PrefixFrom(a, a.BitLen()))
			continue
		}
		p, err := netip.ParsePrefix(text)
		if err != nil {
			return nil, fmt.Errorf("%q is neither a network nor an address", text)
		}
		if p != p.Masked() {
			return nil, fmt.Errorf("%q has bits set below its mask; write %s", text, p.Masked())
		}
		if p.Addr().Is4In6() {
			return nil, fmt.Errorf("%q: write IPv4 networks in their own form", text)
		}
		out = append(out, p)
	}
	return out, nil
}

// Trusts reports whether a peer at addr may name the client of its requests.
func (p Proxies) Trusts(addr netip.Addr) bool {
	if !p.enabled || !addr.IsValid() {
		return false
	}
	addr = addr.Unmap().WithZone("")
	if len(p.list) == 0 {
		return addr.IsLoopback() || addr.IsPrivate()
	}
	return slices.ContainsFunc(p.list, func(n netip.Prefix) bool { return n.Contains(addr) })
}

// Client is the address r came from: the peer or, when the peer is a trusted
// proxy, the rightmost untrusted address of X-Forwarded-For. Anything to the
// left of that was written by strangers and is never read. The address is
// invalid for peers without one.
func (p Proxies) Client(r *http.Request) netip.Addr {
	peer := peerAddr(r)
	if !p.Trusts(peer) {
		return peer
	}
	client, seen := peer, 0
	for addr := range forwarded(r.Header["X-Forwarded-For"]) {
		if !addr.IsValid() {
			// Whoever wrote this is not a proxy we understand; the last hop we
			// could verify answers for it.
			break
		}
		if !p.Trusts(addr) {
			return addr
		}
		// Only trusted addresses so far. If they are from a list they are
		// proxies, so go on to the farthest. Otherwise they are merely private,
		// and any private client can add more: only the nearest proxy counts.
		if len(p.list) > 0 || seen == 0 {
			client = addr
		}
		seen++
	}
	return client
}

// Middleware puts the client's address into the context of every request.
func (p Proxies) Middleware(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		addr := p.Client(r)
		next.ServeHTTP(w, fill(r, func(q *request) { q.addr = addr }))
	})
}

// forwarded yields the addresses of X-Forwarded-For from right to left; one
// that cannot be read is invalid. Several headers count as one list.
func forwarded(headers []string) func(func(netip.Addr) bool) {
	return func(yield func(netip.Addr) bool) {
		n := 0
		for i := len(headers) - 1; i >= 0; i-- {
			rest, more := headers[i], true
			for more {
				var entry string
				if at := strings.LastIndexByte(rest, ','); at >= 0 {
					rest, entry = rest[:at], rest[at+1:]
				} else {
					entry, more = rest, false
				}
				if n++; n > maxForwarded || !yield(hostAddr(strings.Trim(entry, " \t"))) {
					return
				}
			}
		}
	}
}

// hostAddr reads an address as proxies write them: bare, with a port, in
// brackets, with a zone, mapped. The result has no zone and is unmapped; it is
// invalid for anything no client can have.
func hostAddr(s string) netip.Addr {
	if len(s) > 64 { // the longest honest form has under 60 characters
		return netip.Addr{}
	}
	a, err := netip.ParseAddr(strings.TrimSuffix(strings.TrimPrefix(s, "["), "]"))
	if err != nil {
		ap, err := netip.ParseAddrPort(s)
		if err != nil {
			return netip.Addr{}
		}
		a = ap.Addr()
	}
	a = a.WithZone("").Unmap()
	if a.IsUnspecified() || a.IsMulticast() {
		return netip.Addr{}
	}
	return a
}

// peerAddr is where the connection comes from. net/http writes it with a port.
func peerAddr(r *http.Request) netip.Addr {
	ap, err := netip.ParseAddrPort(r.RemoteAddr)
	if a := ap.Addr(); err == nil && a.Is4() && !a.IsUnspecified() && !a.IsMulticast() {
		return a // as hostAddr would, without a try that fails
	}
	return hostAddr(r.RemoteAddr)
}

// IsDirectLoopback reports whether r comes directly from this machine: a
// loopback peer, no trace of a proxy, and no browser page of another site. The
// last condition matters: without it any web page an operator opens could reach
// operator routes, by a cross-site call or by a DNS name that points to
// 127.0.0.1.
func IsDirectLoopback(r *http.Request) bool {
	return peerAddr(r).IsLoopback() && !proxied(r.Header) && localHost(r.Host) && SameOrigin(r)
}

func proxied(h http.Header) bool {
	for name := range h {
		name = strings.ToLower(name)
		switch name {
		case "forwarded", "via", "x-real-ip", "x-client-ip", "true-client-ip", "cf-connecting-ip":
			return true
		}
		if strings.HasPrefix(name, "x-forwarded") {
			return true
		}
	}
	return false
}

// localHost reports whether the Host header is one that no stranger's DNS can
// point at us: an address, or localhost.
func localHost(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	return host == "" || host == "localhost" || strings.HasSuffix(host, ".localhost") || hostAddr(host).IsValid()
}

// SameOrigin reports whether r was not caused by a page of another site: it
// comes from a page of ours, from what a person typed, or from a program that
// is not a browser.
func SameOrigin(r *http.Request) bool {
	switch r.Header.Get("Sec-Fetch-Site") {
	case "", "same-origin", "none":
	default:
		return false
	}
	origin := r.Header.Get("Origin")
	if origin == "" {
		return true
	}
	return ownOrigin(origin, r.Host)
}
