package main

import (
	"context"
	"database/sql/driver"
	"errors"
	"io"

	"modernc.org/sqlite"
)

// The statements of the bound. The table is the one Hearth writes to as well.
const (
	createRows = `CREATE TABLE rows (id TEXT PRIMARY KEY, body TEXT NOT NULL)`
	insertRow  = `INSERT INTO rows(id, body) VALUES ($1, $2)`
)

// conn is a SQLite connection with the settings of internal/db: write-ahead
// log, a sync before every answer. It is used below database/sql.
type conn struct {
	c    driver.Conn
	args []driver.NamedValue
	begin, commit, save, release, undo,
	insert driver.Stmt
}

func openConn(ctx context.Context, path string) (*conn, error) {
	connector, err := sqlite.NewConnector("file:" + path + "?_dqs=0")
	if err != nil {
		return nil, err
	}
	dc, err := connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	c := &conn{c: dc, args: []driver.NamedValue{{Ordinal: 1}, {Ordinal: 2}}}
	for _, sql := range []string{`PRAGMA busy_timeout=5000`, `PRAGMA journal_mode=WAL`, `PRAGMA synchronous=FULL`, `PRAGMA foreign_keys=ON`, createRows} {
		if _, err := dc.(driver.ExecerContext).ExecContext(ctx, sql, nil); err != nil {
			return nil, errors.Join(err, dc.Close())
		}
	}
	for _, s := range []struct {
		to  *driver.Stmt
		sql string
	}{{&c.begin, `BEGIN IMMEDIATE`}, {&c.commit, `COMMIT`}, {&c.save, `SAVEPOINT fn`}, {&c.release, `RELEASE fn`}, {&c.undo, `ROLLBACK TO fn`}, {&c.insert, insertRow}} {
		if *s.to, err = dc.Prepare(s.sql); err != nil {
			return nil, errors.Join(err, dc.Close())
		}
	}
	return c, nil
}

// run executes a statement without parameters. A context that can be
// cancelled would cost a goroutine, so it gets one that cannot.
func (c *conn) run(s driver.Stmt) error {
	_, err := s.(driver.StmtExecContext).ExecContext(context.Background(), nil)
	return err
}

func (c *conn) put(id, body string) error {
	c.args[0].Value, c.args[1].Value = id, body
	_, err := c.insert.(driver.StmtExecContext).ExecContext(context.Background(), c.args)
	return err
}

func (c *conn) close() error {
	var err error
	for _, s := range []io.Closer{c.begin, c.commit, c.save, c.release, c.undo, c.insert, c.c} {
		err = errors.Join(err, s.Close())
	}
	return err
}

// group is a hand-written group commit: one goroutine, one connection, one
// savepoint per caller, and answers to all callers after one sync. It supports only
// one kind of statement.
type group struct {
	c     *conn
	do    func(id, body string) error // what is done for a caller
	queue chan *ask
	done  chan error
}

// ask is one caller's row.
type ask struct {
	id, body string
	err      error
	answer   chan error // cap 1
}

// maxGroup is the most rows in one commit.
const maxGroup = 512

func openGroup(ctx context.Context, path string) (*group, error) {
	c, err := openConn(ctx, path)
	if err != nil {
		return nil, err
	}
	return startGroup(c, c.put), nil
}

// startGroup calls do for each waiting caller and commits the calls together.
func startGroup(c *conn, do func(id, body string) error) *group {
	g := &group{c: c, do: do, queue: make(chan *ask, 4096), done: make(chan error, 1)}
	go g.loop()
	return g
}

// writer returns a function that stores one row and returns when it is on disk.
// Only one goroutine may call it, so it can reuse its channel.
func (g *group) writer() func(id, body string) error {
	a := &ask{answer: make(chan error, 1)}
	return func(id, body string) error {
		a.id, a.body = id, body
		g.queue <- a
		return <-a.answer
	}
}

func (g *group) close() error {
	close(g.queue)
	return <-g.done
}

func (g *group) loop() {
	batch := make([]*ask, 0, maxGroup)
	for first := range g.queue {
		batch = append(batch[:0], first)
		if err := g.c.run(g.c.begin); err != nil {
			g.answer(batch, err)
			continue
		}
		g.one(first)
		batch = g.fill(batch)
		g.answer(batch, g.c.run(g.c.commit))
	}
	g.done <- g.c.close()
}

// fill adds all callers that are waiting now.
func (g *group) fill(batch []*ask) []*ask {
	for len(batch) < maxGroup {
		select {
		case a, ok := <-g.queue:
			if !ok {
				return batch
			}
			g.one(a)
			batch = append(batch, a)
		default:
			return batch
		}
	}
	return batch
}

// one stores a row in its own savepoint, or rolls that back.
func (g *group) one(a *ask) {
	if a.err = g.c.run(g.c.save); a.err != nil {
		return
	}
	if a.err = g.do(a.id, a.body); a.err != nil {
		a.err = errors.Join(a.err, g.c.run(g.c.undo))
	}
	if err := g.c.run(g.c.release); err != nil {
		a.err = errors.Join(a.err, err)
	}
}

func (g *group) answer(batch []*ask, err error) {
	for _, a := range batch {
		a.answer <- errors.Join(a.err, err)
	}
}
