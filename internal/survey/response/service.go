package response

import (
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"log/slog"
	"time"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/event"
	"github.com/hearth-dmrv/hearth/internal/once"
	"github.com/hearth-dmrv/hearth/internal/privacy/vault"
	"github.com/hearth-dmrv/hearth/internal/secret"
	"github.com/hearth-dmrv/hearth/internal/survey"
	"github.com/hearth-dmrv/hearth/internal/survey/flag"
	"github.com/hearth-dmrv/hearth/internal/survey/media"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// Config configures a Service. Media, Idem, Settings, Stored, Redacted, Log and
// Now have defaults.
type Config struct {
	DB      *db.DB
	Surveys *survey.Service
	Vault   *vault.Vault
	Media   *media.Store
	Events  *event.Log
	Idem    *once.Store
	Cursors web.Cursors
	Key     secret.Key // makes the hashes of contents
	Self    string     // DID of the server, which verifies where a survey says so
	Log     *slog.Logger
	Now     func() time.Time
	// Settings returns the limits of checks in a survey; the defaults when nil.
	Settings func(ctx context.Context, o *survey.Open) (flag.Settings, error)
	// Stored is called in the transaction when a sent response is stored, now or
	// before: if the same content waits, there is nothing left to decide about it,
	// which can be the case only when held is true.
	Stored func(ctx context.Context, tx *db.Tx, p *Prepared, held bool) error
	// Asked is called in the transaction for a response that is newly stored or
	// corrected, because it may propose a twin, or a change of one.
	Asked func(ctx context.Context, tx *db.Tx, p *Prepared) error
	// Wiped is called in the transaction for a response that was redacted.
	Wiped func(ctx context.Context, tx *db.Tx, ws, responseID string) error
	// Redacted drops copies of responses of a survey, such as files of exports,
	// after one of the responses was redacted.
	Redacted func(ctx context.Context, o *survey.Open) error
}

// Service holds the use cases of responses.
type Service struct {
	finder
	reader
	preparer
	cfg Config
	db  *db.DB
	now func() time.Time
}

// finder finds responses, and the surveys they are for.
type finder struct {
	db      *db.DB
	surveys *survey.Service
}

// reader reads what responses say, as far as a caller may know it.
type reader struct {
	db    *db.DB
	vault *vault.Vault
}

// preparer checks drafts of responses and makes their rows.
type preparer struct {
	cfg   Config
	db    *db.DB
	now   func() time.Time
	hash  []byte // key of content hashes
	plans plans
}

// New makes a Service over a migrated store.
func New(cfg Config) *Service {
	cfg.Log = cmp.Or(cfg.Log, slog.New(slog.DiscardHandler))
	cfg.Idem = cmp.Or(cfg.Idem, once.Plain(cfg.DB))
	cfg.Now = db.Clock(cfg.DB, cfg.Now)
	if cfg.Media == nil {
		cfg.Media = media.New(media.Config{DB: cfg.DB, Key: cfg.Key, Now: cfg.Now})
	}
	if cfg.Settings == nil {
		cfg.Settings = func(context.Context, *survey.Open) (flag.Settings, error) { return flag.Settings{}, nil }
	}
	if cfg.Stored == nil {
		cfg.Stored = func(context.Context, *db.Tx, *Prepared, bool) error { return nil }
	}
	if cfg.Asked == nil {
		cfg.Asked = func(context.Context, *db.Tx, *Prepared) error { return nil }
	}
	if cfg.Wiped == nil {
		cfg.Wiped = func(context.Context, *db.Tx, string, string) error { return nil }
	}
	if cfg.Redacted == nil {
		cfg.Redacted = func(context.Context, *survey.Open) error { return nil }
	}
	return &Service{
		finder: finder{cfg.DB, cfg.Surveys}, reader: reader{cfg.DB, cfg.Vault},
		preparer: preparer{cfg: cfg, db: cfg.DB, now: cfg.Now, hash: cfg.Key.Derive("response content")},
		cfg:      cfg, db: cfg.DB, now: cfg.Now,
	}
}

// hashOf names a content of a workspace. Nobody without the server's key can
// try out what the content may have been.
func (pr *preparer) hashOf(ws string, content []byte) []byte {
	mac := hmac.New(sha256.New, pr.hash)
	mac.Write([]byte(ws + "\x00"))
	mac.Write(content)
	return mac.Sum(nil)
}
