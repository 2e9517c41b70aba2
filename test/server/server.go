// Package server builds the program and runs it as a separate process, the way
// users do, for tests and harnesses that observe it from outside. Only the thin
// wrappers Main, Binary and Run need the package testing.
package server

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// OwnerKey is the owner key of a server whose Options have none.
const OwnerKey = "owner-key-of-a-test-server-0123456789"

// Options describes the server to start. Binary and Dir are required.
type Options struct {
	Binary      string        // path of the program
	Dir         string        // data folder; made when it is missing
	DatabaseURL string        // PostgreSQL instead of the file in Dir
	Key         string        // owner key; OwnerKey
	Env         []string      // more NAME=value pairs; they win
	Args        []string      // after "serve"
	Log         *os.File      // where the log goes; kept with the rest of the output when nil
	Ready       time.Duration // how long to wait for the ready line; 30 s
}

// Server is a running server.
type Server struct {
	URL     string        // http://127.0.0.1:port
	Port    int           // chosen by the system unless Env says otherwise
	Key     string        // the owner key
	PID     int           // process id
	ReadyIn time.Duration // from start to the ready line
	Dir     string        // data folder

	cmd    *exec.Cmd
	out    *output
	exited chan struct{} // closed when the process has ended
	err    error         // why it ended; valid after exited
}

// Start runs "hearth serve" and waits until it listens. Rate limits are off. An
// error contains the output of the process.
func Start(o Options) (*Server, error) {
	s, err := Launch(o)
	if err != nil {
		return nil, err
	}
	if err := s.WaitReady(orDefault(o.Ready, 30*time.Second)); err != nil {
		return nil, errors.Join(err, s.Kill())
	}
	return s, nil
}

// Launch is Start without waiting, for tests that kill a server while it starts.
func Launch(o Options) (*Server, error) {
	key := orDefault(o.Key, OwnerKey)
	cmd := exec.Command(o.Binary, append([]string{"serve"}, o.Args...)...)
	// Not the data folder itself: that may be a file system this very process
	// serves, and a child must not wait for its parent before it has started.
	cmd.Dir = filepath.Dir(filepath.Clean(o.Dir))
	cmd.Env = append(cleanEnv(), "PORT=0", "HOST=127.0.0.1", "HEARTH_DATA_DIR="+o.Dir, "HEARTH_OWNER_KEY="+key,
		"HEARTH_RATE_LIMIT=0", "HEARTH_ADDRESS_RATE_LIMIT=0", "LOG_LEVEL=warn")
	if o.DatabaseURL != "" {
		cmd.Env = append(cmd.Env, "DATABASE_URL="+o.DatabaseURL)
	}
	cmd.Env = append(cmd.Env, o.Env...)
	out := newOutput()
	cmd.Stdout, cmd.Stderr = out, out
	if o.Log != nil {
		cmd.Stderr = o.Log
	}
	cmd.WaitDelay = 5 * time.Second
	dieWithParent(cmd)
	if err := os.MkdirAll(o.Dir, 0o700); err != nil {
		return nil, err
	}
	out.started = time.Now()
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", o.Binary, err)
	}
	s := &Server{Key: key, PID: cmd.Process.Pid, Dir: o.Dir, cmd: cmd, out: out, exited: make(chan struct{})}
	go func() {
		s.err = cmd.Wait()
		close(s.exited)
	}()
	return s, nil
}

// cleanEnv returns the environment without server settings: those of a developer
// must not affect a test.
func cleanEnv() []string {
	var env []string
	for _, e := range os.Environ() {
		name, _, _ := strings.Cut(e, "=")
		switch {
		case strings.HasPrefix(name, "HEARTH_"), strings.HasPrefix(name, "ORACLE_"), strings.HasPrefix(name, "OTEL_"):
		case name == "PORT", name == "HOST", name == "DATABASE_URL", name == "NODE_ENV", name == "LOG_LEVEL", name == "GOGC", name == "GOMEMLIMIT":
		default:
			env = append(env, e)
		}
	}
	return env
}

// WaitReady waits for the ready line of a launched server.
func (s *Server) WaitReady(limit time.Duration) error {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-s.out.ready:
		s.Port, s.ReadyIn = s.out.port, s.out.readyAt.Sub(s.out.started)
		s.URL = "http://127.0.0.1:" + strconv.Itoa(s.Port)
		return nil
	case <-s.exited:
		return fmt.Errorf("the server ended before it was ready: %w\n%s", s.exit(), s.Output())
	case <-timer.C:
		return fmt.Errorf("the server was not ready after %s\n%s", limit, s.Output())
	}
}

// Oracle returns the DID of the oracle that the server's ready line names.
func (s *Server) Oracle() string {
	for line := range strings.Lines(s.Output()) {
		if id, ok := strings.CutPrefix(line, "oracle    "); ok {
			return strings.TrimSpace(id)
		}
	}
	return ""
}

// Kill ends the process as a crash does (SIGKILL) and waits for its end. It does
// nothing if the process has ended already.
func (s *Server) Kill() error {
	if err := s.cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	<-s.exited
	return nil
}

// Terminate asks the process to end (SIGTERM) and does not wait.
func (s *Server) Terminate() error { return s.cmd.Process.Signal(syscall.SIGTERM) }

// Stop asks the process to end (SIGTERM) and waits at most limit. It returns
// an error unless the exit code is 0.
func (s *Server) Stop(limit time.Duration) error {
	if err := s.Terminate(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-s.exited:
	case <-timer.C:
		return errors.Join(fmt.Errorf("the server did not stop within %s\n%s", limit, s.Output()), s.Kill())
	}
	if s.err != nil {
		return fmt.Errorf("the server stopped badly: %w\n%s", s.err, s.Output())
	}
	return nil
}

// Exited returns a channel that is closed when the process has ended.
func (s *Server) Exited() <-chan struct{} { return s.exited }

// Alive reports whether the process is running.
func (s *Server) Alive() bool {
	select {
	case <-s.exited:
		return false
	default:
		return true
	}
}

func (s *Server) exit() error {
	if s.err != nil {
		return s.err
	}
	return errors.New("exit code 0")
}

// Output returns what the process wrote; of much output only the last part.
func (s *Server) Output() string { return s.out.String() }

func orDefault[T comparable](v, d T) T {
	var zero T
	if v == zero {
		return d
	}
	return v
}
