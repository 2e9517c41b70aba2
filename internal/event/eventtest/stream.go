package eventtest

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hearth-dmrv/hearth/internal/event"
	"github.com/hearth-dmrv/hearth/internal/web"
	"github.com/hearth-dmrv/hearth/internal/web/webtest"
)

// Frame is one frame of a stream of server-sent events.
type Frame struct {
	ID, Event, Data, Comment, Retry string
}

// Stream is an open stream, read in the background.
type Stream struct {
	Status int
	Header http.Header
	Body   string     // of a refusal
	Frames chan Frame // closed at the end of the stream
	Cut    func()     // ends it from our side
	doc    *webtest.Channel
}

// Open opens a stream in a role of a workspace. header may be nil.
func Open(t testing.TB, url, ws, role string, header map[string]string) *Stream {
	t.Helper()
	ctx, cut := context.WithCancel(t.Context())
	t.Cleanup(cut)
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+ws+" "+role)
	for name, value := range header {
		req.Header.Set(name, value)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	s := &Stream{Status: resp.StatusCode, Header: resp.Header, Frames: make(chan Frame), Cut: cut}
	if resp.StatusCode != http.StatusOK {
		body, _ := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		s.Body = string(body)
		close(s.Frames)
		return s
	}
	go s.read(ctx, resp.Body)
	return s
}

func (s *Stream) read(ctx context.Context, body io.ReadCloser) {
	defer body.Close()
	defer close(s.Frames)
	lines := bufio.NewScanner(body)
	lines.Buffer(nil, 1<<20)
	var f Frame
	for lines.Scan() {
		name, value, _ := strings.Cut(lines.Text(), ": ")
		switch name {
		case "id":
			f.ID = value
		case "event":
			f.Event = value
		case "data":
			f.Data = value
		case "retry":
			f.Retry = value
		case "":
			if value != "" {
				f.Comment = value
				continue
			}
			select {
			case s.Frames <- f:
			case <-ctx.Done():
				return
			}
			f = Frame{}
		}
	}
}

// Next returns the next frame that carries an event, or false at the end. It
// skips heartbeats and hints.
func (s *Stream) Next(t testing.TB) (Frame, bool) {
	t.Helper()
	late := time.After(30 * time.Second)
	for {
		select {
		case f, ok := <-s.Frames:
			if !ok {
				return f, false
			}
			if f.Event != "" {
				s.documented(t, f)
				return f, true
			}
		case <-late:
			t.Fatal("no event came")
		}
	}
}

// documented checks a frame against the reference.
func (s *Stream) documented(t testing.TB, f Frame) {
	t.Helper()
	if s.doc == nil {
		s.doc = webtest.NewChannel(t, event.Channel())
	}
	name := f.Event
	if !slices.ContainsFunc(event.Channel().Sent, func(m web.Message) bool { return m.Name == name }) {
		name = "entity.created" // a type that a test has made up; all have the same members
	}
	if err := s.doc.Check(name, []byte(f.Data)); err != nil {
		t.Errorf("a frame that the document does not describe: %v", err)
	}
}

// Eventually waits until ok returns true.
func Eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	late := time.After(30 * time.Second)
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !ok() {
		select {
		case <-tick.C:
		case <-late:
			t.Fatalf("waited too long until %s", what)
		}
	}
}
