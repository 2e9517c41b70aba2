package web

import "net/http"

// apiPolicy forbids a browser to do anything with an answer but read it, in
// case one is opened as a page.
const apiPolicy = "default-src 'none'; frame-ancestors 'none'"

// hsts keeps a browser on TLS for a year. Sub-domains are not ours to decide.
const hsts = "max-age=31536000"

// apiHeaders are the same for every answer, so their values are made once.
// Nothing appends to them: a handler that wants others sets new ones.
var apiHeaders = [...]header{
	{"X-Content-Type-Options", []string{"nosniff"}},
	{"Content-Security-Policy", []string{apiPolicy}},
	{"Cross-Origin-Resource-Policy", []string{"same-origin"}},
	{"Cache-Control", []string{"no-store"}},
}

// header is a name in its canonical form and the values of every answer.
type header struct {
	name   string
	values []string
}

// SecureHeaders gives every answer the headers of an API: no sniffing, no
// framing, no sharing with other sites' pages, no copy in caches. A handler
// that serves pages or cacheable files overrides them (ForPage) and adds those
// that matter only to a page, because a header costs a read one hundredth of
// its time.
func SecureHeaders(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		for i := range apiHeaders {
			h[apiHeaders[i].name] = apiHeaders[i].values
		}
		if r.TLS != nil {
			// Over plain HTTP browsers ignore it, and behind a proxy its
			// owner decides.
			h.Set("Strict-Transport-Security", hsts)
		}
		next.ServeHTTP(w, r)
	})
}

// ForPage replaces the content headers of SecureHeaders, for a page whose
// scripts and styles policy allows ("script-src 'self'; …"). It still may not
// be framed, and everything policy does not name stays forbidden.
func ForPage(h http.Header, r *http.Request, policy string) {
	h.Set("Content-Security-Policy", "default-src 'none'; "+policy+"; base-uri 'none'; frame-ancestors 'none'")
	h.Set("Cache-Control", "no-cache")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Referrer-Policy", "no-referrer")
	if r.TLS != nil || localHost(r.Host) { // elsewhere browsers ignore it and complain
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
	}
}
