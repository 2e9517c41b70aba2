package outbound_test

import (
	"net/netip"
	"testing"

	"github.com/hearth-dmrv/hearth/internal/outbound"
)

func TestPublic(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		addr string
		want bool
	}{
		{"93.184.216.34", true},
		{"1.1.1.1", true},
		{"2606:4700::1111", true},
		{"2a00:1450:4001::1", true},
		{"64:ff9b::101:101", true}, // NAT64 of 1.1.1.1
		{"2002:101:101::1", true},  // 6to4 of 1.1.1.1
		{"::ffff:1.1.1.1", true},   // mapped
		{"172.32.0.1", true},       // just past 172.16/12
		{"100.128.0.1", true},      // just past 100.64/10
		{"168.63.129.17", true},    // next to the wire server
		{"2001:4860:4860::8888", true},

		{"0.0.0.0", false},
		{"0.1.2.3", false},
		{"127.0.0.1", false},
		{"127.255.255.254", false},
		{"10.0.0.1", false},
		{"172.16.0.1", false},
		{"172.31.255.255", false},
		{"192.168.1.1", false},
		{"169.254.169.254", false},
		{"100.64.0.1", false},
		{"100.100.100.200", false},
		{"100.127.255.255", false},
		{"168.63.129.16", false},
		{"192.0.0.192", false},
		{"192.0.2.1", false},
		{"198.18.0.1", false},
		{"198.51.100.1", false},
		{"203.0.113.1", false},
		{"224.0.0.1", false},
		{"239.255.255.255", false},
		{"240.0.0.1", false},
		{"255.255.255.255", false},
		{"::", false},
		{"::1", false},
		{"::127.0.0.1", false}, // IPv4-compatible
		{"::ffff:127.0.0.1", false},
		{"::ffff:169.254.169.254", false},
		{"::ffff:0:127.0.0.1", false}, // translated
		{"64:ff9b::7f00:1", false},    // NAT64 of 127.0.0.1
		{"64:ff9b::a9fe:a9fe", false}, // NAT64 of 169.254.169.254
		{"64:ff9b:1::1", false},
		{"2002:7f00:1::", false},    // 6to4 of 127.0.0.1
		{"2002:a9fe:a9fe::", false}, // 6to4 of 169.254.169.254
		{"2001::1", false},          // Teredo
		{"2001:db8::1", false},
		{"3fff::1", false},
		{"fc00::1", false},
		{"fd00:ec2::254", false},
		{"fe80::1", false},
		{"fe80::1%eth0", false},
		{"fec0::1", false},
		{"ff02::1", false},
		{"100::1", false},
		{"4000::1", false},
	} {
		if got := outbound.Public(netip.MustParseAddr(tt.addr)); got != tt.want {
			t.Errorf("Public(%s) = %v, want %v", tt.addr, got, tt.want)
		}
	}
	if outbound.Public(netip.Addr{}) {
		t.Error("Public of no address = true, want false")
	}
}
