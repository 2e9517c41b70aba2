package db

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/jackc/pgx/v5"
)

// partsPromise is the constraint of a table of which a promise is being checked. One whose
// server died is taken away with the next try.
const partsPromise = "parts_promise"

// promise adds a constraint that all rows of a table are from before a moment, which
// takes long and blocks nobody, and runs fn, in which the constraint must be removed.
// If that fails it is removed too, because it would refuse later rows.
func (p Parts) promise(ctx context.Context, c *pgx.Conn, table string, cut int64, fn func(pgx.Tx) error) error {
	end := `ALTER TABLE ` + table + ` DROP CONSTRAINT IF EXISTS parts_promise`
	err := patiently(ctx, c, p.run(ctx, end+`; ALTER TABLE `+table+` ADD CONSTRAINT parts_promise CHECK ({by} < %d) NOT VALID`, cut))
	if err == nil {
		err = patiently(ctx, c, p.run(ctx, `ALTER TABLE `+table+` VALIDATE CONSTRAINT parts_promise`))
	}
	if err == nil {
		err = swap(ctx, c, fn)
	}
	if err != nil {
		ctx := context.WithoutCancel(ctx)
		return errors.Join(err, patiently(ctx, c, p.run(ctx, end)))
	}
	return nil
}

// run gives the function that runs statements which are separated by semicolons.
func (p Parts) run(ctx context.Context, sql string, numbers ...any) func(pgx.Tx) error {
	return func(tx pgx.Tx) error { return several(ctx, tx, p.fill(sql, numbers...)) }
}

// turn makes the table the first part of a new one: the tables change places in a moment.
func (p Parts) turn(ctx context.Context, c *pgx.Conn) error {
	cut := p.value(p.soonest())
	key, err := p.key(ctx, c)
	if err != nil {
		return err
	}
	before, after, err := p.indexes(ctx, c)
	if err != nil {
		return err
	}
	if p.Sequence != "" {
		after += `ALTER SEQUENCE ` + pgx.Identifier{p.Sequence}.Sanitize() + ` OWNED BY {t}.{by};`
	}
	err = p.promise(ctx, c, "{t}", cut, p.run(ctx, `ALTER TABLE {t} RENAME TO {past};`+key+before+`
			CREATE TABLE {t} (LIKE {past} INCLUDING DEFAULTS, PRIMARY KEY ({key})) PARTITION BY RANGE ({by});`+after+`
			ALTER TABLE {t} ATTACH PARTITION {past} FOR VALUES FROM (MINVALUE) TO (%[1]d);
			ALTER TABLE {past} DROP CONSTRAINT parts_promise;
			CREATE TABLE {rest} PARTITION OF {t} FOR VALUES FROM (%[1]d) TO (MAXVALUE)`, cut))
	if err == nil {
		p.DB.cfg.Log.Info("table in parts", "store", p.Table)
	}
	return err
}

// key gives what makes the primary key of the table that of its first part.
func (p Parts) key(ctx context.Context, c *pgx.Conn) (string, error) {
	var now string
	if err := c.QueryRow(ctx, keyIs, p.Table).Scan(&now); err != nil {
		return "", fmt.Errorf("look at the primary key: %w", err)
	}
	if now == p.Key {
		return `ALTER TABLE {past} RENAME CONSTRAINT {pkey} TO {pastkey};`, nil
	}
	var built bool
	name := p.Table + "_past_pkey"
	if err := c.QueryRow(ctx, indexIs, name, name).Scan(new(*bool), &built); err != nil {
		return "", fmt.Errorf("look at index %s: %w", name, err)
	}
	if !built {
		if err := p.build(ctx, c, "UNIQUE", name, "({key})"); err != nil {
			return "", err
		}
	}
	return `ALTER TABLE {past} DROP CONSTRAINT {pkey}, ADD CONSTRAINT {pastkey} PRIMARY KEY USING INDEX {pastkey};`, nil
}

// build builds an index of the table without blocking others, and replaces a half-built
// one left by a killed process.
func (p Parts) build(ctx context.Context, c *pgx.Conn, unique, name, on string) error {
	quoted := pgx.Identifier{name}.Sanitize()
	for _, sql := range []string{
		"SET lock_timeout = 0", // nobody waits behind it
		"DROP INDEX CONCURRENTLY IF EXISTS " + quoted,
		"CREATE " + unique + " INDEX CONCURRENTLY " + quoted + " ON " + p.fill("{t} "+on),
		"SET lock_timeout = '" + partsWait + "'",
	} {
		if _, err := c.Exec(ctx, sql); err != nil {
			return fmt.Errorf("build index %s: %w", name, err)
		}
	}
	return nil
}

// indexes gives what takes the indexes out of the way of those of the new table, and what
// makes these. A table whose indexes are alike becomes a part without them being built.
func (p Parts) indexes(ctx context.Context, c *pgx.Conn) (before, after string, err error) {
	for _, name := range slices.Sorted(maps.Keys(p.Indexes)) {
		var unique, built bool
		past := name + "_past"
		if err := c.QueryRow(ctx, indexIs, name, past).Scan(&unique, &built); err != nil {
			return "", "", fmt.Errorf("look at index %s: %w", name, err)
		}
		old, aside := pgx.Identifier{name}.Sanitize(), pgx.Identifier{past}.Sanitize()
		after += "CREATE INDEX " + old + " ON {t} " + p.Indexes[name] + ";"
		if !unique {
			before += "ALTER INDEX " + old + " RENAME TO " + aside + ";"
			continue
		}
		before += "DROP INDEX " + old + ";"
		if !built {
			if err := p.build(ctx, c, "", past, p.Indexes[name]); err != nil {
				return "", "", err
			}
		}
	}
	return before, after, nil
}
