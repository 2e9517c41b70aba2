// Package openrosa serves the surveys of a collector to ODK Collect, and takes
// what it sends, in the protocol that Collect speaks: a list of forms, forms,
// their files, and submissions as multipart forms.
//
// An address belongs to one collector. Its secret is in the path, because Collect
// has no better place for it, and is the text of a key with the scope collect:send
// alone: it is made, limited and revoked as keys are, opens nothing else, and
// shows the surveys that name its principal as a collector or give it households
// to visit.
//
// A submission is handled like every response: it becomes what POST
// /v1/responses:batch takes and is stored, refused, held or set aside there. The
// instanceID is the id of the response, so a submission that is sent twice is
// stored once. Files may come in several posts: until all files that the answers
// name are here the submission waits, sealed as answers are; after a day it goes
// on without those that never came.
//
// Below the protocol are the documents, which are pure: a compiled form in, an
// XForm out (NewForm); an instance in, answers out (Parse). An XForm says all that
// the template says, or there is none: an expression that XPath cannot say exactly
// is refused with its place, and never left out. What XForms cannot express goes
// into attributes of a namespace of our own, which other programs leave alone and
// send back: the template and survey, which answers are personal, which one is the
// consent. A question that may be refused has a second one beside it that takes
// the reason; one that may be answered in other words has one for these words.
// Values that a device has calculated are ignored: the server calculates.
package openrosa

import (
	"context"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/hearth-dmrv/hearth/api"
	"github.com/hearth-dmrv/hearth/internal/cache"
	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/privacy/vault"
	"github.com/hearth-dmrv/hearth/internal/survey"
	"github.com/hearth-dmrv/hearth/internal/survey/media"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// Scope is the scope of an address's key.
const Scope = "collect:send"

// Patience is how long a submission waits for its files.
const Patience = 24 * time.Hour

// Limits for devices.
const (
	acceptBytes   = 10 << 20               // of a post, as devices are told; they put what is more into others
	maxPost       = media.MaxBytes + 2<<20 // of a post that has one large file
	maxFiles      = 50                     // of a submission
	maxName       = 200                    // bytes of the name of a file
	maxForms      = 200                    // of a collector
	maxWaiting    = 5000                   // submissions of a collector that wait for files
	maxCached     = 64 << 20               // bytes of forms and lists
	formLife      = 24 * time.Hour         // of a form
	listLife      = 5 * time.Minute        // of a list of households: each is noted as a disclosure
	maxHouseholds = 2000                   // in a list
	twinLife      = time.Minute            // of an entity list: after that it is outdated, and two would conflict
	maxTwins      = 2000                   // in one
	maxLog        = 4 << 20                // bytes of the log of an interview that is read
	maxSeconds    = 7 * 24 * 3600          // of an interview
)

// Config configures a Service. Now has a default.
type Config struct {
	DB      *db.DB
	Surveys *survey.Service
	Media   *media.Store
	Vault   *vault.Vault
	// Take stores a response as one of a batch.
	Take func(ctx context.Context, response jsontext.Value) (api.BatchItem, error)
	// Stored reports whether there is a response with an id.
	Stored func(ctx context.Context, id string) (bool, error)
	// Read returns a response as the caller may read it, as JSON.
	Read func(ctx context.Context, id string) ([]byte, error)
	// Issue makes a key with the scope of this package.
	Issue func(ctx context.Context, d api.CollectAddressDraft) (Issued, error)
	// Draw makes a QR code.
	Draw func(text string) (*api.QR, error)
	// Twins returns those of an entity list of a survey, as the caller may see
	// them; no more than limit. Without it lists are empty.
	Twins     func(ctx context.Context, o *survey.Open, l *survey.EntityList, limit int) ([]Twin, error)
	Lease     *cache.Lease // says whether cached data may be used
	PublicURL string       // where devices reach this server; "": where the request came to
	Now       func() time.Time
}

// Twin is a row of an entity list.
type Twin struct {
	DID, Label string
	Revision   int64
	Values     []string // of the properties of the list
}

// Issued is a key that was made for an address.
type Issued struct{ ID, Principal, Text string }

// Service holds the use cases of collectors with ODK Collect.
type Service struct {
	cfg  Config
	db   *db.DB
	kept *cache.Cache[string, *kept]
	held pot
}

// kept is a form, a list of forms or a list of households.
type kept struct {
	form  *Form
	body  []byte
	until time.Time
	gen   uint64 // of the surveys it was made of
}

func (k *kept) weight() int {
	n := len(k.body) + 1<<10
	if k.form != nil {
		n += 3 * len(k.form.XML)
		for _, f := range k.form.Files {
			n += len(f.Content)
		}
	}
	return n
}

// New makes a Service over a migrated store.
func New(cfg Config) *Service {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Twins == nil {
		cfg.Twins = func(context.Context, *survey.Open, *survey.EntityList, int) ([]Twin, error) { return nil, nil }
	}
	return &Service{
		cfg: cfg, db: cfg.DB,
		kept: cache.New[string](cache.Config[*kept]{Topic: survey.Topic, Lease: cfg.Lease, Limit: maxCached, Weigh: (*kept).weight}),
	}
}

// keep makes a thing, unless it is kept from after the last change of a survey.
func (s *Service) keep(ws, key string, life time.Duration, fresh func() (*kept, error)) (kept, error) {
	now, gen := s.cfg.Now(), s.cfg.Surveys.Generation(ws)
	if k := s.kept.Get(ws, key); k != nil && k.gen == gen && now.Before(k.until) {
		return *k, nil
	}
	turn := s.kept.Begin(ws)
	k, err := fresh()
	if err != nil {
		return kept{}, err
	}
	k.gen, k.until = gen, now.Add(life)
	s.kept.Put(ws, key, k, turn)
	return *k, nil
}

// acting returns the caller with the rights of a collector who sends directly:
// the key of an address has only a scope that no other route knows.
func acting(ctx context.Context) context.Context {
	c := web.CallerFrom(ctx)
	c.Scopes, c.Door = []string{"responses:write", "surveys:read"}, survey.Collect
	return web.WithCaller(ctx, c)
}
