package once

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/hearth-dmrv/hearth/internal/db"
)

// find returns the hash of the request a key was used for and its answer,
// both nil when the key is not known.
func find(ctx context.Context, q db.Querier, n name) (request, sealed []byte, err error) {
	err = q.QueryRow(ctx, `SELECT request_hash, answer FROM idem WHERE ws = $1 AND key_hash = $2`, n.ws, n.key[:]).
		Scan(&request, &sealed)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil, nil
	} else if err != nil {
		return nil, nil, fmt.Errorf("find idempotency key: %w", err)
	}
	return request, sealed, nil
}

// insert returns false when the key is already there. sealed is nil when the
// answer is not known yet.
func insert(ctx context.Context, tx *db.Tx, n name, at int64, sealed []byte) (bool, error) {
	rows, err := tx.Exec(ctx,
		`INSERT INTO idem(ws, key_hash, request_hash, at, answer) VALUES ($1, $2, $3, $4, $5) ON CONFLICT DO NOTHING`,
		n.ws, n.key[:], n.request[:], at, sealed)
	return rows > 0, db.Wrap("insert idempotency key", err)
}

func update(ctx context.Context, tx *db.Tx, n name, sealed []byte) error {
	err := tx.Send(ctx, `UPDATE idem SET answer = $3 WHERE ws = $1 AND key_hash = $2`, n.ws, n.key[:], sealed)
	return db.Wrap("store answer", err)
}

func remove(ctx context.Context, q db.Querier, before int64, limit int) (int, error) {
	n, err := q.Exec(ctx, `DELETE FROM idem WHERE at < $1 AND (ws, key_hash) IN
		(SELECT ws, key_hash FROM idem WHERE at < $1 ORDER BY at LIMIT $2)`, before, limit)
	return int(n), db.Wrap("expire idempotency keys", err)
}

// blank replaces a forgotten answer. It opens to nothing.
const blank = "\x00"

const nextKeys = `SELECT key_hash, request_hash, answer FROM idem WHERE ws = $1 AND key_hash > $2 AND answer IS NOT NULL ORDER BY key_hash LIMIT $3`

// stored is an answer with its name.
type stored struct {
	name   name
	sealed []byte
}

// nextAnswers lists at most limit answers of a workspace after a key.
func nextAnswers(ctx context.Context, q db.Querier, ws string, after []byte, limit int) ([]stored, error) {
	rows, err := q.Query(ctx, nextKeys, ws, after, limit)
	return db.Collect(rows, err, "list answers", func(k *stored, row db.Row) error {
		var key, request []byte
		err := row.Scan(&key, &request, &k.sealed)
		k.name.ws = ws
		copy(k.name.key[:], key)
		copy(k.name.request[:], request)
		return err
	})
}
