package did

import (
	"net/netip"
	"net/url"
	"strings"
)

// WebURL is the address of the document of a did:web: /.well-known/did.json of
// its host, or did.json in the folder it names. The address is https, except
// on localhost. It returns ErrSyntax for any other DID, for a host that is an
// address, and for a path that could lead out of its folder.
func (d DID) WebURL() (string, error) {
	id, ok := strings.CutPrefix(string(d), "did:web:")
	if _, err := Parse(string(d)); !ok || err != nil || strings.Contains(id, "/") {
		return "", ErrSyntax
	}
	parts := strings.Split(id, ":")
	host, err := url.PathUnescape(parts[0])
	if err != nil {
		return "", ErrSyntax
	}
	name, port, ported := strings.Cut(strings.ToLower(host), ":")
	if !hostSyntax(name) || ported && (port == "" || len(port) > 5 || strings.Trim(port, "0123456789") != "") {
		return "", ErrSyntax
	}
	for _, part := range parts[1:] {
		text, err := url.PathUnescape(part)
		if err != nil || text == "" || text == "." || text == ".." || strings.ContainsAny(text, "/\\?#") {
			return "", ErrSyntax
		}
	}
	scheme := "https://"
	if name == "localhost" {
		scheme = "http://"
	}
	if ported {
		name += ":" + port
	}
	if len(parts) == 1 {
		return scheme + name + "/.well-known/did.json", nil
	}
	return scheme + name + "/" + strings.Join(parts[1:], "/") + "/did.json", nil
}

// hostSyntax takes names of letters, digits and hyphens. Addresses are refused,
// in whatever form: did:web is about names.
func hostSyntax(name string) bool {
	if _, err := netip.ParseAddr(name); err == nil || name == "" || len(name) > 253 {
		return false
	}
	label := ""
	for label = range strings.SplitSeq(name, ".") {
		if label == "" || len(label) > 63 || strings.Trim(label, "abcdefghijklmnopqrstuvwxyz0123456789-") != "" {
			return false
		}
	}
	hex, isHex := strings.CutPrefix(label, "0x")
	return strings.Trim(label, "0123456789") != "" && !(isHex && strings.Trim(hex, "0123456789abcdef") == "")
}

// FromWeb is the did:web for what is served below base, an http or https URL:
// for base itself, or for a folder below it. It returns ErrSyntax when base has
// no name that a did:web could have.
func FromWeb(base *url.URL, folders ...string) (DID, error) {
	var b strings.Builder
	b.WriteString("did:web:" + strings.ToLower(base.Hostname()))
	if p := base.Port(); p != "" && !(base.Scheme == "https" && p == "443") {
		b.WriteString("%3A" + p)
	}
	for part := range strings.SplitSeq(strings.Trim(base.EscapedPath(), "/"), "/") {
		if part != "" {
			b.WriteString(":" + part)
		}
	}
	for _, f := range folders {
		b.WriteString(":" + url.PathEscape(f))
	}
	d := DID(b.String())
	if _, err := d.WebURL(); err != nil {
		return "", err
	}
	return d, nil
}
