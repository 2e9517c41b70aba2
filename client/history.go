package client

import (
	"context"
	"iter"
	"net/url"
	"strconv"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/hearth-dmrv/hearth/api"
)

// Types of package api.
type (
	Revision      = api.Revision
	RevisionLinks = api.RevisionLinks
	HistoryAudit  = api.HistoryAudit
)

// Difference is what changed between two revisions.
type Difference struct {
	From      int64      `json:"from"`
	To        int64      `json:"to"`
	Patch     []DiffStep `json:"patch"` // RFC 6902
	Steps     []Revision `json:"steps"` // in between, oldest first: who, when and why
	MoreSteps bool       `json:"moreSteps,omitzero"`
}

// DiffStep is one change of a record.
type DiffStep struct {
	Op    string         `json:"op"` // add, remove or replace
	Path  string         `json:"path"`
	Value jsontext.Value `json:"value,omitzero"` // JSON
}

func historyPath(did string) string { return entityPath(did) + "/history" }

// HistoryPage reads one page of the revisions of a twin, newest first.
func (e Entities) HistoryPage(ctx context.Context, did string, q PageQuery, opts ...Option) (*Page[Revision], error) {
	return page[Revision](ctx, e.c, historyPath(did), q.values(), opts)
}

// History walks over the revisions of a twin, newest first. An error ends it.
func (e Entities) History(ctx context.Context, did string, q PageQuery, opts ...Option) iter.Seq2[Revision, error] {
	return pages[Revision](ctx, e.c, historyPath(did), q.values(), opts)
}

// Revision reads a twin as it was at a revision. Codes: REVISION_NOT_FOUND,
// REVISION_ERASED.
func (e Entities) Revision(ctx context.Context, did string, n int64, opts ...Option) (*Entity, error) {
	return do[Entity](ctx, e.c, get(historyPath(did)+"/"+strconv.FormatInt(n, 10), nil), opts)
}

// Diff compares two revisions; to 0 is the newest, from 0 the one before to.
// Codes: REVISION_NOT_FOUND, REVISION_ERASED.
func (e Entities) Diff(ctx context.Context, did string, from, to int64, opts ...Option) (*Difference, error) {
	v := url.Values{}
	setInt(v, "from", from)
	setInt(v, "to", to)
	return do[Difference](ctx, e.c, get(entityPath(did)+"/diff", v), opts)
}

// DiffBetween is Diff between the revisions at two times.
func (e Entities) DiffBetween(ctx context.Context, did string, from, to time.Time, opts ...Option) (*Difference, error) {
	v := url.Values{}
	setTime(v, "from", from)
	setTime(v, "to", to)
	return do[Difference](ctx, e.c, get(entityPath(did)+"/diff", v), opts)
}

// AuditPage checks a part of the history of a twin.
func (e Entities) AuditPage(ctx context.Context, did string, q PageQuery, opts ...Option) (*HistoryAudit, error) {
	return do[HistoryAudit](ctx, e.c, get(entityPath(did)+"/audit", q.values()), opts)
}

// Audit checks the whole history of a twin: that every revision exists and is
// unchanged. From, Checked and Erased cover all pages.
func (e Entities) Audit(ctx context.Context, did string, opts ...Option) (*HistoryAudit, error) {
	var all HistoryAudit
	for q := (PageQuery{Limit: 1000}); ; q.Cursor = all.Page.NextCursor {
		a, err := e.AuditPage(ctx, did, q, opts...)
		if err != nil {
			return nil, err
		}
		a.Checked, a.Erased = a.Checked+all.Checked, a.Erased+all.Erased
		if q.Cursor != "" {
			a.From = all.From
		}
		if all = *a; !a.OK || !a.Page.HasMore || a.Page.NextCursor == q.Cursor {
			return a, nil
		}
	}
}
