package ussd

import (
	"cmp"
	"context"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/ussd/menu"
	"github.com/hearth-dmrv/hearth/internal/ussd/wire"
	"github.com/hearth-dmrv/hearth/internal/web"
)

const (
	maxBody  = 32 << 10 // bytes of a gateway's request
	maxParts = 128      // answers in a text; nobody types more in one call
)

// The closing texts of requests that lead to no screen.
const (
	textInvalid     = "Invalid input. Please try again."
	textUnavailable = "Service temporarily unavailable. Please try again later."
	textTooMany     = "Too many requests. Please try again later."
)

// example is a first dial.
type example struct {
	SessionID   string `json:"sessionId"`
	ServiceCode string `json:"serviceCode"`
	PhoneNumber string `json:"phoneNumber"`
	Text        string `json:"text"`
}

// Routes adds the USSD API to a, whose dialect is web.End. All routes are
// Light: the service itself limits how much runs at once, and waiting for a
// place as well as for a step would take longer than promised. Guard, in front
// of the routes, counts requests.
func (s *Service) Routes(a *web.API) {
	const bodies, text = "application/json,application/x-www-form-urlencoded", "text/plain"
	a.Handle(http.MethodPost, "/api/ussd", s.serveStep, web.Doc{
		Summary: "One key press of a handset", Scope: web.Public, Light: true, Quiet: true, Consumes: bodies, Produces: text,
		Body: example{}, Example: example{"ATUid_1", "*2233#", "+254700000001", ""},
		Description: "The answer is always 200 with a text that begins with CON (the session goes on) or END (it is over), even for wrong input or after a failure, " +
			"because gateways drop the session on any other status. The only exceptions are a rate limit (429) and a refusal (403).",
	})
	for _, method := range []string{http.MethodPost, http.MethodGet} {
		a.Handle(method, "/api/ussd/{gateway}", s.serveStep, web.Doc{
			Summary: "One key press, as a certain gateway sends it", Scope: web.Public, Light: true, Quiet: true, Consumes: consumes(method, bodies), Produces: text + ",application/json",
			Description: "The names of the fields, where they stand and the form of the answer are the gateway's own.",
		})
	}
	a.Handle(http.MethodPost, "/api/ussd/{gateway}/events", s.serveEvent, web.Doc{
		Summary: "A gateway says that a session is over", Scope: web.Public, Light: true, Consumes: bodies, Produces: text,
		Description: "Status, cost, duration and hops are kept for 30 days and shown with the session; what was typed is not.",
	})
}

// OperatorRoutes adds the operators' routes about sessions to a, whose dialect
// is web.End too: for anybody else these routes seem not to exist.
func (s *Service) OperatorRoutes(a *web.API) {
	const text = "text/plain"
	a.Handle(http.MethodGet, "/api/ussd/sessions", s.serveSessions, web.Doc{
		Summary: "Sessions that are alive", Scope: web.Operator, Light: true, Answer: Sessions{},
	})
	a.Handle(http.MethodGet, "/api/ussd/debug/{sessionId}", s.serveDebug, web.Doc{
		Summary: "Read the state of a session", Scope: web.Operator, Light: true, Answer: Debug{}, Also: []int{http.StatusNotFound},
		Description: "404 with the same members if no session with this id is alive.",
	})
	a.Handle(http.MethodGet, "/api/ussd/debug/{sessionId}/dialog", s.serveDialog, web.Doc{
		Summary: "A session as a dialog file, secrets left out", Scope: web.Operator, Light: true, Produces: text + ",application/json", Also: []int{http.StatusNotFound},
		Description: "404 with the members of the route above if no session with this id is alive.",
	})
}

func consumes(method, bodies string) string {
	if method == http.MethodGet {
		return ""
	}
	return bodies
}

// gatewayOf finds the adapter of a path; that of /api/ussd is the documented
// interface.
func (s *Service) gatewayOf(r *http.Request) (*wire.Gateway, error) {
	g := s.cfg.Gateways.Get(r.PathValue("gateway"))
	switch {
	case g == nil:
		return nil, fault.New(fault.NotFound, "GATEWAY_NOT_FOUND", "No gateway has this name.")
	case !g.Takes(r.Method):
		return nil, fault.New(fault.WrongMethod, "METHOD_NOT_ALLOWED", "The gateway does not use this method.")
	}
	return g, nil
}

// serveStep answers one key press.
func (s *Service) serveStep(w http.ResponseWriter, r *http.Request) error {
	arrived := s.now()
	g, err := s.gatewayOf(r)
	if err != nil {
		return err
	}
	known, err := s.admit(r, g)
	if err != nil {
		return err
	}
	q, err := s.readStep(r, g)
	if err == nil && known && !s.phones.Allow(q.Phone).OK {
		err = fault.New(fault.TooMany, "RATE_LIMITED", "Too many requests from this number. Try again in a minute.")
	}
	var out outcome
	if err == nil {
		q.Arrived = arrived
		out, err = s.reply(r, &q)
	}
	if err != nil {
		out = s.trouble(r, err)
	}
	s.write(w, g, q.Request, out.reply)
	s.tally.step(&out, s.cfg.Sample(q.Phone))
	s.see(Step{Gateway: g.Name, Node: out.node, Result: out.result, Units: out.units, Took: s.now().Sub(arrived), First: out.first})
	return nil
}

// readStep reads a request and checks that its code is one of ours.
func (s *Service) readStep(r *http.Request, g *wire.Gateway) (request, error) {
	buf := s.buffers.Get().(*[]byte)
	defer s.buffers.Put(buf)
	body, err := readBody(r, (*buf)[:0])
	*buf = body
	if err != nil {
		return request{}, err
	}
	q, err := wire.Read(r, body, g)
	clear(body)
	if err == nil && !s.answers(q.ServiceCode) {
		err = fault.New(fault.Invalid, "USSD_INVALID_INPUT", "This server does not answer the service code.")
	}
	if err != nil {
		return request{Request: q}, err
	}
	q.Gateway, q.Text = g.Name, tidy(q.Text)
	m := latest
	if cmp.Or(q.Mode, s.cfg.TextMode) != wire.Latest {
		m, q.Step = accumulated, "" // its text identifies a request
		if strings.Count(q.Text, "*") > maxParts {
			return request{Request: q}, fault.New(fault.Invalid, "USSD_INVALID_INPUT", "The text contains too many answers.")
		}
	}
	return request{Request: q, key: newKey(q.SessionID, q.Phone, g.Name, q.ServiceCode), mode: m}, nil
}

// answers reports whether a code is one of the line's, or one of them with more
// dialled behind it.
func (s *Service) answers(code string) bool {
	if len(s.cfg.ServiceCodes) == 0 {
		return true
	}
	return slices.ContainsFunc(s.cfg.ServiceCodes, func(ours string) bool {
		return code == ours || strings.HasPrefix(code, strings.TrimSuffix(ours, "#")+"*")
	})
}

// reply takes the step, or ends the session when the gateway says it is over.
func (s *Service) reply(r *http.Request, q *request) (outcome, error) {
	if q.Kind != wire.End {
		return s.answer(r.Context(), q)
	}
	var rec *record
	err := s.inTime(r.Context(), func(ctx context.Context) error {
		return s.db.InTx(ctx, func(tx *db.Tx) error {
			rec = &record{}
			row, err := find(ctx, tx, q.key.id)
			if err != nil || row == nil {
				return err
			}
			if known, err := readRecord(row.state, &q.key, s.box); err == nil {
				rec = known
			}
			now := s.now().UnixMilli()
			if err := s.hungUp(ctx, tx, row, now); err != nil {
				return err
			}
			return expireNow(ctx, tx, q.key.id, now)
		})
	})
	if err != nil {
		return outcome{}, err
	}
	shown := s.cfg.Packs.Current().Goodbye(&menu.View{Lang: rec.state.Lang, Vars: rec.state.Vars})
	return outcome{reply: wire.Reply{Text: shown.Text, End: true}, result: ResultEnded, units: shown.Units}, nil
}

// trouble is the closing screen of a request that failed. What is not the
// gateway's fault is logged, without anything of the request.
func (s *Service) trouble(r *http.Request, err error) outcome {
	f := fault.As(err)
	switch {
	case f == nil || f.Kind == fault.Internal:
		s.log.ErrorContext(r.Context(), "USSD step failed", "err", err.Error())
	case f.Kind == fault.Invalid || f.Kind == fault.TooLarge || f.Kind == fault.Unsupported || f.Kind == fault.TooSlow:
		return outcome{reply: wire.Reply{Text: textInvalid, End: true}, result: ResultInvalid}
	case f.Kind == fault.TooMany:
		return outcome{reply: wire.Reply{Text: textUnavailable, End: true}, result: ResultLimited}
	default:
		s.log.WarnContext(r.Context(), "USSD step refused", "code", f.Code, "err", err.Error())
	}
	return outcome{reply: wire.Reply{Text: textUnavailable, End: true}, result: ResultUnavailable}
}

// The headers of all answers. Nothing appends to them.
var (
	plainText = []string{"text/plain; charset=utf-8"}
	noStore   = []string{"no-store"}
)

// write sends an answer. It is 200 whatever it says.
func (s *Service) write(w http.ResponseWriter, g *wire.Gateway, q wire.Request, a wire.Reply) {
	buf := s.buffers.Get().(*[]byte)
	defer s.buffers.Put(buf)
	h := w.Header()
	if g.Name == "" {
		h["Content-Type"] = plainText
	} else {
		h.Set("Content-Type", g.ContentType())
	}
	h["Cache-Control"] = noStore
	// Headers for browsers are left out: a gateway is not one.
	delete(h, "Content-Security-Policy")
	delete(h, "Cross-Origin-Resource-Policy")
	*buf = g.Append((*buf)[:0], q, a)
	_, _ = w.Write(*buf) // the gateway may have left
}

// readBody reads a body into dst.
func readBody(r *http.Request, dst []byte) ([]byte, error) {
	for {
		if len(dst) == cap(dst) {
			dst = slices.Grow(dst, 512)
		}
		n, err := r.Body.Read(dst[len(dst):cap(dst)])
		dst = dst[:len(dst)+n]
		switch {
		case len(dst) > maxBody:
			return dst, tooLarge()
		case errors.Is(err, io.EOF):
			return dst, nil
		case err != nil:
			return dst, fault.New(fault.TooSlow, "BODY_INCOMPLETE", "The body did not arrive.").Wrap(err)
		}
	}
}

func tooLarge() error { return fault.New(fault.TooLarge, "BODY_TOO_LARGE", "The body is too large.") }

// hangUp ends the sessions that an event is about: those of any number and code
// when it names none.
func (s *Service) hangUp(ctx context.Context, tx *db.Tx, e *wire.Event, now int64) error {
	from, to := keysOf(e.SessionID)
	if e.Phone != "" {
		from, to = keysOf(e.SessionID, e.Phone, e.Gateway)
	}
	rows, err := within(ctx, tx, from, to, maxSame)
	if err != nil {
		return err
	}
	for _, r := range rows {
		if k := readKey(r.id); k.gateway != e.Gateway || e.ServiceCode != "" && k.code != wire.WholeCode(e.ServiceCode) {
			continue
		}
		if err := s.hungUp(ctx, tx, r, now); err != nil {
			return err
		}
		if err := expireNow(ctx, tx, r.id, now); err != nil {
			return err
		}
	}
	return nil
}

// serveEvent takes a gateway's word that a session is over.
func (s *Service) serveEvent(w http.ResponseWriter, r *http.Request) error {
	g, err := s.gatewayOf(r)
	if err != nil {
		return err
	}
	if _, err := s.admit(r, g); err != nil {
		return err
	}
	body, err := readBody(r, nil)
	if err != nil {
		return err
	}
	e, err := wire.ReadEvent(r, body, g)
	if err != nil {
		return err
	}
	now := s.now()
	err = s.inTime(r.Context(), func(ctx context.Context) error {
		return s.db.InTx(ctx, func(tx *db.Tx) error {
			if err := putCall(ctx, tx, &e, now); err != nil {
				return err
			}
			return s.hangUp(ctx, tx, &e, now.UnixMilli())
		})
	})
	if err != nil {
		return err
	}
	w.Header()["Content-Type"] = plainText
	_, _ = io.WriteString(w, "OK") // the gateway may have left
	return nil
}

// Ended is a gateway's notification about a session that is over.
type Ended struct {
	Phone      string    `json:"phoneNumber,omitempty"`
	Gateway    string    `json:"gateway"`
	Status     string    `json:"status" example:"Success"`
	Cost       string    `json:"cost,omitempty" example:"KES 1.20"`
	Network    string    `json:"networkCode,omitempty"`
	Error      string    `json:"errorMessage,omitempty"`
	DurationMS int64     `json:"durationInMillis"`
	Hops       int64     `json:"hopsCount"`
	At         time.Time `json:"at"`
}
