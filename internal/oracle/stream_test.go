package oracle_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
	"github.com/hearth-dmrv/hearth/internal/oracle"
	"github.com/hearth-dmrv/hearth/internal/oracle/llm"
	"github.com/hearth-dmrv/hearth/internal/oracle/llm/modeltest"
	"github.com/hearth-dmrv/hearth/internal/oracle/run"
	"github.com/hearth-dmrv/hearth/internal/oracle/tool"
)

const streamed = `{"message":"hello","stream":true,"timezone":"Africa/Nairobi"}`

// TestStream holds the head and the frames of a plain answer.
func TestStream(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		m := modeltest.NewFake(modeltest.Answer{Deltas: []llm.Delta{{Reasoning: "hm"}, {Text: "Good "}, {Text: "day “x”\n"}, {Finish: "stop"}}})
		h, u := newHouse(t, d, m), newUser(t, 1)
		s := h.session(u)
		r, res := h.stream(u, "POST", "/messages/"+s, streamed)
		for name, want := range map[string]string{
			"Content-Type": "text/event-stream; charset=utf-8", "Cache-Control": "no-cache, no-transform", "X-Accel-Buffering": "no",
		} {
			if got := res.Header.Get(name); got != want {
				t.Errorf("%s: got %q, want %q", name, got, want)
			}
		}
		runID, requestID := res.Header.Get("X-Run-Id"), res.Header.Get("X-Request-Id")
		frames := r.all()
		if got, want := names(frames), []string{"run", "reasoning", "message", "reasoning", "done"}; !slices.Equal(got, want) {
			t.Fatalf("frames %v, want %v", got, want)
		}
		for i, f := range frames {
			if f.id != int64(i+1) {
				t.Errorf("frame %d has the number %d", i+1, f.id)
			}
		}
		if frames[0].text("runId") != runID || frames[0].text("requestId") != requestID || !strings.HasPrefix(runID, "run_") || requestID == "" {
			t.Errorf("run frame %s, headers %s %s", frames[0].raw, runID, requestID)
		}
		ack, thought := frames[1], frames[2]
		if ack.text("reasoning") == "" || ack.data["isComplete"] != false || ack.data["reasoningDetails"] == nil || ack.text("sessionId") != s || ack.text("requestId") != requestID {
			t.Errorf("ack %s", ack.raw)
		}
		if thought.text("reasoning") != "hm" || thought.data["isComplete"] != false {
			t.Errorf("thought %s", thought.raw)
		}
		if got := spoken(frames); got != "Good day “x”\n" {
			t.Errorf("text %q", got)
		}
		marker, done := frames[len(frames)-2], frames[len(frames)-1]
		if marker.text("reasoning") != "" || marker.data["isComplete"] != true || marker.data["reasoningDetails"] != nil {
			t.Errorf("marker %s", marker.raw)
		}
		if done.raw != `{"status":"finished"}` {
			t.Errorf("done %s", done.raw)
		}
		if heard := h.live.heard("reasoning"); len(heard) != 1 || heard[0].session != s || heard[0].user != u.did() || !strings.Contains(string(heard[0].payload), requestID) {
			t.Errorf("sockets heard %+v", heard)
		}
		wait(t, "the invalidation", func() bool { return len(h.live.heard("message_cache_invalidation")) > 0 })
		h.checkHistory(u, s, "hello", "Good day “x”\n")
	})
}

// checkHistory holds what was said in a session, in both forms of reading.
func (h *house) checkHistory(u *user, session string, want ...string) {
	h.t.Helper()
	for _, path := range []string{"/messages/" + session, "/sessions/" + session + "/messages"} {
		var list struct {
			Messages []struct {
				ID, Type, Content string
				IsComplete        bool
				CreatedAt         string
			} `json:"messages"`
			HasOlder bool `json:"hasOlder"`
		}
		g := h.do(u, "GET", path, "")
		if err := json.Unmarshal([]byte(g.body), &list, json.MatchCaseInsensitiveNames(true)); err != nil {
			h.t.Fatalf("%s: %d %s: %v", path, g.status, g.body, err)
		}
		var said []string
		for i, m := range list.Messages {
			said = append(said, m.Content)
			kind := map[bool]string{true: "human", false: "ai"}[i%2 == 0]
			if m.Type != kind || m.ID == "" || m.CreatedAt == "" || !m.IsComplete {
				h.t.Errorf("%s: message %d is %+v", path, i, m)
			}
		}
		if !slices.Equal(said, want) || list.HasOlder {
			h.t.Errorf("%s: got %q, want %q", path, said, want)
		}
	}
}

// TestTools: each call has its own id that pairs start and end, and its name
// among its arguments; sockets hear of it too.
func TestTools(t *testing.T) {
	t.Parallel()
	m := modeltest.NewFake(
		modeltest.Called(
			tool.Call{ID: "same", Name: "search", Args: jsontext.Value(`{"q":"a"}`)}, tool.Call{ID: "same", Name: "search", Args: jsontext.Value(`{"q":"b"}`)},
			tool.Call{ID: "x", Name: "broken", Args: jsontext.Value(`{}`)}, tool.Call{ID: "y", Name: "unknown_tool", Args: jsontext.Value(`{}`)},
		),
		modeltest.Spoken("Found."),
	)
	h, u := small(t, m, func(c *oracle.Config, _ *run.Config) {
		err := c.Tools.Add(
			tool.Func{Describe: tool.Spec{Name: "search", Description: "d", ReadOnly: true}, Do: func(_ context.Context, c tool.Call) (tool.Output, error) {
				return tool.Output{Text: "found " + string(c.Args)}, nil
			}},
			tool.Func{Describe: tool.Spec{Name: "broken", ReadOnly: true}, Do: func(context.Context, tool.Call) (tool.Output, error) {
				return tool.Output{}, errors.New("password=hunter2 at db.internal:5432")
			}},
		)
		if err != nil {
			t.Fatal(err)
		}
	}), newUser(t, 1)
	s := h.session(u)
	r, _ := h.stream(u, "POST", "/messages/"+s, streamed)
	frames := r.all()
	open, ended := map[string]string{}, map[string]string{}
	for _, f := range frames {
		if f.event != "tool_call" {
			continue
		}
		args, _ := f.data["args"].(map[string]any)
		if args["toolName"] != f.text("toolName") || f.text("sessionId") != s || f.text("eventId") == "" || f.text("requestId") == "" {
			t.Errorf("frame %s", f.raw)
		}
		q, _ := args["q"].(string)
		switch id := f.text("eventId"); f.text("status") {
		case "isRunning":
			if open[id] != "" || f.data["output"] != nil {
				t.Errorf("second start of %s: %s", id, f.raw)
			}
			open[id] = f.text("toolName") + q
		case "done":
			if open[id] != f.text("toolName")+q {
				t.Errorf("end without its start: %s", f.raw)
			}
			ended[id] = f.text("output")
		default:
			t.Errorf("state of %s", f.raw)
		}
	}
	var outputs []string
	for id, output := range ended {
		outputs = append(outputs, open[id]+": "+output)
	}
	slices.Sort(outputs)
	if len(open) != 4 || len(ended) != 4 || !slices.Contains(outputs, `searcha: found {"q":"a"}`) || !slices.Contains(outputs, `searchb: found {"q":"b"}`) {
		t.Errorf("outputs %q", outputs)
	}
	if all := strings.Join(outputs, " ") + h.do(u, "GET", "/messages/"+s, "").body; strings.Contains(all, "hunter2") {
		t.Errorf("internal text came out: %s", all)
	}
	if got := len(h.live.heard("tool_call")); got != 8 {
		t.Errorf("sockets heard of %d starts and ends, want 8", got)
	}
	if spoken(frames) != "Found." {
		t.Errorf("text %q", spoken(frames))
	}
}

// TestErrorFrames: hole 10. Kinds are told, texts are our own.
func TestErrorFrames(t *testing.T) {
	t.Parallel()
	const inside = "postgres://root:hunter2@10.0.0.7 stack trace"
	for _, tt := range []struct {
		err       error
		kind      string
		status    float64
		retryable bool
		whole     int // status without a stream
	}{
		{&llm.Error{Kind: llm.RateLimit, Status: 429, Retryable: true, Detail: "Slow down.", Err: errors.New(inside)}, "rate_limit", 429, true, 503},
		{&llm.Error{Kind: llm.Server, Status: 502, Retryable: true, Detail: "Bad gateway.", Err: errors.New(inside)}, "server", 502, true, 503},
		{&llm.Error{Kind: llm.Timeout, Status: 504, Retryable: true, Detail: "Late.", Err: errors.New(inside)}, "timeout", 504, true, 503},
		{&llm.Error{Kind: llm.Network, Retryable: true, Detail: "Cut.", Err: errors.New(inside)}, "network", 0, true, 503},
		{&llm.Error{Kind: llm.Billing, Status: 402, Detail: "No money.", Err: errors.New(inside)}, "unknown", 500, false, 500},
		{&llm.Error{Kind: llm.Auth, Status: 401, Detail: "Bad key.", Err: errors.New(inside)}, "unknown", 500, false, 500},
		{&llm.Error{Kind: llm.Unknown, Status: 400, TooLong: true, Detail: "Too long.", Err: errors.New(inside)}, "unknown", 400, false, 422},
		{errors.New(inside), "unknown", 500, false, 500},
	} {
		t.Run(tt.kind+" "+strconv.Itoa(tt.whole), func(t *testing.T) {
			t.Parallel()
			h, u := small(t, modeltest.NewFake(modeltest.Answer{Deltas: []llm.Delta{{Text: "Half"}}, Err: tt.err})), newUser(t, 1)
			s := h.session(u)
			r, _ := h.stream(u, "POST", "/messages/"+s, streamed)
			frames := r.all()
			n := len(frames)
			bad, done := frames[n-2], frames[n-1]
			if frames[n-3].data["isComplete"] != true || bad.event != "error" {
				t.Fatalf("frames %v", names(frames))
			}
			status, _ := bad.data["status"].(float64)
			if bad.text("kind") != tt.kind || status != tt.status || bad.data["retryable"] != tt.retryable || bad.text("source") != "platform" ||
				bad.text("error") == "" || bad.text("detail") == "" || bad.text("sessionId") != s || bad.text("timestamp") == "" {
				t.Errorf("error %s", bad.raw)
			}
			if done.raw != `{"status":"failed","partialText":"Half","failed":true}` {
				t.Errorf("done %s", done.raw)
			}
			g := h.do(u, "POST", "/messages/"+s, `{"message":"again"}`)
			if g.status != tt.whole {
				t.Errorf("without a stream: got %d %s, want %d", g.status, g.body, tt.whole)
			}
			readRefusal(t, g)
			if strings.Contains(bad.raw+g.body, "hunter2") {
				t.Errorf("internal text came out: %s %s", bad.raw, g.body)
			}
		})
	}
}

// TestResume cuts a stream after each of its frames and joins it again: no
// frame is missing and none comes twice, by after= and by Last-Event-ID.
func TestResume(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		gate := make(chan struct{})
		m := llm.Func(func(ctx context.Context, _ llm.Request, each func(llm.Delta) error) error {
			for i := range 20 {
				if i == 10 {
					select {
					case <-gate:
					case <-ctx.Done():
						return context.Cause(ctx)
					}
				}
				if err := each(llm.Delta{Text: "w" + strconv.Itoa(i) + " "}); err != nil {
					return err
				}
			}
			return nil
		})
		h, u := newHouse(t, d, m), newUser(t, 1)
		s := h.session(u)
		ctx, cut := context.WithCancel(t.Context())
		res := h.open(ctx, ask{u: u, method: "POST", path: "/messages/" + s, body: streamed})
		first := newReader(t, res.Body, newBuffered(res.Body))
		var seen []frame
		for spoken(seen) != "w0 w1 w2 w3 w4 w5 w6 w7 w8 w9 " {
			f, ok := first.next()
			if !ok {
				t.Fatal("the stream ends early")
			}
			seen = append(seen, f)
		}
		cut()
		_ = res.Body.Close()
		runID := res.Header.Get("X-Run-Id")
		if g := h.do(u, "GET", "/sessions/"+s+"/run", ""); g.body != `{"run":{"runId":"`+runID+`","status":"running"}}` {
			t.Errorf("current run: got %s", g.body)
		}
		rest, _ := h.stream(u, "GET", "/runs/"+runID+"?after="+strconv.FormatInt(seen[len(seen)-1].id, 10), "")
		all, join := h.stream(u, "GET", "/runs/"+runID, "") // a page that loads anew
		if join.Header.Get("X-Run-Id") != runID || join.Header.Get("X-Request-Id") != res.Header.Get("X-Request-Id") {
			t.Errorf("headers of a join: %v", join.Header)
		}
		close(gate)
		whole := append(seen, rest.all()...)
		again := all.all()
		check := func(name string, got []frame) {
			t.Helper()
			if !slices.EqualFunc(got, whole, func(a, b frame) bool { return a.id == b.id && a.raw == b.raw && a.event == b.event }) {
				t.Errorf("%s: %d frames, want %d", name, len(got), len(whole))
			}
		}
		if len(spoken(whole)) != len("w0 ")*10+len("w10 ")*10 || whole[len(whole)-1].raw != `{"status":"finished"}` {
			t.Errorf("text %q, done %s", spoken(whole), whole[len(whole)-1].raw)
		}
		check("replay", again)
		for _, f := range whole {
			late, _ := h.stream(u, "GET", "/runs/"+runID, "", "Last-Event-ID", strconv.FormatInt(f.id, 10))
			got := late.all()
			if f.event != "done" {
				check("after "+strconv.FormatInt(f.id, 10), append(slices.Clone(whole[:f.id]), got...))
			} else if got[len(got)-1].event != "done" {
				t.Errorf("after the end: %v", names(got))
			}
		}
		// after= wins over the header, and what is not after it stays away.
		both, _ := h.stream(u, "GET", "/runs/"+runID+"?after="+strconv.FormatInt(whole[len(whole)-2].id, 10), "", "Last-Event-ID", "1")
		if got := both.all(); len(got) != 1 || got[0].event != "done" {
			t.Errorf("after the last but one: %v", names(got))
		}
		if g := h.do(u, "GET", "/sessions/"+s+"/run", ""); g.body != `{"run":null}` {
			t.Errorf("run after its end: got %s", g.body)
		}
		if res := h.open(t.Context(), ask{u: u, method: "HEAD", path: "/runs/" + runID, body: ""}); res.StatusCode != 200 || res.Header.Get("X-Run-Id") != runID {
			t.Errorf("HEAD: %d %v", res.StatusCode, res.Header)
		}
		h.checkHistory(u, s, "hello", strings.TrimSuffix(spoken(whole), ""))
	})
}

// TestSlowReader: a client that reads nothing holds up neither the run nor
// anybody else.
func TestSlowReader(t *testing.T) {
	t.Parallel()
	word := strings.Repeat("x", 8<<10)
	m := llm.Func(func(_ context.Context, _ llm.Request, each func(llm.Delta) error) error {
		for range 400 { // far more than the buffers between us hold
			if err := each(llm.Delta{Text: word}); err != nil {
				return err
			}
		}
		return nil
	})
	h, u := small(t, m), newUser(t, 1)
	s := h.session(u)
	res := h.open(t.Context(), ask{u: u, method: "POST", path: "/messages/" + s, body: streamed})
	defer res.Body.Close()
	wait(t, "the end of the run", func() bool { return h.do(u, "GET", "/sessions/"+s+"/run", "").body == `{"run":null}` })
	text, err := io.ReadAll(res.Body) // and when it does read, it gets all
	if err != nil || bytes.Count(text, []byte("event: message\n")) != 400 || !bytes.HasSuffix(text, []byte("data: {\"status\":\"finished\"}\n\n")) {
		t.Errorf("the slow reader got %d frames of text, %v", bytes.Count(text, []byte("event: message\n")), err)
	}
}

// TestClientLeaves: hole 17. The run goes on and its answer is stored.
func TestClientLeaves(t *testing.T) {
	t.Parallel()
	for _, body := range []string{streamed, `{"message":"hello"}`} {
		gate := make(chan struct{})
		m := llm.Func(func(ctx context.Context, _ llm.Request, each func(llm.Delta) error) error {
			select {
			case <-gate:
			case <-ctx.Done():
				return context.Cause(ctx)
			}
			return each(llm.Delta{Text: "late"})
		})
		h, u := small(t, m), newUser(t, 1)
		s := h.session(u)
		ctx, leave := context.WithCancel(t.Context())
		sent := make(chan struct{})
		go func() {
			defer close(sent)
			r, _ := http.NewRequestWithContext(ctx, "POST", h.url+"/messages/"+s, strings.NewReader(body))
			r.Header.Set("Content-Type", "application/json")
			u.headers(r.Header)
			if res, err := http.DefaultClient.Do(r); err == nil {
				_, _ = io.ReadAll(res.Body) // until we leave
				_ = res.Body.Close()
			}
		}()
		wait(t, "the run", func() bool { return strings.Contains(h.do(u, "GET", "/sessions/"+s+"/run", "").body, "running") })
		leave()
		<-sent
		close(gate)
		wait(t, "the end of the run", func() bool { return h.do(u, "GET", "/sessions/"+s+"/run", "").body == `{"run":null}` })
		h.checkHistory(u, s, "hello", "late")
		wait(t, "the invalidation", func() bool { return len(h.live.heard("message_cache_invalidation")) > 0 })
	}
}

// TestShortcodes: :wave: becomes an emoji in the stream, also when it comes in
// pieces, in the reply and in the history; a DID does not.
func TestShortcodes(t *testing.T) {
	t.Parallel()
	pieces := modeltest.Answer{}
	for _, text := range []string{"Hi ", ":wa", "ve:", " did:key:z6Mk ", "code `:wave:`", " :", "+1", ":"} {
		pieces.Deltas = append(pieces.Deltas, llm.Delta{Text: text})
	}
	h, u := small(t, modeltest.NewFake(pieces)), newUser(t, 1)
	s := h.session(u)
	const want = "Hi 👋 did:key:z6Mk code `:wave:` 👍"
	r, _ := h.stream(u, "POST", "/messages/"+s, `{"message":"say :wave:","stream":true}`)
	if got := spoken(r.all()); got != want {
		t.Errorf("the stream says %q, want %q", got, want)
	}
	if g := h.do(u, "POST", "/messages/"+s, `{"message":"again"}`); !strings.Contains(g.body, `"content":"`+want+`"`) {
		t.Errorf("the reply says %s", g.body)
	}
	h.checkHistory(u, s, "say 👋", want, "again", want)
}
