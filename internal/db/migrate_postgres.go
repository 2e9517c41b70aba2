package db

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
)

// migrateLock makes instances that boot together migrate one after the other.
const migrateLock = 0x486561727468

// migrate holds an advisory lock while it works. Timeouts are off: a migration
// of a large table takes the time it takes.
func (e *pg) migrate(ctx context.Context, all []migration) error {
	c, err := e.pool.Acquire(ctx)
	if err != nil {
		return lostConn(ctx, err)
	}
	// The session has other settings and maybe a lock now: never reuse it.
	conn := c.Hijack()
	defer conn.Close(context.WithoutCancel(ctx))
	for _, sql := range []string{"SET statement_timeout = 0", "SET lock_timeout = 0", "SET idle_in_transaction_session_timeout = 0"} {
		if _, err := conn.Exec(ctx, sql); err != nil {
			return mapPg(ctx, err)
		}
	}
	if _, err := conn.Exec(ctx, `SELECT pg_advisory_lock($1)`, int64(migrateLock)); err != nil {
		return mapPg(ctx, err)
	}
	if _, err := conn.Exec(ctx, createMigrations); err != nil {
		return mapPg(ctx, err)
	}
	have, err := pgApplied(ctx, conn)
	if err != nil {
		return err
	}
	todo, err := pending(all, have)
	if err != nil {
		return err
	}
	for _, m := range todo {
		if err := e.apply(ctx, conn, m); err != nil {
			return fmt.Errorf("%s: %w", m, mapPg(ctx, err))
		}
	}
	tellMigrated(e.cfg.Log, todo)
	return nil
}

func pgApplied(ctx context.Context, q interface {
	Query(context.Context, string, ...any) (pgx.Rows, error)
},
) ([]applied, error) {
	r, err := q.Query(ctx, selectMigrations)
	if err != nil {
		return nil, mapPg(ctx, err)
	}
	return readApplied(&pgRows{ctx: ctx, Rows: r}, nil)
}

// apply runs one migration in a transaction, whose end is not cancelled.
func (e *pg) apply(ctx context.Context, conn *pgx.Conn, m migration) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	tx, err := conn.Begin(ctx)
	if err != nil {
		return err
	}
	defer tx.Rollback(context.WithoutCancel(ctx)) //nolint:errcheck // no-op after the commit
	// Advisory locks do nothing on some relatives of PostgreSQL: look again.
	have, err := pgApplied(ctx, tx)
	if err != nil {
		return err
	}
	if slices.ContainsFunc(have, func(a applied) bool { return a.version == m.version }) {
		return nil
	}
	if _, err := tx.Conn().PgConn().Exec(ctx, m.sql).ReadAll(); err != nil {
		return err
	}
	if _, err := tx.Exec(ctx, insertMigration, m.version, m.name, m.checksum, time.Now().UnixMilli()); err != nil {
		return err
	}
	if err := tx.Commit(context.WithoutCancel(ctx)); err != nil {
		return err
	}
	e.cfg.Log.Debug("migration applied", "migration", m.String())
	return nil
}
