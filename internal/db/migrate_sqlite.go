package db

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// keepCopies is how many copies from before migrations are kept.
const keepCopies = 3

// migrate uses its own connection, because a migration may take longer than the
// writer allows. Foreign keys are off, as SQLite requires when tables are
// rebuilt, and checked before each commit.
func (l *lite) migrate(ctx context.Context, all []migration) error {
	c, err := openLiteConn(l.cfg.Path, busyPragma(l.cfg.Busy), "journal_mode=WAL", "synchronous="+l.durability(), "foreign_keys=OFF", secureDelete)
	if err != nil {
		return err
	}
	defer c.close()
	if err := c.run(createMigrations); err != nil {
		return err
	}
	have, err := readApplied(c.query(ctx, selectMigrations, nil))
	if err != nil {
		return err
	}
	planned, err := pending(all, have)
	if err != nil || len(planned) == 0 {
		return err
	}
	todo := planned
	if len(have) > 0 {
		if err := copyBefore(c, l.cfg.Path, todo[0].version); err != nil {
			return fmt.Errorf("copy before migration: %w", err)
		}
	}
	if len(have) == 0 {
		if todo, err = l.found(ctx, c, all); err != nil {
			return err
		}
	}
	for _, m := range todo {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := l.apply(ctx, c, m.sql, m); err != nil {
			return fmt.Errorf("%s: %w", m, err)
		}
	}
	tellMigrated(l.cfg.Log, planned)
	return nil
}

// newStore is the file with the result of all migrations. Its first line has
// their sum.
const newStore = "sqlite.sql"

// found makes the tables of a new store at once and returns the migrations that
// are still to do: none, or all when the file of new stores is of others. One by
// one they take ten times as long, since SQLite reads the whole schema again
// after each column that is added.
func (l *lite) found(ctx context.Context, c *liteConn, all []migration) ([]migration, error) {
	// A new store has nothing to lose: forty syncs fewer at the first start.
	// What is cut off begins again, and the first write of anybody syncs all.
	if err := c.run("PRAGMA synchronous=NORMAL"); err != nil {
		return nil, err
	}
	text, err := fs.ReadFile(l.cfg.Migrations, newStore)
	first, script, _ := strings.Cut(string(text), "\n")
	if err != nil || !strings.Contains(first, sumOf(all)) {
		return all, nil
	}
	if err := l.apply(ctx, c, script, all...); err != nil {
		return nil, fmt.Errorf("%s: %w", newStore, err)
	}
	have, err := readApplied(c.query(ctx, selectMigrations, nil))
	if err != nil {
		return nil, err
	}
	return pending(all, have)
}

// apply runs a script that does what the migrations do, unless another process was
// faster with one of them.
func (l *lite) apply(ctx context.Context, c *liteConn, script string, does ...migration) (err error) {
	if err := c.run("BEGIN IMMEDIATE"); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, c.run("ROLLBACK"))
		}
	}()
	have, err := readApplied(c.query(ctx, selectMigrations, nil))
	if err != nil {
		return err
	}
	if slices.ContainsFunc(have, func(a applied) bool {
		return slices.ContainsFunc(does, func(m migration) bool { return m.version == a.version })
	}) {
		return c.run("ROLLBACK")
	}
	if err := c.run(script); err != nil {
		return err
	}
	if bad, err := brokenKeys(ctx, c); err != nil {
		return err
	} else if len(bad) > 0 {
		return fmt.Errorf("it breaks foreign keys: %v", bad)
	}
	for _, m := range does {
		if _, err := c.exec(ctx, insertMigration, []any{m.version, m.name, m.checksum, time.Now().UnixMilli()}); err != nil {
			return err
		}
	}
	if err := c.run("COMMIT"); err != nil {
		return err
	}
	for _, m := range does {
		l.cfg.Log.Debug("migration applied", "migration", m.String())
	}
	return nil
}

// brokenKeys lists up to ten tables and rows that break a foreign key.
func brokenKeys(ctx context.Context, c *liteConn) ([]string, error) {
	rows, err := c.query(ctx, `SELECT "table", rowid, parent FROM pragma_foreign_key_check LIMIT 10`, nil)
	return Collect(rows, err, "check foreign keys", func(broken *string, r Row) error {
		var table, parent string
		var row *int64
		if err := r.Scan(&table, &row, &parent); err != nil {
			return err
		}
		id := "?"
		if row != nil {
			id = fmt.Sprint(*row)
		}
		*broken = fmt.Sprintf("%s row %s refers to a missing row of %s", table, id, parent)
		return nil
	})
}

// copyBefore keeps the store as it was: hearth.db.before-0005.
func copyBefore(c *liteConn, file string, version int) error {
	dest := fmt.Sprintf("%s.before-%04d", file, version)
	if err := vacuumInto(c, dest); err != nil {
		return err
	}
	old, err := filepath.Glob(globEscape(file) + ".before-[0-9][0-9][0-9][0-9]")
	if err != nil {
		return err
	}
	byAge(old)
	for len(old) > keepCopies {
		if err := os.Remove(old[0]); err != nil {
			return err
		}
		old = old[1:]
	}
	return nil
}
