package db

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
)

// VerifyFile checks that this program can restore a backup: its checksum, the
// integrity of every page, foreign keys and schema version; for a PostgreSQL
// dump the checksum and the list of contents.
func VerifyFile(ctx context.Context, file string) (*Backup, error) {
	b, err := verifyFile(ctx, file)
	if err != nil {
		return nil, fmt.Errorf("verify %s: %w", file, err)
	}
	return b, nil
}

func verifyFile(ctx context.Context, file string) (*Backup, error) {
	fi, err := os.Stat(file)
	if err != nil {
		return nil, err
	}
	if !fi.Mode().IsRegular() {
		return nil, errors.New("it is not a file") // reading a pipe would wait for ever
	}
	sum, n, err := sumFile(file)
	if err != nil {
		return nil, err
	}
	want, err := readSum(file)
	if err != nil {
		return nil, err
	}
	if want != "" && want != sum {
		return nil, fmt.Errorf("checksum is %s, but the file beside it says %s", sum, want)
	}
	b := &Backup{File: file, Bytes: n, SHA256: sum, Schema: -1, At: fi.ModTime().UTC()}
	switch kind, err := fileKind(file); {
	case err != nil:
		return nil, err
	case kind == Postgres:
		b.Dialect = Postgres
		return b, pgList(ctx, file)
	}
	b.Dialect = SQLite
	return b, verifyLite(ctx, file, b)
}

// fileKind distinguishes backups by their first bytes.
func fileKind(file string) (Dialect, error) {
	f, err := os.Open(file)
	if err != nil {
		return "", err
	}
	defer f.Close()
	head := make([]byte, 16)
	if _, err := io.ReadFull(f, head); err != nil {
		return "", errors.New("it is too short to be a backup")
	}
	switch {
	case bytes.Equal(head, []byte("SQLite format 3\x00")):
		return SQLite, nil
	case bytes.HasPrefix(head, []byte("PGDMP")):
		return Postgres, nil
	}
	return "", errors.New("it is neither a SQLite file nor a PostgreSQL dump")
}

func verifyLite(ctx context.Context, file string, b *Backup) error {
	c, err := openLiteFile(file, "mode=ro&immutable=1")
	if err != nil {
		return err
	}
	defer c.close()
	if err := checkPages(ctx, c); err != nil {
		return err
	}
	bad, err := brokenKeys(ctx, c)
	if err != nil {
		return err
	}
	if len(bad) > 0 {
		return fmt.Errorf("foreign keys are broken: %v", bad)
	}
	if b.Pages, err = pragmaInt(ctx, c, `SELECT page_count FROM pragma_page_count`); err != nil {
		return err
	}
	have, err := readApplied(c.query(ctx, selectMigrations, nil))
	if err != nil {
		return fmt.Errorf("read schema version: %w", err)
	}
	all, err := loadMigrations(embedded(), SQLite)
	if err != nil {
		return err
	}
	s, err := compareSchema(all, have)
	b.Schema = s.Version
	var newer *NewerError
	if errors.As(err, &newer) {
		return err
	}
	return nil // other differences are for Migrate to judge
}

// checkPages runs SQLite's integrity check, which may take minutes.
func checkPages(ctx context.Context, c *liteConn) error {
	rows, err := c.rows(ctx, `SELECT integrity_check FROM pragma_integrity_check LIMIT 10`, nil)
	if err != nil {
		return cancelled(ctx, err)
	}
	defer rows.Close()
	var bad []string
	for rows.Next() {
		var line string
		if err := rows.Scan(&line); err != nil {
			return err
		}
		if line != "ok" {
			bad = append(bad, line)
		}
	}
	if err := rows.Err(); err != nil {
		return cancelled(ctx, err)
	}
	if len(bad) > 0 {
		return fmt.Errorf("integrity check: %v", bad)
	}
	return nil
}

func pragmaInt(ctx context.Context, c *liteConn, sql string) (int64, error) {
	var n int64
	rows, err := c.query(ctx, sql, nil)
	err = oneRow{rows: rows, err: err}.Scan(&n)
	return n, err
}
