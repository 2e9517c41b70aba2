package account

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/hearth-dmrv/hearth/internal/auth"
	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/event"
	"github.com/hearth-dmrv/hearth/internal/job"
	"github.com/hearth-dmrv/hearth/internal/secret"
	"github.com/hearth-dmrv/hearth/internal/ussd/sms"
	"github.com/hearth-dmrv/hearth/internal/web"
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
	// PINs when there is one later.
	PINKey string
	// PINKeyOld is the key before it: PINs that it sealed are still opened, and
	// a job seals them anew.
	PINKeyOld string
	// LegacyKey is the text of PIN_ENCRYPTION_KEY at the server accounts were
	// imported from; PINKey by default.
	LegacyKey string

	// MakeTwins makes the twins of a customer and the household, or brings
	// existing ones up to date, and gives the DID of the household. It is
	// called in a job, never in a transaction. Without it there are none.
	MakeTwins func(ctx context.Context, c Customer) (household string, err error)
	// Forget removes what others keep about a number, in the transaction of an
	// erasure, and tells how many things it were. It may be nil.
	Forget func(ctx context.Context, tx *db.Tx, phone string) (int64, error)

	Log *slog.Logger     // discards by default
	Now func() time.Time // time.Now by default; actions have the time of their step
}

// Service keeps accounts. It is safe for many goroutines.
type Service struct {
	cfg    Config
	db     *db.DB
	keys   keyring
	legacy *legacy // nil without a key
	codes  []byte  // keys the hashes of codes
	phones []byte  // keys the names of numbers in events
	nobody *row    // opened in the place of an account that is not there
}

// New makes a Service over a migrated store. Call Prove before it is used. An
// error names the setting that is wrong, never what it holds.
func New(cfg Config) (*Service, error) {
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	s := &Service{cfg: cfg, db: cfg.DB, codes: cfg.Key.Derive("ussd reset codes"), phones: cfg.Key.Derive("ussd numbers in events")}
	var err, errOld error
	own := newKey(cfg.Key.Derive("ussd-pin"))
	s.keys.current = own
	if cfg.PINKey != "" {
		// A server that was tried without the setting goes on with it.
		s.keys.current, err = setting("PIN_ENCRYPTION_KEY", cfg.PINKey)
		s.keys.old = []Key{own}
	}
	if cfg.PINKeyOld != "" {
		var old Key
		old, errOld = setting("PIN_ENCRYPTION_KEY_OLD", cfg.PINKeyOld)
		s.keys.old = append(s.keys.old, old)
	}
	if err := errors.Join(err, errOld); err != nil {
		return nil, err
	}
	if text := cfg.LegacyKey; text != "" || cfg.PINKey != "" {
		if text == "" {
			text = cfg.PINKey
		}
		if s.legacy, err = newLegacy(text); err != nil {
			return nil, err
		}
	}
	s.nobody = &row{id: "nobody", pin: s.keys.current.seal("nobody", "none"), pinKey: s.keys.current.id}
	return s, nil
}

// setting reads the key of a setting.
func setting(name, text string) (Key, error) {
	k, err := ParseKey(text)
	if err != nil {
		return Key{}, fmt.Errorf("%s: %w", name, err)
	}
	return k, nil
}

// Handlers are the jobs of accounts.
func (s *Service) Handlers() map[string]job.Handler {
	return map[string]job.Handler{KindRotate: s.rotate, KindTwins: s.makeTwins}
}

// record appends an event about an account, by whoever calls. No event holds a
// name or a number.
func (s *Service) record(ctx context.Context, tx *db.Tx, typ string, a *row, data any) error {
	return s.cfg.Events.Append(ctx, tx, event.Event{Workspace: workspace, Type: typ, Subject: a.did, Revision: a.revision, Data: data})
}

// asCustomer has what an account asks for done, and recorded, in its name.
func asCustomer(ctx context.Context, a *row) context.Context {
	return web.WithCaller(ctx, web.Caller{Workspace: workspace, DID: a.did})
}
