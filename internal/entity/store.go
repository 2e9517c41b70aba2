package entity

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/entity/twin"
	"github.com/hearth-dmrv/hearth/internal/fault"
)

// Row is a stored twin: the columns that the store needs, and the record as it
// is sent.
type Row struct {
	NID             int64
	Workspace       string
	DID             string
	Type            string
	Class           string
	DomainType      string
	Protocol        string
	ProtocolVersion string
	Project         string // "" when it belongs to none
	Name            string // at most 200 bytes of the name in the record; "" without one
	Status          Status
	Revision        int64
	CreatedAt       int64 // ms
	UpdatedAt       int64 // ms; when this revision was made
	Action          string
	Actor           string
	RequestID       string
	Reason          string
	Hash            []byte
	Body            []byte

	crowded bool  // a further relationship would not change the record
	stated  int64 // the last revision that changed what the twin says, as opposed to verdicts and their consequences
}

// The columns of a whole row, in the order scan reads them.
const (
	selectEntity = `SELECT nid, ws, did, type, class, domain_type, protocol, protocol_version, project, name, status, revision, crowded,
			created_at, updated_at, rev_action, rev_actor, rev_request, rev_reason, rev_hash, stated, body
		FROM entities WHERE did = $1 AND ws = $2`
	selectEntityForUpdatePostgres = `SELECT nid, ws, did, type, class, domain_type, protocol, protocol_version, project, name, status, revision, crowded,
			created_at, updated_at, rev_action, rev_actor, rev_request, rev_reason, rev_hash, stated, body
		FROM entities WHERE did = $1 AND ws = $2 FOR UPDATE`
	selectEntityByNID = `SELECT nid, ws, did, type, class, domain_type, protocol, protocol_version, project, name, status, revision, crowded,
			created_at, updated_at, rev_action, rev_actor, rev_request, rev_reason, rev_hash, stated, body
		FROM entities WHERE nid = $1 AND ws = $2`
)

// find reads a twin of a workspace. The fault is ENTITY_NOT_FOUND.
func find(ctx context.Context, q db.Querier, ws, id string) (*Row, error) {
	return found(scan(q.QueryRow(ctx, selectEntity, id, ws)))
}

// findForUpdate is find for a row that is about to change. On SQLite there is
// one writer; on PostgreSQL others wait until tx has ended.
func findForUpdate(ctx context.Context, tx *db.Tx, ws, id string) (*Row, error) {
	if tx.Dialect() == db.Postgres {
		return found(scan(tx.QueryRow(ctx, selectEntityForUpdatePostgres, id, ws)))
	}
	return find(ctx, tx, ws, id)
}

func findByNID(ctx context.Context, q db.Querier, ws string, nid int64) (*Row, error) {
	return found(scan(q.QueryRow(ctx, selectEntityByNID, nid, ws)))
}

func found(r *Row, err error) (*Row, error) {
	if errors.Is(err, sql.ErrNoRows) {
		return nil, notFound()
	} else if err != nil {
		return nil, fmt.Errorf("find entity: %w", err)
	}
	return r, nil
}

func notFound() error {
	return fault.New(fault.NotFound, "ENTITY_NOT_FOUND", "No entity has this DID.")
}

func scan(row db.Row) (*Row, error) {
	var r Row
	var body string
	var crowded int64
	err := row.Scan(&r.NID, &r.Workspace, &r.DID, &r.Type, &r.Class, &r.DomainType, &r.Protocol, &r.ProtocolVersion, &r.Project, &r.Name, &r.Status,
		&r.Revision, &crowded, &r.CreatedAt, &r.UpdatedAt, &r.Action, &r.Actor, &r.RequestID, &r.Reason, &r.Hash, &r.stated, &body)
	if err != nil {
		return nil, err
	}
	r.Body, r.crowded = twin.Body(body), crowded != 0
	if r.stated == 0 { // as it was made, or from before this was recorded: later verdicts are unknown
		r.stated = r.Revision
	}
	return &r, nil
}

const (
	insertDrawn = `INSERT INTO entities (nid, ws, did, type, class, domain_type, protocol, protocol_version, project, name, status, revision, crowded,
		type_key, protocol_key, project_key, status_key, created_at, updated_at, rev_action, rev_actor, rev_request, rev_reason, rev_hash, body, chosen)
	VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22, $23, $24, $25, $26)`
	insertChosen = insertDrawn + ` ON CONFLICT (did, ws) DO NOTHING`
)

// insert stores a new twin, from the columns that columns returned. The fault is
// ENTITY_EXISTS when a DID that a client chose is taken; a generated one never
// is.
func insert(ctx context.Context, tx *db.Tx, chosen bool, columns []any) error {
	if !chosen {
		return db.Wrap("insert entity", tx.Send(ctx, insertDrawn, columns...))
	}
	n, err := tx.Exec(ctx, insertChosen, columns...)
	if err != nil {
		return fmt.Errorf("insert entity: %w", err)
	}
	if n == 0 {
		return taken()
	}
	return nil
}

// taken refuses a DID that is taken. The text is the same whatever has it: a
// protocol, a twin the caller knows, or one it does not.
func taken() error {
	return fault.New(fault.Conflict, "ENTITY_EXISTS", "This DID is taken. Use another one.").
		With(fault.Field{Pointer: "/did", Code: "exists", Detail: "This DID is taken."})
}

func (r *Row) projectKey() any {
	if r.Project == "" {
		return nil
	}
	return Key(r.Workspace, "project", r.Project)
}

func (r *Row) statusKey() any {
	if r.Status == StatusActive {
		return nil
	}
	return Key(r.Workspace, "status", string(r.Status))
}

// The newest revision moves to the history, then the row takes the next. Both
// statements name the revision they expect: of two writers one finds nothing.
const (
	historyRow = `INTO entity_history (nid, revision, at, action, actor, request, reason, hash, body, stated)
		SELECT nid, revision, updated_at, rev_action, rev_actor, rev_request, rev_reason, rev_hash, body, stated
		FROM entities WHERE nid = $1 AND revision = $2`
	insertHistory = `INSERT ` + historyRow + ` ON CONFLICT (nid, revision) DO NOTHING`
	// SQLite keeps a journal for a statement with a SELECT that could fail half way; this
	// one cannot fail.
	insertHistorySQLite = `INSERT OR IGNORE ` + historyRow

	updateBody = `UPDATE entities SET revision = $3, crowded = $4, updated_at = $5, rev_action = $6, rev_actor = $7, rev_request = $8,
			rev_reason = $9, rev_hash = $10, body = $11, stated = $12
		WHERE nid = $1 AND revision = $2`
	updateAll = `UPDATE entities SET revision = $3, crowded = $4, updated_at = $5, rev_action = $6, rev_actor = $7, rev_request = $8,
			rev_reason = $9, rev_hash = $10, body = $11, stated = $12, name = $13,
			type = $14, class = $15, domain_type = $16, protocol_version = $17, project = $18, status = $19,
			type_key = $20, project_key = $21, status_key = $22
		WHERE nid = $1 AND revision = $2`
)

// update replaces the revision old by next. It returns false when old is no
// longer the newest.
func update(ctx context.Context, tx *db.Tx, old, next *Row) (bool, error) {
	var n int64
	var err error
	if tx.Dialect() == db.SQLite {
		n, err = tx.Exec(ctx, insertHistorySQLite, old.NID, old.Revision)
	} else {
		n, err = tx.Exec(ctx, insertHistory, old.NID, old.Revision)
	}
	if err != nil || n == 0 {
		return false, db.Wrap("keep revision", err)
	}
	args := []any{
		old.NID, old.Revision, next.Revision, db.Bit(next.crowded), next.UpdatedAt, next.Action, next.Actor, next.RequestID,
		next.Reason, next.Hash, twin.Stored(next.Body), next.stated,
	}
	if old.sameKeys(next) { // most changes: only one index is touched
		n, err = tx.Exec(ctx, updateBody, args...)
	} else {
		n, err = tx.Exec(ctx, updateAll, append(args, next.Name, next.Type, next.Class, next.DomainType, next.ProtocolVersion, next.Project, string(next.Status),
			Key(next.Workspace, "type", next.Type), next.projectKey(), next.statusKey())...)
	}
	return n > 0, db.Wrap("update entity", err)
}

// sameKeys reports whether everything but the body is unchanged.
func (r *Row) sameKeys(next *Row) bool {
	return r.Type == next.Type && r.Class == next.Class && r.DomainType == next.DomainType && r.ProtocolVersion == next.ProtocolVersion &&
		r.Project == next.Project && r.Status == next.Status && r.Name == next.Name
}

// findChosen reports whether a client chose the DID of a twin.
func findChosen(ctx context.Context, q db.Querier, nid int64) (bool, error) {
	var chosen int64
	if err := q.QueryRow(ctx, `SELECT chosen FROM entities WHERE nid = $1`, nid).Scan(&chosen); err != nil {
		return false, fmt.Errorf("find how a DID was made: %w", err)
	}
	return chosen != 0, nil
}
