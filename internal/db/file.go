package db

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// vacuumInto writes a consistent copy of the store: complete under its name,
// or not there.
func vacuumInto(c *liteConn, dest string) error {
	tmp, err := partFor(dest)
	if err != nil {
		return err
	}
	if err := c.run("VACUUM INTO " + quote(tmp)); err != nil {
		os.Remove(tmp)
		return err
	}
	return publish(tmp, dest)
}

// partFor makes an empty private file next to dest, with a unique name, because
// another process may be doing the same. It removes old leftovers of killed
// processes.
func partFor(dest string) (string, error) {
	if old, err := filepath.Glob(globEscape(dest) + ".*.part"); err == nil {
		for _, name := range old {
			if fi, err := os.Stat(name); err == nil && time.Since(fi.ModTime()) > 24*time.Hour {
				os.Remove(name)
			}
		}
	}
	f, err := os.CreateTemp(filepath.Dir(dest), filepath.Base(dest)+".*.part")
	if err != nil {
		return "", err
	}
	return f.Name(), f.Close()
}

// createPrivate makes an empty file only its owner can read, unless there is
// one. SQLite gives its logs the same rights.
func createPrivate(path string) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	return f.Close()
}

// publish syncs a finished file and gives it its name, durably.
func publish(tmp, dest string) error {
	if err := syncFile(tmp); err != nil {
		return err
	}
	if err := os.Rename(tmp, dest); err != nil {
		return err
	}
	return syncFolder(filepath.Dir(dest))
}

func syncFile(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := f.Sync(); err != nil {
		return fmt.Errorf("sync %s: %w", path, err)
	}
	return f.Close()
}

// globEscape makes a path literal inside a glob pattern.
func globEscape(path string) string {
	return strings.NewReplacer(`*`, `[*]`, `?`, `[?]`, `[`, `[[]`).Replace(path)
}

// byAge sorts files, oldest first.
func byAge(paths []string) {
	age := func(p string) int64 {
		if fi, err := os.Stat(p); err == nil {
			return fi.ModTime().UnixNano()
		}
		return 0
	}
	slices.SortFunc(paths, func(a, b string) int {
		return cmp.Or(cmp.Compare(age(a), age(b)), cmp.Compare(a, b))
	})
}
