package oracle

import (
	"context"
	"errors"
	"time"

	"github.com/hearth-dmrv/hearth/internal/oracle/agent"
	"github.com/hearth-dmrv/hearth/internal/oracle/attach"
	"github.com/hearth-dmrv/hearth/internal/oracle/chat"
	"github.com/hearth-dmrv/hearth/internal/oracle/llm"
	"github.com/hearth-dmrv/hearth/internal/oracle/run"
	"github.com/hearth-dmrv/hearth/internal/oracle/tool"
	"github.com/hearth-dmrv/hearth/internal/web"
)

const (
	// historyBytes limits the part of a conversation that a turn begins with;
	// the agent summarises what does not fit the model.
	historyBytes = 1 << 20
	// titleTime is how long a title may take.
	titleTime = 30 * time.Second
	// titleTurns is how many turns of a session try to give it a title.
	titleTurns = 5
)

// turn is a message on its way to an answer.
type turn struct {
	who      *Identity
	user     string // the name the conversation is stored under
	session  string
	message  *message
	declared declaration
	tickets  map[string]*ticket // invocations by tool
	about    tool.Context       // what tools may know
	account  run.Account        // the part of it that is kept
	begun    bool               // the answer to it has begun
	results  []HandedResult     // of calls that the last turn handed over
	errand   *Errand            // nil: the user is present
	errands  Errands            // who does it
}

// said converts the message for the model.
func (t *turn) said() llm.Message {
	return llm.Message{Role: llm.User, Content: t.message.Text, Attachments: t.message.Attachments}
}

// work answers a message. It is the work of a run: it continues when the client
// leaves and stops when ctx ends.
func (s *Service) work(t *turn) run.Work {
	return func(ctx context.Context, r *run.Run) run.Result {
		mark := ids{t.session, r.RequestID()}
		if err := r.Ack(ackText); err != nil {
			t.settle(ctx, s, nil)
			return run.Result{}
		}
		s.emit(t.user, t.session, eventReasoning, mark.ack(s.cfg.Now()))
		about := t.about
		about.RequestID, about.RunID = r.RequestID(), r.ID()
		about.Emit = func(event string, payload any) { s.emit(t.user, t.session, event, payload) }
		ctx = tool.With(web.WithRequestID(ctx, r.RequestID()), about)
		defer s.watch(ctx, t)()
		res, err := s.answer(ctx, t, r, mark)
		t.account.Usage = res.Usage
		t.account.Credits = t.settle(ctx, s, &t.account)
		out := run.Result{Messages: res.Messages, Account: &t.account}
		switch {
		case err == nil:
			s.title(ctx, t, r, res.Text)
		case stopped(ctx):
		default:
			s.explain(ctx, err)
			told := mark.failure(llm.Explain(err), s.cfg.Now())
			out.Failed, out.Error, t.account.Error = true, told, told.Error
		}
		return out
	}
}

// watch ends a run when what its message was sent with no longer counts: the key
// is taken from the DID of the user, the API key is revoked, the browser's session
// is ended. That a token or a key comes to its planned end does not matter: an
// answer that was let in is given. What it returns ends the watch.
func (s *Service) watch(ctx context.Context, t *turn) func() {
	return s.cfg.Callers.Watch(ctx, t.who, s.cfg.Recheck, func() bool {
		_, err := s.cfg.Runs.Abort(ctx, t.user, t.session)
		if err != nil {
			s.cfg.Log.WarnContext(ctx, "run not ended with its key", "err", err.Error())
		}
		return err == nil
	})
}

// stopped reports whether the run was ended from outside: by its user, by the
// server, or by its time.
func stopped(ctx context.Context) bool { return ctx.Err() != nil }

// explain logs what the caller is not told.
func (s *Service) explain(ctx context.Context, err error) {
	var e *llm.Error
	if errors.As(err, &e) {
		s.cfg.Log.WarnContext(ctx, "model failed", "kind", string(e.Kind), "status", e.Status, "err", err.Error())
		return
	}
	s.cfg.Log.ErrorContext(ctx, "run failed", "err", err.Error())
}

// answer runs the turn.
func (s *Service) answer(ctx context.Context, t *turn, r *run.Run, mark ids) (agent.Result, error) {
	history, err := s.cfg.Chat.History(ctx, t.user, t.session, r.Turn(), historyBytes)
	if err != nil {
		return agent.Result{}, err
	}
	history = t.fill(history)
	said, err := s.readFiles(ctx, t, r)
	if err != nil {
		return agent.Result{}, err
	}
	by := s.confirms.asker(t, r, mark)
	ready := func(tools []tool.Tool) []tool.Tool {
		return s.withTickets(s.confirms.Guard(t.within(tools), by), t.tickets)
	}
	tools := ready(s.cfg.Tools.ForRun(ctx))
	for _, one := range s.pageTools(t.declared, tools) {
		tools = append(tools, one)
	}
	k := &sink{s: s, run: r, ids: mark, account: &t.account, names: map[string]string{}, begun: map[string]time.Time{}, words: chat.NewEmojiWriter(r.Text)}
	k.note = func(texts ...string) error { return r.Note(context.WithoutCancel(ctx), texts...) } // what was read is stored, even by a run that is stopped
	for _, one := range tools {
		if p, ok := one.(*pageTool); ok {
			k.names[p.spec.Name] = p.name
		}
	}
	if t.errand != nil && t.errand.Call != nil {
		return t.errands.call(ctx, t, tools, k)
	}
	t.account.Model = s.cfg.Models.Resolve(t.message.Model)
	res, err := s.cfg.Agent.Turn(ctx, agent.Turn{
		History: history, Session: r.SessionNumber(), System: s.prompt(ctx, t.about.Timezone, t.message.Metadata) + t.brief(), User: said,
		Model: t.account.Model, Customer: t.customer(), Tools: s.cfg.Tools.Wrapped(tools), Ready: func(tools []tool.Tool) []tool.Tool { return s.cfg.Tools.Wrapped(ready(tools)) },
	}, k)
	if flushed := k.words.Flush(); err == nil {
		err = flushed
	}
	return res, err
}

// readFiles reads the attachments of the message, once the message is stored.
// The model is told what cannot be read; only the end of the run is an error.
// Later turns find the text in the history.
func (s *Service) readFiles(ctx context.Context, t *turn, r *run.Run) (llm.Message, error) {
	said := t.said()
	if len(said.Attachments) == 0 {
		return said, nil
	}
	said.Attachments = s.cfg.Files.Read(ctx, said.Attachments, attach.Sender{Homeserver: t.about.HomeServer, Token: t.about.MatrixToken, Room: t.message.room()})
	if ctx.Err() != nil {
		return said, context.Cause(ctx)
	}
	if err := s.cfg.Chat.KeepFiles(ctx, t.user, t.session, r.Turn(), attach.Kept(said.Attachments)); err != nil {
		s.cfg.Log.WarnContext(ctx, "attachments are not kept", "err", err.Error())
	}
	return said, nil
}

// sink turns what happens in a turn into frames, and into events for the
// sockets of the session.
type sink struct {
	s     *Service
	run   *run.Run
	ids   ids
	names map[string]string // what pages call their tools
	words *chat.EmojiWriter // the answer on its way out
	note  func(texts ...string) error

	account *run.Account
	begun   map[string]time.Time // calls of tools that have not ended
}

var _ agent.Sink = (*sink)(nil)

// Reasoning sends a thought.
func (k *sink) Reasoning(text string) error { return k.run.Reasoning(text) }

// Text sends a piece of the answer, with shortcodes as emoji.
func (k *sink) Text(delta string) error { return k.words.Write(delta) }

// ToolStart says that a tool has begun.
func (k *sink) ToolStart(c tool.Call, s tool.Spec) error {
	if err := k.words.Flush(); err != nil { // earlier text comes first
		return err
	}
	k.begun[c.ID] = k.s.cfg.Now()
	return k.tell(c, s, nil)
}

// ToolEnd reports the output of a tool.
func (k *sink) ToolEnd(c tool.Call, s tool.Spec, o tool.Output, _ string) error {
	if err := k.note(string(c.Args), string(o.Data), o.Text, o.Err); err != nil { // before anything of it is stored
		return err
	}
	step := run.Step{Tool: s.Name, Failed: o.Err != ""}
	if at, ok := k.begun[c.ID]; ok {
		step.MS = k.s.cfg.Now().Sub(at).Milliseconds()
	}
	k.account.Steps = append(k.account.Steps, step)
	return k.tell(c, s, &o)
}

func (k *sink) tell(c tool.Call, s tool.Spec, o *tool.Output) error {
	name, ok := k.names[s.Name]
	if !ok {
		name = s.Name
	}
	event, e := k.ids.call(c, s, name, o)
	if err := k.run.Emit(event, e); err != nil {
		return err
	}
	if s.Kind != tool.Action { // a page runs an action each time it receives one
		k.s.emit(k.run.User(), k.ids.session, event, e)
	}
	return nil
}

// Router says that a sub-agent is entered or left.
func (k *sink) Router(name string) error {
	e := step{k.ids.session, k.ids.request, name}
	k.s.emit(k.run.User(), k.ids.session, eventRouter, e)
	return k.run.Emit(frameRouter, e)
}

// title gives a new session its title, in the background of the run.
func (s *Service) title(ctx context.Context, t *turn, r *run.Run, answer string) {
	if r.Turn() > titleTurns || t.message.Text == "" || t.errand != nil {
		return
	}
	requestID := r.RequestID()
	s.later.start(ctx, titleTime, func(ctx context.Context) {
		if err := s.makeTitle(ctx, t, answer, requestID); err != nil && ctx.Err() == nil {
			s.cfg.Log.WarnContext(ctx, "session gets no title", "err", err.Error())
		}
	})
}

func (s *Service) makeTitle(ctx context.Context, t *turn, answer, requestID string) error {
	session, err := s.cfg.Chat.Session(ctx, t.user, t.session)
	if err != nil || session.Title != chat.Untitled {
		return nil //nolint:nilerr // it is gone, and needs no title
	}
	text, err := s.cfg.Agent.Title(ctx, s.cfg.TitleModel, t.message.Text, answer)
	if err != nil {
		return err
	}
	set, err := s.cfg.Chat.SetTitle(ctx, t.user, t.session, text)
	if set {
		s.emit(t.user, t.session, eventInvalidate, invalidation{t.session, requestID, stateDone})
	}
	return err
}
