package wire

import (
	"net/http"
	"regexp"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// reply is a compiled replySpec.
type reply struct {
	format       string // text or json
	members      []member
	more, finish []byte // JSON scalars of "there is more" and "it is over"
}

// member is one member of a JSON answer.
type member struct {
	name  []byte // quoted, with its colon
	fixed []byte // JSON of a constant value; nil: made of parts
	parts []part
}

// part is a constant or the name of something that is filled in.
type part struct {
	text string
	slot string
}

var slotForm = regexp.MustCompile(`\{([A-Za-z_.]+)\}`)

// slots are what a JSON answer can hold besides {echo.FIELD}.
var slots = []string{"text", "session", "phone", "digits", "code", "next"}

// reply makes the form of the answers.
func (c *checker) reply(s replySpec, q requestSpec) reply {
	out := reply{format: s.Format}
	switch s.Format {
	case "text":
		if len(s.Body) > 0 || s.Continue != nil || s.End != nil {
			c.add("reply", "a text reply begins with CON or END and has nothing else")
		}
		return out
	case "json":
	case "":
		c.add("reply.format", "is needed")
		return out
	default:
		c.add("reply.format", "want text or json")
		return out
	}
	out.more, out.finish = c.scalar("reply.continue", s.Continue), c.scalar("reply.end", s.End)
	used := map[string]bool{}
	for _, item := range s.Body {
		name, ok := item.Key.(string)
		if !ok {
			c.add("reply.body", "want names as keys")
			continue
		}
		m := member{name: quoted(name)}
		m.name = append(m.name, ':')
		text, ok := item.Value.(string)
		if ok {
			m.parts = c.parts("reply.body."+name, text, q)
		} else {
			m.fixed = c.scalar("reply.body."+name, item.Value)
		}
		for _, p := range m.parts {
			used[p.slot] = true
		}
		out.members = append(out.members, m)
	}
	if !used["text"] || !used["next"] {
		c.add("reply.body", "want {text} and {next}, which becomes the word of continue or of end")
	}
	return out
}

// parts splits a template.
func (c *checker) parts(path, text string, q requestSpec) []part {
	var out []part
	for text != "" {
		at := slotForm.FindStringSubmatchIndex(text)
		if at == nil {
			return append(out, part{text: text})
		}
		if at[0] > 0 {
			out = append(out, part{text: text[:at[0]]})
		}
		slot := text[at[2]:at[3]]
		echo, isEcho := strings.CutPrefix(slot, "echo.")
		if isEcho && !slices.Contains(q.Echo, echo) {
			c.add(path, "%q is not in request.echo", echo)
		} else if !isEcho && !slices.Contains(slots, slot) {
			c.add(path, "{%s} is not known; there are {%s} and {echo.FIELD}", slot, strings.Join(slots, "}, {"))
		}
		out = append(out, part{slot: slot})
		text = text[at[1]:]
	}
	return out
}

// scalar is the JSON of a word, a number or a truth.
func (c *checker) scalar(path string, v any) []byte {
	switch v.(type) {
	case string, bool, int64, uint64, float64:
		if out, err := json.Marshal(v); err == nil {
			return out
		}
	}
	if v == nil {
		c.add(path, "is needed")
	} else {
		c.add(path, "want a word, a number, true or false")
	}
	return nil
}

// ContentType is the type of the gateway's answers.
func (g *Gateway) ContentType() string {
	if g.reply.format == "json" {
		return "application/json; charset=utf-8"
	}
	return "text/plain; charset=utf-8"
}

// Append adds the bytes of an answer to dst.
func (g *Gateway) Append(dst []byte, q Request, a Reply) []byte {
	if g.reply.format != "json" {
		if a.End {
			dst = append(dst, "END "...)
		} else {
			dst = append(dst, "CON "...)
		}
		return append(dst, a.Text...)
	}
	dst = append(dst, '{')
	for i, m := range g.reply.members {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, m.name...)
		dst = g.reply.value(dst, m, q, a)
	}
	return append(dst, '}')
}

// value adds one value. A template that is {next} alone keeps its JSON type.
func (r *reply) value(dst []byte, m member, q Request, a Reply) []byte {
	if m.fixed != nil {
		return append(dst, m.fixed...)
	}
	word := r.more
	if a.End {
		word = r.finish
	}
	if len(m.parts) == 1 && m.parts[0].slot == "next" {
		return append(dst, word...)
	}
	var b strings.Builder
	for _, p := range m.parts {
		switch {
		case p.slot == "":
			b.WriteString(p.text)
		case p.slot == "next":
			b.WriteString(strings.Trim(string(word), `"`))
		default:
			b.WriteString(fill(p.slot, q, a))
		}
	}
	return append(dst, quoted(b.String())...)
}

func fill(slot string, q Request, a Reply) string {
	switch slot {
	case "text":
		return a.Text
	case "session":
		return q.SessionID
	case "phone":
		return q.Phone
	case "digits":
		return strings.TrimPrefix(q.Phone, "+")
	case "code":
		return q.ServiceCode
	}
	return q.Echo[strings.TrimPrefix(slot, "echo.")]
}

// quoted writes s as a JSON string; invalid UTF-8 is replaced.
func quoted(s string) []byte {
	out, err := jsontext.AppendQuote(nil, strings.ToValidUTF8(s, "\uFFFD"))
	if err != nil {
		return []byte(`""`)
	}
	return out
}

// Write sends an answer. Its status is always 200: gateways drop the session on
// any other status, and the customer would never see the text.
func (g *Gateway) Write(w http.ResponseWriter, q Request, a Reply) {
	h := w.Header()
	h.Set("Content-Type", g.ContentType())
	h.Set("Cache-Control", "no-store")
	w.WriteHeader(http.StatusOK)
	_, _ = w.Write(g.Append(make([]byte, 0, 256), q, a)) // the gateway may have left
}
