package db

import (
	"context"
	"time"
)

// writersRest is how long AwaitWriters rests between two looks.
const writersRest = 20 * time.Millisecond

// A moment of the server's clock, and the transactions from before it that have written
// or locked something. The caller's own are not among them: it waits in none.
const (
	writersNow = `SELECT extract(epoch FROM clock_timestamp())::float8`
	writersOf  = `SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND backend_xid IS NOT NULL AND xact_start <= to_timestamp($1)`
)

// AwaitWriters waits until every transaction has ended that was writing when it was
// called. A reader after it sees the rows of such transactions, whatever they had
// locked. On SQLite, where there is one writer, it does not wait.
func AwaitWriters(ctx context.Context, d *DB) error {
	if d.Dialect() != Postgres {
		return nil
	}
	var since float64
	if err := d.QueryRow(ctx, writersNow).Scan(&since); err != nil {
		return Wrap("read the clock of the store", err)
	}
	for {
		var n int
		if err := d.QueryRow(ctx, writersOf, since).Scan(&n); err != nil {
			return Wrap("look for writers", err)
		}
		if n == 0 {
			return nil
		}
		select {
		case <-time.After(writersRest):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
