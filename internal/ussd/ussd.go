// Package ussd answers telecom gateways: one request for each key press of a
// handset. It keeps the sessions, one row each, and copes with what networks
// do: requests that come twice, late, in parallel or out of order, sessions
// that begin in the middle, and servers that restart in between. One step is
// one transaction: the answer is stored with the effects of the step, so the
// same request gets the same answer and has its effect once.
//
// What screens say is data of package menu, which package machine walks; how
// gateways write is data of package wire; the packages that offer an action
// decide what it does.
package ussd

import (
	"context"
	"crypto/x509"
	"log/slog"
	"net/netip"
	"time"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/secret"
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
	// Current is the pack for new sessions.
	Current() *menu.Pack
	// Version is a pack that sessions may still walk; nil when it is gone.
	Version(v string) *menu.Pack
}

var _ Packs = (*menu.Registry)(nil)

// Config configures a Service. DB, Key, Packs and Gateways are needed.
type Config struct {
	DB       *db.DB
	Key      secret.Key
	Packs    Packs
	Actions  map[string]machine.Action
	Gateways *wire.Set
	Log      *slog.Logger     // default: discards
	Now      func() time.Time // default: time.Now

	TTL             time.Duration // of silence until a session expires; 180 s
	TextMode        wire.Mode     // of the documented interface; Accumulated
	RateLimit       int           // requests per minute and address; 0 means no limit
	Fleet           *web.Fleet    // counts requests at all servers; nil: at this one
	GatewayNetworks []netip.Prefix
	GatewaySecret   string
	GatewayCA       *x509.CertPool // issues client certificates of gateways; nil: no certificates
	GatewayOnly     bool           // refuse everybody except known gateways
	ServiceCodes    []string       // that are answered; none answers all
	InFlight        int            // steps at work at once; 1024

	// Seen is called for every step, Dropped for every session that expired at
	// a node without an end. Neither receives personal data.
	Seen    func(Step)
	Dropped func(node string)
	// Sample reports whether a number belongs to the demo programme: the counts
	// of its calls are removed with it. None does by default.
	Sample func(phone string) bool
	// Late receives the closing words of a step that had an effect but could
	// not be answered in time.
	Late func(ctx context.Context, phone, text string)
}

// Step is the part of a step that may be counted.
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
