package wire

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// NewRequest makes the HTTP request that the gateway would send for q, for
// simulators and tests: the counterpart of Read. base is the address of the
// server, such as http://localhost:3000. With a secret the request authenticates
// as the gateway does, by its signature or by the header of the secret.
func (g *Gateway) NewRequest(ctx context.Context, base, secret string, q Request) (*http.Request, error) {
	r, body, err := g.newRequest(ctx, base, q)
	switch {
	case err != nil:
		return nil, fmt.Errorf("make request: %w", err)
	case secret == "":
	case g.Signed():
		g.signature.sign(r.Header, []byte(body), []byte(secret), time.Now())
	default:
		r.Header.Set(SecretHeader, secret)
	}
	return r, nil
}

// newRequest makes a request that proves nothing, and its body.
func (g *Gateway) newRequest(ctx context.Context, base string, q Request) (*http.Request, string, error) {
	fields, f := g.compose(q)
	target := strings.TrimSuffix(base, "/") + "/api/ussd"
	if !g.plain() {
		target += "/" + g.Name
	}
	if f == formatQuery {
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, target+"?"+encodePairs(fields), nil)
		return r, "", err
	}
	body, contentType := encodePairs(fields), "application/x-www-form-urlencoded"
	if f == formatJSON {
		body, contentType = encodeJSON(fields), "application/json"
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, target, strings.NewReader(body))
	if err != nil {
		return nil, "", err
	}
	r.Header.Set("Content-Type", contentType)
	return r, body, nil
}

// pair is one field of a request.
type pair struct{ name, text string }

// compose puts the parts of q under the gateway's first names.
func (g *Gateway) compose(q Request) ([]pair, format) {
	if g.plain() {
		return []pair{{"sessionId", q.SessionID}, {"serviceCode", q.ServiceCode}, {"phoneNumber", q.Phone}, {"text", q.Text}}, formatJSON
	}
	c := composer{names: make([]string, len(g.request.names))}
	for name, i := range g.request.names {
		c.names[i] = name
	}
	r := g.request
	if len(r.code) == 0 {
		q.ServiceCode = r.fixedCode
	}
	for _, name := range r.echo {
		c.put(name, "") // a later part of the same field replaces it
	}
	c.first(r.session, q.SessionID)
	c.first(r.phone, q.Phone)
	c.first(r.code, q.ServiceCode)
	c.first(r.step, q.Step)
	text := q.Text
	if q.Kind == Start && r.dialled {
		if text = strings.TrimSuffix(q.ServiceCode, "#"); q.Text != "" {
			text += "*" + q.Text
		}
		text += "#"
	}
	if q.Kind == Start && r.startText != nil {
		c.first(r.startText, text)
		text = ""
	}
	c.first(r.text, text)
	if len(r.kind) > 0 {
		c.first(r.kind, r.word(q.Kind))
	}
	return c.fields, r.formats[0]
}

// word is a word by which the gateway announces k, the smallest of several so
// that it is always the same one.
func (q *request) word(k Kind) string {
	best := ""
	for word, kind := range q.kinds {
		if kind == k && (best == "" || word < best) {
			best = word
		}
	}
	return best
}

// composer gathers the fields of a request in their order.
type composer struct {
	names  []string
	fields []pair
}

func (c *composer) first(at []int, text string) {
	if len(at) > 0 {
		c.put(c.names[at[0]], text)
	}
}

func (c *composer) put(name, text string) {
	for i := range c.fields {
		if c.fields[i].name == name {
			c.fields[i].text = text
			return
		}
	}
	c.fields = append(c.fields, pair{name, text})
}

func encodePairs(fields []pair) string {
	parts := make([]string, len(fields))
	for i, f := range fields {
		parts[i] = url.QueryEscape(f.name) + "=" + url.QueryEscape(f.text)
	}
	return strings.Join(parts, "&")
}

func encodeJSON(fields []pair) string {
	out := []byte{'{'}
	for i, f := range fields {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(append(out, quoted(f.name)...), ':')
		out = append(out, quoted(f.text)...)
	}
	return string(append(out, '}'))
}

// ReadReply extracts the screen from an answer of the server: the counterpart
// of Append.
func (g *Gateway) ReadReply(contentType string, body []byte) (Reply, error) {
	if contentType != g.ContentType() {
		return Reply{}, fmt.Errorf("the answer has the type %q, not %q", contentType, g.ContentType())
	}
	if g.reply.format == "json" {
		return g.reply.read(body)
	}
	text := string(body)
	if rest, ok := strings.CutPrefix(text, "CON "); ok {
		return Reply{Text: rest}, nil
	}
	if rest, ok := strings.CutPrefix(text, "END "); ok {
		return Reply{Text: rest, End: true}, nil
	}
	return Reply{}, errors.New("the answer does not begin with CON or END")
}

// read finds the members that hold the text and the word alone.
func (r *reply) read(body []byte) (Reply, error) {
	var members map[string]jsontext.Value
	if err := json.Unmarshal(body, &members); err != nil {
		return Reply{}, fmt.Errorf("the answer is no JSON object: %w", err)
	}
	var out Reply
	var known bool
	for _, m := range r.members {
		name, err := jsontext.AppendUnquote(nil, bytes.TrimSuffix(m.name, []byte(":")))
		if err != nil || len(m.parts) != 1 {
			continue
		}
		v := members[string(name)]
		switch m.parts[0].slot {
		case "text":
			err = json.Unmarshal(v, &out.Text)
		case "next":
			out.End = bytes.Equal(v, r.finish)
			known = out.End || bytes.Equal(v, r.more)
		}
		if err != nil {
			return Reply{}, fmt.Errorf("the member %s of the answer: %w", name, err)
		}
	}
	if !known {
		return Reply{}, errors.New("the answer does not say whether there is more")
	}
	return out, nil
}
