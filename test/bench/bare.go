package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/test/server"
)

// A bare server is the least that net/http can do: "hello" answers a constant,
// "write" stores its body as one synced row first, "group" does so in one commit for
// all waiting requests, "record" also reads its body as JSON, "step" reads the row of
// a session and writes it back, and "file" serves the pages of the console from their
// folder.
// "row" stores the same row through Hearth's foundation. Each runs in its own process, as Hearth does.

// serveBare runs that process. It ends when its standard input ends.
func serveBare(ctx context.Context, kind, path string) error {
	var h http.Handler
	var err error
	switch kind {
	case "row":
		if h, err = rowStack(ctx, path); err != nil {
			return err
		}
	case "group", "record":
		g, err := openGroup(ctx, path)
		if err != nil {
			return err
		}
		h = &groupWriter{g: g, reads: kind == "record"}
	case "step":
		g, err := openSteps(ctx, path)
		if err != nil {
			return err
		}
		h = &stepWriter{g: g}
	case "file":
		h = http.FileServer(http.Dir(pagesDir))
	case "hello":
		h = http.HandlerFunc(hello)
	case "write":
		c, err := openConn(ctx, path)
		if err != nil {
			return err
		}
		h = &rowWriter{c: c}
	default:
		return fmt.Errorf("there is no bare server %q", kind)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Println(l.Addr())
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin) // ends when the parent closes it
		os.Exit(0)
	}()
	return http.Serve(l, h)
}

// helloBody has the size of a small record.
var helloBody = []byte(`{"id":"0198c0de-0000-7000-8000-000000000000","name":"hello","status":"active","scopes":["*"],"createdAt":"2026-01-01T00:00:00.000Z"}`)

func hello(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(helloBody) // a client that has gone is no matter here
}

// rowWriter stores each body as a row and answers when it is on disk.
type rowWriter struct {
	mu sync.Mutex
	c  *conn
}

func (rw *rowWriter) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(io.LimitReader(r.Body, 1<<20))
	if err == nil {
		rw.mu.Lock()
		err = rw.c.put(db.NewID(), string(body))
		rw.mu.Unlock()
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusCreated)
	_, _ = w.Write(helloBody) // as in hello
}

// groupWriter is rowWriter with requests that share their commits.
type groupWriter struct {
	g     *group
	reads bool // a body that is no JSON object is refused
}

func (gw *groupWriter) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(io.LimitReader(r.Body, 1<<20))
	if err == nil && gw.reads {
		err = json.Unmarshal(body, new(map[string]any))
	}
	if err == nil {
		err = gw.g.writer()(db.NewID(), string(body))
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusCreated)
	_, _ = w.Write(helloBody) // as in hello
}

// bareServer is a bare server seen from outside.
type bareServer struct {
	addr  string
	cmd   *exec.Cmd
	leash io.Closer
}

// startBare runs this program again as a bare server.
func (b *bench) startBare(kind string) (*bareServer, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp(b.dir, "bare-")
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(self, "-bare", kind, filepath.Join(dir, "rows.db"))
	cmd.Stderr = os.Stderr
	if cmd.Dir, err = server.Root(); err != nil { // for the pages
		return nil, err
	}
	leash, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		return nil, errors.Join(fmt.Errorf("bare server did not start: %w", err), cmd.Process.Kill(), cmd.Wait())
	}
	return &bareServer{addr: strings.TrimSpace(line), cmd: cmd, leash: leash}, nil
}

func (s *bareServer) close() error {
	return errors.Join(s.leash.Close(), s.cmd.Wait())
}
