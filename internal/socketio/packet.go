package socketio

import (
	"bytes"
	"encoding/json"
	"errors"
	"strconv"

	"github.com/hearth-dmrv/hearth/internal/socketio/engine"
)

// kind is the type of a packet, as the digit on the wire.
type kind byte

const (
	kindConnect      kind = '0'
	kindDisconnect   kind = '1'
	kindEvent        kind = '2'
	kindAck          kind = '3'
	kindConnectError kind = '4'
	kindBinaryEvent  kind = '5'
	kindBinaryAck    kind = '6'
)

const (
	maxNamespace   = 256 // bytes of a namespace's name
	maxAckDigits   = 16  // the most digits of a whole number in JavaScript
	maxAttachments = 10  // of one packet, as in socket.io-parser 4.2
	mainNamespace  = "/"
)

// errFormat means that bytes are no socket.io packet.
var errFormat = errors.New("not a socket.io packet")

// packet is what a client sent: type [attachments-] [/namespace,] [id] [JSON].
type packet struct {
	kind        kind // never a binary one: see attachments
	attachments int  // binary messages that follow
	namespace   string
	id          uint64
	hasID       bool
	name        string // of an event
	args        []json.RawMessage
	auth        json.RawMessage // of a connect; may be empty
	binary      [][]byte
	values      []any // args with binary in its places; nil without any
}

// parse reads the text of a packet. The packet shares its memory.
func parse(b []byte) (*packet, error) {
	if len(b) == 0 || b[0] < byte(kindConnect) || b[0] > byte(kindBinaryAck) {
		return nil, errFormat
	}
	p := &packet{kind: kind(b[0]), namespace: mainNamespace}
	b = b[1:]
	if p.kind == kindBinaryEvent || p.kind == kindBinaryAck {
		digits, rest, ok := bytes.Cut(b, []byte("-"))
		n, err := strconv.ParseUint(string(digits), 10, 8)
		if !ok || err != nil || n > maxAttachments {
			return nil, errFormat
		}
		p.attachments, b = int(n), rest
		p.kind -= kindBinaryEvent - kindEvent
	}
	if len(b) > 0 && b[0] == '/' {
		name, rest, _ := bytes.Cut(b, []byte(","))
		if len(name) > maxNamespace {
			return nil, errFormat
		}
		p.namespace, b = string(name), rest
	}
	digits := 0
	for digits < len(b) && b[digits] >= '0' && b[digits] <= '9' {
		digits++
	}
	if digits > 0 {
		id, err := strconv.ParseUint(string(b[:digits]), 10, 64)
		if err != nil || digits > maxAckDigits {
			return nil, errFormat
		}
		p.id, p.hasID, b = id, true, b[digits:]
	}
	return p, p.payload(b)
}

// payload checks and takes the JSON of a packet.
func (p *packet) payload(b []byte) error {
	if len(b) > 0 && !json.Valid(b) {
		return errFormat
	}
	switch p.kind {
	case kindConnect:
		if len(b) > 0 && b[0] != '{' {
			return errFormat
		}
		p.auth = b
	case kindDisconnect:
		if len(b) > 0 {
			return errFormat
		}
	case kindEvent, kindAck:
		if len(b) == 0 || b[0] != '[' {
			return errFormat
		}
		p.args = split(b)
		if p.kind == kindEvent {
			return p.takeName()
		}
		if !p.hasID {
			return errFormat
		}
	default: // a connect error is ours to send
		return errFormat
	}
	return nil
}

// takeName moves the first argument of an event to its name.
func (p *packet) takeName() error {
	if len(p.args) == 0 || json.Unmarshal(p.args[0], &p.name) != nil || p.args[0][0] != '"' {
		return errFormat
	}
	switch p.name {
	case "connect", "connect_error", "disconnect", "disconnecting", "newListener", "removeListener":
		return errFormat // words clients keep for themselves
	}
	p.args = p.args[1:]
	return nil
}

// split cuts a valid JSON array into its elements.
func split(b []byte) []json.RawMessage {
	b = bytes.TrimSpace(b)
	b = b[1 : len(b)-1]
	var out []json.RawMessage
	for len(b) > 0 {
		n := element(b)
		if one := bytes.TrimSpace(b[:n]); len(one) > 0 {
			out = append(out, json.RawMessage(one[:len(one):len(one)]))
		}
		b = b[min(n+1, len(b)):]
	}
	return out
}

// element is the number of bytes before the first comma outside of nested
// values.
func element(b []byte) int {
	depth, text := 0, false
	for i := 0; i < len(b); i++ {
		switch c := b[i]; {
		case text && c == '\\':
			i++
		case c == '"':
			text = !text
		case text:
		case c == '[' || c == '{':
			depth++
		case c == ']' || c == '}':
			depth--
		case c == ',' && depth == 0:
			return i
		}
	}
	return len(b)
}

// assemble puts the binary messages of a packet in their places.
func (p *packet) assemble() error {
	p.values = make([]any, len(p.args))
	for i, raw := range p.args {
		d := json.NewDecoder(bytes.NewReader(raw))
		d.UseNumber()
		if err := d.Decode(&p.values[i]); err != nil {
			return errFormat
		}
		var ok bool
		if p.values[i], ok = p.fill(p.values[i]); !ok {
			return errFormat
		}
	}
	return nil
}

// fill replaces the placeholders in v.
func (p *packet) fill(v any) (_ any, ok bool) {
	switch v := v.(type) {
	case []any:
		for i := range v {
			if v[i], ok = p.fill(v[i]); !ok {
				return nil, false
			}
		}
	case map[string]any:
		if here, _ := v["_placeholder"].(bool); here {
			num, _ := v["num"].(json.Number)
			n, err := strconv.Atoi(num.String())
			if err != nil || n < 0 || n >= len(p.binary) {
				return nil, false
			}
			return Binary(p.binary[n]), true
		}
		for k := range v {
			if v[k], ok = p.fill(v[k]); !ok {
				return nil, false
			}
		}
	}
	return v, true
}

// head builds the text of a packet before its JSON.
func head(k kind, namespace string, attachments int, id *uint64) []byte {
	if attachments > 0 {
		k += kindBinaryEvent - kindEvent
	}
	b := append(make([]byte, 0, 32), byte(k))
	if attachments > 0 {
		b = append(strconv.AppendInt(b, int64(attachments), 10), '-')
	}
	if namespace != mainNamespace {
		b = append(append(b, namespace...), ',')
	}
	if id != nil {
		b = strconv.AppendUint(b, *id, 10)
	}
	return b
}

// packets makes the engine's packets of a text and its binary values.
func packets(text []byte, binary [][]byte) []engine.Packet {
	out := make([]engine.Packet, 0, 1+len(binary))
	out = append(out, engine.Text(text))
	for _, b := range binary {
		out = append(out, engine.Binary(b))
	}
	return out
}
