// Package offline takes what collectors have gathered without a network: many
// responses in one request, each with a result of its own, however often the
// request is sent. What clashes with a stored response is set aside, sealed with
// the key of the household, until somebody decides which of the two holds.
package offline

import (
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/hearth-dmrv/hearth/api"
	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/event"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/once"
	"github.com/hearth-dmrv/hearth/internal/privacy/vault"
	"github.com/hearth-dmrv/hearth/internal/survey"
	"github.com/hearth-dmrv/hearth/internal/survey/form"
	"github.com/hearth-dmrv/hearth/internal/survey/response"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// Limits of a batch.
const (
	MaxItems = 500
	MaxBytes = 4 << 20
	// together is how many responses one transaction stores: others wait for it.
	together = 25
	// maxErrors is how many errors of one item are named.
	maxErrors = 20
	// maxPerResponse is how many contents are set aside for one response, and
	// maxPerSender how many of these one may have sent.
	maxPerResponse = 100
	maxPerSender   = 20
)

// Config configures a Service. Idem and Now have defaults.
type Config struct {
	DB        *db.DB
	Surveys   *survey.Service
	Responses *response.Service
	Vault     *vault.Vault
	Events    *event.Log
	Idem      *once.Store
	Cursors   web.Cursors
	Now       func() time.Time
}

// Service holds the use cases of batches and conflicts.
type Service struct {
	cfg Config
	db  *db.DB
	now func() time.Time
}

// New makes a Service over a migrated store.
func New(cfg Config) *Service {
	if cfg.Idem == nil {
		cfg.Idem = once.Plain(cfg.DB)
	}
	if cfg.Now == nil {
		cfg.Now = cfg.DB.Now
	}
	return &Service{cfg: cfg, db: cfg.DB, now: cfg.Now}
}

// Item is a response of a batch. It is read by itself, so that one that is not
// well-formed is refused alone.
type Item struct{ form.Value }

// Schema describes the item in the API reference.
func (Item) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{Type: huma.TypeObject, AdditionalProperties: true, Description: "A response as POST /v1/responses takes it. responseId and surveyId are needed."}
}

// Batch is what a device sends.
type Batch struct {
	Items []Item `json:"items" doc:"1 to 500 responses."`
}

// What became of an item.
const (
	Created  = "created"
	Replayed = "replayed"
	Partial  = "partial"
	Conflict = "conflict"
	Held     = "held"
	Invalid  = "invalid"
)

// Nouns of package api, by their names here.
type (
	Result     = api.BatchItem
	Results    = api.ResponseBatch
	Resolution = api.ConflictResolution
)

func sum(r *Results) {
	for _, one := range r.Results {
		switch one.Status {
		case Created:
			r.Created++
		case Replayed:
			r.Replayed++
		case Partial:
			r.Partial++
		case Conflict:
			r.Conflict++
		case Held:
			r.Held++
		default:
			r.Invalid++
		}
	}
}

// refuse notes why an item was not stored.
func refuse(r *Result, status string, f *fault.Error) {
	r.Status, r.Code, r.Detail, r.Errors = status, f.Code, f.Message, nil
	more, _ := f.Members.(response.Members)
	r.Existing, r.Candidates = more.Existing, more.Candidates
	for _, one := range f.Fields[:min(len(f.Fields), maxErrors)] {
		r.Errors = append(r.Errors, api.Field(one))
	}
}

// refusal is the fault in err that its sender may mend; nil for trouble of ours
// or of the store.
func refusal(err error) *fault.Error {
	f := fault.As(err)
	if f == nil || f.Kind == fault.Internal || f.Kind == fault.Unavailable {
		return nil
	}
	return f
}
