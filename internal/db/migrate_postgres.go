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

// pgxRow is a result of one row.
type pgxRow interface{ Scan(dest ...any) error }

// pgQuerier runs statements on a connection.
type pgQuerier struct{ *pgx.Conn }

// QueryRow runs a statement that returns one row.
func (q pgQuerier) QueryRow(ctx context.Context, sql string, args ...any) pgxRow {
	return q.Conn.QueryRow(ctx, sql, args...)
}

// alone runs f on a connection of its own, while no other instance migrates or
// joins. Timeouts are off: a migration of a large table takes the time it takes.
func (e *pg) alone(ctx context.Context, f func(pgQuerier) error) error {
	return e.session(ctx, "0", func(conn *pgx.Conn) error {
		if _, err := conn.Exec(ctx, `SELECT pg_advisory_lock($1)`, int64(migrateLock)); err != nil {
			return mapPg(ctx, err)
		}
		return f(pgQuerier{conn})
	})
}

// session runs f on a connection of its own, past a pooler, whose statements may take
// any time and wait for a lock as long as is said.
func (e *pg) session(ctx context.Context, wait string, f func(*pgx.Conn) error) error {
	conn, err := pgx.ConnectConfig(ctx, e.own.Copy())
	if err != nil {
		return mapPg(ctx, err)
	}
	defer conn.Close(context.WithoutCancel(ctx))
	for _, sql := range []string{"SET statement_timeout = 0", "SET lock_timeout = '" + wait + "'", "SET idle_in_transaction_session_timeout = 0"} {
		if _, err := conn.Exec(ctx, sql); err != nil {
			return mapPg(ctx, err)
		}
	}
	return f(conn)
}

func (e *pg) migrate(ctx context.Context, all []migration) error {
	return e.alone(ctx, func(q pgQuerier) error { return e.migrateAlone(ctx, q, all) })
}

func (e *pg) migrateAlone(ctx context.Context, q pgQuerier, all []migration) error {
	if _, err := q.Exec(ctx, createMigrations); err != nil {
		return mapPg(ctx, err)
	}
	have, err := pgApplied(ctx, q)
	if err != nil {
		return err
	}
	todo, err := pending(all, have)
	if err != nil {
		return err
	}
	var done []migration
	for _, m := range todo {
		if wait, err := e.holds(ctx, q, m); err != nil {
			return err
		} else if wait {
			continue // later ones do not need it
		}
		if err := e.apply(ctx, q.Conn, m); err != nil {
			return fmt.Errorf("%s: %w", m, mapPg(ctx, err))
		}
		done = append(done, m)
	}
	tellMigrated(e.cfg.Log, done)
	return nil
}

// holds reports whether instances with older programs hold up a contract.
func (e *pg) holds(ctx context.Context, q pgQuerier, m migration) (bool, error) {
	if !contracts(m.name) {
		return false, nil
	}
	rows, err := q.Query(ctx, instancesPostgres)
	if noTable(err) {
		return false, nil // a store of before there were rows
	} else if err != nil {
		return false, mapPg(ctx, err)
	}
	all, err := readInstances(&pgRows{ctx: ctx, Rows: rows}, nil)
	var older []string
	for _, i := range all {
		if i.Schema < m.version && i.Silent < goneAfter {
			older = append(older, i.Name+" "+i.Version)
		}
	}
	if len(older) > 0 {
		e.cfg.Log.Info("contract waits for older instances", "migration", m.String(), "instances", older)
	}
	return len(older) > 0, err
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
