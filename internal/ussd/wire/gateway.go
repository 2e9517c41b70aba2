package wire

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/hearth-dmrv/hearth/internal/ussd/menu"
)

// Gateway is the dialect of one aggregator, made from its YAML file. It never
// changes.
type Gateway struct {
	Name       string
	Title      string
	Unverified bool        // nobody has seen it work; an example
	Mode       Mode        // "" on the documented interface, where the operator sets it
	Limits     menu.Limits // zero: those of the menu
	MaxText    int         // code points of the text as received
	request    *request
	reply      reply
	events     *events
	signature  *signature
	spot       spot // of its name in the file
}

// request is a compiled requestSpec.
type request struct {
	formats   []format
	names     map[string]int // field of the request → index of its value
	session   []int
	phone     []int
	code      []int
	text      []int
	startText []int
	step      []int
	echo      []string
	echoAt    []int
	kind      []int
	kinds     map[string]Kind // by lower-case word
	dialled   bool
	numbers   phoneSpec
	ownID     bool   // a gateway without session ids: the number is one
	fixedCode string // when the request carries none
}

// plain reports whether g is the documented interface.
func (g *Gateway) plain() bool { return g.request == nil }

// Plain is the documented interface as a gateway.
func Plain() *Gateway {
	return &Gateway{Title: "The documented interface", MaxText: MaxText, reply: reply{format: "text"}}
}

// HasEvents reports whether the gateway sends notifications of the end of a
// session.
func (g *Gateway) HasEvents() bool { return g.events != nil }

// Takes reports whether requests may use the method.
func (g *Gateway) Takes(method string) bool {
	if g.plain() {
		return method == "POST"
	}
	if method == "GET" {
		return slices.Contains(g.request.formats, formatQuery)
	}
	return method == "POST"
}

var (
	nameForm    = regexp.MustCompile(`^[a-z][a-z0-9-]{0,31}$`)
	countryForm = regexp.MustCompile(`^[1-9][0-9]{0,2}$`)
)

// reserved are words that are routes besides the gateways.
var reserved = []string{"debug", "sessions", "events"}

func (c *checker) gateway(s spec) *Gateway {
	if s.Gateway == "" {
		c.add("gateway", "is needed")
	} else if !nameForm.MatchString(s.Gateway) {
		c.add("gateway", "want a name of lower-case letters, digits and hyphens, at most 32 characters")
	} else if slices.Contains(reserved, s.Gateway) {
		c.add("gateway", "%q is a route of its own", s.Gateway)
	}
	g := &Gateway{Name: s.Gateway, Title: s.Title, Unverified: s.Unverified, Mode: Mode(s.Mode), Limits: s.Limits, MaxText: s.MaxText}
	if g.Title == "" {
		g.Title = g.Name
	}
	switch g.Mode {
	case "":
		g.Mode = Accumulated
	case Accumulated, Latest:
	case "auto":
		c.add("mode", "auto is no longer a mode: want latest if a request holds the newest answer alone, else accumulated")
	default:
		c.add("mode", "want accumulated or latest")
	}
	if g.MaxText == 0 {
		g.MaxText = MaxText
	} else if g.MaxText < 20 || g.MaxText > 4000 {
		c.add("maxText", "want 20 to 4000 characters")
	}
	c.limit("limits.gsm7", s.Limits.GSM7, 182)
	c.limit("limits.ucs2", s.Limits.UCS2, 80)
	if g.request = (&request{}); c.written("request") {
		g.request = c.request(s.Request)
	} else {
		c.add("request", "is needed")
	}
	if c.written("reply") {
		g.reply = c.reply(s.Reply, s.Request)
	} else {
		c.add("reply", "is needed")
	}
	if s.Signature != nil {
		g.signature = c.signature(*s.Signature, s.Request.Format)
	}
	if s.Events != nil {
		g.events = c.events(*s.Events)
	}
	return g
}

// limit requires 0, which means the menu's limit, or a size a screen can have.
func (c *checker) limit(path string, n, most int) {
	if n != 0 && (n < 40 || n > most) {
		c.add(path, "want 40 to %d", most)
	}
}

func (c *checker) request(s requestSpec) *request {
	q := &request{names: map[string]int{}, dialled: s.Dialled, numbers: s.Numbers, kinds: map[string]Kind{}}
	q.formats = c.formats("request.format", s.Format)
	c.need("request.phone", s.Phone)
	c.need("request.text", s.Text)
	q.session = c.fields(q.names, "request.session", s.Session)
	q.phone = c.fields(q.names, "request.phone", s.Phone)
	q.code = c.fields(q.names, "request.code", s.Code)
	q.text = c.fields(q.names, "request.text", s.Text)
	q.startText = c.fields(q.names, "request.startText", s.StartText)
	q.step = c.fields(q.names, "request.step", s.Step)
	q.echo, q.echoAt = s.Echo, c.fields(q.names, "request.echo", s.Echo)
	switch s.Default.Session {
	case "":
		c.need("request.session", s.Session)
	case "phone":
		q.ownID = true
	default:
		c.add("request.default.session", "want phone, for gateways without session ids")
	}
	if q.fixedCode = s.Default.Code; q.fixedCode == "" {
		c.need("request.code", s.Code)
	} else if !isCode(q.fixedCode, 8) {
		c.add("request.default.code", "want a service code such as *384#")
	}
	if s.Numbers.Country != "" && !countryForm.MatchString(s.Numbers.Country) {
		c.add("request.numbers.country", "want a country code such as 254")
	}
	c.kinds(q, s)
	return q
}

func (c *checker) kinds(q *request, s requestSpec) {
	if s.Kind == nil {
		if len(s.StartText) > 0 {
			c.add("request.startText", "needs request.kind, which tells a start")
		}
		return
	}
	c.need("request.kind.field", s.Kind.Field)
	q.kind = c.fields(q.names, "request.kind.field", s.Kind.Field)
	for _, k := range []struct {
		path string
		list words
		kind Kind
	}{{"request.kind.start", s.Kind.Start, Start}, {"request.kind.input", s.Kind.Input, Input}, {"request.kind.end", s.Kind.End, End}} {
		for _, word := range k.list {
			word = strings.ToLower(word)
			if _, twice := q.kinds[word]; twice {
				c.add(k.path, "%q stands in two lists", word)
			}
			q.kinds[word] = k.kind
		}
	}
	c.need("request.kind.start", s.Kind.Start)
}

func (c *checker) need(path string, list words) {
	if len(list) == 0 {
		c.add(path, "is needed")
	}
}

func (c *checker) formats(path string, list words) []format {
	c.need(path, list)
	var out []format
	for _, f := range list {
		switch format(f) {
		case formatJSON, formatForm, formatQuery:
			out = append(out, format(f))
		default:
			c.add(path, "want json, form or query")
		}
	}
	return out
}

// fields gives the names their places among the values.
func (c *checker) fields(names map[string]int, path string, list words) []int {
	var at []int
	for i, name := range list {
		if name == "" || len(name) > 64 {
			c.add(path+"["+strconv.Itoa(i)+"]", "want the name of a field, at most 64 characters")
			continue
		}
		if _, ok := names[name]; !ok {
			names[name] = len(names)
		}
		at = append(at, names[name])
	}
	return at
}
