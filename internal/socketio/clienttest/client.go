package clienttest

import (
	"bufio"
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/hearth-dmrv/hearth/internal/socketio/engine"
)

// Patience is how long a client waits for anything, unless Dial's context has
// an earlier deadline.
const Patience = 20 * time.Second

// maxMessage is the largest message that a client accepts.
const maxMessage = 16 << 20

// Client is one connection, over websocket only. It starts no goroutine, answers pings
// while it reads, and can break the protocol. Only one goroutine may use it.
type Client struct {
	conn   net.Conn
	reader *engine.Reader
	sent   [][]byte // binary messages that came and nobody asked for yet
}

// Dial opens a websocket to address, an http URL with the path and query of the
// server, and adds the query parameters of engine.io. It does not read the open
// packet.
func Dial(ctx context.Context, address string, headers http.Header) (*Client, error) {
	u, err := url.Parse(address)
	if err != nil {
		return nil, err
	}
	q := u.Query()
	q.Set("EIO", "4")
	q.Set("transport", "websocket")
	u.RawQuery = q.Encode()
	var dialer net.Dialer
	conn, err := dialer.DialContext(ctx, "tcp", u.Host)
	if err != nil {
		return nil, err
	}
	deadline := time.Now().Add(Patience)
	if d, ok := ctx.Deadline(); ok && d.Before(deadline) {
		deadline = d
	}
	c := &Client{conn: conn}
	if err := conn.SetDeadline(deadline); err != nil {
		return nil, closeAfter(conn, err)
	}
	if err := c.handshake(u, headers); err != nil {
		return nil, fmt.Errorf("dial %s: %w", address, closeAfter(conn, err))
	}
	return c, nil
}

func closeAfter(conn net.Conn, err error) error {
	_ = conn.Close()
	return err
}

func (c *Client) handshake(u *url.URL, headers http.Header) error {
	nonce := make([]byte, 16)
	rand.Read(nonce)
	key := base64.StdEncoding.EncodeToString(nonce)
	r := &http.Request{Method: http.MethodGet, URL: u, Host: u.Host, Header: http.Header{
		"Connection": {"Upgrade"}, "Upgrade": {"websocket"}, "Sec-Websocket-Version": {"13"}, "Sec-Websocket-Key": {key},
	}}
	for name, values := range headers {
		r.Header[name] = values
	}
	if err := r.Write(c.conn); err != nil {
		return err
	}
	buffered := bufio.NewReaderSize(c.conn, 1024)
	answer, err := http.ReadResponse(buffered, r)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusSwitchingProtocols || answer.Header.Get("Sec-Websocket-Accept") != engine.AcceptKey(key) {
		return &StatusError{Status: answer.StatusCode}
	}
	begin, _ := buffered.Peek(buffered.Buffered())
	c.reader = engine.NewClientReader(c.conn, begin, maxMessage)
	return nil
}

// StatusError is a handshake that the server refused.
type StatusError struct{ Status int }

// Error contains the status.
func (e *StatusError) Error() string { return fmt.Sprintf("websocket refused: %d", e.Status) }

// Join dials and connects to the namespace "/" with auth, which it encodes as
// JSON.
func Join(ctx context.Context, address string, auth any) (*Client, error) {
	c, err := Dial(ctx, address, nil)
	if err != nil {
		return nil, err
	}
	raw, err := json.Marshal(auth)
	if err != nil {
		return nil, closeAfter(c.conn, err)
	}
	if err := c.Send("40" + string(raw)); err != nil {
		return nil, closeAfter(c.conn, err)
	}
	for _, want := range []string{"0{", "40{"} {
		if got, err := c.Text(); err != nil || !strings.HasPrefix(got, want) {
			return nil, closeAfter(c.conn, fmt.Errorf("join: got %q, want %s…: %v", got, want, err))
		}
	}
	return c, nil
}

// Send sends a text message unchanged.
func (c *Client) Send(text string) error { return c.SendFrame(engine.OpText, []byte(text)) }

// SendFrame sends a message or control frame.
func (c *Client) SendFrame(op engine.Opcode, data []byte) error {
	return c.SendRaw(engine.AppendMasked(nil, op, false, [4]byte{1, 2, 3, 4}, data))
}

// SendRaw writes bytes to the connection.
func (c *Client) SendRaw(b []byte) error {
	_, err := c.conn.Write(b)
	return err
}

// Emit sends an event in the namespace "/".
func (c *Client) Emit(event string, args ...any) error {
	raw, err := json.Marshal(append([]any{event}, args...))
	if err != nil {
		return err
	}
	return c.Send("42" + string(raw))
}

// Next reads the next message or control frame of any kind.
func (c *Client) Next() (engine.Opcode, []byte, error) { return c.reader.Next() }

// Text reads the next text message. It answers pings and keeps binary messages for
// Binary.
func (c *Client) Text() (string, error) {
	for {
		op, data, err := c.reader.Next()
		switch {
		case err != nil:
			return "", err
		case op == engine.OpClose:
			return "", &engine.CloseError{Code: engine.StatusNormal, Reason: string(data)}
		case op == engine.OpBinary:
			c.sent = append(c.sent, data)
		case op == engine.OpText && string(data) == "2":
			if err := c.Send("3"); err != nil {
				return "", err
			}
		case op == engine.OpText:
			return string(data), nil
		}
	}
}

// Binary returns the next binary message.
func (c *Client) Binary() ([]byte, error) {
	if len(c.sent) > 0 {
		first := c.sent[0]
		c.sent = c.sent[1:]
		return first, nil
	}
	op, data, err := c.reader.Next()
	if err == nil && op != engine.OpBinary {
		err = fmt.Errorf("got %q, want a binary message", data)
	}
	return data, err
}

// Event reads until an event of that name comes, skips everything else, and
// returns its arguments.
func (c *Client) Event(name string) ([]json.RawMessage, error) {
	for {
		text, err := c.Text()
		if err != nil {
			return nil, fmt.Errorf("wait for %s: %w", name, err)
		}
		rest, ok := strings.CutPrefix(text, "42")
		if !ok {
			continue
		}
		var args []json.RawMessage
		var got string
		rest = strings.TrimLeft(rest, "0123456789")
		if json.Unmarshal([]byte(rest), &args) != nil || len(args) == 0 || json.Unmarshal(args[0], &got) != nil {
			return nil, fmt.Errorf("the server sent %q", text)
		}
		if got == name {
			return args[1:], nil
		}
	}
}

// Close ends the connection as a client that leaves does.
func (c *Client) Close() error {
	_ = c.Send("41") // the connection may be closed already
	_ = c.SendFrame(engine.OpClose, nil)
	return c.conn.Close()
}

// Cut ends the connection without a close frame.
func (c *Client) Cut() error { return c.conn.Close() }
