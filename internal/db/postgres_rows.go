package db

import (
	"context"

	"github.com/jackc/pgx/v5"
)

// pgSession runs statements of a transaction that writes, with the context of
// the transaction: the caller's does not cut a statement short.
type pgSession struct {
	tx  pgx.Tx
	ctx context.Context //nolint:containedctx // see above
}

func (s pgSession) exec(_ context.Context, sql string, args []any) (int64, error) {
	if isControl(sql) {
		return 0, errControl
	}
	tag, err := s.tx.Exec(s.ctx, sql, args...)
	return tag.RowsAffected(), mapTx(s.ctx, err)
}

func (s pgSession) query(_ context.Context, sql string, args []any) (Rows, error) {
	if isControl(sql) {
		return nil, errControl
	}
	r, err := s.tx.Query(s.ctx, sql, args...)
	if err != nil {
		return nil, mapTx(s.ctx, err)
	}
	return &pgRows{ctx: s.ctx, Rows: r}, nil
}

// mapTx maps an error inside a transaction. Its context ends only when the
// server does not answer.
func mapTx(ctx context.Context, err error) error {
	if err != nil && ctx.Err() != nil {
		return unavailable(err)
	}
	return mapPg(ctx, err)
}

// pgView runs statements of a view, which may be cancelled and cannot write.
type pgView struct {
	tx      pgx.Tx
	primary *DB // of the replica that is read; nil: it is the primary
}

func (v pgView) exec(context.Context, string, []any) (int64, error) { return 0, errReadOnly }

func (v pgView) query(ctx context.Context, sql string, args []any) (Rows, error) {
	return boundQuery(ctx, func(ctx context.Context) (pgx.Rows, error) { return v.tx.Query(ctx, sql, args...) })
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
