package main

import (
	"context"
	"database/sql/driver"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
)

// The statements of a bare step: read the row of a session, and write it back
// with the new input.
const (
	createSteps = `CREATE TABLE steps (id TEXT PRIMARY KEY, body TEXT NOT NULL) WITHOUT ROWID`
	readStep    = `SELECT body FROM steps WHERE id = $1`
	writeStep   = `INSERT INTO steps(id, body) VALUES ($1, $2) ON CONFLICT (id) DO UPDATE SET body = excluded.body`
)

// steps is the bound of a USSD step: the least durable work.
type steps struct {
	*conn
	read, write driver.Stmt
	key         []driver.NamedValue
	row         []driver.Value
}

// openSteps makes the group commit of bare steps.
func openSteps(ctx context.Context, path string) (*group, error) {
	c, err := openConn(ctx, path)
	if err != nil {
		return nil, err
	}
	if _, err := c.c.(driver.ExecerContext).ExecContext(ctx, createSteps, nil); err != nil {
		return nil, errors.Join(err, c.close())
	}
	s := &steps{conn: c, key: []driver.NamedValue{{Ordinal: 1}}, row: make([]driver.Value, 1)}
	if s.read, err = c.c.Prepare(readStep); err != nil {
		return nil, errors.Join(err, c.close())
	}
	if s.write, err = c.c.Prepare(writeStep); err != nil {
		return nil, errors.Join(err, c.close())
	}
	return startGroup(c, s.step), nil
}

// step reads the row of a session and writes it back.
func (s *steps) step(id, body string) error {
	s.key[0].Value = id
	rows, err := s.read.(driver.StmtQueryContext).QueryContext(context.Background(), s.key)
	if err != nil {
		return err
	}
	if err := errors.Join(ignoreEOF(rows.Next(s.row)), rows.Close()); err != nil {
		return err
	}
	s.args[0].Value, s.args[1].Value = id, body
	_, err = s.write.(driver.StmtExecContext).ExecContext(context.Background(), s.args)
	return err
}

// ignoreEOF makes a row that does not exist yet no error.
func ignoreEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// stepWriter does one step for each request of a gateway: it reads who calls
// and what was pressed, checks that, and stores the step under the session.
type stepWriter struct{ g *group }

// stepScreen has the size of a menu.
var stepScreen = []byte("CON Welcome\n1. Know More\n2. Account Menu\n9. Kiswahili\n*. Exit")

// press is the body of a gateway's request.
type press struct {
	SessionID   string `json:"sessionId"`
	ServiceCode string `json:"serviceCode"`
	PhoneNumber string `json:"phoneNumber"`
	Text        string `json:"text"`
}

func (p press) valid() bool {
	return p.SessionID != "" && len(p.SessionID) <= 100 && len(p.Text) <= 182 &&
		strings.HasPrefix(p.ServiceCode, "*") && strings.HasSuffix(p.ServiceCode, "#") && strings.HasPrefix(p.PhoneNumber, "+")
}

func (sw *stepWriter) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(io.LimitReader(r.Body, 1<<20))
	var p press
	if err == nil {
		err = json.Unmarshal(body, &p)
	}
	if err == nil && !p.valid() {
		err = errors.New("not what a gateway sends")
	}
	if err == nil {
		err = sw.g.writer()(p.SessionID+" "+p.PhoneNumber, string(body))
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	_, _ = w.Write(stepScreen) // as in hello
}
