package bulk

import (
	"context"
	"encoding/hex"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/once"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// headResult is the number of the row that says what a batch was.
const headResult = -1

// findKept finds what an earlier request with the same Idempotency-Key has
// done. name is "" without a key.
func findKept(ctx context.Context, d *db.DB, now int64) (name string, kept map[int]string, err error) {
	key, ok := once.Digest(ctx)
	if !ok {
		return "", nil, nil
	}
	request := web.IdempotencyFrom(ctx).Hash
	name, hash := web.CallerFrom(ctx).Workspace+" "+hex.EncodeToString(key[:]), hex.EncodeToString(request[:])
	err = d.InTx(ctx, func(tx *db.Tx) error {
		if _, err := insertKept(ctx, tx, keptResult{Batch: name, N: headResult, At: now, Data: hash}); err != nil {
			return err
		}
		kept, err = listKept(ctx, tx, name)
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

// keep stores a result. If a concurrent copy of the request was first, the
// whole chunk is left to that one.
func keep(ctx context.Context, tx *db.Tx, r keptResult) error {
	mine, err := insertKept(ctx, tx, r)
	if err == nil && !mine {
		return fault.New(fault.Conflict, "IDEMPOTENCY_IN_PROGRESS", "A request with this Idempotency-Key is still being worked on.")
	}
	return err
}
