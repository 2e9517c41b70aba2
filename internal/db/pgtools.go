package db

import (
	"context"
	"errors"
	"fmt"
	"os"
)

// pgDump writes a dump in PostgreSQL's own compressed format.
func pgDump(ctx context.Context, dsn, file string) error {
	return RunTool(ctx, "pg_dump", dsn, "--format=custom", "--no-owner", "--no-privileges", "--file="+file)
}

// pgList reads the list of contents of a dump.
func pgList(ctx context.Context, file string) error {
	return RunTool(ctx, "pg_restore", "", "--list", "--file="+os.DevNull, file)
}

// restorePostgres fills an empty database, all or nothing.
func restorePostgres(ctx context.Context, cfg Config, file string) error {
	d, err := Open(ctx, cfg)
	if err != nil {
		return err
	}
	full, err := texts(ctx, d, `SELECT c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
		WHERE c.relkind IN ('r', 'p') AND n.nspname = current_schema() ORDER BY 1 LIMIT 1`)
	if err := errors.Join(err, d.Close()); err != nil {
		return err
	}
	if len(full) > 0 {
		return fmt.Errorf("the database already has tables (%s): restore into a new one", full[0])
	}
	return RunTool(ctx, "pg_restore", cfg.URL, "--single-transaction", "--exit-on-error", "--no-owner", "--no-privileges", file)
}
