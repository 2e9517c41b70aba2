package client

import (
	"context"
	"io"
	"iter"
	"net/url"

	"github.com/hearth-dmrv/hearth/api"
)

// Reports calls the routes of bundles for auditors.
type Reports struct{ c *Client }

// Types of package api.
type (
	AuditReport      = api.AuditReport
	AuditReportDraft = api.AuditReportDraft
)

const reportsPath = "/v1/reports"

func reportPath(id string) string { return reportsPath + "/" + url.PathEscape(id) }

// Create starts a job that makes a bundle. Codes: REPORT_INVALID,
// REPORT_NEEDS_ORACLE, ENTITY_NOT_FOUND, SCOPE_MISSING.
func (s Reports) Create(ctx context.Context, d AuditReportDraft, opts ...Option) (*Job, error) {
	return do[Job](ctx, s.c, post(reportsPath, d), opts)
}

// Get reads the progress of a bundle. Code: REPORT_NOT_FOUND.
func (s Reports) Get(ctx context.Context, id string, opts ...Option) (*AuditReport, error) {
	return do[AuditReport](ctx, s.c, get(reportPath(id), nil), opts)
}

// List walks over bundles, newest first.
func (s Reports) List(ctx context.Context, q TransferQuery, opts ...Option) iter.Seq2[AuditReport, error] {
	return pages[AuditReport](ctx, s.c, reportsPath, q.values(), opts)
}

// File downloads a bundle. Codes: EXPORT_NOT_READY, EXPORT_EXPIRED.
func (s Reports) File(ctx context.Context, id string, opts ...Option) (io.ReadCloser, error) {
	return s.c.download(ctx, get(reportPath(id)+"/file", nil), opts)
}
