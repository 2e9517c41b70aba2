package web

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/hearth-dmrv/hearth/internal/did"
)

// maxPathParts is how many parts of a path are looked at for a DID written
// with plain slashes. No documented DID has more than two of its own.
const maxPathParts = 64

// DIDPaths answers requests that match no route. DIDs with slashes should be
// percent-encoded in a path (did%3Aixo%3Ahousehold%2F123); many clients do not
// do that. When no route matches the path and a part of it begins a DID, the
// path is tried again with that DID spanning several parts, and the request
// goes to its route, once. The shortest DID that leaves a longer route wins: in
// /v1/entities/did:ixo:household/123/history the last part does not belong to
// the DID. The meaning of a path never depends on the method.
//
// Only the spelling of the path changes, never what it decodes to, so earlier
// checks of it still hold. routes are the routes of mux; known reports whether mux
// has a route for a method and the path of a request; unknown answers the rest.
func DIDPaths(routes []Route, mux *http.ServeMux, known func(r *http.Request, method string) bool, unknown http.HandlerFunc) http.HandlerFunc {
	table := didTable(routes)
	return func(w http.ResponseWriter, r *http.Request) {
		if !strings.Contains(r.URL.Path, "/did:") || anyMethod(r, known) {
			unknown(w, r)
			return
		}
		spelled, ok := table.respell(r)
		if !ok {
			unknown(w, r)
			return
		}
		if _, pattern := mux.Handler(spelled); pattern == "" || pattern == "/" {
			unknown(w, spelled) // the route takes other methods
			return
		}
		mux.ServeHTTP(w, spelled)
	}
}

func anyMethod(r *http.Request, known func(*http.Request, string) bool) bool {
	for _, m := range methods {
		if known(r, m) {
			return true
		}
	}
	return false
}

// didPaths are the patterns that have a place for a DID, split at the slashes.
type didPaths [][]string

// didTable keeps one of the patterns that differ by method only. Patterns that
// take the rest of a path accept slashes anyway.
func didTable(routes []Route) didPaths {
	var table didPaths
	seen := map[string]bool{}
	for _, r := range routes {
		if seen[r.Path] || !strings.Contains(r.Path, "{") || strings.Contains(r.Path, "...}") || strings.Contains(r.Path, "{$}") {
			continue
		}
		seen[r.Path] = true
		table = append(table, strings.Split(r.Path[1:], "/"))
	}
	return table
}

// respell returns r with the slashes of its DIDs encoded.
func (t didPaths) respell(r *http.Request) (*http.Request, bool) {
	escaped := r.URL.EscapedPath()
	if strings.Count(escaped, "/") > maxPathParts {
		return nil, false
	}
	parts := strings.Split(strings.TrimPrefix(escaped, "/"), "/")
	plain := make([]string, len(parts))
	for i, part := range parts {
		text, err := url.PathUnescape(part)
		if err != nil {
			return nil, false
		}
		plain[i] = text
	}
	var best []int
	longest := 0
	for _, pattern := range t {
		if len(pattern) <= longest || len(pattern) >= len(parts) {
			continue // no better, or no slash to explain
		}
		if spans, ok := fit(pattern, plain); ok {
			best, longest = spans, len(pattern)
		}
	}
	if best == nil {
		return nil, false
	}
	u := *r.URL
	u.RawPath = joinSpans(parts, best)
	out := *r
	out.URL = &u
	return &out, true
}

// fit lays a pattern over the parts of a path and returns how many parts each
// of its own takes. Only a name whose first part begins a DID takes more than
// one, as few as will do. With a single DID in the path its length follows
// from that of the pattern, so nothing is tried twice.
func fit(pattern, parts []string) ([]int, bool) {
	switch {
	case len(pattern) == 0:
		return nil, len(parts) == 0
	case len(parts) < len(pattern):
		return nil, false
	}
	name := strings.HasPrefix(pattern[0], "{")
	if !name && pattern[0] != parts[0] {
		return nil, false
	}
	most := 1
	if name && strings.HasPrefix(parts[0], "did:") {
		most = len(parts) - len(pattern) + 1
	}
	least := 1
	if !moreDIDs(pattern[1:], parts[1:]) {
		least = len(parts) - len(pattern) + 1 // no other pattern takes the rest
	}
	for n := least; n <= most; n++ {
		if n > 1 && !isDID(parts[:n]) {
			continue
		}
		if rest, ok := fit(pattern[1:], parts[n:]); ok {
			return append([]int{n}, rest...), true
		}
	}
	return nil, false
}

// moreDIDs reports whether the rest of a pattern and of a path may meet in
// another DID.
func moreDIDs(pattern, parts []string) bool {
	named, begun := false, false
	for _, p := range pattern {
		named = named || strings.HasPrefix(p, "{")
	}
	for _, p := range parts {
		begun = begun || strings.HasPrefix(p, "did:")
	}
	return named && begun
}

func isDID(parts []string) bool {
	return did.Valid(strings.Join(parts, "/"))
}

// joinSpans writes the path again: a slash between spans, an encoded one
// inside them.
func joinSpans(parts []string, spans []int) string {
	var b strings.Builder
	for _, n := range spans {
		b.WriteString("/")
		b.WriteString(strings.Join(parts[:n], "%2F"))
		parts = parts[n:]
	}
	return b.String()
}
