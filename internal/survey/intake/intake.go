// Package intake takes many responses at once: batches of collectors who were
// offline, and files.
//
// A batch (Batches) is one request with a result for each response, however often
// it is sent. A response that clashes with a stored one is set aside, sealed with
// the key of the household, until somebody decides which of the two is right. A
// response that comes while its survey accepts none is held.
//
// An import (Service) is a job that reads a file: an export of this program, or
// CSV, XLSX and JSON as ODK Central and Kobo export them, with attachments from an
// archive. Its report says what became of every row. It promises that a row obeys
// the rules of a single response, with the rights of the importer; that the same
// file twice stores nothing more; that a file which is broken as a whole stores
// nothing; that a killed import resumes where it stopped; that a dry run stores
// nothing but its report; and that the history of a response says which file it
// came from. Memory does not grow with the file.
package intake

import (
	"cmp"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/hearth-dmrv/hearth/api"
	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/exchange"
	"github.com/hearth-dmrv/hearth/internal/job"
	"github.com/hearth-dmrv/hearth/internal/once"
	"github.com/hearth-dmrv/hearth/internal/survey"
	"github.com/hearth-dmrv/hearth/internal/survey/form"
	"github.com/hearth-dmrv/hearth/internal/survey/media"
	"github.com/hearth-dmrv/hearth/internal/survey/response"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// Limits.
const (
	MaxTable   = 64 << 20 // bytes of a file
	MaxArchive = 1 << 30  // bytes of a zip with attachments
	maxMapping = 16 << 10 // bytes
	maxRecord  = 1 << 20  // bytes of a response in a JSON file
	maxEntries = 10_000   // of all repeats of one response
	maxFiles   = 200_000  // in an archive
	maxTables  = 100      // of repeats in a file, all open at once

	maxUnpacked = 1 << 30 // bytes of all tables of an archive
	together    = 25      // responses that one transaction stores: others wait for it
)

// kindImport is the kind of the jobs.
const kindImport = "survey.import"

// Source says which program wrote a file.
type Source string

// The programs.
const (
	Hearth Source = "hearth"
	ODK    Source = "odk"
	Kobo   Source = "kobo"
)

// Format is a kind of file.
type Format string

// The formats.
const (
	CSV    Format = "csv"
	XLSX   Format = "xlsx"
	NDJSON Format = "ndjson"
	JSON   Format = "json"
	Zip    Format = "zip" // of one of the others, with attachments or tables of repeats
)

// settings are what an import was asked for.
type settings struct {
	SurveyID string            `json:"surveyId"`
	Source   Source            `json:"source"`
	Format   Format            `json:"format"`
	DryRun   bool              `json:"dryRun,omitzero"`
	Partial  bool              `json:"partial,omitzero"`
	Mapping  map[string]string `json:"mapping,omitzero"`

	Household  string            `json:"household,omitzero"`  // what a household is called: a text with a column in braces
	Collectors map[string]string `json:"collectors,omitzero"` // DIDs by the names that another program uses for senders
}

// Counts is the progress of an import.
type Counts api.ResponseImportCounts

// counted is the stored part of an import.
type counted struct {
	exchange.Received
	Counts
}

// Layout describes the files of a survey. Package export has it.
type Layout interface {
	// Answers converts the cells of a row to the answers of its response.
	Answers(c *form.Cells) (jsontext.Value, []form.WrongCell)
	Places() []form.Place      // what has columns and tables
	Names() []string           // of all columns
	Heads() []string           // columns of the response as a whole
	Sheets() map[string]string // tables of repeats by their sheets
}

// Config configures a Service. Idem and Now have defaults.
type Config struct {
	DB        *db.DB
	Exchange  *exchange.Service
	Surveys   *survey.Service
	Responses *response.Service
	Media     *media.Store
	Layout    func(o *survey.Open) Layout // of wide exports with everything
	Idem      *once.Store
	Cursors   web.Cursors
	Now       func() time.Time
}

// Service imports responses. It is safe for many goroutines.
type Service struct {
	cfg Config
	db  *db.DB
}

// New makes a Service over a migrated store.
func New(cfg Config) *Service {
	cfg.Idem = cmp.Or(cfg.Idem, once.Plain(cfg.DB))
	cfg.Now = db.Clock(cfg.DB, cfg.Now)
	return &Service{cfg: cfg, db: cfg.DB}
}

// Handlers returns the jobs of this package, by kind.
func (s *Service) Handlers() map[string]job.Handler {
	return map[string]job.Handler{kindImport: s.run}
}
