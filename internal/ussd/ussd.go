// Package ussd answers telecom gateways: one request for each key press of a
// handset. It keeps the sessions, one row each, and survives what networks do:
// requests that come twice, late, in parallel or out of order, sessions that
// begin in the middle, and servers that restart in between. One step is one
// transaction: the answer is stored with what the step did, so the same
// request gets the same answer and has its effect once.
//
// What screens say is data of package menu, walked by package machine; how
// gateways write is data of package wire; what an action does is the business
// of whoever offers it.
package ussd

import (
	"context"
	"crypto/sha256"
	"log/slog"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/secret"
	"github.com/hearth-dmrv/hearth/internal/ussd/action"
	"github.com/hearth-dmrv/hearth/internal/ussd/machine"
	"github.com/hearth-dmrv/hearth/internal/ussd/menu"
	"github.com/hearth-dmrv/hearth/internal/ussd/wire"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// The promises about time and load.
const (
	deadline      = 2500 * time.Millisecond // until a gateway has its answer, inside the 3 s promised
	defaultTTL    = 180 * time.Second       // of silence
	draftAge      = 24 * time.Hour          // that a walk left half way is kept
	callAge       = 30 * 24 * time.Hour     // that a gateway's word on a session is kept
	effectAge     = 10 * time.Minute        // after its end that a session with effects is kept, for late copies
	maxInFlight   = 1024                    // steps at work at once
	perPhone      = 60                      // requests a minute and number, behind a gateway
	sweepInterval = 15 * time.Second
)

// Packs are the menu packs that sessions walk. A *menu.Registry is one.
type Packs interface {
	// Current is the pack of new sessions.
	Current() *menu.Pack
	// Version is a pack that sessions may still walk; nil is gone.
	Version(v string) *menu.Pack
}

var _ Packs = (*menu.Registry)(nil)

// Config configures a Service. DB, Key, Packs and Gateways are needed.
type Config struct {
	DB       *db.DB
	Key      secret.Key
	Packs    Packs
	Actions  map[string]action.Action
	Gateways *wire.Set
	Log      *slog.Logger     // default: discards
	Now      func() time.Time // default: time.Now

	TTL             time.Duration // of silence until a session expires; 180 s
	TextMode        wire.Mode     // of the documented interface; Auto
	RateLimit       int           // requests a minute and address; 0 is no limit
	GatewayNetworks []netip.Prefix
	GatewaySecret   string
	GatewayOnly     bool     // refuse everybody who is no known gateway
	ServiceCodes    []string // that are answered; none answers all
	InFlight        int      // steps at work at once; 1024

	// Seen is told of every step, Dropped of every session that expired at a
	// node without an end. Neither is given anything personal.
	Seen    func(Step)
	Dropped func(node string)
	// Late is given the closing words of a step that had an effect but could
	// not be answered in time.
	Late func(ctx context.Context, phone, text string)
}

// Step is what may be counted of a step.
type Step struct {
	Gateway string // "" is the documented interface
	Node    string // whose screen was answered; "" without one
	Result  string // one of the Result constants
	Units   int    // of the screen
	Took    time.Duration
	First   bool // a session began
}

// How a step ends.
const (
	ResultShown       = "shown"       // the next screen
	ResultEnded       = "ended"       // a closing screen
	ResultRefused     = "refused"     // the same screen with a hint
	ResultRepeated    = "repeated"    // an answer given before
	ResultInvalid     = "invalid"     // no valid request
	ResultLimited     = "limited"     // too many requests
	ResultUnavailable = "unavailable" // too slow, too busy, or the store is in trouble
)

// Service serves handset sessions. It is safe for many goroutines.
type Service struct {
	cfg      Config
	db       *db.DB
	log      *slog.Logger
	now      func() time.Time
	marks    *marker
	box      secret.Box
	machines map[string]*machine.Machine
	stands   standing          // nil counts every login
	secret   [sha256.Size]byte // hash of the gateways' shared secret

	flights  flights
	address  *web.Limiter // nil is no limit
	phones   *web.Limiter
	buffers  sync.Pool
	timers   sync.Pool
	live     atomic.Int64 // sessions, as the last sweep counted them
	deadline time.Duration
	trip     func() error // tests: fails a transaction that has done its work
}

// New makes a Service.
func New(c Config) *Service {
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.TTL <= 0 {
		c.TTL = defaultTTL
	}
	if c.InFlight <= 0 {
		c.InFlight = maxInFlight
	}
	s := &Service{
		cfg: c, db: c.DB, log: c.Log, now: c.Now, deadline: deadline,
		marks: newMarker(c.Key.Derive("ussd-text")), box: c.Key.Box("ussd-session"),
		machines: map[string]*machine.Machine{"": {}},
		phones:   web.NewLimiter(web.LimiterConfig{PerMinute: perPhone, Now: c.Now}),
		buffers:  sync.Pool{New: func() any { b := make([]byte, 0, 1024); return &b }},
	}
	s.timers.New = func() any { return time.NewTimer(time.Hour) }
	for _, g := range c.Gateways.List() {
		s.machines[g.Name] = &machine.Machine{Limits: g.Limits}
	}
	s.cfg.Actions = map[string]action.Action{menu.Draft: {Run: s.takeUp}}
	for name, a := range c.Actions {
		s.cfg.Actions[name] = a
		if a.Stands != nil {
			s.stands = a.Stands
		}
	}
	s.secret = sha256.Sum256([]byte(c.GatewaySecret))
	s.flights.init(c.InFlight)
	if c.RateLimit > 0 {
		s.address = web.NewLimiter(web.LimiterConfig{PerMinute: c.RateLimit, Step: time.Minute, Now: c.Now})
	}
	return s
}

// Live is how many sessions were alive when they were last counted.
func (s *Service) Live() int64 { return s.live.Load() }

// see tells whoever counts.
func (s *Service) see(step Step) {
	if s.cfg.Seen != nil {
		s.cfg.Seen(step)
	}
}
