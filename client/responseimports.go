package client

import (
	"context"
	"errors"
	"io"
	"iter"
	"net/url"

	"github.com/hearth-dmrv/hearth/api"
)

// Types of package api.
type (
	ResponseImportRow    = api.ResponseImportRow
	ReportLinks          = api.ReportLinks
	ResponseImportCounts = api.ResponseImportCounts
)

// ResponseImports read responses from files.
type ResponseImports struct{ c *Client }

// ResponseImport is an import of responses and its progress. Its id is that of
// its job: use Jobs.Wait to wait for it.
type ResponseImport struct {
	Transferred
	SurveyID string               `json:"surveyId"`
	Source   string               `json:"source"`
	Format   string               `json:"format"`
	DryRun   bool                 `json:"dryRun"`
	Partial  bool                 `json:"partial,omitzero"`
	Bytes    int64                `json:"bytes"`
	SHA256   string               `json:"sha256"`
	Counts   ResponseImportCounts `json:"counts"`
	Links    ReportLinks          `json:"links"`
}

// ResponseImportDraft says how to read a file. Format is required.
type ResponseImportDraft struct {
	Source  string            // hearth (default), odk or kobo: the program that wrote it
	Format  string            // csv, xlsx, ndjson, json or zip
	DryRun  bool              // stores nothing, and reports the same
	Partial bool              // accept rows even if required answers are missing
	Mapping map[string]string // column → column of an export; "" leaves a column out

	Household  string            // of odk and kobo: what a household is called, with a column in braces
	Collectors map[string]string // for odk and kobo: DIDs by the names of the submitters
}

func (d ResponseImportDraft) values() (url.Values, error) {
	v := url.Values{}
	set(v, "source", d.Source)
	set(v, "format", d.Format)
	if d.DryRun {
		v.Set("dryRun", "true")
	}
	if d.Partial {
		v.Set("partial", "true")
	}
	set(v, "household", d.Household)
	return v, errors.Join(setObject(v, "mapping", d.Mapping), setObject(v, "collectors", d.Collectors))
}

func responseImportPath(survey, id string) string {
	return surveyPath(survey) + "/imports/" + url.PathEscape(id)
}

// Create sends a file of responses of at most 64 MiB, which is held in memory
// meanwhile, and begins its import. Wait for it with Jobs.Wait. For larger
// archives use hearth responses import. Codes: SURVEY_NOT_FOUND,
// UNSUPPORTED_MEDIA_TYPE, BODY_TOO_LARGE, TOO_MANY_FILES, SCOPE_MISSING.
func (i ResponseImports) Create(ctx context.Context, survey string, d ResponseImportDraft, file io.Reader, opts ...Option) (*Job, error) {
	v, err := d.values()
	if err != nil {
		return nil, err
	}
	return i.c.importFile(ctx, surveyPath(survey)+"/imports", v, file, opts)
}

// Get reads an import. Codes: SURVEY_NOT_FOUND, IMPORT_NOT_FOUND.
func (i ResponseImports) Get(ctx context.Context, survey, id string, opts ...Option) (*ResponseImport, error) {
	return do[ResponseImport](ctx, i.c, get(responseImportPath(survey, id), nil), opts)
}

// Rows walks over what became of the rows, in the order of the file. An
// error ends it.
func (i ResponseImports) Rows(ctx context.Context, survey, id string, q RowQuery, opts ...Option) iter.Seq2[ResponseImportRow, error] {
	return pages[ResponseImportRow](ctx, i.c, responseImportPath(survey, id)+"/rows", q.values(), opts)
}
