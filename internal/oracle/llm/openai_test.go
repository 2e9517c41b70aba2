package llm_test

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/hearth-dmrv/hearth/internal/oracle/llm"
	"github.com/hearth-dmrv/hearth/internal/oracle/llm/modeltest"
	"github.com/hearth-dmrv/hearth/internal/oracle/tool"
)

// heard gathers an answer.
type heard struct {
	text, reasoning, finish string
	calls                   []tool.Call
	usage                   llm.Usage
	deltas                  int
}

func (h *heard) take(d llm.Delta) error {
	h.deltas++
	h.text += d.Text
	h.reasoning += d.Reasoning
	h.calls = append(h.calls, d.ToolCalls...)
	if d.Usage != nil {
		h.usage.Add(*d.Usage)
	}
	if d.Finish != "" {
		h.finish = d.Finish
	}
	return nil
}

// play starts a server and a client of it. Waits between repeats take no time
// and are noted in waits.
func play(t *testing.T, scripts ...modeltest.Script) (*modeltest.Server, llm.Config, *[]time.Duration) {
	t.Helper()
	s := modeltest.Start(scripts...)
	t.Cleanup(s.Close)
	waits := &[]time.Duration{}
	return s, llm.Config{
		BaseURL: s.URL, APIKey: "key-1234567890", Default: "m1", HTTP: s.Client(),
		Wait: func(_ context.Context, d time.Duration) error { *waits = append(*waits, d); return nil },
	}, waits
}

func ask(t *testing.T, c llm.Config, r llm.Request) (heard, error) {
	t.Helper()
	var h heard
	err := llm.NewClient(c).Stream(t.Context(), r, h.take)
	return h, err
}

func hello() llm.Request {
	return llm.Request{Messages: []llm.Message{{Role: llm.User, Content: "hello"}}}
}

func asError(t *testing.T, err error) *llm.Error {
	t.Helper()
	var e *llm.Error
	if !errors.As(err, &e) {
		t.Fatalf("error = %v (%T), want a *llm.Error", err, err)
	}
	return e
}

func TestStreamText(t *testing.T) {
	t.Parallel()
	s, cfg, _ := play(t, modeltest.Script{
		modeltest.Reasoning("reasoning_content", "hm "), modeltest.Reasoning("reasoning", "so"),
		modeltest.Raw(": keep-alive\n\nevent: x\n\n"), modeltest.Text("Good day to you"), modeltest.Finish("stop"),
	})
	temperature := 0.5
	r := hello()
	r.MaxTokens, r.Temperature = 100, &temperature
	h, err := ask(t, cfg, r)
	if err != nil {
		t.Fatal(err)
	}
	if h.text != "Good day to you" || h.reasoning != "hm so" || h.finish != "stop" {
		t.Errorf("heard %+v", h)
	}
	if want := (llm.Usage{Input: 7, Output: 3, Reasoning: 1, Cached: 2}); h.usage != want {
		t.Errorf("usage = %+v, want %+v", h.usage, want)
	}
	got := s.Requests()[0]
	if got.Authorization != "Bearer key-1234567890" || got.Model != "m1" || !got.Stream || got.MaxTokens != 100 || len(got.Messages) != 1 {
		t.Errorf("request = %+v", got)
	}
}

func TestToolCallFragments(t *testing.T) {
	t.Parallel()
	calls := []modeltest.Call{{ID: "a", Name: "one", Args: `{"x":"é 1","y":[1,2,3]}`}, {ID: "b", Name: "two", Args: `{}`}, {ID: "c", Name: "one", Args: `{"x":"2"}`}}
	for _, size := range []int{0, 1, 3, 100} {
		_, cfg, _ := play(t, modeltest.Script{modeltest.Text("Let me see. "), modeltest.Calls(size, calls...), modeltest.Finish("tool_calls")})
		h, err := ask(t, cfg, hello())
		if err != nil {
			t.Fatalf("size %d: %v", size, err)
		}
		if len(h.calls) != 3 || h.text != "Let me see. " || h.finish != "tool_calls" {
			t.Fatalf("size %d: heard %+v", size, h)
		}
		for i, c := range h.calls {
			if c.ID != calls[i].ID || c.Name != calls[i].Name || string(c.Args) != calls[i].Args {
				t.Errorf("size %d: call %d = %s %s %s, want %+v", size, i, c.ID, c.Name, c.Args, calls[i])
			}
		}
	}
}

// TestManyCalls: a model that calls for very many tools is heard to its end. The
// calls above the limit are left out, and nothing of them gets into the others.
func TestManyCalls(t *testing.T) {
	t.Parallel()
	var calls []modeltest.Call
	for i := range 300 {
		n := strconv.Itoa(i)
		calls = append(calls, modeltest.Call{ID: "c" + n, Name: "one", Args: `{"n":` + n + `}`})
	}
	unnumbered := func(part string) modeltest.Step {
		return modeltest.Raw("data: {\"choices\":[{\"delta\":{\"tool_calls\":[" + part + "]}}]}\n\n")
	}
	var loose modeltest.Script
	for _, c := range calls {
		loose = append(loose, unnumbered(`{"id":"`+c.ID+`","function":{"name":"one","arguments":""}}`), unnumbered(`{"function":{"arguments":`+strconv.Quote(c.Args)+`}}`))
	}
	for name, script := range map[string]modeltest.Script{
		"whole": {modeltest.Calls(0, calls...), modeltest.Finish("tool_calls")}, "mixed": {modeltest.Calls(3, calls...), modeltest.Finish("tool_calls")},
		"unnumbered": append(loose, modeltest.Finish("tool_calls")),
	} {
		_, cfg, _ := play(t, script)
		h, err := ask(t, cfg, hello())
		if err != nil || len(h.calls) != 128 || h.finish != "tool_calls" {
			t.Fatalf("%s: %d calls, finish %q, %v; want 128", name, len(h.calls), h.finish, err)
		}
		for i, c := range h.calls {
			if c.ID != calls[i].ID || string(c.Args) != calls[i].Args {
				t.Errorf("%s: call %d = %s %s, want %+v", name, i, c.ID, c.Args, calls[i])
			}
		}
	}
}

// TestServersDiffer holds the odd forms seen in the wild.
func TestServersDiffer(t *testing.T) {
	t.Parallel()
	const head = "data: {\"choices\":[{\"delta\":"
	const tail = "}]}\n\n"
	done := "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n"
	for _, tt := range []struct{ name, raw, text, reasoning, calls string }{
		{"no closing word", head + `{"content":"a"}` + tail + done, "a", "", ""},
		{"carriage returns, no space", "data:" + strings.ReplaceAll(head+`{"content":"a"}`+tail, "\n", "\r\n")[6:] + done, "a", "", ""},
		{"parts", head + `{"content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}` + tail + done, "ab", "", ""},
		{"null members", head + `{"content":null,"tool_calls":null,"reasoning":null,"role":"assistant"}` + tail + head + `{"content":"a"}` + tail + done, "a", "", ""},
		{"thinking in the text", head + `{"content":"<th"}` + tail + head + `{"content":"ink>hm</thi"}` + tail + head + `{"content":"nk>\n\nYes <b>"}` + tail + done, "Yes <b>", "hm", ""},
		{"only looks like thinking", head + `{"content":"<th"}` + tail + head + `{"content":"is>"}` + tail + done, "<this>", "", ""},
		{"thinking never ends", head + `{"content":"<think>a</t"}` + tail + done, "", "a</t", ""},
		{"calls without numbers", head + `{"tool_calls":[{"id":"1","function":{"name":"x","arguments":"{}"}},{"id":"2","function":{"name":"y","arguments":"{}"}}]}` + tail + done, "", "", "x{} y{}"},
		{"one number for all", head + `{"tool_calls":[{"index":0,"id":"1","function":{"name":"x","arguments":"{}"}}]}` + tail + head + `{"tool_calls":[{"index":0,"id":"2","function":{"name":"y","arguments":"{}"}}]}` + tail + done, "", "", "x{} y{}"},
		{"no ids", head + `{"tool_calls":[{"index":0,"function":{"name":"x","arguments":""}},{"index":1,"function":{"name":"y","arguments":"{\"a\""}}]}` + tail + head + `{"tool_calls":[{"index":1,"function":{"arguments":":1}"}}]}` + tail + done, "", "", `x{} y{"a":1}`},
		{"fragments without numbers", head + `{"tool_calls":[{"id":"1","function":{"name":"x","arguments":"{\"a\""}}]}` + tail + head + `{"tool_calls":[{"function":{"arguments":":1}"}}]}` + tail + done, "", "", `x{"a":1}`},
		{"arguments as an object", head + `{"tool_calls":[{"index":0,"id":"1","function":{"name":"x","arguments":{"a":1}}}]}` + tail + done, "", "", `x{"a":1}`},
		{"refusal", head + `{"refusal":"No."}` + tail + done, "No.", "", ""},
		{"long line", head + `{"content":"` + strings.Repeat("x", 100_000) + `"}` + tail + done, strings.Repeat("x", 100_000), "", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, cfg, _ := play(t, modeltest.Script{modeltest.Raw(tt.raw)})
			h, err := ask(t, cfg, hello())
			if err != nil {
				t.Fatal(err)
			}
			var calls []string
			for _, c := range h.calls {
				calls = append(calls, c.Name+string(c.Args))
			}
			if h.text != tt.text || h.reasoning != tt.reasoning || strings.Join(calls, " ") != tt.calls {
				t.Errorf("text %.80q reasoning %q calls %q, want %.80q %q %q", h.text, h.reasoning, calls, tt.text, tt.reasoning, tt.calls)
			}
		})
	}
}

func TestWholeAnswer(t *testing.T) {
	t.Parallel()
	_, cfg, _ := play(t, modeltest.Script{modeltest.JSON(jsontext.Value(`{"choices":[{"message":{"content":"a","tool_calls":[{"id":"1","function":{"name":"x","arguments":"{}"}}]},"finish_reason":"tool_calls"}],"usage":{"prompt_tokens":1,"completion_tokens":2}}`))})
	h, err := ask(t, cfg, hello())
	if err != nil || h.text != "a" || len(h.calls) != 1 || h.usage.Output != 2 {
		t.Errorf("heard %+v, %v", h, err)
	}
}

func TestRepeats(t *testing.T) {
	t.Parallel()
	refuse := func(status int, after string) modeltest.Script {
		return modeltest.Script{modeltest.Refuse(status, "x", "secret text of the server", after)}
	}
	say := modeltest.Say("ok")
	broken := modeltest.Script{modeltest.Break()}
	for _, tt := range []struct {
		name     string
		scripts  []modeltest.Script
		requests int
		kind     llm.Kind // empty: success
		waits    int
	}{
		{"429 then fine", []modeltest.Script{refuse(429, "2"), say}, 2, "", 1},
		{"5xx thrice then fine", []modeltest.Script{refuse(500, ""), refuse(502, ""), refuse(503, ""), say}, 4, "", 3},
		{"5xx for ever", []modeltest.Script{refuse(500, "")}, 4, llm.Server, 3},
		{"cut before anything", []modeltest.Script{broken, say}, 2, "", 1},
		{"empty answer", []modeltest.Script{{modeltest.Raw("data: [DONE]\n\n")}, say}, 2, "", 1},
		{"error in the stream", []modeltest.Script{{modeltest.Raw("data: {\"error\":{\"code\":429,\"message\":\"slow\"}}\n\n")}, say}, 2, "", 1},
		{"error in the answer", []modeltest.Script{{modeltest.Raw("data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"error\",\"error\":{\"code\":502,\"message\":\"x\"}}]}\n\n")}, say}, 2, "", 1},
		{"429 for too long", []modeltest.Script{refuse(429, "3600"), say}, 1, llm.RateLimit, 0},
		{"no credit", []modeltest.Script{refuse(402, ""), say}, 1, llm.Billing, 0},
		{"quota is no rate limit", []modeltest.Script{{modeltest.Refuse(429, "insufficient_quota", "x", "")}, say}, 1, llm.Billing, 0},
		{"bad key", []modeltest.Script{refuse(401, ""), say}, 1, llm.Auth, 0},
		{"bad request", []modeltest.Script{refuse(400, ""), say}, 1, llm.Unknown, 0},
		{"gateway timeout", []modeltest.Script{refuse(504, "")}, 4, llm.Timeout, 3},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s, cfg, waits := play(t, tt.scripts...)
			h, err := ask(t, cfg, hello())
			if got := len(s.Requests()); got != tt.requests || len(*waits) != tt.waits {
				t.Errorf("%d requests and %d waits, want %d and %d", got, len(*waits), tt.requests, tt.waits)
			}
			if tt.kind == "" {
				if err != nil || h.text != "ok" {
					t.Errorf("heard %q, %v", h.text, err)
				}
				return
			}
			e := asError(t, err)
			if e.Kind != tt.kind || strings.Contains(e.Detail, "secret") {
				t.Errorf("kind = %s, detail %q, want %s", e.Kind, e.Detail, tt.kind)
			}
		})
	}
}

func TestRetryAfterIsKept(t *testing.T) {
	t.Parallel()
	_, cfg, waits := play(t, modeltest.Script{modeltest.Refuse(429, "x", "", "7")}, modeltest.Say("ok"))
	if _, err := ask(t, cfg, hello()); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(*waits, []time.Duration{7 * time.Second}) {
		t.Errorf("waited %v, want 7 s", *waits)
	}
}

func TestNothingIsRepeatedAfterTheFirstDelta(t *testing.T) {
	t.Parallel()
	for _, end := range []modeltest.Step{
		modeltest.Break(), modeltest.Raw("data: {\"error\":{\"code\":503}}\n\n"), modeltest.Raw("data: {]\n\n"), func(*modeltest.Player) bool { return false },
	} {
		s, cfg, _ := play(t, modeltest.Script{modeltest.Text("half an "), end}, modeltest.Say("whole"))
		cfg.Fallbacks = []string{"m2"}
		h, err := ask(t, cfg, hello())
		if e := asError(t, err); e.Kind != llm.Network && e.Kind != llm.Server || !e.Retryable {
			t.Errorf("error = %+v, want a network or server fault", e)
		}
		if h.text != "half an " || len(s.Requests()) != 1 {
			t.Errorf("heard %q in %d requests, want the half in one", h.text, len(s.Requests()))
		}
	}
}

func TestFallbacks(t *testing.T) {
	t.Parallel()
	fail := modeltest.Script{modeltest.Refuse(503, "x", "", "")}
	missing := modeltest.Script{modeltest.Refuse(404, "model_not_found", "", "")}
	s, cfg, _ := play(t, fail, fail, missing, modeltest.Say("ok"))
	cfg.Fallbacks = []string{"m2", "m1", "m3"}
	h, err := ask(t, cfg, hello())
	if err != nil || h.text != "ok" {
		t.Fatalf("heard %q, %v", h.text, err)
	}
	var models []string
	for _, r := range s.Requests() {
		models = append(models, r.Model)
	}
	if want := []string{"m1", "m1", "m2", "m3"}; !slices.Equal(models, want) {
		t.Errorf("models = %v, want %v", models, want)
	}
}

func TestAdapts(t *testing.T) {
	t.Parallel()
	s, cfg, _ := play(t,
		modeltest.Script{modeltest.Refuse(400, "x", "unknown field stream_options", "")},
		modeltest.Script{modeltest.Refuse(400, "x", "use max_completion_tokens instead", "")}, modeltest.Say("ok"))
	r := hello()
	r.MaxTokens = 5
	if _, err := ask(t, cfg, r); err != nil {
		t.Fatal(err)
	}
	last := string(s.Requests()[2].Body)
	if strings.Contains(last, "stream_options") || !strings.Contains(last, `"max_completion_tokens":5`) {
		t.Errorf("last request = %s", last)
	}
}

func TestTooLong(t *testing.T) {
	t.Parallel()
	s, cfg, _ := play(t, modeltest.Script{modeltest.Refuse(400, "context_length_exceeded", "", "")})
	cfg.Fallbacks = []string{"m2"}
	_, err := ask(t, cfg, hello())
	if e := asError(t, err); !e.TooLong || len(s.Requests()) != 1 {
		t.Errorf("error = %+v after %d requests, want TooLong after one", e, len(s.Requests()))
	}
}

func TestFirstModelOfTheServer(t *testing.T) {
	t.Parallel()
	s, cfg, _ := play(t, modeltest.Say("ok"))
	cfg.Default = ""
	if _, err := ask(t, cfg, hello()); err != nil {
		t.Fatal(err)
	}
	if got := s.Requests()[0].Model; got != "first-model" {
		t.Errorf("model = %q, want the first of the server", got)
	}
}

func TestAbortReachesTheServer(t *testing.T) {
	t.Parallel()
	for name, script := range map[string]modeltest.Script{
		"before anything": {modeltest.Hang()}, "in the middle": {modeltest.Text("a b c"), modeltest.Hang()},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, cfg, _ := play(t, script)
			ctx, cancel := context.WithCancelCause(t.Context())
			stopped := errors.New("the user pressed stop")
			failed := make(chan error, 1)
			begun := make(chan struct{}, 10)
			go func() {
				failed <- llm.NewClient(cfg).Stream(ctx, hello(), func(llm.Delta) error { begun <- struct{}{}; return nil })
			}()
			if name == "in the middle" {
				<-begun
			} else {
				<-s.Came()
			}
			cancel(stopped)
			if err := <-failed; !errors.Is(err, stopped) {
				t.Errorf("error = %v, want the cause of the abort", err)
			}
			select {
			case <-s.Gone():
			case <-time.After(30 * time.Second): // it would for ever
				t.Error("the server still works after the abort")
			}
		})
	}
}

func TestSilenceIsATimeout(t *testing.T) {
	t.Parallel()
	for name, script := range map[string]modeltest.Script{
		"before anything": {modeltest.Hang()}, "in the middle": {modeltest.Text("a"), modeltest.Hang()},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, cfg, _ := play(t, script)
			cfg.First, cfg.Idle, cfg.Retries = 200*time.Millisecond, 200*time.Millisecond, -1
			_, err := ask(t, cfg, hello())
			if e := asError(t, err); e.Kind != llm.Timeout {
				t.Errorf("error = %+v, want a timeout", e)
			}
			<-s.Gone()
		})
	}
}

func TestSlowStreamIsHeardAtOnce(t *testing.T) {
	t.Parallel()
	next := make(chan struct{})
	_, cfg, _ := play(t, modeltest.Script{modeltest.Text("one"), modeltest.Wait(next), modeltest.Text("two"), modeltest.Finish("stop")})
	pieces := 0
	err := llm.NewClient(cfg).Stream(t.Context(), hello(), func(d llm.Delta) error {
		if d.Text == "one" {
			close(next) // the second word is only sent once the first was heard
		}
		pieces++
		return nil
	})
	if err != nil || pieces < 3 {
		t.Errorf("%d pieces, %v", pieces, err)
	}
}

func TestCallbackErrorEndsTheRequest(t *testing.T) {
	t.Parallel()
	s, cfg, _ := play(t, modeltest.Script{modeltest.Text("a b c"), modeltest.Hang()})
	full := errors.New("disk full")
	err := llm.NewClient(cfg).Stream(t.Context(), hello(), func(llm.Delta) error { return full })
	if !errors.Is(err, full) {
		t.Errorf("error = %v, want that of the callback", err)
	}
	<-s.Gone()
}

func TestKeyNeverShows(t *testing.T) {
	t.Parallel()
	_, cfg, _ := play(t, modeltest.Script{modeltest.Refuse(http.StatusForbidden, "x", "wrong key key-1234567890", "")})
	_, err := ask(t, cfg, hello())
	e := asError(t, err)
	if strings.Contains(e.Error(), "1234567890") {
		t.Errorf("error text %q holds the key", e.Error())
	}
	if f := llm.Explain(err); f.Kind != llm.Unknown || f.Status != 500 || strings.Contains(f.Text+f.Detail, "key") {
		t.Errorf("explained as %+v, want unknown 500: our account is nobody's business", f)
	}
}

func TestAbortWhileWaiting(t *testing.T) {
	t.Parallel()
	_, cfg, _ := play(t, modeltest.Script{modeltest.Refuse(503, "x", "", "")})
	ctx, cancel := context.WithCancel(t.Context())
	cfg.Backoff, cfg.MaxWait, cfg.Wait = time.Hour, time.Hour, nil
	cfg.Log = slog.New(&onLog{do: cancel}) // a failure is logged just before the wait
	err := llm.NewClient(cfg).Stream(ctx, hello(), func(llm.Delta) error { return nil })
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error = %v, want the abort", err)
	}
}

// onLog does something at each line of a log.
type onLog struct {
	slog.Handler
	do func()
}

func (h *onLog) Enabled(context.Context, slog.Level) bool      { return true }
func (h *onLog) Handle(_ context.Context, _ slog.Record) error { h.do(); return nil }
