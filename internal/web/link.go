package web

import (
	"net/url"
	"strings"
)

// PageLinks is the Link header (RFC 8288) of a page of the list at u: the
// first page and, when next is a cursor, the one after this. Every other query
// parameter is kept. The targets are paths without a host, so a forged Host
// header cannot lead a client away.
func PageLinks(u *url.URL, next string) string {
	query := u.Query()
	query.Del("cursor")
	first := "<" + target(u, query) + `>; rel="first"`
	if next == "" {
		return first
	}
	query.Set("cursor", next)
	return "<" + target(u, query) + `>; rel="next", ` + first
}

// target is the path of u with another query, safe between angle brackets: both
// parts are escaped again.
func target(u *url.URL, query url.Values) string {
	path := u.EscapedPath()
	if !strings.HasPrefix(path, "/") {
		path = "/" + path
	}
	if strings.HasPrefix(path, "//") {
		path = "/." + path // "//name" would be another host
	}
	if len(query) == 0 {
		return path
	}
	return path + "?" + query.Encode()
}
