package mcp

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"os/exec"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

const (
	// endTime is how long a program may take to exit.
	endTime = 2 * time.Second
	// maxLine is how many bytes of a line a program writes to its log are kept, and
	// maxLines how many lines of one start.
	maxLine  = 500
	maxLines = 200
)

// passed are the variables of ours that every program gets: without them many do not
// start, and none of them holds a secret.
var passed = []string{"PATH", "HOME", "LANG", "LC_ALL", "TZ", "TMPDIR", "SystemRoot"}

// environment is the environment of a server's program: its own, and only harmless
// variables of ours.
func environment(s *Server) []string {
	var out []string
	for _, name := range passed {
		if _, own := s.Env[name]; own {
			continue
		}
		if value, ok := os.LookupEnv(name); ok {
			out = append(out, name+"="+value)
		}
	}
	for name, value := range s.Env {
		out = append(out, name+"="+value)
	}
	return out
}

// program starts the program of a server and speaks to it over its input and output.
func program(log *slog.Logger) opener {
	return func(_ context.Context, s *Server) (sdk.Transport, func(), error) {
		cmd := exec.Command(s.Command[0], s.Command[1:]...) //nolint:noctx // it lives as long as its session; end stops it
		cmd.Env, cmd.Dir = environment(s), s.Dir
		if cmd.Dir == "" {
			cmd.Dir = os.TempDir()
		}
		apart(cmd)
		in, err := cmd.StdinPipe()
		if err != nil {
			return nil, nil, err
		}
		out, err := cmd.StdoutPipe()
		if err != nil {
			return nil, nil, err
		}
		said, err := cmd.StderrPipe()
		if err != nil {
			return nil, nil, err
		}
		if err := cmd.Start(); err != nil {
			return nil, nil, fmt.Errorf("start %s: %w", s.Command[0], err)
		}
		heard := make(chan struct{})
		go func() {
			defer close(heard)
			listen(log, s.Name, said)
		}()
		end := func() { stop(cmd, in, heard) }
		return &sdk.IOTransport{Reader: out, Writer: in, MaxLineLength: maxAnswer}, end, nil
	}
}

// listen logs what a program writes, within limits.
func listen(log *slog.Logger, name string, from io.Reader) {
	lines := bufio.NewScanner(from)
	lines.Buffer(make([]byte, 4096), 64<<10)
	for n := 0; lines.Scan(); n++ {
		if text := lines.Text(); n < maxLines {
			log.Debug("MCP server says", "gateway", name, "reason", text[:min(len(text), maxLine)])
		}
	}
	_, _ = io.Copy(io.Discard, from) // a line too long ends the scan, not the program
}

// stop ends a program: its input ends and it may exit; then it is killed, with all
// it has started.
func stop(cmd *exec.Cmd, in io.Closer, heard <-chan struct{}) {
	_ = in.Close() // may be closed already
	timer := time.AfterFunc(endTime, func() { kill(cmd) })
	<-heard // Wait closes the pipe, and the last output would be lost
	_ = cmd.Wait()
	timer.Stop()
	kill(cmd) // processes it has started and left behind
}

// address speaks to a server over HTTP through a client of ours, which guards where it
// leads and how much comes back.
func address(guarded *http.Client) opener {
	return func(_ context.Context, s *Server) (sdk.Transport, func(), error) {
		client := *guarded
		client.Transport = &signed{next: guarded.Transport, headers: s.Headers}
		return &sdk.StreamableClientTransport{
			Endpoint: s.URL, HTTPClient: &client, MaxRetries: -1, DisableStandaloneSSE: true, MaxEventSize: maxAnswer,
		}, func() {}, nil
	}
}

// signed adds the headers of a server to requests to it. The client follows no
// redirect, so they reach nobody else.
type signed struct {
	next    http.RoundTripper
	headers map[string]string
}

// RoundTrip sends one request.
func (t *signed) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	for name, value := range t.headers {
		r.Header.Set(name, value)
	}
	return t.next.RoundTrip(r)
}
