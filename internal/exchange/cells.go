package exchange

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// CellLife is how long the cells of an import are kept, so that people can look
// at the mistakes, correct their file and send it again. They hold personal
// data.
const CellLife = 24 * time.Hour

const (
	insertCellsText = `INSERT INTO transfer_cells(job, line, last, ws, at, data) VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT (job, line) DO NOTHING`
	selectCellsText = `SELECT line, data FROM transfer_cells WHERE job = $1 AND (line = 0 OR line <= $3 AND last >= $2) ORDER BY line`
	forgetCellsText = `DELETE FROM transfer_cells WHERE ws = $1`
	removeCellsText = `DELETE FROM transfer_cells WHERE job = $1`
	expireCellsText = `DELETE FROM transfer_cells WHERE (job, line) IN (SELECT job, line FROM transfer_cells WHERE at < $1 ORDER BY at LIMIT $2)`
)

// Column is a column of an imported file.
type Column struct {
	Name string `json:"name"`
	Path string `json:"path,omitzero"` // into the record; "" for one that is left out
}

// Cells are the cells of some rows of a file.
type Cells struct {
	Columns  []Column
	Rows     map[int64][]string // by line
	From, To int64              // the lines it is about
}

// InsertCells stores the cells of rows that a job works on. Columns are stored
// once.
func (s *Service) InsertCells(ctx context.Context, tx *db.Tx, job string, c Cells) error {
	ws, at := web.CallerFrom(ctx).Workspace, s.now().UnixMilli()
	head, err := web.Encode(c.Columns)
	if err != nil {
		return err
	}
	if _, err := tx.Exec(ctx, insertCellsText, job, 0, 0, ws, at, string(head)); err != nil {
		return fmt.Errorf("keep columns: %w", err)
	}
	rows := make(map[string][]string, len(c.Rows))
	for line, cells := range c.Rows {
		rows[strconv.FormatInt(line, 10)] = cells
	}
	text, err := web.Encode(rows)
	if err != nil {
		return err
	}
	_, err = tx.Exec(ctx, insertCellsText, job, c.From, c.To, ws, at, string(text))
	return db.Wrap("keep cells", err)
}

// FindCells reads the stored cells of the rows from one line to another.
func FindCells(ctx context.Context, q db.Querier, job string, from, to int64) (Cells, error) {
	out := Cells{Rows: map[int64][]string{}, From: from, To: to}
	rows, err := q.Query(ctx, selectCellsText, job, from, to)
	return out, db.Each(rows, err, "find cells", func(row db.Row) error {
		var line int64
		var data string
		if err := row.Scan(&line, &data); err != nil {
			return err
		}
		if line == 0 {
			return json.Unmarshal([]byte(data), &out.Columns)
		}
		var some map[string][]string
		if err := json.Unmarshal([]byte(data), &some); err != nil {
			return err
		}
		for at, cells := range some {
			n, err := strconv.ParseInt(at, 10, 64)
			if err != nil {
				return err
			}
			if n >= from && n <= to {
				out.Rows[n] = cells
			}
		}
		return nil
	})
}

// expireCells removes at most limit chunks of cells that were kept before a time
// and reports how many.
func (s *Service) expireCells(ctx context.Context, limit int) (int, error) {
	n, err := s.db.Exec(ctx, expireCellsText, s.now().Add(-CellLife).UnixMilli(), limit)
	return int(n), db.Wrap("expire cells", err)
}
