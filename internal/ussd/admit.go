package ussd

import (
	"bytes"
	"crypto/sha256"
	"crypto/subtle"
	"crypto/tls"
	"crypto/x509"
	"io"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/ussd/wire"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// root is the path all routes of the line begin with.
const root = "/api"

// Guard counts requests under /api by address, whether or not the route exists,
// before next sees them: a stranger who probes for routes uses up the same
// allowance as one who dials. Known gateways are not counted, except on the
// routes of operators. Put it in front of everything that can answer.
func (s *Service) Guard(next http.Handler) http.Handler {
	if s.address == nil {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		path, ours := strings.CutPrefix(r.URL.Path, root)
		if !ours || path != "" && path[0] != '/' {
			next.ServeHTTP(w, r)
			return
		}
		addr := web.ClientAddr(r.Context())
		if !desk(path) && s.known(r, addr, s.dialled(path)) {
			next.ServeHTTP(w, r)
			return
		}
		v := s.address.Allow(web.AddrName(addr))
		v.SetHeaders(w.Header())
		if v.OK {
			next.ServeHTTP(w, r)
			return
		}
		s.limited(w, s.dialled(path), v)
	})
}

// dialled is the gateway whose sessions a path under /api serves, nil for any
// other path.
func (s *Service) dialled(path string) *wire.Gateway {
	rest, ok := strings.CutPrefix(path, "/ussd")
	if rest == "" && ok {
		return s.cfg.Gateways.Get("")
	}
	name, ok := strings.CutPrefix(rest, "/")
	name = strings.TrimSuffix(name, "/events")
	if !ok || name == "" {
		return nil
	}
	return s.cfg.Gateways.Get(name)
}

// desk reports whether a path under /api is one of operators.
func desk(path string) bool {
	return path == "/ussd/sessions" || strings.HasPrefix(path, "/ussd/debug/")
}

// limitedAnswer is the body of 429 on routes without a caller on a handset.
type limitedAnswer struct {
	Error      string `json:"error"`
	Message    string `json:"message"`
	Code       string `json:"code"`
	RetryAfter int    `json:"retryAfter"` // seconds
}

// limited answers who has spent the allowance: in the form of a gateway, or as
// JSON without one.
func (s *Service) limited(w http.ResponseWriter, g *wire.Gateway, v web.Verdict) {
	h, body := w.Header(), []byte(nil)
	h["Cache-Control"] = noStore
	if g != nil {
		s.see(Step{Gateway: g.Name, Result: ResultLimited})
		h.Set("Content-Type", g.ContentType())
		body = g.Append(nil, wire.Request{}, wire.Reply{Text: textTooMany, End: true})
	} else {
		wait := max(int(v.RetryAfter.Round(time.Second)/time.Second), 1)
		h.Set("Content-Type", "application/json; charset=utf-8")
		body, _ = web.Encode(limitedAnswer{ // texts and a number always encode
			Error: "Too Many Requests", Message: textTooMany, Code: "RATE_LIMIT_EXCEEDED", RetryAfter: wait,
		})
	}
	w.WriteHeader(http.StatusTooManyRequests)
	_, _ = w.Write(body) // the client is gone when this fails
}

// admit reports whether r comes from a known gateway. Everybody else is refused
// when only gateways may call: the fault is GATEWAY_ONLY. What a page of
// another site has a browser send is refused whatever network it comes from:
// no gateway is a browser, and a browser may stand in a gateway's network.
func (s *Service) admit(r *http.Request, g *wire.Gateway) (known bool, err error) {
	if !web.SameOrigin(r) {
		return false, fault.New(fault.Invalid, "USSD_INVALID_INPUT", "The request came from a page of another site.")
	}
	if s.known(r, web.ClientAddr(r.Context()), g) {
		return true, nil
	}
	if g.Late(r.Header, s.now()) {
		return false, fault.New(fault.Forbidden, "GATEWAY_TIME", "The time of the request is not a valid time, or more than 5 minutes off.")
	}
	if g.Signed() {
		return false, fault.New(fault.Forbidden, "GATEWAY_SIGNATURE", "The request is not signed as the gateway file requires.")
	}
	if s.cfg.GatewayOnly {
		return false, fault.New(fault.Forbidden, "GATEWAY_ONLY", "Only gateways may call this.")
	}
	return false, nil
}

// known reports whether r comes from a gateway's network, over a connection with
// a certificate of the gateways' authority, or has their secret. Of a gateway that signs only the signature counts. g may be nil.
func (s *Service) known(r *http.Request, addr netip.Addr, g *wire.Gateway) bool {
	if g != nil && g.Signed() {
		body, err := readBody(r, nil)
		r.Body = io.NopCloser(io.MultiReader(bytes.NewReader(body), r.Body)) // so that it can be read again
		return err == nil && g.Verify(r.Header, body, []byte(s.cfg.GatewaySecret), s.now())
	}
	if len(s.cfg.GatewayNetworks) > 0 {
		addr = addr.Unmap().WithZone("")
		if slices.ContainsFunc(s.cfg.GatewayNetworks, func(p netip.Prefix) bool { return p.Contains(addr) }) {
			return true
		}
	}
	if certified(r.TLS, s.cfg.GatewayCA, s.now()) {
		return true
	}
	if s.cfg.GatewaySecret == "" {
		return false
	}
	given := r.Header.Get(wire.SecretHeader)
	if given == "" && r.URL.RawQuery != "" {
		given = r.URL.Query().Get("secret")
	}
	sum := sha256.Sum256([]byte(given)) // of equal length, so that the comparison reveals nothing
	return given != "" && subtle.ConstantTimeCompare(sum[:], s.secret[:]) == 1
}

// certified reports whether the other end of a connection has shown a client
// certificate of the authority, and its key. TLS itself proves the key, but
// does not require a certificate from a particular authority.
func certified(c *tls.ConnectionState, authority *x509.CertPool, now time.Time) bool {
	if c == nil || authority == nil || len(c.PeerCertificates) == 0 {
		return false
	}
	between := x509.NewCertPool()
	for _, cert := range c.PeerCertificates[1:] {
		between.AddCert(cert)
	}
	_, err := c.PeerCertificates[0].Verify(x509.VerifyOptions{
		Roots: authority, Intermediates: between, CurrentTime: now, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	})
	return err == nil
}
