package oracle

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"net/http"
	"runtime/debug"
	"strconv"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/oracle/agent"
	"github.com/hearth-dmrv/hearth/internal/oracle/chat"
	"github.com/hearth-dmrv/hearth/internal/oracle/llm"
	"github.com/hearth-dmrv/hearth/internal/oracle/run"
	"github.com/hearth-dmrv/hearth/internal/oracle/tool"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// Errand is a request for a user who has no page open: over a handset, in the
// chat of another service, by a schedule. Nobody can confirm anything, so a tool
// that changes something runs by a grant only.
type Errand struct {
	Who *Identity
	// Thread names the user's conversation, which is made if it is new. Two errands
	// of a thread with the same Key are one: only one is answered.
	Thread, Key string
	Title       string     // of a new conversation
	Text        string     // what the user says
	Call        *tool.Call // in place of Text: the one tool to call
	Brief       string     // how the model is to answer, in our own words
	Customer    string     // language of a customer with a simple phone; "" for everybody else
	ReadOnly    bool       // no tool that changes something
	Timezone    string
}

// Reply is the result of an errand.
type Reply struct {
	Text string
	// Refused says that the tool of the errand, or a check before it, refused.
	Refused bool
}

// Errands carries out errands.
type Errands struct {
	s       *Service
	caller  *agent.Agent // calls the one tool of an errand
	schemas *tool.Checker
	public  chan struct{} // calls for unknown people, including those that nobody waits for
}

const (
	// maxPublic limits how many tools run for unknown people: more than can wait for
	// them, since a call continues when its caller is told to look again.
	maxPublic = 256
	// publicTime is how long one works at most.
	publicTime = 30 * time.Second
	// afterTime limits how long storing an answer may take that nobody waited
	// for.
	afterTime = 5 * time.Second
)

// NewErrands makes the errands of a service.
func NewErrands(s *Service) Errands {
	return Errands{s, agent.New(agent.Config{Model: llm.Func(direct), Log: s.cfg.Log}), tool.NewChecker(), make(chan struct{}, maxPublic)}
}

// Send begins an errand, or finds an earlier one with its key. It returns the name
// under which the user has conversations and the id of the run, for Await. Faults
// are those of a message, and those of a plugin that refuses the answer.
func (d Errands) Send(ctx context.Context, e Errand) (user, runID string, err error) {
	user, started, err := d.begin(ctx, e)
	return user, started.RunID, err
}

// Do is Send and Await. again reports that there was an earlier errand with its key,
// whose sender gets the reply.
func (d Errands) Do(ctx context.Context, e Errand) (r Reply, again bool, err error) {
	user, started, err := d.begin(ctx, e)
	if err != nil || started.Joined {
		return Reply{}, started.Joined, err
	}
	r, err = d.Await(ctx, user, started.RunID)
	return r, false, err
}

func (d Errands) begin(ctx context.Context, e Errand) (user string, started run.Started, err error) {
	s := d.s
	user = userOf(e.Who)
	session, err := s.cfg.Chat.OpenThread(ctx, user, e.Thread)
	if err != nil {
		return "", run.Started{}, err
	}
	t := &turn{
		who: e.Who, user: user, session: session.ID, message: &message{Text: e.Text, Timezone: e.Timezone}, errand: &e, errands: d,
		about: tool.Context{
			User: e.Who.DID, Talker: user, Signer: e.Who.Signer, Whole: e.Who.Whole(), Ends: e.Who.Ends(), Caller: e.Who.Key, Again: e.Who.Again, SessionID: session.ID, Timezone: zone(e.Timezone),
		},
	}
	if e.Call != nil {
		t.message.Text = e.Call.Name + " " + string(e.Call.Args)
	}
	hash := sha256.Sum256([]byte(t.message.Text))
	defer func() {
		if err == nil {
			return
		}
		if left := chat.DropThread(context.WithoutCancel(ctx), s.cfg.Chat, user, e.Thread); left != nil {
			s.cfg.Log.WarnContext(ctx, "an empty conversation is left", "err", left.Error())
		}
	}()
	if err := t.admit(ctx, s); err != nil {
		return "", run.Started{}, unheard(err)
	}
	defer t.release(ctx, s)
	start := run.Start{ID: t.about.RunID, Purse: t.purse(ctx, s), User: user, Session: session.ID, Message: t.said(), RequestID: web.RequestID(ctx), Key: e.Key, Hash: hash[:]}
	if session.Title == chat.Untitled && e.Title != "" {
		if _, err := s.cfg.Chat.SetTitle(ctx, user, session.ID, e.Title); err != nil {
			return "", run.Started{}, err
		}
	}
	// The address of a gateway represents thousands of people, so runs are not
	// counted by it.
	started, err = s.cfg.Runs.Start(ctx, start, s.work(t))
	if t.begun = err == nil && !started.Joined; t.begun {
		s.announce(ctx, t, started, false)
	}
	return user, started, unheard(err)
}

// Await waits for the end of an errand. The fault for an unknown one is
// RUN_NOT_FOUND; when ctx ends first the error is that of ctx.
func (d Errands) Await(ctx context.Context, user, runID string) (Reply, error) {
	end, err := d.s.cfg.Runs.Wait(ctx, user, runID)
	if err != nil {
		return Reply{}, err
	}
	if end.Status == run.Failed {
		err := refusal(end.Error)
		if fault.CodeOf(err) == "MODEL_REFUSED" {
			return Reply{Refused: true}, nil
		}
		return Reply{}, err
	}
	var m chat.Message
	if end.Answer != nil {
		if err := json.Unmarshal(end.Answer, &m); err != nil {
			return Reply{}, fmt.Errorf("read answer: %w", err)
		}
	}
	if end.Status != run.Finished || m.Content == "" {
		return Reply{}, fault.New(fault.Unavailable, "MODEL_UNAVAILABLE", "The answer was not finished.")
	}
	return Reply{Text: m.Content}, nil
}

// Public calls a public tool for an unknown person. The fault TOOL_NOT_PUBLIC is for
// all other tools, whether they exist or not. A call that still runs when ctx ends
// continues, for publicTime at most, and after receives its result.
func (d Errands) Public(ctx context.Context, c tool.Call, after func(context.Context, Reply, error)) (Reply, error) {
	s := d.s
	ctx = tool.With(ctx, tool.Context{RequestID: web.RequestID(ctx)})
	found := s.cfg.Tools.Open(ctx, c.Name)
	if found == nil {
		return Reply{}, fault.New(fault.Forbidden, "TOOL_NOT_PUBLIC", "No tool with this name is public.")
	}
	spec := found.Spec()
	if c.Args = fitted(spec, c.Args); d.schemas.Check(spec, c.Args) != "" {
		return Reply{Refused: true}, nil
	}
	one := s.cfg.Tools.Wrapped([]tool.Tool{found})[0]
	type end struct {
		reply Reply
		err   error
	}
	ends := make(chan end) // unbuffered: the result goes to whoever waits, or to nobody
	s.later.start(ctx, min(orElse(spec.Timeout, publicTime), publicTime), func(work context.Context) {
		r, err := d.apart(work, one, c)
		select {
		case ends <- end{r, err}:
		case <-ctx.Done():
			store, cancel := context.WithTimeout(context.WithoutCancel(work), afterTime)
			defer cancel()
			after(store, r, err)
		}
	})
	select {
	case e := <-ends:
		return e.reply, e.err
	case <-ctx.Done():
		return Reply{}, context.Cause(ctx)
	}
}

// apart runs a tool for as long as ctx lasts and no longer, whatever the tool does.
func (d Errands) apart(ctx context.Context, t tool.Tool, c tool.Call) (Reply, error) {
	select {
	case d.public <- struct{}{}:
	default:
		return Reply{}, fault.New(fault.Unavailable, "TOO_MANY_RUNS", "Too many tools are running. Try again in a moment.")
	}
	type end struct {
		out tool.Output
		err error
	}
	ends := make(chan end, 1)
	go func() {
		var e end
		defer func() {
			if v := recover(); v != nil {
				d.s.cfg.Log.ErrorContext(ctx, "tool panicked", "tool", c.Name, "panic", fmt.Sprint(v), "stack", string(debug.Stack()))
				e = end{err: fault.New(fault.Internal, "INTERNAL", "Internal error.")}
			}
			ends <- e
			<-d.public
		}()
		e.out, e.err = t.Run(ctx, c)
	}()
	select {
	case e := <-ends:
		if f := fault.As(e.err); f != nil && f.Kind != fault.Internal && f.Kind != fault.Unavailable || e.err == nil && e.out.Err != "" {
			return Reply{Refused: true}, nil
		}
		return Reply{Text: e.out.String()}, e.err
	case <-ctx.Done():
		return Reply{}, context.Cause(ctx)
	}
}

// customer is the language of a customer who asks, "" for everybody else.
func (t *turn) customer() string {
	if t.errand == nil {
		return ""
	}
	return t.errand.Customer
}

// brief is how the model is to answer.
func (t *turn) brief() string {
	if t.errand == nil || t.errand.Brief == "" {
		return ""
	}
	return "\n\n" + t.errand.Brief
}

// within are the tools that an errand may use. The one that it names needs not be
// loaded.
func (t *turn) within(tools []tool.Tool) []tool.Tool {
	if t.errand == nil {
		return tools
	}
	var out []tool.Tool
	for _, one := range tools {
		spec := one.Spec()
		if t.errand.ReadOnly && !spec.ReadOnly {
			continue
		}
		if call := t.errand.Call; call == nil {
			out = append(out, one)
		} else if call.Name == spec.Name && spec.Sub == "" { // a sub-agent needs a model
			out = append(out, loaded{one})
		}
	}
	return out
}

// loaded is a tool that is available without being loaded.
type loaded struct{ tool.Tool }

// Spec describes the tool.
func (l loaded) Spec() tool.Spec {
	s := l.Tool.Spec()
	s.Capability = ""
	return s
}

// Unwrap is the tool itself.
func (l loaded) Unwrap() tool.Tool { return l.Tool }

// Permitted asks the tool.
func (l loaded) Permitted(ctx context.Context) bool {
	p, ok := l.Tool.(tool.Permitted)
	return ok && p.Permitted(ctx)
}

type callKey struct{}

// direct answers with the result of the only call in the context.
func direct(ctx context.Context, r llm.Request, each func(llm.Delta) error) error {
	call, _ := ctx.Value(callKey{}).(tool.Call)
	last := r.Messages[len(r.Messages)-1]
	switch {
	case last.Role != llm.Tool:
		return each(llm.Delta{ToolCalls: []tool.Call{call}})
	case last.Failed:
		return &llm.Error{Kind: llm.Unknown, Status: http.StatusUnprocessableEntity, Detail: "The tool refused the call.", Err: errors.New(last.Content)}
	case last.Content == "":
		last.Content = "{}"
	}
	return each(llm.Delta{Text: last.Content})
}

// call runs the one tool of an errand by the rules that a model's calls have.
func (d Errands) call(ctx context.Context, t *turn, tools []tool.Tool, k agent.Sink) (agent.Result, error) {
	c := *t.errand.Call
	for _, one := range tools {
		c.Args = fitted(one.Spec(), c.Args)
	}
	t.account.Model = ""
	return d.caller.Turn(context.WithValue(ctx, callKey{}, c), agent.Turn{User: t.said(), Tools: d.s.cfg.Tools.Wrapped(tools)}, k)
}

// fitted converts the texts among arguments to the types in a tool's schema, so
// that callers with texts only, such as menus, can send numbers too.
func fitted(s tool.Spec, args jsontext.Value) jsontext.Value {
	var schema struct {
		Properties map[string]struct {
			Type jsontext.Value `json:"type"`
		} `json:"properties"`
	}
	var have map[string]jsontext.Value
	if json.Unmarshal(s.Schema, &schema) != nil || json.Unmarshal(args, &have) != nil {
		return args
	}
	for name, v := range have {
		var text string
		if v.Kind() != '"' || json.Unmarshal(v, &text) != nil {
			continue
		}
		switch want := string(schema.Properties[name].Type); {
		case want == `"integer"` || want == `"number"`:
			if _, err := strconv.ParseFloat(text, 64); err == nil && jsontext.Value(text).Kind() == '0' && jsontext.Value(text).IsValid() {
				have[name] = jsontext.Value(text)
			}
		case want == `"boolean"` && (text == "true" || text == "false"):
			have[name] = jsontext.Value(text)
		}
	}
	out, err := json.Marshal(have, json.Deterministic(true))
	if err != nil {
		return args
	}
	return out
}
