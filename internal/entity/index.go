package entity

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/hearth-dmrv/hearth/internal/check"
	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/fault"
)

// prop is an entry of the property index.
type prop struct {
	PID int64  // of workspace, protocol and property
	Val string // sorts as the value does
}

// One text for each number of rows, so that a statement is a constant. On SQLite a
// statement of several rows that could fail keeps a journal of its own; one that
// ignores errors does not, and the only possible error here is that a row exists
// already. PostgreSQL takes rows by their columns; checking whether each exists
// costs it as much again as storing it.
const (
	insertProps1SQLite = `INSERT OR IGNORE INTO entity_props (pid, val, nid) VALUES ($2, $3, $1)`
	insertProps2SQLite = `INSERT OR IGNORE INTO entity_props (pid, val, nid) VALUES ($2, $3, $1), ($4, $5, $1)`
	insertProps3SQLite = `INSERT OR IGNORE INTO entity_props (pid, val, nid) VALUES ($2, $3, $1), ($4, $5, $1), ($6, $7, $1)`
	insertProps4SQLite = `INSERT OR IGNORE INTO entity_props (pid, val, nid) VALUES ($2, $3, $1), ($4, $5, $1), ($6, $7, $1), ($8, $9, $1)`

	insertNewPropsPostgres = `INSERT INTO entity_props (nid, pid, val) SELECT $1, p.* FROM unnest($2::bigint[], $3::text[]) AS p`
	insertPropsPostgres    = insertNewPropsPostgres + ` ON CONFLICT (pid, val, nid) DO NOTHING`

	deleteProp = `DELETE FROM entity_props WHERE pid = $1 AND val = $2 AND nid = $3`
)

// addProps adds a twin to the property index.
func addProps(ctx context.Context, tx *db.Tx, nid int64, props []prop) error {
	return addReady(ctx, tx, prepareProps(tx.Dialect(), nid, props), false)
}

// readyProps holds the arguments of the statements that store one twin's entries.
type readyProps [][]any

// prepareProps does all work for the entries of a twin that needs no transaction.
func prepareProps(d db.Dialect, nid int64, props []prop) readyProps {
	var out readyProps
	props = distinct(props)
	if d == db.SQLite {
		for some := range slices.Chunk(props, 4) {
			out = append(out, propArgs(nid, some))
		}
		return out
	}
	if len(props) == 0 {
		return nil
	}
	pids, vals := make([]int64, len(props)), make([]string, len(props))
	for i, p := range props {
		pids[i], vals[i] = p.PID, p.Val
	}
	return readyProps{{nid, pids, vals}}
}

// distinct removes repeated entries: a name may say a word twice.
func distinct(props []prop) []prop {
	props = slices.Clone(props)
	slices.SortFunc(props, func(a, b prop) int {
		return cmp.Or(cmp.Compare(a.PID, b.PID), cmp.Compare(a.Val, b.Val))
	})
	return slices.Compact(props)
}

// addReady adds a twin to the property index; a fresh one has no entries yet.
func addReady(ctx context.Context, tx *db.Tx, r readyProps, fresh bool) error {
	for _, args := range r {
		if err := addSome(ctx, tx, args, fresh); err != nil {
			return fmt.Errorf("index properties: %w", err)
		}
	}
	return nil
}

// propArgs returns the arguments of the statement for some entries.
func propArgs(nid int64, props []prop) []any {
	args := append(make([]any, 0, 1+2*len(props)), nid)
	for _, p := range props {
		args = append(args, p.PID, p.Val)
	}
	return args
}

// addSome runs one statement of readyProps.
func addSome(ctx context.Context, tx *db.Tx, args []any, fresh bool) error {
	lite := tx.Dialect() == db.SQLite
	switch n := len(args) / 2; {
	case !lite && fresh:
		return tx.Send(ctx, insertNewPropsPostgres, args...)
	case !lite:
		return tx.Send(ctx, insertPropsPostgres, args...)
	case n == 1:
		return tx.Send(ctx, insertProps1SQLite, args...)
	case n == 2:
		return tx.Send(ctx, insertProps2SQLite, args...)
	case n == 3:
		return tx.Send(ctx, insertProps3SQLite, args...)
	}
	return tx.Send(ctx, insertProps4SQLite, args...)
}

// dropProps removes a twin from the property index.
func dropProps(ctx context.Context, tx *db.Tx, nid int64, props []prop) error {
	for _, p := range props {
		if err := tx.Send(ctx, deleteProp, p.PID, p.Val, nid); err != nil {
			return fmt.Errorf("remove properties from the index: %w", err)
		}
	}
	return nil
}

const (
	insertExternal = `INSERT INTO entity_externals (ws, value, scheme, nid) VALUES ($1, $2, $3, $4) ON CONFLICT (ws, value, scheme) DO NOTHING`
	deleteExternal = `DELETE FROM entity_externals WHERE ws = $1 AND value = $2 AND scheme = $3 AND nid = $4`
)

// ExternalID is the name of a twin in another system.
type ExternalID struct{ Scheme, Value string }

// addNames stores names. The fault EXTERNAL_ID_EXISTS lists all that another
// twin has already.
func addNames(ctx context.Context, tx *db.Tx, ws string, nid int64, list []ExternalID) error {
	f := fault.New(fault.Conflict, "EXTERNAL_ID_EXISTS", "Another entity has this external id.")
	for _, x := range list {
		n, err := tx.Exec(ctx, insertExternal, ws, x.Value, x.Scheme, nid)
		if err != nil {
			return fmt.Errorf("insert external id: %w", err)
		}
		if n == 0 {
			f = f.With(fault.Field{Pointer: "/externalIds/" + check.Escape(x.Scheme), Code: "exists", Detail: "Another entity has this external id."})
		}
	}
	if len(f.Fields) > 0 {
		return f
	}
	return nil
}

// dropNames frees names of a twin.
func dropNames(ctx context.Context, tx *db.Tx, ws string, nid int64, list []ExternalID) error {
	for _, x := range list {
		if err := tx.Send(ctx, deleteExternal, ws, x.Value, x.Scheme, nid); err != nil {
			return fmt.Errorf("remove external id: %w", err)
		}
	}
	return nil
}

// difference returns what now has and was does not, and the reverse.
func difference[T comparable](now, was []T) (added, dropped []T) {
	for _, v := range now {
		if !slices.Contains(was, v) {
			added = append(added, v)
		}
	}
	for _, v := range was {
		if !slices.Contains(now, v) {
			dropped = append(dropped, v)
		}
	}
	return added, dropped
}

// namesOf lists external ids in a fixed order, so that writers lock them in
// that order.
func namesOf(ids map[string]string) []ExternalID {
	var out []ExternalID
	for _, scheme := range slices.Sorted(maps.Keys(ids)) {
		out = append(out, ExternalID{Scheme: scheme, Value: ids[scheme]})
	}
	return out
}
