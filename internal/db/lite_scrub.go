package db

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
)

// Deleted data must not stay readable in the file. secure_delete makes SQLite
// overwrite deleted cells and freed pages with zeros; its cost is not
// measurable. Two places are left: pages that SQLite rebuilds when it balances
// a tree keep old bytes between their cell pointers and their cells, and the
// write-ahead log keeps old versions of pages until it is truncated. Scrub
// cleans both.

// secureDelete is the PRAGMA of every connection that writes.
const secureDelete = "secure_delete=ON"

const (
	scrubChunk  = 50                     // pages in one transaction
	scrubRead   = 512                    // pages in one snapshot, so that no reader is open for long
	scrubWait   = 100 * time.Millisecond // for readers, while writers wait too
	scrubPause  = 20 * time.Millisecond  // between two tries to cut the log
	scrubTries  = 20                     // about 2.5 s in all
	maxScrubbed = 1 << 25                // pages; see dirtyPages
)

// Scrub removes the bytes of what was deleted or replaced before the call from
// the files of an SQLite store, even while others read and write. It reads the
// whole file. The fault is STORE_UNAVAILABLE when a reader holds on to old
// bytes for seconds: call it again. Copies of the store, such as backups and
// those made before migrations, are not touched.
//
// On PostgreSQL it does nothing: there the server's own vacuum decides when the
// space of deleted rows is reused.
func (d *DB) Scrub(ctx context.Context) error {
	l, ok := d.e.(*lite)
	if !ok {
		return nil
	}
	if err := l.scrub(ctx); err != nil {
		return fmt.Errorf("scrub store: %w", err)
	}
	return nil
}

func (l *lite) scrub(ctx context.Context) error {
	select { // one at a time: the next one finds little to do
	case l.scrubbing <- struct{}{}:
		defer func() { <-l.scrubbing }()
	case <-ctx.Done():
		return ctx.Err()
	}
	c, err := openLiteConn(l.cfg.Path, busyPragma(scrubWait))
	if err != nil {
		return err
	}
	defer c.close()
	dirty, err := dirtyPages(ctx, c)
	if err != nil {
		return err
	}
	for chunk := range slices.Chunk(dirty, scrubChunk) {
		if err := l.w.inTx(ctx, func(tx *Tx) error { return cleanPages(ctx, tx, chunk) }); err != nil {
			return err
		}
	}
	if l.w.ill() {
		return unavailable(errRefused)
	}
	return cutLog(ctx, c)
}

// dirtyPages lists the pages with unreachable bytes. It reads through SQLite,
// because opening the file separately would drop the locks it holds.
//
// The first byte of a page shows its type: a tree page has 2, 5, 10 or 13
// there, an overflow or free page the highest byte of a page number, which is 0
// or 1 as long as there are fewer than 2^25 pages, 128 GiB. A store with
// pointer maps (auto_vacuum) is not ours.
func dirtyPages(ctx context.Context, c *liteConn) ([]int64, error) {
	var pages, auto int64
	err := firstRow(ctx, c, `SELECT page_count, auto_vacuum FROM pragma_page_count, pragma_auto_vacuum`, nil, &pages, &auto)
	if err != nil {
		return nil, err
	}
	if pages >= maxScrubbed || auto != 0 {
		return nil, fmt.Errorf("a store of %d pages with auto_vacuum %d cannot be scrubbed", pages, auto)
	}
	var dirty []int64
	for first := int64(1); first <= pages; first += scrubRead {
		some, err := dirtyRange(ctx, c, first, min(first+scrubRead-1, pages))
		if err != nil {
			return nil, err
		}
		dirty = append(dirty, some...)
	}
	return dirty, nil
}

const (
	selectPageSQLite  = `SELECT data FROM sqlite_dbpage WHERE pgno = $1`
	selectPagesSQLite = `WITH RECURSIVE n(i) AS (SELECT $1 UNION ALL SELECT i + 1 FROM n WHERE i < $2)
		SELECT i, data FROM n CROSS JOIN sqlite_dbpage ON pgno = i`
)

// dirtyRange looks at the pages first to last in one snapshot.
func dirtyRange(ctx context.Context, c *liteConn, first, last int64) ([]int64, error) {
	rows, err := c.rows(ctx, selectPagesSQLite, []any{first, last})
	if err != nil {
		return nil, cancelled(ctx, err)
	}
	defer rows.Close()
	var dirty []int64
	for rows.Next() {
		var n int64
		var data []byte
		if err := rows.Scan(&n, &data); err != nil {
			return nil, err
		}
		if _, changed := cleanPage(data, n); changed {
			dirty = append(dirty, n)
		}
	}
	return dirty, cancelled(ctx, rows.Err())
}

// cleanPages cleans pages in their present state: others may have changed them
// since they were listed.
func cleanPages(ctx context.Context, tx *Tx, pages []int64) error {
	for _, n := range pages {
		var data []byte
		if err := tx.QueryRow(ctx, selectPageSQLite, n).Scan(&data); err != nil {
			return err
		}
		fresh, changed := cleanPage(data, n)
		if !changed {
			continue
		}
		if _, err := tx.Exec(ctx, `UPDATE sqlite_dbpage SET data = $2 WHERE pgno = $1`, n, fresh); err != nil {
			return err
		}
	}
	return nil
}

// cutLog copies the write-ahead log into the file and cuts it to nothing.
func cutLog(ctx context.Context, c *liteConn) error {
	for range scrubTries {
		if l, err := c.checkpoint(cutNow); err != nil || !l.blocked {
			return err
		}
		pause := time.NewTimer(scrubPause)
		select {
		case <-pause.C:
		case <-ctx.Done():
			pause.Stop()
			return ctx.Err()
		}
	}
	return unavailable(errors.New("a long read keeps old pages in the write-ahead log"))
}

// firstRow reads the one row of a query.
func firstRow(ctx context.Context, c *liteConn, text string, args []any, dest ...any) error {
	rows, err := c.rows(ctx, text, args)
	return cancelled(ctx, oneRow{rows: rows, err: err}.Scan(dest...))
}
