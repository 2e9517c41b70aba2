package cli

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"flag"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

func mcpCommands() []command {
	return []command{
		{name: "mcp", summary: "Speak MCP with an assistant over input and output, for the running server", run: runMCP, flags: mcpFlags},
	}
}

type mcpOptions struct{ access }

func mcpFlags(fs *flag.FlagSet) any {
	o := &mcpOptions{}
	o.register(fs, "what the assistant may see, such as entities:read and surveys:read")
	return o
}

const (
	maxMessage = 4 << 20 // bytes of a message of an assistant
	maxWaiting = 16      // requests of it at once
)

// runMCP passes the messages of an assistant to the MCP server at /mcp of a running
// server, and its answers back. It interprets no more of them than necessary.
func runMCP(ctx context.Context, c *call) error {
	o := c.own.(*mcpOptions)
	m, err := o.dial(ctx, c)
	if err != nil {
		return err
	}
	b := &bridge{remote: m, places: make(chan struct{}, maxWaiting), open: map[string]context.CancelFunc{}}
	lines := bufio.NewScanner(c.in)
	lines.Buffer(make([]byte, 64<<10), maxMessage)
	for lines.Scan() {
		if line := bytes.TrimSpace(lines.Bytes()); len(line) > 0 {
			b.take(ctx, bytes.Clone(line))
		}
	}
	b.work.Wait()
	if err := lines.Err(); err != nil {
		return fmt.Errorf("read messages: %w", err)
	}
	return nil
}

// bridge joins an assistant on this machine with a server.
type bridge struct {
	remote *remote
	places chan struct{}
	work   sync.WaitGroup

	login   sync.RWMutex // held while another session is opened
	out     sync.Mutex   // one message at a time
	mu      sync.Mutex
	open    map[string]context.CancelFunc // requests under way, by id
	version string                        // of the protocol, as it was agreed on
}

// envelope is what the bridge reads of a message.
type envelope struct {
	ID     jsontext.Value `json:"id"`
	Method string         `json:"method"`
	Params struct {
		Name      string         `json:"name"`
		URI       string         `json:"uri"`
		RequestID jsontext.Value `json:"requestId"`
		Meta      struct {
			Version string `json:"io.modelcontextprotocol/protocolVersion"`
		} `json:"_meta"`
	} `json:"params"`
}

// take takes a message of the assistant. The server keeps nothing between requests, so
// a request is cancelled by leaving it.
func (b *bridge) take(ctx context.Context, line []byte) {
	var m envelope
	if err := json.Unmarshal(line, &m); err != nil {
		b.refuse(jsontext.Value("null"), -32700, "The message is not JSON-RPC on one line.")
		return
	}
	switch {
	case m.Method == "notifications/cancelled":
		b.mu.Lock()
		defer b.mu.Unlock()
		if cancel := b.open[string(m.Params.RequestID)]; cancel != nil {
			cancel()
		}
		return
	case m.Method == "": // an answer, but nothing was asked
		return
	}
	b.places <- struct{}{}
	ctx, cancel := context.WithCancel(ctx)
	if len(m.ID) > 0 {
		b.mu.Lock()
		b.open[string(m.ID)] = cancel
		b.mu.Unlock()
	}
	b.work.Go(func() {
		defer func() { <-b.places }()
		b.pass(ctx, &m, line)
		b.mu.Lock()
		delete(b.open, string(m.ID))
		b.mu.Unlock()
		cancel()
	})
}

// pass sends a message to the server and its answer to the assistant.
func (b *bridge) pass(ctx context.Context, m *envelope, line []byte) {
	res, err := b.send(ctx, m, line)
	if err == nil && res.StatusCode == http.StatusUnauthorized && b.remote.key == "" {
		_ = res.Body.Close() // its session has ended: another one is opened
		b.login.Lock()
		err = b.remote.enter(ctx)
		b.login.Unlock()
		if err == nil {
			res, err = b.send(ctx, m, line)
		}
	}
	switch {
	case ctx.Err() != nil:
		if err == nil {
			_ = res.Body.Close() // it is no longer needed
		}
		return
	case err != nil:
		b.refuse(m.ID, -32000, unreachable(b.remote.base, err).Error())
		return
	}
	defer res.Body.Close()
	if res.StatusCode >= http.StatusBadRequest {
		b.refuse(m.ID, -32000, "The server answers "+res.Status+": "+reasonOf(res.Body))
		return
	}
	if err := b.answer(m, res); err != nil && ctx.Err() == nil {
		b.refuse(m.ID, -32000, "The answer was cut off.")
	}
}

// reasonOf is what a server says about a refusal.
func reasonOf(from io.Reader) string {
	text, _ := io.ReadAll(io.LimitReader(from, 4096)) // what came is enough
	var problem struct {
		Message string `json:"message"`
	}
	if json.Unmarshal(text, &problem) == nil && problem.Message != "" {
		return problem.Message
	}
	return strings.TrimSpace(string(text))
}

func (b *bridge) send(ctx context.Context, m *envelope, line []byte) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, b.remote.base+"/mcp", bytes.NewReader(line))
	if err != nil {
		return nil, err
	}
	b.remote.authorise(req.Header)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	b.mu.Lock()
	version := cmp.Or(m.Params.Meta.Version, b.version)
	b.mu.Unlock()
	if version != "" && m.Method != "initialize" {
		req.Header.Set("Mcp-Protocol-Version", version)
	}
	if m.Params.Meta.Version != "" { // newer versions say in the head what the body is about
		req.Header.Set("Mcp-Method", m.Method)
		if name := cmp.Or(m.Params.Name, m.Params.URI); name != "" {
			req.Header.Set("Mcp-Name", name)
		}
	}
	b.login.RLock()
	client := b.remote.client
	b.login.RUnlock()
	return client.Do(req)
}

// answer passes on what a server sends: one message, or a stream of them.
func (b *bridge) answer(m *envelope, res *http.Response) error {
	if !strings.HasPrefix(res.Header.Get("Content-Type"), "text/event-stream") {
		text, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer))
		if err == nil && len(bytes.TrimSpace(text)) > 0 {
			err = b.write(m, text)
		}
		return err
	}
	lines := bufio.NewScanner(res.Body)
	lines.Buffer(make([]byte, 64<<10), maxAnswer)
	for lines.Scan() {
		if data, ok := bytes.CutPrefix(lines.Bytes(), []byte("data:")); ok && len(bytes.TrimSpace(data)) > 0 {
			if err := b.write(m, data); err != nil {
				return err
			}
		}
	}
	return lines.Err()
}

// write gives a message to the assistant, on one line. Of the answer to initialize it
// keeps the version both agreed on.
func (b *bridge) write(m *envelope, text []byte) error {
	v := jsontext.Value(text)
	if err := v.Compact(); err != nil {
		return fmt.Errorf("read the answer: %w", err)
	}
	if m.Method == "initialize" {
		var hello struct {
			Result struct {
				Version string `json:"protocolVersion"`
			} `json:"result"`
		}
		if json.Unmarshal(v, &hello) == nil && hello.Result.Version != "" {
			b.mu.Lock()
			b.version = hello.Result.Version
			b.mu.Unlock()
		}
	}
	b.out.Lock()
	defer b.out.Unlock()
	_, err := b.remote.call.out.Write(append(v, '\n'))
	return err
}

// refuse answers a request that the server did not; of a notification it says nothing.
func (b *bridge) refuse(id jsontext.Value, code int, why string) {
	if len(id) == 0 {
		return
	}
	text, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": id, "error": map[string]any{"code": code, "message": why}}, json.Deterministic(true))
	if err != nil {
		return
	}
	b.out.Lock()
	defer b.out.Unlock()
	_, _ = b.remote.call.out.Write(append(text, '\n')) // an assistant that has left misses nothing
}
