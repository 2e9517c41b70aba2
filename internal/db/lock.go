package db

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// lockName is the file a server holds while it uses a data folder.
const lockName = "hearth.lock"

// ErrLocked means that another server uses the data folder.
var ErrLocked = errors.New("another server uses this folder")

// FolderLock is a data folder locked by this process. The system releases it
// when the process ends, however it ends.
type FolderLock struct{ f *os.File }

// Lock locks the data folder for a server, so that two never share one. It does
// not wait: ErrLocked means that the folder is taken. Commands that run beside
// a server do not need it.
func Lock(dir string) (*FolderLock, error) {
	path := filepath.Join(dir, lockName)
	f, err := lockFile(path)
	if errors.Is(err, ErrLocked) {
		return nil, fmt.Errorf("lock %s: %w%s", dir, ErrLocked, holder(path))
	} else if err != nil {
		return nil, fmt.Errorf("lock %s: %w", dir, err)
	}
	// Who holds it, for the message above; the lock does not depend on it.
	if err := f.Truncate(0); err == nil {
		fmt.Fprintln(f, os.Getpid())
	}
	return &FolderLock{f: f}, nil
}

// Unlock releases the folder. The file stays: removing it would let two
// processes lock two different files of one name.
func (l *FolderLock) Unlock() error { return l.f.Close() }

func holder(path string) string {
	text, err := os.ReadFile(path)
	if pid := strings.TrimSpace(string(text)); err == nil && pid != "" {
		return " (process " + pid + ")"
	}
	return ""
}
