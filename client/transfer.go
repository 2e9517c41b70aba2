package client

import (
	"context"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/hearth-dmrv/hearth/api"
)

// Transferred is what imports, exports and migrations share. Their ids are
// those of their jobs: use Jobs.Wait to wait for any of them.
type Transferred struct {
	ID         string     `json:"id"`
	Status     string     `json:"status"` // queued, running, succeeded, completedWithErrors, failed or cancelled
	Errors     []JobError `json:"errors,omitempty"`
	CreatedBy  string     `json:"createdBy"`
	CreatedAt  time.Time  `json:"createdAt"`
	StartedAt  time.Time  `json:"startedAt,omitzero"`
	FinishedAt time.Time  `json:"finishedAt,omitzero"`
}

// Types of package api.
type (
	TransferCounts = api.TransferCounts
	TransferRow    = api.TransferRow
	Cell           = api.Cell
	ImportColumn   = api.ImportColumn
	ImportRow      = api.ImportRow
	ImportNote     = api.ImportNote
)

// TransferLinks are the addresses of an import, an export or a migration.
type TransferLinks struct {
	Self string `json:"self"`
	Rows string `json:"rows,omitzero"`
	File string `json:"file,omitzero"` // of an export, while there is one
	Job  string `json:"job"`
}

// TransferQuery asks for imports or exports.
type TransferQuery struct {
	Status string // all by default
	Limit  int    // items in one page, 1 to 1000; 50 by default
	Cursor string // NextCursor of the page before
}

func (q TransferQuery) values() url.Values {
	v := PageQuery{q.Limit, q.Cursor}.values()
	set(v, "status", q.Status)
	return v
}

// RowQuery asks for rows of a report.
type RowQuery struct {
	OK     *bool  // only those that were taken, or refused; all by default
	Limit  int    // items in one page, 1 to 1000; 50 by default
	Cursor string // NextCursor of the page before
}

func (q RowQuery) values() url.Values {
	v := PageQuery{q.Limit, q.Cursor}.values()
	if q.OK != nil {
		v.Set("ok", strconv.FormatBool(*q.OK))
	}
	return v
}

// Imports read twins from files.
type Imports struct{ c *Client }

// Import is an import and its progress.
type Import struct {
	Transferred
	Format   string         `json:"format"`
	Mode     string         `json:"mode"`
	DryRun   bool           `json:"dryRun"`
	Protocol string         `json:"protocol,omitzero"`
	Type     string         `json:"type,omitzero"`
	Bytes    int64          `json:"bytes"`
	SHA256   string         `json:"sha256"`
	Counts   TransferCounts `json:"counts"`
	Links    TransferLinks  `json:"links"`
}

// ImportDraft says how to read a file. Format is required.
type ImportDraft struct {
	Format   string            // ndjson, csv or xlsx
	Mode     string            // create (default) or upsert
	DryRun   bool              // stores nothing, and reports the same
	Protocol string            // for rows that name none
	Type     string            // for rows that name none
	Mapping  map[string]string // column → path; "" leaves a column out
}

func (d ImportDraft) values() (url.Values, error) {
	v := url.Values{}
	set(v, "format", d.Format)
	set(v, "mode", d.Mode)
	set(v, "protocol", d.Protocol)
	set(v, "type", d.Type)
	if d.DryRun {
		v.Set("dryRun", "true")
	}
	return v, setObject(v, "mapping", d.Mapping)
}

// setObject adds a parameter that is an object of texts, such as what the columns
// of a file are.
func setObject(v url.Values, name string, object map[string]string) error {
	if len(object) == 0 {
		return nil
	}
	text, err := json.Marshal(object, json.Deterministic(true))
	if err != nil {
		return fmt.Errorf("encode %s: %w", name, err)
	}
	v.Set(name, string(text))
	return nil
}

const importsPath = "/v1/imports"

func importPath(id string) string { return importsPath + "/" + url.PathEscape(id) }

// Create sends a file of at most 64 MiB, which is held in memory meanwhile,
// and begins its import. Wait for it with Jobs.Wait. Codes:
// UNSUPPORTED_MEDIA_TYPE, BODY_TOO_LARGE, TOO_MANY_FILES.
func (i Imports) Create(ctx context.Context, d ImportDraft, file io.Reader, opts ...Option) (*Job, error) {
	v, err := d.values()
	if err != nil {
		return nil, err
	}
	return i.c.importFile(ctx, importsPath, v, file, opts)
}

// Preview shows what an import would make of a file of at most 64 MiB, CSV or
// XLSX. Nothing is stored. Codes: UNSUPPORTED_MEDIA_TYPE, BODY_TOO_LARGE,
// FILE_INVALID, PREVIEW_TOO_LARGE, TOO_MANY_PREVIEWS.
func (i Imports) Preview(ctx context.Context, d ImportDraft, file io.Reader, opts ...Option) (*ImportPreview, error) {
	v, err := d.values()
	if err != nil {
		return nil, err
	}
	raw, err := readFile(file)
	if err != nil {
		return nil, err
	}
	k := call{method: http.MethodPost, path: importsPath + ":preview", body: raw, query: v, media: "application/octet-stream", long: true}
	return do[ImportPreview](ctx, i.c, k, opts)
}

// Run imports the file of a dry run of the caller without sending it again.
// Codes: IMPORT_NOT_FOUND, DRY_RUN_ONLY, FILE_GONE.
func (i Imports) Run(ctx context.Context, id string, opts ...Option) (*Job, error) {
	return do[Job](ctx, i.c, post(importPath(id)+"/run", nil), opts)
}

// Refused reads the refused rows of an import as CSV, with a column that says
// why. Close it.
func (i Imports) Refused(ctx context.Context, id string, opts ...Option) (io.ReadCloser, error) {
	return i.c.download(ctx, get(importPath(id)+"/refused", nil), opts)
}

// ImportPreview is what an import would make of a file.
type ImportPreview struct {
	Format  string            `json:"format"`
	Columns []ImportColumn    `json:"columns"`
	Mapping map[string]string `json:"mapping"` // for ImportDraft
	Rows    []ImportRow       `json:"rows"`    // the first 20
	More    bool              `json:"more"`
	Notes   []ImportNote      `json:"notes"`
}

// importFile sends a file and begins its import.
func (c *Client) importFile(ctx context.Context, path string, v url.Values, file io.Reader, opts []Option) (*Job, error) {
	raw, err := readFile(file)
	if err != nil {
		return nil, err
	}
	k := post(path, raw)
	k.query, k.media, k.long = v, "application/octet-stream", true
	return do[Job](ctx, c, k, opts)
}

// Get reads an import. Code: IMPORT_NOT_FOUND.
func (i Imports) Get(ctx context.Context, id string, opts ...Option) (*Import, error) {
	return do[Import](ctx, i.c, get(importPath(id), nil), opts)
}

// Page reads one page of the imports, newest first.
func (i Imports) Page(ctx context.Context, q TransferQuery, opts ...Option) (*Page[Import], error) {
	return page[Import](ctx, i.c, importsPath, q.values(), opts)
}

// List walks over the imports, newest first. An error ends it.
func (i Imports) List(ctx context.Context, q TransferQuery, opts ...Option) iter.Seq2[Import, error] {
	return pages[Import](ctx, i.c, importsPath, q.values(), opts)
}

// RowPage reads one page of what became of the rows, in the order of the file.
func (i Imports) RowPage(ctx context.Context, id string, q RowQuery, opts ...Option) (*Page[TransferRow], error) {
	return page[TransferRow](ctx, i.c, importPath(id)+"/rows", q.values(), opts)
}

// Rows walks over what became of the rows, in the order of the file. An error
// ends it.
func (i Imports) Rows(ctx context.Context, id string, q RowQuery, opts ...Option) iter.Seq2[TransferRow, error] {
	return pages[TransferRow](ctx, i.c, importPath(id)+"/rows", q.values(), opts)
}

// Exports write twins to files.
type Exports struct{ c *Client }

// Export is an export and its progress.
type Export struct {
	Transferred
	Format    string        `json:"format"`
	Rows      int64         `json:"rows"`
	Bytes     int64         `json:"bytes"`
	SHA256    string        `json:"sha256,omitzero"` // once the file is whole
	Columns   []string      `json:"columns,omitempty"`
	Withheld  bool          `json:"withheld,omitzero"`  // the file has personal properties in it that the key may not see
	ExpiresAt time.Time     `json:"expiresAt,omitzero"` // when the file is removed
	Links     TransferLinks `json:"links"`
}

// ExportDraft says which twins to write, and how. Format is required.
type ExportDraft struct {
	Format       string    `json:"format"`           // ndjson, csv, xlsx or geojson
	Columns      []string  `json:"columns,omitzero"` // paths: properties.serial; all by default
	Filter       string    `json:"filter,omitzero"`
	Type         string    `json:"type,omitzero"`
	Class        string    `json:"class,omitzero"`
	Protocol     string    `json:"protocol,omitzero"`
	Status       string    `json:"status,omitzero"`
	Project      string    `json:"project,omitzero"`
	UpdatedSince time.Time `json:"updatedSince,omitzero"`
	Near         string    `json:"near,omitzero"` // latitude,longitude,metres
	PII          string    `json:"pii,omitzero"`  // none or full; full has what the caller may see
}

const exportsPath = "/v1/exports"

func exportPath(id string) string { return exportsPath + "/" + url.PathEscape(id) }

// Create begins an export. Wait for it with Jobs.Wait, then read the File.
// Codes: EXPORT_INVALID, INVALID_FILTER, UNKNOWN_FIELD, TOO_MANY_FILES.
func (e Exports) Create(ctx context.Context, d ExportDraft, opts ...Option) (*Job, error) {
	return do[Job](ctx, e.c, post(exportsPath, d), opts)
}

// Get reads an export. Code: EXPORT_NOT_FOUND.
func (e Exports) Get(ctx context.Context, id string, opts ...Option) (*Export, error) {
	return do[Export](ctx, e.c, get(exportPath(id), nil), opts)
}

// Page reads one page of the exports, newest first.
func (e Exports) Page(ctx context.Context, q TransferQuery, opts ...Option) (*Page[Export], error) {
	return page[Export](ctx, e.c, exportsPath, q.values(), opts)
}

// List walks over the exports, newest first. An error ends it.
func (e Exports) List(ctx context.Context, q TransferQuery, opts ...Option) iter.Seq2[Export, error] {
	return pages[Export](ctx, e.c, exportsPath, q.values(), opts)
}

// File reads the file of an export that has succeeded. Close it. A truncated
// file ends with an error, not with io.EOF. Codes: EXPORT_NOT_READY,
// EXPORT_EXPIRED.
func (e Exports) File(ctx context.Context, id string, opts ...Option) (io.ReadCloser, error) {
	return e.c.download(ctx, get(exportPath(id)+"/file", nil), opts)
}

// Migrations move twins to other versions of their protocol. Protocols.Migrate
// begins one.
type Migrations struct{ c *Client }

// Migration is a migration and its progress.
type Migration struct {
	Transferred
	Protocol string         `json:"protocol"`
	From     string         `json:"from,omitzero"`
	To       string         `json:"to"`
	DryRun   bool           `json:"dryRun"`
	Counts   TransferCounts `json:"counts"`
	Links    TransferLinks  `json:"links"`
}

func migrationPath(id string) string { return "/v1/migrations/" + url.PathEscape(id) }

// Get reads a migration. Code: MIGRATION_NOT_FOUND.
func (m Migrations) Get(ctx context.Context, id string, opts ...Option) (*Migration, error) {
	return do[Migration](ctx, m.c, get(migrationPath(id), nil), opts)
}

// RowPage reads one page of what became of the twins. A dry run lists only
// those that do not fit.
func (m Migrations) RowPage(ctx context.Context, id string, q RowQuery, opts ...Option) (*Page[TransferRow], error) {
	return page[TransferRow](ctx, m.c, migrationPath(id)+"/rows", q.values(), opts)
}

// Rows walks over what became of the twins. An error ends it.
func (m Migrations) Rows(ctx context.Context, id string, q RowQuery, opts ...Option) iter.Seq2[TransferRow, error] {
	return pages[TransferRow](ctx, m.c, migrationPath(id)+"/rows", q.values(), opts)
}

// Batch is many operations in one request, done in their order.
type Batch struct {
	Atomic     bool        `json:"atomic,omitzero"` // all or nothing
	Operations []Operation `json:"operations"`      // 1 to 1000
}

// Operation is one change of a batch. As a DID or target, $0, $1, … mean the
// twin that this operation of the batch creates.
type Operation struct {
	Op           string             `json:"op"` // create, replace, patch, transition, deactivate, relate or unrelate
	DID          string             `json:"did,omitzero"`
	IfMatch      string             `json:"ifMatch,omitzero"` // an ETag, or * for any revision
	Entity       *EntityDraft       `json:"entity,omitzero"`  // of create and replace
	Patch        Object             `json:"patch,omitzero"`
	To           string             `json:"to,omitzero"`           // of transition
	Relationship *RelationshipDraft `json:"relationship,omitzero"` // of relate
	ID           string             `json:"id,omitzero"`           // of unrelate
	Reason       string             `json:"reason,omitzero"`
}

// What became of a batch, of each of its operations, and why one was refused.
type (
	BatchResults = api.BatchResults
	BatchResult  = api.BatchResult
	Problem      = api.BatchProblem
)

// Batch does many operations at once. A batch that is not atomic succeeds even
// when all of its operations were refused: check Failed. Codes: BATCH_INVALID,
// and for an atomic one that of the operation.
func (e Entities) Batch(ctx context.Context, b Batch, opts ...Option) (*BatchResults, error) {
	return do[BatchResults](ctx, e.c, call{method: http.MethodPost, path: entitiesPath + ":batch", body: b, keyed: true}, opts)
}
