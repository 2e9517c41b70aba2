package auth

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync/atomic"
)

// stamp is a file whose size counts the changes of keys. Every process on a
// data folder checks it before it trusts its cache: a check costs less than a
// microsecond, and needs no messages between processes.
type stamp struct {
	path string // "" when there is none
	seen atomic.Int64
	// file is the one at path, kept open where that makes a look cheaper. It
	// is never closed, only let go: others may be looking at it.
	file atomic.Pointer[os.File]
}

// check calls changed when the file is not as it was last time.
func (s *stamp) check(changed func()) {
	if s.path == "" {
		return
	}
	size := s.size()
	if size >= 0 && size == s.seen.Load() {
		return
	}
	changed() // first, so that nobody sees the new size and the old cache
	s.seen.Store(size)
}

// size is the size of the file, 0 without one. It is -1 when it cannot be read,
// which never equals an earlier size.
func (s *stamp) size() int64 {
	if f := s.file.Load(); f != nil {
		if size, ok := sizeOf(f); ok {
			return size
		}
		s.file.Store(nil)
	}
	info, err := os.Stat(s.path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return 0
	case err != nil:
		return -1
	}
	if f, err := os.Open(s.path); err == nil {
		if _, ok := sizeOf(f); ok {
			s.file.Store(f)
		} else {
			_ = f.Close() // nothing was written to it
		}
	}
	return info.Size()
}

// touch counts a change that was stored.
func (s *stamp) touch() error {
	if s.path == "" {
		return nil
	}
	f, err := os.OpenFile(s.path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("open key stamp: %w", err)
	}
	_, err = f.Write([]byte{'.'})
	if err := errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("write key stamp: %w", err)
	}
	return nil
}
