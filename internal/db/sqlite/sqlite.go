// Package sqlite is SQLite without a driver: connections, statements, their
// parameters and columns, each a thin layer over SQLite's own interface. A
// database/sql driver asks for names and types of all columns and parameters in
// every call and allocates each text twice; that is a fifth of the work of a
// short statement. See ADR 0021.
//
// A connection has no lock. Its owner ensures that one goroutine at a time uses
// it and all its statements. Only Interrupt may be called from outside.
package sqlite

import (
	"fmt"
	"strings"
	"sync"
	"unsafe"

	"modernc.org/libc"
	sqlite3 "modernc.org/sqlite/lib"
)

// Conn is a connection to an open database file.
type Conn struct {
	tls *libc.TLS
	db  uintptr
	out uintptr // room for two pointers that SQLite gives
	n   uint64  // calls; by it the race detector sees two goroutines use one connection

	mu     sync.Mutex // an interrupt must not meet a closed connection
	closed bool
}

// Open opens the database file at a SQLite URI. Double-quoted text in statements is a
// name, as in PostgreSQL.
func Open(uri string) (*Conn, error) {
	start()
	c := &Conn{tls: libc.NewTLS()}
	if err := c.open(uri); err != nil {
		c.Close() // what failed is told
		return nil, err
	}
	return c, nil
}

// cachePages is how many pages a connection's cache allocates in one piece. A reader
// drops its whole cache after every write by another connection; pages of the piece
// return to a free list, while others are freed and allocated again.
const cachePages = 200

// start initializes SQLite, on platforms where its translation needs that, and sets
// the options of the whole process, which must precede the first connection.
var start = sync.OnceFunc(func() {
	sqlite3.PatchIssue199()
	tls := libc.NewTLS()
	defer tls.Close()
	const args = 3 * 8 // the slots of C's variable arguments
	list := libc.Xmalloc(tls, args)
	if list == 0 {
		return
	}
	defer libc.Xfree(tls, list)
	sqlite3.Xsqlite3_config(tls, sqlite3.SQLITE_CONFIG_PAGECACHE, libc.VaList(list, uintptr(0), int32(0), int32(cachePages)))
})

func (c *Conn) open(uri string) error {
	const pair = 2 * unsafe.Sizeof(uintptr(0))
	if c.out = c.alloc(pair); c.out == 0 {
		return outOfMemory()
	}
	name, err := c.text(uri)
	if err != nil {
		return err
	}
	defer c.free(name)
	const flags = sqlite3.SQLITE_OPEN_READWRITE | sqlite3.SQLITE_OPEN_CREATE | sqlite3.SQLITE_OPEN_NOMUTEX | sqlite3.SQLITE_OPEN_URI
	rc := sqlite3.Xsqlite3_open_v2(c.tls, name, c.out, flags, 0)
	c.db = *(*uintptr)(at(c.out)) // also of a file that could not be opened
	if rc != sqlite3.SQLITE_OK {
		return c.fault(rc)
	}
	sqlite3.Xsqlite3_extended_result_codes(c.tls, c.db, 1)
	// The planner ignores the values of parameters: for a table with a partial index
	// it would otherwise prepare the statement again for every value.
	for option, value := range map[int32]int32{sqlite3.SQLITE_DBCONFIG_DQS_DDL: 0, sqlite3.SQLITE_DBCONFIG_DQS_DML: 0, sqlite3.SQLITE_DBCONFIG_ENABLE_QPSG: 1} {
		if rc := c.turn(option, value); rc != sqlite3.SQLITE_OK {
			return c.fault(rc)
		}
	}
	return nil
}

// turn sets an option of the connection to 0 or 1.
func (c *Conn) turn(option, value int32) int32 {
	const args = 2 * 8 // the slots of C's variable arguments
	list := c.alloc(args)
	if list == 0 {
		return sqlite3.SQLITE_NOMEM
	}
	defer c.free(list)
	return sqlite3.Xsqlite3_db_config(c.tls, c.db, option, libc.VaList(list, value, uintptr(0)))
}

// Close closes the file. Close all statements first.
func (c *Conn) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return nil
	}
	c.closed = true
	c.free(c.out)
	rc := sqlite3.Xsqlite3_close_v2(c.tls, c.db)
	c.tls.Close()
	if rc != sqlite3.SQLITE_OK {
		return &Error{code: rc, text: "close"}
	}
	return nil
}

// Interrupt makes the statement that is running fail. Any goroutine may call
// it.
func (c *Conn) Interrupt() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return
	}
	tls := libc.NewTLS() // that of the connection is in use
	defer tls.Close()
	sqlite3.Xsqlite3_interrupt(tls, c.db)
}

// InTx reports whether a transaction is open. SQLite may have rolled back a
// transaction after an error.
func (c *Conn) InTx() bool { return sqlite3.Xsqlite3_get_autocommit(c.tls, c.db) == 0 }

// Changes returns how many rows the last INSERT, UPDATE or DELETE changed.
func (c *Conn) Changes() int64 { return sqlite3.Xsqlite3_changes64(c.tls, c.db) }

// Run executes a script of statements without parameters.
func (c *Conn) Run(script string) error {
	text, err := c.text(script)
	if err != nil {
		return err
	}
	defer c.free(text)
	if rc := sqlite3.Xsqlite3_exec(c.tls, c.db, text, 0, 0, 0); rc != sqlite3.SQLITE_OK {
		return c.fault(rc)
	}
	return nil
}

// Prepare compiles one statement.
func (c *Conn) Prepare(sql string) (*Stmt, error) {
	text, err := c.text(sql)
	if err != nil {
		return nil, err
	}
	defer c.free(text)
	tail := c.out + unsafe.Sizeof(c.out)
	if rc := sqlite3.Xsqlite3_prepare_v2(c.tls, c.db, text, int32(len(sql)+1), c.out, tail); rc != sqlite3.SQLITE_OK {
		return nil, c.fault(rc)
	}
	s := &Stmt{c: c, p: *(*uintptr)(at(c.out))}
	if s.p == 0 {
		return nil, &Error{code: sqlite3.SQLITE_ERROR, text: "no statement"}
	}
	if rest := sql[min(*(*uintptr)(at(tail))-text, uintptr(len(sql))):]; strings.TrimSpace(rest) != "" {
		s.Close() // it has not run
		return nil, &Error{code: sqlite3.SQLITE_ERROR, text: "more than one statement"}
	}
	s.params = int(sqlite3.Xsqlite3_bind_parameter_count(c.tls, s.p))
	return s, nil
}

// Error is an error SQLite returned.
type Error struct {
	code int32
	text string
}

// Code returns the extended result code.
func (e *Error) Code() int { return int(e.code) }

// Error implements error.
func (e *Error) Error() string { return fmt.Sprintf("%s (%d)", e.text, e.code) }

func outOfMemory() error { return &Error{code: sqlite3.SQLITE_NOMEM, text: "out of memory"} }

// fault returns the error of a call that has just returned rc.
func (c *Conn) fault(rc int32) error {
	text := libc.GoString(sqlite3.Xsqlite3_errstr(c.tls, rc))
	if c.db != 0 {
		if more := libc.GoString(sqlite3.Xsqlite3_errmsg(c.tls, c.db)); more != text {
			text += ": " + more
		}
	}
	return &Error{code: rc, text: text}
}

// alloc allocates memory outside Go's heap; 0 if there is none.
func (c *Conn) alloc(size uintptr) uintptr { return sqlite3.Xsqlite3_malloc64(c.use(), uint64(size)) }

// use returns the connection's thread for one more call.
func (c *Conn) use() *libc.TLS {
	c.n++
	return c.tls
}

func (c *Conn) free(p uintptr) { sqlite3.Xsqlite3_free(c.tls, p) }

// text returns a zero-terminated copy of s.
func (c *Conn) text(s string) (uintptr, error) {
	p := c.alloc(uintptr(len(s)) + 1)
	if p == 0 {
		return 0, outOfMemory()
	}
	room := unsafe.Slice((*byte)(at(p)), len(s)+1)
	copy(room, s)
	room[len(s)] = 0
	return p, nil
}

// at returns a pointer to the address p, outside Go's heap.
func at(p uintptr) unsafe.Pointer { return *(*unsafe.Pointer)(unsafe.Pointer(&p)) }
