package db

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"
)

// Restore replaces the store that cfg names by a verified backup. No server may
// use it. On SQLite the previous store is kept, and its path is returned;
// PostgreSQL must be an empty database. A newer schema is refused; Migrate
// updates an older one.
func Restore(ctx context.Context, cfg Config, file string) (aside string, err error) {
	b, err := VerifyFile(ctx, file)
	if err != nil {
		return "", fmt.Errorf("restore: %w", err)
	}
	switch {
	case cfg.Path != "" && b.Dialect == SQLite:
		aside, err = restoreLite(cfg.Path, file, b.SHA256)
	case cfg.URL != "" && b.Dialect == Postgres:
		err = restorePostgres(ctx, cfg, file)
	default:
		err = fmt.Errorf("%s is a backup of %s and fits no other store", file, b.Dialect)
	}
	if err != nil {
		return "", fmt.Errorf("restore: %w", err)
	}
	return aside, nil
}

func restoreLite(path, file, sum string) (string, error) {
	lock, err := Lock(filepath.Dir(path))
	if err != nil {
		return "", err
	}
	defer lock.Unlock()
	part := path + ".restore.part"
	if err := copyFile(file, part); err != nil {
		return "", err
	}
	if got, _, err := sumFile(part); err != nil || got != sum {
		os.Remove(part)
		return "", errors.Join(err, errors.New("the copy differs from the backup"))
	}
	aside, err := setAside(path)
	if err != nil {
		os.Remove(part)
		return "", err
	}
	return aside, publish(part, path)
}

// setAside gives the old store a second name. The following rename then
// replaces it in one step: there is always a store. A log left by a crash is
// merged first, because SQLite would replay it into the new file; the log of a
// damaged store, which cannot be merged, is moved with it.
func setAside(path string) (string, error) {
	if _, err := os.Stat(path); os.IsNotExist(err) {
		return "", errors.Join(dropIfThere(path+"-wal"), dropIfThere(path+"-shm"))
	} else if err != nil {
		return "", err
	}
	mergeErr := mergeLog(path)
	aside := path + ".old-" + time.Now().UTC().Format("20060102T150405.000Z")
	if err := os.Link(path, aside); err != nil {
		if err := copyFile(path, aside); err != nil { // no hard links here
			return "", err
		}
	}
	for _, ext := range []string{"-wal", "-shm"} {
		if _, err := os.Stat(path + ext); err != nil {
			continue
		}
		if mergeErr == nil && ext == "-wal" && fileSize(path+ext) > 0 {
			return "", errors.New("another process still uses the store")
		}
		if err := os.Rename(path+ext, aside+ext); err != nil {
			return "", err
		}
	}
	return aside, syncFolder(filepath.Dir(path))
}

func mergeLog(path string) error {
	c, err := openLiteConn(path, busyPragma(time.Second))
	if err != nil {
		return err
	}
	return errors.Join(c.run("PRAGMA wal_checkpoint(TRUNCATE)"), c.close())
}

func dropIfThere(path string) error {
	if err := os.Remove(path); err != nil && !os.IsNotExist(err) {
		return err
	}
	return nil
}

func copyFile(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	if err == nil {
		err = out.Sync()
	}
	return errors.Join(err, out.Close())
}
