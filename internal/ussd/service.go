package ussd

import (
	"cmp"
	"crypto/sha256"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/secret"
	"github.com/hearth-dmrv/hearth/internal/ussd/machine"
	"github.com/hearth-dmrv/hearth/internal/ussd/menu"
	"github.com/hearth-dmrv/hearth/internal/web"
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
	tally    tally
	address  *web.Limiter // nil means no limit
	phones   *web.Limiter
	buffers  sync.Pool
	timers   sync.Pool
	live     atomic.Int64 // sessions, as the last sweep counted them
	deadline time.Duration
	outside  time.Duration // how long a step may work outside its transactions
	trip     func() error  // tests: fails a transaction that has done its work
}

// New makes a Service.
func New(c Config) *Service {
	c.Log = cmp.Or(c.Log, slog.New(slog.DiscardHandler))
	c.Now = db.Clock(c.DB, c.Now)
	if c.TTL <= 0 {
		c.TTL = defaultTTL
	}
	if c.Sample == nil {
		c.Sample = func(string) bool { return false }
	}
	if c.InFlight <= 0 {
		c.InFlight = maxInFlight
	}
	s := &Service{
		cfg: c, db: c.DB, log: c.Log, now: c.Now, deadline: deadline, outside: MaxOutside,
		marks: newMarker(c.Key.Derive("ussd-text")), box: c.Key.Box("ussd-session"),
		machines: map[string]*machine.Machine{"": {}},
		phones:   web.NewLimiter(web.LimiterConfig{PerMinute: perPhone, Now: c.Now, Fleet: c.Fleet, Name: "phones"}),
		buffers:  sync.Pool{New: func() any { b := make([]byte, 0, 1024); return &b }},
	}
	s.timers.New = func() any { return time.NewTimer(time.Hour) }
	for _, g := range c.Gateways.List() {
		s.machines[g.Name] = &machine.Machine{Limits: g.Limits}
	}
	s.cfg.Actions = map[string]machine.Action{menu.Draft: {Run: s.takeUp}}
	for name, a := range c.Actions {
		s.cfg.Actions[name] = a
		if a.Stands != nil {
			s.stands = a.Stands
		}
	}
	s.secret = sha256.Sum256([]byte(c.GatewaySecret))
	s.flights.init(c.InFlight)
	if c.RateLimit > 0 {
		s.address = web.NewLimiter(web.LimiterConfig{PerMinute: c.RateLimit, Step: time.Minute, Now: c.Now, Fleet: c.Fleet, Name: "gateways"})
	}
	return s
}

// Live is how many sessions were alive when they were last counted.
func (s *Service) Live() int64 { return s.live.Load() }

// see reports a step to the counter, if there is one.
func (s *Service) see(step Step) {
	if s.cfg.Seen != nil {
		s.cfg.Seen(step)
	}
}
