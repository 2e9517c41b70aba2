package agui_test

import (
	"bufio"
	"bytes"
	"context"
	"crypto/ed25519"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
	"github.com/hearth-dmrv/hearth/internal/did"
	"github.com/hearth-dmrv/hearth/internal/oracle"
	"github.com/hearth-dmrv/hearth/internal/oracle/agent"
	"github.com/hearth-dmrv/hearth/internal/oracle/agui"
	"github.com/hearth-dmrv/hearth/internal/oracle/chat"
	"github.com/hearth-dmrv/hearth/internal/oracle/llm"
	"github.com/hearth-dmrv/hearth/internal/oracle/run"
	"github.com/hearth-dmrv/hearth/internal/oracle/tool"
	"github.com/hearth-dmrv/hearth/internal/secret"
	"github.com/hearth-dmrv/hearth/internal/ucan"
	"github.com/hearth-dmrv/hearth/internal/web"
	"github.com/hearth-dmrv/hearth/internal/web/webtest"
)

const oracleDID did.DID = "did:ixo:ixo1oracle000000000000000000000000000000000"

// witness is the offline model, and notes what it was asked.
type witness struct {
	llm.Offline

	mu    sync.Mutex
	asked []llm.Request
}

func (m *witness) Stream(ctx context.Context, r llm.Request, each func(llm.Delta) error) error {
	if r.Purpose == llm.Chat {
		m.mu.Lock()
		m.asked = append(m.asked, r)
		m.mu.Unlock()
	}
	return m.Offline.Stream(ctx, r, each)
}

// last is what the model was given last, but for what it is told by us.
func (m *witness) last() []llm.Message {
	m.mu.Lock()
	defer m.mu.Unlock()
	list := m.asked[len(m.asked)-1].Messages
	return list[1:]
}

// rig is the oracle with the route, on a real listener.
type rig struct {
	t       testing.TB
	url     string
	model   *witness
	chat    *chat.Store
	runs    *run.Manager
	effects atomic.Int32 // of the tool that changes something
}

func newRig(t testing.TB, d *db.DB) *rig {
	t.Helper()
	h := &rig{t: t, model: &witness{}}
	log := slog.New(slog.DiscardHandler)
	key, err := secret.Parse(strings.Repeat("k", 64))
	if err != nil {
		t.Fatal(err)
	}
	h.chat = chat.New(chat.Config{DB: d, Key: key})
	if h.runs, err = run.New(t.Context(), run.Config{DB: d, Chat: h.chat, Alone: true}); err != nil {
		t.Fatal(err)
	}
	models, err := llm.CatalogueOf(llm.Entry{ID: "first", Label: "First"})
	if err != nil {
		t.Fatal(err)
	}
	tools := &tool.Registry{}
	read := tool.Func{Describe: tool.Spec{Name: "clock", Description: "Tells the time.", ReadOnly: true}, Do: func(context.Context, tool.Call) (tool.Output, error) {
		return tool.Output{Text: "noon"}, nil
	}}
	burn := tool.Func{Describe: tool.Spec{Name: "burn", Description: "Burns a stove."}, Do: func(context.Context, tool.Call) (tool.Output, error) {
		h.effects.Add(1)
		return tool.Output{Text: "burnt"}, nil
	}}
	for _, one := range []tool.Tool{read, burn} {
		if err := tools.Add(one); err != nil {
			t.Fatal(err)
		}
	}
	permits := chat.NewPermits(chat.PermitsConfig{DB: d, Chat: h.chat, Look: 10 * time.Millisecond})
	svc := oracle.New(oracle.Config{
		Callers: oracle.NewCallers(oracle.CallersConfig{DID: oracleDID, DB: d}), Chat: h.chat, Runs: h.runs, Agent: agent.New(agent.Config{Model: h.model}),
		Models: models, Tools: tools, Permits: permits, Throttle: -1,
	})
	a := web.NewAPI(web.APIConfig{Name: "oracle", Errors: web.Nest, Log: log})
	svc.Routes(a)
	agui.New(agui.Config{Door: oracle.NewDoor(svc), Chat: h.chat, Runs: h.runs, Permits: permits}).Routes(a)
	next := web.Proxies{}.Middleware(web.Observe(log, web.Nest, nil, web.Pace{}.Middleware(webtest.Handler(t, a))))
	srv := httptest.NewServer(web.WithRequestIDs(next))
	h.url = srv.URL
	t.Cleanup(func() {
		srv.CloseClientConnections()
		srv.Close()
		svc.Close()
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), 50*time.Millisecond)
		defer cancel()
		if err := h.runs.Close(ctx); err != nil {
			t.Errorf("close runs: %v", err)
		}
	})
	return h
}

// small is a rig on SQLite.
func small(t testing.TB) *rig {
	t.Helper()
	return newRig(t, dbtest.SQLite(t))
}

// newUser gives the token of somebody.
func newUser(t testing.TB, seed byte) string {
	t.Helper()
	s, err := ucan.NewSigner("", ed25519.NewKeyFromSeed(bytes.Repeat([]byte{seed}, ed25519.SeedSize)))
	if err != nil {
		t.Fatal(err)
	}
	token, err := s.Mint(ucan.Draft{Audience: oracleDID, Expires: time.Now().Add(10 * time.Minute), Capabilities: []ucan.Capability{{Can: "*", With: "ixo:oracle"}}})
	if err != nil {
		t.Fatal(err)
	}
	return token.Text()
}

// delegation gives one of somebody to the oracle.
func delegation(t testing.TB, seed byte, can string) string {
	t.Helper()
	s, err := ucan.NewSigner("", ed25519.NewKeyFromSeed(bytes.Repeat([]byte{seed}, ed25519.SeedSize)))
	if err != nil {
		t.Fatal(err)
	}
	token, err := s.Mint(ucan.Draft{Audience: oracleDID, Expires: time.Now().Add(time.Hour), Capabilities: []ucan.Capability{{Can: can, With: ucan.DefaultResource}}})
	if err != nil {
		t.Fatal(err)
	}
	return token.Text()
}

// open sends a request and leaves its answer to be read.
func (h *rig) open(ctx context.Context, user, method, path, body string) *http.Response {
	h.t.Helper()
	r, err := http.NewRequestWithContext(ctx, method, h.url+path, strings.NewReader(body))
	if err != nil {
		h.t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	if user != "" {
		r.Header.Set("Authorization", "Bearer "+user)
		r.Header.Set("X-Auth-Type", "ucan")
	}
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		h.t.Fatalf("%s %s: %v", method, path, err)
	}
	h.t.Cleanup(func() { _ = res.Body.Close() })
	return res
}

// do sends a request and reads its answer.
func (h *rig) do(user, method, path, body string) (int, string) {
	h.t.Helper()
	res := h.open(h.t.Context(), user, method, path, body)
	text, err := io.ReadAll(res.Body)
	if err != nil {
		h.t.Fatalf("%s %s: %v", method, path, err)
	}
	return res.StatusCode, string(text)
}

// told is an event as a client reads it.
type told struct {
	Type, ThreadID, RunID, MessageID, Role, Delta, ToolCallID, ToolCallName, ParentMessageID, Content, StepName, Name, Message, Code, ProtocolVersion string

	Value    jsontext.Value
	Metadata struct {
		Hearth struct{ SessionID, RunID string }
	}
	Outcome struct {
		Type               string
		PendingToolCallIDs []string
	}
	Messages []said
}

// said is a message of a snapshot.
type said struct {
	ID, Role, Content, ToolCallID, Error string
	ToolCalls                            []struct {
		ID, Type string
		Function struct{ Name, Arguments string }
	}
}

// stream reads events.
type stream struct {
	t    testing.TB
	body io.ReadCloser
	in   *bufio.Reader
}

// run sends a request that is answered by a stream.
func (h *rig) run(user, body string) *stream {
	h.t.Helper()
	return h.runWith(h.t.Context(), user, body)
}

func (h *rig) runWith(ctx context.Context, user, body string) *stream {
	h.t.Helper()
	res := h.open(ctx, user, "POST", "/ag-ui", body)
	if res.StatusCode != http.StatusOK || res.Header.Get("Content-Type") != "text/event-stream; charset=utf-8" {
		text, _ := io.ReadAll(res.Body)
		h.t.Fatalf("POST /ag-ui %s: %d %s", body, res.StatusCode, text)
	}
	return &stream{h.t, res.Body, bufio.NewReader(res.Body)}
}

// next is the next event; false at the end.
func (s *stream) next() (told, bool) {
	s.t.Helper()
	for {
		line, err := s.in.ReadString('\n')
		if err != nil {
			return told{}, false
		}
		raw, ok := strings.CutPrefix(strings.TrimSpace(line), "data: ")
		if !ok {
			continue
		}
		var e told
		if err := json.Unmarshal([]byte(raw), &e, json.MatchCaseInsensitiveNames(true)); err != nil {
			s.t.Fatalf("event %s: %v", raw, err)
		}
		return e, true
	}
}

// all reads to the end, and checks the order as the client of the protocol does.
func (s *stream) all() []told {
	s.t.Helper()
	var out []told
	for {
		e, ok := s.next()
		if !ok {
			break
		}
		out = append(out, e)
	}
	verify(s.t, out)
	return out
}

// until reads up to the first event of a type.
func (s *stream) until(name string) told {
	s.t.Helper()
	for {
		e, ok := s.next()
		if !ok {
			s.t.Fatalf("the stream ends without %s", name)
		}
		if e.Type == name {
			return e
		}
	}
}

// verify holds events to the order that clients want: a run from its start to its
// end, and what is opened is closed before that.
func verify(t testing.TB, list []told) {
	t.Helper()
	open := map[string]bool{}
	for i, e := range list {
		if last := i == len(list)-1; (e.Type == "RUN_STARTED") != (i == 0) || (e.Type == "RUN_FINISHED" || e.Type == "RUN_ERROR") != last {
			t.Errorf("event %d of %d is %s", i, len(list), e.Type)
		}
		name := e.MessageID + e.ToolCallID + e.StepName
		switch kind, part, _ := strings.Cut(e.Type, "_"); {
		case part == "MESSAGE_START", kind == "TOOL" && part == "CALL_START", part == "STARTED" && kind == "STEP", e.Type == "REASONING_START":
			open[key(e)+name] = true
		case part == "MESSAGE_END", kind == "TOOL" && part == "CALL_END", part == "FINISHED" && kind == "STEP", e.Type == "REASONING_END":
			if !open[key(e)+name] {
				t.Errorf("%s of %s, which is not open", e.Type, name)
			}
			delete(open, key(e)+name)
		case part == "MESSAGE_CONTENT", part == "CALL_ARGS":
			if !open[key(e)+name] {
				t.Errorf("%s of %s, which is not open", e.Type, name)
			}
		case e.Type == "RUN_FINISHED" && len(open) > 0:
			t.Errorf("the run ends while %v are open", open)
		}
	}
}

// key is what an event belongs to: a text, a thought, reasoning, a call, a step.
func key(e told) string {
	kind, part, _ := strings.Cut(e.Type, "_")
	if strings.HasPrefix(part, "MESSAGE_") {
		return kind + " message "
	}
	return kind + " "
}

// types are the types of events, those in a row once.
func types(list []told) string {
	var out []string
	for _, e := range list {
		if len(out) == 0 || out[len(out)-1] != e.Type {
			out = append(out, e.Type)
		}
	}
	return strings.Join(out, " ")
}

// spoken is the text of all messages.
func spoken(list []told) string {
	var b strings.Builder
	for _, e := range list {
		if e.Type == "TEXT_MESSAGE_CONTENT" {
			b.WriteString(e.Delta)
		}
	}
	return b.String()
}

// end is the last event.
func end(list []told) told { return list[len(list)-1] }

// ask is a request with messages, each in JSON.
func ask(thread, id, rest string, messages ...string) string {
	return `{"threadId":"` + thread + `","runId":"` + id + `","messages":[` + strings.Join(messages, ",") + `]` + rest + `}`
}

// says is a message of the user.
func says(text string) string {
	return `{"id":"u","role":"user","content":` + quote(text) + `}`
}

// gives is the result of a tool.
func gives(call, content string) string {
	return `{"id":"r","role":"tool","toolCallId":"` + call + `","content":` + quote(content) + `}`
}

func quote(text string) string {
	out, _ := jsontext.AppendQuote(nil, text)
	return string(out)
}
