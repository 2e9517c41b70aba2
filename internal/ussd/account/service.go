package account

import (
	"cmp"
	"context"
	"log/slog"
	"time"

	"github.com/hearth-dmrv/hearth/internal/auth"
	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/event"
	"github.com/hearth-dmrv/hearth/internal/job"
	"github.com/hearth-dmrv/hearth/internal/secret"
	"github.com/hearth-dmrv/hearth/internal/ussd/sms"
)

// workspace is where accounts live: the line belongs to who runs the server.
const workspace = auth.OperatorWorkspace

// Config configures a Service. DB, Events, Jobs, SMS and Key are needed.
type Config struct {
	DB     *db.DB
	Events *event.Log
	Jobs   *job.Service
	SMS    *sms.Outbox
	Key    secret.Key // the server's own

	// PINKey is the text of PIN_ENCRYPTION_KEY, as ParseKey reads it. Without
	// one the key is derived from the server's own, and that key still opens
	// PINs if one is set later.
	PINKey string
	// PINKeyOld is the previous key: PINs that it sealed are still opened, and
	// a job re-seals them.
	PINKeyOld string
	// LegacyKey is the text of PIN_ENCRYPTION_KEY on the server that accounts
	// were imported from; PINKey by default.
	LegacyKey string

	// MakeTwins makes the twins of a customer and the household, or updates
	// existing ones, and returns the DID of the household. It is called in a
	// job, never in a transaction. Without it there are no twins.
	MakeTwins func(ctx context.Context, c Customer) (household string, err error)
	// Forget removes what others keep about a number, in the transaction of an
	// erasure, and returns how many items there were. It may be nil.
	Forget func(ctx context.Context, tx *db.Tx, phone string) (int64, error)

	Log *slog.Logger     // discards by default
	Now func() time.Time // the clock of the store by default; actions have the time of their step
}

// Service keeps accounts. It is safe for many goroutines.
type Service struct {
	*actions
	cfg Config
	db  *db.DB
}

// New makes a Service over a migrated store. Call Prove before it is used. An
// error names the setting that is wrong, never its value.
func New(cfg Config) (*Service, error) {
	cfg.Log = cmp.Or(cfg.Log, slog.New(slog.DiscardHandler))
	cfg.Now = db.Clock(cfg.DB, cfg.Now)
	p, err := newPINs(cfg)
	if err != nil {
		return nil, err
	}
	return &Service{cfg: cfg, db: cfg.DB, actions: &actions{
		pins:     p,
		journal:  &journal{events: cfg.Events, phones: cfg.Key.Derive("ussd numbers in events")},
		twinning: &twinning{db: cfg.DB, jobs: cfg.Jobs, sms: cfg.SMS, now: cfg.Now, make: cfg.MakeTwins},
		sms:      cfg.SMS, codes: cfg.Key.Derive("ussd reset codes"),
	}}, nil
}

// Handlers returns the jobs of accounts, by kind.
func (s *Service) Handlers() map[string]job.Handler {
	return map[string]job.Handler{KindRotate: s.rotate, KindTwins: s.makeTwins}
}
