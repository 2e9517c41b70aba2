package wire

import (
	"mime"
	"net/http"
	"net/url"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/hearth-dmrv/hearth/internal/web"
)

// maxDepth is how deep a JSON body may nest: gateways send flat objects, and
// a few wrap one more around them.
const maxDepth = 16

// format is how a request carries its fields.
type format string

const (
	formatJSON  format = "json"
	formatForm  format = "form"
	formatQuery format = "query"
)

// value is one field of a request.
type value struct {
	s    string
	kind jsontext.Kind // of JSON; a form has strings only
	set  bool
}

// scalar reports whether the value is a string or a number.
func (v value) scalar() bool { return v.set && (v.kind == '"' || v.kind == '0') }

// taker is given every field. It says whether it knows the name.
type taker func(name string, v value) (known bool, err error)

// formatOf determines how the request carries its fields. It refuses character
// sets other than UTF-8, because decoding them would change the text.
func formatOf(r *http.Request) (format, error) {
	if r.Method == http.MethodGet || r.Method == http.MethodHead {
		return formatQuery, nil
	}
	switch ct := r.Header.Get("Content-Type"); ct {
	case "application/json":
		return formatJSON, nil
	case "application/x-www-form-urlencoded":
		return formatForm, nil
	default:
		return otherFormat(ct)
	}
}

func otherFormat(contentType string) (format, error) {
	media, params, err := mime.ParseMediaType(contentType)
	if set := params["charset"]; err != nil || set != "" && !strings.EqualFold(set, "utf-8") && !strings.EqualFold(set, "us-ascii") {
		return "", refuse("header/Content-Type", "format")
	}
	switch {
	case media == "application/json" || strings.HasPrefix(media, "application/") && strings.HasSuffix(media, "+json"):
		return formatJSON, nil
	case media == "application/x-www-form-urlencoded":
		return formatForm, nil
	}
	return "", refuse("header/Content-Type", "format")
}

// readJSON gives the members of a JSON object to take. Duplicate members, bad
// UTF-8 and data after the end are refused. With exact, so is a member whose
// name differs from a known one only by case: it is a slip, not an extra.
func readJSON(body []byte, take taker, exact bool) error {
	if deep, nul := web.Survey(body); deep > maxDepth || nul {
		return refuse("body", "json")
	}
	var members map[string]jsontext.Value
	if err := json.Unmarshal(body, &members); err != nil || members == nil {
		return refuse("body", "json")
	}
	for name, raw := range members {
		v, err := scalarOf(raw)
		if err != nil {
			return err
		}
		known, err := take(name, v)
		if err != nil {
			return err
		}
		if exact && !known && isSlip(name) {
			return refuse("body", "case")
		}
	}
	return nil
}

// scalarOf is the value of a JSON member. null counts as absent, an object or
// a list has no text.
func scalarOf(raw jsontext.Value) (value, error) {
	v := value{kind: raw.Kind(), set: true}
	switch v.kind {
	case '"':
		text, err := jsontext.AppendUnquote(nil, raw)
		if err != nil {
			return value{}, refuse("body", "json")
		}
		v.s = string(text)
	case 'n':
		v.set = false
	case '{', '[':
	default:
		v.s = string(raw)
	}
	return v, nil
}

// isSlip reports whether name is a documented one in other letters.
func isSlip(name string) bool {
	for _, known := range []string{"sessionId", "serviceCode", "phoneNumber", "text"} {
		if strings.EqualFold(name, known) {
			return true
		}
	}
	return false
}

// readPairs gives the pairs of a form body or a query to take. Semicolons
// separate nothing: they are part of a value, as browsers have it.
func readPairs(s string, take taker) error {
	for s != "" {
		var pair string
		pair, s, _ = strings.Cut(s, "&")
		if pair == "" {
			continue
		}
		name, text, _ := strings.Cut(pair, "=")
		name, err := url.QueryUnescape(name)
		if err != nil {
			return refuse("body", "escape")
		}
		if text, err = url.QueryUnescape(text); err != nil {
			return refuse("body", "escape")
		}
		if _, err := take(name, value{s: text, kind: '"', set: true}); err != nil {
			return err
		}
	}
	return nil
}
