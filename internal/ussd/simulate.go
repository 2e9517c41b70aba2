package ussd

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"log/slog"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"github.com/hearth-dmrv/hearth/api"
	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/ussd/dialog"
	"github.com/hearth-dmrv/hearth/internal/ussd/menu"
	"github.com/hearth-dmrv/hearth/internal/ussd/wire"
)

const (
	simulatorIdle = time.Hour       // without a key press until the simulated line is taken down
	simulatorLook = 5 * time.Minute // how often that is looked at
	messageWait   = 2 * time.Second // for messages that a key press leads to
	messageLook   = 10 * time.Millisecond
	dots          = "•••••" // replaces secrets of any length
)

// The numbers of handsets that do not exist: no network has the country code 999.
const (
	FirstSimulated = "+999000000"
	LastSimulated  = "+999000999"
)

var simulatedForm = regexp.MustCompile(`^\+999000[0-9]{3}$`)

// codeForm is what may be dialled, as gateways send it.
var codeForm = regexp.MustCompile(`^\*[0-9]{1,20}(\*[0-9]{1,20})?#$`)

// SimulatedLine is a line for simulated handsets. It has its own store, so that
// nothing that happens on it can affect a customer.
type SimulatedLine struct {
	Sessions *Service
	Inbox    *Inbox
	// Busy reports whether work that may send messages is still under way.
	Busy func(ctx context.Context) (bool, error)
	// Close shuts the line down and deletes its data.
	Close func()
}

// SimulatorConfig configures a Simulator. Open is needed.
type SimulatorConfig struct {
	// Open starts a line, which outlives ctx.
	Open  func(ctx context.Context) (*SimulatedLine, error)
	Codes []string // that the line answers, as Config.ServiceCodes has them
	Packs Packs
	Log   *slog.Logger     // default: discards
	Now   func() time.Time // default: time.Now
}

// Simulator is a handset without a network. The first key press starts the line
// behind it, and an hour without one shuts it down. It is safe for many
// goroutines.
type Simulator struct {
	cfg  SimulatorConfig
	used atomic.Int64 // ms: the last key press

	mu   sync.RWMutex // held for reading while the line is in use
	line *SimulatedLine
}

// NewSimulator makes a Simulator.
func NewSimulator(c SimulatorConfig) *Simulator {
	c.Log = cmp.Or(c.Log, slog.New(slog.DiscardHandler))
	if c.Now == nil {
		c.Now = time.Now
	}
	return &Simulator{cfg: c}
}

// Run shuts the line down when it has been idle for a while, and when ctx ends.
func (s *Simulator) Run(ctx context.Context) error {
	t := time.NewTicker(simulatorLook)
	defer t.Stop()
	defer s.Reset()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-t.C:
			if s.cfg.Now().Sub(time.UnixMilli(s.used.Load())) >= simulatorIdle {
				s.Reset()
			}
		}
	}
}

// Reset shuts the line down, with all its calls, accounts and messages. The next
// key press starts another.
func (s *Simulator) Reset() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.line != nil {
		s.line.Close()
		s.line = nil
	}
}

// up returns the line, which it starts if necessary, and a function to call when
// it is no longer used.
func (s *Simulator) up(ctx context.Context) (*SimulatedLine, func(), error) {
	s.used.Store(s.cfg.Now().UnixMilli())
	for {
		if line, done := s.there(); line != nil {
			return line, done, nil
		}
		if err := s.open(ctx); err != nil {
			return nil, nil, err
		}
	}
}

// there gives the line if it is up, else nil.
func (s *Simulator) there() (*SimulatedLine, func()) {
	s.mu.RLock()
	if s.line == nil {
		s.mu.RUnlock()
		return nil, nil
	}
	return s.line, s.mu.RUnlock
}

func (s *Simulator) open(ctx context.Context) (err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.line != nil {
		return nil
	}
	if s.line, err = s.cfg.Open(ctx); err != nil {
		s.line = nil
		s.cfg.Log.ErrorContext(ctx, "simulated line", "err", err.Error())
		return fault.New(fault.Unavailable, "SIMULATOR_UNAVAILABLE", "The simulated line could not be started. The log of the server says why.")
	}
	return nil
}

// codes are what can be dialled, the usual one first.
func (s *Simulator) codes() []string {
	if len(s.cfg.Codes) == 0 {
		return []string{dialog.DefaultCode}
	}
	return s.cfg.Codes
}

// Press is an action on the handset: dialling a code from a number, or typing
// an answer in a call.
type Press struct {
	Owner   string // whose handset it is: nobody else can continue the call
	Session string // "" dials
	Phone   string // of a dial
	Code    string // of a dial
	Turn    int    // number of an answer, from 1
	Input   string // the answer
}

// Validate names what is wrong with a press.
func (p *Press) Validate() error {
	var c fault.Checks
	switch {
	case p.Session == "" && !simulatedForm.MatchString(p.Phone):
		const all = FirstSimulated + " to " + LastSimulated
		return fault.New(fault.Invalid, "NUMBER_NOT_SIMULATED", "Only numbers that no network has can be simulated: "+all+".").
			With(fault.Field{Pointer: "/phoneNumber", Code: "out_of_range", Detail: "The number must be one of " + all + "."})
	case p.Session == "":
		if p.Input != "" || p.Turn != 0 {
			c.Add("/input", "unexpected", "A call begins with the code alone. Send the answer with the sessionId.")
		}
		if !codeForm.MatchString(p.Code) {
			c.Add("/serviceCode", "invalid", "A code is of the form *2233# or *384*2233#.")
		}
	default:
		if p.Turn < 1 {
			c.Add("/turn", "out_of_range", "The number of the answer is missing: one more than the turn of the screen before.")
		}
		bad := func(r rune) bool { return r < ' ' || r == 0x7f || r == utf8.RuneError }
		if strings.ContainsFunc(p.Input, bad) || utf8.RuneCountInString(p.Input) > wire.MaxText {
			c.Add("/input", "invalid", "An answer is one line of at most "+strconv.Itoa(wire.MaxText)+" characters.")
		}
		if p.Phone != "" || p.Code != "" {
			c.Add("/sessionId", "unexpected", "The number and the code already belong to the call: leave them out.")
		}
	}
	return c.Err("SIMULATION_INVALID", "The key press is not valid.")
}

// Press takes a key press and returns the next screen. Repeating an answer with
// the same turn returns the same screen. Faults: NUMBER_NOT_SIMULATED,
// SIMULATION_INVALID, CODE_NOT_ANSWERED, SIMULATION_NOT_FOUND, SIMULATION_TURN,
// SIMULATOR_UNAVAILABLE.
func (s *Simulator) Press(ctx context.Context, p Press) (*api.Simulation, error) {
	if p.Session == "" && p.Code == "" {
		p.Code = s.codes()[0]
	}
	if err := p.Validate(); err != nil {
		return nil, err
	}
	line, done, err := s.up(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	q, err := line.request(ctx, &p)
	if err != nil {
		return nil, err
	}
	q.Arrived = line.Sessions.now()
	began := time.Now()
	out, err := line.Sessions.answer(ctx, q)
	if err != nil {
		return nil, err
	}
	took := time.Since(began)
	line.settle(ctx, out.effect)
	return line.shown(ctx, &p, took)
}

// request turns a press into the request of a gateway that identifies its
// requests.
func (l *SimulatedLine) request(ctx context.Context, p *Press) (*request, error) {
	if p.Session == "" {
		if !l.Sessions.answers(p.Code) {
			return nil, fault.New(fault.Invalid, "CODE_NOT_ANSWERED", "This line does not answer the code.").
				With(fault.Field{Pointer: "/serviceCode", Code: "unknown", Detail: "USSD_SERVICE_CODES names the codes of the line."})
		}
		p.Session = strings.ReplaceAll(db.NewID(), "-", "")
		return newPress(newKey(owned(p.Owner, p.Session), p.Phone, "", p.Code), wire.Start, "", ""), nil
	}
	h, err := l.find(ctx, p.Owner, p.Session)
	if err != nil {
		return nil, err
	}
	p.Phone, p.Code = h.key.phone, h.key.code
	q := newPress(h.key, wire.Input, strconv.Itoa(p.Turn), p.Input)
	last, again := h.rec.state.Step, h.rec.last(q, l.Sessions.marks)
	switch {
	case p.Turn == last && again:
	case p.Turn != last+1:
		return nil, fault.New(fault.Conflict, "SIMULATION_TURN", "The call has taken "+strconv.Itoa(last)+" answers: the next one has the turn "+strconv.Itoa(last+1)+".")
	case h.rec.state.Done || h.row.expires <= l.Sessions.now().UnixMilli():
		return nil, fault.New(fault.Conflict, "SIMULATION_OVER", "The call is over. Dial again.")
	}
	return q, nil
}

func newPress(k key, kind wire.Kind, step, text string) *request {
	return &request{key: k, mode: latest, Request: wire.Request{
		SessionID: k.session, ServiceCode: k.code, Phone: k.phone, Text: text, Kind: kind, Mode: wire.Latest, Step: step,
	}}
}

// owned is the name of a call in the store, so that nobody reaches another's
// call.
func owned(owner, session string) string {
	sum := sha256.Sum256([]byte(owner))
	return hex.EncodeToString(sum[:8]) + ":" + session
}

// find finds a call of an owner. The fault is SIMULATION_NOT_FOUND.
func (l *SimulatedLine) find(ctx context.Context, owner, session string) (*held, error) {
	all, err := l.Sessions.records(ctx, owned(owner, session))
	if err != nil {
		return nil, err
	}
	if len(all) == 0 {
		return nil, simulationMissing()
	}
	return &all[0], nil
}

func simulationMissing() error {
	return fault.New(fault.NotFound, "SIMULATION_NOT_FOUND", "No simulated call of yours has this id. Calls are forgotten some minutes after the last key press: dial again.")
}

// settle waits until the messages that a step asked for have arrived.
func (l *SimulatedLine) settle(ctx context.Context, effect bool) {
	if !effect {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, messageWait)
	defer cancel()
	t := time.NewTicker(messageLook)
	defer t.Stop()
	for {
		if busy, err := l.Busy(ctx); err != nil || !busy {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-t.C:
		}
	}
}

// shown describes the screen a call stands at.
func (l *SimulatedLine) shown(ctx context.Context, p *Press, took time.Duration) (*api.Simulation, error) {
	h, err := l.find(ctx, p.Owner, p.Session)
	if err != nil {
		return nil, err
	}
	rec, st := h.rec, &h.rec.state
	units, wide := menu.Units(rec.answer)
	out := &api.Simulation{
		SessionID: p.Session, Simulated: true, PhoneNumber: h.key.phone, ServiceCode: h.key.code, Turn: st.Step, Input: dotted(rec, p.Input),
		Screen: rec.answer, End: st.Done, Units: units, GSM7: !wide, Ms: millis(took), Node: st.Node, State: l.Sessions.stateOf(rec),
		Language: st.Lang, Menu: st.Pack + " " + st.Version, Authenticated: st.Authenticated(),
		Messages: l.Inbox.take(h.key.phone, p.Session, st.Step),
	}
	rec.mode = accumulated // a dialog leaves that to the line it is played on
	out.Dialog = string(rec.dialog(&h.key))
	pack := l.Sessions.cfg.Packs.Version(st.Version)
	if pack == nil {
		pack = l.Sessions.cfg.Packs.Current()
	}
	limits := pack.Limits.OrStandard()
	if out.Limit = limits.GSM7; wide {
		out.Limit = limits.UCS2
	}
	if n := pack.Node(st.Node); n != nil && n.Input != nil {
		out.Secret = n.Input.Secret && !st.Done
	}
	return out, nil
}

// millis is a time in milliseconds with one place.
func millis(d time.Duration) float64 {
	return float64(d.Round(100*time.Microsecond).Microseconds()) / 1000
}

// dotted is the newest answer of a call as it may be shown.
func dotted(rec *record, typed string) string {
	all := stops(rec.trail)
	if rec.state.Step >= len(all) { // more than a trail keeps
		if len(typed) > 1 {
			return dots
		}
		return typed
	}
	if last := all[len(all)-1]; last.masked() == "" {
		return last.typed
	}
	return dots
}

// about says what can be simulated.
func (s *Simulator) about() api.Simulator {
	p := s.cfg.Packs.Current()
	return api.Simulator{
		FirstNumber: FirstSimulated, LastNumber: LastSimulated, ServiceCodes: slices.Clone(s.codes()), Menu: p.Name + " " + p.Version, Languages: slices.Clone(p.Languages),
	}
}
