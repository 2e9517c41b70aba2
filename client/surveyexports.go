package client

import (
	"context"
	"io"
	"iter"
	"net/url"
	"time"

	"github.com/hearth-dmrv/hearth/api"
)

// Types of package api.
type (
	SurveyExportCounts = api.SurveyExportCounts
	SurveyExportLinks  = api.SurveyExportLinks
	CodebookCode       = api.CodebookCode
	CodebookDesign     = api.CodebookDesign
)

// SurveyExport is an export of responses and its progress. Its id is that of
// its job: use Jobs.Wait to wait for it.
type SurveyExport struct {
	Transferred
	SurveyID     string             `json:"surveyId"`
	Format       string             `json:"format"`
	Shape        string             `json:"shape"`
	Repeats      string             `json:"repeats"`
	Media        bool               `json:"media,omitzero"`
	Design       bool               `json:"design,omitzero"`
	PII          string             `json:"pii"`
	Filter       string             `json:"filter,omitzero"`
	Verification []string           `json:"verification,omitzero"`
	AsOf         time.Time          `json:"asOf"`
	Rounds       []int              `json:"rounds,omitzero"`
	Language     string             `json:"language,omitzero"`
	Counts       SurveyExportCounts `json:"counts"`
	SHA256       string             `json:"sha256,omitzero"`    // once the file is whole
	ExpiresAt    time.Time          `json:"expiresAt,omitzero"` // when the file is removed
	Links        SurveyExportLinks  `json:"links"`
}

// SurveyExportDraft says which responses to write, and how. Format is required.
type SurveyExportDraft struct {
	Format       string    `json:"format"`                // csv, xlsx, ndjson, jsonld, geojson or dta
	Shape        string    `json:"shape,omitzero"`        // wide (default): a row for each response; long: for each answer
	Repeats      string    `json:"repeats,omitzero"`      // inline (default), or tables: wide CSV and XLSX have one for each repeat
	Media        bool      `json:"media,omitzero"`        // a zip with all attachments; needs PII full
	Design       bool      `json:"design,omitzero"`       // the sample with its weights, and how R or Stata compute the figures again
	PII          string    `json:"pii,omitzero"`          // none, pseudonymised (default), or full with the scope responses:pii
	Filter       string    `json:"filter,omitzero"`       // as in the list of responses
	Verification []string  `json:"verification,omitzero"` // states; all but superseded and invalidated by default
	AsOf         time.Time `json:"asOf,omitzero"`         // every response as it was then; now by default
	Rounds       []int     `json:"rounds,omitzero"`       // all by default
	Language     string    `json:"language,omitzero"`     // of the labels in XLSX and Stata
}

// Codebook explains every column of the exports of a survey.
type Codebook struct {
	SurveyID        string           `json:"surveyId"`
	TemplateID      string           `json:"templateId"`
	TemplateVersion int              `json:"templateVersion"`
	DefaultLanguage string           `json:"defaultLanguage"`
	Languages       []string         `json:"languages"`
	Missing         []CodebookCode   `json:"missing"`
	Separator       string           `json:"separator"` // joins several values in one cell
	Columns         []CodebookColumn `json:"columns"`
	Design          *CodebookDesign  `json:"design,omitzero"` // how R and Stata compute the figures again
}

// CodebookColumn is a column of a wide table, or a question of a long one. A
// text is a string in the default language or an object of languages.
type CodebookColumn struct {
	Name         string   `json:"name"` // section.question
	Of           string   `json:"of"`   // response or answer
	Section      string   `json:"section,omitzero"`
	SectionTitle any      `json:"sectionTitle,omitzero"`
	Question     string   `json:"question,omitzero"`
	Option       string   `json:"option,omitzero"` // 1 when it was chosen, 0 when not; its place in a rank
	Row          string   `json:"row,omitzero"`    // of a matrix
	Type         string   `json:"type"`
	Label        any      `json:"label,omitzero"`
	Hint         any      `json:"hint,omitzero"`
	Options      []any    `json:"options,omitzero"` // values, or objects with value and label
	Unit         string   `json:"unit,omitzero"`
	Units        []string `json:"units,omitzero"`
	PII          string   `json:"pii,omitzero"` // none, direct or indirect
	Indicators   []string `json:"indicators,omitzero"`
	Missing      []string `json:"missing,omitzero"`
	Repeat       bool     `json:"repeat,omitzero"`
	Shapes       []string `json:"shapes,omitzero"` // wide, long
	Levels       []string `json:"levels,omitzero"` // none, pseudonymised, full
	Note         string   `json:"note,omitzero"`
}

func surveyExportPath(survey, id string) string {
	return surveyPath(survey) + "/exports/" + url.PathEscape(id)
}

// Export begins an export of the responses of a survey. Wait for it with
// Jobs.Wait, then read the ExportFile. Codes: SURVEY_NOT_FOUND, EXPORT_INVALID,
// INVALID_FILTER, SCOPE_MISSING, TOO_MANY_FILES.
func (s Surveys) Export(ctx context.Context, survey string, d SurveyExportDraft, opts ...Option) (*Job, error) {
	return do[Job](ctx, s.c, post(surveyPath(survey)+"/exports", d), opts)
}

// GetExport reads an export. Codes: SURVEY_NOT_FOUND, EXPORT_NOT_FOUND.
func (s Surveys) GetExport(ctx context.Context, survey, id string, opts ...Option) (*SurveyExport, error) {
	return do[SurveyExport](ctx, s.c, get(surveyExportPath(survey, id), nil), opts)
}

// ExportPage reads one page of the exports of a survey, newest first.
func (s Surveys) ExportPage(ctx context.Context, survey string, q TransferQuery, opts ...Option) (*Page[SurveyExport], error) {
	return page[SurveyExport](ctx, s.c, surveyPath(survey)+"/exports", q.values(), opts)
}

// Exports walks over the exports of a survey, newest first. An error ends it.
func (s Surveys) Exports(ctx context.Context, survey string, q TransferQuery, opts ...Option) iter.Seq2[SurveyExport, error] {
	return pages[SurveyExport](ctx, s.c, surveyPath(survey)+"/exports", q.values(), opts)
}

// ExportFile reads the file of an export that has succeeded. Close it. A
// truncated file ends with an error, not with io.EOF. Codes: EXPORT_NOT_READY,
// EXPORT_EXPIRED, SCOPE_MISSING.
func (s Surveys) ExportFile(ctx context.Context, survey, id string, opts ...Option) (io.ReadCloser, error) {
	return s.c.download(ctx, get(surveyExportPath(survey, id)+"/file", nil), opts)
}

// Codebook reads the codebook of a survey. Code: SURVEY_NOT_FOUND.
func (s Surveys) Codebook(ctx context.Context, survey string, opts ...Option) (*Codebook, error) {
	return do[Codebook](ctx, s.c, get(surveyPath(survey)+"/codebook", nil), opts)
}

// CodebookCSV reads the codebook of a survey as a table. Close it.
func (s Surveys) CodebookCSV(ctx context.Context, survey string, opts ...Option) (io.ReadCloser, error) {
	return s.c.download(ctx, get(surveyPath(survey)+"/codebook", url.Values{"format": {"csv"}}), opts)
}
