package agui

import (
	"context"
	"errors"
	"slices"

	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/oracle"
	"github.com/hearth-dmrv/hearth/internal/oracle/chat"
	"github.com/hearth-dmrv/hearth/internal/oracle/run"
	"github.com/hearth-dmrv/hearth/internal/oracle/tool"
)

// visit is one request on its way to its last event.
type visit struct {
	s       *Service
	g       *oracle.Guest
	in      *input
	session string
	newest  string                             // the newest run of the session, or nothing
	write   func(data []byte, more bool) error // nil until the stream has begun
}

// serve answers a request. Refusals come before the stream begins; from then on
// events report everything.
func (s *Service) serve(g *oracle.Guest, raw []byte) error {
	in, err := read(raw, tool.ConfirmName)
	if err != nil {
		return err
	}
	leave, err := g.Place()
	if err != nil {
		return err
	}
	defer leave()
	session, err := chat.FindThread(g.Context(), s.cfg.Chat, g.User(), in.thread)
	if err == nil && session.ID == "" && in.fresh() {
		session, err = s.cfg.Chat.OpenThread(g.Context(), g.User(), in.thread)
	}
	if err != nil {
		return err
	}
	v := &visit{s: s, g: g, in: in, session: session.ID, newest: session.Run}
	switch {
	case len(in.decisions) > 0:
		err = v.decide()
	case in.fresh():
		err = v.say()
	default:
		err = v.resume("")
	}
	if err != nil && v.write == nil && v.newest == "" {
		if left := chat.DropThread(context.WithoutCancel(g.Context()), s.cfg.Chat, g.User(), in.thread); left != nil {
			s.cfg.Log.WarnContext(g.Context(), "an empty conversation is left", "err", left.Error())
		}
	}
	if err == nil || v.write == nil {
		return err
	}
	if g.Context().Err() != nil {
		return nil // the reader has left
	}
	return errors.Join(err, v.send(true, event{Type: runError, Message: "Something went wrong on our side.", Code: "internal"}))
}

// ctx ends when the client leaves.
func (v *visit) ctx() context.Context { return v.g.Context() }

// say answers the new messages.
func (v *visit) say() error {
	started, err := v.start()
	if err != nil {
		return err
	}
	if started.Joined {
		return v.resume(started.RunID)
	}
	if err := v.open(started.RunID, started.RequestID); err != nil {
		return err
	}
	return v.follow(v.translator(started.RunID))
}

// start begins the run that answers the new messages.
func (v *visit) start() (run.Started, error) {
	in := v.in
	results, err := v.results()
	if err != nil {
		return run.Started{}, err
	}
	return v.g.Say(v.ctx(), oracle.Ask{
		Session: v.session, Text: in.text, Attachments: in.files, Results: results, Tools: in.tools, Model: in.model, Timezone: in.zone,
		Metadata: in.context, Key: "ag-ui " + in.run,
	})
}

// results are what the client's tools gave for calls that wait for it. What we
// have ourselves, because it is the result of one of our tools, is left out.
func (v *visit) results() ([]oracle.HandedResult, error) {
	in := v.in
	if len(in.answers) == 0 {
		return nil, nil
	}
	past, err := v.s.past(v.ctx(), v.g.User(), v.session, 2) // the last may be this very request
	if err != nil {
		return nil, err
	}
	var out []oracle.HandedResult
	var bad fault.Checks
	for _, a := range in.answers {
		if name, ok := past.handed[a.call]; ok {
			out = append(out, oracle.HandedResult{CallID: a.call, Tool: name, Output: a.output, Failed: a.failed})
		} else if !past.calls[a.call] {
			bad.Add("/"+a.at+"/toolCallId", "not_found", a.at+".toolCallId names no call that waits for a result")
		}
	}
	if len(out) > 0 || in.text != "" || len(in.files) > 0 {
		return out, nil
	}
	if bad.OK() { // the results of ours alone are nothing new
		bad.Add("/messages", "required", "messages should hold a message of the user, or the result of a tool, that is new")
	}
	return nil, bad.Err("VALIDATION_FAILED", "The request is not valid.")
}

// decide passes on the user's decisions about tools that change something, and
// continues with the run that waits for them, after the question.
func (v *visit) decide() error {
	if err := v.g.Itself(); err != nil {
		return err
	}
	if v.newest == "" {
		return fault.New(fault.NotFound, "CONFIRMATION_NOT_FOUND", "No run of this thread waits for an answer.")
	}
	t := v.translator(v.newest)
	for _, d := range v.in.decisions {
		if _, err := v.s.cfg.Permits.Decide(v.ctx(), v.g.User(), v.newest, d.call, d.yes); err != nil {
			return err
		}
		t.seen = append(t.seen, d.call)
	}
	now, err := v.s.cfg.Runs.Find(v.ctx(), v.g.User(), v.newest)
	if err != nil {
		return err
	}
	if ended(now.Status) { // it was decided before, and this is the request again
		return v.resume(now.RunID)
	}
	t.muted = true
	if err := v.open(now.RunID, now.RequestID); err != nil {
		return err
	}
	return v.follow(t)
}

// resume shows the conversation, and the run that is at work on it: that of id,
// or the one of the session.
func (v *visit) resume(id string) error {
	if v.session == "" { // nothing was ever said in it
		if err := v.open("", ""); err != nil {
			return err
		}
		return v.send(true, append([]event{{Type: messagesSnapshot, Messages: &[]message{}}}, v.translator("").finish(v.in.thread, v.in.run)...)...)
	}
	user := v.g.User()
	now, err := v.current(id)
	if err != nil {
		return err
	}
	past, err := v.s.past(v.ctx(), user, v.session, maxTurns)
	if err != nil {
		return err
	}
	if now.RunID != "" && !ended(now.Status) {
		// A run that has ended meanwhile has its answer in the history already.
		if now, err = v.s.cfg.Runs.Find(v.ctx(), user, now.RunID); err != nil {
			return err
		}
		if ended(now.Status) {
			if past, err = v.s.past(v.ctx(), user, v.session, maxTurns); err != nil {
				return err
			}
		}
	}
	if err := v.open(now.RunID, now.RequestID); err != nil {
		return err
	}
	if err := v.send(false, event{Type: messagesSnapshot, Messages: &past.messages}); err != nil {
		return err
	}
	t := v.translator(now.RunID)
	if now.RunID == "" {
		t.pending = past.pending()
		return v.send(true, t.finish(v.in.thread, v.in.run)...)
	}
	if t.muted = ended(now.Status); t.muted {
		t.pending = past.pending()
	}
	return v.follow(t)
}

// current is the run to be read: that of id, or the one at work, if there is any.
func (v *visit) current(id string) (run.Info, error) {
	if id != "" {
		return v.s.cfg.Runs.Find(v.ctx(), v.g.User(), id)
	}
	now, err := v.s.cfg.Runs.Current(v.ctx(), v.g.User(), v.session)
	if err != nil || now == nil {
		return run.Info{}, err
	}
	return *now, nil
}

func ended(s run.Status) bool { return s != run.Running && s != run.Recovering }

// translator reads a run for this client.
func (v *visit) translator(id string) *translator {
	t := &translator{base: id}
	if v.in.asks {
		t.waits = func(call string) (bool, error) {
			list, err := v.s.cfg.Permits.Waiting(v.ctx(), v.g.User(), id)
			return slices.ContainsFunc(list, func(q tool.Question) bool { return q.CallID == call }), err
		}
	}
	return t
}

// open begins the stream.
func (v *visit) open(runID, requestID string) error {
	v.write = v.g.Open(runID, requestID)
	e := event{Type: runStarted, ThreadID: v.in.thread, RunID: v.in.run, ProtocolVersion: protocolVersion, Metadata: &metadata{}}
	e.Metadata.Hearth.SessionID, e.Metadata.Hearth.RunID = v.session, runID
	return v.send(false, e)
}

// send writes events; flush says that nothing follows at once.
func (v *visit) send(flush bool, events ...event) error {
	var b batch
	if err := b.add(events...); err != nil {
		return err
	}
	return v.write(b.data, !flush)
}

// follow reads a run to its end, or up to a question, and ends the stream. When
// the client has brought more than a decision, that is answered in the same
// stream.
func (v *visit) follow(t *translator) error {
	for {
		err := v.g.Follow(v.ctx(), t.base, func(f run.Frame) error { return v.frame(t, f) })
		if v.ctx().Err() != nil {
			v.left(t.base)
			return nil
		}
		if errors.Is(err, context.Canceled) {
			return v.send(true, event{Type: runError, Message: "Your credential is no longer valid.", Code: "unauthorized"})
		}
		if err != nil && !errors.Is(err, errAsked) {
			return err
		}
		if errors.Is(err, errAsked) || !v.brought(t) {
			return v.send(true, t.finish(v.in.thread, v.in.run)...)
		}
		v.in.decisions = nil
		started, err := v.start()
		if err != nil {
			return err
		}
		t = v.translator(started.RunID)
	}
}

// brought reports whether a continued run has ended while something that the
// client sent with its decision is still unanswered: a message of the user, or
// results of calls that the run handed over.
func (v *visit) brought(t *translator) bool {
	if len(v.in.decisions) == 0 || t.status != run.Finished {
		return false
	}
	return v.in.text != "" || len(v.in.files) > 0 || slices.ContainsFunc(v.in.answers, func(a answer) bool {
		return slices.Contains(t.pending, a.call)
	})
}

// frame writes the events of a frame.
func (v *visit) frame(t *translator, f run.Frame) error {
	if f.ID == 0 { // a sign of life
		return v.write(f.Data, f.More)
	}
	events, err := t.frame(f)
	if err != nil && !errors.Is(err, errAsked) {
		return err
	}
	if sent := v.send(!f.More, events...); sent != nil {
		return sent
	}
	return err
}

// left ends the run of a client that has left and wants it to end.
func (v *visit) left(id string) {
	if !v.in.abort {
		return
	}
	ctx := context.WithoutCancel(v.ctx())
	if _, err := v.s.cfg.Runs.AbortRun(ctx, v.g.User(), id); err != nil {
		v.s.cfg.Log.WarnContext(ctx, "run not ended with its reader", "err", err.Error())
	}
}
