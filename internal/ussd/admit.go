package ussd

import (
	"crypto/sha256"
	"crypto/subtle"
	"net/http"
	"net/netip"
	"slices"

	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// secretHeader is where a gateway proves itself. Those that can only send a
// query use the parameter secret.
const secretHeader = "X-Gateway-Secret"

// admit tells whether r comes from a known gateway. Everybody else is counted
// by address, and refused when only gateways may call: the faults are
// RATE_LIMITED and GATEWAY_ONLY.
func (s *Service) admit(w http.ResponseWriter, r *http.Request) (known bool, err error) {
	addr := web.ClientAddr(r.Context())
	if s.known(r, addr) {
		return true, nil
	}
	if err := s.count(w, addr); err != nil {
		return false, err
	}
	if s.cfg.GatewayOnly {
		return false, fault.New(fault.Forbidden, "GATEWAY_ONLY", "Only gateways may call this.")
	}
	return false, nil
}

// count takes one request of an address from its allowance.
func (s *Service) count(w http.ResponseWriter, addr netip.Addr) error {
	if s.address == nil {
		return nil
	}
	v := s.address.Allow(web.AddrName(addr))
	v.SetHeaders(w.Header())
	return v.Err()
}

// known tells whether r comes from a gateway's network or has its secret.
func (s *Service) known(r *http.Request, addr netip.Addr) bool {
	if len(s.cfg.GatewayNetworks) > 0 {
		addr = addr.Unmap().WithZone("")
		if slices.ContainsFunc(s.cfg.GatewayNetworks, func(p netip.Prefix) bool { return p.Contains(addr) }) {
			return true
		}
	}
	if s.cfg.GatewaySecret == "" {
		return false
	}
	given := r.Header.Get(secretHeader)
	if given == "" && r.Method == http.MethodGet {
		given = r.URL.Query().Get("secret")
	}
	sum := sha256.Sum256([]byte(given)) // of equal length, so that comparing tells nothing
	return given != "" && subtle.ConstantTimeCompare(sum[:], s.secret[:]) == 1
}
