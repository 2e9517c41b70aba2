// Package demo loads a programme that shows what the server does, and removes it again
// without a trace. A load is a job that calls the server's own API in process through
// the public client, as any caller does: every right, rule and check applies, and
// nothing bypasses them. Times that a client states, such as those of readings and
// interviews, lie in the last 60 days; times that the server sets are those of the
// load.
//
// The same seed gives the same names, places, answers, counts and verdicts; only the
// households in the sample of one survey vary, because its draw has to be random. Every
// write has an Idempotency-Key or an id of our choice, so an interrupted load resumes
// where it was. The twins have external ids of the scheme "demo", by which they are
// found when the demo is removed.
//
// There is a file for each area: twins.go, surveys.go and so on. To extend the demo,
// add a stage there and, if its rows are not under something that is already removed, a
// Part in app.
package demo

import (
	"cmp"
	"context"
	"log/slog"
	"net/http"
	"time"

	"github.com/hearth-dmrv/hearth/api"
	"github.com/hearth-dmrv/hearth/internal/auth"
	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/event"
	"github.com/hearth-dmrv/hearth/internal/job"
	"github.com/hearth-dmrv/hearth/internal/secret"
)

// Kinds of jobs.
const (
	kindLoad   = "demo.load"
	kindRemove = "demo.remove"
)

// Scheme is the scheme of the demo's external ids.
const Scheme = "demo"

// Nouns of package api, by their names here.
type (
	State  = api.Demo
	Counts = api.DemoCounts
	Links  = api.DemoLinks
)

// Config configures a Service. DB, Auth, Jobs, Events and Handler are needed.
type Config struct {
	DB     *db.DB
	Auth   *auth.Service
	Jobs   *job.Service
	Events *event.Log
	Log    *slog.Logger     // discards by default
	Now    func() time.Time // the clock of the store by default

	// Handler returns the API of this server for calls in process. It is called
	// when a load begins, because routes are made after services.
	Handler func() http.Handler
	Key     secret.Key // of the server
	// Oracle is the DID of the oracle for the conversations; "" without one, and
	// where an external language model would answer.
	Oracle string
	// Line reports whether there is a USSD line to call, and Customer returns what
	// it knows about a number.
	Line     bool
	Customer func(ctx context.Context, phone string) (Customer, error)
	// Days makes the figures of days from the readings that wait for it.
	Days func(ctx context.Context) error
	// Production makes a load require force.
	Production bool
	// Occupied describes briefly what else the store holds; "" for nothing.
	Occupied func(ctx context.Context) (string, error)
	// Find finds what a demo has, and ends what others must be told about, before
	// its events are forgotten. Parts then remove it from the areas, in this order,
	// without events.
	Find, Parts []Part
	// Scale divides the sizes of the demo, for tests: 10 makes 30 households. 1
	// by default.
	Scale int
}

// Customer is what the line knows about a number.
type Customer struct {
	Known   bool // it has an account
	Settled bool // the twins of its customer are made, if they were asked for
	ID      string
}

// Part removes something of a demo from the store. It may run twice.
type Part struct {
	Name   string // for the note of the job
	Remove func(ctx context.Context, h *Holding) error
}

// Holding is the content of a demo in a store, by the names it chose. Parts add
// what they find under these for later parts.
type Holding struct {
	Workspace string
	ID        string // of the demo
	Since     time.Time
	Externals []string // external ids of twins, of Scheme
	Surveys   []string // ids
	Phones    []string // of customers of the line
	Users     []string // DIDs of those who talked to the oracle
	Keys      string   // end of the names of its keys
	By        string   // DID of the principal who asked for it and made its keys
	Webhook   string   // description
	Requests  string   // prefix of the ids of its requests

	Twins map[string]int64 // DIDs of its twins with their numbers, once they have been found
	Names map[string]bool  // ids of whatever else went: surveys, responses, keys, jobs
}

// IsLoad reports whether a job of a kind loads a demo: there is one in a workspace.
func (h *Holding) IsLoad(kind string) bool { return kind == kindLoad }

// Service loads and removes the demo.
type Service struct {
	cfg Config
	db  *db.DB
}

// New makes a Service.
func New(cfg Config) *Service {
	cfg.Log = cmp.Or(cfg.Log, slog.New(slog.DiscardHandler))
	cfg.Now = db.Clock(cfg.DB, cfg.Now)
	if cfg.Scale < 1 {
		cfg.Scale = 1
	}
	return &Service{cfg: cfg, db: cfg.DB}
}

// Loads are the jobs that callers ask for and that end with their rights.
func (s *Service) Loads() map[string]job.Handler {
	return map[string]job.Handler{kindLoad: s.load, kindRemove: s.remove}
}
