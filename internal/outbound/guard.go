package outbound

import (
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// guard checks every request of a redirect chain before it is sent and bounds
// every answer.
type guard struct {
	client *Client
	next   http.RoundTripper
}

// RoundTrip sends one request.
func (g *guard) RoundTrip(req *http.Request) (*http.Response, error) {
	if err := g.client.check(req.URL); err != nil {
		if req.Body != nil {
			_ = req.Body.Close() // a RoundTripper owes this to its caller
		}
		return nil, err
	}
	req = req.Clone(req.Context())
	if req.Header.Get("User-Agent") == "" {
		req.Header.Set("User-Agent", g.client.cfg.UserAgent)
	}
	resp, err := g.next.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	limit := g.client.cfg.MaxBytes
	if resp.ContentLength > limit && req.Method != http.MethodHead {
		_ = resp.Body.Close() // the error below says more
		return nil, ErrTooLarge
	}
	resp.Body = &capped{ReadCloser: resp.Body, left: limit}
	return resp, nil
}

// capped gives ErrTooLarge instead of the byte after the limit. It counts what
// the reader sees, so a small body cannot unpack into a large one.
type capped struct {
	io.ReadCloser
	left int64
}

// Read reads up to the limit.
func (c *capped) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	if int64(len(p)) > c.left+1 {
		p = p[:c.left+1] // one more than allowed, to see whether there is more
	}
	n, err := c.ReadCloser.Read(p)
	if int64(n) > c.left {
		n, c.left = int(c.left), 0
		return n, ErrTooLarge
	}
	c.left -= int64(n)
	return n, err
}

// checkRedirect judges one hop. The address is checked again when the hop is
// sent and dialled; this is about what a hop may change.
func (c *Client) checkRedirect(req *http.Request, via []*http.Request) error {
	if len(via) > max(c.cfg.MaxRedirects, 0) {
		return refuse("The server redirects too often.", nil)
	}
	last := via[len(via)-1]
	if last.URL.Scheme == "https" && req.URL.Scheme != "https" {
		return refuse("The server redirects from https to http.", nil)
	}
	first := via[0]
	moved := func(r *http.Request) bool { return origin(r.URL) != origin(first.URL) }
	if !moved(req) && !slices.ContainsFunc(via, moved) {
		return nil
	}
	if req.Method != http.MethodGet && req.Method != http.MethodHead {
		return refuse("The server redirects a request with a body to another host.", nil)
	}
	// Credentials and signatures were meant for the first server. net/http
	// removes only those it knows, and gives them back to sub-domains.
	for name := range req.Header {
		switch name {
		case "Accept", "Accept-Language", "User-Agent":
		default:
			req.Header.Del(name)
		}
	}
	return nil
}

// origin is scheme, host and port in one form.
func origin(u *url.URL) string {
	port, _ := portOf(u)
	return u.Scheme + "://" + strings.ToLower(strings.TrimSuffix(u.Hostname(), ".")) + ":" + strconv.Itoa(port)
}
