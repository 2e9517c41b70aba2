package oracle

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/oracle/caller"
	"github.com/hearth-dmrv/hearth/internal/oracle/run"
	"github.com/hearth-dmrv/hearth/internal/oracle/tool"
	"github.com/hearth-dmrv/hearth/internal/ucan"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// confirms is where users say what tools may change.
type confirms struct {
	Permits
	callers *caller.Service
	runs    *run.Manager
	live    Live
	now     func() time.Time
}

// whole runs h for callers who came as themselves: a delegation for something else
// permits no tool.
func (s *confirms) whole(h handler) handler {
	return func(w http.ResponseWriter, r *http.Request, q *request) error {
		if err := s.itself(r.Context(), q.who); err != nil {
			return err
		}
		return h(w, r, q)
	}
}

// itself refuses callers who did not come as themselves.
func (s *confirms) itself(ctx context.Context, who *caller.Identity) error {
	if who.Whole() {
		return nil
	}
	return s.callers.Refuse(ctx, &ucan.Error{Kind: ucan.NotCapable, Detail: "the delegation does not give everything"})
}

// routes adds what a user says about tools that change something.
func (s *confirms) routes(add adder) {
	add("GET", "/runs/{runId}/confirmations", s.serveQuestions, web.Doc{
		Summary: "List the questions of a run that wait", Answer: questionList{}, Codes: []string{"RUN_NOT_FOUND"},
		Description: "A tool that changes something waits until you have confirmed the call, for at most five minutes. The stream of the run shows each question as an action_call named `" + tool.ConfirmName + "`.",
	})
	add("POST", "/runs/{runId}/confirmations/{callId}", s.whole(s.serveDecide), web.Doc{
		Summary: "Confirm or refuse a call of a tool", Consumes: forms, Body: decisionBody{}, Example: decisionBody{Confirmed: true}, Answer: tool.Question{},
		Codes:       []string{"CONFIRMATION_NOT_FOUND", "CONFIRMATION_DECIDED", "CONFIRMATION_EXPIRED"},
		Description: "Member: confirmed. It counts once, for the tool and the arguments of the question and nothing else. Sending the same answer again is fine.",
	})
	add("GET", "/grants", s.serveGrants, web.Doc{
		Summary: "List the tools you let run without a question", Answer: grantList{},
	})
	add("PUT", "/grants/{tool}", s.whole(s.serveGrant), web.Doc{
		Summary: "Let a tool run without a question", Consumes: forms, Body: grantBody{}, Example: grantBody{}, Answer: tool.Grant{},
		Codes:       []string{"SESSION_NOT_FOUND", "TOO_MANY_GRANTS"},
		Description: "Members: sessionId (the only conversation it holds in; all of yours without), expiresAt. The tool acts with your rights, as they are when it runs. Where nobody can be asked, as with an answer that is no stream, only a grant counts.",
	})
	add("DELETE", "/grants/{tool}", s.whole(s.serveWithdraw), web.Doc{
		Summary: "Take a grant back", Answer: note{}, Codes: []string{"GRANT_NOT_FOUND", "SESSION_NOT_FOUND"},
		Query: []web.Param{{Name: "sessionId", Doc: "The conversation the grant holds in; without, the one for all conversations."}},
	})
}

type (
	questionList struct {
		Confirmations []tool.Question `json:"confirmations"`
	}
	decisionBody struct {
		Confirmed bool `json:"confirmed"`
	}
	grantList struct {
		Grants []tool.Grant `json:"grants"`
	}
	grantBody struct {
		SessionID string    `json:"sessionId,omitzero"`
		ExpiresAt time.Time `json:"expiresAt,omitzero"`
	}
)

func (s *confirms) serveQuestions(w http.ResponseWriter, r *http.Request, q *request) error {
	if _, err := s.runs.Find(r.Context(), q.user(), r.PathValue("runId")); err != nil {
		return err
	}
	list, err := s.Waiting(r.Context(), q.user(), r.PathValue("runId"))
	if err != nil {
		return err
	}
	return reply(w, http.StatusOK, questionList{list})
}

func (s *confirms) serveDecide(w http.ResponseWriter, r *http.Request, q *request) error {
	var bad fault.Checks
	o := newObject("", q.body, &bad, "confirmed")
	yes := o.flag("confirmed")
	if o.get("confirmed") == nil {
		o.wrong("confirmed", "required", "confirmed must be true or false")
	}
	if err := o.err(); err != nil {
		return err
	}
	out, err := s.Decide(r.Context(), q.user(), r.PathValue("runId"), r.PathValue("callId"), yes)
	if err != nil {
		return err
	}
	return reply(w, http.StatusOK, out)
}

func (s *confirms) serveGrants(w http.ResponseWriter, r *http.Request, q *request) error {
	list, err := s.Grants(r.Context(), q.user())
	if err != nil {
		return err
	}
	return reply(w, http.StatusOK, grantList{append([]tool.Grant{}, list...)})
}

func (s *confirms) serveGrant(w http.ResponseWriter, r *http.Request, q *request) error {
	var bad fault.Checks
	o := newObject("", q.body, &bad, "sessionId", "expiresAt")
	g := tool.Grant{Tool: r.PathValue("tool"), SessionID: o.text("sessionId", false)}
	if text := o.text("expiresAt", false); text != "" {
		at, err := time.Parse(time.RFC3339, text)
		if err != nil || !at.After(s.now()) {
			o.wrong("expiresAt", "time", "expiresAt must be a time to come, such as 2027-01-31T12:00:00Z")
		}
		g.ExpiresAt = at.UTC()
	}
	if !tool.ValidName(g.Tool) {
		bad.Add("path/tool", "name", "tool must be 1 to 64 letters, digits, _ and -")
	}
	if err := o.err(); err != nil {
		return err
	}
	g, err := s.Grant(r.Context(), q.user(), g)
	if err != nil {
		return err
	}
	return reply(w, http.StatusOK, g)
}

func (s *confirms) serveWithdraw(w http.ResponseWriter, r *http.Request, q *request) error {
	if err := s.Withdraw(r.Context(), q.user(), r.URL.Query().Get("sessionId"), r.PathValue("tool")); err != nil {
		return err
	}
	return reply(w, http.StatusOK, note{"Grant withdrawn"})
}

// asker says how the user of a turn can be asked: in the stream of the run, when
// one was asked for, and by a page that has declared the action for it.
func (s *confirms) asker(t *turn, r *run.Run, mark ids) tool.Asker {
	a := tool.Asker{User: t.user, Session: r.SessionNumber(), Run: r.ID(), Rest: r.Rest, Ended: func(cause error) bool {
		return !errors.Is(cause, run.ErrClosing) && !errors.Is(cause, run.ErrLost)
	}}
	if t.message.Stream {
		a.Tell = func(q tool.Question) error { return r.Emit(eventAction, mark.question(q)) }
	}
	if s.live != nil && slices.ContainsFunc(t.declared.Actions, func(d declared) bool { return d.Name == tool.ConfirmName }) {
		a.Page = s.askPage
	}
	return a
}

// askPage has a page of the user ask her. Only an object with confirmed is an
// answer; a page that fails or is gone has given none.
func (s *confirms) askPage(ctx context.Context, q tool.Question) (yes, ok bool) {
	spec := tool.Spec{Name: tool.ConfirmName, Kind: tool.Action, HasRender: true, Timeout: time.Until(q.ExpiresAt)}
	out, err := s.live.Call(ctx, spec, tool.Call{ID: q.CallID, Name: tool.ConfirmName, Args: encoded(q)})
	if err != nil || out.Err != "" {
		return false, false
	}
	var said struct {
		Confirmed *bool `json:"confirmed"`
	}
	if json.Unmarshal([]byte(out.String()), &said) != nil || said.Confirmed == nil {
		return false, false
	}
	return *said.Confirmed, true
}

// question is the frame of a question: an action that runs until it is decided.
func (i ids) question(q tool.Question) call {
	c := call{SessionID: i.session, RequestID: i.request, ToolCallID: q.CallID, ToolName: tool.ConfirmName, Args: encoded(q), Status: stateRunning}
	if q.Status != tool.QuestionWaiting {
		c.Status, c.Output = stateDone, &q.Status
	}
	return c
}
