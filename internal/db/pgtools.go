package db

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// pgDump writes a dump in PostgreSQL's own compressed format.
func pgDump(ctx context.Context, dsn, file string) error {
	return pgTool(ctx, "pg_dump", dsn, "--format=custom", "--no-owner", "--no-privileges", "--file="+file)
}

// pgList reads the list of contents of a dump.
func pgList(ctx context.Context, file string) error {
	return pgTool(ctx, "pg_restore", "", "--list", "--file="+os.DevNull, file)
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
	return pgTool(ctx, "pg_restore", cfg.URL, "--single-transaction", "--exit-on-error", "--no-owner", "--no-privileges", file)
}

// pgTool runs one of PostgreSQL's programs. The password goes through the
// environment: arguments are visible to every user of the machine.
func pgTool(ctx context.Context, name, dsn string, args ...string) error {
	path, err := findTool(name)
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Env = os.Environ()
	if dsn != "" {
		clean, password, err := libpqURL(dsn)
		if err != nil {
			return err
		}
		cmd.Args = slices.Insert(cmd.Args, 1, "--dbname="+clean)
		if password != "" {
			cmd.Env = append(cmd.Env, "PGPASSWORD="+password)
		}
	}
	var errs bytes.Buffer
	cmd.Stderr = &errs
	if err := cmd.Run(); err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return fmt.Errorf("%s: %w: %s", name, err, strings.TrimSpace(errs.String()))
	}
	return nil
}

func findTool(name string) (string, error) {
	if p, err := exec.LookPath(name); err == nil {
		return p, nil
	}
	if found, err := filepath.Glob("/usr/lib/postgresql/*/bin/" + name); err == nil && len(found) > 0 {
		slices.Sort(found)
		return found[len(found)-1], nil
	}
	return "", fmt.Errorf("%s was not found: install PostgreSQL's client programs", name)
}

// libpqURL takes the password out of a URL, and the parameters only pgx knows.
func libpqURL(dsn string) (clean, password string, err error) {
	u, err := url.Parse(dsn)
	if err != nil || u.Scheme != "postgres" && u.Scheme != "postgresql" {
		return "", "", errors.New("the store must be given as postgres://…")
	}
	q := u.Query()
	password = q.Get("password")
	if p, ok := u.User.Password(); ok {
		password = p
	}
	if u.User != nil {
		u.User = url.User(u.User.Username())
	}
	libpq := []string{"host", "port", "user", "dbname", "sslmode", "sslrootcert", "sslcert", "sslkey", "sslsni", "passfile", "service", "options", "connect_timeout", "target_session_attrs", "channel_binding"}
	for name := range q {
		if !slices.Contains(libpq, name) {
			q.Del(name)
		}
	}
	u.RawQuery = q.Encode()
	return u.String(), password, nil
}
