package oracle

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// DefaultMaxBody limits the size of a body, in bytes: the 100 kB that clients
// of this protocol know.
const DefaultMaxBody = 100 << 10

// maxNesting is how deep a body may nest.
const maxNesting = 64

// members are the raw members of an object; nil means a body of a type that is
// not read.
type members map[string]jsontext.Value

// readBody reads a body as clients of this protocol expect: JSON or a form. An
// empty body is an object without members. Validation reports what is missing,
// and that a body of any other type was not read. It also returns the raw bytes
// for hashing.
func (s *Service) readBody(w http.ResponseWriter, r *http.Request) (members, []byte, error) {
	raw, err := readRaw(w, r, s.cfg.MaxBody)
	if err != nil {
		return nil, nil, err
	}
	media, params, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	switch {
	case len(bytes.TrimSpace(raw)) == 0:
		return members{}, raw, nil
	case err != nil || media != "application/json" && media != "application/x-www-form-urlencoded":
		return nil, raw, nil
	}
	if set := params["charset"]; set != "" && !strings.EqualFold(set, "utf-8") {
		return nil, nil, fault.New(fault.Unsupported, "UNSUPPORTED_CHARSET", "unsupported charset \""+fault.Echo(strings.ToUpper(set))+"\"")
	}
	var m members
	if media == "application/json" {
		m, err = readJSON(raw)
	} else {
		m, err = readForm(raw)
	}
	return m, raw, err
}

// readRaw reads a body of any kind.
func readRaw(w http.ResponseWriter, r *http.Request, limit int64) ([]byte, error) {
	raw, err := io.ReadAll(http.MaxBytesReader(w, r.Body, limit))
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large):
		return nil, fault.New(fault.TooLarge, "BODY_TOO_LARGE", "request entity too large")
	case err != nil:
		return nil, fault.New(fault.Invalid, "BODY_INCOMPLETE", "request aborted").Wrap(err)
	}
	return raw, nil
}

func readJSON(raw []byte) (members, error) {
	deepest, nul := web.Survey(raw)
	switch {
	case deepest > maxNesting:
		return nil, malformed(fmt.Sprintf("The body nests deeper than %d levels", maxNesting), nil)
	case nul:
		return nil, malformed("A string in the body holds the character U+0000", nil)
	}
	var m members
	if err := json.Unmarshal(raw, &m); err != nil {
		return nil, malformed(jsonTrouble(err), err)
	}
	if m == nil { // the literal null
		return nil, malformed("The body must be a JSON object", nil)
	}
	return m, nil
}

// jsonTrouble says what is wrong with a body and where, and never quotes it.
func jsonTrouble(err error) string {
	var syntax *jsontext.SyntacticError
	switch {
	case errors.As(err, &syntax) && errors.Is(syntax, io.ErrUnexpectedEOF), errors.Is(err, io.ErrUnexpectedEOF):
		return "Unexpected end of JSON input"
	case errors.As(err, &syntax) && errors.Is(syntax, jsontext.ErrDuplicateName):
		return "A member of the JSON body appears twice"
	case errors.As(err, &syntax):
		return fmt.Sprintf("The body is not valid JSON at position %d", syntax.ByteOffset)
	}
	return "The body must be a JSON object"
}

func malformed(text string, cause error) error {
	return fault.New(fault.Invalid, "MALFORMED_JSON", text).Wrap(cause)
}

// readForm takes a form as an object of texts.
func readForm(raw []byte) (members, error) {
	form, err := url.ParseQuery(string(raw))
	if err != nil {
		return nil, fault.New(fault.Invalid, "MALFORMED_FORM", "The form cannot be read").Wrap(err)
	}
	m := members{}
	for name, values := range form {
		text, err := json.Marshal(values[len(values)-1])
		if err != nil || strings.ContainsRune(values[len(values)-1], 0) {
			return nil, fault.New(fault.Invalid, "MALFORMED_FORM", "The form is not valid UTF-8 text").Wrap(err)
		}
		m[name] = text
	}
	return m, nil
}
