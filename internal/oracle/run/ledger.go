package run

import (
	"context"
	"math"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/hearth-dmrv/hearth/api"
	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/oracle/chat"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// scopeOthers is the scope for seeing the runs of others.
const scopeOthers = "oracle:read"

// LedgerConfig configures a Ledger.
type LedgerConfig struct {
	DB      *db.DB
	Cursors web.Cursors
}

// Ledger lists the oracle's work: one run for each message, with its steps, its
// duration, what it used, how it ended and who asked. Everybody sees their own runs,
// callers with oracle:read those of their workspace without what was said or where.
// A run is removed with its conversation, and after 30 days. It is safe for
// concurrent use.
type Ledger struct{ cfg LedgerConfig }

// NewLedger makes a Ledger.
func NewLedger(c LedgerConfig) *Ledger { return &Ledger{c} }

// Query asks for runs, newest first.
type Query struct {
	Session string // of one conversation of the caller; "" for all
	All     bool   // of the whole workspace
	Before  int64  // number of the last run of the page before; 0 for the first
	Limit   int
}

// List returns a page of runs, and where the next one begins: 0 when there is
// none. Faults: SCOPE_MISSING and KEY_RESTRICTED for those of others.
func (s *Ledger) List(ctx context.Context, q Query) (page []api.OracleRun, next int64, err error) {
	c := web.CallerFrom(ctx)
	if q.All {
		if err := maySeeOthers(c); err != nil {
			return nil, 0, err
		}
	}
	if q.Before == 0 {
		q.Before = math.MaxInt64
	}
	found, err := listRows(ctx, s.cfg.DB, c, q)
	if err != nil {
		return nil, 0, err
	}
	if len(found) > q.Limit {
		found = found[:q.Limit]
		next = found[q.Limit-1].nid
	}
	page = make([]api.OracleRun, len(found))
	for i, r := range found {
		page[i] = r.show(userOf(c))
	}
	return page, next, nil
}

// Get finds a run. What the caller may not see looks like what does not exist:
// RUN_NOT_FOUND.
func (s *Ledger) Get(ctx context.Context, id string) (api.OracleRun, error) {
	c := web.CallerFrom(ctx)
	r, err := findRow(ctx, s.cfg.DB, id)
	if err != nil {
		return api.OracleRun{}, err
	}
	if r.user != userOf(c) && (chat.TalkerOf(r.user).In() != c.Workspace || maySeeOthers(c) != nil) {
		return api.OracleRun{}, NotFound()
	}
	return r.show(userOf(c)), nil
}

// maySeeOthers reports whether a caller may know what others asked for. A
// conversation belongs to no project, so it takes a key that sees all of them.
func maySeeOthers(c web.Caller) error {
	if !c.May(scopeOthers) {
		return fault.New(fault.Forbidden, "SCOPE_MISSING", "The runs of others need the scope "+scopeOthers+", which you do not have.")
	}
	if len(c.Projects) > 0 {
		return fault.New(fault.Forbidden, "KEY_RESTRICTED", "This key is limited to projects; runs of others cover the whole workspace.")
	}
	return nil
}

// userOf is the name under which a caller talks.
func userOf(c web.Caller) string {
	if c.Key == "" {
		return c.DID
	}
	return chat.Talker{Workspace: c.Workspace, DID: c.DID, Rights: c.Rights}.User()
}

// ledgerRow is a run as the ledger reads it.
type ledgerRow struct {
	nid, turn, created int64
	id, user, session  string
	status, request    string
	usage              *string
	ended              *int64
}

// show is a run as a user sees it.
func (r *ledgerRow) show(user string) api.OracleRun {
	out := api.OracleRun{
		ID: r.id, Status: r.status, By: chat.TalkerOf(r.user).DID, Mine: r.user == user, Turn: r.turn, RequestID: r.request,
		StartedAt: time.UnixMilli(r.created).UTC(), Steps: []api.OracleStep{},
	}
	if out.Mine {
		out.SessionID = r.session
	}
	if r.ended == nil {
		if out.Mine {
			out.Join = "/runs/" + r.id
		}
		return out
	}
	out.EndedAt, out.DurationMS = time.UnixMilli(*r.ended).UTC(), max(*r.ended-r.created, 1)
	var a Account
	if r.usage == nil || json.Unmarshal([]byte(*r.usage), &a) != nil {
		return out // a server that died counted nothing
	}
	out.Model, out.Cost, out.Credits, out.Error = a.Model, a.Cost, a.Credits, a.Error
	out.Tokens = &api.OracleTokens{Input: a.Input, Output: a.Output, Reasoning: a.Reasoning, Cached: a.Cached}
	for _, s := range a.Steps {
		out.Steps = append(out.Steps, api.OracleStep{Tool: s.Tool, DurationMS: s.MS, Failed: s.Failed})
	}
	return out
}

const (
	ledgerColumns = `SELECT r.nid, r.turn, r.created_at, r.id, r.user_did, coalesce(s.id, ''), r.status, r.request_id, r.usage, r.ended_at
		FROM oracle_runs r LEFT JOIN chat_sessions s ON s.nid = r.session WHERE r.status <> 'deleted' AND `
	newestFirst = ` AND r.nid < $2 ORDER BY r.nid DESC LIMIT $3`
	listMine    = ledgerColumns + `r.user_did = $1` + newestFirst
	listAll     = ledgerColumns + `r.workspace = $1` + newestFirst
	findText    = ledgerColumns + `r.id = $1`
	listSession = ledgerColumns + `r.session = (SELECT nid FROM chat_sessions WHERE user_did = $1 AND id = $4)` + newestFirst
)

func listRows(ctx context.Context, store *db.DB, c web.Caller, q Query) ([]ledgerRow, error) {
	var rows db.Rows
	var err error
	switch limit := q.Limit + 1; {
	case q.Session != "":
		rows, err = store.Query(ctx, listSession, userOf(c), q.Before, limit, q.Session)
	case q.All:
		rows, err = store.Query(ctx, listAll, c.Workspace, q.Before, limit)
	default:
		rows, err = store.Query(ctx, listMine, userOf(c), q.Before, limit)
	}
	return db.Collect(rows, err, "list runs", func(r *ledgerRow, from db.Row) error { return from.Scan(r.fields()...) })
}

func findRow(ctx context.Context, q db.Querier, id string) (*ledgerRow, error) {
	r := &ledgerRow{}
	err := q.QueryRow(ctx, findText, id).Scan(r.fields()...)
	return db.Need(r, err, "find run", NotFound())
}

func (r *ledgerRow) fields() []any {
	return []any{&r.nid, &r.turn, &r.created, &r.id, &r.user, &r.session, &r.status, &r.request, &r.usage, &r.ended}
}
