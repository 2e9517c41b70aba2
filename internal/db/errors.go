package db

import (
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/hearth-dmrv/hearth/internal/db/sqlite"
	"github.com/hearth-dmrv/hearth/internal/fault"
)

// damage is SQLite's word that the file itself is broken, nil when it is not.
func damage(err error) error {
	var e *sqlite.Error
	if errors.As(err, &e) && (e.Code()&0xff == sqlite3.SQLITE_NOTADB || e.Code()&0xff == sqlite3.SQLITE_CORRUPT) {
		return e
	}
	return nil
}

// IsUnique reports whether err comes from a unique index or primary key.
func IsUnique(err error) bool {
	switch liteCode(err) {
	case sqlite3.SQLITE_CONSTRAINT_UNIQUE, sqlite3.SQLITE_CONSTRAINT_PRIMARYKEY, sqlite3.SQLITE_CONSTRAINT_ROWID:
		return true
	}
	return pgCode(err) == "23505"
}

// IsForeignKey reports whether err comes from a foreign key.
func IsForeignKey(err error) bool {
	return liteCode(err) == sqlite3.SQLITE_CONSTRAINT_FOREIGNKEY || pgCode(err) == "23503"
}

// IsLocked reports whether err is a row lock that another transaction held for
// too long.
func IsLocked(err error) bool { return pgCode(err) == "55P03" }

// errUnknown marks a commit whose outcome is unknown.
var errUnknown = errors.New("nobody knows whether the commit was kept")

// OutcomeUnknown reports whether err leaves it open if the transaction was
// stored: PostgreSQL went away between COMMIT and its answer, or a disk could
// not sync.
func OutcomeUnknown(err error) bool { return errors.Is(err, errUnknown) }

func liteCode(err error) int {
	var e *sqlite.Error
	if errors.As(err, &e) {
		return e.Code()
	}
	return 0
}

func pgCode(err error) string {
	var e *pgconn.PgError
	if errors.As(err, &e) {
		return e.Code
	}
	return ""
}

// mapLite turns trouble with the file into a fault; other errors pass.
func mapLite(err error) error {
	if err == nil || fault.As(err) != nil {
		return err
	}
	if liteTrouble(err) {
		return unavailable(err)
	}
	return err
}

// liteTrouble is true for errors that are about the store and not about the
// statement. They may also have ended the whole transaction.
func liteTrouble(err error) bool {
	switch liteCode(err) & 0xff {
	case sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_BUSY,
		sqlite3.SQLITE_NOMEM, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_INTERRUPT, sqlite3.SQLITE_PROTOCOL,
		sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_PERM:
		return true
	}
	return false
}

// mapPg does the same for PostgreSQL. ctx is the caller's: when it has ended,
// its own error is the answer.
func mapPg(ctx context.Context, err error) error {
	if err == nil || fault.As(err) != nil {
		return err
	}
	if ctxErr := ctx.Err(); ctxErr != nil && (errors.Is(err, ctxErr) || pgCode(err) == "57014" || pgconn.Timeout(err)) {
		return ctxErr
	}
	switch code := pgCode(err); {
	case code == "22021" || code == "22P05":
		return errText().Wrap(err)
	case code == "55P03":
		return errBusyRow(err)
	case code == "57014":
		return errSlow(err)
	case code == "25006", code == "53000", code == "53100", code == "53200", code == "53300", code == "53400",
		strings.HasPrefix(code, "08"), strings.HasPrefix(code, "57P"), strings.HasPrefix(code, "58"), strings.HasPrefix(code, "XX"):
		return unavailable(err)
	case code == "" && pgLost(err):
		return unavailable(err)
	}
	return err
}

// pgLost is true when the server could not be reached or went away.
func pgLost(err error) bool {
	var connect *pgconn.ConnectError
	var netErr net.Error
	return errors.As(err, &connect) || errors.As(err, &netErr) || errors.Is(err, net.ErrClosed) ||
		errors.Is(err, pgx.ErrTxClosed) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) ||
		strings.Contains(err.Error(), "conn closed") || strings.Contains(err.Error(), "closed pool")
}

// errSlow is the fault for a transaction past its limit.
func errSlow(cause error) *fault.Error {
	return fault.New(fault.Unavailable, "TRANSACTION_TIMEOUT", "The change ran past its limit and was not stored. Try again.").
		After(time.Second).Wrap(cause)
}
