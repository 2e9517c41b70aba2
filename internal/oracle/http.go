package oracle

import (
	"errors"
	"net/http"
	"strconv"

	"github.com/hearth-dmrv/hearth/internal/oracle/chat"
	"github.com/hearth-dmrv/hearth/internal/oracle/tool"
	"github.com/hearth-dmrv/hearth/internal/web"
)

const authDoc = "\n\nAuthentication: `Authorization: Bearer <invocation>` with `X-Auth-Type: ucan`, or `x-ucan-delegation` alone" +
	"; without these `X-API-Key: <key>`, or the session of the console. A key acts with its own rights in its workspace, and keys of one principal with the same rights share their conversations."

// forms are the bodies that are read.
const forms = "application/json, application/x-www-form-urlencoded"

// Routes adds area D to a, whose dialect is web.Nest, and the routes that
// plugins have registered. The routes are public in the table, because UCAN
// tokens, or keys, identify the callers and are checked here.
func (s *Service) Routes(a *web.API) {
	add := func(method, path string, h handler, d web.Doc) {
		d.Scope, d.UCAN, d.Tag, d.Description = web.Public, true, "oracle", d.Description+authDoc
		var read bodyReader
		if d.Consumes != "" {
			read = s.readBody
		}
		a.Handle(method, path, s.known(h, read), d)
	}
	s.sessionRoutes(add)
	s.messageRoutes(add)
	s.confirms.routes(add)
	add("POST", "/delegation", signed(s.cfg.Callers, s.serveStoreDelegation), web.Doc{
		Summary: "Store what you let the oracle do for you", Consumes: forms, Body: delegationBody{}, Answer: stored{}, Codes: []string{"DELEGATION_INVALID"},
		Description: "Members: raw (required, base64 CAR of a delegation that you made for this oracle, with an expiry), issuer, audience, expiration. Only the token's own expiration counts.",
	})
	add("GET", "/delegation", signed(s.cfg.Callers, s.serveDelegation), web.Doc{Summary: "Ask whether a delegation is stored", Answer: standing{}})
	add("DELETE", "/delegation", signed(s.cfg.Callers, s.serveRevoke), web.Doc{Summary: "Forget the stored delegation", Answer: stored{}})
	a.Handle("GET", "/models", s.serveModels, web.Doc{
		Summary: "List the models a message may name", Scope: web.Public, Tag: "oracle", Answer: modelList{},
	})
	s.cfg.Tools.Routes(a)
}

type adder func(method, path string, h handler, d web.Doc)

func (s *Service) sessionRoutes(add adder) {
	add("POST", "/sessions", s.serveCreateSession, web.Doc{
		Summary: "Create a chat session", Status: http.StatusCreated, Description: "The body is ignored.", Answer: chat.Session{},
	})
	add("GET", "/sessions", s.serveSessions, web.Doc{
		Summary: "List your sessions, most recently used first", Answer: sessionList{},
		Query: []web.Param{
			{Name: "limit", Doc: "Number of sessions in one answer, at most 100; 20 by default.", Example: "20"},
			{Name: "offset", Doc: "Number of sessions to skip; 0 by default.", Example: "0"},
		},
	})
	add("DELETE", "/sessions/{sessionId}", s.serveDeleteSession, web.Doc{
		Summary: "Delete a session and everything in it", Answer: note{}, Codes: []string{"SESSION_NOT_FOUND"},
	})
	add("GET", "/sessions/{sessionId}/messages", s.serveHistory, web.Doc{
		Summary: "Read a page of a session's history", Answer: pageAnswer{}, Codes: []string{"SESSION_NOT_FOUND", "INVALID_CURSOR"},
		Description: "Without a cursor you get the newest turns; messages are listed oldest first. A page read with after begins with the turn of the cursor, in its present state.",
		Query: []web.Param{
			{Name: "limit", Doc: "Number of turns in one page, at most 100; 20 by default.", Example: "20"},
			{Name: "before", Doc: "prevCursor of a page: the turns before it."},
			{Name: "after", Doc: "nextCursor of a page: its last turn and those that follow."},
		},
	})
	add("GET", "/sessions/{sessionId}/run", s.serveCurrentRun, web.Doc{
		Summary: "Find the run of a session that can be joined", Answer: runAnswer{}, Codes: []string{"SESSION_NOT_FOUND"},
	})
}

func (s *Service) messageRoutes(add adder) {
	add("POST", "/messages/{sessionId}", s.serveMessage, web.Doc{
		Summary: "Send a message", Consumes: forms, Produces: "application/json, text/event-stream", Answer: answer{},
		Body: messageBody{}, Example: messageBody{Message: "help"},
		Codes: []string{"SESSION_NOT_FOUND", "TOO_MANY_RUNS", "IDEMPOTENCY_KEY_REUSED", "INVOCATION_INVALID", "INVOCATION_USED"},
		Description: "Members: message (required), stream, returnAllMessages, model, tools, agActions, attachments (at most 10), mcpInvocations, timezone, homeServer, metadata. " +
			"With stream the answer is a stream of frames: run, reasoning, tool_call, action_call, message, error and, always last, done. The run goes on when its reader leaves; join it again with GET /runs/{runId}?after=. " +
			"A second message in a session aborts the run of the first. Sending the same Idempotency-Key (or X-Request-Id) and body again joins the run that already began.",
		Query: []web.Param{
			{Name: "Idempotency-Key", Header: true, Doc: "Send the same key again to join the run instead of starting a second one."},
			{Name: "x-timezone", Header: true, Doc: "The user's time zone; timezone in the body wins."},
			{Name: "x-matrix-homeserver", Header: true, Doc: "The user's homeserver; homeServer in the body wins."},
			{Name: "x-matrix-access-token", Header: true, Doc: "The user's token at that homeserver, for its attachments and for tools; it is neither logged nor stored."},
		},
	})
	add("GET", "/messages/{sessionId}", s.serveMessages, web.Doc{
		Summary: "Read all messages of a session", Answer: messagesAnswer{}, Description: "Empty for a session that is not yours.",
	})
	add("POST", "/messages/abort", s.serveAbort, web.Doc{
		Summary: "Abort the run of a session", Consumes: forms, Answer: aborted{}, Body: abortBody{}, Example: abortBody{"$P8H_w19FVNSqnneNKK3V0LyHv_UM4wLy4q0-28BErKo"}, Description: "Member: sessionId. success is false when nothing of yours is running there.",
	})
	add("GET", "/runs/{runId}", s.serveRun, web.Doc{
		Summary: "Join a run", Produces: "text/event-stream", Codes: []string{"RUN_NOT_FOUND"},
		Description: "Replays the frames after a number, then continues live until done.",
		Query: []web.Param{
			{Name: "after", Doc: "Number of the last frame you have; 0 by default, which replays all.", Example: "0"},
			{Name: "Last-Event-ID", Header: true, Doc: "The same number, as browsers send it; used when after is absent."},
		},
	})
}

// request is what is known about a request after authentication.
type request struct {
	who  *Identity
	body members
	raw  []byte
}

// user is the name under which the caller has conversations.
func (q *request) user() string { return userOf(q.who) }

func userOf(who *Identity) string {
	return chat.Talker{Workspace: who.Key.Workspace, DID: who.DID, Rights: who.Key.Rights}.User()
}

// whole reports whether the caller came as themselves. A delegation alone is handed
// around to let others do one thing, unless it gives everything.
func (q *request) whole() bool { return q.who.Whole() }

type handler func(w http.ResponseWriter, r *http.Request, q *request) error

// bodyReader reads the body of a request, as members where it has any.
type bodyReader func(w http.ResponseWriter, r *http.Request) (members, []byte, error)

// known runs h for authenticated callers. The order is that of the original: a
// body that cannot be read is refused before its sender is asked for tokens.
// Addresses are counted first, callers after authentication.
func (s *Service) known(h handler, read bodyReader) web.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) error {
		if err := s.admitAddr(w, r); err != nil {
			return err
		}
		q := &request{}
		var err error
		if read != nil {
			if q.body, q.raw, err = read(w, r); err != nil {
				return err
			}
		}
		if q.who, err = s.cfg.Callers.Caller(w.Header(), r); err != nil {
			return err
		}
		if v, limited := s.callers.allow(q.user()); limited {
			v.SetHeaders(w.Header())
			if !v.OK {
				return tooMany(v)
			}
		}
		err = h(w, r, q)
		var no *tool.Refusal
		if errors.As(err, &no) {
			send(w, no.Status, no.Body)
			return nil
		}
		return err
	}
}

func (s *Service) admitAddr(w http.ResponseWriter, r *http.Request) error {
	v, limited := s.addrs.allow(web.AddrName(web.ClientAddr(r.Context())))
	if limited && !v.OK {
		v.SetHeaders(w.Header())
		return tooMany(v)
	}
	return nil
}

func (s *Service) serveModels(w http.ResponseWriter, r *http.Request) error {
	if err := s.admitAddr(w, r); err != nil {
		return err
	}
	send(w, http.StatusOK, s.cfg.Models.Body())
	return nil
}

// reply answers with JSON.
func reply(w http.ResponseWriter, status int, v any) error {
	body, err := web.Encode(v)
	if err != nil {
		return err
	}
	send(w, status, body)
	return nil
}

func send(w http.ResponseWriter, status int, body []byte) {
	h := w.Header()
	h.Set("Content-Type", "application/json; charset=utf-8")
	h.Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	_, _ = w.Write(body) // the client is gone when this fails
}
