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

// RunTool runs one of PostgreSQL's programs on the store at dsn, if that is given. The
// password goes through the environment, because arguments are visible to every user of
// the machine.
func RunTool(ctx context.Context, name, dsn string, args ...string) error {
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
