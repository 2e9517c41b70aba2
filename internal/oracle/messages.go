package oracle

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/oracle/chat"
	"github.com/hearth-dmrv/hearth/internal/oracle/run"
	"github.com/hearth-dmrv/hearth/internal/oracle/tool"
	"github.com/hearth-dmrv/hearth/internal/web"
)

const (
	// maxHomeServer is how long the name of a homeserver may be.
	maxHomeServer = 255
	// announceTime is longer than any run.
	announceTime = 24 * time.Hour
	// maxRunsOfAddress limits how many runs started from one address are in
	// progress. Anybody can make as many DIDs as they like, but not addresses.
	maxRunsOfAddress = 64
)

// serveMessage answers a message. Whatever can be refused is refused before
// the message is stored; from then on there is a run.
func (s *Service) serveMessage(w http.ResponseWriter, r *http.Request, q *request) error {
	known := tool.With(r.Context(), tool.Context{User: q.who.DID, Signer: q.who.Signer, Caller: q.who.Key, Preview: true})
	m, err := readMessage(q.body, func() []tool.Tool { return s.cfg.Tools.ForRun(known) })
	if err != nil {
		return err
	}
	hash := sha256.Sum256(q.raw)
	key, err := idempotencyKey(r, hash)
	if err != nil {
		return err
	}
	t := &turn{who: q.who, user: q.user(), session: r.PathValue("sessionId"), message: m, about: s.about(r, q, m)}
	if err := t.admit(r.Context(), s); err != nil {
		return err
	}
	defer t.release(r.Context(), s)
	begin, err := s.prepare(r.Context(), t, key, hash)
	if err != nil {
		return err
	}
	leave, err := s.places.take(t.user) // who waits for a whole answer holds one too
	if err != nil {
		return err
	}
	defer leave()
	begin.RequestID = web.RequestID(r.Context())
	started, err := s.start(r.Context(), begin, t)
	if err != nil {
		return err
	}
	if m.Stream {
		err = s.follow(w, r, q, started, 0)
	} else {
		err = s.serveWhole(w, r, t, started)
	}
	if !started.Joined {
		s.announce(r.Context(), t, started, err == nil && r.Context().Err() == nil)
	}
	return err
}

// start begins the run of a turn, or joins it. A run counts for the address that
// started it as long as it lasts, even without a reader.
func (s *Service) start(ctx context.Context, begin run.Start, t *turn) (run.Started, error) {
	leave, err := s.origins.take(web.AddrName(web.ClientAddr(ctx)))
	if err != nil {
		return run.Started{}, fault.New(fault.TooMany, "TOO_MANY_RUNS", "Too many answers are in progress for your address. Wait for one of them.").After(5 * time.Second)
	}
	leave = sync.OnceFunc(leave)
	work := s.work(t)
	begin.ID, begin.Purse = t.about.RunID, t.purse(ctx, s)
	started, err := s.cfg.Runs.Start(ctx, begin, func(ctx context.Context, r *run.Run) run.Result {
		defer leave()
		return work(ctx, r)
	})
	if t.begun = err == nil && !started.Joined; !t.begun {
		leave()
	}
	return started, err
}

// announce tells the tabs of a session, once a run has ended, that there is
// something new to read. A reader that has left early does not know the end.
func (s *Service) announce(ctx context.Context, t *turn, started run.Started, ended bool) {
	if s.cfg.Live == nil {
		return
	}
	tell := func() {
		s.emit(t.user, t.session, eventInvalidate, invalidation{t.session, started.RequestID, stateDone})
	}
	if ended {
		tell()
		return
	}
	s.later.start(ctx, announceTime, func(ctx context.Context) {
		if err := s.cfg.Runs.Join(ctx, t.user, started.RunID, 0, func(run.Frame) error { return nil }); err == nil {
			tell()
		}
	})
}

// prepare is what must be known before a run can begin: the tools of the page,
// and that tokens for one use are good and not used.
func (s *Service) prepare(ctx context.Context, t *turn, key string, hash [sha256.Size]byte) (run.Start, error) {
	begin := run.Start{User: t.user, Session: t.session, Message: t.said(), Key: key, Hash: hash[:]}
	var kept []byte
	var err error
	if t.message.Tools == nil || t.message.Actions == nil {
		if kept, err = s.cfg.Chat.Declared(ctx, t.user, t.session); err != nil {
			return begin, err
		}
	}
	if t.declared, begin.Declared, err = t.message.merge(kept); err != nil {
		return begin, err
	}
	if len(t.message.Invocations) == 0 {
		return begin, nil
	}
	tickets, err := s.cfg.Callers.Invocations(ctx, t.user, t.message.Invocations)
	if err != nil {
		return begin, err
	}
	if _, err := s.cfg.Chat.Session(ctx, t.user, t.session); err != nil {
		return begin, err // a message that is refused spends nothing
	}
	t.tickets = ticketsOf(t.message, tickets)
	return begin, s.cfg.Callers.Spend(ctx, tickets, TicketUse{Caller: t.user, Session: t.session, Key: key, Hash: hash})
}

// about is what tools may know of the request. What the body says wins over
// the headers.
func (s *Service) about(r *http.Request, q *request, m *message) tool.Context {
	home := m.HomeServer
	if home == "" {
		home = r.Header.Get("X-Matrix-Homeserver")
	}
	if len(home) > maxHomeServer || strings.ContainsFunc(home, func(c rune) bool { return c <= ' ' || c == 0x7f }) {
		home = ""
	}
	c := tool.Context{
		User: q.who.DID, Talker: q.user(), Signer: q.who.Signer, Whole: q.whole(), Caller: q.who.Key, SessionID: r.PathValue("sessionId"), HomeServer: home, Metadata: m.Metadata,
		Timezone: zone(m.Timezone, r.Header.Get("X-Timezone")), MatrixToken: tool.NewToken(r.Header.Get("X-Matrix-Access-Token")),
	}
	c.Ends = q.who.Ends()
	c.Delegation = s.delegated(q.who)
	return c
}

// idempotencyKey is the key by which a message is answered once: the key the
// client sent, or the id of its request together with the content. An id alone
// is not a promise: with another body it is another message.
func idempotencyKey(r *http.Request, hash [sha256.Size]byte) (string, error) {
	key := r.Header.Get("Idempotency-Key")
	if key == "" {
		if id := sentID(r); id != "" {
			return "request " + id + " " + hex.EncodeToString(hash[:]), nil
		}
		return "", nil
	}
	if len(key) > 255 || strings.ContainsFunc(key, func(c rune) bool { return c < 0x20 || c > 0x7e }) {
		return "", fault.New(fault.Invalid, "INVALID_IDEMPOTENCY_KEY", "The Idempotency-Key must be 1 to 255 printable ASCII characters.")
	}
	return "key " + key, nil
}

// follow streams a run from a frame on.
func (s *Service) follow(w http.ResponseWriter, r *http.Request, q *request, started run.Started, after int64) error {
	out, user := openStream(w, r, started.RunID, started.RequestID), q.user()
	ctx, cut := context.WithCancel(r.Context())
	defer cut()
	if !q.who.Signed() { // another key of the same principal may have asked
		defer s.cfg.Callers.Watch(ctx, q.who, s.cfg.Recheck, func() bool { cut(); return true })()
	}
	err := s.cfg.Runs.Join(ctx, user, started.RunID, after, out.frame)
	if err == nil && !out.any {
		// The client has all of it. Every stream must end with done
		// nevertheless.
		err = s.cfg.Runs.Join(ctx, user, started.RunID, math.MaxInt64, out.frame)
	}
	if ctx.Err() != nil {
		return nil // the reader has left, or may not stay; the run continues
	}
	return err
}

// answer is the reply to a message without a stream.
type answer struct {
	Message   spoken           `json:"message"`
	SessionID string           `json:"sessionId"`
	Status    run.Status       `json:"status,omitzero" doc:"aborted or interrupted when the answer is not complete."`
	Messages  []jsontext.Value `json:"messages,omitempty"`
}

type spoken struct {
	Type    string `json:"type"`
	Content string `json:"content"`
	ID      string `json:"id"`
}

// serveWhole waits for the end of a run and answers with its result: one more
// reader of the same run, which can be aborted like any other.
func (s *Service) serveWhole(w http.ResponseWriter, r *http.Request, t *turn, started run.Started) error {
	web.LeavePlace(r.Context())
	end, err := s.cfg.Runs.Wait(r.Context(), t.user, started.RunID)
	if err != nil {
		return err
	}
	if end.Status == run.Failed {
		return refusal(end.Error)
	}
	a := answer{SessionID: t.session, Message: spoken{Type: chat.AI}}
	if end.Status != run.Finished {
		a.Status = end.Status
	}
	if end.Answer != nil {
		var m chat.Message
		if err := json.Unmarshal(end.Answer, &m); err != nil {
			return fmt.Errorf("read answer: %w", err)
		}
		a.Message = spoken{m.Type, m.Content, m.ID}
	}
	if t.message.ReturnAll {
		if a.Messages, err = s.cfg.Chat.Messages(r.Context(), t.user, t.session); err != nil {
			return err
		}
	}
	setRun(w, r, started.RunID, started.RequestID)
	return reply(w, http.StatusOK, a)
}

// refusal is the answer for a failed run when no stream was asked for; payload
// is that of its error frame.
func refusal(payload jsontext.Value) error {
	var e failure
	if err := json.Unmarshal(payload, &e); err != nil {
		return fmt.Errorf("read error of a run: %w", err)
	}
	switch {
	case e.Retryable:
		return fault.New(fault.Unavailable, "MODEL_UNAVAILABLE", e.Error)
	case 400 <= e.Status && e.Status < 500:
		return fault.New(fault.Unprocessable, "MODEL_REFUSED", e.Error)
	}
	return fault.New(fault.Internal, "INTERNAL", "Internal error.")
}

type aborted struct {
	Success bool `json:"success"`
}

func (s *Service) serveAbort(w http.ResponseWriter, r *http.Request, q *request) error {
	var bad fault.Checks
	o := newObject("", q.body, &bad, "sessionId")
	session := o.text("sessionId", true)
	if err := o.err(); err != nil {
		return err
	}
	ok, err := s.cfg.Runs.Abort(r.Context(), q.user(), session)
	if err == nil { // a question that a restart has left waits without a run
		err = s.confirms.Close(r.Context(), q.user(), session)
	}
	if err != nil {
		return err
	}
	return reply(w, http.StatusOK, aborted{ok})
}

type currentRun struct {
	Run *run.Info `json:"run"`
}

func (s *Service) serveCurrentRun(w http.ResponseWriter, r *http.Request, q *request) error {
	session := r.PathValue("sessionId")
	if _, err := s.cfg.Chat.Session(r.Context(), q.user(), session); err != nil {
		return err
	}
	info, err := s.cfg.Runs.Current(r.Context(), q.user(), session)
	if err != nil {
		return err
	}
	return reply(w, http.StatusOK, currentRun{info})
}

func (s *Service) serveRun(w http.ResponseWriter, r *http.Request, q *request) error {
	after, err := lastSeen(r)
	if err != nil {
		return err
	}
	info, err := s.cfg.Runs.Find(r.Context(), q.user(), r.PathValue("runId"))
	if err != nil {
		return err
	}
	leave, err := s.places.take(q.user())
	if err != nil {
		return err
	}
	defer leave()
	if r.Method == http.MethodHead {
		openStream(w, r, info.RunID, info.RequestID)
		return nil
	}
	return s.follow(w, r, q, run.Started{RunID: info.RunID, RequestID: info.RequestID}, after)
}

// lastSeen is the number of the last frame the client has. The query wins:
// published clients send it, while browsers repeat the header automatically.
func lastSeen(r *http.Request) (int64, error) {
	name, text := "after", r.URL.Query().Get("after")
	if text == "" {
		name, text = "Last-Event-ID", r.Header.Get("Last-Event-ID")
	}
	if text == "" {
		return 0, nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 0 || n > math.MaxInt64/2 {
		return 0, fault.New(fault.Invalid, "VALIDATION_FAILED", "The request is not valid.").
			With(fault.Field{Pointer: "query/" + name, Code: "type", Detail: name + " must be an integer number"})
	}
	return n, nil
}
