package auth

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync/atomic"
)

// stamp is a file whose size counts the changes of keys. Every process on a
// data folder looks at it before it trusts its cache: a look costs about a
// microsecond, a message from another process would need somebody to carry it.
type stamp struct {
	path string // "" when there is none
	seen atomic.Int64
}

// check calls changed when the file is not as it was last time.
func (s *stamp) check(changed func()) {
	if s.path == "" {
		return
	}
	size := int64(-1) // an unreadable stamp never equals one that was seen
	if info, err := os.Stat(s.path); err == nil {
		size = info.Size()
	} else if errors.Is(err, fs.ErrNotExist) {
		size = 0
	}
	if size >= 0 && size == s.seen.Load() {
		return
	}
	changed() // first, so that nobody sees the new size and the old cache
	s.seen.Store(size)
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
