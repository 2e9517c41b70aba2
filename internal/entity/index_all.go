package entity

import (
	"context"
	"fmt"
	"slices"

	"github.com/hearth-dmrv/hearth/internal/db"
)

// How many rows one statement stores. The rest are stored one by one.
const (
	manyProps = 20
	manyNames = 10
)

// On SQLite a statement of several rows that could fail keeps a journal of its
// own; one that ignores errors does not, and the row count shows whether there
// were any.
const (
	propRows = `INTO entity_props (pid, val, nid)
		VALUES ($1, $2, $3), ($4, $5, $6), ($7, $8, $9), ($10, $11, $12), ($13, $14, $15),
			($16, $17, $18), ($19, $20, $21), ($22, $23, $24), ($25, $26, $27), ($28, $29, $30),
			($31, $32, $33), ($34, $35, $36), ($37, $38, $39), ($40, $41, $42), ($43, $44, $45),
			($46, $47, $48), ($49, $50, $51), ($52, $53, $54), ($55, $56, $57), ($58, $59, $60)`
	insertProps20SQLite    = `INSERT OR IGNORE ` + propRows
	insertAllPropsPostgres = `INSERT INTO entity_props (pid, val, nid) SELECT p.* FROM unnest($1::bigint[], $2::text[], $3::bigint[]) AS p`

	nameRows = `INTO entity_externals (ws, value, scheme, nid)
		VALUES ($1, $2, $3, $4), ($1, $5, $6, $7), ($1, $8, $9, $10), ($1, $11, $12, $13), ($1, $14, $15, $16),
			($1, $17, $18, $19), ($1, $20, $21, $22), ($1, $23, $24, $25), ($1, $26, $27, $28), ($1, $29, $30, $31)`
	insertNames10       = `INSERT ` + nameRows + ` ON CONFLICT (ws, value, scheme) DO NOTHING`
	insertNames10SQLite = `INSERT OR IGNORE ` + nameRows
)

// propOf is an entry of a twin.
type propOf struct {
	prop
	NID int64
}

// addAllProps adds many new twins to the property index.
func addAllProps(ctx context.Context, tx *db.Tx, list []propOf) error {
	if tx.Dialect() == db.Postgres {
		return addPropsByColumns(ctx, tx, list)
	}
	for part := range slices.Chunk(list, manyProps) {
		if len(part) < manyProps {
			for _, p := range part {
				if err := addProps(ctx, tx, p.NID, []prop{p.prop}); err != nil {
					return err
				}
			}
			continue
		}
		args := make([]any, 0, 3*manyProps)
		for _, p := range part {
			args = append(args, p.PID, p.Val, p.NID)
		}
		if err := tx.Send(ctx, insertProps20SQLite, args...); err != nil {
			return fmt.Errorf("index properties: %w", err)
		}
	}
	return nil
}

func addPropsByColumns(ctx context.Context, tx *db.Tx, list []propOf) error {
	pids, vals, nids := make([]int64, len(list)), make([]string, len(list)), make([]int64, len(list))
	for i, p := range list {
		pids[i], vals[i], nids[i] = p.PID, p.Val, p.NID
	}
	return db.Wrap("index properties", tx.Send(ctx, insertAllPropsPostgres, pids, vals, nids))
}

// nameOf is a name of a twin.
type nameOf struct {
	ExternalID
	NID int64
}

// addAllNames stores the names of many twins of a workspace. It returns false,
// or a fault of addNames, when one of them is taken, and does not say which.
func addAllNames(ctx context.Context, tx *db.Tx, ws string, list []nameOf) (bool, error) {
	for part := range slices.Chunk(list, manyNames) {
		if len(part) < manyNames {
			for _, x := range part {
				if err := addNames(ctx, tx, ws, x.NID, []ExternalID{x.ExternalID}); err != nil {
					return false, err
				}
			}
			continue
		}
		args := append(make([]any, 0, 1+3*manyNames), ws)
		for _, x := range part {
			args = append(args, x.Value, x.Scheme, x.NID)
		}
		var n int64
		var err error
		if tx.Dialect() == db.SQLite {
			n, err = tx.Exec(ctx, insertNames10SQLite, args...)
		} else {
			n, err = tx.Exec(ctx, insertNames10, args...)
		}
		if err != nil || n < manyNames {
			return false, err
		}
	}
	return true, nil
}
