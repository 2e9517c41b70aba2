// Package export writes the responses of a survey to files, as jobs: CSV, XLSX, NDJSON,
// JSON-LD, GeoJSON and Stata, a row for each response or for each answer, with the
// codebook that explains every column.
//
// It promises that a file shows every response as it was at one moment; that a killed job
// resumes where it stopped and writes the same bytes; that a file holds personal data
// only if both the caller who ordered it and the caller who reads it have that right; and
// that files are gone after a day, or as soon as anybody of the workspace is erased.
// Memory does not grow with the survey, except for a drawn sample: 200,000 households at
// most.
//
// The Level of a file says how much it holds about a person. What a level leaves out has
// no column at all, not an empty one.
package export

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/exchange"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/file"
	"github.com/hearth-dmrv/hearth/internal/job"
	"github.com/hearth-dmrv/hearth/internal/once"
	"github.com/hearth-dmrv/hearth/internal/privacy/vault"
	"github.com/hearth-dmrv/hearth/internal/survey"
	"github.com/hearth-dmrv/hearth/internal/survey/media"
	"github.com/hearth-dmrv/hearth/internal/survey/response"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// Limits.
const (
	MaxFile   = 4 << 30 // bytes of a file, before compression
	maxFilter = 8 << 10 // bytes of a filter
	maxRounds = 100
)

// kindExport is the kind of the jobs.
const kindExport = "survey.export"

// Config configures a Service. Idem and Now have defaults.
type Config struct {
	DB        *db.DB
	Exchange  *exchange.Service
	Surveys   *survey.Service
	Responses *response.Service
	Vault     *vault.Vault
	Media     *media.Store // needed for archives of attachments
	// Weigh gives the households of rounds their weights, with the responses as
	// they were at a time. Without it files have no weights.
	Weigh   func(ctx context.Context, o *survey.Open, rounds []int, at time.Time) ([]survey.WeighedRound, error)
	Idem    *once.Store
	Cursors web.Cursors
	// PublicURL is the address that feeds state; by default that of the
	// request.
	PublicURL string
	Now       func() time.Time
}

// Service exports responses. It is safe for many goroutines.
type Service struct {
	cfg  Config
	db   *db.DB
	size sizes
}

// sizes is how much is in hand at once.
type sizes struct {
	rows  int // responses read at once
	feed  int // rows of a page of a feed
	bytes int // of them, if they are large
	chunk int // bytes of a file that one transaction stores, in pieces
}

// New makes a Service over a migrated store.
func New(cfg Config) *Service {
	cfg.Idem = cmp.Or(cfg.Idem, once.Plain(cfg.DB))
	cfg.Now = db.Clock(cfg.DB, cfg.Now)
	return &Service{cfg: cfg, db: cfg.DB, size: sizes{rows: 500, feed: feedRows, bytes: 1 << 20, chunk: 4 * file.PieceSize}}
}

// Handlers returns the jobs of this package, by kind.
func (s *Service) Handlers() map[string]job.Handler {
	return map[string]job.Handler{kindExport: s.run}
}

// ForgetSurvey removes the files of all exports of a survey, because a response
// in them was redacted. A running export starts over.
func (s *Service) ForgetSurvey(ctx context.Context, o *survey.Open) error {
	return s.cfg.Exchange.ForgetAbout(ctx, o.Workspace, o.NID)
}

// Draft describes an export to make.
type Draft struct {
	Format       Format    `json:"format" enum:"csv,xlsx,ndjson,jsonld,geojson,dta" example:"csv"`
	Shape        Shape     `json:"shape,omitzero" enum:"wide,long" doc:"A row for each response (wide, the default) or for each answer (long)."`
	Repeats      Repeats   `json:"repeats,omitzero" enum:"inline,tables" doc:"For wide CSV and XLSX: a repeat is JSON in one cell (inline, the default), or a table of its own: a file in a zip, a sheet of the workbook."`
	Media        bool      `json:"media,omitzero" doc:"Make a zip of the file and all attachments that its responses had at asOf. Needs pii=full."`
	Design       bool      `json:"design,omitzero" doc:"For wide CSV, XLSX and dta: add the sample with its weights, the sampling, and how R or Stata reproduce the figures. CSV and dta become a zip."`
	PII          Level     `json:"pii,omitzero" enum:"none,pseudonymised,full" doc:"How much personal data is in the file; pseudonymised by default. full needs the scope responses:pii."`
	Filter       string    `json:"filter,omitzero" doc:"As in the list of responses." example:"eq(status,complete)"`
	Verification []string  `json:"verification,omitzero" enum:"pending,in_review,needs_correction,flagged,verified,rejected,disputed,invalidated,superseded" doc:"Only responses in these states; by default all except superseded and invalidated ones."`
	AsOf         time.Time `json:"asOf,omitzero" doc:"Every response as it was at this time; by default the time of the request."`
	Rounds       []int     `json:"rounds,omitzero" doc:"Only these rounds; all by default."`
	Language     string    `json:"language,omitzero" doc:"Language of the labels in an XLSX or Stata file; by default that of the template." example:"sw"`
}

// settings is the stored part of a draft.
type settings struct {
	Draft
	SurveyID string `json:"surveyId"`
	Veiled   bool   `json:"veiled,omitzero"` // who asked sees names: the filter speaks of these
}

// states lists the states an export can select responses by.
var states = []string{
	response.Pending, response.InReview, response.NeedsCorrection, response.Flagged, response.Verified, response.Rejected, response.Disputed,
	response.Invalidated, response.Superseded,
}

// complete fills in what a draft leaves open, and names all that is wrong.
func (d *Draft) complete(now time.Time, o *survey.Open) error {
	if d.Shape == "" {
		d.Shape = Wide
	}
	if d.PII == "" {
		d.PII = Pseudonymised
	}
	if d.Repeats == "" {
		d.Repeats = Inline
	}
	var c fault.Checks
	if !d.Format.Known() {
		c.Add("/format", "unknown", "The format must be csv, xlsx, ndjson, jsonld, geojson or dta.")
	}
	if d.Shape != Wide && d.Shape != Long {
		c.Add("/shape", "unknown", "The shape must be wide or long.")
	}
	if d.Shape == Long && d.Format.wideOnly() {
		c.Add("/shape", "not_supported", "Files of this format have a row for each response: omit shape, or send wide.")
	}
	d.checkFiles(&c)
	if !slices.Contains(Levels(), d.PII) {
		c.Add("/pii", "unknown", "The value must be none, pseudonymised or full.")
	}
	if len(d.Filter) > maxFilter {
		c.Add("/filter", "too_long", fmt.Sprintf("At most %d bytes are accepted.", maxFilter))
	}
	for i, state := range d.Verification {
		if at := fmt.Sprintf("/verification/%d", i); !slices.Contains(states, state) {
			c.Add(at, "unknown", "Responses have no such state.")
		} else if slices.Index(d.Verification, state) < i {
			c.Add(at, "duplicate", "The state is named twice.")
		}
	}
	if len(d.Rounds) > maxRounds {
		c.Add("/rounds", "too_many", fmt.Sprintf("At most %d rounds are accepted.", maxRounds))
	}
	for i, round := range d.Rounds {
		if round < 1 || round > o.Round {
			c.Add(fmt.Sprintf("/rounds/%d", i), "out_of_range", fmt.Sprintf("The survey has the rounds 1 to %d.", o.Round))
		}
	}
	if d.Language != "" && !slices.Contains(Languages(o.Form.Template()), d.Language) {
		c.Add("/language", "unknown", "The template has no texts in this language.")
	}
	now = now.UTC().Truncate(time.Millisecond)
	if d.AsOf.After(now) {
		c.Add("/asOf", "out_of_range", "The time is in the future.")
	}
	if d.AsOf.IsZero() {
		d.AsOf = now
	}
	d.AsOf = d.AsOf.UTC()
	return c.Err("EXPORT_INVALID", "The export is not valid.")
}

// checkFiles looks at what becomes a file of its own.
func (d *Draft) checkFiles(c *fault.Checks) {
	switch {
	case d.Repeats != Inline && d.Repeats != Tables:
		c.Add("/repeats", "unknown", "The value must be inline or tables.")
	case d.Repeats == Tables && (d.Shape != Wide || d.Format != CSV && d.Format != XLSX):
		c.Add("/repeats", "not_allowed", "Only wide CSV and XLSX files can have repeats as tables of their own.")
	}
	if d.Design && !d.tells() {
		c.Add("/design", "not_allowed", "Only wide CSV, XLSX and dta files can include the sample.")
	}
	if d.Media && d.PII != Full {
		c.Add("/media", "not_allowed", "Pictures and sounds show people: only an export with pii=full has attachments.")
	}
}

// packed reports whether the file is a zip.
func (d *Draft) packed() bool {
	return d.Media || d.Repeats == Tables && d.Format == CSV || d.Design && d.Format != XLSX
}

// tells reports whether the format lets other programs read the design of a
// sample.
func (d *Draft) tells() bool {
	return d.Shape == Wide && (d.Format == CSV || d.Format == XLSX || d.Format == Stata)
}

// mediaType is the Content-Type of the file.
func (d *Draft) mediaType() string {
	if d.packed() {
		return archiveType
	}
	return d.Format.MediaType()
}

// ending is what the name of the file ends with.
func (d *Draft) ending() string {
	if d.packed() {
		return "zip"
	}
	return string(d.Format)
}

// wants reports whether a response of a state and round is exported.
func (d *Draft) wants(state string, round int64) bool {
	if len(d.Rounds) > 0 && !slices.Contains(d.Rounds, int(round)) {
		return false
	}
	if len(d.Verification) > 0 {
		return slices.Contains(d.Verification, state)
	}
	return state != response.Superseded && state != response.Invalidated
}

// layout is the shape of the files of an export.
func (s *Service) layout(d *Draft, o *survey.Open) *Layout {
	kind, _ := sampleOf(o)
	return NewLayout(LayoutConfig{
		Sample: kind, Survey: o.SurveyID, Form: o.Form, Level: d.PII, Shape: d.Shape, Repeats: d.Repeats, Language: d.Language,
		Names: s.cfg.Vault.Pseudonyms(o.Workspace, o.Project),
	})
}

// mayAll requires the scopes for a level of personal data.
func mayAll(ctx context.Context, level Level) error {
	if level == Full {
		return exchange.MayAll(ctx, "responses:read", "responses:pii")
	}
	return exchange.MayAll(ctx, "responses:read")
}
