package db

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// Compact returns the disk space of deleted rows in the file of an SQLite store, which
// otherwise is only reused by new rows: the file never shrinks. It writes a new copy of
// the store next to the old one, checks it and replaces the old one in one step, so a
// crash leaves one or the other. No server may use the store. PostgreSQL does this
// automatically. It returns the bytes of the file before and after.
func Compact(ctx context.Context, cfg Config) (before, after int64, err error) {
	if cfg.Path == "" {
		return 0, 0, errors.New("compact: only the embedded store is a file; PostgreSQL gives space back by VACUUM FULL or pg_repack")
	}
	lock, err := Lock(filepath.Dir(cfg.Path))
	if err != nil {
		return 0, 0, err
	}
	defer lock.Unlock()
	before = fileSize(cfg.Path)
	if err := compact(ctx, cfg.Path); err != nil {
		return 0, 0, fmt.Errorf("compact: %w", err)
	}
	return before, fileSize(cfg.Path), nil
}

func compact(ctx context.Context, path string) error {
	if err := mergeLog(path); err != nil {
		return err
	}
	if fileSize(path+"-wal") > 0 { // it would be played into the new file
		return errors.New("another process still uses the store")
	}
	part, err := partFor(path)
	if err != nil {
		return err
	}
	if err := writeAnew(ctx, path, part); err != nil {
		os.Remove(part)
		return err
	}
	for _, ext := range []string{"-wal", "-shm"} {
		if err := dropIfThere(path + ext); err != nil {
			os.Remove(part)
			return err
		}
	}
	return publish(part, path)
}

// writeAnew writes a store without its free pages and looks whether it is whole.
func writeAnew(ctx context.Context, path, part string) error {
	c, err := openLiteConn(path)
	if err != nil {
		return err
	}
	if err := errors.Join(c.runUntil(ctx, "VACUUM INTO "+quote(part)), c.close()); err != nil {
		return err
	}
	_, err = VerifyFile(ctx, part)
	return err
}

// freeBytes is what deleted rows leave in the file.
func freeBytes(ctx context.Context, c *liteConn) (n int64, err error) {
	err = firstRow(ctx, c, `SELECT freelist_count * page_size FROM pragma_freelist_count, pragma_page_size`, nil, &n)
	return n, err
}
