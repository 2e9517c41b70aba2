// Package kept keeps what became of the operations of a batch that has an
// Idempotency-Key, each with what it stored: a request that is sent again does
// what the first one did not come to.
package kept

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// wrap says what we were doing.
func wrap(doing string, err error) error {
	if err != nil {
		return fmt.Errorf("%s: %w", doing, err)
	}
	return nil
}

const (
	insertResultText = `INSERT INTO batch_results(batch, n, at, data) VALUES ($1, $2, $3, $4) ON CONFLICT (batch, n) DO NOTHING`
	listResultsText  = `SELECT n, data FROM batch_results WHERE batch = $1 ORDER BY n`
	deleteResults    = `DELETE FROM batch_results WHERE (batch, n) IN (SELECT batch, n FROM batch_results WHERE at < $1 ORDER BY at LIMIT $2)`
)

// Result is what became of an operation of a batch.
type Result struct {
	Batch string
	N     int
	At    int64  // ms
	Data  string // JSON
}

// insert keeps the result of an operation; false when it has one.
func insert(ctx context.Context, tx *db.Tx, r Result) (bool, error) {
	count, err := tx.Exec(ctx, insertResultText, r.Batch, r.N, r.At, r.Data)
	return count > 0, wrap("insert result of batch", err)
}

// list reads all that is kept of a batch, by the number of the
// operation.
func list(ctx context.Context, q db.Querier, batch string) (map[int]string, error) {
	rows, err := q.Query(ctx, listResultsText, batch)
	if err != nil {
		return nil, wrap("list results of batch", err)
	}
	defer rows.Close()
	out := map[int]string{}
	for rows.Next() {
		var n int
		var data string
		if err := rows.Scan(&n, &data); err != nil {
			return nil, wrap("list results of batch", err)
		}
		out[n] = data
	}
	return out, wrap("list results of batch", rows.Err())
}

// headResult is the number of the row that says what a batch was.
const headResult = -1

// Find finds what an earlier request with the same Idempotency-Key has
// done. name is "" without a key.
func Find(ctx context.Context, d *db.DB, now int64) (name string, kept map[int]string, err error) {
	c, k := web.CallerFrom(ctx), web.IdempotencyFrom(ctx)
	if k.Key == "" || !c.Known() {
		return "", nil, nil
	}
	var msg []byte
	for _, part := range []string{c.Workspace, c.DID, c.Key, k.Key} {
		msg = binary.AppendUvarint(msg, uint64(len(part)))
		msg = append(msg, part...)
	}
	sum := sha256.Sum256(msg)
	name = hex.EncodeToString(sum[:])
	hash := hex.EncodeToString(k.Hash[:])
	err = d.InTx(ctx, func(tx *db.Tx) error {
		if _, err := insert(ctx, tx, Result{Batch: name, N: headResult, At: now, Data: hash}); err != nil {
			return err
		}
		kept, err = list(ctx, tx, name)
		return err
	})
	if err != nil {
		return "", nil, err
	}
	if kept[headResult] != hash {
		return "", nil, fault.New(fault.Unprocessable, "IDEMPOTENCY_KEY_REUSED", "This Idempotency-Key was used for another request.").
			With(fault.Field{Pointer: "header/Idempotency-Key", Code: "reused", Detail: "Use a new key for a new request."})
	}
	if len(kept) == 1 {
		return name, nil, nil
	}
	return name, kept, nil
}

// Keep keeps a result. Somebody else who sends the same request at this moment
// may have been first: then all of the chunk is left to them.
func Keep(ctx context.Context, tx *db.Tx, r Result) error {
	mine, err := insert(ctx, tx, r)
	if err == nil && !mine {
		return fault.New(fault.Conflict, "IDEMPOTENCY_IN_PROGRESS", "A request with this Idempotency-Key is still being worked on.")
	}
	return err
}

// Expire removes at most limit results from before a time, and tells how many.
func Expire(ctx context.Context, d *db.DB, before int64, limit int) (int, error) {
	n, err := d.Exec(ctx, deleteResults, before, limit)
	return int(n), wrap("expire results of batches", err)
}
