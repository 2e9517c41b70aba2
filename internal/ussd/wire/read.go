package wire

import (
	"net/http"
	"slices"
	"strings"
)

// values are the fields of one request that its gateway knows.
type values struct {
	names map[string]int
	list  []value
}

func (v *values) take(name string, val value) (bool, error) {
	i, ok := v.names[name]
	if !ok || !val.set {
		return ok, nil
	}
	if val.kind == '{' || val.kind == '[' {
		return true, refuse(name, "scalar")
	}
	if v.list[i].set {
		return true, refuse(name, "twice")
	}
	v.list[i] = val
	return true, nil
}

// first returns the first field that exists; an empty one counts only when no
// other exists.
func (v *values) first(at []int) (string, bool) {
	found := false
	for _, i := range at {
		if v.list[i].set && v.list[i].s != "" {
			return v.list[i].s, true
		}
		found = found || v.list[i].set
	}
	return "", found
}

// readValues reads the fields of a request in one of the formats.
func readValues(r *http.Request, body []byte, formats []format, names map[string]int) (*values, error) {
	v := &values{names: names, list: make([]value, len(names))}
	f, err := formatOf(r)
	if !slices.Contains(formats, f) && slices.Contains(formats, formatQuery) && len(body) == 0 {
		f, err = formatQuery, nil // a POST without a body
	}
	switch {
	case err != nil:
		return nil, err
	case !slices.Contains(formats, f):
		return nil, refuse("body", "format")
	case f == formatJSON:
		err = readJSON(body, v.take, false)
	case f == formatForm:
		err = readPairs(string(body), v.take)
	default:
		err = readPairs(r.URL.RawQuery, v.take)
	}
	return v, err
}

// read takes apart a request of the gateway.
func (g *Gateway) read(r *http.Request, body []byte) (Request, error) {
	q := g.request
	v, err := readValues(r, body, q.formats, q.names)
	if err != nil {
		return Request{}, err
	}
	req := Request{Gateway: g.Name, Mode: g.Mode}
	if req.Phone, err = q.number(v); err != nil {
		return Request{}, err
	}
	if req.ServiceCode, err = q.serviceCode(v); err != nil {
		return Request{}, err
	}
	if req.SessionID, err = q.sessionID(v, req.Phone); err != nil {
		return Request{}, err
	}
	if word, ok := v.first(q.kind); ok {
		req.Kind = q.kinds[strings.ToLower(word)]
	}
	if req.Text, err = g.textOf(v, &req); err != nil {
		return Request{}, err
	}
	if q.ownID && req.SessionID == req.Phone && req.Kind == Unknown && req.Text == "" {
		req.Kind = Start // the only sign of a new call there is
	}
	step, _ := v.first(q.step)
	var ok bool
	if req.Step, ok = clean(step, maxStep); !ok {
		return Request{}, refuse("step", "characters")
	}
	req.Echo, err = q.echoOf(v)
	return req, err
}

// number converts the gateway's phone number to E.164.
func (q *request) number(v *values) (string, error) {
	s, _ := v.first(q.phone)
	s = plusAgain(s)
	for _, prefix := range q.numbers.Strip {
		s = strings.TrimPrefix(s, prefix)
	}
	n := q.numbers
	switch {
	case strings.HasPrefix(s, "+"):
	case n.Country != "" && strings.HasPrefix(s, "0") && !strings.HasPrefix(s, "00"):
		s = "+" + n.Country + s[1:]
	case n.Plus:
		s = "+" + strings.TrimPrefix(s, "00")
	}
	if !isPhone(s) {
		return "", refuse("phoneNumber", ruleE164)
	}
	return s, nil
}

// serviceCode completes the code: gateways leave out the star, the hash or
// all of it.
func (q *request) serviceCode(v *values) (string, error) {
	s, ok := v.first(q.code)
	if !ok || s == "" {
		s = q.fixedCode
	}
	s = WholeCode(s)
	if !isCode(s, 8) {
		return "", refuse("serviceCode", "form")
	}
	return s, nil
}

// WholeCode adds star and hash to a service code.
func WholeCode(s string) string {
	return "*" + strings.TrimSuffix(strings.TrimPrefix(s, "*"), "#") + "#"
}

func (q *request) sessionID(v *values, phone string) (string, error) {
	s, ok := v.first(q.session)
	if (!ok || s == "") && q.ownID {
		return phone, nil
	}
	s, ok = clean(s, MaxSessionID)
	if !ok {
		return "", refuse("sessionId", "characters")
	}
	if s == "" {
		return "", refuse("sessionId", "required")
	}
	return s, nil
}

// textOf is what the customer typed. On a start that is what was dialled after
// the code, perhaps nothing.
func (g *Gateway) textOf(v *values, req *Request) (string, error) {
	q := g.request
	from := q.text
	if req.Kind == Start && q.startText != nil {
		from = q.startText
	}
	s, ok := v.first(from)
	if !ok && req.Kind != Start && req.Kind != End {
		return "", refuse("text", "required")
	}
	s, ok = clean(s, g.MaxText)
	if !ok {
		return "", refuse("text", "characters")
	}
	if s == req.ServiceCode || req.Kind == Start && q.dialled {
		s = afterCode(s, req.ServiceCode)
	}
	return s, nil
}

// afterCode is what was dialled after the service code: *713*1*2# after *713#
// is 1*2. A string that was not dialled gives nothing: some gateways repeat the
// code in words.
func afterCode(dialled, code string) string {
	rest, ok := strings.CutPrefix(dialled, strings.TrimSuffix(code, "#"))
	if !ok {
		rest, ok = strings.CutPrefix(dialled, strings.Trim(code, "*#"))
	}
	rest = strings.TrimSuffix(rest, "#")
	if !ok || rest == "" || rest[0] != '*' {
		return ""
	}
	return rest[1:]
}

// echoOf keeps what the reply repeats.
func (q *request) echoOf(v *values) (map[string]string, error) {
	if len(q.echo) == 0 {
		return nil, nil
	}
	out := make(map[string]string, len(q.echo))
	for i, name := range q.echo {
		s, ok := clean(v.list[q.echoAt[i]].s, maxEcho)
		if !ok {
			return nil, refuse(name, "characters")
		}
		out[name] = s
	}
	return out, nil
}
