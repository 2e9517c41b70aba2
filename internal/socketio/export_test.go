package socketio

import "encoding/json"

// Parsed is a packet as tests look at it.
type Parsed struct {
	Kind        string
	Attachments int
	Namespace   string
	ID          int64 // -1 without one
	Name        string
	Args        []string
	Auth        string
}

// Parse parses the text of a packet.
func Parse(text string) (Parsed, error) {
	p, err := parse([]byte(text))
	if err != nil {
		return Parsed{}, err
	}
	out := Parsed{Kind: string(rune(p.kind)), Attachments: p.attachments, Namespace: p.namespace, ID: -1, Name: p.name, Auth: string(p.auth)}
	if p.hasID {
		out.ID = int64(p.id)
	}
	for _, arg := range p.args {
		out.Args = append(out.Args, string(arg))
	}
	return out, nil
}

// Assemble puts binary values into the arguments of a packet and encodes them
// again.
func Assemble(text string, binary ...[]byte) (again string, atts [][]byte, err error) {
	p, err := parse([]byte(text))
	if err != nil {
		return "", nil, err
	}
	p.binary = binary
	if err := p.assemble(); err != nil {
		return "", nil, err
	}
	raw, atts, err := encode(nil, p.values)
	return string(raw), atts, err
}

// Encode encodes arguments.
func Encode(args ...any) (string, [][]byte, error) {
	raw, binary, err := encode(nil, args)
	return string(raw), binary, err
}

// Split cuts a JSON array.
func Split(array string) []json.RawMessage { return split([]byte(array)) }

// Live is the number of sockets whose handlers may run.
func (s *Server) Live() int {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return len(s.live)
}

// Inbox is the number of events that wait for the socket's handlers.
func (s *Socket) Inbox() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.inbox)
}

// Hold keeps sockets from leaving the namespace until release is called.
func (n *Namespace) Hold() (release func()) {
	n.mu.RLock()
	return n.mu.RUnlock
}
