package bulk

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/entity/bulk/batch"
	"github.com/hearth-dmrv/hearth/internal/entity/bulk/chunk"
	"github.com/hearth-dmrv/hearth/internal/entity/bulk/report"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/job"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// ReportRow is what became of one row of an import, or of one twin of a
// migration.
type ReportRow struct {
	Line   int64  `json:"line" doc:"Line of the file, in XLSX the row; for a migration a running number."`
	OK     bool   `json:"ok" doc:"Whether all that the row says is stored. When it is not, action still tells what is."`
	Action string `json:"action" enum:"created,updated,unchanged,migrated,skipped,refused" doc:"What was done; in a dry run, what would be."`
	DID    string `json:"did,omitzero"`
	// Warnings are about what the row says and the twin does not.
	Warnings []batch.Field  `json:"warnings,omitempty" doc:"What the row says and the twin is not: what is not taken from a file, and who controls the twin besides those it names."`
	Error    *batch.Problem `json:"error,omitzero" doc:"Why it was refused."`
}

// resultRow is the stored form of an outcome. A DID that a dry run made up is
// not told.
func resultRow(line int64, o chunk.Outcome, dry bool) (report.Row, error) {
	r := ReportRow{Line: line, OK: o.Err == nil, Action: o.Action, DID: o.DID}
	if dry && o.Action == chunk.Created {
		r.DID = ""
	}
	if o.Err != nil {
		r.Error = batch.ProblemOf(o.Err)
	}
	for _, d := range o.Warnings {
		r.Warnings = append(r.Warnings, batch.Field(d))
	}
	text, err := web.Encode(r)
	return report.Row{Line: line, OK: r.OK, Data: string(text)}, err
}

func saveCounts(ctx context.Context, tx *db.Tx, id string, counts any) error {
	text, err := web.Encode(counts)
	if err != nil {
		return err
	}
	return updateCounts(ctx, tx, id, string(text))
}

// reported is the result of a job with a report.
type reported struct {
	Counts
	Links ReportLinks `json:"links"`
}

// Accepted is the job of a new import, export or migration.
type Accepted struct {
	job.Job
	Links AcceptedLinks `json:"links"`
}

// AcceptedLinks are those of the job, and of what it is the job of.
type AcceptedLinks struct {
	job.Links
	About string `json:"about" doc:"The import, export or migration." example:"/v1/imports/0198b3c6-3a5e-7c1f-9b64-2f3c5f0a7d11"`
	Rows  string `json:"rows,omitzero" doc:"What became of every row of an import, or twin of a migration."`
}

// begin enqueues the job of a transfer and keeps what it was asked for: in the
// transfer only, where Forget finds it.
func (s *Service) begin(ctx context.Context, tx *db.Tx, kind string, settings any, fileID string) (web.Reply[Accepted], error) {
	var none web.Reply[Accepted]
	id, err := s.cfg.Jobs.Enqueue(ctx, tx, job.Draft{Kind: kind, Payload: struct{}{}})
	if err != nil {
		return none, err
	}
	text, err := web.Encode(settings)
	if err != nil {
		return none, err
	}
	t := &transfer{
		job: id, ws: web.CallerFrom(ctx).Workspace, kind: kind, file: fileID, settings: string(text), counts: "{}", createdAt: s.cfg.Now().UnixMilli(),
	}
	if err := insertTransfer(ctx, tx, t); err != nil {
		return none, err
	}
	j, err := s.cfg.Jobs.Accepted(ctx, tx, id)
	if err != nil {
		return none, err
	}
	links := AcceptedLinks{Links: j.Value.Links}
	switch kind {
	case kindImport:
		links.About = "/v1/imports/" + id
	case kindExport:
		links.About = "/v1/exports/" + id
	default:
		links.About = "/v1/migrations/" + id
	}
	if kind != kindExport {
		links.Rows = links.About + "/rows"
	}
	return web.Reply[Accepted]{Value: Accepted{j.Value, links}, Status: j.Status, ETag: j.ETag, Location: j.Location}, nil
}

// Common is what every import, export and migration shows.
type Common struct {
	ID         string        `json:"id" doc:"The same as the id of its job."`
	Status     job.Status    `json:"status" enum:"queued,running,succeeded,failed,cancelled"`
	Errors     []job.Failure `json:"errors,omitempty" doc:"Why it failed as a whole."`
	CreatedBy  string        `json:"createdBy" doc:"DID of who asked for it."`
	CreatedAt  time.Time     `json:"createdAt"`
	StartedAt  time.Time     `json:"startedAt,omitzero"`
	FinishedAt time.Time     `json:"finishedAt,omitzero"`
}

// look reads a transfer of a kind that the caller may know of: its job says
// so. settings and counts are where to decode them.
func (s *Service) look(ctx context.Context, kind, id string, settings, counts any) (Common, *transfer, error) {
	j, err := s.cfg.Jobs.Get(ctx, id)
	if err != nil && fault.KindOf(err) != fault.NotFound {
		return Common{}, nil, err
	}
	if err != nil || j.Kind != kind {
		return Common{}, nil, transferMissing(kind)
	}
	t, err := findTransfer(ctx, s.db, web.CallerFrom(ctx).Workspace, id)
	if err != nil {
		return Common{}, nil, err
	}
	if t == nil {
		return Common{}, nil, transferMissing(kind)
	}
	if err := errors.Join(json.Unmarshal([]byte(t.settings), settings), json.Unmarshal([]byte(t.counts), counts)); err != nil {
		return Common{}, nil, fmt.Errorf("read transfer %s: %w", id, err)
	}
	return Common{
		ID: id, Status: j.Status, Errors: j.Errors, CreatedBy: j.CreatedBy, CreatedAt: j.CreatedAt, StartedAt: j.StartedAt, FinishedAt: j.FinishedAt,
	}, t, nil
}

func transferMissing(kind string) error {
	switch kind {
	case kindImport:
		return fault.New(fault.NotFound, "IMPORT_NOT_FOUND", "No import has this id.")
	case kindExport:
		return fault.New(fault.NotFound, "EXPORT_NOT_FOUND", "No export has this id.")
	}
	return fault.New(fault.NotFound, "MIGRATION_NOT_FOUND", "No migration has this id.")
}

// rowBudget is how many rows a page of good ones looks at: they have no index
// of their own.
const rowBudget = 1000

// rowsIn asks for a page of a report.
type rowsIn struct {
	ID string `path:"id"`
	OK string `query:"ok" enum:"true,false" doc:"Only rows that were taken, or only rows that were refused." example:"false"`
	web.Paging
}

// rows serves a page of the report of a transfer.
func (s *Service) rows(ctx context.Context, kind string, in *rowsIn) (web.Reply[web.Page[ReportRow]], error) {
	var none web.Reply[web.Page[ReportRow]]
	var c fault.Checks
	in.Size(&c)
	if in.OK != "" && in.OK != "true" && in.OK != "false" {
		c.Add("query/ok", "invalid", "The value must be true or false.")
	}
	if err := c.Err("INVALID_PARAMETER", "A parameter is not valid."); err != nil {
		return none, err
	}
	if _, _, err := s.look(ctx, kind, in.ID, &struct{}{}, &struct{}{}); err != nil {
		return none, err
	}
	after := int64(-1)
	limit, err := in.Begin(ctx, s.cfg.Cursors, &after)
	if err != nil {
		return none, err
	}
	budget := limit
	if in.OK == "true" {
		budget = max(limit, rowBudget)
	}
	rows, err := report.List(ctx, s.db, report.Page{Job: in.ID, Refused: in.OK == "false", After: after, Limit: budget + 1})
	if err != nil {
		return none, err
	}
	items := []ReportRow{}
	var next any
	for i, r := range rows {
		if len(items) == limit || i == budget {
			next = after
			break
		}
		after = r.Line
		if in.OK == "true" && !r.OK {
			continue
		}
		var item ReportRow
		if err := json.Unmarshal([]byte(r.Data), &item); err != nil {
			return none, fmt.Errorf("read report row: %w", err)
		}
		items = append(items, item)
	}
	return web.PageOf(ctx, s.cfg.Cursors, limit, items, next)
}
