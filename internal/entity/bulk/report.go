package bulk

import (
	"context"
	"fmt"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/hearth-dmrv/hearth/api"
	"github.com/hearth-dmrv/hearth/internal/exchange"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/job"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// ReportRow is the type of package api.
type ReportRow = api.TransferRow

// readRow reads a stored row of a report.
func readRow(r exchange.Row) (out ReportRow, err error) {
	if err = json.Unmarshal([]byte(r.Data), &out); err != nil {
		err = fmt.Errorf("read report row: %w", err)
	}
	return out, err
}

// resultRow is the stored form of an outcome. It leaves out a DID that a dry
// run made up.
func resultRow(line int64, o outcome, dry bool) (exchange.Row, error) {
	r := ReportRow{Line: line, OK: o.Err == nil, Action: o.Action, DID: o.DID, Warnings: exchange.Fields(o.Warnings)}
	if dry && o.Action == created {
		r.DID = ""
	}
	if o.Err != nil {
		r.Error = exchange.Problem(o.Err)
	}
	text, err := web.Encode(r)
	return exchange.Row{Line: line, OK: r.OK, Data: string(text)}, err
}

// reported is the result of a job with a report.
type reported struct {
	Counts
	Links ReportLinks `json:"links"`
}

// end sets the result of a job. The counts decide how it ends: a refused row is
// not a success.
func (c *Counts) end(r *job.Run, kind string) {
	r.Tally(c.Done-c.Refused, c.Refused+c.Incomplete)
	r.SetResult(reported{*c, reportLinks(kind, r.ID)})
}

// Accepted is the job of a new import, export or migration.
type Accepted struct {
	job.Job
	Links AcceptedLinks `json:"links"`
}

// AcceptedLinks are the addresses of the job, and of its import, export or
// migration.
type AcceptedLinks struct {
	job.Links
	Rows string `json:"rows,omitzero" doc:"The result for every row of an import, or twin of a migration."`
}

// accepted is the answer to an order of a kind.
func accepted(kind string, j web.Reply[job.Job], err error) (web.Reply[Accepted], error) {
	if err != nil {
		return web.Reply[Accepted]{}, err
	}
	links := AcceptedLinks{Links: j.Value.Links}
	if kind != kindExport {
		links.Rows = links.About + "/rows"
	}
	return web.Reply[Accepted]{Value: Accepted{j.Value, links}, Status: j.Status, ETag: j.ETag, Location: j.Location}, nil
}

// Common is what every import, export and migration shows.
type Common struct {
	ID         string        `json:"id" doc:"The same as the id of its job."`
	Status     job.Status    `json:"status" enum:"queued,running,succeeded,completedWithErrors,failed,cancelled"`
	Errors     []job.Failure `json:"errors,omitempty" doc:"Why it failed as a whole."`
	CreatedBy  string        `json:"createdBy" doc:"DID of whoever asked for it."`
	CreatedAt  time.Time     `json:"createdAt"`
	StartedAt  time.Time     `json:"startedAt,omitzero"`
	FinishedAt time.Time     `json:"finishedAt,omitzero"`
}

func commonOf(j job.Job) Common {
	return Common{ID: j.ID, Status: j.Status, Errors: j.Errors, CreatedBy: j.CreatedBy, CreatedAt: j.CreatedAt, StartedAt: j.StartedAt, FinishedAt: j.FinishedAt}
}

// find reads an order of a kind that the caller may know of, and its job.
func (s *Service) find(ctx context.Context, kind, id string) (job.Job, *exchange.Order, error) {
	j, o, err := s.cfg.Exchange.Look(ctx, kind, id)
	if err == nil && o == nil {
		err = orderMissing(kind)
	}
	return j, o, err
}

func orderMissing(kind string) error {
	switch kind {
	case kindImport:
		return fault.New(fault.NotFound, "IMPORT_NOT_FOUND", "No import has this id.")
	case kindExport:
		return fault.New(fault.NotFound, "EXPORT_NOT_FOUND", "No export has this id.")
	}
	return fault.New(fault.NotFound, "MIGRATION_NOT_FOUND", "No migration has this id.")
}

// rowsIn asks for a page of a report.
type rowsIn struct {
	ID string `path:"id"`
	exchange.RowsQuery
}

// rows serves a page of the report of an order.
func (s *Service) rows(ctx context.Context, kind string, in *rowsIn) (web.Reply[web.Page[ReportRow]], error) {
	var none web.Reply[web.Page[ReportRow]]
	if err := in.Validate(); err != nil {
		return none, err
	}
	j, _, err := s.find(ctx, kind, in.ID)
	if err != nil {
		return none, err
	}
	page, err := exchange.Report[ReportRow](ctx, s.db, s.cfg.Cursors, in.ID, &in.RowsQuery)
	if err == nil && kind == kindImport {
		err = s.showCells(ctx, j, page.Value.Items)
	}
	return page, err
}
