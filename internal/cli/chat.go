package cli

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/hearth-dmrv/hearth/internal/app"
	"github.com/hearth-dmrv/hearth/internal/ops"
	oracletool "github.com/hearth-dmrv/hearth/internal/oracle/tool"
	"github.com/hearth-dmrv/hearth/internal/ucan"
)

type chatOptions struct {
	ucanFlags
	url, session, model string
}

func chatFlags(fs *flag.FlagSet) any {
	o := &chatOptions{}
	o.can, o.with = "*", ucan.DefaultResource
	audienceFlags(fs, &o.ucanFlags, 10*time.Minute)
	fs.StringVar(&o.url, "url", "", "`address` of the server; the one of this configuration by default")
	fs.StringVar(&o.session, "session", "", "`id` of a session to go on with; a new one by default")
	fs.StringVar(&o.model, "model", "", "`id` of a model, as GET /models lists them")
	return o
}

// ownAddress is where the server of this configuration serves an area on this
// machine.
func (c *call) ownAddress(area string) string { return app.Address(c.cfg, area) }

// chatter is a conversation with an oracle.
type chatter struct {
	call    *call
	opt     *chatOptions
	base    string
	session string
	// interrupts are the signals during a conversation. Ctrl-C stops the answer;
	// any other ends the conversation.
	interrupts <-chan os.Signal
	// quiet leaves the words for people out: a program reads the answers.
	quiet bool
	// typed are the lines of the input, and asked what an answer waits for: the next
	// line says yes or no to it.
	typed <-chan typed
	asked chan *question
}

// abortTime is how long the server has to stop an answer.
const abortTime = 5 * time.Second

// errEnded means that a signal has ended the conversation.
var errEnded = errors.New("the conversation was ended")

// chat reads lines and prints what the oracle answers, until the end of input.
func chat(ctx context.Context, c *call) error {
	o := c.own.(*chatOptions)
	if err := o.invocation(c); err != nil {
		return err
	}
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer signal.Stop(signals)
	t := &chatter{call: c, opt: o, base: strings.TrimSuffix(o.url, "/"), session: o.session, interrupts: signals, quiet: !ops.IsTerminal(c.in)}
	if t.base == "" {
		t.base = c.ownAddress("d")
	}
	if err := t.offered(ctx); err != nil {
		return err
	}
	if t.session == "" {
		if err := t.begin(ctx); err != nil {
			return err
		}
	} else if err := t.known(ctx); err != nil {
		return err
	}
	t.hint("Ctrl-C stops an answer. An empty line, Ctrl-D, or Ctrl-C here ends it. To go on later: hearth chat --session '%s'\n", t.session)
	// The program's context ends with the first Ctrl-C, which here may only stop
	// an answer.
	if err := t.converse(context.WithoutCancel(ctx)); !errors.Is(err, errEnded) {
		return err
	}
	t.hint("\n")
	return nil
}

// hint prints something that is for people only.
func (t *chatter) hint(format string, args ...any) {
	if !t.quiet {
		fmt.Fprintf(t.call.out, format, args...)
	}
}

// converse runs until the input or a signal ends it.
func (t *chatter) converse(ctx context.Context) error {
	t.typed, t.asked = t.lines(), make(chan *question)
	for {
		t.hint("> ")
		var line typed
		select {
		case line = <-t.typed:
		case <-t.interrupts:
			return errEnded
		}
		if line.end || strings.TrimSpace(line.text) == "" {
			t.hint("\n")
			return line.err
		}
		if err := t.say(ctx, line.text); err != nil {
			return err
		}
	}
}

// typed is a line of the input, or its end.
type typed struct {
	text string
	end  bool
	err  error
}

// lines reads the input one line ahead. Its goroutine may wait for a line until
// the program ends: nothing can call a terminal back.
func (t *chatter) lines() <-chan typed {
	out := make(chan typed, 1)
	go func() {
		in := bufio.NewScanner(t.call.in)
		in.Buffer(nil, 1<<20)
		for in.Scan() {
			out <- typed{text: in.Text()}
		}
		out <- typed{end: true, err: in.Err()}
		close(out)
	}()
	return out
}

// say sends one message and prints the answer as it comes. The first Ctrl-C has
// the server stop it, a second one does not wait for that.
func (t *chatter) say(ctx context.Context, text string) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	done := make(chan error, 1)
	go func() { done <- t.listen(ctx, text) }()
	var waits *question
	var typed <-chan typed // a line is wanted only while something waits
	for stopping := false; ; {
		select {
		case err := <-done:
			return err
		case waits = <-t.asked:
			typed = t.typed
		case line := <-typed:
			t.decide(ctx, waits, line)
			typed = nil
		case sig := <-t.interrupts:
			if sig == os.Interrupt && !stopping {
				stopping = true
				t.abort(ctx)
				continue
			}
			cancel()
			<-done
			t.abort(context.WithoutCancel(ctx))
			fmt.Fprintln(t.call.out)
			if sig != os.Interrupt {
				return errEnded
			}
			return nil
		}
	}
}

// abort has the server stop the answer. What is left of it comes over the
// stream.
func (t *chatter) abort(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, abortTime)
	defer cancel()
	res, err := t.do(ctx, http.MethodPost, "/messages/abort", map[string]string{"sessionId": t.session})
	if err != nil {
		fmt.Fprintf(t.call.out, "\nThe answer could not be stopped: %v\n", err)
		return
	}
	_ = res.Body.Close() // whether there was something to stop shows in the stream
}

// question is a call of a tool that waits for a yes.
type question struct {
	Run         string         `json:"runId"`
	Call        string         `json:"callId"`
	Tool        string         `json:"tool"`
	Description string         `json:"description"`
	Arguments   jsontext.Value `json:"arguments"`
}

// decision is the answer to a question.
type decision struct {
	Confirmed  bool `json:"confirmed"`
	ForSession bool `json:"forSession,omitzero"` // and to all that follow of the tool, in this conversation
}

// decide answers a question with a line: yes if it says so, and else no.
func (t *chatter) decide(ctx context.Context, q *question, line typed) {
	var answer decision
	switch strings.ToLower(strings.TrimSpace(line.text)) {
	case "y", "yes":
		answer.Confirmed = true
	case "a", "always":
		answer.Confirmed, answer.ForSession = true, true
	default:
		fmt.Fprintln(t.call.out, "[no]")
	}
	res, err := t.do(ctx, http.MethodPost, "/runs/"+url.PathEscape(q.Run)+"/confirmations/"+url.PathEscape(q.Call), answer)
	if err != nil {
		fmt.Fprintf(t.call.out, "\nThe tool was not answered: %v\n", err)
		return
	}
	_ = res.Body.Close() // the stream has the result
}

// ask asks the person at the keyboard.
func (t *chatter) ask(ctx context.Context, args jsontext.Value) error {
	q := &question{}
	if err := json.Unmarshal(args, q); err != nil {
		return fmt.Errorf("read question: %w", err)
	}
	fmt.Fprintf(t.call.out, "\n%s wants to run: %s\n  %s\nLet it? [y]es, [a]lways in this conversation, [N]o: ", q.Tool, q.Description, q.Arguments)
	select {
	case t.asked <- q:
	case <-ctx.Done():
	}
	return nil
}

// do sends a request as the holder of the key. Each has a fresh token: one
// lives for minutes, a conversation for hours.
func (t *chatter) do(ctx context.Context, method, path string, body any) (*http.Response, error) {
	token, err := mint(ctx, t.call, &t.opt.ucanFlags)
	if err != nil {
		return nil, err
	}
	b, err := json.Marshal(body)
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, method, t.base+path, bytes.NewReader(b))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Authorization", "Bearer "+token)
	req.Header.Set("X-Auth-Type", "ucan")
	res, err := http.DefaultClient.Do(req)
	if errors.Is(err, syscall.ECONNREFUSED) {
		return nil, fmt.Errorf("the connection was refused: is the server running at %s?", t.base)
	} else if err != nil {
		return nil, err
	}
	if res.StatusCode >= 300 {
		defer res.Body.Close()
		text, _ := io.ReadAll(io.LimitReader(res.Body, 4<<10)) // what came of it is the message
		return nil, &refused{res.StatusCode, strings.TrimSpace(string(text))}
	}
	return res, nil
}

// refused is the body of a refusal.
type refused struct {
	status int
	text   string
}

// Error gives what the server said.
func (r *refused) Error() string { return fmt.Sprintf("the server answers %d: %s", r.status, r.text) }

// offered reports whether the server has the requested model, because it would
// replace an unknown one by its own.
func (t *chatter) offered(ctx context.Context) error {
	if t.opt.model == "" {
		return nil
	}
	res, err := t.do(ctx, http.MethodGet, "/models", struct{}{})
	if err != nil {
		return err
	}
	defer res.Body.Close()
	var has struct {
		Models []struct {
			ID string `json:"id"`
		} `json:"models"`
	}
	if err := json.UnmarshalRead(io.LimitReader(res.Body, 1<<20), &has); err != nil {
		return fmt.Errorf("read models: %w", err)
	}
	var ids []string
	for _, m := range has.Models {
		if m.ID == t.opt.model {
			return nil
		}
		ids = append(ids, m.ID)
	}
	return fmt.Errorf("the server does not offer the model %q; it has %s", t.opt.model, strings.Join(ids, ", "))
}

// begin opens a session.
func (t *chatter) begin(ctx context.Context) error {
	res, err := t.do(ctx, http.MethodPost, "/sessions", struct{}{})
	if err != nil {
		return err
	}
	defer res.Body.Close()
	var made struct {
		SessionID string `json:"sessionId"`
	}
	if err := json.UnmarshalRead(io.LimitReader(res.Body, 1<<20), &made); err != nil {
		return fmt.Errorf("read session: %w", err)
	}
	t.session = made.SessionID
	return nil
}

// known reports whether the session to continue exists: its id begins with a
// dollar sign, which a shell may have interpreted.
func (t *chatter) known(ctx context.Context) error {
	res, err := t.do(ctx, http.MethodGet, "/sessions/"+url.PathEscape(t.session)+"/run", struct{}{})
	var r *refused
	if errors.As(err, &r) && r.status == http.StatusNotFound {
		return fmt.Errorf("you have no session %q at %s (put the id between single quotes: it begins with a dollar sign)", t.session, t.base)
	} else if err != nil {
		return err
	}
	return res.Body.Close()
}

// listen sends one message and prints the answer as it comes.
func (t *chatter) listen(ctx context.Context, text string) error {
	type message struct {
		Message string `json:"message"`
		Stream  bool   `json:"stream"`
		Model   string `json:"model,omitempty"`
	}
	res, err := t.do(ctx, http.MethodPost, "/messages/"+t.session, message{text, true, t.opt.model})
	if err != nil {
		return err
	}
	defer res.Body.Close()
	lines := bufio.NewScanner(res.Body)
	lines.Buffer(nil, 4<<20)
	name := ""
	for lines.Scan() {
		line := lines.Text()
		switch {
		case strings.HasPrefix(line, "event: "):
			name = line[len("event: "):]
		case strings.HasPrefix(line, "data: "):
			done, err := t.show(ctx, name, line[len("data: "):])
			if err != nil || done {
				fmt.Fprintln(t.call.out)
				return err
			}
		}
	}
	return errors.Join(lines.Err(), errors.New("the stream ended before the answer did"))
}

// show prints a frame. It reports whether it was the last.
func (t *chatter) show(ctx context.Context, name, data string) (done bool, err error) {
	var f struct {
		Content  string         `json:"content"`
		ToolName string         `json:"toolName"`
		Args     jsontext.Value `json:"args"`
		Status   any            `json:"status"` // a word, or a number in errors
		Error    string         `json:"error"`
	}
	if err := json.Unmarshal([]byte(data), &f); err != nil {
		return false, fmt.Errorf("read frame: %w", err)
	}
	w := t.call.out
	switch name {
	case "message":
		fmt.Fprint(w, f.Content)
	case "tool_call", "action_call":
		switch {
		case f.Status != "isRunning":
		case f.ToolName == oracletool.ConfirmName:
			return false, t.ask(ctx, f.Args)
		default:
			fmt.Fprintf(w, "[%s] ", f.ToolName)
		}
	case "error":
		fmt.Fprintf(w, "\n%s\n", f.Error)
	case "done":
		if f.Status != nil && f.Status != "finished" {
			fmt.Fprintf(w, " [%v]", f.Status)
		}
		return true, nil
	}
	return false, nil
}
