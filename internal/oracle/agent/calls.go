package agent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/oracle/llm"
	"github.com/hearth-dmrv/hearth/internal/oracle/tool"
)

// What a model and a caller are told when a tool has no output of its own.
const (
	notRun       = "The tool was not run: the turn ended first."
	toolFailed   = "The tool failed."
	toolStopped  = "Tool did not complete"
	actionMissed = "Action did not complete"
)

// clientGrace is how much longer than its own timeout we wait for a client
// tool, because the code that waits for the client has a better message.
const clientGrace = time.Second

// mainAgent is the step on leaving a sub-agent.
const mainAgent = "main_agent"

// actionAgent is the sub-agent of actions that name none.
const actionAgent = "ag-ui_agent"

// job is one call of a round.
type job struct {
	call    *tool.Call
	spec    tool.Spec
	tool    tool.Tool
	key     string // name and arguments
	quiet   bool   // callers do not see it: the model is asked to correct itself
	started bool   // the sink knows of it
	ended   bool
	out     tool.Output
}

// run runs the calls of one answer, some in parallel, and stores their results
// in order. Whatever happens, each call gets one: those above the limit of the
// turn are refused, and the model is asked for its answer.
func (u *turn) run(ctx context.Context, calls []tool.Call) error {
	jobs := make([]job, len(calls))
	runnable := 0
	for i := range calls {
		if jobs[i] = u.decide(&calls[i]); jobs[i].tool != nil {
			runnable++
		}
	}
	if u.stuck++; runnable > 0 {
		u.stuck = 0
	}
	u.spent = u.spent || u.stuck >= maxStuck
	if asks(jobs) {
		u.clock.stand()
		defer u.clock.goOn()
	}
	err := u.start(ctx, jobs)
	for i := range jobs {
		j := &jobs[i]
		if !j.ended { // never started, because something failed before
			j.out = tool.Output{Err: notRun}
		}
		u.result(j.call, j.out)
		u.load(j.out.Load)
		u.handed = u.handed || j.out.Handed
		if j.tool != nil && j.spec.Kind.Client() && j.out.Err != "" {
			u.failed[j.key] = true
		}
	}
	return err
}

// decide finds out whether a call may be run; a job without a tool carries the
// refusal.
func (u *turn) decide(c *tool.Call) job {
	i, known := u.tools.find(c.Name)
	if !known {
		return job{call: c, spec: tool.Spec{Name: c.Name}, out: tool.Output{Err: "There is no tool of this name."}}
	}
	t := u.tools.all[i]
	j := job{call: c, spec: t.Spec()}
	j.spec.Agent = cmp.Or(j.spec.Agent, u.agent())
	if slices.Contains(u.hidden, i) {
		j.out.Err = "The tool is not loaded. Call " + tool.LoadName + " with {\"names\":[" + strconv.Quote(j.spec.Capability) + "]} first."
		return j
	}
	wrong := "The arguments are not valid JSON."
	if !u.garbled[c.ID] {
		wrong = u.a.schemas.Check(j.spec, c.Args)
	}
	if wrong != "" {
		u.wrong[c.Name]++
		j.quiet = u.wrong[c.Name] == 1
		j.out.Err = wrong
		if j.quiet {
			j.out.Err += " Correct them and call the tool again."
		}
		return j
	}
	j.key = key(c)
	u.seen[j.key]++
	switch {
	case u.failed[j.key]:
		j.out.Err = "This call was sent before and failed. It is not repeated."
	case u.seen[j.key] > u.limits.Repeats:
		j.out.Err = "This call was made before with the same arguments. Use its result."
	case u.res.Calls >= u.limits.Calls:
		j.out.Err = fmt.Sprintf("The limit of %d tool calls in one turn is reached. Answer with what you have.", u.limits.Calls)
		u.spent = true
	default:
		u.res.Calls++
		j.tool = t
	}
	return j
}

// key names a call by its tool and its arguments in canonical form.
func key(c *tool.Call) string {
	args := c.Args.Clone()
	if err := args.Canonicalize(); err != nil {
		args = c.Args
	}
	return c.Name + " " + string(args)
}

// outcome is the end of a job.
type outcome struct {
	index int
	out   tool.Output
}

// start runs the jobs and reports each start and end to the sink. As soon as
// one of them ends, the next one begins.
func (u *turn) start(ctx context.Context, jobs []job) error {
	entered, err := u.enter(jobs)
	ends := make(chan outcome, 2*len(jobs)) // room for its end and its timeout, so that sending never blocks
	open := 0
	for next := 0; err == nil && (next < len(jobs) || open > 0); {
		if ctx.Err() != nil {
			err = context.Cause(ctx)
			break
		}
		if next < len(jobs) && open < u.limits.Parallel {
			var runs bool
			if runs, err = u.setOff(ctx, next, &jobs[next], ends); runs {
				open++
			}
			next++
			continue
		}
		select {
		case o := <-ends:
			if j := &jobs[o.index]; !j.ended {
				open--
				err = u.end(j, o.out)
			}
		case <-ctx.Done():
			err = context.Cause(ctx)
		}
	}
	if err != nil {
		u.settle(jobs, ends)
	}
	if entered {
		if failed := u.sink.Router(u.home); err == nil {
			err = failed
		}
	}
	return err
}

// setOff begins a job: it reports its start, and its end too when it is refused.
// It reports whether a tool is at work on it.
func (u *turn) setOff(ctx context.Context, i int, j *job, ends chan<- outcome) (bool, error) {
	if j.quiet {
		j.ended = true
		return false, nil
	}
	j.started = true
	if err := u.sink.ToolStart(*j.call, j.spec); err != nil {
		return false, err
	}
	if j.tool == nil {
		return false, u.end(j, j.out)
	}
	u.launch(ctx, i, j, ends)
	return true, nil
}

// enter announces the sub-agents whose tools are about to run.
func (u *turn) enter(jobs []job) (bool, error) {
	var names []string
	for i := range jobs {
		name := cmp.Or(jobs[i].spec.Sub, jobs[i].spec.Agent)
		if name == "" && jobs[i].spec.Kind == tool.Action {
			name = actionAgent
		}
		if name == "" || name == u.home || jobs[i].tool == nil || slices.Contains(names, name) {
			continue
		}
		names = append(names, name)
		if err := u.sink.Router(name); err != nil {
			return true, err
		}
	}
	return len(names) > 0, nil
}

// launch runs a job. It sends its end, its timeout or the end of the turn,
// whichever comes first: a tool that does not stop blocks nothing.
func (u *turn) launch(ctx context.Context, i int, j *job, ends chan<- outcome) {
	limit := j.spec.Timeout
	if limit <= 0 {
		limit = u.limits.ToolTimeout
	}
	if j.spec.Kind.Client() {
		limit += clientGrace
	}
	within := ctx
	if j.spec.Sub != "" { // it has a clock of its own
		limit, within = subLife, tool.WithNest(ctx, u.nest)
	}
	inner, cancel := context.WithTimeout(within, limit)
	overdue := tool.Output{Err: "The tool did not answer within " + limit.String() + "."}
	stop := context.AfterFunc(inner, func() {
		if ctx.Err() == nil {
			ends <- outcome{i, overdue}
		}
	})
	t, call, a := j.tool, *j.call, u.a
	call.Args = call.Args.Clone() // the tool may keep or change it
	a.running.Go(func() {
		defer cancel()
		out := a.call(inner, t, call)
		stop()
		switch {
		case out.Err != toolFailed || inner.Err() == nil:
		case ctx.Err() == nil:
			out = overdue
		default: // it gave up because the turn did
			out = j.unfinished()
		}
		ends <- outcome{i, out}
	})
}

// call runs a tool and puts whatever it does into an output.
func (a *Agent) call(ctx context.Context, t tool.Tool, c tool.Call) (out tool.Output) {
	defer func() {
		if v := recover(); v != nil {
			a.log.Error("tool panicked", "tool", logged(t), "panic", fmt.Sprint(v), "stack", string(debug.Stack()))
			out = tool.Output{Err: toolFailed}
		}
	}()
	out, err := t.Run(ctx, c)
	switch f := fault.As(err); {
	case err == nil:
		return out
	case f != nil && f.Kind != fault.Internal:
		return tool.Output{Err: sentence(f)}
	case ctx.Err() == nil || !errors.Is(err, ctx.Err()) && !errors.Is(err, context.Cause(ctx)):
		a.log.Error("tool failed", "tool", logged(t), "err", err)
	}
	return tool.Output{Err: toolFailed}
}

// logged is the name of a tool for the log; clients may put anything into the
// names of theirs.
func logged(t tool.Tool) string {
	if s := t.Spec(); s.Kind == tool.Server {
		return s.Name
	}
	return "client"
}

// sentence puts a fault into words for a model.
func sentence(f *fault.Error) string {
	var b strings.Builder
	b.WriteString(f.Message)
	for _, field := range f.Fields {
		if !strings.Contains(f.Message, field.Detail) {
			b.WriteString(" " + field.Pointer + ": " + field.Detail)
		}
	}
	return b.String()
}

// settle ends every job that was started, when the turn ends by ctx or by a
// failure of the sink: with its result where that is already there, otherwise
// as not completed.
func (u *turn) settle(jobs []job, ends <-chan outcome) {
	u.await(jobs, ends)
	for len(ends) > 0 {
		o := <-ends
		if j := &jobs[o.index]; !j.ended {
			_ = u.end(j, o.out) // the turn has failed already
		}
	}
	for i := range jobs {
		j := &jobs[i]
		if !j.started || j.ended {
			continue
		}
		_ = u.end(j, j.unfinished()) // the turn has failed already
	}
}

// unfinished is the output of a job that the end of its turn has stopped.
func (j *job) unfinished() tool.Output {
	if j.spec.Kind == tool.Action {
		return tool.Output{Err: actionMissed}
	}
	return tool.Output{Err: toolStopped}
}

// end reports the end of a job.
func (u *turn) end(j *job, out tool.Output) error {
	j.ended = true
	j.out = bounded(out, u.limits.OutputBytes)
	status := StatusDone
	if j.out.Err != "" {
		status = StatusError
	}
	return u.sink.ToolEnd(*j.call, j.spec, j.out, status)
}

// bounded keeps an output within its limit, and valid.
func bounded(o tool.Output, limit int) tool.Output {
	if len(o.Data) > 0 && o.Text == "" && o.Err == "" {
		if len(o.Data) <= limit && o.Data.IsValid() {
			return o
		}
		o.Text, o.Data = string(o.Data), nil
	}
	o.Text, o.Err = cut(o.Text, limit), cut(o.Err, limit)
	return o
}

func cut(s string, limit int) string {
	if len(s) <= limit {
		return strings.ToValidUTF8(s, "\uFFFD")
	}
	left := len(s) - limit
	return strings.ToValidUTF8(s[:limit], "") + "\n[" + strconv.Itoa(left) + " bytes left out]"
}

// wellFormed reports whether every call of messages has its result right after
// it, in order, and every result its call, and none is empty.
func wellFormed(messages []llm.Message) bool {
	for i := 0; i < len(messages); {
		m := &messages[i]
		i++
		if m.Role == llm.Tool || blank(m) {
			return false
		}
		for _, c := range m.ToolCalls {
			if i == len(messages) || messages[i].Role != llm.Tool || messages[i].ToolCallID != c.ID {
				return false
			}
			i++
		}
	}
	return true
}

// blank reports whether an answer says nothing to a model: it was interrupted
// before its first word.
func blank(m *llm.Message) bool {
	return m.Role == llm.Assistant && m.Content == "" && len(m.ToolCalls) == 0
}

// repair makes a malformed history well-formed: some servers refuse a
// conversation with a dangling call for ever, and some refuse one with an empty
// answer.
func repair(messages []llm.Message) []llm.Message {
	if wellFormed(messages) {
		return messages
	}
	var out []llm.Message
	for i := 0; i < len(messages); i++ {
		m := messages[i]
		if m.Role == llm.Tool || blank(&m) {
			continue
		}
		out = append(out, m)
		for _, c := range m.ToolCalls {
			out = append(out, resultOf(c, messages[i+1:]))
		}
	}
	return out
}

// resultOf finds the result of c among the messages that follow it, up to the
// next one that is not a result.
func resultOf(c tool.Call, following []llm.Message) llm.Message {
	for _, m := range following {
		if m.Role != llm.Tool {
			break
		}
		if m.ToolCallID == c.ID {
			return m
		}
	}
	return llm.Message{Role: llm.Tool, ToolCallID: c.ID, ToolName: c.Name, Content: notRun, Failed: true}
}
