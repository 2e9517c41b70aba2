package wire

import (
	"crypto/hmac"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"encoding/hex"
	"hash"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// SecretHeader is the header in which a gateway that does not sign
// authenticates. Those that cannot send headers use the query parameter secret.
const SecretHeader = "X-Gateway-Secret"

// signedAge is how far the time of a signed request may be from now.
const signedAge = 5 * time.Minute

// signatureSpec says how a gateway signs the bodies of its requests.
type signatureSpec struct {
	Header   string `yaml:"header"`
	Hash     string `yaml:"hash"`
	Encoding string `yaml:"encoding"`
	Time     string `yaml:"time"`
}

// signature is a compiled signatureSpec.
type signature struct {
	header, time string
	hash         func() hash.Hash
	encode       func([]byte) string
	decode       func(string) ([]byte, error)
}

func (c *checker) signature(s signatureSpec, formats words) *signature {
	out := &signature{header: s.Header, time: s.Time, hash: sha256.New, encode: hex.EncodeToString, decode: hex.DecodeString}
	if s.Header == "" {
		c.add("signature.header", "is needed")
	}
	switch s.Hash {
	case "", "sha256":
	case "sha512":
		out.hash = sha512.New
	default:
		c.add("signature.hash", "want sha256 or sha512")
	}
	switch s.Encoding {
	case "", "hex":
	case "base64":
		out.encode, out.decode = base64.StdEncoding.EncodeToString, base64.StdEncoding.DecodeString
	default:
		c.add("signature.encoding", "want hex or base64")
	}
	if slices.Contains(formats, string(formatQuery)) {
		c.add("signature", "needs a body to sign: want json or form in request.format, not query")
	}
	return out
}

// Signed reports whether the gateway signs its requests.
func (g *Gateway) Signed() bool { return g.signature != nil }

// Verify reports whether a request of a gateway that signs is signed with key
// and, if it has a time, recently. A prefix of the signature that names the
// hash, such as sha256=, is ignored.
func (g *Gateway) Verify(h http.Header, body, key []byte, now time.Time) bool {
	s := g.signature
	if s == nil || len(key) == 0 {
		return false
	}
	text := h.Get(s.header)
	if word, rest, ok := strings.Cut(text, "="); ok && (word == "sha256" || word == "sha512") {
		text = rest
	}
	given, err := s.decode(strings.TrimSpace(text))
	if err != nil || len(given) == 0 {
		return false
	}
	return !g.Late(h, now) && hmac.Equal(given, s.sum(body, key))
}

// Late reports whether a request of a gateway that signs states a time other
// than now.
func (g *Gateway) Late(h http.Header, now time.Time) bool {
	s := g.signature
	return s != nil && s.time != "" && h.Get(s.time) != "" && !recent(h.Get(s.time), now)
}

// sign puts the signature of a body into the headers of a request, and the time
// where the gateway sends it.
func (s *signature) sign(h http.Header, body, key []byte, now time.Time) {
	h.Set(s.header, s.encode(s.sum(body, key)))
	if s.time != "" {
		h.Set(s.time, now.UTC().Format(time.RFC3339))
	}
}

func (s *signature) sum(body, key []byte) []byte {
	mac := hmac.New(s.hash, key)
	mac.Write(body)
	return mac.Sum(nil)
}

// recent reports whether a time is near now: RFC 3339, or seconds or
// milliseconds since 1970.
func recent(text string, now time.Time) bool {
	at, err := time.Parse(time.RFC3339, text)
	if n, bad := strconv.ParseInt(text, 10, 64); bad == nil {
		if at, err = time.Unix(n, 0), nil; n > 1e11 {
			at = time.UnixMilli(n)
		}
	}
	return err == nil && now.Sub(at).Abs() <= signedAge
}
