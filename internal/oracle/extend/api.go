package extend

import (
	"context"
	"errors"
	"net/http"
	"net/netip"
	"net/url"
	"strings"

	"github.com/hearth-dmrv/hearth/internal/oracle/tool"
	"github.com/hearth-dmrv/hearth/internal/web"
	"github.com/hearth-dmrv/hearth/plugin"
)

const (
	// maxInside is how many requests of plugins may stand around each other: a plugin
	// that calls its own route ends there.
	maxInside = 3
	// maxInsideAnswer is how many bytes one may be answered with.
	maxInsideAnswer = 16 << 20
)

// What a plugin is told when its request is not made.
var (
	errCircle    = &plugin.Error{Status: http.StatusLoopDetected, Message: "The plugin calls the server in a loop."}
	errElsewhere = errors.New("this client reaches " + plugin.Server + " only")
	errNotYet    = errors.New("the server has not started yet")
)

// api makes a client that calls the server as the user of ctx, for as long as ctx
// lasts.
func (s *Set) api(ctx context.Context) *http.Client {
	c, addr := tool.From(ctx), web.ClientAddr(ctx)
	around, _ := web.InsideFrom(ctx)
	in := web.Inside{Caller: web.Caller{DID: c.User, Signer: c.Signer}, Whole: c.Whole, Ends: c.Ends, Depth: around.Depth + 1}
	if c.Caller.Key != "" {
		in.Caller = c.Caller
	}
	if !addr.IsValid() {
		addr = netip.IPv4Unspecified()
	}
	return &http.Client{
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
			if ctx.Err() != nil {
				return nil, context.Cause(ctx)
			}
			inner, cancel := context.WithCancelCause(r.Context())
			defer cancel(nil)
			defer context.AfterFunc(ctx, func() { cancel(context.Cause(ctx)) })()
			return s.inside(r.WithContext(inner), in, addr)
		}),
	}
}

// roundTrip is a transport made of a function.
type roundTrip func(r *http.Request) (*http.Response, error)

// RoundTrip calls the function.
func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// inside answers a request of a plugin by the server's own routes.
func (s *Set) inside(r *http.Request, in web.Inside, addr netip.Addr) (*http.Response, error) {
	switch {
	case in.Depth > maxInside:
		return nil, errCircle
	case !sameServer(r.URL):
		return nil, errElsewhere
	case s.cfg.Server == nil || s.cfg.Server() == nil:
		return nil, errNotYet
	}
	r = web.ByInside(r, in)
	for name := range r.Header {
		// The caller is known, and another cannot be named.
		switch low := strings.ToLower(name); {
		case low == "authorization" || low == "x-api-key" || low == "x-auth-type" || low == "x-ucan-delegation" || low == "cookie" || low == "origin",
			low == "forwarded" || low == "x-real-ip" || strings.HasPrefix(low, "x-forwarded"):
			r.Header.Del(name)
		}
	}
	return web.Answer(s.cfg.Server(), r, addr, maxInsideAnswer)
}

func sameServer(u *url.URL) bool { return u.Scheme+"://"+u.Host == plugin.Server }
