package oracle

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/oracle/run"
	"github.com/hearth-dmrv/hearth/internal/oracle/tool"
	"github.com/hearth-dmrv/hearth/internal/ucan"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// confirms is where users say what tools may change.
type confirms struct {
	Permits
	callers *Callers
	runs    *run.Manager
	live    Live
	tools   *tool.Registry
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
func (s *confirms) itself(ctx context.Context, who *Identity) error {
	if who.Whole() {
		return nil
	}
	return s.callers.Refuse(ctx, &ucan.Error{Kind: ucan.NotCapable, Detail: "the delegation does not give all capabilities"})
}

// routes adds what a user says about tools that change something.
func (s *confirms) routes(add adder) {
	add("GET", "/runs/{runId}/confirmations", s.serveQuestions, web.Doc{
		Summary: "List the questions of a run that wait", Answer: questionList{}, Codes: []string{"RUN_NOT_FOUND"},
		Description: "A tool that changes something waits for at most five minutes until you confirm the call. The stream of the run shows each question as an action_call named `" + tool.ConfirmName + "`.",
	})
	add("POST", "/runs/{runId}/confirmations/{callId}", s.whole(s.serveDecide), web.Doc{
		Summary: "Confirm or refuse a call of a tool", Consumes: forms, Body: decisionBody{}, Example: decisionBody{Confirmed: true}, Answer: tool.Question{},
		Codes:       []string{"CONFIRMATION_NOT_FOUND", "CONFIRMATION_DECIDED", "CONFIRMATION_EXPIRED", "TOO_MANY_GRANTS"},
		Description: "Members: confirmed, and optionally forSession: the tool then runs without further questions in this conversation, until the conversation is deleted or you take the grant back. Without forSession the answer counts once, only for the tool and the arguments of the question. You may send the same answer again.",
	})
	add("GET", "/grants", s.serveGrants, web.Doc{
		Summary: "List the tools you let run without a question", Answer: grantList{},
	})
	add("GET", "/grants/{tool}", s.serveGrantOf, web.Doc{
		Summary: "Read a grant", Answer: tool.Grant{}, Codes: []string{"GRANT_NOT_FOUND"},
		Query: []web.Param{{Name: "sessionId", Doc: "The conversation of the grant; when absent, the grant for all conversations."}},
	})
	add("PUT", "/grants/{tool}", s.whole(s.serveGrant), web.Doc{
		Summary: "Let a tool run without a question", Consumes: forms, Body: grantBody{}, Example: grantBody{}, Answer: tool.Grant{},
		Codes:       []string{"SESSION_NOT_FOUND", "TOOL_NOT_FOUND", "TOO_MANY_GRANTS", "MCP_TOOL_CHANGED", "MCP_TOOL_REFUSED", "KEY_RESTRICTED"},
		Description: "Members: sessionId (the only conversation it applies to; when absent, all of yours), expiresAt, hash. A tool of an MCP server needs sessionId, the hash of what you have read (`GET /v1/oracle/mcp-servers/{name}/tools`) and the scope oracle:write. The tool acts with your rights, as they are when it runs. When nobody can be asked, as with an answer that is not a stream, only a grant counts.",
	})
	add("DELETE", "/grants/{tool}", s.whole(s.serveWithdraw), web.Doc{
		Summary: "Take a grant back", Answer: note{}, Codes: []string{"GRANT_NOT_FOUND", "SESSION_NOT_FOUND"},
		Query: []web.Param{{Name: "sessionId", Doc: "The conversation of the grant; when absent, the grant for all conversations."}},
	})
}

type (
	questionList struct {
		Confirmations []tool.Question `json:"confirmations"`
	}
	decisionBody struct {
		Confirmed  bool `json:"confirmed"`
		ForSession bool `json:"forSession,omitzero"`
	}
	grantList struct {
		Grants []tool.Grant `json:"grants"`
	}
	grantBody struct {
		SessionID string    `json:"sessionId,omitzero"`
		ExpiresAt time.Time `json:"expiresAt,omitzero"`
		Hash      string    `json:"hash,omitzero"`
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
	o := newObject("", q.body, &bad, "confirmed", "forSession")
	yes, keep := o.flag("confirmed"), o.flag("forSession")
	if o.get("confirmed") == nil {
		o.wrong("confirmed", "required", "confirmed must be true or false")
	}
	if keep && !yes {
		o.wrong("forSession", "needs", "forSession needs confirmed: true")
	}
	if err := o.err(); err != nil {
		return err
	}
	out, err := s.Decide(r.Context(), q.user(), r.PathValue("runId"), r.PathValue("callId"), yes)
	if err == nil && keep {
		err = s.Keep(r.Context(), q.user(), r.PathValue("runId"), r.PathValue("callId"))
	}
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

func (s *confirms) serveGrantOf(w http.ResponseWriter, r *http.Request, q *request) error {
	list, err := s.Grants(r.Context(), q.user())
	if err != nil {
		return err
	}
	name, session := r.PathValue("tool"), r.URL.Query().Get("sessionId")
	i := slices.IndexFunc(list, func(g tool.Grant) bool { return g.Tool == name && g.SessionID == session })
	if i < 0 {
		return fault.New(fault.NotFound, "GRANT_NOT_FOUND", "You have no such grant.")
	}
	return reply(w, http.StatusOK, list[i])
}

func (s *confirms) serveGrant(w http.ResponseWriter, r *http.Request, q *request) error {
	var bad fault.Checks
	o := newObject("", q.body, &bad, "sessionId", "expiresAt", "hash")
	g := tool.Grant{Tool: r.PathValue("tool"), SessionID: o.text("sessionId", false), Hash: o.text("hash", false)}
	if text := o.text("expiresAt", false); text != "" {
		at, err := time.Parse(time.RFC3339, text)
		if err != nil || !at.After(s.now()) {
			o.wrong("expiresAt", "time", "expiresAt must be a time in the future, such as 2027-01-31T12:00:00Z")
		}
		g.ExpiresAt = at.UTC()
	}
	if !tool.ValidName(g.Tool) {
		bad.Add("path/tool", "name", "tool must be 1 to 64 letters, digits, _ and -")
	}
	if err := o.err(); err != nil {
		return err
	}
	if err := s.grantable(r.Context(), q, &g); err != nil {
		return err
	}
	g, err := s.Grant(r.Context(), q.user(), g)
	if err != nil {
		return err
	}
	return reply(w, http.StatusOK, g)
}

// grantable refuses grants of tools that do not exist, or that the user may not
// grant.
func (s *confirms) grantable(ctx context.Context, q *request, g *tool.Grant) error {
	ctx = tool.With(ctx, tool.Context{
		User: q.who.DID, Talker: q.user(), Signer: q.who.Signer, Whole: true, Caller: q.who.Key, Again: q.who.Again, RequestID: web.RequestID(ctx),
	})
	t, found := s.tools.Find(ctx, g.Tool)
	if !found {
		return fault.New(fault.NotFound, "TOOL_NOT_FOUND", "You can use no tool with this name.")
	}
	f, ok := t.(tool.Foreign)
	if !ok {
		g.Hash = ""
		return nil
	}
	if err := f.MayPermit(ctx); err != nil {
		return err
	}
	var bad fault.Checks
	if g.SessionID == "" {
		bad.Add("/sessionId", "required", "sessionId must name the conversation: to grant the tool for all of them, use PUT /v1/oracle/mcp-servers/{name}/grants/{tool}")
	}
	if g.Hash == "" {
		bad.Add("/hash", "required", "hash must be the hash of the tool as you read it")
	}
	if err := bad.Err("VALIDATION_FAILED", "The request is not valid."); err != nil {
		return err
	}
	if g.Hash != f.Seal() {
		return fault.New(fault.Conflict, "MCP_TOOL_CHANGED", "The tool has changed since you read it: its description or schema differs. Read it again, then grant it.")
	}
	return nil
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
