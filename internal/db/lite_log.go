package db

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync/atomic"
)

// syncedLog is a file that SQLite writes and may replace by a new one. It
// belongs to one goroutine at a time.
type syncedLog struct {
	Path string
	file *os.File // nil until it is needed
	anew atomic.Bool
}

// Anew says that the file may be another one from now on. Anybody may call it.
func (l *syncedLog) Anew() { l.anew.Store(true) }

// Sync returns when everything written to the file by now is on disk.
func (l *syncedLog) Sync() error {
	if err := l.open(); err != nil {
		return err
	}
	if err := syncData(l.file); err != nil {
		return fmt.Errorf("sync %s: %w", l.Path, err)
	}
	return nil
}

// rewriteChunk is how much Rewrite holds in memory.
const rewriteChunk = 1 << 20

// Rewrite writes the bytes of the file once more, in place, and syncs it. After
// a failed sync the system may treat them as stored although they are not, and
// would not write them again on its own. Nobody else may write to the file
// meanwhile.
func (l *syncedLog) Rewrite() error {
	if err := l.open(); err != nil {
		return err
	}
	buf := make([]byte, rewriteChunk)
	for at := int64(0); ; {
		n, err := l.file.ReadAt(buf, at)
		if n > 0 {
			if _, err := l.file.WriteAt(buf[:n], at); err != nil {
				return err
			}
			at += int64(n)
		}
		if errors.Is(err, io.EOF) {
			return l.Sync()
		} else if err != nil {
			return err
		}
	}
}

// open finds the file that has the name now.
func (l *syncedLog) open() error {
	if !l.anew.Swap(false) && l.file != nil {
		return nil
	}
	now, err := os.Stat(l.Path)
	if err != nil {
		return err
	}
	if l.file != nil {
		if was, err := l.file.Stat(); err == nil && os.SameFile(was, now) {
			return nil
		}
		l.Close()
	}
	f, err := os.OpenFile(l.Path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	l.file = f
	return syncFolder(filepath.Dir(l.Path)) // its name must survive as well
}

// Close closes the file.
func (l *syncedLog) Close() {
	if l.file != nil {
		_ = l.file.Close() // nothing was written through it
		l.file = nil
	}
}
