package db

import (
	"database/sql"
	"errors"
	"fmt"
)

// ErrStop ends a walk over rows early and without an error.
var ErrStop = errors.New("stop reading rows")

// Each calls fn for every row of a query, whose rows and error it takes as
// Query returned them, until fn returns an error; ErrStop ends the walk without
// one. It always closes the rows. Any error is wrapped with doing, as in "list
// keys: …".
func Each(rows Rows, err error, doing string, fn func(Row) error) error {
	if err == nil {
		err = walk(rows, fn)
	}
	return Wrap(doing, err)
}

func walk(rows Rows, fn func(Row) error) error {
	defer rows.Close() // also when fn panics
	var row Row = rows
	for rows.Next() {
		if err := fn(row); errors.Is(err, ErrStop) {
			return rows.Close()
		} else if err != nil {
			return err
		}
	}
	if err := rows.Err(); err != nil {
		return err
	}
	return rows.Close()
}

// Collect reads all rows of a query into a slice, nil when there are none. scan
// fills in one element, which is zero. Everything else is as with Each.
func Collect[T any](rows Rows, err error, doing string, scan func(*T, Row) error) ([]T, error) {
	var out []T
	err = Each(rows, err, doing, func(row Row) error {
		var zero T
		out = append(out, zero)
		return scan(&out[len(out)-1], row)
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// Map reads all rows of a query into a map. scan fills in one key and its value,
// which are zero. Everything else is as with Each.
func Map[K comparable, V any](rows Rows, err error, doing string, scan func(*K, *V, Row) error) (map[K]V, error) {
	out := map[K]V{}
	var at struct {
		key   K
		value V
	}
	zero := at
	err = Each(rows, err, doing, func(row Row) error {
		at = zero
		err := scan(&at.key, &at.value, row)
		out[at.key] = at.value
		return err
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// Column scans a row of one column: db.Collect(rows, err, "list ids", db.Column[string]).
func Column[T any](v *T, row Row) error { return row.Scan(v) }

// Exists reports whether a query of one column found a row.
func Exists(row Row, doing string) (bool, error) {
	var v any
	if err := row.Scan(&v); errors.Is(err, sql.ErrNoRows) {
		return false, nil
	} else if err != nil {
		return false, Wrap(doing, err)
	}
	return true, nil
}

// Found ends a store function that reads one row: it returns v, or the zero value
// and no error if there was no row.
func Found[T any](v T, err error, doing string) (T, error) {
	var none T
	if errors.Is(err, sql.ErrNoRows) {
		return none, nil
	} else if err != nil {
		return none, Wrap(doing, err)
	}
	return v, nil
}

// Need is like Found for a row that must exist: if there is none, it returns the
// error missing.
func Need[T any](v T, err error, doing string, missing error) (T, error) {
	if errors.Is(err, sql.ErrNoRows) {
		var none T
		return none, missing
	}
	return Found(v, err, doing)
}

// Wrap adds what a statement was for, as in "insert key: …"; nil stays nil. It
// is for the last line of a store function, which returns a result whether the
// statement failed or not.
func Wrap(doing string, err error) error {
	if err != nil {
		return fmt.Errorf("%s: %w", doing, err)
	}
	return nil
}

// Bit converts a bool for a column that holds 0 or 1.
func Bit(on bool) int64 {
	if on {
		return 1
	}
	return 0
}
