package resolve

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/entity"
	"github.com/hearth-dmrv/hearth/internal/entity/twin"
)

// A minted DID is public with the twin we made it for, because anybody can give
// their own twin a DID that means another. Any other DID is public in the
// operator's workspace only.
const (
	selectMinted = `SELECT nid, ws, did, domain_type, status, revision, created_at, updated_at, body
		FROM entities WHERE nid = (SELECT min(nid) FROM entities WHERE did = $1 AND chosen = 0)`
	selectNamed = `SELECT nid, ws, did, domain_type, status, revision, created_at, updated_at, body
		FROM entities WHERE did = $1 AND ws = $2`
)

// findMinted finds the twin, in any workspace, that a DID was minted for; nil
// when there is none.
func findMinted(ctx context.Context, q db.Querier, id string) (*entity.Row, error) {
	return scan(q.QueryRow(ctx, selectMinted, id))
}

// findNamed finds a twin of one workspace; nil when there is none.
func findNamed(ctx context.Context, q db.Querier, id, ws string) (*entity.Row, error) {
	return scan(q.QueryRow(ctx, selectNamed, id, ws))
}

func scan(row db.Row) (*entity.Row, error) {
	var r entity.Row
	var body string
	err := row.Scan(&r.NID, &r.Workspace, &r.DID, &r.DomainType, &r.Status, &r.Revision, &r.CreatedAt, &r.UpdatedAt, &body)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	} else if err != nil {
		return nil, fmt.Errorf("find public twin: %w", err)
	}
	r.Body = twin.Body(body)
	return &r, nil
}
