package batch

import (
	"context"
	"errors"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/entity"
)

// AllOf stores new twins some at a time; nil when not all steps make one. A
// twin that was none when its row was prepared and is one now, by an earlier
// row or by somebody else, has the name of the row: then all run one by one.
func AllOf(ents *entity.Service, steps []Step, made []*entity.Prepared) func(context.Context, *db.Tx, []int) ([]Outcome, error) {
	for i, p := range made {
		if p == nil && steps[i].Done == nil {
			return nil
		}
	}
	return func(ctx context.Context, tx *db.Tx, steps []int) ([]Outcome, error) {
		list := make([]*entity.Prepared, len(steps))
		for i, n := range steps {
			list[i] = made[n]
		}
		return StoreAll(ctx, tx, ents, list)
	}
}

// StoreAll stores new twins. The error is chunk.ErrSome or a fault when some
// are refused.
func StoreAll(ctx context.Context, tx *db.Tx, ents *entity.Service, list []*entity.Prepared) ([]Outcome, error) {
	rows, err := ents.StoreAllTx(ctx, tx, list)
	if errors.Is(err, entity.ErrTaken) {
		return nil, ErrSome
	} else if err != nil {
		return nil, err
	}
	out := make([]Outcome, len(rows))
	for i, r := range rows {
		out[i] = Outcome{DID: r.DID, Revision: r.Revision, Action: Created, Bytes: len(r.Body), Body: r.Body}
	}
	return out, nil
}
