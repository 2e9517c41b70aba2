package entity

import (
	"cmp"
	"context"
	"log/slog"
	"time"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/did"
	"github.com/hearth-dmrv/hearth/internal/entity/mask"
	"github.com/hearth-dmrv/hearth/internal/entity/protocol"
	"github.com/hearth-dmrv/hearth/internal/event"
	"github.com/hearth-dmrv/hearth/internal/job"
	"github.com/hearth-dmrv/hearth/internal/once"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// Config configures a Service. DB, Protocols, Events and Cursors are needed;
// the zero value of everything else is the sensible default.
type Config struct {
	DB        *db.DB
	Protocols *protocol.Service
	Events    *event.Log
	Idem      *once.Store // keeps the answers to Idempotency-Keys; none by default
	// Jobs join the relationships that waited for a new twin, beyond the first
	// hundred. Without it the rest stay unjoined.
	Jobs    *job.Service
	Cursors web.Cursors
	Log     *slog.Logger
	Now     func() time.Time
	NewDID  func() did.DID

	Relayer    string // DID of this server, for relayerNode
	StrictRefs bool   // refuse references to twins that are not held here

	// ControlsAs returns the DIDs as which a caller may act besides its own:
	// those of its groups whose scopes cover entities:write, and of their
	// organisations. Without it callers act as themselves only.
	ControlsAs func(ctx context.Context, q db.Querier, c web.Caller) ([]string, error)
	// KnownAs lists the DIDs under which a caller may have acted before, itself
	// and with keys of others, so that nobody judges their own work under
	// another name. By default it is the caller's own DID.
	KnownAs func(ctx context.Context, q db.Querier, c web.Caller) (own, others []string, err error)
	// Speakers controls the keys that speak for twins. Without it they are
	// ordinary data.
	Speakers Speakers
	// GroupChanged is called in a transaction that changes a group, an
	// organisation, or a relationship between them.
	GroupChanged func(tx *db.Tx)
	// Moved is called in the transaction that changes a device, or the project of
	// a twin that devices may be linked to. It may be nil.
	Moved func(ctx context.Context, tx *db.Tx, r *Row) error
	// Claims keeps what claims say and decides about them. Without it claims are
	// ordinary twins, and verdicts about them have no further effect.
	Claims Claims
	// Certified is called in the transaction that makes a new revision of a credential.
	// It may be nil.
	Certified func(ctx context.Context, tx *db.Tx, old, next *Row) error
	// IssuerOf returns the number of the twin that signed a credential, 0 for
	// none. That twin's controllers control the credential. Without IssuerOf the
	// credential's own do.
	IssuerOf func(ctx context.Context, q db.Querier, credential int64) (int64, error)
	// At reads an earlier revision of a twin, by number or by time. Without it
	// the parameter at is refused; the same holds for the two below.
	At func(ctx context.Context, q db.Querier, r *Row, at string) (body []byte, revision int64, err error)
	// Fields keeps only some members of a record.
	Fields func(ctx context.Context, r *Row, body []byte, fields string) ([]byte, error)
	// Expand adds the objects that a record refers to.
	Expand func(ctx context.Context, q db.Querier, r *Row, body []byte, expand string) ([]byte, error)
}

func (c Config) withDefaults() Config {
	c.Idem = cmp.Or(c.Idem, once.Plain(c.DB))
	c.Log = cmp.Or(c.Log, slog.New(slog.DiscardHandler))
	c.Now = db.Clock(c.DB, c.Now)
	if c.NewDID == nil {
		c.NewDID = did.NewEntity
	}
	if c.KnownAs == nil {
		c.KnownAs = func(_ context.Context, _ db.Querier, c web.Caller) ([]string, []string, error) {
			return []string{c.DID}, nil, nil
		}
	}
	if c.ControlsAs == nil {
		c.ControlsAs = func(context.Context, db.Querier, web.Caller) ([]string, error) { return nil, nil }
	}
	if c.IssuerOf == nil {
		c.IssuerOf = func(context.Context, db.Querier, int64) (int64, error) { return 0, nil }
	}
	return c
}

// Service is the registry of twins: it makes them, takes them through their
// lives and changes them. It is safe for many goroutines.
type Service struct {
	creator
	verdicts verifier
	cfg      Config
}

// New makes a Service over a migrated store.
func New(cfg Config) *Service {
	cfg = cfg.withDefaults()
	rd := reader{cfg.DB, newRecords(cfg.DB), mask.New(cfg.Protocols, cfg.ControlsAs), cfg.ControlsAs, cfg.IssuerOf}
	nd := needs{cfg.Protocols, cfg.Now}
	rv := reviser{nd, rd.records, cfg.Events, cfg.Jobs, cfg.Speakers, cfg.GroupChanged, cfg.Moved, cfg.Claims, cfg.Certified}
	return &Service{
		creator:  creator{relations{rd, rv, cfg.Idem, cfg.Log, cfg.StrictRefs}, cfg.NewDID, cfg.Relayer},
		verdicts: verifier{nd, cfg.ControlsAs, cfg.KnownAs, cfg.Claims},
		cfg:      cfg,
	}
}
