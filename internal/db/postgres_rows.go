package db

import (
	"context"

	"github.com/jackc/pgx/v5"
)

// pgSession runs statements of a transaction that writes.
type pgSession struct{ tx pgx.Tx }

func (s pgSession) exec(ctx context.Context, sql string, args []any) (int64, error) {
	tag, err := s.tx.Exec(context.WithoutCancel(ctx), sql, args...)
	return tag.RowsAffected(), mapTx(err)
}

func (s pgSession) query(ctx context.Context, sql string, args []any) (Rows, error) {
	free := context.WithoutCancel(ctx)
	r, err := s.tx.Query(free, sql, args...)
	if err != nil {
		return nil, mapTx(err)
	}
	return &pgRows{ctx: free, Rows: r}, nil
}

// mapTx maps an error inside a transaction, where no context can end.
func mapTx(err error) error { return mapPg(context.Background(), err) }

// pgView runs statements of a view, which may be cancelled and cannot write.
type pgView struct{ tx pgx.Tx }

func (v pgView) exec(context.Context, string, []any) (int64, error) { return 0, errReadOnly }

func (v pgView) query(ctx context.Context, sql string, args []any) (Rows, error) {
	r, err := v.tx.Query(ctx, sql, args...)
	if err != nil {
		return nil, mapPg(ctx, err)
	}
	return &pgRows{ctx: ctx, Rows: r}, nil
}

// pgRows is pgx.Rows with our Close and our errors.
type pgRows struct {
	ctx context.Context //nolint:containedctx // tells why rows ended early
	pgx.Rows
}

func (r *pgRows) Close() error {
	r.Rows.Close()
	return r.Err()
}

func (r *pgRows) Err() error { return mapPg(r.ctx, r.Rows.Err()) }
