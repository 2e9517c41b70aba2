// Package wire reads one key press as a telecom gateway sends it and writes the
// answer as that gateway wants it. It takes JSON, form and query requests,
// checks every documented rule and cleans what a person typed; its results are
// always valid. Gateways that use other names than the documented ones are
// data: a YAML file each, some of them bundled. It keeps no session and knows
// no menu.
package wire

import (
	"net/http"
	"time"

	"github.com/hearth-dmrv/hearth/internal/fault"
)

// Kind is what a gateway says a request is.
type Kind string

// The kinds. A gateway that does not say leaves it Unknown.
const (
	Unknown Kind = ""
	Start   Kind = "start" // the customer dialled
	Input   Kind = "input" // the customer answered
	End     Kind = "end"   // the customer or the network hung up
)

// Mode says which part of a session Text holds.
type Mode string

// The modes. A request without one is read as the operator has set.
const (
	Accumulated Mode = "accumulated" // all answers so far, separated by *
	Latest      Mode = "latest"      // the newest answer alone
)

// Request is one key press. Read fills it in with clean values: SessionID is
// 1 to 100 printable characters, Phone is E.164, ServiceCode is *digits# with
// further *digits groups, Text has no control character.
type Request struct {
	Gateway     string // name of the adapter; "" is the documented interface
	SessionID   string
	ServiceCode string
	Phone       string
	Text        string
	Kind        Kind
	Mode        Mode
	// Step is what the gateway identifies its requests by, a number of the step
	// or an id of the request: a repeated request has the same. "" means none.
	Step    string
	Arrived time.Time // when it came in; the caller sets it
	// Echo is what the gateway wants back in the reply, by field. It may hold
	// what was typed, so it is never stored or logged.
	Echo map[string]string
}

// Reply is the answer to a request: a screen, and whether the session is over.
type Reply struct {
	Text string
	End  bool
}

// Lengths in code points, as received.
const (
	MaxSessionID = 100 // the documented limit
	MaxText      = 182 // the documented limit; a gateway may have its own
	maxCode      = 182 // no handset dials more
	maxEcho      = 200
	maxStep      = 100
)

// ruleE164 is the rule for phone numbers.
const ruleE164 = "e164"

// refuse is the one fault of this package: it names the field and the rule,
// never the value, which may hold a PIN.
func refuse(field, code string) error {
	detail := "This field breaks the rule " + code + "."
	if code == ruleE164 {
		detail = "The value must be a number with + and the country code, such as +254712345678. For local numbers (0712345678) use a gateway whose file has numbers.country."
	}
	return fault.New(fault.Invalid, "USSD_INVALID_INPUT", "The request is not a valid USSD step.").
		With(fault.Field{Pointer: "/" + field, Code: code, Detail: detail})
}

// Read reads a request. The gateway nil is the documented interface: a JSON or
// form body with sessionId, serviceCode, phoneNumber and text. Every problem is
// a fault of kind Invalid. The body may be reused afterwards.
func Read(r *http.Request, body []byte, g *Gateway) (Request, error) {
	if g == nil || g.plain() {
		return readPlain(r, body)
	}
	return g.read(r, body)
}

// readPlain reads the documented body, first the way nearly all of them look.
func readPlain(r *http.Request, body []byte) (Request, error) {
	f, err := formatOf(r)
	if err != nil {
		return Request{}, err
	}
	if f == formatJSON {
		if req, ok := quick(body); ok {
			return req, req.check()
		}
	}
	var v plainValues
	switch {
	case f == formatJSON:
		err = readJSON(body, v.take, true)
	case f == formatForm && r.Method != http.MethodGet:
		err = readPairs(string(body), v.take)
	default:
		err = refuse("body", "format")
	}
	if err != nil {
		return Request{}, err
	}
	return v.request(f)
}

// plainValues are the members of the documented body.
type plainValues struct {
	session, code, phone, text, network value
}

// take keeps a value when its name is a documented one.
func (p *plainValues) take(name string, v value) (known bool, err error) {
	var to *value
	switch name {
	case "sessionId":
		to = &p.session
	case "serviceCode":
		to = &p.code
	case "phoneNumber":
		to = &p.phone
	case "text":
		to = &p.text
	case "networkCode":
		to = &p.network
	default:
		return false, nil
	}
	if to.set {
		return true, refuse(name, "twice")
	}
	*to = v
	return true, nil
}

// request checks the values. A number is text too: some gateways send 5 for
// "5". The other members must be strings.
func (p *plainValues) request(f format) (Request, error) {
	if !p.text.scalar() {
		return Request{}, refuse("text", "string")
	}
	for _, m := range []struct {
		name string
		v    value
	}{{"sessionId", p.session}, {"serviceCode", p.code}, {"phoneNumber", p.phone}} {
		if !m.v.set || m.v.kind != '"' {
			return Request{}, refuse(m.name, "string")
		}
	}
	req := Request{SessionID: p.session.s, ServiceCode: p.code.s, Phone: p.phone.s, Text: p.text.s}
	if f == formatForm {
		req.Phone = plusAgain(req.Phone)
		if p.network.set {
			// Only Africa's Talking and compatible gateways send this field,
			// and they accumulate.
			req.Mode = Accumulated
		}
	}
	var ok bool
	if req.SessionID, ok = clean(req.SessionID, MaxSessionID); !ok {
		return Request{}, refuse("sessionId", "characters")
	}
	if req.Text, ok = clean(req.Text, MaxText); !ok {
		return Request{}, refuse("text", "characters")
	}
	return req, req.check()
}

// check looks at the rules of form; characters and lengths were looked at
// where they were read. A text that is the dialled code itself is a first dial
// of a network that sends it as the first input.
func (r *Request) check() error {
	switch {
	case r.SessionID == "":
		return refuse("sessionId", "required")
	case !isPhone(r.Phone):
		return refuse("phoneNumber", ruleE164)
	case !isCode(r.ServiceCode, 2):
		return refuse("serviceCode", "form")
	}
	if r.Text == r.ServiceCode {
		r.Text = ""
	}
	return nil
}
