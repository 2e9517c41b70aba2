package web

import (
	"net"
	"net/http"
	"net/url"
	"strings"
)

// pageHeader is what our own pages send with each request that changes something.
// A form cannot send it, and a page of another site has to ask first.
const pageHeader = "X-Hearth-Console"

// FromOwnPage reports whether a page of this server made a browser send r, so
// that a cookie may count. A browser also attaches the cookie to requests of a
// page on another port of the same host, whatever SameSite says. Over plain
// HTTP it does not say where a request comes from, except by Origin on requests
// that change something: so a read without Origin counts, because no other site
// can see the answer, and a read changes nothing.
func FromOwnPage(r *http.Request) bool {
	reads := r.Method == http.MethodGet || r.Method == http.MethodHead
	if !reads && r.Header.Get(pageHeader) != "1" {
		return false
	}
	switch r.Header.Get("Sec-Fetch-Site") {
	case "same-origin":
		return true
	case "none": // typed, or a download that is taken up again
		return reads
	case "":
		origin := r.Header.Get("Origin")
		return origin == "" && reads || ownOrigin(origin, r.Host)
	}
	return false
}

// ownOrigin reports whether an origin belongs to a host. The scheme is not
// compared: a proxy may serve TLS in front of us.
func ownOrigin(origin, host string) bool {
	u, err := url.Parse(origin)
	return err == nil && u.Host != "" && strings.EqualFold(u.Host, host)
}

// cookiePrefix makes a browser take the cookie over TLS only, from this host.
const cookiePrefix = "__Host-"

// SessionCookie is the cookie of a session at the host that r names; text is ""
// to remove it. Cookies ignore ports, so the name includes the port: otherwise
// two servers on one machine would end each other's sessions.
func SessionCookie(r *http.Request, text string, seconds int) *http.Cookie {
	c := &http.Cookie{
		Name: cookieName(r), Value: text, Path: "/", MaxAge: seconds, HttpOnly: true,
		SameSite: http.SameSiteStrictMode, Secure: overTLS(r),
	}
	if c.Secure {
		c.Name = cookiePrefix + c.Name
	}
	if text == "" {
		c.MaxAge = -1
	}
	return c
}

// SessionText is the content of a session's cookie, "" without one. It counts
// only for a request of our own pages.
func SessionText(r *http.Request) string {
	if len(r.Header["Cookie"]) == 0 || !FromOwnPage(r) {
		return ""
	}
	name := cookieName(r)
	c, err := r.Cookie(cookiePrefix + name)
	if err != nil && r.TLS == nil {
		c, err = r.Cookie(name)
	}
	if err != nil {
		return ""
	}
	return c.Value
}

// overTLS reports whether a page that signs in or out came over TLS: to us, or to a
// proxy before us, which its origin shows.
func overTLS(r *http.Request) bool {
	return r.TLS != nil || strings.HasPrefix(r.Header.Get("Origin"), "https://")
}

func cookieName(r *http.Request) string {
	name := "hearth"
	if _, port, err := net.SplitHostPort(r.Host); err == nil && port != "" {
		name += "_" + port
	}
	return name
}
