package outbound

import "net/netip"

// special4 are the IPv4 networks no public server has: the special-purpose
// registry of IANA, multicast, reserved space, and the one cloud metadata
// service that lives on a public address.
var special4 = []netip.Prefix{
	netip.MustParsePrefix("0.0.0.0/8"),        // this network
	netip.MustParsePrefix("10.0.0.0/8"),       // private
	netip.MustParsePrefix("100.64.0.0/10"),    // carrier-grade NAT; a cloud's metadata at 100.100.100.200
	netip.MustParsePrefix("127.0.0.0/8"),      // loopback
	netip.MustParsePrefix("168.63.129.16/32"), // a cloud's wire server
	netip.MustParsePrefix("169.254.0.0/16"),   // link-local; metadata of most clouds
	netip.MustParsePrefix("172.16.0.0/12"),    // private
	netip.MustParsePrefix("192.0.0.0/24"),     // protocol assignments
	netip.MustParsePrefix("192.0.2.0/24"),     // documentation
	netip.MustParsePrefix("192.88.99.0/24"),   // 6to4 relays
	netip.MustParsePrefix("192.168.0.0/16"),   // private
	netip.MustParsePrefix("198.18.0.0/15"),    // benchmarks
	netip.MustParsePrefix("198.51.100.0/24"),  // documentation
	netip.MustParsePrefix("203.0.113.0/24"),   // documentation
	netip.MustParsePrefix("224.0.0.0/4"),      // multicast
	netip.MustParsePrefix("240.0.0.0/4"),      // reserved, broadcast
}

// special6 are the networks inside 2000::/3 that are not public servers.
// Everything outside 2000::/3 is refused as a whole.
var special6 = []netip.Prefix{
	netip.MustParsePrefix("2001::/23"),     // protocol assignments, Teredo
	netip.MustParsePrefix("2001:db8::/32"), // documentation
	netip.MustParsePrefix("3fff::/20"),     // documentation
}

// Networks with a meaning of their own.
var (
	global6   = netip.MustParsePrefix("2000::/3")
	nat64     = netip.MustParsePrefix("64:ff9b::/96")
	sixToFour = netip.MustParsePrefix("2002::/16")
)

// Public reports whether addr may belong to a server on the internet. IPv6 forms
// that contain an IPv4 address (mapped, NAT64, 6to4) are as public as that
// address.
func Public(addr netip.Addr) bool {
	if !addr.IsValid() || addr.Zone() != "" {
		return false
	}
	addr = addr.Unmap()
	if addr.Is4() {
		return !anyContains(special4, addr)
	}
	b := addr.As16()
	switch {
	case nat64.Contains(addr):
		return Public(netip.AddrFrom4([4]byte(b[12:16])))
	case sixToFour.Contains(addr):
		return Public(netip.AddrFrom4([4]byte(b[2:6])))
	}
	return global6.Contains(addr) && !anyContains(special6, addr)
}

func anyContains(networks []netip.Prefix, addr netip.Addr) bool {
	for _, n := range networks {
		if n.Contains(addr) {
			return true
		}
	}
	return false
}
