package oracle_test

import (
	"bufio"
	"bytes"
	"context"
	"crypto/ed25519"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
	"github.com/hearth-dmrv/hearth/internal/did"
	"github.com/hearth-dmrv/hearth/internal/oracle"
	"github.com/hearth-dmrv/hearth/internal/oracle/agent"
	"github.com/hearth-dmrv/hearth/internal/oracle/chat"
	"github.com/hearth-dmrv/hearth/internal/oracle/llm"
	"github.com/hearth-dmrv/hearth/internal/oracle/llm/modeltest"
	"github.com/hearth-dmrv/hearth/internal/oracle/run"
	"github.com/hearth-dmrv/hearth/internal/oracle/tool"
	"github.com/hearth-dmrv/hearth/internal/secret"
	"github.com/hearth-dmrv/hearth/internal/ucan"
	"github.com/hearth-dmrv/hearth/internal/web"
	"github.com/hearth-dmrv/hearth/internal/web/webtest"
)

const oracleDID did.DID = "did:ixo:ixo1oracle000000000000000000000000000000000"

// house is area D on a real listener.
type house struct {
	t    testing.TB
	url  string
	svc  *oracle.Service
	runs *run.Manager
	chat *chat.Store
	live *fakeLive
	log  *syncBuffer
}

// option changes what a house is built from.
type option func(*oracle.Config, *run.Config)

// newHouse builds area D over a store with a model.
func newHouse(t testing.TB, d *db.DB, m llm.Model, opts ...option) *house {
	t.Helper()
	h := &house{t: t, live: &fakeLive{t: t, doc: webtest.NewChannel(t, web.Channel{Name: "sockets", Sent: oracle.SocketEvents()})}, log: &syncBuffer{}}
	log := h.log.logger()
	key, err := secret.Parse(strings.Repeat("k", 64))
	if err != nil {
		t.Fatal(err)
	}
	h.chat = chat.New(chat.Config{DB: d, Key: key, Log: log, OracleName: "Hearth", OracleDID: string(oracleDID), OracleEntityDID: string(oracleDID)})
	models, err := llm.CatalogueOf(llm.Entry{ID: "first", Label: "First"}, llm.Entry{ID: "second", Label: "Second"})
	if err != nil {
		t.Fatal(err)
	}
	rc := run.Config{DB: d, Chat: h.chat, Log: log, Alone: true}
	c := oracle.Config{
		Callers: oracle.NewCallers(oracle.CallersConfig{DID: oracleDID, DB: d, Log: log}),
		Chat:    h.chat, Agent: agent.New(agent.Config{Model: m, Log: log}), Models: models, Tools: &tool.Registry{},
		Live: h.live, Name: "Hearth", Throttle: -1, Log: log,
	}
	for _, o := range opts {
		o(&c, &rc)
	}
	if h.runs, err = run.New(t.Context(), rc); err != nil {
		t.Fatal(err)
	}
	c.Runs = h.runs
	c.Permits = chat.NewPermits(chat.PermitsConfig{DB: d, Chat: h.chat, Look: 10 * time.Millisecond, Claims: func(ctx context.Context, user, token, name string) error {
		return c.Callers.Claims(ctx, user, token, "tool/call", "ixo:oracle:"+string(oracleDID)+":tool/"+name)
	}})
	h.svc = oracle.New(c)
	srv := httptest.NewServer(h.handler())
	h.url = srv.URL
	t.Cleanup(func() {
		srv.CloseClientConnections()
		srv.Close()
		h.svc.Close()
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), 50*time.Millisecond)
		defer cancel()
		if err := h.runs.Close(ctx); err != nil {
			t.Errorf("close runs: %v", err)
		}
	})
	return h
}

// handler is the edge of the server, as far as it matters here.
func (h *house) handler() http.Handler {
	log := h.log.logger()
	a := web.NewAPI(web.APIConfig{Name: "oracle", Errors: web.Nest, Log: log})
	h.svc.Routes(a)
	next := webtest.Handler(h.t, a)
	next = web.Pace{}.Middleware(next)
	next = web.Observe(log, web.Nest, nil, next)
	next = web.Proxies{}.Middleware(next)
	return web.WithRequestIDs(next)
}

// small is a house on SQLite.
func small(t testing.TB, m llm.Model, opts ...option) *house {
	t.Helper()
	return newHouse(t, dbtest.SQLite(t), m, opts...)
}

// user is somebody with tokens.
type user struct {
	signer *ucan.Signer
	token  string
}

func newUser(t testing.TB, seed byte) *user {
	t.Helper()
	s, err := ucan.NewSigner("", ed25519.NewKeyFromSeed(bytes.Repeat([]byte{seed}, ed25519.SeedSize)))
	if err != nil {
		t.Fatal(err)
	}
	u := &user{signer: s}
	u.token = u.mint(t, ucan.Draft{Audience: oracleDID, Expires: time.Now().Add(10 * time.Minute), Capabilities: []ucan.Capability{{Can: "*", With: "ixo:oracle"}}})
	return u
}

func (u *user) mint(t testing.TB, d ucan.Draft) string {
	t.Helper()
	token, err := u.signer.Mint(d)
	if err != nil {
		t.Fatal(err)
	}
	return token.Text()
}

func (u *user) delegation(t testing.TB, aud did.DID, expires time.Time) string {
	t.Helper()
	return u.mint(t, ucan.Draft{Audience: aud, Expires: expires, Capabilities: []ucan.Capability{{Can: "memory/*", With: "ixo:memory"}}})
}

func (u *user) did() string { return u.signer.DID().String() }

// headers are the tokens of u; of nobody when u is nil.
func (u *user) headers(h http.Header) {
	if u != nil {
		h.Set("Authorization", "Bearer "+u.token)
		h.Set("X-Auth-Type", "ucan")
	}
}

// got is an answer, read.
type got struct {
	status int
	header http.Header
	body   string
}

// do sends a request and reads its answer. headers come in pairs.
func (h *house) do(u *user, method, path, body string, headers ...string) got {
	h.t.Helper()
	res := h.open(h.t.Context(), ask{u, method, path, body, headers})
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		h.t.Fatalf("%s %s: %v", method, path, err)
	}
	return got{res.StatusCode, res.Header, string(text)}
}

// ask is a request; headers come in pairs.
type ask struct {
	u                  *user
	method, path, body string
	headers            []string
}

// open sends a request and leaves its answer to be read.
func (h *house) open(ctx context.Context, a ask) *http.Response {
	h.t.Helper()
	var in io.Reader
	if a.body != "" {
		in = strings.NewReader(a.body)
	}
	r, err := http.NewRequestWithContext(ctx, a.method, h.url+a.path, in)
	if err != nil {
		h.t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json") // published clients always do
	a.u.headers(r.Header)
	for i := 0; i+1 < len(a.headers); i += 2 {
		r.Header.Set(a.headers[i], a.headers[i+1])
	}
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		h.t.Fatalf("%s %s: %v", a.method, a.path, err)
	}
	return res
}

// session makes a session of u.
func (h *house) session(u *user) string {
	h.t.Helper()
	g := h.do(u, "POST", "/sessions", "")
	var s struct {
		ID string `json:"sessionId"`
	}
	if err := json.Unmarshal([]byte(g.body), &s); err != nil || g.status != http.StatusCreated || s.ID == "" {
		h.t.Fatalf("POST /sessions: %d %s", g.status, g.body)
	}
	return s.ID
}

// frame is a frame as a client parses it.
type frame struct {
	id    int64
	event string
	data  map[string]any
	raw   string
}

func (f frame) text(name string) string {
	s, _ := f.data[name].(string)
	return s
}

// reader reads frames off a stream, by the rules of the published client.
type reader struct {
	t    testing.TB
	body io.ReadCloser
	in   *bufio.Reader
	doc  *webtest.Channel // what the reference says of frames
}

func (h *house) stream(u *user, method, path, body string, headers ...string) (*reader, *http.Response) {
	h.t.Helper()
	res := h.open(h.t.Context(), ask{u, method, path, body, headers})
	if res.StatusCode != http.StatusOK || res.Header.Get("Content-Type") != "text/event-stream; charset=utf-8" {
		text, _ := io.ReadAll(res.Body)
		h.t.Fatalf("%s %s: %d %s", method, path, res.StatusCode, text)
	}
	h.t.Cleanup(func() { _ = res.Body.Close() })
	return newReader(h.t, res.Body, bufio.NewReader(res.Body)), res
}

func newReader(t testing.TB, body io.ReadCloser, in *bufio.Reader) *reader {
	return &reader{t, body, in, webtest.NewChannel(t, web.Channel{Name: "run", Sent: oracle.Frames()})}
}

// next is the next frame; false at the end of the stream.
func (r *reader) next() (frame, bool) {
	r.t.Helper()
	var f frame
	for {
		line, err := r.in.ReadString('\n')
		if err != nil {
			return f, false
		}
		line = strings.TrimRight(line, "\n")
		switch name, value, _ := strings.Cut(line, ": "); {
		case line == "" && f.event != "":
			if err := r.doc.Check(f.event, []byte(f.raw)); err != nil {
				r.t.Errorf("a frame that the document does not describe: %v", err)
			}
			if f.id <= 0 {
				r.t.Errorf("frame without a number: %+v", f)
			}
			return f, true
		case name == "id":
			f.id, _ = strconv.ParseInt(value, 10, 64)
		case name == "event":
			f.event = value
		case name == "data":
			if f.raw != "" {
				r.t.Errorf("a second data line: %s", line)
			}
			f.raw = value
			if err := json.Unmarshal([]byte(value), &f.data); err != nil {
				r.t.Errorf("data %s: %v", value, err)
			}
		}
	}
}

// until reads up to the first frame of a name.
func (r *reader) until(event string) []frame {
	r.t.Helper()
	var out []frame
	for {
		f, ok := r.next()
		if !ok {
			r.t.Fatalf("the stream ends without %s after %v", event, names(out))
		}
		if out = append(out, f); f.event == event {
			return out
		}
	}
}

// all reads the whole stream and checks what holds of every stream.
func (r *reader) all() []frame {
	r.t.Helper()
	out := r.until("done")
	if f, more := r.next(); more {
		r.t.Errorf("frame after done: %+v", f)
	}
	for i := 1; i < len(out); i++ {
		if out[i].id <= out[i-1].id {
			r.t.Errorf("frame %d follows %d", out[i].id, out[i-1].id)
		}
	}
	return out
}

func names(frames []frame) []string {
	var out []string
	for _, f := range frames {
		out = append(out, f.event)
	}
	return slices.Compact(out)
}

// spoken is the text of the message frames.
func spoken(frames []frame) string {
	var b strings.Builder
	for _, f := range frames {
		if f.event == "message" {
			b.WriteString(f.text("content"))
		}
	}
	return b.String()
}

// emitted is an event for sockets.
type emitted struct {
	user, session, event string
	payload              jsontext.Value
}

// fakeLive notes events and answers calls of pages.
type fakeLive struct {
	t      testing.TB
	doc    *webtest.Channel // what the reference says of events
	mu     sync.Mutex
	events []emitted
	calls  []tool.Call
	specs  []tool.Spec
	about  []tool.Context
	answer func(ctx context.Context, s tool.Spec, c tool.Call) (tool.Output, error)
}

func (l *fakeLive) Emit(user, session, event string, payload any) {
	raw, err := json.Marshal(payload)
	if err != nil {
		raw = []byte(`"` + err.Error() + `"`)
	}
	if err := l.doc.Check(event, raw); err != nil && !strings.HasPrefix(event, "weather.") { // a plugin's
		l.t.Errorf("an event that the document does not describe: %v", err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.events = append(l.events, emitted{user, session, event, raw})
}

func (l *fakeLive) Call(ctx context.Context, s tool.Spec, c tool.Call) (tool.Output, error) {
	l.mu.Lock()
	l.calls, l.specs, l.about = append(l.calls, c), append(l.specs, s), append(l.about, tool.From(ctx))
	answer := l.answer
	l.mu.Unlock()
	if answer == nil {
		return tool.Output{Text: "done by the page"}, nil
	}
	return answer(ctx, s, c)
}

// heard lists the events of a name.
func (l *fakeLive) heard(event string) []emitted {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(l.events), func(e emitted) bool { return e.event != event })
}

// wait polls until ok, which something that goes on beside us makes true.
func wait(t testing.TB, what string, ok func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !ok() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatalf("%s does not happen", what)
		}
	}
}

// chats lists what a model was asked but for titles.
func chats(m *modeltest.Fake) []llm.Request {
	return slices.DeleteFunc(m.Requests(), func(r llm.Request) bool { return r.Purpose != llm.Chat })
}
