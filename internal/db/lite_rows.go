package db

import (
	"errors"
	"fmt"

	"github.com/hearth-dmrv/hearth/internal/db/sqlite"
)

// liteRows walks over a SQLite result.
type liteRows struct {
	c     *liteConn
	s     *liteStmt // nil once closed
	vals  []sqlite.Value
	first bool // the first row has been stepped to, but not read
	row   bool // vals hold a row
	end   bool // the statement has run to its end, or failed
	err   error
}

func (r *liteRows) Next() bool {
	r.row = false
	if r.s == nil || r.end {
		return false
	}
	more, err := r.first, error(nil)
	if !r.first {
		more, err = r.s.s.Step()
	}
	r.first = false
	if more {
		for i := range r.vals {
			r.vals[i] = r.s.s.Column(i)
		}
		r.row = true
		return true
	}
	r.end = true
	if err != nil {
		r.c.failed(r.s, err)
		r.err = mapLite(err)
	}
	return false
}

func (r *liteRows) Scan(dest ...any) error {
	switch {
	case r.err != nil:
		return r.err
	case !r.row:
		return errors.New("scan without a row")
	case len(dest) != len(r.vals):
		return fmt.Errorf("scan %d columns into %d destinations", len(r.vals), len(dest))
	}
	for i, d := range dest {
		if err := assign(d, r.vals[i]); err != nil {
			return fmt.Errorf("column %d: %w", i+1, err)
		}
	}
	return nil
}

func (r *liteRows) Err() error { return r.err }

// Close gives the statement back. A statement that writes is run to its end
// first: a foreign key of INSERT … RETURNING is checked there.
func (r *liteRows) Close() error {
	if r.s == nil {
		return nil
	}
	for !r.s.reads && !r.end {
		r.Next()
	}
	r.row = false
	return r.close()
}

// close gives the statement back and keeps the row read last.
func (r *liteRows) close() error {
	err := r.c.release(r.s)
	r.s = nil
	if r.err == nil && err != nil {
		r.err = mapLite(err)
	}
	return r.err
}
