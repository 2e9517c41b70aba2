package response

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base32"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/event"
	"github.com/hearth-dmrv/hearth/internal/idem"
	"github.com/hearth-dmrv/hearth/internal/secret"
	"github.com/hearth-dmrv/hearth/internal/survey"
	"github.com/hearth-dmrv/hearth/internal/survey/form"
	"github.com/hearth-dmrv/hearth/internal/survey/media"
	"github.com/hearth-dmrv/hearth/internal/survey/rule"
	"github.com/hearth-dmrv/hearth/internal/survey/vault"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// Config configures a Service. Media, Idem, Settings, Log and Now have defaults.
type Config struct {
	DB      *db.DB
	Surveys *survey.Service
	Vault   *vault.Vault
	Media   *media.Store
	Events  *event.Log
	Idem    *idem.Store
	Cursors web.Cursors
	Key     secret.Key // makes the hashes of contents
	Self    string     // DID of the server, which verifies where a survey says so
	Log     *slog.Logger
	Now     func() time.Time
	// Settings are the limits of checks in a survey; the defaults when nil.
	Settings func(ctx context.Context, o *survey.Open) (rule.Settings, error)
}

// Service holds the use cases of responses.
type Service struct {
	cfg   Config
	db    *db.DB
	now   func() time.Time
	hash  []byte // key of content hashes
	plans plans
}

// New makes a Service over a migrated store.
func New(cfg Config) *Service {
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	if cfg.Idem == nil {
		cfg.Idem = idem.Plain(cfg.DB)
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Media == nil {
		cfg.Media = media.New(media.Config{DB: cfg.DB, Key: cfg.Key, Now: cfg.Now})
	}
	if cfg.Settings == nil {
		cfg.Settings = func(context.Context, *survey.Open) (rule.Settings, error) { return rule.Settings{}, nil }
	}
	return &Service{cfg: cfg, db: cfg.DB, now: cfg.Now, hash: cfg.Key.Derive("response content")}
}

// hashOf names a content of a workspace. Nobody without the server's key can
// try out what the content may have been.
func (s *Service) hashOf(ws string, content []byte) []byte {
	mac := hmac.New(sha256.New, s.hash)
	mac.Write([]byte(ws + "\x00"))
	mac.Write(content)
	return mac.Sum(nil)
}

var cidText = base32.StdEncoding.WithPadding(base32.NoPadding)

// contentID is the CID (version 1, raw bytes, SHA-256) of a content.
func contentID(content []byte) string {
	sum := sha256.Sum256(content)
	return "b" + strings.ToLower(cidText.EncodeToString(append([]byte{0x01, 0x55, 0x12, 0x20}, sum[:]...)))
}

// plans keeps what the checks need to know of the forms in use.
type plans struct {
	mu  sync.Mutex
	all map[*form.Form]*rule.Plan
}

const maxPlans = 1000

func (p *plans) of(f *form.Form) *rule.Plan {
	p.mu.Lock()
	defer p.mu.Unlock()
	if plan := p.all[f]; plan != nil {
		return plan
	}
	if p.all == nil || len(p.all) >= maxPlans {
		p.all = map[*form.Form]*rule.Plan{}
	}
	plan := rule.NewPlan(f)
	p.all[f] = plan
	return plan
}
