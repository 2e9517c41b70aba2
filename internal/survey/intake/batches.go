package intake

import (
	"cmp"
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
	// maxErrors is how many errors of one item are named.
	maxErrors = 20
	// maxPerResponse is how many contents are set aside for one response, and
	// maxPerSender how many of these one may have sent.
	maxPerResponse = 100
	maxPerSender   = 20
)

// BatchesConfig configures Batches. Idem and Now have defaults.
type BatchesConfig struct {
	DB        *db.DB
	Surveys   *survey.Service
	Responses *response.Service
	Vault     *vault.Vault
	Events    *event.Log
	Idem      *once.Store
	Cursors   web.Cursors
	Now       func() time.Time
}

// Batches holds the use cases of batches and conflicts.
type Batches struct {
	cfg BatchesConfig
	db  *db.DB
	now func() time.Time
}

// NewBatches makes Batches over a migrated store.
func NewBatches(cfg BatchesConfig) *Batches {
	cfg.Idem = cmp.Or(cfg.Idem, once.Plain(cfg.DB))
	cfg.Now = db.Clock(cfg.DB, cfg.Now)
	return &Batches{cfg: cfg, db: cfg.DB, now: cfg.Now}
}

// BatchItem is a response of a batch. Items are parsed separately, so that a
// malformed one is refused alone.
type BatchItem struct{ form.Value }

// Schema describes the item in the API reference.
func (BatchItem) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{Type: huma.TypeObject, AdditionalProperties: true, Description: "A response as POST /v1/responses takes it. responseId and surveyId are needed."}
}

// Batch is what a device sends.
type Batch struct {
	Items []BatchItem `json:"items" doc:"1 to 500 responses."`
}

// SchemaName is the name that clients know it by.
func (Batch) SchemaName() string { return "OfflineBatch" }

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
