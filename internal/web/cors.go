package web

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
)

// What other sites may send and read. The first nine request headers and the
// first response header are documented; the rest are what our own routes use.
const (
	corsMethods = "GET,POST,PUT,DELETE,PATCH,OPTIONS"
	corsHeaders = "Content-Type,Authorization,x-ucan-delegation,x-matrix-access-token,x-matrix-homeserver," +
		"x-did,x-request-id,x-auth-type,x-timezone," +
		"If-Match,If-None-Match,Idempotency-Key,Last-Event-ID,X-API-Key,traceparent,Hearth-Position"
	corsExposed = "X-Request-Id, X-Run-Id, ETag, Location, Link, Retry-After, Idempotent-Replayed, Content-Disposition, Content-Range, Hearth-Position"
)

// corsMaxAge is how many seconds a browser may remember a preflight.
const corsMaxAge = "600"

// CORS decides which other sites' pages may call us. The zero value allows
// none.
type CORS struct {
	any     bool
	origins map[string]bool
}

// Values that every answer shares. Whoever adds to them gets a copy.
var (
	varyOrigin = []string{"Origin"}
	anyOrigin  = []string{"*"}
	exposed    = []string{corsExposed}
)

// NewCORS reads CORS_ORIGIN: "*", or origins separated by commas, or "" for
// none. Origins are compared whole, so no suffix or prefix ever matches; only
// listed ones get credentials.
func NewCORS(setting string) (*CORS, error) {
	setting = strings.TrimSpace(setting)
	if setting == "*" {
		return &CORS{any: true}, nil
	}
	c := &CORS{origins: map[string]bool{}}
	for text := range strings.SplitSeq(setting, ",") {
		text = strings.TrimSpace(text)
		if text == "" {
			continue
		}
		origin, err := parseOrigin(text)
		if err != nil {
			return nil, err
		}
		c.origins[origin] = true
	}
	return c, nil
}

// parseOrigin brings a configured origin into the form browsers send: lower
// case, no default port, no path. "null" is refused: every sandboxed frame of
// every site has that origin.
func parseOrigin(text string) (string, error) {
	u, err := url.Parse(strings.TrimSuffix(text, "/"))
	if err != nil || u.Scheme == "" || u.Host == "" || u.Path != "" || u.RawQuery != "" || u.Fragment != "" || u.User != nil ||
		strings.Contains(u.Host, "*") {
		return "", fmt.Errorf("%q is not an origin such as https://app.example.org", text)
	}
	host := strings.ToLower(u.Host)
	switch port := u.Port(); {
	case u.Scheme == "https" && port == "443", u.Scheme == "http" && port == "80":
		host = strings.TrimSuffix(host, ":"+port)
	}
	return u.Scheme + "://" + host, nil
}

// Allowed reports whether pages of origin may call us. Sockets use it too: a
// browser sends Origin with a handshake but enforces nothing itself.
func (c *CORS) Allowed(origin string) bool {
	return c.any || c.origins[origin]
}

// Vary marks an answer as dependent on the origin.
func (c *CORS) Vary(h http.Header) {
	if _, more := h["Vary"]; more {
		h.Add("Vary", "Origin")
		return
	}
	h["Vary"] = varyOrigin
}

// Middleware adds the headers of CORS to every answer, errors included, and
// answers preflights before authentication.
func (c *CORS) Middleware(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		c.Vary(h)
		allowed := c.mark(h, r.Header.Get("Origin"))
		if r.Method != http.MethodOptions || r.Header.Get("Access-Control-Request-Method") == "" {
			next.ServeHTTP(w, r)
			return
		}
		if allowed {
			h.Set("Access-Control-Allow-Methods", corsMethods)
			h.Set("Access-Control-Allow-Headers", corsHeaders)
			h.Set("Access-Control-Max-Age", corsMaxAge)
		}
		h.Set("Content-Length", "0")
		w.WriteHeader(http.StatusNoContent)
	})
}

// mark names the allowed origin in h. A wildcard never comes with credentials.
func (c *CORS) mark(h http.Header, origin string) bool {
	switch {
	case c.any:
		h["Access-Control-Allow-Origin"] = anyOrigin
	case c.origins[origin]:
		h.Set("Access-Control-Allow-Origin", origin)
		h.Set("Access-Control-Allow-Credentials", "true")
	default:
		return false
	}
	h["Access-Control-Expose-Headers"] = exposed
	return true
}
