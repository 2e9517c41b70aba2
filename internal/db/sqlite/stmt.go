package sqlite

import (
	"fmt"
	"math"
	"math/bits"
	"unsafe"

	sqlite3 "modernc.org/sqlite/lib"
)

// keepRoom is how much memory a statement keeps for the parameters of its next run.
const keepRoom = 4 << 10

// Stmt is a compiled statement.
type Stmt struct {
	c      *Conn
	p      uintptr
	params int
	room   uintptr // texts and blobs of the parameters, one after the other
	size   int
}

// Columns returns how many columns the rows have. It may change with the tables:
// SQLite then compiles the statement again at its first Step.
func (s *Stmt) Columns() int { return int(sqlite3.Xsqlite3_column_count(s.c.tls, s.p)) }

// Bind sets all parameters. A value is nil, a string, int64, int, bool, float64
// or []byte. Bind copies them: SQLite reads them while the statement runs, and
// Go's stacks may move meanwhile.
func (s *Stmt) Bind(vals []any) error {
	if len(vals) != s.params {
		return fmt.Errorf("%d values for %d parameters", len(vals), s.params)
	}
	if err := s.makeRoom(vals); err != nil {
		return err
	}
	c, next := s.c, s.room
	for i, val := range vals {
		n, rc := int32(i+1), int32(0)
		switch v := val.(type) {
		case nil:
			rc = sqlite3.Xsqlite3_bind_null(c.tls, s.p, n)
		case int64:
			rc = sqlite3.Xsqlite3_bind_int64(c.tls, s.p, n, v)
		case int:
			rc = sqlite3.Xsqlite3_bind_int64(c.tls, s.p, n, int64(v))
		case bool:
			rc = sqlite3.Xsqlite3_bind_int64(c.tls, s.p, n, number(v))
		case float64:
			rc = sqlite3.Xsqlite3_bind_double(c.tls, s.p, n, v)
		case string:
			copy(unsafe.Slice((*byte)(at(next)), len(v)), v)
			rc = sqlite3.Xsqlite3_bind_text(c.tls, s.p, n, next, int32(len(v)), sqlite3.SQLITE_STATIC)
			next += uintptr(len(v))
		case []byte:
			copy(unsafe.Slice((*byte)(at(next)), len(v)), v)
			rc = sqlite3.Xsqlite3_bind_blob(c.tls, s.p, n, next, int32(len(v)), sqlite3.SQLITE_STATIC)
			next += uintptr(len(v))
		default:
			return fmt.Errorf("parameter %d is a %T", n, val)
		}
		if rc != sqlite3.SQLITE_OK {
			return c.fault(rc)
		}
	}
	return nil
}

// makeRoom allocates memory for all texts and blobs in vals. Even an empty text
// needs an address: without one it would be NULL.
func (s *Stmt) makeRoom(vals []any) error {
	need, some := 0, false
	for _, val := range vals {
		switch v := val.(type) {
		case string:
			need, some = need+len(v), true
		case []byte:
			need, some = need+len(v), true
		}
	}
	if need >= 1<<30 {
		return &Error{code: sqlite3.SQLITE_TOOBIG, text: "string or blob too big"}
	}
	if !some || need <= s.size && s.size > 0 {
		return nil
	}
	s.drop()
	size := max(256, 1<<bits.Len(uint(need)))
	if s.room = s.c.alloc(uintptr(size)); s.room == 0 {
		return outOfMemory()
	}
	s.size = size
	return nil
}

// drop frees the memory of the parameters.
func (s *Stmt) drop() {
	if s.size == 0 {
		return
	}
	sqlite3.Xsqlite3_clear_bindings(s.c.tls, s.p)
	s.c.free(s.room)
	s.room, s.size = 0, 0
}

func number(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

// Step runs to the next row, and reports whether there is one.
func (s *Stmt) Step() (bool, error) {
	switch rc := sqlite3.Xsqlite3_step(s.c.use(), s.p); rc {
	case sqlite3.SQLITE_ROW:
		return true, nil
	case sqlite3.SQLITE_DONE:
		return false, nil
	default:
		return false, s.c.fault(rc)
	}
}

// Reset ends a run. It returns the error of the last Step, if that failed.
func (s *Stmt) Reset() error {
	rc := sqlite3.Xsqlite3_reset(s.c.use(), s.p)
	if s.size > keepRoom {
		s.drop()
	}
	if rc != sqlite3.SQLITE_OK {
		return s.c.fault(rc)
	}
	return nil
}

// Close frees the statement. A second call does nothing.
func (s *Stmt) Close() error {
	if s.p == 0 {
		return nil
	}
	s.drop()
	rc := sqlite3.Xsqlite3_finalize(s.c.tls, s.p)
	s.p = 0
	if rc != sqlite3.SQLITE_OK {
		return s.c.fault(rc)
	}
	return nil
}

// Kind is the type of a value in a row.
type Kind uint8

// The kinds.
const (
	Null Kind = iota
	Int
	Float
	Text
	Blob
)

// Value is a copy of the value in one column of a row.
type Value struct {
	Kind  Kind
	num   uint64
	bytes []byte
}

// Column returns column i of the row that Step has reached.
func (s *Stmt) Column(i int) Value {
	tls, n := s.c.use(), int32(i)
	switch sqlite3.Xsqlite3_column_type(tls, s.p, n) {
	case sqlite3.SQLITE_INTEGER:
		return Value{Kind: Int, num: uint64(sqlite3.Xsqlite3_column_int64(tls, s.p, n))}
	case sqlite3.SQLITE_FLOAT:
		return Value{Kind: Float, num: math.Float64bits(sqlite3.Xsqlite3_column_double(tls, s.p, n))}
	case sqlite3.SQLITE_TEXT:
		return Value{Kind: Text, bytes: s.copied(sqlite3.Xsqlite3_column_text(tls, s.p, n), n)}
	case sqlite3.SQLITE_BLOB:
		return Value{Kind: Blob, bytes: s.copied(sqlite3.Xsqlite3_column_blob(tls, s.p, n), n)}
	}
	return Value{}
}

// copied returns a copy of column n, which SQLite stored at p.
func (s *Stmt) copied(p uintptr, n int32) []byte {
	size := sqlite3.Xsqlite3_column_bytes(s.c.tls, s.p, n)
	b := make([]byte, size)
	if size > 0 && p != 0 {
		copy(b, unsafe.Slice((*byte)(at(p)), size))
	}
	return b
}

// Int returns a value of kind Int.
func (v Value) Int() int64 { return int64(v.num) }

// Float returns a value of kind Float.
func (v Value) Float() float64 { return math.Float64frombits(v.num) }

// Bytes returns a value of kind Blob. The caller may change it.
func (v Value) Bytes() []byte { return v.bytes }

// Text returns a value of kind Text. Its bytes never change: Value holds a copy,
// and Bytes is only for blobs.
func (v Value) Text() string { return unsafe.String(unsafe.SliceData(v.bytes), len(v.bytes)) }
