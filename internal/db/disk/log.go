// Package disk has the disk keep what was written: a folder with its names, and
// a log that another program part writes to.
package disk

import (
	"fmt"
	"os"
	"path/filepath"
)

// Log is a file that somebody else writes and may replace by a new one. It
// belongs to one goroutine at a time.
type Log struct {
	Path string
	file *os.File // nil until it is needed
}

// Sync returns when everything written to the file by now is on disk.
func (l *Log) Sync() error {
	if err := l.open(); err != nil {
		return err
	}
	if err := syncData(l.file); err != nil {
		return fmt.Errorf("sync %s: %w", l.Path, err)
	}
	return nil
}

// open finds the file that has the name now.
func (l *Log) open() error {
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
	return SyncFolder(filepath.Dir(l.Path)) // its name must survive as well
}

// Close lets go of the file.
func (l *Log) Close() {
	if l.file != nil {
		_ = l.file.Close() // nothing was written through it
		l.file = nil
	}
}
