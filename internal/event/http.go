package event

import (
	"context"
	"fmt"
	"math"

	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// Routes adds the event API to a.
func (l *Log) Routes(a *web.API) {
	web.Get(a, "/v1/changes", l.serveChanges, web.Doc{
		Summary: "Read events after a number", Scope: "events:read", Tag: "events",
		Description: "What happened in all areas of the workspace: ids and a few facts, never what people said. Poll with after set to the next of the previous answer. Follow hasMore, not the number of items: a filtered page may be empty although there is more. " +
			"Without after, or with 0, reading begins at the oldest event that is kept. If events after your position are no longer kept, the error is EVENTS_EXPIRED and names the oldest event; " +
			"a position past the end is EVENTS_AHEAD, because it comes from another store.\n\n" + aboutFilter() + fmt.Sprintf(" A page looks at no more than %d events.", ScanBudget) + l.cfg.Veil.about(),
		Codes: []string{"EVENTS_EXPIRED", "EVENTS_AHEAD", "INVALID_TYPE_FILTER", "INVALID_FILTER", "UNKNOWN_FIELD", "KEY_RESTRICTED"},
	})
	a.Handle("GET", "/v1/events", l.serveStream, web.Doc{
		Summary: "Follow events as they happen", Scope: "events:read", Tag: "events", Produces: "text/event-stream",
		Description: "Server-sent events: id is the number, event the type, data one item as in /v1/changes. Last-Event-ID (or after) replays what came since; without either the stream begins now, and after=0 replays all that is kept. " +
			"A gap event says that the events between two numbers are not available, and a close event says why the server ends the stream. Its reason is shutdown or error (connect again), expired (connect again with a fresh token or key), rights_changed (your groups give fewer rights than when you connected; connect again with those that are left) or revoked (the key or token is no longer valid). A comment is sent every 15 seconds. " +
			"An id without data moves your position past events that were filtered out. With curl, use curl -N.\n\n" + aboutFilter() + l.cfg.Veil.about(),
		Query: []web.Param{
			{Name: "after", Doc: "Replay events after this number. The header Last-Event-ID takes precedence.", Example: "0"},
			{Name: "types", Doc: "Comma-separated types, such as key.*,job.failed: key.* means all that begin with key.; GET /v1/events/types lists them. All types by default."},
			{Name: "filter", Doc: "See above.", Example: filterExample},
			{Name: "Last-Event-ID", Header: true, Doc: "Number of the last event you have. Browsers send it by themselves when they connect again."},
		},
		Codes: []string{"TOO_MANY_STREAMS", "SHUTTING_DOWN", "INVALID_TYPE_FILTER", "INVALID_FILTER", "UNKNOWN_FIELD", "KEY_RESTRICTED"},
	})
	web.Get(a, "/v1/events/types", serveTypes, web.Doc{
		Summary: "List the types of events", Scope: "events:read", Tag: "events",
		Description: "The names of events in streams, lists and webhooks. Pass one in types or events, or the part before the dot followed by .* for all that begin with it. A pattern that matches no type is refused.",
	})
	web.Get(a, "/v1/audit", l.serveAudit, web.Doc{
		Summary: "Read who did what, newest first", Scope: "audit:read", Tag: "events",
		Description: "The log of changes as an auditor reads it. Nothing can be added, changed or removed here. Follow hasMore: a filtered page may be short or empty although there is more." + l.cfg.Veil.about(),
		Codes:       []string{"INVALID_CURSOR", "KEY_RESTRICTED"},
	})
}

// How many events one answer of /v1/changes holds.
const (
	DefaultLimit = 100
	MaxLimit     = 1000
)

const filterExample = `and(like(type,entity.*),eq(data.status,active))`

type changesInput struct {
	After  web.Number `query:"after" doc:"Only events after this number." example:"0"`
	Limit  web.Number `query:"limit" doc:"Events in one answer, 1 to 1000; 100 by default." example:"100"`
	Types  string     `query:"types" doc:"Comma-separated types, such as key.*,job.failed: key.* means all that begin with key.; GET /v1/events/types lists them. All types by default."`
	Filter given      `query:"filter" doc:"See above." example:"and(like(type,entity.*),eq(data.status,active))"`
}

// changes is the answer of /v1/changes.
type changes struct {
	Items   []Item `json:"items"`
	Next    int64  `json:"next" doc:"Pass this as after to continue."`
	HasMore bool   `json:"hasMore" doc:"Whether you can continue at once. A page may be empty although there is more."`
}

func (l *Log) serveChanges(ctx context.Context, in *changesInput) (changes, error) {
	ws, err := WholeWorkspace(ctx)
	if err != nil {
		return changes{}, err
	}
	var c fault.Checks
	q := Query{
		Workspace: ws, Reader: web.CallerFrom(ctx),
		After: in.After.In(&c, "query/after", 0, math.MaxInt64, 0),
		Limit: int(in.Limit.In(&c, "query/limit", 1, MaxLimit, DefaultLimit)),
	}
	if err := c.Err("INVALID_PARAMETER", "A parameter is not valid."); err != nil {
		return changes{}, err
	}
	if q.Types, err = ParseFilter(in.Types); err != nil {
		return changes{}, err
	}
	if q.Where, err = ParseWhere(string(in.Filter), "query/filter"); err != nil {
		return changes{}, err
	}
	b, err := l.Read(ctx, q)
	return changes{Items: b.Items, Next: b.Next, HasMore: b.HasMore}, err
}
