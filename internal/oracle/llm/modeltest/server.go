// Package modeltest plays a model server for tests: it speaks the OpenAI chat
// protocol on a real connection and follows a script, misbehaviour included. It
// also has models that need no connection.
package modeltest

import (
	"io"
	"net/http"
	"net/http/httptest"
	"sync"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Step does one thing in an answer. It returns false when the answer is over.
type Step func(p *Player) bool

// Script is one answer.
type Script []Step

// Request is a client's request, as received.
type Request struct {
	Authorization string
	Body          jsontext.Value

	Model      string         `json:"model"`
	Stream     bool           `json:"stream"`
	MaxTokens  int            `json:"max_tokens"`
	ToolChoice jsontext.Value `json:"tool_choice"`
	Messages   []struct {
		Role       string         `json:"role"`
		Content    jsontext.Value `json:"content"`
		ToolCallID string         `json:"tool_call_id"`
		ToolCalls  []struct {
			ID       string `json:"id"`
			Function struct {
				Name      string `json:"name"`
				Arguments string `json:"arguments"`
			} `json:"function"`
		} `json:"tool_calls"`
	} `json:"messages"`
	Tools []jsontext.Value `json:"tools"`
}

// Server is a scripted model server. Each request plays the next script; when
// there is none left, the last one is played again.
type Server struct {
	URL string // base address, as in LLM_BASE_URL

	http *httptest.Server
	mu   sync.Mutex
	todo []Script
	play func(Request) Script // instead of todo
	seen []Request
	came chan struct{}
	gone chan struct{}
}

// Start starts a server that plays scripts in their order. The caller closes
// it.
func Start(scripts ...Script) *Server {
	s := &Server{todo: scripts, came: make(chan struct{}, 1), gone: make(chan struct{}, 1)}
	s.http = httptest.NewServer(http.HandlerFunc(s.serve))
	s.URL = s.http.URL + "/v1"
	return s
}

// Play starts a server that plays what play returns for a request, one at a time.
// The caller closes it.
func Play(play func(Request) Script) *Server {
	s := Start()
	s.play = play
	return s
}

// Close ends the server and all its connections.
func (s *Server) Close() {
	s.http.CloseClientConnections()
	s.http.Close()
}

// Client is an HTTP client that reaches the server.
func (s *Server) Client() *http.Client { return s.http.Client() }

// Came receives a value when a request arrives; further values are dropped
// while one is unread.
func (s *Server) Came() <-chan struct{} { return s.came }

// Gone receives a value when a client leaves before its answer is over; further
// values are dropped while one is unread.
func (s *Server) Gone() <-chan struct{} { return s.gone }

// Requests lists what clients have asked so far.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Request(nil), s.seen...)
}

func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/v1/models" {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"object":"list","data":[{"id":"first-model"},{"id":"second-model"}]}`)
		return
	}
	script := s.next(r)
	tell(s.came)
	p := &Player{w: w, r: r, rc: http.NewResponseController(w)}
	for _, step := range script {
		if !step(p) {
			break
		}
	}
	if r.Context().Err() != nil {
		tell(s.gone)
	}
}

func tell(ch chan<- struct{}) {
	select {
	case ch <- struct{}{}:
	default:
	}
}

// next notes a request and gives the script it plays.
func (s *Server) next(r *http.Request) Script {
	body, _ := io.ReadAll(r.Body)
	req := Request{Authorization: r.Header.Get("Authorization"), Body: body}
	_ = json.Unmarshal(body, &req) // the test sees what could be read
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seen = append(s.seen, req)
	if s.play != nil {
		return s.play(req)
	}
	if len(s.todo) == 0 {
		return nil
	}
	script := s.todo[0]
	if len(s.todo) > 1 {
		s.todo = s.todo[1:]
	}
	return script
}
