package main

import (
	"cmp"
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"modernc.org/sqlite"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/entity/bulk"
)

// boundRows is how many rows one statement of the bound has.
const boundRows = 10

// The rows an imported twin becomes, by table, each with the line of the file
// it came from. The bound reads the columns from the store: a list of its own
// would be wrong after the next migration.
var importedRows = []struct{ table, query string }{
	{"entities", `SELECT t.line, e.* FROM transfer_rows t JOIN entities e ON e.did = json_extract(t.data, '$.did')`},
	{"entity_props", `SELECT t.line, p.* FROM transfer_rows t JOIN entities e ON e.did = json_extract(t.data, '$.did') JOIN entity_props p ON p.nid = e.nid`},
	{"events", `SELECT t.line, v.* FROM transfer_rows t CROSS JOIN events v ON v.subject = json_extract(t.data, '$.did')`},
	{"transfer_rows", `SELECT t.line, t.* FROM transfer_rows t`},
}

// tableRows are the rows of one table of one chunk.
type tableRows struct {
	table   string
	columns []string
	rows    [][]driver.Value
}

// bareImport stores the rows that an import has left in the store of dir into a
// fresh store of the same shape, with bare multi-row inserts: nothing is
// parsed, checked or made, no savepoint is taken, and a synced transaction has
// as many twins as the largest of the import. It returns twins a second.
func (b *bench) bareImport(ctx context.Context, dir string, twins int) (rate float64, err error) {
	chunks, err := readImported(ctx, filepath.Join(dir, "hearth.db"), twins)
	if err != nil {
		return 0, err
	}
	c, err := b.emptyStore(ctx)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, c.close()) }()
	ready := make([][]boundExec, len(chunks))
	for i, tables := range chunks {
		for _, t := range tables {
			part, err := c.ready(t)
			if err != nil {
				return 0, err
			}
			ready[i] = append(ready[i], part...)
		}
	}
	begin, commit := boundExec{}, boundExec{}
	if begin.stmt, err = c.prepare(`BEGIN IMMEDIATE`); err != nil {
		return 0, err
	}
	if commit.stmt, err = c.prepare(`COMMIT`); err != nil {
		return 0, err
	}
	start := time.Now()
	for _, part := range ready {
		for _, x := range append(append([]boundExec{begin}, part...), commit) {
			if err := x.run(); err != nil {
				return 0, err
			}
		}
	}
	return float64(twins) / time.Since(start).Seconds(), nil
}

// readImported reads what an import has stored, in chunks of the import's size.
func readImported(ctx context.Context, path string, twins int) (chunks [][]tableRows, err error) {
	c, err := openBoundConn(ctx, path)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, c.close()) }()
	chunks = make([][]tableRows, (twins+bulk.ChunkRows-1)/bulk.ChunkRows)
	for _, from := range importedRows {
		columns, rows, err := c.read(ctx, from.query)
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", from.table, err)
		}
		if columns, rows, err = c.stored(ctx, from.table, columns, rows); err != nil {
			return nil, fmt.Errorf("columns of %s: %w", from.table, err)
		}
		if len(rows) < twins {
			return nil, fmt.Errorf("%d rows of %s for %d imported twins", len(rows), from.table, twins)
		}
		slices.SortStableFunc(rows, func(a, b []driver.Value) int { return cmp.Compare(a[0].(int64), b[0].(int64)) })
		first := rows[0][0].(int64)
		parts := make([][][]driver.Value, len(chunks))
		for _, r := range rows {
			at := int(r[0].(int64)-first) / bulk.ChunkRows
			if at >= len(parts) {
				return nil, fmt.Errorf("%s has line %d", from.table, r[0])
			}
			parts[at] = append(parts[at], r[1:])
		}
		for i := range chunks {
			chunks[i] = append(chunks[i], tableRows{from.table, columns[1:], parts[i]})
		}
	}
	return chunks, nil
}

// emptyStore makes a store of the same shape and opens it.
func (b *bench) emptyStore(ctx context.Context) (*boundConn, error) {
	dir, err := os.MkdirTemp(b.dir, "bare-")
	if err != nil {
		return nil, err
	}
	path := filepath.Join(dir, "rows.db")
	d, err := db.Open(ctx, db.Config{Path: path})
	if err != nil {
		return nil, err
	}
	if err := errors.Join(d.Migrate(ctx), d.Close()); err != nil {
		return nil, err
	}
	return openBoundConn(ctx, path)
}

// boundConn is a connection below database/sql with its statements. Its settings
// are as good as those of the server's writer.
type boundConn struct {
	c     driver.Conn
	stmts map[string]driver.Stmt
}

func openBoundConn(ctx context.Context, path string) (*boundConn, error) {
	connector, err := sqlite.NewConnector("file:" + path + "?_dqs=0")
	if err != nil {
		return nil, err
	}
	dc, err := connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	c := &boundConn{c: dc, stmts: map[string]driver.Stmt{}}
	for _, set := range []string{"journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON", "temp_store=MEMORY", "cache_size=-16384", "wal_autocheckpoint=16000"} {
		if _, err := dc.(driver.ExecerContext).ExecContext(ctx, "PRAGMA "+set, nil); err != nil {
			return nil, errors.Join(err, c.close())
		}
	}
	return c, nil
}

func (c *boundConn) close() error {
	var err error
	for _, s := range c.stmts {
		err = errors.Join(err, s.Close())
	}
	return errors.Join(err, c.c.Close())
}

func (c *boundConn) prepare(sql string) (driver.Stmt, error) {
	if s := c.stmts[sql]; s != nil {
		return s, nil
	}
	s, err := c.c.Prepare(sql)
	if err == nil {
		c.stmts[sql] = s
	}
	return s, err
}

// stored leaves out the columns that the database computes itself.
func (c *boundConn) stored(ctx context.Context, table string, columns []string, rows [][]driver.Value) ([]string, [][]driver.Value, error) {
	_, made, err := c.read(ctx, `SELECT name FROM pragma_table_xinfo('`+table+`') WHERE hidden IN (2, 3)`)
	if err != nil {
		return nil, nil, err
	}
	for _, m := range made {
		at := slices.Index(columns, fmt.Sprint(m[0]))
		if at < 0 {
			continue
		}
		columns = slices.Delete(slices.Clone(columns), at, at+1)
		for i := range rows {
			rows[i] = slices.Delete(rows[i], at, at+1)
		}
	}
	return columns, rows, nil
}

// read reads all rows of a query.
func (c *boundConn) read(ctx context.Context, sql string) (columns []string, all [][]driver.Value, err error) {
	rows, err := c.c.(driver.QueryerContext).QueryContext(ctx, sql, nil)
	if err != nil {
		return nil, nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	columns = rows.Columns()
	for {
		row := make([]driver.Value, len(columns))
		if err := rows.Next(row); errors.Is(err, io.EOF) {
			return columns, all, nil
		} else if err != nil {
			return nil, nil, err
		}
		for i, v := range row {
			if raw, ok := v.([]byte); ok { // the driver may use its memory again
				row[i] = slices.Clone(raw)
			}
		}
		all = append(all, row)
	}
}

// boundExec is a statement and its parameters.
type boundExec struct {
	stmt driver.Stmt
	args []driver.NamedValue
}

// run gives the driver a context that cannot be cancelled: it costs nothing.
func (x boundExec) run() error {
	_, err := x.stmt.(driver.StmtExecContext).ExecContext(context.Background(), x.args)
	return err
}

// ready makes the statements that store rows, some rows each.
func (c *boundConn) ready(t tableRows) ([]boundExec, error) {
	var out []boundExec
	for rows := range slices.Chunk(t.rows, boundRows) {
		one := "(?" + strings.Repeat(", ?", len(t.columns)-1) + ")"
		s, err := c.prepare("INSERT INTO " + t.table + " (" + strings.Join(t.columns, ", ") + ") VALUES " + one + strings.Repeat(", "+one, len(rows)-1))
		if err != nil {
			return nil, err
		}
		x := boundExec{stmt: s}
		for _, r := range rows {
			for _, v := range r {
				x.args = append(x.args, driver.NamedValue{Ordinal: len(x.args) + 1, Value: v})
			}
		}
		out = append(out, x)
	}
	return out, nil
}
