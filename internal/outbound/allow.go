package outbound

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"strings"
)

// allowList is what an operator allows us to call although it would be refused.
type allowList []allowed

// allowed is one entry: a network or a host name, and a port or 0 for any.
type allowed struct {
	network netip.Prefix
	host    string
	port    int
}

func parseAllow(texts []string) (allowList, error) {
	var list allowList
	for _, text := range texts {
		a, err := parseAllowed(strings.ToLower(strings.TrimSpace(text)))
		if err != nil {
			return nil, fmt.Errorf("allow %q: %w", text, err)
		}
		list = append(list, a)
	}
	return list, nil
}

func parseAllowed(text string) (allowed, error) {
	if p, err := netip.ParsePrefix(text); err == nil {
		return allowed{network: p.Masked()}, nil
	}
	var a allowed
	host := text
	if _, err := netip.ParseAddr(text); err != nil { // "::1" is no host with a port
		if name, port, err := net.SplitHostPort(text); err == nil {
			if a.port, err = strconv.Atoi(port); err != nil || a.port < 1 || a.port > 65535 {
				return allowed{}, fmt.Errorf("%q is not a port", port)
			}
			host = name
		}
	}
	if strings.HasPrefix(host, "[") && strings.HasSuffix(host, "]") {
		host = host[1 : len(host)-1]
	}
	if addr, err := netip.ParseAddr(host); err == nil {
		addr = addr.Unmap().WithZone("")
		a.network = netip.PrefixFrom(addr, addr.BitLen())
		return a, nil
	}
	if !hostName(host) {
		return allowed{}, errors.New("not a network, address or host name")
	}
	a.host = strings.TrimSuffix(host, ".")
	return a, nil
}

// hostOK reports whether the name, with whatever address it has, is listed.
func (l allowList) hostOK(host string, port int) bool {
	for _, a := range l {
		if a.host != "" && a.host == host && (a.port == 0 || a.port == port) {
			return true
		}
	}
	return false
}

// addrOK reports whether the address is listed.
func (l allowList) addrOK(addr netip.Addr, port int) bool {
	addr = addr.Unmap()
	for _, a := range l {
		if a.host == "" && a.network.Contains(addr) && (a.port == 0 || a.port == port) {
			return true
		}
	}
	return false
}

// covers reports whether the list could make port right on some address: a name
// is judged before it is resolved.
func (l allowList) covers(port int) bool {
	for _, a := range l {
		if a.host == "" && (a.port == 0 || a.port == port) {
			return true
		}
	}
	return false
}
