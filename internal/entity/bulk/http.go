package bulk

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/hearth-dmrv/hearth/api"
	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/entity"
	"github.com/hearth-dmrv/hearth/internal/entity/mask"
	"github.com/hearth-dmrv/hearth/internal/entity/protocol"
	"github.com/hearth-dmrv/hearth/internal/exchange"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/file"
	"github.com/hearth-dmrv/hearth/internal/job"
	"github.com/hearth-dmrv/hearth/internal/once"
	"github.com/hearth-dmrv/hearth/internal/sheet"
	"github.com/hearth-dmrv/hearth/internal/web"
)

const batching = "1 to 1000 operations in at most 8 MiB, done in their order with the rules of the single routes. Atomic: all are stored or none, and the answer is the fault of the first that is refused, " +
	"with pointers into the batch; the records it writes have at most 12 MiB together, one that is changed counts four times. Otherwise the answer is 200 with a result for each, even when all were refused. $0, $1, … as did or target stand for the twin that operation creates: a household and its devices are one batch."

const importing = "The body is the file, at most 64 MiB and 1,000,000 rows: NDJSON (a record on each line), CSV (UTF-8, names in the first line, comma, semicolon or tab) or XLSX (first sheet). The format comes from the " +
	"Content-Type or from format. A column is a path into the record: type, protocol, properties.serial, metadata.name, externalIds.erp; lists are JSON text; an empty cell is no value. " +
	"Relationships have a column for each role: relationships.project holds the DID of the target, relationships.project.externalIds.erp the name that the system erp has for it, of a twin that is stored or that another row of the file makes; several stand in one cell, with ; between them. " +
	"A cell that names a twin that is not there refuses its row, with the column and the value. Relationships with since or until are JSON text in a column relationships. " +
	"At most 1,000 columns, 1 MiB a row. " +
	"An apostrophe before = + - @ is taken off. Groups are stored before all other rows, whatever their place.\n\n" +
	"mode=create makes a twin of every row. mode=upsert changes the twin with the row's DID, else the one with one of its external ids, by merging the row into it, and makes it when there is none; the same file twice changes nothing. " +
	"dryRun=true stores nothing and gives the same report, as far as no other row has to be stored first. A file that is broken as a whole stores nothing; a row that is wrong is refused alone. " +
	"The answer is a job; the result for every row is at /v1/imports/{id}/rows, with the id of the job: links.rows. The scope `entities:write` is needed too.\n\n" +
	"An export can be imported. A new twin gets the status its row says, as far as the transitions lead there; an organisation has the groups that its row contains instead of one of its own. " +
	"Owner, project, verification, credentials and claims are not taken from a file: a row that differs from its twin in one of them gets a warning. A relationship puts a twin into a project. Everything else the server decides (revision, created, links, …) is ignored. " +
	"The controllers are those of the row. When none of them is held in this workspace before the import, and you control the twin through none of them, you become one more controller and the row gets a warning: " +
	"otherwise nobody here could change the twin. An update leaves the status of a twin alone."

const exporting = "Writes every twin that matches, in order of creation, to a file that can be read for 24 hours at /v1/exports/{id}/file. In CSV and XLSX a path is a column and a list is JSON text; relationships are the columns relationships.<role> with the DIDs of the targets and ; between them, or JSON text in a column relationships where they have a since or an until. All of it can be imported. Text that a spreadsheet would run as a " +
	"formula has an apostrophe before it. XLSX has at most 1,048,575 twins and 32,767 characters in a cell, tables 1,000 columns: an export that does not fit fails with a reason. " +
	"Without the scope `entities:pii` twins you do not control come without their personal properties. The scope `entities:read` is needed too."

const migrating = "Migrates every twin of an older version of the protocol to the target version. Properties are renamed or dropped, then defaults fill what is missing (those given, then those the target has for what it requires), then the twin is checked; a twin that does not fit stays as it is and is listed in the report. " +
	"Deactivated twins, and twins of a version after the target, are skipped. A dry run changes nothing and reports the twins that would not fit; its target may be a draft, which is published when all fit. " +
	"The answer is a job; the result for every twin is at /v1/migrations/{id}/rows, with the id of the job: links.rows. The scope `entities:write` is needed too, and control of the twins, or `entities:transfer` and sight of all they have (`entities:pii`)."

// Routes adds the bulk API to a.
func (s *Service) Routes(a *web.API) {
	const entities, protocols = "entities", "protocols"
	s.importRoutes(a)
	s.exportRoutes(a)
	web.Post(a, "/v1/entities:batch", s.serveBatch, web.Doc{
		Summary: "Do many operations at once", Scope: "entities:write", Tag: entities, Once: true, MaxBody: MaxBatch, Description: batching,
		Example: Batch{Atomic: true, Operations: []Operation{
			{Op: "create", Entity: &entity.Draft{Type: "Household", Protocol: "did:ixo:protocol/household"}},
			{Op: "create", Entity: &entity.Draft{Type: "Device", Protocol: "did:ixo:protocol/clean-cooking", Relationships: []entity.RelationDraft{{Role: "household", Target: "$0"}}}},
		}},
		Codes: []string{"BATCH_INVALID", "BATCH_REFERENCE_FAILED", "BATCH_TOO_HEAVY"},
	})
	web.Post(a, "/v1/protocols/{did}/migrations", s.serveMigration, web.Doc{
		Summary: "Migrate twins to another version of their protocol", Status: http.StatusAccepted, Scope: "protocols:write", Tag: protocols, Once: true, Description: migrating,
		Example: MigrationDraft{DryRun: true}, Codes: []string{"PROTOCOL_NOT_FOUND", "PROTOCOL_NOT_PUBLISHED", "MIGRATION_INVALID", "SCOPE_MISSING"},
	})
	web.Get(a, "/v1/migrations/{id}", s.serveMigrationOne, web.Doc{Summary: "Read a migration", Scope: "protocols:read", Tag: protocols, Codes: []string{"MIGRATION_NOT_FOUND"}})
	web.Get(a, "/v1/migrations/{id}/rows", s.serveMigrationRows, web.Doc{
		Summary: "List the results for the twins of a migration", Scope: "protocols:read", Tag: protocols, Codes: []string{"MIGRATION_NOT_FOUND"},
		Description: "A dry run lists only the twins that do not fit.",
	})
}

// importRoutes adds the routes of imports.
func (s *Service) importRoutes(a *web.API) {
	const imports = "imports"
	a.Handle(http.MethodPost, "/v1/imports", s.serveImport, web.Doc{
		Summary: "Import twins from a file", Status: http.StatusAccepted, Scope: "imports:write", Tag: imports, Once: true, Answer: Accepted{}, Description: importing,
		Consumes: "application/x-ndjson, text/csv, application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
		Query: []web.Param{
			{Name: "format", Doc: "ndjson, csv or xlsx; by default the format of the Content-Type.", Example: "csv"},
			{Name: "mode", Doc: "create (default) or upsert.", Example: "upsert"},
			{Name: "dryRun", Doc: "true stores nothing.", Example: "true"},
			{Name: "protocol", Doc: "DID of the protocol for rows that name none.", Example: "did:ixo:protocol/household"},
			{Name: "type", Doc: "Type for rows that name none.", Example: "Household"},
			{Name: "mapping", Doc: "JSON object: column → path; \"\" leaves a column out. At most 4 KiB.", Example: `{"Serial no.":"properties.serial"}`},
			{Name: "Idempotency-Key", Doc: "Send the same key again to get the same job.", Header: true},
		},
		Codes: []string{"UNSUPPORTED_MEDIA_TYPE", "BODY_TOO_LARGE", "TOO_MANY_FILES", "SCOPE_MISSING"},
	})
	a.Handle(http.MethodPost, "/v1/imports:preview", s.servePreview, web.Doc{
		Summary: "Look at a file before it is imported", Scope: "imports:write", Tag: imports, Answer: Preview{}, Description: previewing,
		Consumes: "text/csv, application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
		Query: []web.Param{
			{Name: "format", Doc: "csv or xlsx; by default the format of the Content-Type.", Example: "csv"},
			{Name: "protocol", Doc: "DID of the protocol for rows that name none.", Example: "did:ixo:protocol/household"},
			{Name: "type", Doc: "Type for rows that name none.", Example: "Household"},
			{Name: "mapping", Doc: "JSON object: column → path; \"\" leaves a column out. At most 4 KiB.", Example: `{"Serial no.":"properties.serial"}`},
		},
		Codes: []string{"UNSUPPORTED_MEDIA_TYPE", "BODY_TOO_LARGE", "TOO_MANY_FILES", "SCOPE_MISSING", "FILE_INVALID", "PROTOCOL_NOT_FOUND", "PREVIEW_TOO_LARGE", "TOO_MANY_PREVIEWS"},
	})
	web.Post(a, "/v1/imports/{id}/run", s.serveRun, web.Doc{
		Summary: "Import the file of a dry run", Status: http.StatusAccepted, Scope: "imports:write", Tag: imports, Once: true,
		Description: "Imports the file of a dry run with the same parameters, without sending it again: the file is kept for a day, or until there are 20 newer ones. Only the caller who asked for the dry run may do this. The answer is the job of a new import. The scope `entities:write` is needed too.",
		Codes:       []string{"IMPORT_NOT_FOUND", "DRY_RUN_ONLY", "FILE_GONE", "SCOPE_MISSING"},
	})
	web.Get(a, "/v1/imports", s.serveImports, web.Doc{
		Summary: "List imports of twins", Scope: "imports:read", Tag: imports, Description: exchange.AboutList, Codes: []string{"INVALID_PARAMETER", "INVALID_CURSOR"},
	})
	web.Get(a, "/v1/imports/{id}", s.serveImportOne, web.Doc{Summary: "Read an import", Scope: "imports:read", Tag: imports, Codes: []string{"IMPORT_NOT_FOUND"}})
	web.Get(a, "/v1/imports/{id}/rows", s.serveImportRows, web.Doc{
		Summary: "List the results for the rows of an import", Scope: "imports:read", Tag: imports, Codes: []string{"IMPORT_NOT_FOUND"},
		Description: "In the order of the file. Follow hasMore: with ok=true a page may be short.",
	})
	a.Handle(http.MethodGet, "/v1/imports/{id}/refused", s.serveRefused, web.Doc{
		Summary: "Download the refused rows of an import", Scope: "imports:read", Tag: imports, Produces: "text/csv",
		Description: "A table with the columns of the file, " + lineColumn + " and " + whyColumn + ", to correct and send again. Cells are kept for a day, for the caller who began the import and callers with `entities:pii`; others get the lines and reasons.",
		Codes:       []string{"IMPORT_NOT_FOUND", "SCOPE_MISSING"},
	})
}

// exportRoutes adds the routes of exports.
func (s *Service) exportRoutes(a *web.API) {
	const exports = "exports"
	web.Post(a, "/v1/exports", s.serveExport, web.Doc{
		Summary: "Export twins to a file", Status: http.StatusAccepted, Scope: "exports:write", Tag: exports, Once: true, Description: exporting,
		Example: ExportDraft{Format: sheet.CSV}, Codes: []string{"EXPORT_INVALID", "INVALID_FILTER", "UNKNOWN_FIELD", "TOO_MANY_FILES", "SCOPE_MISSING"},
	})
	web.Get(a, "/v1/exports", s.serveExports, web.Doc{
		Summary: "List exports of twins", Scope: "exports:read", Tag: exports, Description: exchange.AboutList, Codes: []string{"INVALID_PARAMETER", "INVALID_CURSOR"},
	})
	web.Get(a, "/v1/exports/{id}", s.serveExportOne, web.Doc{Summary: "Read an export", Scope: "exports:read", Tag: exports, Codes: []string{"EXPORT_NOT_FOUND"}})
	a.Handle(http.MethodGet, "/v1/exports/{id}/file", s.serveFile, web.Doc{
		Summary: "Download the file of an export", Scope: "exports:read", Tag: exports, Produces: "application/octet-stream",
		Description: "The media type is that of the format. The scope `entities:read` is needed too, and `entities:pii` where withheld says that personal properties are in it. " + exchange.AboutFile,
		Codes:       []string{"EXPORT_NOT_FOUND", "EXPORT_NOT_READY", "EXPORT_EXPIRED", "SCOPE_MISSING"},
	})
}

func (s *Service) serveBatch(ctx context.Context, in *struct{ Body Batch }) (web.Reply[api.BatchResults], error) {
	return s.Batch(ctx, in.Body)
}

type oneIn struct {
	ID string `path:"id"`
}

type importIn struct {
	Format   string `query:"format"`
	Mode     string `query:"mode"`
	DryRun   bool   `query:"dryRun"`
	Protocol string `query:"protocol"`
	Type     string `query:"type"`
	Mapping  string `query:"mapping"`
}

// job reads what an import asks for and names all that is wrong.
func (in *importIn) job(contentType string) (*importJob, error) {
	p := &importJob{Format: sheet.Format(in.Format), Mode: in.Mode, DryRun: in.DryRun, Protocol: in.Protocol, Type: in.Type}
	var c fault.Checks
	if p.Mode == "" {
		p.Mode = modeCreate
	} else if p.Mode != modeCreate && p.Mode != modeUpsert {
		c.Add("query/mode", "unknown", "The mode must be create or upsert.")
	}
	if len(in.Type) > 200 {
		c.Add("query/type", "too_long", "At most 200 characters are accepted.")
	}
	if in.Format != "" && !p.Format.Known() {
		c.Add("query/format", "unknown", "The format must be ndjson, csv or xlsx.")
	}
	if in.Mapping != "" {
		if len(in.Mapping) > maxMapping {
			c.Add("query/mapping", "too_long", fmt.Sprintf("At most %d bytes are accepted.", maxMapping))
		} else if json.Unmarshal([]byte(in.Mapping), &p.Mapping) != nil {
			c.Add("query/mapping", "invalid", "The value must be a JSON object whose members are texts.")
		}
		if p.Format == sheet.NDJSON {
			c.Add("query/mapping", "not_allowed", "Records of NDJSON have no columns.")
		}
	}
	if err := c.Err("INVALID_PARAMETER", "A parameter is not valid."); err != nil {
		return nil, err
	}
	if in.Format == "" {
		p.Format = sheet.FormatOf(contentType)
	}
	if !p.Format.Known() {
		return nil, fault.New(fault.Unsupported, "UNSUPPORTED_MEDIA_TYPE", "The body must be NDJSON, CSV or XLSX. Say so with Content-Type or with format.").
			With(fault.Field{Pointer: "header/Content-Type", Code: "unsupported", Detail: "Use application/x-ndjson, text/csv or the type of XLSX."})
	}
	return p, nil
}

// serveImport takes a file. It reads as slowly as the client sends, so it gives
// its place back first; the pace of the body and the number of files are
// bounded.
func (s *Service) serveImport(w http.ResponseWriter, r *http.Request) error {
	in, err := web.Bind[importIn](r)
	p, bad := in.job(r.Header.Get("Content-Type"))
	if err != nil {
		return together(err, bad)
	}
	ctx := r.Context()
	if err := exchange.MayAll(ctx, "entities:write"); err != nil {
		return err
	}
	if bad != nil {
		return bad
	}
	if p.Protocol != "" {
		id, version, _ := strings.Cut(p.Protocol, "@")
		if _, err := s.cfg.Protocols.Find(ctx, web.CallerFrom(ctx).Workspace, id, version); err != nil {
			return protocol.At(err, "query/protocol", id, version)
		}
	}
	return exchange.Take(s.cfg.Exchange, w, r, MaxImport, func(f *file.File) (web.Reply[Accepted], error) {
		return once.Do(ctx, s.cfg.Idem, func(tx *db.Tx) (web.Reply[Accepted], error) {
			j, err := s.cfg.Exchange.BeginImport(ctx, tx, exchange.Order{Kind: kindImport, Path: "/v1/imports/{id}"}, f, p)
			return accepted(kindImport, j, err)
		})
	})
}

// together names what two checks of the same parameters found.
func together(err, other error) error {
	f, more := fault.As(err), fault.As(other)
	if f == nil || more == nil || f.Code != more.Code {
		return err
	}
	both := *f
	both.Fields = append(slices.Clone(f.Fields), more.Fields...)
	return &both
}

// Import is an import as its readers see it.
type Import struct {
	Common
	Format   sheet.Format `json:"format"`
	Mode     string       `json:"mode" enum:"create,upsert"`
	DryRun   bool         `json:"dryRun"`
	Protocol string       `json:"protocol,omitzero"`
	Type     string       `json:"type,omitzero"`
	Bytes    int64        `json:"bytes" doc:"Size of the file."`
	SHA256   string       `json:"sha256" doc:"Of the file."`
	Counts   Counts       `json:"counts"`
	Links    ReportLinks  `json:"links"`
}

// ReportLinks is the type of package api.
type ReportLinks = api.ReportLinks

func reportLinks(kind, id string) ReportLinks {
	self := "/v1/" + kind + "/" + id
	return ReportLinks{Self: self, Rows: self + "/rows", Job: job.Path(id)}
}

// importCounts is the stored part of an import.
type importCounts struct {
	exchange.Received
	Counts
}

func (s *Service) serveImportOne(ctx context.Context, in *oneIn) (Import, error) {
	j, o, err := s.find(ctx, kindImport, in.ID)
	if err != nil {
		return Import{}, err
	}
	return importOf(j, o)
}

// serveRun imports the file of a dry run.
func (s *Service) serveRun(ctx context.Context, in *oneIn) (web.Reply[Accepted], error) {
	var none web.Reply[Accepted]
	if err := exchange.MayAll(ctx, "entities:write"); err != nil {
		return none, err
	}
	j, o, err := s.find(ctx, kindImport, in.ID)
	if err != nil {
		return none, err
	}
	var p importJob
	if err := o.Read(&p, &struct{}{}); err != nil {
		return none, err
	}
	if !p.DryRun {
		return none, fault.New(fault.Conflict, "DRY_RUN_ONLY", "This import was not a dry run: its rows are stored already.")
	}
	p.DryRun = false
	return once.Do(ctx, s.cfg.Idem, func(tx *db.Tx) (web.Reply[Accepted], error) {
		begun, err := s.cfg.Exchange.Again(ctx, tx, exchange.Listed{Order: o, Of: j}, exchange.Order{Kind: kindImport, Path: "/v1/imports/{id}"}, p)
		return accepted(kindImport, begun, err)
	})
}

func (s *Service) serveImports(ctx context.Context, in *exchange.ListQuery) (web.Reply[web.Page[Import]], error) {
	return exchange.List(ctx, s.cfg.Exchange, exchange.Listing{Kind: kindImport, Cursors: s.cfg.Cursors}, in, func(l exchange.Listed) (Import, error) {
		return importOf(l.Of, l.Order)
	})
}

// importOf is an import as its readers see it.
func importOf(j job.Job, o *exchange.Order) (Import, error) {
	var p importJob
	var n importCounts
	if err := o.Read(&p, &n); err != nil {
		return Import{}, err
	}
	return Import{
		Common: commonOf(j), Format: p.Format, Mode: p.Mode, DryRun: p.DryRun, Protocol: p.Protocol, Type: p.Type,
		Bytes: n.Bytes, SHA256: n.SHA256, Counts: n.Counts, Links: reportLinks("imports", j.ID),
	}, nil
}

func (s *Service) serveImportRows(ctx context.Context, in *rowsIn) (web.Reply[web.Page[ReportRow]], error) {
	return s.rows(ctx, kindImport, in)
}

func (s *Service) serveExport(ctx context.Context, in *struct{ Body ExportDraft }) (web.Reply[Accepted], error) {
	d := in.Body
	if err := exchange.MayAll(ctx, "entities:read"); err != nil {
		return web.Reply[Accepted]{}, err
	}
	if err := d.validate(); err != nil {
		return web.Reply[Accepted]{}, err
	}
	err := checkColumns(d.Columns, d.table(), func(field string) error {
		_, err := s.cfg.Search.Fields(ctx, &entity.Row{Workspace: web.CallerFrom(ctx).Workspace}, []byte("{}"), field)
		return err
	})
	if err != nil {
		return web.Reply[Accepted]{}, err
	}
	if err := s.tryQuery(ctx, d.query()); err != nil {
		return web.Reply[Accepted]{}, err
	}
	return once.Do(ctx, s.cfg.Idem, func(tx *db.Tx) (web.Reply[Accepted], error) {
		j, err := s.cfg.Exchange.BeginExport(ctx, tx, exchange.Order{Kind: kindExport, Path: "/v1/exports/{id}"}, d)
		return accepted(kindExport, j, err)
	})
}

// tryQuery asks for one twin, to learn whether the query is one.
func (s *Service) tryQuery(ctx context.Context, q entity.Query) error {
	q.Limit = 1
	_, err := s.cfg.Search.List(ctx, s.db, q)
	return exchange.InBody(err)
}

// Export is an export as its readers see it.
type Export struct {
	Common
	Format    sheet.Format `json:"format"`
	Rows      int64        `json:"rows" doc:"Twins in the file so far."`
	Bytes     int64        `json:"bytes" doc:"Size of the file so far."`
	SHA256    string       `json:"sha256,omitzero" doc:"Of the file, once it is whole."`
	Columns   []string     `json:"columns,omitempty"`
	Withheld  bool         `json:"withheld,omitzero" doc:"The file holds personal properties that you may not see."`
	ExpiresAt time.Time    `json:"expiresAt,omitzero" doc:"When the file is removed."`
	Links     ExportLinks  `json:"links"`
}

// ExportLinks are the addresses of an export.
type ExportLinks struct {
	Self string `json:"self"`
	File string `json:"file,omitzero" doc:"While there is a file to read."`
	Job  string `json:"job"`
}

func (s *Service) serveExportOne(ctx context.Context, in *oneIn) (Export, error) {
	out, _, err := s.lookExport(ctx, in.ID)
	return out, err
}

// lookExport reads an export and its file; the file is nil when there is none
// to read.
func (s *Service) lookExport(ctx context.Context, id string) (Export, *file.File, error) {
	j, o, err := s.find(ctx, kindExport, id)
	if err != nil {
		return Export{}, nil, err
	}
	l := exchange.Listed{Order: o, Of: j}
	if l.File, l.Until, err = s.cfg.Exchange.File(ctx, o, j.Status); err != nil {
		return Export{}, nil, err
	}
	out, err := exportOf(web.CallerFrom(ctx), l)
	if out.Withheld {
		l.File = nil
	}
	return out, l.File, err
}

func (s *Service) serveExports(ctx context.Context, in *exchange.ListQuery) (web.Reply[web.Page[Export]], error) {
	return exchange.List(ctx, s.cfg.Exchange, exchange.Listing{Kind: kindExport, Cursors: s.cfg.Cursors}, in, func(l exchange.Listed) (Export, error) {
		return exportOf(web.CallerFrom(ctx), l)
	})
}

// exportOf is an export as a caller sees it.
func exportOf(c web.Caller, l exchange.Listed) (Export, error) {
	var d ExportDraft
	var n exported
	if err := l.Read(&d, &n); err != nil {
		return Export{}, err
	}
	self := "/v1/exports/" + l.Job
	out := Export{
		Common: commonOf(l.Of), Format: d.Format, Rows: n.Rows, Bytes: n.Bytes, SHA256: n.SHA256, Columns: n.Columns,
		Links: ExportLinks{Self: self, Job: job.Path(l.Job)},
	}
	if n.Personal.excludes(c, l.Of.CreatedBy) {
		out.Withheld, out.SHA256 = true, "" // a hash confirms a right guess
		return out, nil
	}
	if out.ExpiresAt = l.Until; l.File != nil {
		out.Links.File = self + "/file"
	}
	return out, nil
}

func mediaOf(f sheet.Format) string {
	if f == geoJSON {
		return "application/geo+json"
	}
	return f.MediaType()
}

// serveFile sends the file of an export, a piece at a time.
func (s *Service) serveFile(w http.ResponseWriter, r *http.Request) error {
	in, err := web.Bind[oneIn](r)
	if err != nil {
		return err
	}
	ctx := r.Context()
	if err := exchange.MayAll(ctx, "entities:read"); err != nil {
		return err
	}
	e, f, err := s.lookExport(ctx, in.ID)
	if err != nil {
		return err
	}
	if e.Withheld && e.Status == job.Succeeded {
		return mask.Missing()
	}
	return s.cfg.Exchange.Send(w, r, exchange.Download{
		Status: e.Status, File: f, MediaType: mediaOf(e.Format), Name: fmt.Sprintf("twins-%s.%s", e.CreatedAt.Format("20060102-150405"), e.Format),
	})
}
