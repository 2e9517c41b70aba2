package cli

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/hearth-dmrv/hearth/internal/config"
)

// oracleStub plays the server of a conversation: it speaks one word and then
// waits for what the test wants.
type oracleStub struct {
	mu      sync.Mutex
	abort   chan struct{} // closed by POST /messages/abort
	gone    chan struct{} // closed when the client has left the stream
	obeys   bool          // an abort ends the stream
	spoken  chan struct{} // a word was said
	aborted int
	decided chan string // what was said to a question
	heard   chan string // the same, for the test
}

func newStub(obeys bool) *oracleStub {
	return &oracleStub{abort: make(chan struct{}), gone: make(chan struct{}), spoken: make(chan struct{}, 8), obeys: obeys, decided: make(chan string, 1), heard: make(chan string, 8)}
}

func (s *oracleStub) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	switch {
	case r.URL.Path == "/messages/abort":
		s.mu.Lock()
		s.aborted++
		if s.aborted == 1 {
			close(s.abort)
		}
		s.mu.Unlock()
		_, _ = io.WriteString(w, `{"success":true}`)
	case strings.Contains(string(body), "slow"):
		_, _ = io.WriteString(w, "event: message\ndata: {\"content\":\"begun \"}\n\n")
		_ = http.NewResponseController(w).Flush()
		s.spoken <- struct{}{}
		stop := s.abort
		if !s.obeys {
			stop = nil
		}
		select {
		case <-stop:
			_, _ = io.WriteString(w, "event: done\ndata: {\"status\":\"aborted\",\"aborted\":true}\n\n")
		case <-r.Context().Done():
			close(s.gone)
		}
	case strings.HasPrefix(r.URL.Path, "/runs/"):
		s.decided <- r.URL.Path + " " + string(body)
		_, _ = io.WriteString(w, `{}`)
	case strings.Contains(string(body), "change"):
		_, _ = io.WriteString(w, "event: action_call\ndata: {\"toolName\":\"confirm_tool_call\",\"status\":\"isRunning\",\"args\":"+
			"{\"runId\":\"r1\",\"callId\":\"c1\",\"tool\":\"remember\",\"description\":\"Keeps a text.\",\"arguments\":{\"text\":\"x\"}}}\n\n")
		_ = http.NewResponseController(w).Flush()
		select {
		case what := <-s.decided:
			s.heard <- what
			_, _ = io.WriteString(w, "event: message\ndata: {\"content\":\"so be it\"}\n\nevent: done\ndata: {}\n\n")
		case <-r.Context().Done():
		}
	default:
		_, _ = io.WriteString(w, "event: message\ndata: {\"content\":\"quick\"}\n\nevent: done\ndata: {}\n\n")
	}
}

// terminal is a conversation without a terminal.
type terminal struct {
	t    *testing.T
	in   *io.PipeWriter
	keys chan os.Signal
	out  *printed
	end  chan error
}

// printed is what was printed.
type printed struct {
	mu    sync.Mutex
	buf   bytes.Buffer
	grown chan struct{}
}

func (s *printed) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case s.grown <- struct{}{}:
	default:
	}
	return s.buf.Write(p)
}

func (s *printed) text() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.buf.String()
}

func open(t *testing.T, h http.Handler) *terminal {
	t.Helper()
	srv := httptest.NewServer(h)
	t.Cleanup(srv.Close)
	file := filepath.Join(t.TempDir(), "ucan.key")
	var nothing bytes.Buffer
	p := Program{Out: &nothing, Err: &nothing}
	if code := p.Run(t.Context(), []string{"ucan", "key", "--key-file", file}); code != 0 {
		t.Fatalf("make a key: %s", nothing.String())
	}
	cfg, err := config.Load(config.Input{ReadFile: os.ReadFile})
	if err != nil {
		t.Fatal(err)
	}
	in, write := io.Pipe()
	x := &terminal{t: t, in: write, keys: make(chan os.Signal), out: &printed{grown: make(chan struct{}, 1)}, end: make(chan error, 1)}
	o := &chatOptions{}
	o.file, o.audience, o.can, o.with, o.ttl = file, "did:key:z6MkpTHR8VNsBxYAAWHut2Geadd9jSwuBV8xRoAnwWsdvktH", "*", "ixo:oracle", time.Minute
	c := &chatter{call: &call{in: in, out: x.out, err: x.out, cfg: cfg}, opt: o, base: srv.URL, session: "$s", interrupts: x.keys}
	go func() { x.end <- c.converse(t.Context()) }()
	t.Cleanup(func() { _ = write.Close() })
	return x
}

func (x *terminal) line(text string) {
	x.t.Helper()
	if _, err := io.WriteString(x.in, text+"\n"); err != nil {
		x.t.Fatal(err)
	}
}

// shows waits until something is on the screen.
func (x *terminal) shows(want string) {
	x.t.Helper()
	ctx, cancel := context.WithTimeout(x.t.Context(), 10*time.Second)
	defer cancel()
	for !strings.Contains(x.out.text(), want) {
		select {
		case <-x.out.grown:
		case <-ctx.Done():
			x.t.Fatalf("the screen shows %q, want %q", x.out.text(), want)
		}
	}
}

// press presses Ctrl-C, or sends another signal.
func (x *terminal) press(sig os.Signal) {
	x.t.Helper()
	select {
	case x.keys <- sig:
	case <-time.After(10 * time.Second):
		x.t.Fatalf("nobody hears %v; the screen shows %q", sig, x.out.text())
	}
}

func (x *terminal) ended() error {
	x.t.Helper()
	select {
	case err := <-x.end:
		return err
	case <-time.After(10 * time.Second):
		x.t.Fatalf("the conversation goes on; the screen shows %q", x.out.text())
		return nil
	}
}

// TestChatInterrupt: Ctrl-C stops the answer and gives the prompt back; at the
// prompt it ends the conversation.
func TestChatInterrupt(t *testing.T) {
	t.Parallel()
	s := newStub(true)
	x := open(t, s)
	x.line("slow")
	<-s.spoken
	x.shows("begun") // said is not yet heard
	x.press(os.Interrupt)
	x.shows("> begun  [aborted]\n> ")
	x.line("quick")
	x.shows("[aborted]\n> quick\n> ")
	x.press(os.Interrupt)
	if err := x.ended(); err != errEnded { //nolint:errorlint // the very value
		t.Errorf("ended with %v, want errEnded", err)
	}
	if s.aborted != 1 {
		t.Errorf("%d aborts, want 1", s.aborted)
	}
}

// TestChatInterruptTwice: a server that does not stop is not waited for.
func TestChatInterruptTwice(t *testing.T) {
	t.Parallel()
	s := newStub(false)
	x := open(t, s)
	x.line("slow")
	<-s.spoken
	x.shows("begun") // said is not yet heard
	x.press(os.Interrupt)
	<-s.abort
	x.press(os.Interrupt)
	<-s.gone
	x.shows("begun \n> ")
	x.line("quick")
	x.shows("> quick\n> ")
	x.line("")
	if err := x.ended(); err != nil {
		t.Errorf("ended with %v", err)
	}
}

// TestChatTerminated: any other signal ends it, whatever is being said, and the
// answer is stopped.
func TestChatTerminated(t *testing.T) {
	t.Parallel()
	s := newStub(false)
	x := open(t, s)
	x.line("slow")
	<-s.spoken
	x.press(syscall.SIGTERM)
	<-s.gone
	<-s.abort
	if err := x.ended(); err != errEnded { //nolint:errorlint // the very value
		t.Errorf("ended with %v, want errEnded", err)
	}
}

// TestChatEndOfInput: Ctrl-D ends it as before.
func TestChatEndOfInput(t *testing.T) {
	t.Parallel()
	x := open(t, newStub(true))
	x.line("quick")
	x.shows("quick\n> ")
	_ = x.in.Close()
	if err := x.ended(); err != nil {
		t.Errorf("ended with %v", err)
	}
}

// TestChatQuestion: a call that waits is shown with what it would do, and the next
// line says yes or no to it. The end of the input is a no.
func TestChatQuestion(t *testing.T) {
	t.Parallel()
	s := newStub(true)
	x := open(t, s)
	for line, want := range map[string]string{"y": `{"confirmed":true}`, "Yes ": `{"confirmed":true}`, "a": `{"confirmed":true,"forSession":true}`, " ALWAYS": `{"confirmed":true,"forSession":true}`, "maybe": `{"confirmed":false}`, "": `{"confirmed":false}`} {
		x.line("change")
		x.shows("remember wants to run: Keeps a text.\n  {\"text\":\"x\"}\nLet it? [y]es, [a]lways in this conversation, [N]o: ")
		x.line(line)
		if got := <-s.heard; got != "/runs/r1/confirmations/c1 "+want {
			t.Errorf("%q says %s, want %s", line, got, want)
		}
	}
	x.line("change")
	_ = x.in.Close()
	if got := <-s.heard; got != `/runs/r1/confirmations/c1 {"confirmed":false}` {
		t.Errorf("the end of the input says %s", got)
	}
	if err := x.ended(); err != nil {
		t.Errorf("ended with %v", err)
	}
}
