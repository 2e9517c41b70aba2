// Package quality looks at the responses of a survey together: answers that
// stand out, households that were counted twice, interviews that are copies of
// each other, collectors whose answers differ from those of all others. It flags
// and never refuses. It also draws responses that somebody else asks again,
// compares the answers, and reports on all of this.
//
// A run reads the responses page by page and keeps samples and sums of a fixed
// size, so that a million responses need 32 MB. Personal data is compared in
// memory and never stored or shown. The arithmetic gives the same result for the
// same responses in any order, and is exact as long as they fit in memory;
// anybody can repeat a draw.
package quality

import (
	"cmp"
	"context"
	"log/slog"
	"time"

	"github.com/hearth-dmrv/hearth/api"
	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/event"
	"github.com/hearth-dmrv/hearth/internal/job"
	"github.com/hearth-dmrv/hearth/internal/once"
	"github.com/hearth-dmrv/hearth/internal/survey"
	"github.com/hearth-dmrv/hearth/internal/survey/response"
	"github.com/hearth-dmrv/hearth/internal/survey/template"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// The checks over many responses. The names are part of the API.
const (
	Outlier   = "outlier"
	Duplicate = "duplicate_household"
	Effect    = "enumerator_effect"
	Copied    = "copied_answers"
)

// Nouns of package api, by their names here.
type (
	BackLinks       = api.BackCheckLinks
	BackCheckReport = api.BackCheckRates
	ClassReport     = api.BackCheckRate
	DrawDraft       = api.DrawDraft
	Draw            = api.Draw
	DrawStratum     = api.DrawCollector
	Report          = api.QualityReport
	FlagRecord      = api.QualityFlag
	Findings        = api.QualityFindings
	CollectorReport = api.CollectorQuality
	Tally           = api.QualityTally
)

// Config configures a Service. Idem, ActsFor, Log and Now have defaults.
type Config struct {
	DB        *db.DB
	Surveys   *survey.Service
	Responses *response.Service
	Templates reviews
	Rules     *Rulebook
	Jobs      *job.Service
	Events    *event.Log
	Idem      *once.Store
	Cursors   web.Cursors
	Log       *slog.Logger
	Now       func() time.Time
	ActsFor   survey.ActsFor
}

// reviews reports whether the suitability of a template was looked at in time.
// The template service does.
type reviews interface {
	Review(ctx context.Context, q db.Querier, ws, id string, now time.Time) (template.ReviewState, error)
}

var _ reviews = (*template.Service)(nil)

// Service holds the use cases of field quality.
type Service struct {
	cfg Config
	db  *db.DB
}

// New makes a Service over a migrated store.
func New(cfg Config) *Service {
	cfg.Idem = cmp.Or(cfg.Idem, once.Plain(cfg.DB))
	cfg.Log = cmp.Or(cfg.Log, slog.New(slog.DiscardHandler))
	cfg.Now = db.Clock(cfg.DB, cfg.Now)
	s := &Service{cfg: cfg, db: cfg.DB}
	cfg.Jobs.Share(RunKind, s.mayRead)
	return s
}

func (s *Service) now() time.Time { return s.cfg.Now().UTC().Truncate(time.Millisecond) }

// timeOf is a stored time; the zero time when there is none.
func timeOf(ms int64) time.Time {
	if ms == 0 {
		return time.Time{}
	}
	return time.UnixMilli(ms).UTC()
}
