package schema

import (
	"errors"
	"net/url"
	"regexp"
	"strings"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/hearth-dmrv/hearth/internal/did"
)

// errFormat says that a value does not have its format. It says no more: the
// sentence for people is made from the name of the format. Only GeoJSON needs
// more; see wrongGeo.
var errFormat = errors.New("the format is not met")

// ownFormats are the formats we check ourselves, because twins are searched
// and computed with by them: what passes here must parse there.
func ownFormats() map[string]func(any) bool {
	return map[string]func(any) bool{
		"date": text(isDate), "date-time": text(isDateTime), "uri": text(isURI), "did": text(did.Valid), "duration": text(isDuration),
		"geojson": func(v any) bool { return geoJSON(v) == nil },
	}
}

// formatHints say how a value of a format looks. Formats that are not here are
// not known.
func formatHints() map[string]string {
	return map[string]string{
		"date": "a date such as 2026-08-01", "date-time": "a time such as 2026-08-01T09:30:00Z", "uri": "an absolute URI",
		"did": "a DID such as did:ixo:entity:123", "duration": "an ISO 8601 duration such as P1DT12H", "geojson": "a GeoJSON object",
		"time": "a time of day such as 09:30:00Z", "uri-reference": "a URI or a part of one", "email": "an email address",
		"hostname": "a host name", "ipv4": "an IPv4 address", "ipv6": "an IPv6 address", "uuid": "a UUID", "json-pointer": "a JSON pointer",
	}
}

// text makes a check of texts one of values: other types have no format.
func text(f func(string) bool) func(any) bool {
	return func(v any) bool {
		s, ok := v.(string)
		return !ok || f(s)
	}
}

func registerFormats(c *jsonschema.Compiler) {
	for name, ok := range ownFormats() {
		c.RegisterFormat(&jsonschema.Format{Name: name, Validate: func(v any) error {
			if ok(v) {
				return nil
			}
			return errFormat
		}})
	}
	c.RegisterFormat(&jsonschema.Format{Name: "geojson", Validate: geoJSON})
	c.AssertFormat()
}

func isDate(s string) bool {
	_, err := time.Parse(time.DateOnly, s)
	return err == nil
}

func isDateTime(s string) bool {
	if len(s) > 64 || strings.ContainsRune(s, ',') { // Go takes a comma for the point of seconds
		return false
	}
	_, err := time.Parse(time.RFC3339Nano, s)
	return err == nil
}

// maxURI is how many bytes a URI may have.
const maxURI = 2048

func isURI(s string) bool {
	if len(s) > maxURI || strings.ContainsAny(s, " <>\"{}|\\^`") {
		return false
	}
	u, err := url.Parse(s)
	return err == nil && u.IsAbs() && (u.Host != "" || u.Opaque != "" || u.Path != "")
}

// durationForm is RFC 3339 appendix A, which ISO 8601 durations are in, with
// a fraction of seconds as well.
var durationForm = regexp.MustCompile(`^P(?:\d{1,9}W|(?:\d{1,9}Y)?(?:\d{1,9}M)?(?:\d{1,9}D)?(?:T(?:\d{1,9}H)?(?:\d{1,9}M)?(?:\d{1,9}(?:\.\d{1,9})?S)?)?)$`)

func isDuration(s string) bool {
	return len(s) <= 64 && durationForm.MatchString(s) && s != "P" && !strings.HasSuffix(s, "T")
}
