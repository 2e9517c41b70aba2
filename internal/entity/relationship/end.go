package relationship

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"

	"github.com/hearth-dmrv/hearth/internal/db"
)

// End is a twin at one end of a relationship, without its body.
type End struct {
	NID             int64
	DID             string
	Class           string
	DomainType      string
	Protocol        string
	ProtocolVersion string
	Project         string
	Status          string
	Crowded         bool // a further relationship would not change its record
	Shared          bool // Lock takes a shared lock: it must not change, and is not changed
}

const (
	selectEnd = `SELECT nid, did, class, domain_type, protocol, protocol_version, project, status, crowded
		FROM entities WHERE did = $1 AND ws = $2`
	selectEndByNID = `SELECT nid, did, class, domain_type, protocol, protocol_version, project, status, crowded
		FROM entities WHERE nid = $1 AND ws = $2`
)

// FindEnd reads a twin of a workspace; nil when it is not held there.
func FindEnd(ctx context.Context, q db.Querier, ws, id string) (*End, error) {
	return scanEnd(q.QueryRow(ctx, selectEnd, id, ws))
}

// Held reports whether a workspace has a twin of this DID.
func Held(ctx context.Context, q db.Querier, ws, id string) (bool, error) {
	e, err := FindEnd(ctx, q, ws, id)
	return e != nil, err
}

// EndByNID is FindEnd by the number of the twin.
func EndByNID(ctx context.Context, q db.Querier, ws string, nid int64) (*End, error) {
	return scanEnd(q.QueryRow(ctx, selectEndByNID, nid, ws))
}

func scanEnd(row db.Row) (*End, error) {
	var e End
	var crowded int64
	err := row.Scan(&e.NID, &e.DID, &e.Class, &e.DomainType, &e.Protocol, &e.ProtocolVersion, &e.Project, &e.Status, &crowded)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	} else if err != nil {
		return nil, fmt.Errorf("find end of relationship: %w", err)
	}
	e.Crowded = crowded != 0
	return &e, nil
}

// A crowded end does not change, so transactions that add to it need not wait
// for each other, only for one that removes. On SQLite there is one writer.
const (
	lockEndPostgres  = `SELECT crowded, status FROM entities WHERE nid = $1 FOR UPDATE`
	shareEndPostgres = `SELECT crowded, status FROM entities WHERE nid = $1 FOR SHARE`
)

// Lock keeps others from changing twins on PostgreSQL until tx ends, in the
// order of their numbers. It shares the lock of ends marked as crowded or shared
// with others who mark them so. It updates the ends with changes made meanwhile.
func Lock(ctx context.Context, tx *db.Tx, ends ...*End) error {
	slices.SortFunc(ends, func(a, b *End) int {
		if a.NID == b.NID && a.Shared != b.Shared && b.Shared { // a lock that is shared first could not be had alone
			return -1
		}
		return cmp.Compare(a.NID, b.NID)
	})
	for _, e := range ends {
		shared := e.Crowded || e.Shared
		err := e.lock(ctx, tx, shared)
		if err == nil && shared && !e.Shared && !e.Crowded { // another transaction has removed relationships
			err = e.lock(ctx, tx, false)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (e *End) lock(ctx context.Context, tx *db.Tx, share bool) error {
	var row db.Row
	if share {
		row = tx.QueryRow(ctx, shareEndPostgres, e.NID)
	} else {
		row = tx.QueryRow(ctx, lockEndPostgres, e.NID)
	}
	var crowded int64
	if err := row.Scan(&crowded, &e.Status); err != nil {
		return fmt.Errorf("lock entity: %w", err)
	}
	e.Crowded = crowded != 0
	return nil
}
